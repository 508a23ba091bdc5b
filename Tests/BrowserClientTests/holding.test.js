// R10: states that are held while no event can come, and events that do not continue a state. The
// tests of the Swift machine have the same names (HoldTests, ContinuityTests).

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client as Machine, response } from "./machine-client.js";

const head = response(200, "", { "content-type": "text/event-stream" });
const both = { states: true, pulses: false, activities: true };
const receipt = (number) => JSON.stringify({ position: `aaaaaaaa.${number}`, version: number });
const stateAt = (position, state) => JSON.stringify({ id: "room", version: 1, position, state });

/** A machine whose inputs return also what follows when a change is durable. */
class Client extends Machine {
  receive(...input) {
    const start = this.outputs.length;
    super.receive(...input);
    return this.outputs.slice(start);
  }
}

const requests = (outputs, method) =>
  outputs.filter(([kind, , one]) => kind === "request" && one.method === method).map(([, id, one]) => ({ id, ...one }));
const reads = (outputs) => requests(outputs, "GET");
const deliveries = (outputs, name) =>
  outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === name).map(([, , one]) => one.slice(1));
/** Each change of the shown state: `base` if the state below is a newer one, `-1` for a send that leaves, `+1` for one that joins. */
const shown = (outputs) =>
  deliveries(outputs, "shown").map(([{ advancesBase, left, joined }]) =>
    [...advancesBase ? ["base"] : [], ...left.map((one) => `-${one}`), ...joined.map(({ ticket }) => `+${ticket}`)]
      .join(
        " ",
      )
  );
const ends = (outputs) =>
  deliveries(outputs, "outcome").filter(([, { kind }]) => !["queued", "sent"].includes(kind)).map(([ticket, one]) =>
    `${ticket} ${one.kind}`
  );
const last = (list) => list[list.length - 1];

/** Opens the stream of a session that is followed. */
function open(client, following) {
  client.follow(following);
  client.receive("streamOpened", client.stream.id, head);
  return client;
}

function event(client, name, position, data, cause) {
  const fields = [`event: ${name}`, ...position ? [`id: ${position}`] : [], ...cause ? [`cause: ${cause}`] : []];
  return client.bytes(`${fields.join("\n")}\ndata: ${data}\n\n`);
}

const post = (outputs) => last(requests(outputs, "POST"));
const keyOf = (request) => request.fields["Idempotency-Key"];
const applied = (client, outputs, number) => client.answer(post(outputs), 200, receipt(number));

/** A client that has received the first of three records of its request. */
function begun() {
  const client = open(new Client());
  event(client, "snapshot", "aaaaaaaa.0", 0);
  const request = post(client.receive("send", "room", ["1", "2", "3"], {}));
  assert.deepEqual(shown(event(client, "state", "aaaaaaaa.1", 1, keyOf(request))), []);
  return { client, request, key: keyOf(request) };
}

const cut = (client) => client.receive("streamEnded", client.stream.id, "reset");

test("a session that ends shows for ever what it has held", () => {
  const { client, request } = begun();
  assert.deepEqual(shown(client.answer(request, 200, receipt(3))), []);
  const outputs = event(client, "end", "", '{"reason":"deleted"}');
  assert.deepEqual([ends(outputs), shown(outputs)], [["1 applied"], []]);
  // Nothing is due any more.
  assert.deepEqual(last(outputs.filter(([kind]) => kind === "wakeMe")), ["wakeMe", Infinity]);
  assert.deepEqual(client.wait(3_600_000), []);
});

test("a session that ends rolls back what is refused", () => {
  const { client, request } = begun();
  client.answer(request, 200, receipt(3));
  const next = post(client.send(4));
  const outputs = client.answer(next, 410, '{"code":"session_ended","detail":"no"}');
  assert.deepEqual(ends(outputs), ["1 applied", "2 refused"]);
  assert.deepEqual(shown(outputs), ["-2"]);
});

test("a session that is made again lets go of what it has held", () => {
  const { client, request } = begun();
  client.answer(request, 200, receipt(3));
  event(client, "end", "", '{"reason":"deleted"}');
  open(client);
  event(client, "reset", "", '{"reason":"generation"}');
  assert.deepEqual(shown(event(client, "snapshot", "bbbbbbbb.0", 0)), ["base -1"]);
});

for (const isSilent of [true, false]) {
  test(`a state is held while its stream is away, and ${isSilent ? "for 1 s" : "until the rest has come"} after that`, () => {
    const { client, key } = begun();
    cut(client);
    client.wait(1_000);
    assert.deepEqual(shown(client.wait(5_000)), []);
    assert.deepEqual(shown(client.receive("streamOpened", client.stream.id, head)), []);
    if (isSilent) {
      assert.deepEqual(shown(client.wait(999)), []);
      return assert.deepEqual(shown(client.wait(1)), ["base -1"]);
    }
    event(client, "state", "aaaaaaaa.2", 2, key);
    assert.deepEqual(shown(event(client, "state", "aaaaaaaa.3", 3, key)), []);
    assert.deepEqual(shown(event(client, "state", "aaaaaaaa.4", 4, "another's")), ["base -1"]);
  });
}

test("a state is held while a snapshot is awaited", () => {
  const { client } = begun();
  event(client, "reset", "aaaaaaaa.9", '{"reason":"trimmed"}');
  assert.deepEqual(shown(client.wait(5_000)), []);
  assert.deepEqual(shown(event(client, "snapshot", "aaaaaaaa.9", 9)), ["base -1"]);
});

test("a state that was read is held for 1 s, though its stream is away", () => {
  const client = new Client();
  client.follow();
  const first = post(client.send(1));
  client.send(2);
  client.answer(first, 200, receipt(1));
  const [read] = reads(client.wait(1_000));
  // It has all of the second send or nothing: no event would show it.
  assert.deepEqual(shown(client.answer(read, 200, stateAt("aaaaaaaa.2", 2))), []);
  assert.deepEqual(shown(client.wait(999)), []);
  assert.match(shown(client.wait(1)).join(), /^base/);
});

test("O4: a send that an event has shown is reported, and is held all the same", () => {
  const { client, request } = begun();
  client.receive("requestFailed", request.id, "reset");
  cut(client);
  const outputs = client.wait(23 * 3_600_000);
  assert.deepEqual([ends(outputs), shown(outputs)], [["1 applied"], []]);
  // The read state has all of it.
  const [read] = reads(client.wait(1_000));
  assert.deepEqual(shown(client.answer(read, 200, stateAt("aaaaaaaa.3", 3))), ["base -1"]);
});

// The server's `Retry-After` of a 409 is as long as the hold: the prediction was shown twice after
// it.
test("R10: a post that waits after 409 is sent when a state is held that may contain it", () => {
  const client = open(new Client());
  event(client, "snapshot", "aaaaaaaa.0", 0);
  const request = post(client.send(1));
  client.receive("requestFailed", request.id, "reset");
  cut(client);
  const again = post(client.wait(1_000));
  assert.equal(post(client.answer(again, 409, '{"code":"request_running"}', { "retry-after": "1" })), undefined);
  client.receive("streamOpened", client.stream.id, head);
  const outputs = event(client, "reset", "aaaaaaaa.9", '{"reason":"trimmed"}');
  outputs.push(...event(client, "snapshot", "aaaaaaaa.9", 9));
  assert.deepEqual(shown(outputs), []);
  const last = post(outputs);
  assert.deepEqual([last.fields, last.body], [again.fields, again.body]);
  assert.deepEqual(shown(client.answer(last, 200, receipt(9))), ["base -1"]);
  assert.deepEqual(shown(client.wait(1_000)), []);
});

test("R10: a held state ends no wait that the service has asked for", () => {
  const client = open(new Client());
  event(client, "snapshot", "aaaaaaaa.0", 0);
  const request = post(client.send(1));
  const busy = client.answer(request, 503, '{"code":"draining","detail":"no"}', { "retry-after": "5" });
  assert.equal(post(busy), undefined);
  assert.equal(post(event(client, "state", "aaaaaaaa.1", 1)), undefined);
  assert.equal(post(client.wait(4_999)), undefined);
  assert.equal(keyOf(post(client.wait(1))), keyOf(request));
});

// The state was read again and again: it did not contain the send, and no newer one came.
test("O4: a send whose hold was over before its event came is in the state", () => {
  const client = open(new Client());
  event(client, "snapshot", "aaaaaaaa.0", 0);
  const request = post(client.send(7));
  client.receive("requestFailed", request.id, "reset");
  // It may be the send's own, and is held for a second.
  const held = event(client, "state", "aaaaaaaa.1", 1);
  assert.deepEqual(shown(held), []);
  client.receive("requestFailed", post(held).id, "reset");
  const later = client.wait(1_000);
  assert.deepEqual(shown(later), ["base"]);
  for (const again of requests(later, "POST")) client.receive("requestFailed", again.id, "reset");
  event(client, "state", "aaaaaaaa.2", 2, keyOf(request));
  const outputs = client.wait(23 * 3_600_000);
  assert.deepEqual([ends(outputs), shown(outputs).join()], [["1 applied"], "-1"]);
  for (let count = 0; count < 10; count++) assert.deepEqual(reads(client.wait(60_000)), []);
});

// They are shown over the state as long as it is; without a bound each send would stay.
test("O7: answered sends that no state will contain are bounded", () => {
  const client = open(new Client({ limits: { actionsInOutbox: 3 } }));
  event(client, "snapshot", "aaaaaaaa.0", 0);
  event(client, "end", "", '{"reason":"forbidden"}');
  for (const number of [1, 2, 3]) {
    const outputs = client.send(number);
    assert.deepEqual(deliveries(outputs, "accepted"), [[number]]);
    applied(client, outputs, number);
  }
  const outputs = client.send(4);
  assert.deepEqual(deliveries(outputs, "notAccepted").map(([{ kind }]) => kind), ["outboxFull"]);
});

test("O6: what is taken back vanishes while a state is held", () => {
  const { client } = begun();
  assert.deepEqual(shown(client.send(4)), ["+2"]);
  assert.deepEqual(shown(client.receive("discard", 2, "room")), ["-2"]);
});

test("a session that is joined again has nothing to hold yet", () => {
  const { client } = begun();
  client.receive("leave", "room");
  cut(client);
  const saved = { position: { text: "aaaaaaaa.0", generation: "aaaaaaaa", number: "0", part: "" }, state: 0 };
  const demand = { states: true, pulses: false, activities: false };
  const outputs = client.receive("follow", "room", { demand, predicts: true, start: "present", saved });
  assert.deepEqual(shown(outputs), ["base +1"]);
});

test("R2: a state that events do not continue contains nothing of what they are about", () => {
  const client = open(new Client(), { demand: both, start: "start" });
  applied(client, client.send(1), 1);
  const [read] = reads(client.wait(1_000));
  client.answer(read, 200, stateAt("aaaaaaaa.1", 1));
  const request = post(client.receive("send", "room", ["2", "3"], {}));
  // Its state was before the gap.
  const outputs = event(client, "said", "aaaaaaaa.9", 9, keyOf(request));
  outputs.push(...event(client, "said", "aaaaaaaa.10", 10, "another's"));
  assert.deepEqual(shown(outputs), []);
  assert.deepEqual(shown(client.answer(reads(outputs)[0], 200, stateAt("aaaaaaaa.10", 10))), ["base -2"]);
});

// --- events that do not continue a state

/** A client that has read the state at number 1, and whose stream has not begun. */
function unbegun() {
  const client = open(new Client(), { demand: both, start: "start" });
  applied(client, client.send(1), 1);
  const [read] = reads(client.wait(1_000));
  assert.deepEqual(ends(client.answer(read, 200, stateAt("aaaaaaaa.1", 1))), ["1 applied"]);
  return client;
}

test("an event of another life does not continue a state that was read", () => {
  const client = unbegun();
  applied(client, client.send(2), 2);
  assert.deepEqual(shown(client.send(3)), ["+3"]);
  // The state is still that of the earlier life, and what is over it stays.
  const outputs = event(client, "said", "bbbbbbbb.1", 1, "another's");
  outputs.push(...client.wait(1_000));
  assert.deepEqual([shown(outputs), ends(outputs)], [[], []]);
  const present = client.answer(reads(outputs)[0], 200, stateAt("bbbbbbbb.1", 0));
  assert.deepEqual([deliveries(present, "snapshot").length, ends(present)], [1, ["2 applied"]]);
  // Held a moment: the state that was read may contain the third one.
  assert.deepEqual(shown(client.wait(1_000)), ["base -2"]);
});

test("R8: a send joins again when the state of the other life is read", () => {
  const client = open(new Client(), { demand: both, start: "start" });
  event(client, "state", "aaaaaaaa.1", 1);
  const request = post(client.send(1));
  event(client, "state", "aaaaaaaa.2", 2, keyOf(request));
  assert.deepEqual(shown(event(client, "state", "aaaaaaaa.3", 3, "another's")), ["base -1"]);
  event(client, "reset", "", '{"reason":"generation"}');
  cut(client);
  client.wait(500);
  client.receive("streamOpened", client.stream.id, head);
  // The state, which is still that of the earlier life, has it.
  const outputs = event(client, "said", "bbbbbbbb.1", 1, "another's");
  assert.deepEqual(shown(outputs), []);
  client.answer(reads(outputs)[0], 200, stateAt("bbbbbbbb.1", 0));
  assert.deepEqual(shown(client.wait(1_000)), ["base +1"]);
});

for (const name of ["said", ""]) {
  test(`${name ? "an event" : "a position"} after a gap does not continue a state that was read`, () => {
    const client = unbegun();
    // The server has trimmed the states before.
    const outputs = name ? event(client, name, "aaaaaaaa.9", 9, "another's") : client.bytes("id: aaaaaaaa.9\n\n");
    const [read] = reads(outputs);
    assert.deepEqual(deliveries(client.answer(read, 200, stateAt("aaaaaaaa.8", 8)), "snapshot"), []);
    const [again] = reads(client.wait(30_000));
    const present = client.answer(again, 200, stateAt("aaaaaaaa.9", 9));
    assert.deepEqual([client.state, shown(present)], [9, ["base"]]);
  });
}

test("an event that the state contains needs no other one", () => {
  const client = unbegun();
  for (const number of [1, 2]) {
    assert.deepEqual(reads(event(client, "said", `aaaaaaaa.${number}`, number)), []);
  }
  assert.equal(client.machine.links.get("room").reader.confirmed.text, "aaaaaaaa.2");
});
