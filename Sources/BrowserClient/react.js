// A session in a component of React.

import { useEffect, useMemo, useReducer, useRef, useSyncExternalStore } from "react";

/** @import { ReactorClient, Session, SessionOptions, View } from "./reactor-client.d.ts" */

/** While a page is rendered on a server there is no session. @type {View<any>} */
const nothing = { state: undefined, status: { kind: "idle" }, pending: 0, presence: undefined };

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
    return { .../** @type {View<any>} */ (found), send: session.send, submit: session.submit };
  }, [isPart, found, session]);
}

/** The number of mounted components that use a session. @type {WeakMap<Session<any>, number>} */
const users = new WeakMap();

/** @param {Session<any>} session @param {number} change */
const count = (session, change) => {
  const number = (users.get(session) ?? 0) + change;
  users.set(session, number);
  return number;
};

/**
 * @param {ReactorClient} client @param {string} id @param {SessionOptions<any>} [options]
 * @returns {Session<any>}
 */
export function useSession(client, id, options) {
  const [turn, again] = useReducer((number) => number + 1, 0);
  const session = useMemo(() => client.session(id, options), [client, id, turn]);
  useEffect(() => {
    // A hidden component returns after it has left the session.
    if (session.status.kind === "ended" && session.status.reason === "left") return again();
    count(session, 1);
    return () => {
      // StrictMode mounts again at once, and another component may mount in the same turn.
      if (!count(session, -1)) setTimeout(() => users.get(session) || session.leave());
    };
  }, [session]);
  return session;
}
