// Faults around the client: an outbox that is not there, listeners that leave, tokens that expire,
// pages that are gone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";
import { Fake, isSum, never } from "./fake-server.js";

const entry = (ticket) => ({ ticket, session: "room", actions: ["1"], bytes: 1 });
const queued = (ticket) => ({ type: "queued", entry: entry(ticket) });
const settled = (ticket, code) => {
  return { type: "settled", ticket, session: "room", problem: { status: 422, code, detail: code } };
};

test("without an outbox, sends and sessions fail; nothing waits for ever", async () => {
  const fake = new Fake();
  fake.open = () => Promise.reject(new Error("in use"));
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const [before, early] = [client.session("before"), client.session("before").submit({ number: 1 })];
  const taken = early.discard();
  await assert.rejects(client.opened, /in use/);
  const after = client.session("after");
  for (const promise of [before.ready, early.done, after.ready, after.send({ number: 2 })]) {
    await assert.rejects(promise, { code: "outbox_unavailable" });
  }
  assert.deepEqual([await taken, await after.submit({}).discard()], [false, false]);
  assert.equal(after.status.kind, "failed");
  await client.close();
});

test("a write that fails is repeated before what follows it; meanwhile the status says why", async () => {
  const fake = new Fake();
  const write = fake.write;
  let failures = 2;
  fake.write = (changes) => failures-- > 0 ? Promise.reject(new Error("no room")) : Promise.resolve(write(changes));
  const { client, session } = await fake.session({ follow: { states: false } });
  const seen = [];
  session.subscribe(() => seen.push(session.status.why));
  const receipts = await Promise.all([session.send({ number: 1 }), session.send({ number: 2 })]);
  assert.deepEqual(receipts.map((one) => one.version), [1, 1]);
  assert.ok(seen.includes("the outbox cannot be written: no room"));
  assert.deepEqual(fake.changes.filter((one) => one.type === "queued").map((one) => one.entry.ticket), [1, 2]);
  assert.deepEqual([session.pending, session.status.kind], [0, "live"]);
  await client.close();
});

test("sends that wait for the outbox to open are bounded", async () => {
  const fake = new Fake(never);
  let opened;
  const opening = new Promise((resolve) => opened = () => resolve([]));
  fake.open = () => opening;
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const session = client.session("room");
  for (let number = 0; number < 10_000; number++) session.submit({ number });
  await assert.rejects(session.send({}), { code: "outbox_full" });
  opened();
  await client.close();
});

test("parts of a state that have not changed are the same objects, and methods are bound once", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const { send, submit } = session;
  fake.send("state", "1", { sum: 1, messages: [{ text: "a" }], ["__proto__"]: { x: 1 } });
  await isSum(session, 1);
  const { state } = session;
  fake.send("state", "2", { sum: 2, messages: [{ text: "a" }, { text: "b" }] });
  await isSum(session, 2);
  assert.notEqual(session.state, state);
  assert.equal(session.state.messages[0], state.messages[0]);
  assert.deepEqual(session.state, { sum: 2, messages: [{ text: "a" }, { text: "b" }] });
  assert.deepEqual([session.send, session.submit], [send, submit]);
  assert.equal((await send({ number: 1 })).version, 1);
  await client.close();
});

test("a loop over a pulse that begins before the first snapshot gets the present value, once", async () => {
  const fake = new Fake();
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch });
  const session = client.session("room");
  const loop = session.pulse("value");
  const first = loop.next();
  await fake.opened;
  fake.send("snapshot", "0", { pulses: { value: 7 }, state: { sum: 0 } });
  assert.equal((await first).value, 7);
  fake.send("value", "1.1", 8);
  fake.send("state", "1", { sum: 0, value: 8 });
  fake.send("value", "2", 9);
  assert.deepEqual([(await loop.next()).value, (await loop.next()).value], [8, 9]);
  await client.close();
});

test("a live log reports a gap", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const log = session.log({ live: true });
  const first = log.next();
  while (!fake.isOpen("/log", 1)) await new Promise((resolve) => setTimeout(resolve));
  fake.send("reset", "9", { reason: "trimmed" }, "/log");
  const { value } = await first;
  assert.deepEqual([value.kind, value.content.reason, value.position], ["reset", "trimmed", "aaaaaaaa.9"]);
  fake.send("mutation", "10", { kind: "mutation" }, "/log");
  assert.equal((await log.next()).value.kind, "mutation");
  await client.close();
});

test("a signal keeps nothing of a send that is done", async () => {
  const { client, session } = await new Fake().session({ follow: { states: false } });
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...values) => (listeners++, add(...values));
  signal.removeEventListener = (...values) => (listeners--, remove(...values));
  await session.send({ number: 1 }, { signal }).catch(() => {});
  assert.equal(listeners, 0);
  const ended = client.close();
  await ended;
  await assert.rejects(session.send({ number: 2 }, { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("a signal ends the waiting, and takes nothing back", async () => {
  const fake = new Fake(never);
  const { client, session } = await fake.session();
  const controller = new AbortController();
  const sent = session.send({ number: 1 }, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(sent, /enough/);
  assert.equal(session.pending, 1);
  await client.close();
});

test("a listener that another one has ended is not called any more", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const heard = [];
  let end = () => {};
  session.on("value", () => end());
  end = session.on("value", (value) => heard.push(value));
  const last = new Promise((resolve) => session.on("value", resolve));
  fake.send("value", "1", 7);
  await last;
  assert.deepEqual(heard, []);
  await client.close();
});

test("a session that is left and followed again within a listener begins anew", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const followed = new Promise((resolve) => {
    session.onEvent((event) => {
      if (event.kind !== "state") return;
      session.leave();
      const gone = client.session("room");
      gone.leave();
      resolve(client.session("room"));
    });
  });
  fake.send("state", "1", { sum: 1 });
  const again = await followed;
  let isReady = false;
  again.ready.then(() => isReady = true, () => {});
  // The sentinel: what was delivered with the state of the old one is delivered.
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([isReady, again.state, again.status.kind], [false, undefined, "connecting"]);
  await client.close();
});

test("a position that is none is a TypeError", async () => {
  const { client, session } = await new Fake().session();
  for (const position of ["", "now", "aaaaaaaa.1\n", "aaaaaaaa.01", "aaaaaaaa.18446744073709551616", undefined, null]) {
    assert.throws(() => client.session("other", { from: { after: position } }), TypeError);
    if (position !== undefined) await assert.rejects(session.send({}, { ifMatch: position }), TypeError);
  }
  assert.equal(session.pending, 0);
  await client.close();
});

test("a session that has ended is followed anew", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const ended = new Promise((resolve) => session.onEvent((event) => event.kind === "ended" && resolve()));
  fake.send("end", "1", { reason: "deleted" });
  await ended;
  assert.equal(session.status.kind, "ended");
  const again = client.session("room");
  assert.notEqual(again, session);
  assert.notEqual(again.status.kind, "ended");
  await client.close();
});

test("a queue is predicted once: each further action is reduced over what is shown", async () => {
  let count = 0;
  const predict = (state, { number }) => {
    count++;
    return { sum: state.sum + number };
  };
  const { client, session } = await new Fake(never).session({ predict });
  for (let number = 0; number < 1_000; number++) session.submit({ number: 1 });
  assert.deepEqual(session.state, { sum: 1_000 });
  assert.equal(count, 1_000);
  await client.close();
});

test("an action that joins before others is predicted in its place", async () => {
  const fake = new Fake(never);
  fake.open = () => [queued(1), queued(2)];
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const session = client.session("room", { predict: (state, action) => ({ ...state, all: [...state.all, action] }) });
  await fake.opened;
  session.submit(2);
  fake.send("snapshot", "0", { pulses: {}, state: { all: [] } });
  await session.ready;
  assert.deepEqual(session.state.all, [1, 1, 2]);
  fake.send("state", "1", { all: [9] });
  await new Promise((resolve) => session.subscribe(() => session.state.all[0] === 9 && resolve()));
  assert.deepEqual(session.state.all, [9, 1, 1, 2]);
  await client.close();
});

for (const how of ["the next state", "a state that is read"]) {
  test(`after a reset whose snapshot does not come, ${how} has the present value of a pulse, once`, async () => {
    const present = { value: 7, sum: 1 };
    const isRead = how === "a state that is read";
    const fake = new Fake(() => isRead ? [200, { position: "aaaaaaaa.12", state: present }] : [503, {}]);
    const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch });
    const session = client.session("room", { from: "now" });
    await fake.opened;
    const loop = session.pulse("value");
    const first = loop.next();
    fake.send("value", "1", 1);
    assert.equal((await first).value, 1);
    const reset = new Promise((resolve) => session.onReset(resolve));
    fake.send("reset", "9", { reason: "trimmed" });
    assert.equal(await reset, "trimmed");
    // The snapshot of the reset is lost, and a stream that begins now sends none. The client may
    // replace that stream once more.
    fake.onOpen = () => isRead ? fake.send("other", "11", 0) : fake.send("state", "12", present);
    await fake.cut(client);
    assert.equal((await loop.next()).value, 7);
    fake.send("state", "13", { value: 7, sum: 2 });
    fake.send("value", "14", 8);
    assert.equal((await loop.next()).value, 8);
    await client.close();
  });
}

test("a pulse may have the name of what every object has", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const heard = new Promise((resolve) => session.onActivity(resolve));
  fake.send("constructor", "1", { type: "constructor" });
  assert.deepEqual(await heard, { type: "constructor" });
  const loop = session.pulse("toString");
  const first = loop.next();
  fake.send("toString", "2", 5);
  assert.deepEqual(await first, { done: false, value: 5 });
  await client.close();
});

test("the refusals of a page that is gone reach earlier listeners; its sends are listed", async () => {
  const fake = new Fake(never);
  let adopt;
  fake.open = (found) => {
    adopt = found;
    return [];
  };
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  await client.opened;
  const told = [];
  const heard = new Promise((resolve) => client.on("refusal", (one) => resolve(told.push(one))));
  let end;
  const ended = new Promise((resolve) => end = resolve);
  const written = [];
  const rows = [settled(1, "not_now"), { type: "queued", entry: { ...entry(2), actions: ["2", "3"] } }];
  const orphan = { open: () => rows, write: (changes) => void written.push(...changes), close: end };
  const session = client.session("room");
  assert.deepEqual(client.pendingSends, []);
  adopt(orphan);
  await heard;
  assert.deepEqual(client.pendingSends.map((one) => [one.session, one.actions]), [["room", [2, 3]]]);
  assert.equal(session.pending, 0, "they are not the session's own");
  assert.deepEqual(told.map(({ session, error }) => [session, error.code]), [["room", "not_now"]]);
  told[0].dismiss();
  assert.deepEqual(written.map((one) => one.type).filter((type) => type !== "sent"), ["seen"]);
  await client.close();
  await ended;
});

test("a send that is in doubt after a restart is reported once, also while it is not durable", async () => {
  const fake = new Fake();
  const date = Math.floor(Date.now() / 1_000) - 24 * 3_600;
  fake.open = () =>
    Promise.resolve([queued(1), { type: "sent", session: "room", key: "k", body: "1", date, count: 1 }]);
  let persist = () => {};
  fake.write = (changes) => new Promise((resolve) => persist = () => resolve(fake.changes.push(...changes)));
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const told = [];
  client.on("refusal", ({ error }) => told.push(error.code));
  await client.opened;
  await Promise.resolve();
  persist();
  const refused = new Promise((resolve) => client.on("refusal", resolve));
  (await refused).dismiss();
  persist();
  await client.close();
  assert.deepEqual(told, ["in_doubt"]);
});

test("a listener for refusals that throws does not hide the others, and one that has ended is not called", async () => {
  const fake = new Fake();
  fake.open = () => Promise.resolve([settled(1, "one"), settled(2, "two")]);
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const told = [];
  client.on("refusal", () => told.push("ended"))();
  const heard = new Promise((resolve) => client.on("refusal", ({ error }) => told.push(error.code) === 2 && resolve()));
  await heard;
  assert.deepEqual(told, ["one", "two"]);
  await client.close();
});

test("a state that was saved is shown once: who comes back later begins with the present one", async () => {
  const fake = new Fake();
  fake.open = () => [{ type: "state", session: "room", position: "aaaaaaaa.5", state: { sum: 5 } }];
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const session = client.session("room", { from: "saved" });
  await session.ready;
  assert.deepEqual(session.state, { sum: 5 });
  session.leave();
  const again = client.session("room", { from: "saved" });
  assert.equal(again.state, undefined);
  await client.close();
});

test("a client reports when the last bytes have come", async () => {
  const fake = new Fake();
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const session = client.session("room");
  assert.equal(session.lastByteAt, undefined);
  await fake.opened;
  const before = Date.now();
  fake.send("snapshot", "0", { pulses: {}, state: { sum: 0 } });
  await session.ready;
  assert.ok(session.lastByteAt >= before - 1 && session.lastByteAt <= Date.now() + 1);
  await client.close();
});

// --- logs

test("a live log ends with the client, and when its session is left", async () => {
  for (const end of [({ client }) => client.close(), ({ session }) => session.leave()]) {
    const fake = new Fake();
    const found = await fake.session();
    const log = found.session.log({ live: true });
    const first = log.next();
    while (!fake.requests.some((one) => one.target.includes("/log"))) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    fake.send("mutation", "1", { kind: "mutation" }, "/log");
    assert.equal((await first).value.kind, "mutation");
    const next = log.next();
    await end(found);
    assert.deepEqual(await next, { done: true, value: undefined });
    await found.client.close();
  }
});

test("a live log ends if the service says after a 204 that the session has ended", async () => {
  const answers = [[503, "draining"], [406, "not_acceptable"], [410, "session_ended"]];
  const fake = new Fake(() => {
    const [status, code] = answers.shift();
    return [status, { code, detail: "d" }];
  });
  fake.refuse = () => new Response(null, { status: 204 });
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch });
  const log = client.session("room", { follow: { states: false, pulses: false, activities: false } }).log({
    live: true,
  });
  await assert.rejects(log.next(), { code: "session_ended" });
  const asked = fake.requests.filter(({ headers }) => headers.Accept === "application/problem+json");
  assert.deepEqual(
    asked.map(({ method, target }) => [method, target]),
    Array(3).fill(["GET", "/v1/sessions/room/log"]),
  );
  await client.close();
});

test("a log has another token when one is refused, once", async () => {
  const asked = [];
  const token = ({ refused }) => {
    asked.push(refused);
    return refused === "old" ? "new" : "old";
  };
  const fake = new Fake();
  fake.refuse = ({ Authorization }) => Authorization === "Bearer new" ? undefined : new Response("{}", { status: 401 });
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, token });
  const log = client.session("room", { follow: { states: false, pulses: false, activities: false } }).log({
    live: true,
  });
  const first = log.next();
  await fake.opened;
  fake.send("mutation", "1", { kind: "mutation" }, "/log");
  assert.equal((await first).value.kind, "mutation");
  assert.deepEqual(asked, [undefined, "old"]);
  await client.close();
  // C6: while every token is refused, the client waits.
  const other = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, token });
  fake.refuse = () => new Response("{}", { status: 401 });
  const nothing = { follow: { states: false, pulses: false, activities: false } };
  const next = other.session("room", nothing).log({ live: true }).next();
  while (asked.length < 4) await new Promise((resolve) => setTimeout(resolve));
  fake.refuse = () => undefined;
  while (!fake.isOpen("/log", 2)) await new Promise((resolve) => setTimeout(resolve));
  fake.send("mutation", "2", { kind: "again" }, "/log");
  assert.equal((await next).value.kind, "again");
  await other.close();
});

test("what waits for a token ends with the client", async () => {
  const fake = new Fake();
  let isAsked = () => {};
  const asked = new Promise((resolve) => isAsked = resolve);
  const token = () => new Promise(() => isAsked());
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, token });
  const found = assert.rejects(client.reactors(), { code: "unreachable" });
  const log = client.session("room").log().next();
  await asked;
  await Promise.all([client.close(), client.close()]);
  await found;
  assert.deepEqual(await log, { done: true, value: undefined });
  assert.deepEqual(fake.requests, []);
});

test("a token that is null is none", async () => {
  const fake = new Fake(() => [200, { reactors: [] }]);
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, token: () => null });
  await client.reactors();
  assert.equal(fake.requests[0].headers.Authorization, undefined);
  await client.close();
});

test("what a session has shown is not kept after it was left", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  fake.send("state", "1", { sum: 1 });
  await isSum(session, 1);
  session.leave();
  const [state] = fake.changes.filter((one) => one.type === "state").slice(-1);
  assert.deepEqual(state.state, { sum: 1 });
  await client.close();
});
