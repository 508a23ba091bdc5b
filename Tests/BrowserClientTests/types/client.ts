// Programs against the declarations: each @ts-expect-error is a fault that a compiler has to find.

// @ts-types="../../../Sources/BrowserClient/reactor-client.d.ts"
import {
  type Problem,
  ProblemError,
  ReactorClient,
  type ReactorError,
  type Session,
} from "../../../Sources/BrowserClient/reactor-client.js";
// @ts-types="../../../Sources/BrowserClient/react.d.ts"
import { useReactor } from "../../../Sources/BrowserClient/react.js";
// @ts-types="../../../Sources/BrowserClient/outbox-indexeddb.d.ts"
import { indexedDBOutbox } from "../../../Sources/BrowserClient/outbox-indexeddb.js";
// @ts-types="../../../Sources/BrowserClient/ag-ui.d.ts"
import { agUIEvents, runAgent } from "../../../Sources/BrowserClient/ag-ui.js";
// @ts-types="./reactors.d.ts"
import type { Reactors } from "./reactors.js";

type Auction = Reactors["chat"] & { Input: { lot: string; limit?: number | null } };

export async function program() {
  const client = new ReactorClient("https://api.example.com", { token: ({ refused }) => refused ?? "token" });
  const room = client.session<Reactors["chat"]>("room-7", {
    reactor: "chat",
    predict: (state, action) => action.type === "say" ? { ...state, count: state.count + 1 } : state,
  });
  await room.ready;
  const count: number | undefined = room.state?.count;
  const receipt = await room.send({ type: "say", author: "ada", text: "Hi" });
  const version: number | undefined = receipt.version;
  await room.send([{ type: "typing", author: "ada" }], { settled: 1_000, ifMatch: receipt.position });
  const end: () => void = room.on("newest", (message, { position }) => console.log(message?.text, position));
  end();
  room.onActivity((activity) => console.log(activity.author));
  for await (const message of room.pulse("newest")) console.log(message?.text);
  for await (const entry of room.log({ live: true })) console.log(entry.kind, entry.content);
  const ticket = room.submit({ type: "say", author: "ada", text: "later" });
  if (await ticket.discard()) return [count, version];
  client.on("refusal", (refusal) => {
    if (refusal.error instanceof ProblemError) console.log(refusal.error.status, refusal.error.detail);
    refusal.dismiss();
  });

  client.session<Auction>("auction-7", { reactor: "auction", input: { lot: "A lamp" } });
  await client.create<Auction>({ reactor: "auction", input: { lot: "A lamp", limit: 7 } });

  // @ts-expect-error an input that the reactor does not take
  client.session<Auction>("auction-7", { reactor: "auction", input: { lot: 7 } });
  // @ts-expect-error an action that the reactor does not have
  await room.send({ type: "shout", author: "ada" });
  // @ts-expect-error a field is missing
  await room.send({ type: "say", author: "ada" });
  // @ts-expect-error a pulse that the reactor does not have
  room.on("oldest", () => {});
  // @ts-expect-error the value is a message or null
  room.on("newest", (message: number) => console.log(message));
  // @ts-expect-error a state has no such field
  console.log(room.state?.sum);
  // @ts-expect-error states are not written to
  room.state = undefined;
  // @ts-expect-error an address is a text or a URL
  new ReactorClient(8080);
  return [count, version];
}

/** The known codes of a type that permits any other text as well. */
type Known<Code extends string> = Code extends string ? (string extends Code ? never : Code) : never;

export const codes: [Known<ReactorError["code"]>, Known<ProblemError["code"]>, Known<Problem["code"]>] = [
  "outbox_full",
  "position_changed",
  "not_an_action",
];

// @ts-expect-error a misspelled code
export const unknown: Known<ProblemError["code"]> = "postion_changed";

/** A newer server may have other codes. */
export const isNewer = (error: ProblemError) => error.code === "a_newer_one";

export function component(room: Session<Reactors["chat"]>) {
  const { state, send, pending } = useReactor(room);
  const count: number | undefined = useReactor(room, (state) => state.count);
  // @ts-expect-error a part has the type of the selector
  const text: string = useReactor(room, (state) => state.count);
  // @ts-expect-error an action that the reactor does not have
  send({ type: "shout" });
  return [state?.messages[0]?.text, count, text, pending];
}

export async function untyped() {
  const client = new ReactorClient(new URL("https://api.example.com"));
  const session = client.session("room");
  await session.send({ anything: 1 });
  console.log(session.state.anything);
}

/**
 * What a program has or does not have is passed on as it is, also with
 * `exactOptionalPropertyTypes`.
 */
export function optional(
  name?: string,
  flag?: boolean,
  number?: number,
  token?: () => string,
  predict?: (state: Reactors["chat"]["State"]) => Reactors["chat"]["State"],
) {
  const outbox = name === undefined ? undefined : indexedDBOutbox("outbox", { account: name });
  const client = new ReactorClient("https://api.example.com", { token, outbox, hiddenAfter: number, fetch: undefined });
  const follow = { states: flag, pulses: flag, activities: flag };
  const from = name === undefined ? undefined : { after: name };
  const room = client.session<Reactors["chat"]>("room-7", { reactor: name, make: flag, follow, predict, from });
  client.sessions({ prefix: name, reactor: name, after: name, limit: number });
  room.pulse("newest", { buffer: number });
  room.log({ after: name, live: flag });
  indexedDBOutbox("outbox", { account: name });
  return [
    room.fork({ version: number }),
    client.create({ reactor: "chat", fork: { session: "room-7", version: number } }),
  ];
}

export async function agent(session: Session<Reactors["conversation"]>, signal: AbortSignal) {
  for await (const event of agUIEvents(session, { signal })) {
    if (event.type === "TEXT_MESSAGE_CONTENT") console.log(event.delta);
    // @ts-expect-error: a content has no role.
    if (event.type === "TEXT_MESSAGE_CONTENT") console.log(event.role);
  }
  const messages = [{ id: "a", role: "user" as const, content: "Why?" }];
  for await (const event of runAgent(session, { messages, runId: "r" })) console.log(event.type);
  // @ts-expect-error: it needs the messages.
  runAgent(session, {});
}
