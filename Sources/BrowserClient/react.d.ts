// @ts-types="./reactor-client.d.ts"
import type { ReactorTypes, Session, View } from "./reactor-client.js";

/** A session as a component has it. */
export interface ReactorView<R extends ReactorTypes> extends View<R> {
  send: Session<R>["send"];
  submit: Session<R>["submit"];
}

/**
 * The state, the status and the pending actions of a session. The component renders again when one of them changes.
 *
 * Make the session outside of components, or in a memo: a component neither follows nor leaves it.
 */
export function useReactor<R extends ReactorTypes>(session: Session<R>): ReactorView<R>;

/** A part of the state; undefined before there is one. The component renders again when the part is another one. */
export function useReactor<R extends ReactorTypes, Part>(
  session: Session<R>,
  selector: (state: R["State"]) => Part,
): Part | undefined;
