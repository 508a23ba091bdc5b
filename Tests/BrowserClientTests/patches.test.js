// C8: states as patches of those before.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { patched, share } from "../../Sources/BrowserClient/reactor-client/patching.js";
import { difference, Fake, isSum, never } from "./fake-server.js";
import { Client, response } from "./machine-client.js";

const head = response(200, "", { "content-type": "text/event-stream" });
const read = (name) => JSON.parse(readFileSync(new URL(`../ClientVectors/${name}.json`, import.meta.url), "utf8"));

/** Freezes a value, so that a change of it fails. */
function freeze(value) {
  if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}

// --- the patch alone

test("a patch gives this state, or does not apply", () => {
  for (const { name, state, patch, result } of read("patches").cases) {
    const before = JSON.stringify(state);
    freeze(state);
    if (result === undefined) assert.throws(() => patched({ value: state }, patch), name);
    else {
      const copy = structuredClone(patch);
      assert.deepEqual(patched({ value: state }, copy), result, name);
      assert.equal(JSON.stringify(patched({ value: state }, structuredClone(patch))), JSON.stringify(result), name);
    }
    assert.equal(JSON.stringify(state), before, name);
    assert.equal(Object.keys(Object.prototype).length, 0, name);
    assert.equal({}.isAdmin, undefined, name);
  }
});

test("a patch without the state before does not apply, not even an empty one", () => {
  assert.throws(() => patched(undefined, []));
  assert.throws(() => patched(undefined, [{ op: "replace", path: "", value: 1 }]));
});

/** A value of some kind; `next` draws a number below its argument. */
function draw(next, depth = 3) {
  const names = ["a", "b", "__proto__", "c/d", "~", "", "0", "toString"];
  const kind = next(depth ? 6 : 4);
  if (kind === 0) return null;
  if (kind === 1) return next(2) > 0;
  if (kind < 4) return next(4);
  const all = Array.from({ length: next(5) }, () => draw(next, depth - 1));
  if (kind === 4) return all;
  const object = {};
  for (const value of all) {
    Object.defineProperty(object, names[next(names.length)], {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return object;
}

/** Whether parts that are equal and in the same place are the same objects. */
function sharesAll(old, value) {
  if (!old || typeof old !== "object") return true;
  if (JSON.stringify(old) === JSON.stringify(value)) return old === value;
  if (!value || typeof value !== "object" || Array.isArray(old) !== Array.isArray(value)) return true;
  return Object.keys(old).every((key) => !Object.hasOwn(value, key) || sharesAll(old[key], value[key]));
}

test("a patch that makes b of a makes b of a, and parts that are equal are the same objects", () => {
  let seed = 20_261_129;
  const next = (end) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(seed / 2 ** 32 * end);
  };
  let count = 0;
  for (let round = 0; round < 20_000; round++) {
    const [old, value] = [draw(next), draw(next)];
    const patch = difference(old, value);
    count += patch.length;
    freeze(old);
    const found = patched({ value: old }, structuredClone(patch));
    assert.deepEqual(found, value);
    assert.ok(sharesAll(old, found), JSON.stringify([old, patch]));
    const shared = share(old, structuredClone(value));
    assert.deepEqual(shared, value);
    assert.ok(sharesAll(old, shared), JSON.stringify([old, value]));
  }
  assert.ok(count > 20_000);
});

test("-0 takes the place of 0", () => {
  for (const [old, value] of [[0, -0], [-0, 0]]) {
    assert.ok(Object.is(share({ n: old }, { n: value }).n, value));
    const patch = [{ op: "replace", path: "/n", value: { of: value } }];
    assert.ok(Object.is(patched({ value: { n: { of: old } } }, patch).n.of, value));
  }
});

test("an element that is inserted moves the others, which stay the same objects", () => {
  const old = freeze({ list: [{ id: 1 }, { id: 2 }], other: { id: 3 } });
  const found = patched({ value: old }, [{ op: "add", path: "/list/0", value: { id: 0 } }]);
  assert.ok(found.list[1] === old.list[0] && found.list[2] === old.list[1] && found.other === old.other);
});

test("a part that is replaced keeps what is equal in it", () => {
  const old = freeze({ part: { same: { id: 1 }, other: 1 } });
  const found = patched({ value: old }, [{ op: "replace", path: "/part", value: { same: { id: 1 }, other: 2 } }]);
  assert.ok(found.part.same === old.part.same && found.part.other === 2);
});

test("a container is copied once, however many operations change it", () => {
  const old = freeze({ list: Array.from({ length: 1_000 }, (_, index) => index) });
  let copies = 0;
  const { slice } = Array.prototype;
  Array.prototype.slice = function (...range) {
    copies += this.length === 1_000;
    return slice.apply(this, range);
  };
  try {
    patched(
      { value: old },
      Array.from({ length: 500 }, (_, index) => ({ op: "replace", path: `/list/${index}`, value: 0 })),
    );
  } finally {
    Array.prototype.slice = slice;
  }
  assert.equal(copies, 1);
});

// --- the machine

const list = (outputs, kind) => outputs.filter(([one]) => one === kind);
const targets = (client) => list(client.outputs, "openStream").map(([, , one]) => one.target);
const news = (client) =>
  list(client.outputs, "deliver").map(([, , one]) => one).filter(([kind]) => !["shown", "status"].includes(kind));
const newest = (client) => client.outputs.filter(([, , one]) => one?.[0] === "status").pop()[2][1].link;
const patchOf = (value) => JSON.stringify([{ op: "replace", path: "", value }]);
const block = (name, place, data) => `event: ${name}\nid: ${place}\ndata: ${data}\n\n`;

/** Opens the newest stream. */
const open = (client) => client.receive("streamOpened", client.stream.id, head);

/** Follows a session, whose stream brings a snapshot. */
function live(state = '{"a":{"x":1},"b":{"y":1}}') {
  const client = new Client();
  client.follow({ predicts: false });
  open(client);
  client.bytes(block("snapshot", "aaaaaaaa.4", state));
  return client;
}

/** Cuts the stream; the next one is opened. */
function cut(client) {
  client.receive("streamEnded", client.stream.id, "it was cut");
  client.wait(250);
  open(client);
}

test("C8: patches are asked for together with states", () => {
  for (
    const [demand, expected] of [[{ states: true }, true], [{ pulses: true }, false], [{ activities: true }, false]]
  ) {
    const client = new Client();
    client.follow({ predicts: false, demand: { states: false, pulses: false, activities: false, ...demand } });
    assert.equal(targets(client)[0].includes("form=patch"), expected);
  }
});

test("C8: a patch is a state; what it does not change stays the same object", () => {
  const client = live();
  const { state } = client;
  client.bytes(block("patch", "aaaaaaaa.5", '[{"op":"replace","path":"/a/x","value":2}]'));
  assert.deepEqual(client.state, { a: { x: 2 }, b: { y: 1 } });
  assert.ok(client.state.b === state.b && client.state.a !== state.a);
  assert.deepEqual(state, { a: { x: 1 }, b: { y: 1 } });
  client.bytes(block("state", "aaaaaaaa.6", '{"a":{"x":3},"b":{"y":1}}'));
  assert.ok(client.state.b === state.b);
  client.bytes(block("patch", "aaaaaaaa.7", "[]"));
  assert.deepEqual(news(client).map(([kind, { position }]) => `${kind} ${position.text}`), [
    "snapshot aaaaaaaa.4",
    "state aaaaaaaa.5",
    "state aaaaaaaa.6",
    "state aaaaaaaa.7",
  ]);
});

test("C8: a stream resumes with patches where the state is known, also after a part of a record", () => {
  const client = live();
  client.bytes(block("x", "aaaaaaaa.5.1", "0"));
  cut(client);
  assert.match(targets(client).pop(), /&form=patch&after=aaaaaaaa\.5\.1$/);
  client.bytes(block("patch", "aaaaaaaa.5", '[{"op":"remove","path":"/a"}]'));
  assert.deepEqual(client.state, { b: { y: 1 } });
});

test("C8: no patches are asked for where the state before is not known", () => {
  for (const following of [{ start: "now" }, { start: "start" }, { after: true }]) {
    const client = new Client();
    const after = following.after && { text: "aaaaaaaa.3", generation: "aaaaaaaa", number: "3", part: "" };
    client.follow({ predicts: false, ...following, after });
    open(client);
    client.bytes("id: aaaaaaaa.4\n\n");
    cut(client);
    assert.deepEqual(targets(client).filter((one) => one.includes("form=patch")), []);
    client.bytes(block("state", "aaaaaaaa.5", "5"));
    cut(client);
    assert.match(targets(client).pop(), /&form=patch&after=aaaaaaaa\.5$/);
    client.bytes(block("patch", "aaaaaaaa.6", patchOf(6)));
    assert.equal(client.state, 6);
  }
});

test("C8: on a stream of several sessions all of their states have to be known", () => {
  const client = new Client();
  const demand = { states: true, pulses: false, activities: false };
  const follow = (session) => client.receive("follow", session, { demand, predicts: false, start: "present" });
  for (const session of ["a", "b"]) follow(session);
  client.wait(50);
  open(client);
  client.bytes(block("a/snapshot", "a/aaaaaaaa.4", "[1]") + block("b/snapshot", "b/bbbbbbbb.7", "[2]"));
  client.bytes(block("b/patch", "b/bbbbbbbb.8", '[{"op":"add","path":"/-","value":3}]'));
  assert.deepEqual(client.state, [2, 3]);
  client.bytes(block("a/patch", "a/aaaaaaaa.5", '[{"op":"add","path":"/-","value":4}]'));
  assert.deepEqual(client.state, [1, 4]);
  client.bytes(block("a/patch", "a/aaaaaaaa.6", '[{"op":"remove","path":"/9"}]'));
  client.wait(250);
  assert.match(targets(client).pop(), /only=states&after=aaaaaaaa\.5,bbbbbbbb\.8$/);
  open(client);
  client.bytes(block("b/patch", "b/bbbbbbbb.9", "0"));
  assert.deepEqual(news(client).pop()[0], "event", "an event of this name");
  client.bytes(block("a/state", "a/aaaaaaaa.6", "[6]"));
  cut(client);
  assert.match(targets(client).pop(), /only=states&form=patch&after=aaaaaaaa\.6,bbbbbbbb\.9$/);
});

test("C8: after a patch that does not apply the same version comes as a state, and nothing is lost", () => {
  for (const data of ['[{"op":"remove","path":"/c"}]', "{}", "[", '[{"op":"test","path":"/b","value":1}]']) {
    const client = live();
    const before = client.state;
    const outputs = client.bytes(block("patch", "aaaaaaaa.5", data) + block("patch", "aaaaaaaa.6", "[]"));
    assert.deepEqual(list(outputs, "deliver").filter(([, , one]) => one[0] !== "status"), []);
    assert.equal(list(outputs, "closeStream").length, 1);
    assert.match(newest(client).why, /the event patch cannot be read/);
    client.wait(250);
    assert.match(targets(client).pop(), /only=states&after=aaaaaaaa\.4$/);
    assert.equal(client.state, before);
    open(client);
    client.bytes(block("state", "aaaaaaaa.5", '{"b":{"y":1}}'));
    assert.ok(client.state.b === before.b);
    assert.deepEqual(news(client).map(([kind]) => kind), ["snapshot", "state"], "and no reset");
    cut(client);
    assert.match(targets(client).pop(), /&form=patch&after=aaaaaaaa\.5$/);
  }
});

test("C8: a server that does not know patches is asked without them, at once and from then on", () => {
  for (const code of ["unknown_parameter", "bad_form"]) {
    const client = new Client();
    client.follow({ predicts: false });
    client.receive("streamOpened", client.stream.id, response(400, JSON.stringify({ code, detail: "form" })));
    client.receive("streamEnded", client.stream.id);
    assert.deepEqual(targets(client).map((one) => one.includes("form=patch")), [true, false]);
    assert.equal(newest(client).kind, "connecting");
    open(client);
    client.bytes(
      block("snapshot", "aaaaaaaa.4", "4") + block("patch", "aaaaaaaa.5.1", "0") + block("state", "aaaaaaaa.5", "5"),
    );
    assert.equal(client.state, 5);
    assert.deepEqual(news(client).map(([kind]) => kind), ["snapshot", "event", "state"], "it has a pulse of this name");
    cut(client);
    assert.equal(targets(client).pop().includes("form=patch"), false);
  }
});

test("C8: the same refusal of a stream that did not ask for patches is as any other", () => {
  const client = new Client();
  client.follow({ predicts: false, start: "now" });
  client.receive("streamOpened", client.stream.id, response(400, '{"code":"unknown_parameter","detail":"from"}'));
  client.receive("streamEnded", client.stream.id);
  assert.equal(targets(client).length, 1);
  assert.equal(newest(client).kind, "waiting");
});

test("C8: patches apply to the state of the stream, not to one that was read beside it", () => {
  const client = live("[4]");
  client.send(1);
  const [, post] = list(client.outputs, "request").pop();
  client.receive("answered", post, response(200, '{"position":"aaaaaaaa.6","version":6}'));
  client.wait(1_000);
  const [, get] = list(client.outputs, "request").pop();
  client.receive("answered", get, response(200, '{"position":"aaaaaaaa.6","state":[4,5,6]}'));
  assert.deepEqual(client.state, [4, 5, 6]);
  client.bytes(block("patch", "aaaaaaaa.5", '[{"op":"add","path":"/-","value":5}]'));
  assert.deepEqual(client.state, [4, 5, 6]);
  assert.deepEqual(news(client).pop()[1].value, [4, 5]);
  client.bytes(block("patch", "aaaaaaaa.6", '[{"op":"add","path":"/-","value":6}]'));
  client.bytes(block("patch", "aaaaaaaa.7", '[{"op":"remove","path":"/0"}]'));
  assert.deepEqual(client.state, [5, 6]);
});

test("C8: a snapshot that is older than a state that was read is the base of what follows it", () => {
  const client = live("[4]");
  client.send(1);
  const [, post] = list(client.outputs, "request").pop();
  client.receive("answered", post, response(200, '{"position":"aaaaaaaa.9","version":9}'));
  client.wait(1_000);
  const [, get] = list(client.outputs, "request").pop();
  client.receive("answered", get, response(200, '{"position":"aaaaaaaa.9","state":[9]}'));
  // Of another stream, which began without a position.
  client.bytes(block("snapshot", "aaaaaaaa.6", "[6]"));
  assert.deepEqual(client.state, [9]);
  client.bytes(block("patch", "aaaaaaaa.7", '[{"op":"add","path":"/0","value":7}]'));
  assert.deepEqual(news(client).pop()[1].value, [7, 6]);
});

test("C8: after a reset a patch applies to its snapshot, and to nothing before that", () => {
  const client = live("[4]");
  client.bytes('event: reset\ndata: {"reason":"trimmed"}\n\n');
  client.bytes(block("patch", "aaaaaaaa.5", "[]"));
  assert.deepEqual(news(client).pop()[0], "reset", "it is not seen");
  client.bytes(
    block("snapshot", "bbbbbbbb.1", "[1]") + block("patch", "bbbbbbbb.2", '[{"op":"add","path":"/-","value":2}]'),
  );
  assert.deepEqual(client.state, [1, 2]);
});

test("C8: without the snapshot of a reset no patches are asked for", () => {
  const client = new Client();
  client.follow({ predicts: false, start: "now" });
  open(client);
  client.bytes(block("state", "aaaaaaaa.5", "5") + 'event: reset\ndata: {"reason":"trimmed"}\n\n');
  cut(client);
  client.bytes("id: aaaaaaaa.9\n\n");
  cut(client);
  assert.match(targets(client).pop(), /only=states&after=aaaaaaaa\.9$/);
});

test("a state that was read shares its parts with the one before", () => {
  const client = live();
  const { state } = client;
  client.send(1);
  client.receive(
    "answered",
    list(client.outputs, "request").pop()[1],
    response(200, '{"position":"aaaaaaaa.6","version":6}'),
  );
  client.wait(1_000);
  const body = '{"position":"aaaaaaaa.6","state":{"a":{"x":2},"b":{"y":1}}}';
  client.receive("answered", list(client.outputs, "request").pop()[1], response(200, body));
  assert.ok(client.state.a.x === 2 && client.state.b === state.b);
});

test("C8: two streams of one session continue one state", () => {
  const client = live("[4]");
  const earlier = client.stream;
  const demand = { states: true, pulses: false, activities: false };
  client.receive("follow", "hall", { demand, predicts: false, start: "present" });
  client.wait(50);
  const later = client.stream;
  assert.notEqual(earlier.id, later.id);
  const bytes = (stream, text) => client.receive("streamBytes", stream.id, new TextEncoder().encode(text));
  const add = (value) => `[{"op":"add","path":"/-","value":${value}}]`;
  bytes(earlier, block("patch", "aaaaaaaa.5", add(5)));
  open(client);
  bytes(later, block("room/patch", "room/aaaaaaaa.5", add(5)) + block("room/patch", "room/aaaaaaaa.6", add(6)));
  assert.deepEqual(client.state, [4, 5, 6]);
});

test("C8: events that were lost end the state to which a patch applies", () => {
  const client = live("[4]");
  const demand = { states: true, pulses: false, activities: false };
  const { reader } = client.machine.link("room");
  assert.deepEqual(reader.base, { value: [4] });
  assert.equal(reader.skips({ text: "aaaaaaaa.9", generation: "aaaaaaaa", number: "9", part: "" }), true);
  assert.equal(reader.base, undefined);
  client.bytes(block("state", "aaaaaaaa.10", "[10]"));
  assert.deepEqual(reader.base, { value: [10] });
  // Events of a stream without states.
  const position = { text: "aaaaaaaa.11", generation: "aaaaaaaa", number: "11", part: "" };
  reader.receive({ name: "x", data: "0", position }, { ...demand, states: false });
  assert.equal(reader.base, undefined);
});

for (const { name, steps } of read("overlays").transcripts) {
  test(`${name} (with patches)`, () => {
    const client = new Client();
    for (const [number, step] of steps.entries()) {
      const isPatch = step.event === "state" && client.machine.link("room").reader.base;
      client.perform(isPatch ? { ...step, event: "patch", data: patchOf(JSON.parse(step.data)) } : step);
      for (const what of ["shown", "pending", "applied", "failed"]) {
        if (step[what] !== undefined) assert.deepEqual(client[what], step[what], `${what} after step ${number}`);
      }
    }
  });
}

// --- sessions

const big = (sum) => ({ sum, list: [{ id: 1, text: "one" }, { id: 2, text: "two" }], more: { deep: [sum] } });

test("a session's unchanged parts stay the same objects, over patches, states and cuts", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  fake.send("state", "1", big(1));
  await isSum(session, 1);
  const { list: kept, more } = session.state;
  fake.send("state", "2", big(2));
  await isSum(session, 2);
  await fake.cut(client);
  fake.send("state", "3", big(3));
  await isSum(session, 3);
  assert.ok(session.state.list === kept && session.state.more !== more);
  assert.deepEqual(session.state, big(3));
  assert.ok(
    fake.requests.filter(({ target }) => target.includes("/events")).every(({ target }) =>
      target.includes("&form=patch")
    ),
  );
  assert.ok(fake.sent.includes("patch"));
  await client.close();
});

test("a prediction is reduced over a state that has come as a patch", async () => {
  const fake = new Fake(never);
  const { client, session } = await fake.session({
    predict: (state, { number }) => ({ ...state, sum: state.sum + number }),
  });
  fake.send("state", "1", big(1));
  await isSum(session, 1);
  session.submit({ number: 10 });
  await isSum(session, 11);
  fake.send("state", "2", big(5));
  await isSum(session, 15);
  assert.deepEqual(session.confirmed, big(5));
  await client.close();
});

test("a saved state is continued by patches; what is saved then is the whole state", async () => {
  const fake = new Fake();
  fake.open = () => [{ type: "state", session: "room", position: "aaaaaaaa.7", state: big(7) }];
  fake.remember("7", big(7));
  const { ReactorClient } = await import("../../Sources/BrowserClient/reactor-client.js");
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const session = client.session("room", { from: "saved" });
  await session.ready;
  const { list: kept } = session.state;
  await fake.opened;
  fake.send("state", "8", big(8));
  await isSum(session, 8);
  assert.ok(fake.sent.includes("patch") && session.state.list === kept);
  await client.close();
  const [state] = fake.changes.filter((one) => one.type === "state").slice(-1);
  assert.deepEqual(state, { type: "state", session: "room", position: "aaaaaaaa.8", state: big(8) });
});
