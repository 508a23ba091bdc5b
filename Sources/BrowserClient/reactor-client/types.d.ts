// The shapes that the modules of the client share. Not published API.

/** `<generation>.<number>[.<part>]`; numbers reach 2⁶⁴, so they stay text. `part` is empty for a whole record. */
export interface Position {
  text: string;
  generation: string;
  number: string;
  part: string;
}

/** `uptime` in milliseconds, `date` in seconds since 1970-01-01T00:00:00Z. */
export interface Now {
  uptime: number;
  date: number;
}

export interface Random {
  /** At least 0, less than 1. */
  fraction(): number;
}

export interface Demand {
  states: boolean;
  pulses: boolean | string[];
  activities: boolean;
  presence?: boolean | undefined;
}

export type Start = "present" | "now" | "start";
export type End = "deleted" | "unknown" | "forbidden";

export interface Saved {
  position: Position;
  state: unknown;
}

export interface Following {
  demand: Demand;
  makes?: string | undefined;
  predicts: boolean;
  start: Start;
  after?: Position | undefined;
  saved?: Saved | undefined;
}

export interface Wish {
  session: string;
  demand: Demand;
  start: Start;
}

export interface Problem {
  status: number;
  code: string;
  detail: string;
  refusal?: { code: string };
}

export interface Request {
  method: string;
  target: string;
  fields: Record<string, string>;
  body?: string;
}

export interface Response {
  status: number;
  body: string;
  field(name: string): string | undefined;
}

/** An event of a stream: one with an id alone has an empty name. */
export interface StreamEvent {
  name: string;
  data: string;
  id: string;
  cause?: string | undefined;
}

/** Of a patch of the state (RFC 6902). */
export interface Operation {
  op: string;
  path: string;
  value?: unknown;
}

export interface Block {
  name: string;
  data: string;
  /** Whether a state comes as a patch of the one before. */
  isPatch?: boolean;
  position: Position | undefined;
  cause?: string | undefined;
}

export interface Snapshot {
  origin: "stream" | "reading" | "saved";
  position: Position;
  state?: { value: unknown };
  pulses?: Record<string, unknown>;
}

export interface Event {
  name: string;
  position: Position;
  value: unknown;
  cause: string | undefined;
}

export interface Receipt {
  at: Position;
  version?: number;
  rejected: number[];
  failures: (string | { code: string; detail: string } | undefined)[];
}

export interface SendOptions {
  ifMatch?: string | undefined;
  settled?: number | undefined;
}

export interface Entry extends SendOptions {
  ticket: number;
  session: string;
  /** Each as JSON. Not empty. */
  actions: string[];
  bytes: number;
  /** The body of the request that creates the session if it does not exist. */
  makes?: string | undefined;
}

export interface Sent {
  key: string;
  body: string;
  /** Of the first attempt. */
  date: number;
  /** Not empty. */
  entries: Entry[];
}

export interface Lane {
  sent?: Sent | undefined;
  queued: Entry[];
  actionCount: number;
}

export interface Settlement {
  ticket: number;
  session: string;
  /** Undefined: it is in doubt. */
  problem?: Problem | undefined;
  /** Undefined if an earlier version of this client kept it. */
  actions?: string[] | undefined;
}

export type Change =
  | { type: "queued"; entry: Entry }
  | { type: "sent"; session: string; key: string; body: string; count: number; date: number }
  | { type: "withdrawn"; session: string; key: string }
  | { type: "done"; session: string; key: string }
  | { type: "settled"; ticket: number; session: string; problem?: Problem | undefined; actions?: string[] | undefined }
  | { type: "seen"; ticket: number }
  | { type: "next"; ticket: number }
  | { type: "discarded"; ticket: number; session: string }
  | { type: "state"; session: string; position?: string; state?: unknown };

export type Outcome =
  | { kind: "queued" | "sent" | "inDoubt" | "discarded" }
  | { kind: "applied"; receipt: Receipt }
  | { kind: "refused"; problem: Problem; at?: Position | undefined }
  | { kind: "outboxUnavailable"; reason: string };

export type Consequence =
  | { report: number; session: string; outcome: Outcome }
  | { post: string; session: string };

export interface ShownChange {
  /** Whether the newest confirmed state is the one below from now on. */
  advancesBase: boolean;
  left: number[];
  joined: Entry[];
}

export type LinkStatus =
  | { kind: "idle" | "live" }
  | { kind: "connecting"; attempt: number }
  | { kind: "waiting"; until: number; why: string; problem?: Problem }
  | { kind: "failed"; problem: Problem }
  | { kind: "ended"; reason: End };

export type Delivery =
  | ["accepted", number]
  | ["notAccepted", { kind: string; problem: Problem | undefined; reason: string | undefined }]
  | ["outcome", number, Outcome]
  | ["snapshot", Snapshot]
  | ["state", Event, boolean]
  | ["event", Event]
  | ["presence", import("../reactor-client.d.ts").Presence | undefined]
  | ["shown", ShownChange]
  | ["reset", string]
  | ["ended", End]
  | ["status", { link: LinkStatus; pending: number }];

export type Input =
  | ["send", string, string[], SendOptions]
  | ["discard", number, string]
  | ["seen", number]
  | ["follow", string, Following]
  | ["leave", string]
  | ["wake" | "hide" | "show" | "timer"]
  | ["senderLoaded", (machine: import("./machine.js").ClientMachine) => import("./sender.js").Sender]
  | ["senderFailed", string]
  | ["persisted", number]
  | ["persistFailed", string]
  | ["outboxStuck", string | undefined, number]
  | ["token", number, string | undefined, string?]
  | ["answered", number, Response]
  | ["requestFailed", number, string]
  | ["streamOpened", number, Response]
  | ["streamBytes", number, Uint8Array]
  | ["streamEnded", number, string | undefined];

export type Output =
  | ["loadSender"]
  | ["persist", number, Change[]]
  | ["request" | "openStream", number, Request]
  | ["cancelRequest" | "closeStream", number]
  | ["askForToken", number, string | undefined]
  | ["deliver", string, Delivery]
  | ["keepState", string, Position]
  | ["wakeMe", number];

/** What each module that is loaded on demand offers to the others. */
export interface LateModules {
  calls: Pick<typeof import("./calls.js"), "create" | "fork" | "remove" | "request" | "sessions">;
  log: Pick<typeof import("./log.js"), "readLog">;
  sending:
    & Pick<typeof import("./keys.js"), "keySource">
    & Pick<typeof import("./prediction.js"), "Prediction">
    & Pick<typeof import("./sender.js"), "Sender">
    & Pick<typeof import("./tickets.js"), "Tickets">;
  storage: Pick<typeof import("./adopting.js"), "adopt"> & Pick<typeof import("./storage.js"), "Storage">;
}

export type Limits = typeof import("./attempts.js").limits;
export type SendingLimits = Limits & typeof import("./outbox.js").sendingLimits;
