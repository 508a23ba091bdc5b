// A session in a component of React.

import { useMemo, useRef, useSyncExternalStore } from "react";

/** @import { Session, View } from "./reactor-client.d.ts" */

/** While a page is rendered on a server there is no session. @type {View<any>} */
const nothing = { state: undefined, status: { kind: "idle" }, pending: 0 };

/**
 * @param {Session<any>} session
 * @param {(state: any) => unknown} [selector]
 * @returns {any}
 */
export function useReactor(session, selector) {
  const last = useRef(/** @type {{ state?: unknown, selector?: unknown, value?: unknown }} */ ({}));
  // The same value as long as it is made of the same: React asks more than once.
  const getSnapshot = () => {
    if (!selector) return session.getView();
    const state = session.getSnapshot();
    if (state === undefined) return undefined;
    if (last.current.state !== state || last.current.selector !== selector) {
      last.current = { state, selector, value: selector(state) };
    }
    return last.current.value;
  };
  const found = useSyncExternalStore(session.subscribe, getSnapshot, () => selector ? undefined : nothing);
  const isPart = !!selector;
  return useMemo(() => {
    if (isPart) return found;
    return {
      .../** @type {View<any>} */ (found),
      send: session.send.bind(session),
      submit: session.submit.bind(session),
    };
  }, [isPart, found, session]);
}
