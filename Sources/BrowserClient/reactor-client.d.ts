/**
 * The types of one reactor, as `reactor-types` prints them: the input of its sessions, its actions, its
 * state, the values of its pulses and its activities, by their names.
 */
export interface ReactorTypes {
  /** Missing if the reactor takes no input. */
  Input?: unknown;
  Action: unknown;
  State: unknown;
  pulses: object;
  activities: object;
}

/** A reactor of which nothing is known: everything is `any`. */
export interface AnyReactor {
  // deno-lint-ignore no-explicit-any
  Action: any;
  // deno-lint-ignore no-explicit-any
  State: any;
  // deno-lint-ignore no-explicit-any
  pulses: Record<string, any>;
  // deno-lint-ignore no-explicit-any
  activities: Record<string, any>;
}

/** How a client is made. */
export interface ClientOptions {
  /**
   * Called before each connection and each request; `refused` is the token that the server has just refused with
   * a 401. Without a token (`undefined`), with the refused one, or if it throws, the attempt waits and asks again; the
   * status has the message of what is thrown. Default: requests have no token.
   */
  token?: ((request: { refused?: string }) => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * Where actions are kept until they are done. Default: in memory, for the life of the page. See
   * `reactor-client/outbox-indexeddb.js` and, in Node, `reactor-client/outbox-file.js`.
   */
  outbox?: Outbox | undefined;
  /**
   * The time in milliseconds after which a hidden tab gives its connection back. What is seen resumes it exactly
   * when the tab is shown. Default 60 000; `Infinity`: never.
   */
  hiddenAfter?: number | undefined;
  /**
   * The name under which this client is present in the sessions that it follows: 1 to 64 bytes of UTF-8 without control
   * characters; with tokens, the subject of the token. Default: it counts among the others.
   */
  as?: string | undefined;
  /** Default: `globalThis.fetch`. */
  fetch?: typeof fetch | undefined;
}

/** The events of a session to receive. */
export interface Demand {
  /** Default true. */
  states?: boolean | undefined;
  /** All, none, or those with these names. Default true. */
  pulses?: boolean | string[] | undefined;
  /** Default true. */
  activities?: boolean | undefined;
  /** Whether to receive who is present. Default false. */
  presence?: boolean | undefined;
}

/** The readers of a session: each name once. With more than 100 names there is only their `count`. */
export interface Presence {
  readonly present?: readonly string[] | undefined;
  readonly count?: number | undefined;
  /** The streams without a name. */
  readonly others: number;
}

/** How a session is followed. */
export interface SessionOptions<R extends ReactorTypes = AnyReactor> {
  /** The name under which the server hosts its reactor. Without it the session must exist. */
  reactor?: string | undefined;
  /** The input for the creation, if the reactor takes one. A session that exists must have an equal input. */
  input?: (R extends { Input: infer Input } ? Input : unknown) | undefined;
  /** Whether the session is made if it is missing. Default: true if there is a `reactor`. */
  make?: boolean | undefined;
  /** Default: everything. Why not less: a listener that is added later would miss what happens meanwhile. */
  follow?: Demand | undefined;
  /**
   * The state after an action, as the server's reactor makes it; without it the shown state is the confirmed one.
   * It must not change `state`. If it throws, the action is shown when the server has applied it.
   * With it, what sends is loaded when the session is followed.
   */
  predict?: ((state: R["State"], action: R["Action"]) => R["State"]) | undefined;
  /**
   * Where events begin: with the `present` state (default), with what happens from `now` on, with everything that
   * the server keeps since the `start`, after the state that the outbox has `saved`, or after a position.
   */
  from?: "present" | "now" | "start" | "saved" | { after: string } | undefined;
}

/** A client of one server: its sessions, used as if they ran in this program. */
export class ReactorClient {
  /**
   * Nothing is connected before the first session.
   *
   * @param server the address below which the server's paths begin
   * @throws TypeError that names the fault: no `http` or `https`, a user, a query, a fragment.
   */
  constructor(server: string | URL, options?: ClientOptions);

  /** Without a slash at its end. */
  readonly server: string;

  /**
   * Rejects if the outbox cannot be used: it is in use, damaged, or another account's. Then sends and sessions fail
   * with `outbox_unavailable`.
   */
  readonly opened: Promise<void>;

  /**
   * Follows a session; connects a moment later. One that this client follows already is shared, with the options that it
   * has: those of a second call are not used. One that has ended is followed anew.
   *
   * @param id 1 to 128 of `A-Z a-z 0-9 _ -`
   * @throws TypeError for another id, or for a position that is none.
   */
  session<R extends ReactorTypes = AnyReactor>(id: string, options?: SessionOptions<R>): Session<R>;

  /**
   * Makes a session with a new id and follows it. With `fork` it begins as another one stood, now or at a version.
   *
   * @throws ProblemError if the server refuses.
   */
  create<R extends ReactorTypes = AnyReactor>(
    options: SessionOptions<R> & {
      reactor: string;
      fork?: { session: string; version?: number | undefined } | undefined;
    },
  ): Promise<Session<R>>;

  /** The reactors that the server hosts. */
  reactors(): Promise<HostedReactor[]>;

  /** The sessions that this client may see, by id; pages are read as they are needed. */
  sessions(
    options?: {
      prefix?: string | undefined;
      reactor?: string | undefined;
      after?: string | undefined;
      limit?: number | undefined;
    },
  ): AsyncIterable<SessionLine>;

  /**
   * Reports actions that the server has refused, or that may or may not have been applied, and
   * whose `done` nobody has read: those of an earlier page first. Each is kept, and takes room in
   * the outbox, until `dismiss` or `retry`: a program that ignores them cannot send any more after
   * 10 000.
   *
   * @returns ends the listening.
   */
  on(kind: "refusal", listener: (refusal: Refusal) => void): () => void;

  /**
   * The sends that are not done, in their order, including those of earlier and closed pages with
   * the same outbox. A new list each time.
   */
  readonly pendingSends: PendingSend[];

  /** The network may be back: replaces silent connections and ends every wait. Browsers report it by themselves. */
  wake(): void;

  /**
   * Sends one request below the server's address, with a token.
   *
   * @returns the JSON of the answer.
   * @throws ProblemError if the service refuses; ReactorError `unreachable` without its answer in 30 s.
   */
  // deno-lint-ignore no-explicit-any
  request(method: string, path: string, body?: unknown): Promise<any>;

  /** Stops following, ends what is under way, and keeps the outbox. */
  close(): Promise<void>;
}

/** A followed session. */
export interface Session<R extends ReactorTypes = AnyReactor> {
  readonly id: string;
  /** The shown state: the confirmed one with this program's unconfirmed actions. Undefined until there is one. */
  readonly state: R["State"] | undefined;
  /** The newest state of the server. */
  readonly confirmed: R["State"] | undefined;
  /** That of the last event: another program continues after it with `from: { after }`. */
  readonly position: string | undefined;
  readonly status: LinkStatus;
  /** The number of actions that are not done. */
  readonly pending: number;
  /** The newest of the server, at most one a second; needs `follow: { presence: true }`. Stays while reconnecting. */
  readonly presence: Presence | undefined;
  /** When the last bytes of its events have come, as `Date.now()` has it; undefined without a connection. */
  readonly lastByteAt: number | undefined;
  /**
   * Resolves with the first state; rejects if the server refuses the session, or it has ended. A
   * refused session is tried again, and then has a new promise.
   */
  readonly ready: Promise<void>;

  /**
   * Sends an action, or several as one request. They are in the outbox before they are sent, and sent again under
   * the same key until the server has answered, so they are applied once.
   *
   * Resolves when the state has them; when there is no connection for events, with the answer. What sends is a module
   * of its own: without an outbox or a prediction it is loaded by the first send, which rejects with `unreachable` if it
   * does not come. The next one tries again.
   *
   * @param options `ifMatch`: the position that the session must have; `settled`: the milliseconds for which the
   *   server waits for effects, up to 600 000; `signal`: ends the waiting, and takes nothing back
   * @throws ProblemError if the server refuses; InDoubtError; ReactorError for the client's own reasons; TypeError if
   *   `ifMatch` is no position.
   */
  send(
    action: R["Action"] | R["Action"][],
    options?: { ifMatch?: string | undefined; settled?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Receipt>;

  /** Puts an action into the outbox, and does not wait. */
  submit(action: R["Action"]): Ticket;

  /** Calls back when the state, the status or the number of pending actions has changed. */
  subscribe(listener: () => void): () => void;
  /**
   * The shown state: the same object until it changes. Unchanged parts of a new state are the same
   * objects as before: do not change a state in place.
   */
  getSnapshot(): R["State"] | undefined;
  /** State, status and pending together: the same object until one of them changes. */
  getView(): View<R>;

  /** Each assignment of a pulse from now on; not its present value. */
  on<P extends keyof R["pulses"] & string>(
    pulse: P,
    listener: (value: R["pulses"][P], event: EventPosition) => void,
  ): () => void;
  /** Each activity from now on. */
  onActivity(listener: (activity: R["activities"][keyof R["activities"]], event: EventPosition) => void): () => void;
  /** The events that follow do not continue those before, for the server's reason, such as `trimmed`. */
  onReset(listener: (reason: string) => void): () => void;
  /** Everything that happens, in its order. */
  onEvent(listener: (event: SessionEvent<R>) => void): () => void;

  /**
   * The present value of a pulse, then each assignment; after a reset the present value once more.
   *
   * @param options `buffer`: the assignments that may wait for the loop (default 1 024)
   * @throws TooSlowError in the loop when more wait.
   */
  pulse<P extends keyof R["pulses"] & string>(
    pulse: P,
    options?: { buffer?: number | undefined; signal?: AbortSignal | undefined },
  ): AsyncIterable<R["pulses"][P]>;

  /**
   * The action log: what the server keeps after `after`, or everything; with `live` also what follows, over a
   * connection of its own, which a hidden tab gives back like the others. The loop ends when the session is left or
   * the client is closed.
   *
   * @throws ProblemError if the server refuses it.
   */
  log(
    options?: { after?: string | undefined; live?: boolean | undefined; signal?: AbortSignal | undefined },
  ): AsyncIterable<LogEntry>;
  /** The state at a version. */
  at(version: number): Promise<R["State"]>;
  /** Makes a session that begins as this one stands, or stood at a version, and follows it. */
  fork(options?: { version?: number | undefined }): Promise<Session<R>>;
  /**
   * Deletes the session on the server, and repeats that until the service says that it is gone.
   *
   * @throws ProblemError if the service refuses; ReactorError `unreachable` if the service has not
   * said that it is gone.
   */
  delete(): Promise<void>;
  /**
   * Stops following; actions in the outbox are still sent. An ended session takes some memory until
   * it is left.
   */
  leave(): void;
}

/** State, status, pending and presence of a session. */
export interface View<R extends ReactorTypes = AnyReactor> {
  readonly state: R["State"] | undefined;
  readonly status: LinkStatus;
  readonly pending: number;
  readonly presence: Presence | undefined;
}

/** A send that was submitted. */
export interface Ticket {
  /** Resolves as `send` does. Reading it counts as seeing a failure: `client.on("refusal")` does not keep it. */
  readonly done: Promise<Receipt>;
  /** The newest progress; undefined before the outbox is open and what sends is loaded. */
  readonly progress: Progress | undefined;
  /** Each further progress, and the newest at once. */
  on(listener: (progress: Progress) => void): () => void;
  /** Takes the send back, unless it has left. Resolves with whether it is taken back. */
  discard(): Promise<boolean>;
}

/** `queued`: durable, and waits; `sent`: durable under its key, and leaves. */
export type Progress =
  | { kind: "queued" | "sent" }
  | { kind: "applied"; receipt: Receipt }
  | { kind: "failed"; error: Error };

/** The server's answer to a send. */
export interface Receipt {
  readonly position: string;
  /** The number of mutations; undefined if the answer was lost and an event has confirmed the send. */
  readonly version: number | undefined;
  /** The indices of the actions that the reactor has rejected. */
  readonly rejected: number[];
  /**
   * At the index of an action: the error of the hook that rejected it, or the error of its effect
   * before the first wait. The server sends at most 16. If a Cycler refuses one of several actions,
   * this is the Cycler's code and sentence. A reactor refuses all of the actions (`ProblemError`).
   */
  readonly failures: readonly (string | { readonly code: string; readonly detail: string } | undefined)[];
}

/** A send that has failed. */
export interface Refusal {
  readonly session: string;
  /** ProblemError or InDoubtError. */
  readonly error: Error;
  /** Its actions. Empty if an earlier version of this client kept it. */
  // deno-lint-ignore no-explicit-any
  readonly actions: any[];
  /** The user has seen it. */
  dismiss(): void;
  /**
   * Sends its actions again, under a new key and without its options. It counts as seen when they
   * are in the outbox. Actions that were in doubt may then be applied twice.
   */
  retry(): Ticket;
}

/** A send in the outbox that is not done. */
export interface PendingSend {
  readonly session: string;
  // deno-lint-ignore no-explicit-any
  readonly actions: any[];
  /** Whether its request may have left. */
  readonly isSent: boolean;
  /**
   * Takes the send back, unless its request may have left. Resolves with true if it was taken back.
   */
  discard(): Promise<boolean>;
}

/**
 * How a session is followed, for people. `until` is a time as `Date.now()` has it.
 *
 * `waiting`: the stream or an action has failed and is tried again; nothing is lost. Its `problem`
 * is the service's, if the service has answered; with the status 401 the program needs another
 * token. `failed`: the service refuses to serve the session. It is tried again after 30 to 60 s,
 * and by `wake()`.
 */
export type LinkStatus =
  | { readonly kind: "idle" | "live" }
  | { readonly kind: "connecting"; readonly attempt: number }
  | { readonly kind: "waiting"; readonly until: number; readonly why: string; readonly problem?: Problem }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "ended"; readonly reason: "deleted" | "unknown" | "forbidden" | "left" };

/** A refusal in the server's words. */
export interface Problem {
  readonly status: number;
  /** Such as `not_an_action`. */
  readonly code: ProblemCode;
  readonly detail: string;
  /** The reactor's own code, if the code is `action_refused`; `detail` is its sentence. */
  readonly refusal?: { readonly code: string };
}

/** Where an event is in its session's history. */
export interface EventPosition {
  readonly position: string;
  /** The key of the request that has led to it, if the server says so. */
  readonly cause?: string | undefined;
}

/** An event of a session, or how it stands (`present`). */
export type SessionEvent<R extends ReactorTypes = AnyReactor> =
  | { kind: "present" | "state"; state: R["State"]; position: string; cause?: string | undefined }
  | { kind: "pulse" | "activity"; name: string; value: unknown; position: string; cause?: string | undefined }
  | { kind: "reset"; reason: string }
  | { kind: "ended"; reason: "deleted" | "unknown" | "forbidden" | "left" };

/** An entry of an action log. */
export interface LogEntry {
  position: string;
  time: string;
  action: number;
  version?: number;
  /**
   * Such as `action.received`, `mutation` or `effect.started`. A newer server may have further ones. `reset`, only in a
   * live log: entries between the one before and the next are no longer kept; `content.reason` is the server's reason.
   */
  kind: string;
  // deno-lint-ignore no-explicit-any
  content: any;
}

/** A reactor as the server describes it. */
export interface HostedReactor {
  name: string;
  /** The version of the form in which the server writes states and mutations. */
  stateVersion: number;
  pulses: string[];
  activities: string[];
  examples: unknown[];
  /** Inputs with which sessions can be created; missing if the reactor takes none. */
  inputExamples?: unknown[];
  /** JSON Schemas, if the server has them. */
  schemas?: {
    /** The schema of the input; missing if the reactor takes none. */
    input?: unknown;
    action: unknown;
    state: unknown;
    pulses: Record<string, unknown>;
    activities: Record<string, unknown>;
  };
}

/** A session as the server lists it. */
export interface SessionLine {
  id: string;
  reactor: string;
}

/** Permits any other text, while editors still propose the known codes. */
type Other = string & Record<never, never>;

/** Why something failed in the client. */
export type ClientCode =
  | "closed"
  | "discarded"
  | "empty"
  | "ended"
  | "followed_otherwise"
  | "in_doubt"
  | "not_encodable"
  | "outbox_full"
  | "outbox_unavailable"
  | "too_slow"
  | "unreachable"
  | Other;

/** The codes of `openapi.yaml`. A newer server may have more. */
// deno-fmt-ignore
export type ProblemCode =
  | "malformed_json" | "not_an_action" | "not_a_session" | "not_an_input" | "other_input"
  | "batch_too_large" | "empty_batch"
  | "too_busy" | "journal_full" | "journal_unavailable" | "outcome_unknown" | "moved"
  | "owner_unreachable" | "no_node_for_session"
  | "reactor_elsewhere" | "unknown_session" | "session_ended" | "unknown_reactor" | "session_limit"
  | "draining" | "loop_stuck" | "other_reactor" | "other_owner" | "too_many_sessions"
  | "position_changed" | "unknown_version" | "unknown_pulse" | "unknown_topic" | "not_a_value"
  | "administration_off" | "not_stubbed" | "not_on_one_node" | "not_a_stub" | "action_failed"
  | "action_refused"
  | "no_parent" | "too_many_running" | "too_many_selections" | "too_many_subscribers"
  | "state_too_large" | "too_much_output" | "bad_idempotency_key" | "key_reused" | "request_running"
  | "too_many_keys" | "session_quarantined" | "journal_unreadable" | "not_encodable"
  | "unknown_path" | "method_not_allowed" | "not_acceptable" | "media_type_missing"
  | "unsupported_media_type" | "unsupported_content_encoding" | "request_timeout" | "body_too_slow"
  | "bad_session_id" | "bad_topic" | "unknown_parameter" | "bad_version" | "bad_wait"
  | "bad_timeout" | "bad_limit" | "bad_prefix" | "bad_tag" | "bad_sort" | "bad_after" | "bad_from" | "bad_only"
  | "bad_ping" | "bad_select" | "bad_form" | "bad_as" | "bad_presence" | "presence_unavailable" | "other_name"
  | "bad_ids" | "missing_session" | "repeated_session" | "malformed_entity_tag"
  | "malformed_percent_escape" | "malformed_utf8" | "too_many_query_items" | "unknown_host"
  | "too_many_requests" | "too_many_bodies" | "too_much_memory" | "token_missing" | "token_invalid"
  | "tokens_unavailable" | "forbidden" | "authentication_off" | "not_a_ticket" | "ticket_invalid"
  | "ticket_repeated" | "ticket_beside_token" | "ticket_not_accepted" | "cookie_invalid"
  | "origin_not_allowed" | "token_not_for_cookie" | "token_not_for_ticket"
  | "malformed_request_line" | "method_too_long" | "connect_not_implemented" | "target_too_long"
  | "forbidden_target_character" | "malformed_target" | "unsupported_http_version"
  | "too_many_empty_lines" | "head_too_large" | "too_many_fields" | "missing_host" | "repeated_host"
  | "malformed_host" | "unsupported_expectation" | "malformed_content_length"
  | "repeated_content_length" | "transfer_encoding_with_content_length"
  | "transfer_encoding_in_http_1_0" | "malformed_transfer_encoding" | "chunked_not_final"
  | "unknown_transfer_coding" | "body_too_large" | "malformed_chunk_size"
  | "malformed_chunk_extension" | "chunk_extensions_too_large" | "chunk_longer_than_its_size"
  | "malformed_trailer" | "trailer_too_large" | "bare_line_feed" | "bare_carriage_return"
  | "folded_field" | "missing_colon" | "empty_field_name" | "space_before_colon"
  | "forbidden_field_name_character" | "forbidden_field_value_character" | Other;

/** A failure in the client, or a refusal of the server (`ProblemError`). */
export class ReactorError extends Error {
  constructor(code: ClientCode | ProblemCode, message: string);
  readonly code: ClientCode | ProblemCode;
}

/** The server refuses. */
export class ProblemError extends ReactorError {
  constructor(problem: Problem, position?: string | undefined);
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string;
  /** The session's position, if a send expected another one (412). */
  readonly position: string | undefined;
  /** The reactor's own code, if the code is `action_refused`; `detail` is its sentence. */
  readonly refusal: { readonly code: string } | undefined;
}

/** The send was applied once or not at all, and nobody can find out: it was away for 23 hours. */
export class InDoubtError extends ReactorError {
  constructor();
}

/** A loop over a pulse has not kept up. */
export class TooSlowError extends ReactorError {
  constructor(limit: number);
}

/** A place for actions that are not done. Changes are opaque: an outbox keeps them and gives them back. */
export interface Outbox {
  /** Whether states are saved too, for `from: "saved"` and to show something before there is a network. */
  readonly keepsStates?: boolean | undefined;
  /**
   * Opens it; rejects if it cannot be used.
   *
   * @param adopt called with the outbox of a page that is gone, which this one takes over
   */
  open(adopt: (orphan: Outbox) => void): OutboxChange[] | Promise<OutboxChange[]>;
  /** Makes changes durable, after all earlier ones. Returns nothing if they are at once. */
  write(changes: OutboxChange[]): void | Promise<void>;
  close(): void | Promise<void>;
}

/** A change of an outbox, as JSON. */
export interface OutboxChange {
  readonly type: string;
}
