// @ts-types="./reactor-client.d.ts"
import type { Session } from "./reactor-client.js";

/** A message, as AG-UI has it. */
export interface AGUIMessage {
  id: string;
  role: "user" | "assistant";
  content: string;
}

/** The events of AG-UI that a conversation has, in the form of `@ag-ui/core` 0.0.58. */
export type AGUIEvent =
  | { type: "RUN_STARTED"; threadId: string; runId: string }
  | { type: "RUN_FINISHED"; threadId: string; runId: string; result: { phase: string } }
  | { type: "RUN_ERROR"; message: string; code: string }
  | { type: "MESSAGES_SNAPSHOT"; messages: AGUIMessage[] }
  | { type: "TEXT_MESSAGE_START"; messageId: string; role: "assistant" }
  | { type: "TEXT_MESSAGE_CONTENT"; messageId: string; delta: string }
  | { type: "TEXT_MESSAGE_END"; messageId: string }
  | { type: "STATE_SNAPSHOT"; snapshot: Record<string, unknown> }
  | { type: "STATE_DELTA"; delta: { op: "add" | "remove" | "replace"; path: string; value?: unknown }[] };

/** What the state of a conversation has. It may have other members; they are AG-UI's state. */
export interface ConversationState {
  messages: { number: number; role: "user" | "assistant"; text: string }[];
  /** An answer is under way while it is `answering` or `failed`. */
  phase: string;
  // deno-lint-ignore no-explicit-any
  [member: string]: any;
}

/**
 * A conversation as events of AG-UI: what there is, then each answer as a run, also if another client has asked. It ends
 * with the session, or when `signal` aborts.
 *
 * An answer that is under way begins with its text so far. A loop that is slower than the answer gets several tokens in
 * one `TEXT_MESSAGE_CONTENT`; nothing is queued. A run that was stopped or replaced by a retry finishes, with that
 * `phase` as its result. While the model is asked again after a failure, the run continues.
 *
 * @param session follows the states of a reactor such as the sample `conversation`
 * @param options `runId`: the id of the first run. Other runs have ids that are the same for every reader.
 */
export function agUIEvents(
  // deno-lint-ignore no-explicit-any
  session: Session<any>,
  options?: { signal?: AbortSignal | undefined; runId?: string | undefined },
): AsyncIterable<AGUIEvent>;

/**
 * Asks the last question of `messages`, and has the events of that run. Aborting `signal` stops the reading, and not the
 * answer: for that, send the action `stop`. If the question is refused, the only event is a `RUN_ERROR`.
 */
export function runAgent(
  // deno-lint-ignore no-explicit-any
  session: Session<any>,
  input: { messages: AGUIMessage[]; runId?: string | undefined },
  options?: { signal?: AbortSignal | undefined },
): AsyncIterable<AGUIEvent>;
