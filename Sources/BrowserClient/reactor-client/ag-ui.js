// A conversation as events of AG-UI, the protocol between agents and user interfaces, in the form of @ag-ui/core 0.0.58.
//
// The events are differences between states, so no queue is needed: a slow program gets longer
// texts, and after a reset the text continues if the answer is still the same.

/** @import { AGUIEvent, AGUIMessage, ConversationState } from "../ag-ui.d.ts" */
/** @import { Session, SessionEvent } from "../reactor-client.d.ts" */

/** The members of a state that have events of their own. */
const own = ["messages", "token", "tokens"];

/** @param {ConversationState} state */
const isUnderWay = ({ messages, phase }) =>
  messages.at(-1)?.role === "assistant" && (phase === "answering" || phase === "failed");

/** Makes events of AG-UI from the states of one conversation. */
class Conversation {
  #thread;
  #firstRun;
  /** The answer that is under way, and its text so far. @type {{ number: number, run: string, text: string } | undefined} */
  #open;
  /** The members of the last state. @type {Record<string, unknown>} */
  #members = {};
  #hasBegun = false;

  /** @param {string} thread @param {string | undefined} firstRun */
  constructor(thread, firstRun) {
    this.#thread = thread;
    this.#firstRun = firstRun;
  }

  /** @param {number} number */
  #id(number) {
    return `${this.#thread}-${number}`;
  }

  /** What is different in this state. @param {ConversationState} state @returns {Generator<AGUIEvent, void, undefined>} */
  *take(state) {
    const last = state.messages.at(-1);
    const open = this.#open;
    // A retry removes it. Another answer may have begun while this program was slow or offline.
    if (open && !(last?.number === open.number && last.text.startsWith(open.text))) yield* this.#finish("replaced");
    const begins = isUnderWay(state) && !this.#open;
    if (begins || !this.#hasBegun) yield* this.#begin(state);
    if (!this.#open) return;
    const text = this.#open.text;
    if (last && last.text.length > text.length) {
      const messageId = this.#id(this.#open.number);
      yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta: last.text.slice(text.length) };
      this.#open.text = last.text;
    }
    const delta = this.#changes(state);
    if (delta.length) yield { type: "STATE_DELTA", delta };
    if (!isUnderWay(state)) yield* this.#finish(state.phase);
  }

  /** The session has ended, or was left. @param {string} reason @returns {Generator<AGUIEvent, void, undefined>} */
  *end(reason) {
    this.#open = undefined;
    yield { type: "RUN_ERROR", message: `the session has ended: ${reason}`, code: reason };
  }

  /** @param {ConversationState} state @returns {Generator<AGUIEvent, void, undefined>} */
  *#begin(state) {
    const last = state.messages.at(-1);
    const run = this.#firstRun ?? this.#id(last?.number ?? 0);
    const messages = isUnderWay(state) ? state.messages.slice(0, -1) : state.messages;
    this.#hasBegun = true;
    this.#firstRun = undefined;
    this.#members = {};
    this.#changes(state);
    yield { type: "RUN_STARTED", threadId: this.#thread, runId: run };
    yield { type: "STATE_SNAPSHOT", snapshot: { ...this.#members } };
    yield { type: "MESSAGES_SNAPSHOT", messages: messages.map((message) => this.#message(message)) };
    if (last && isUnderWay(state)) {
      this.#open = { number: last.number, run, text: "" };
      yield { type: "TEXT_MESSAGE_START", messageId: this.#id(last.number), role: "assistant" };
    } else {
      yield { type: "RUN_FINISHED", threadId: this.#thread, runId: run, result: { phase: state.phase } };
    }
  }

  /** @param {string} phase @returns {Generator<AGUIEvent, void, undefined>} */
  *#finish(phase) {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    yield { type: "TEXT_MESSAGE_END", messageId: this.#id(open.number) };
    yield { type: "RUN_FINISHED", threadId: this.#thread, runId: open.run, result: { phase } };
  }

  /** @param {ConversationState["messages"][number]} message @returns {AGUIMessage} */
  #message({ number, role, text }) {
    return { id: this.#id(number), role, content: text };
  }

  /** The members that have changed, as RFC 6902 has it. Their names need no escape. @param {ConversationState} state */
  #changes(state) {
    const members = Object.fromEntries(Object.entries(state).filter(([name]) => !own.includes(name)));
    const before = this.#members;
    this.#members = members;
    /** @type {{ op: "add" | "remove" | "replace", path: string, value?: unknown }[]} */
    const changes = [];
    for (const [name, value] of Object.entries(members)) {
      const path = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      // The client keeps an unchanged part as the same object.
      if (before[name] !== value) changes.push({ op: Object.hasOwn(before, name) ? "replace" : "add", path, value });
    }
    for (const name of Object.keys(before)) {
      const path = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (!Object.hasOwn(members, name)) changes.push({ op: "remove", path });
    }
    return changes;
  }
}

/**
 * @param {Session<any>} session @param {{ signal?: AbortSignal | undefined, runId?: string | undefined }} [options]
 * @returns {AsyncGenerator<AGUIEvent, void, undefined>}
 */
export async function* agUIEvents(session, { signal, runId } = {}) {
  const conversation = new Conversation(session.id, runId);
  /** @type {ConversationState | undefined} */
  let state = session.confirmed;
  /** @type {string | undefined} */
  let ended = session.status.kind === "ended" ? session.status.reason : undefined;
  let wake = () => {};
  const leave = session.onEvent((event) => {
    if (event.kind === "present" || event.kind === "state") state = event.state;
    if (event.kind === "ended") ended = event.reason;
    wake();
  });
  const abort = () => wake();
  signal?.addEventListener("abort", abort);
  try {
    while (!signal?.aborted) {
      if (state) {
        const newest = state;
        state = undefined;
        yield* conversation.take(newest);
      } else if (ended) return yield* conversation.end(ended);
      else await new Promise((resolve) => wake = () => resolve(undefined));
    }
  } finally {
    leave();
    signal?.removeEventListener("abort", abort);
  }
}

/**
 * @param {Session<any>} session @param {{ messages: AGUIMessage[], runId?: string | undefined }} input
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {AsyncGenerator<AGUIEvent, void, undefined>}
 */
export async function* runAgent(session, { messages, runId }, { signal } = {}) {
  const text = messages.filter(({ role }) => role === "user").at(-1)?.content;
  try {
    await session.send({ type: "ask", text }, { signal });
  } catch (error) {
    const { message, code, refusal } = /** @type {any} */ (error);
    return yield { type: "RUN_ERROR", message, code: refusal?.code ?? code };
  }
  for await (const event of agUIEvents(session, { signal, runId })) {
    yield event;
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") return;
  }
}
