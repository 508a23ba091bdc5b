// @ts-types="./reactor-client.d.ts"
import type { AnyReactor, ReactorClient, ReactorTypes, Session, SessionOptions, View } from "./reactor-client.js";

/** A session as a component has it. */
export interface ReactorView<R extends ReactorTypes> extends View<R> {
  send: Session<R>["send"];
  submit: Session<R>["submit"];
}

/**
 * The state, the status and the pending actions of a session. The component renders again when one of them changes.
 *
 * Its `send` and `submit` are the same functions as long as the session is the same. Make the session outside of
 * components, or with `useSession`: `leave()` ends it for every component that uses it.
 */
export function useReactor<R extends ReactorTypes>(session: Session<R>): ReactorView<R>;

/** A part of the state; undefined before there is one. The component renders again when the part is another one. */
export function useReactor<R extends ReactorTypes, Part>(
  session: Session<R>,
  selector: (state: R["State"]) => Part,
): Part | undefined;

/**
 * Follows a session while a component that uses it is mounted. Components that use the same one share it: it is left a
 * moment after the last of them has unmounted. The options are those of the first.
 */
export function useSession<R extends ReactorTypes = AnyReactor>(
  client: ReactorClient,
  id: string,
  options?: SessionOptions<R>,
): Session<R>;
