// Each rule of the design as one or several inputs, and what follows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, response } from "./machine-client.js";

const kinds = (outputs) => outputs.map(([kind]) => kind);
const requests = (outputs) => outputs.filter(([kind]) => kind === "request").map(([, id, one]) => ({ id, ...one }));
const streams = (outputs) => outputs.filter(([kind]) => kind === "openStream").map(([, id, one]) => ({ id, ...one }));
const outcomes = (client) =>
  client.outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === "outcome").map(([, , one]) => one.slice(1));
const ends = (client) =>
  outcomes(client).filter(([, { kind }]) => !["queued", "sent"].includes(kind)).map(([ticket, one]) =>
    `${ticket} ${one.kind}${one.problem ? ` ${one.problem.code}` : ""}`
  );
const posts = (client) =>
  client.outputs.filter(([kind, , one]) => kind === "request" && one.method === "POST").map(([, id, one]) => ({
    id,
    ...one,
  }));
const last = (list) => list[list.length - 1];
const receipt = (number, rest = {}) => JSON.stringify({ position: `aaaaaaaa.${number}`, version: number, ...rest });
const made = '{"position":"aaaaaaaa.0"}';
const problem = (code) => JSON.stringify({ code, detail: `${code}!` });
const head = response(200, "", { "content-type": "text/event-stream" });

/** Follows a session, and opens its stream. */
function live(options) {
  const client = new Client(options);
  client.follow();
  client.receive("streamOpened", client.stream.id, head);
  client.bytes("event: snapshot\nid: aaaaaaaa.0\ndata: 0\n\n");
  return client;
}

test("O1: one request at a time; what is sent meanwhile is one array", () => {
  const client = live();
  for (const action of [1, 2, 3]) client.send(action);
  assert.deepEqual(posts(client).map((one) => one.body), ["1"]);
  client.answer(posts(client)[0], 200, receipt(1));
  assert.deepEqual(posts(client).map((one) => one.body), ["1", "[2,3]"]);
});

test("O1: a send with a condition travels alone", () => {
  const client = live();
  client.send(1);
  client.send(2);
  client.send(3, { ifMatch: "aaaaaaaa.5" });
  client.send(4, { settled: 120_000 });
  client.send(5);
  for (let number = 1; number < 5; number++) client.answer(last(posts(client)), 200, receipt(number));
  assert.deepEqual(posts(client).map((one) => one.body), ["1", "2", "3", "4", "5"]);
  assert.equal(posts(client)[2].fields["If-Match"], '"aaaaaaaa.5"');
  assert.match(posts(client)[3].target, /\?wait=settled&timeout=120s$/);
});

test("O2: nothing leaves before its key and its bytes are durable, and a key is drawn at the first attempt", () => {
  const client = live();
  client.savesAtOnce = false;
  const outputs = client.send(1);
  assert.equal(outputs[0][0], "persist");
  assert.deepEqual(outputs[0][2].map((one) => one.type), ["queued", "sent"]);
  assert.deepEqual(posts(client), []);
  client.receive("persisted", outputs[0][1]);
  assert.equal(posts(client).length, 1);
  const offline = new Client();
  offline.follow({ makes: '{"reactor":"counter"}' });
  offline.send(1);
  assert.deepEqual(offline.saved.map((one) => one.type), ["queued"], "the session is not made yet");
});

test("O3: the same bytes under the same key on every doubt", () => {
  const client = live();
  client.send(1);
  const doubts = [() => client.receive("requestFailed", last(posts(client)).id, "cut")];
  for (const status of [200, 202, 204, 408, 425, 429, 500, 502, 503, 504, 507]) {
    doubts.push(() => client.answer(last(posts(client)), status, "{}"));
  }
  doubts.push(() => client.answer(last(posts(client)), 409, problem("request_running")));
  for (const [number, doubt] of doubts.entries()) {
    doubt();
    assert.deepEqual(ends(client), []);
    client.wait(30_000);
    assert.equal(posts(client).length, number + 2);
  }
  const [first] = posts(client);
  for (const one of posts(client)) assert.deepEqual([one.body, one.fields], [first.body, first.fields]);
});

test("O3: the time for an answer grows with the bytes of the request", () => {
  const client = live({ limits: { bytesInRequest: 300_000 } });
  client.receive("send", "room", [JSON.stringify("x".repeat(200_000))], {});
  const cancelled = () => client.outputs.filter(([kind]) => kind === "cancelRequest").length;
  client.wait(30_000);
  client.wait(199_999);
  assert.equal(cancelled(), 0);
  client.wait(3);
  assert.equal(cancelled(), 1);
});

test("O3: the server's Retry-After is the least wait", () => {
  const client = live();
  client.send(1);
  client.answer(last(posts(client)), 503, "", { "retry-after": "20" });
  client.wait(19_999);
  assert.equal(posts(client).length, 1);
  client.wait(1);
  assert.equal(posts(client).length, 2);
});

test("O4: after 23 hours a request is in doubt, unless an event has named it", () => {
  for (const isNamed of [false, true]) {
    const client = live();
    client.send(1);
    const [first] = posts(client);
    client.receive("requestFailed", first.id, "cut");
    const key = first.fields["Idempotency-Key"];
    if (isNamed) client.bytes(`event: state\nid: aaaaaaaa.1\ncause: ${key}\ndata: 1\n\n`);
    client.wait(10);
    const count = posts(client).length;
    if (count > 1) client.receive("requestFailed", last(posts(client)).id, "cut");
    client.wait(23 * 3_600_000);
    assert.deepEqual(ends(client), [isNamed ? "1 applied" : "1 inDoubt"]);
    assert.equal(posts(client).length, count);
  }
});

test("O4: also by the date alone, of a request of an earlier life", () => {
  const client = live();
  client.send(1);
  for (const [hours, expected] of [[22, []], [23, ["1 inDoubt"]], [-2, ["1 inDoubt"]]]) {
    const again = new Client({ saved: client.saved, sends: false });
    again.now = { uptime: 5, date: client.now.date + hours * 3_600 };
    again.load();
    assert.deepEqual(ends(again), expected, `${hours} hours later`);
    assert.equal(posts(again).length, expected.length ? 0 : 1);
  }
});

test("an answer that no event confirms is read beside the stream after a second", () => {
  const client = live();
  client.send(1);
  client.answer(last(posts(client)), 200, receipt(1));
  assert.deepEqual(requests(client.wait(999)), []);
  const [read] = requests(client.wait(1));
  assert.deepEqual([read.method, read.target], ["GET", "/v1/sessions/room"]);
  client.answer(read, 200, JSON.stringify({ state: 1, position: "aaaaaaaa.1" }));
  assert.deepEqual(ends(client), ["1 applied"]);
});

test("from: a stream without a position says where it begins", () => {
  for (const [start, expected] of [["present", false], ["now", true], ["start", true]]) {
    const client = new Client();
    client.follow({ start });
    assert.equal(client.stream.target.includes(`from=${start}`), expected);
  }
});

test("O5: a refused batch is halved with new keys until the culprit stands alone", () => {
  const client = live();
  for (const action of [1, 2, 3, 4, 5]) client.send(action);
  client.answer(last(posts(client)), 200, receipt(1));
  let number = 1;
  for (let turn = 0; turn < 50 && ends(client).length < 5; turn++) {
    const post = last(posts(client));
    const isBad = JSON.stringify(JSON.parse(`[${post.body}]`).flat()).includes("4");
    if (isBad) client.answer(post, 422, problem("not_an_action"));
    else client.answer(post, 200, receipt(++number));
    client.bytes(`event: state\nid: aaaaaaaa.${number}\ndata: 0\n\n`);
  }
  assert.deepEqual(posts(client).map((one) => one.body), ["1", "[2,3,4,5]", "[2,3]", "[4,5]", "4", "5"]);
  assert.equal(new Set(posts(client).map((one) => one.fields["Idempotency-Key"])).size, 6);
  assert.ok(ends(client).includes("4 refused not_an_action"));
});

test("O5: a batch whose body is too slow for the server is halved, and those after it", () => {
  const client = live();
  client.send(1);
  const text = "7".repeat(10_000);
  for (let number = 0; number < 4; number++) client.send(text);
  const sizes = () => posts(client).map((one) => Math.floor(one.body.length / 10_000));
  client.answer(last(posts(client)), 200, receipt(1));
  client.answer(last(posts(client)), 408, problem("body_too_slow"));
  assert.deepEqual(sizes(), [0, 4, 2]);
  assert.equal(new Set(client.keys).size, 3);
  // After a lost attempt only the same bytes may follow.
  client.receive("requestFailed", last(posts(client)).id, "reset");
  client.wait(30_000);
  const again = last(posts(client));
  client.answer(again, 408, problem("body_too_slow"));
  client.wait(30_000);
  assert.deepEqual(sizes(), [0, 4, 2, 2, 2]);
  assert.equal(client.keys.length, 3);
  client.answer(last(posts(client)), 200, receipt(3));
  client.answer(last(posts(client)), 200, receipt(5));
  assert.deepEqual(ends(client), [1, 2, 3, 4, 5].map((ticket) => `${ticket} applied`));
});

test("O5: what follows a body that was too slow for the server is no larger", () => {
  const client = live();
  const text = "7".repeat(10_000);
  const sizes = () => posts(client).map((one) => Math.floor(one.body.length / 10_000));
  client.send(1);
  for (let number = 0; number < 4; number++) client.send(text);
  client.answer(last(posts(client)), 200, receipt(1));
  for (let number = 0; number < 12; number++) client.send(text);
  client.receive("requestFailed", last(posts(client)).id, "reset");
  client.wait(30_000);
  client.answer(last(posts(client)), 408, problem("body_too_slow"));
  client.wait(30_000);
  client.answer(last(posts(client)), 200, receipt(5));
  client.answer(last(posts(client)), 200, receipt(9));
  assert.deepEqual(sizes(), [0, 4, 4, 4, 4, 8]);
});

test("O5: a body that was too slow for the server was not read", () => {
  const client = live();
  client.send(1);
  client.answer(last(posts(client)), 408, problem("body_too_slow"));
  client.wait(30_000);
  client.answer(last(posts(client)), 403, problem("forbidden"));
  assert.deepEqual(ends(client), ["1 refused forbidden"]);
});

test("O7: beyond its bounds the outbox accepts nothing, and drops nothing", () => {
  const client = new Client({ limits: { actionsInOutbox: 2 } });
  client.send(1);
  client.send(2);
  const refused = client.send(3).find(([kind]) => kind === "deliver");
  assert.deepEqual([refused[2][0], refused[2][1].kind], ["notAccepted", "outboxFull"]);
  assert.equal(client.machine.sender.outbox.actionCount, 2);
});

test("O8: an action is taken back while it waits, and not after it has left", () => {
  const client = live();
  client.send(1);
  client.send(2);
  client.receive("discard", 1, "room");
  client.receive("discard", 2, "room");
  assert.deepEqual(ends(client), ["2 discarded"]);
});

test("answers that refuse, and those that are a doubt", () => {
  const table = [
    [400, "malformed_json", "1 refused malformed_json"],
    [403, "forbidden", "1 refused forbidden"],
    [404, "unknown_session", "1 refused unknown_session"],
    [409, "no_parent", "1 refused no_parent"],
    [410, "session_ended", "1 refused session_ended"],
    [412, "position_changed", "1 refused position_changed"],
    [413, "body_too_large", "1 refused body_too_large"],
    [422, "key_reused", "1 inDoubt"],
    [301, "", undefined],
    [307, "", undefined],
    [409, "other", undefined],
  ];
  for (const [status, code, expected] of table) {
    const client = live();
    client.send(1);
    client.answer(last(posts(client)), status, problem(code), { etag: '"aaaaaaaa.9"' });
    assert.deepEqual(ends(client), expected === undefined ? [] : [expected], `${status}`);
  }
});

test("a refusal that says nothing of earlier attempts leaves a doubt", () => {
  const client = live();
  client.send(1);
  client.receive("requestFailed", last(posts(client)).id, "cut");
  client.wait(1_000);
  client.answer(last(posts(client)), 403, problem("forbidden"));
  assert.deepEqual(ends(client), ["1 inDoubt"]);
});

test("a session that was deleted refuses what waits, and leaves a doubt of what may have been applied", () => {
  const client = live();
  client.send(1);
  client.receive("requestFailed", last(posts(client)).id, "cut");
  client.send(2);
  client.wait(1_000);
  client.answer(last(posts(client)), 410, problem("session_ended"));
  assert.deepEqual(ends(client), ["1 inDoubt", "2 refused session_ended"]);
});

test("a session that is missing is made by the link that makes it", () => {
  const client = new Client();
  const [put] = requests(client.receive("follow", "room", {
    demand: { states: true, pulses: true, activities: true },
    predicts: false,
    start: "present",
    makes: '{"reactor":"counter"}',
  }));
  assert.deepEqual([put.method, put.target, put.body], ["PUT", "/v1/sessions/room", '{"reactor":"counter"}']);
  client.answer(put, 201, made);
  client.send(1);
  client.answer(last(posts(client)), 404, problem("unknown_session"));
  const again = client.outputs.filter(([kind, , one]) => kind === "request" && one.method === "PUT");
  assert.equal(again.length, 2);
  client.answer({ id: again[1][1] }, 201, made);
  client.wait(1_000);
  assert.equal(posts(client).length, 2);
  assert.equal(posts(client)[0].fields["Idempotency-Key"], posts(client)[1].fields["Idempotency-Key"]);
});

test("a session is created with its input, even by a later life of the client that has waiting actions", () => {
  const body = '{"reactor":"auction","input":{"lot":"a lamp"}}';
  const client = new Client();
  const following = { makes: body, demand: {}, predicts: false, start: "present" };
  const [put] = requests(client.receive("follow", "room", following));
  assert.equal(put.body, body);
  client.answer(put, 201, made);
  assert.deepEqual(requests(client.receive("follow", "room", following)).filter(({ method }) => method === "PUT"), []);
  client.send(1);
  // An earlier version saved only the name of the reactor.
  const earlier = JSON.parse(JSON.stringify(client.saved).replace(JSON.stringify(body), '"auction"'));
  for (const [saved, expected] of [[client.saved, body], [earlier, '{"reactor":"auction"}']]) {
    const again = new Client({ saved, sends: false });
    const [post] = requests(again.load());
    again.answer(post, 404, problem("unknown_session"));
    const [, , remade] = again.outputs.find(([kind, , one]) => kind === "request" && one.method === "PUT");
    assert.equal(remade.body, expected);
  }
  const other = body.replace("a lamp", "a chair");
  assert.equal(requests(client.receive("follow", "room", { ...following, makes: other }))[0].body, other);
});

test("a later life sends what was durable, under its key", () => {
  const client = live();
  client.send(1);
  client.send(2);
  const again = new Client({ saved: client.saved, sends: false });
  const [post] = requests(again.load());
  assert.deepEqual([post.body, post.fields], [posts(client)[0].body, posts(client)[0].fields]);
  again.answer(post, 200, receipt(1));
  assert.deepEqual(posts(again).map((one) => one.body), ["1", "2"]);
});

test("what cannot be made durable is not sent, now or later", () => {
  const client = live();
  client.savesAtOnce = false;
  client.send(1);
  client.receive("persistFailed", "the disk is full");
  client.send(2);
  client.wait(60_000);
  assert.deepEqual(posts(client), []);
  assert.deepEqual(ends(client), ["1 outboxUnavailable"]);
});

test("R7: events at or before what is seen are dropped", () => {
  const client = live();
  for (const [place, value] of [["2", 2], ["2", 20], ["1", 10], ["3.1", 0], ["3", 3], ["3.1", 30]]) {
    client.bytes(`event: state\nid: aaaaaaaa.${place}\ndata: ${value}\n\n`);
  }
  assert.equal(client.shown, 3);
  const seen = client.outputs.filter(([, , one]) => one?.[0] === "state").map(([, , one]) => one[1].position.text);
  assert.deepEqual(seen, ["aaaaaaaa.2", "aaaaaaaa.3.1", "aaaaaaaa.3"]);
});

test("C1: sessions share a stream, which is replaced before the old one ends", () => {
  const client = new Client();
  const demand = { states: true, pulses: false, activities: false };
  for (const session of ["a", "b"]) client.receive("follow", session, { demand, predicts: false, start: "present" });
  const [first] = streams(client.wait(50));
  assert.equal(first.target, "/v1/events?session=a&session=b&ids=own&only=states&form=patch");
  client.receive("streamOpened", first.id, head);
  client.bytes("event: a/snapshot\nid: a/aaaaaaaa.4\ndata: 1\n\n");
  client.receive("follow", "c", { demand, predicts: false, start: "present" });
  const outputs = client.wait(50);
  const [second] = streams(outputs);
  assert.equal(
    second.target,
    "/v1/events?session=a&session=b&session=c&ids=own&only=states&form=patch&after=aaaaaaaa.4,-,-",
  );
  assert.ok(!kinds(outputs).includes("closeStream"));
  assert.deepEqual(client.receive("streamOpened", second.id, head)[0], ["closeStream", first.id]);
});

test("presence: it is asked for with the name, has no position, and goes to the sessions that want it", () => {
  const client = new Client({ as: "ada é" });
  const demand = { states: true, pulses: false, activities: false };
  client.receive("follow", "a", { demand: { ...demand, presence: true }, predicts: false, start: "present" });
  const [alone] = streams(client.wait(50));
  assert.equal(alone.target, "/v1/sessions/a/events?only=states&presence=on&form=patch&as=ada%20%C3%A9");
  client.receive("streamOpened", alone.id, head);
  const isPresence = ([kind, , one]) => kind === "deliver" && one[0] === "presence";
  const seen = () => client.outputs.filter(isPresence).map(([, session, [, value]]) => [session, value]);
  client.bytes("event: snapshot\nid: aaaaaaaa.4\ndata: 1\n\n");
  client.bytes('event: presence\ndata: {"present":["ada é"],"others":0}\n\n');
  assert.deepEqual(seen(), [["a", { present: ["ada é"], others: 0 }]]);
  client.receive("follow", "b", { demand, predicts: false, start: "present" });
  const [both] = streams(client.wait(50));
  assert.ok(both.target.includes("only=states&presence=on&form=patch&as=ada%20%C3%A9&after=aaaaaaaa.4,-"), both.target);
  client.receive("streamOpened", both.id, head);
  const bytes = (text) => client.receive("streamBytes", both.id, new TextEncoder().encode(text));
  bytes('event: a/presence\ndata: {"count":101,"others":2}\n\nevent: b/presence\ndata: {"present":[],"others":1}\n\n');
  assert.deepEqual(seen().slice(1), [["a", { count: 101, others: 2 }]], "b does not want it");
  bytes("event: a/state\nid: a/aaaaaaaa.5\ndata: 2\n\n");
  const at = client.outputs.filter(([, , one]) => one?.[0] === "state").map(([, , one]) => one[1].position.text);
  assert.deepEqual(at, ["aaaaaaaa.5"], "an event after it is seen");
});

test("presence: a pulse of this name is a pulse if nobody asks for the other", () => {
  const client = live();
  client.bytes("event: presence\nid: aaaaaaaa.2\ndata: 7\n\n");
  const events = client.outputs.filter(([, , one]) => one?.[0] === "event").map(([, , one]) => one[1].value);
  assert.deepEqual(events, [7]);
});

/** Two streams that resume one session after 4: an earlier one, which is open, and one that is to replace it. */
function overlapping() {
  const client = new Client();
  const demand = { states: true, pulses: false, activities: false };
  const follow = (session) => client.receive("follow", session, { demand, predicts: false, start: "present" });
  follow("room");
  const [first] = streams(client.wait(50));
  client.receive("streamOpened", first.id, head);
  client.bytes("event: snapshot\nid: aaaaaaaa.4\ndata: 1\n\n");
  client.receive("streamEnded", first.id, "it was cut");
  const [earlier] = streams(client.wait(250));
  client.receive("streamOpened", earlier.id, head);
  follow("hall");
  const [later] = streams(client.wait(50));
  const bytes = (stream, text) => client.receive("streamBytes", stream.id, new TextEncoder().encode(text));
  return { client, earlier, later, bytes };
}

const resets = (client) => client.outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === "reset").length;
const reset = 'data: {"reason":"trimmed"}\n\n';

test("C1: a stream that resumes after what another one has brought reports no gap, and resumes again", () => {
  const { client, earlier, later, bytes } = overlapping();
  bytes(earlier, `event: reset\n${reset}event: snapshot\nid: aaaaaaaa.102\ndata: 2\n\n`);
  bytes(earlier, "event: state\nid: aaaaaaaa.103\ndata: 3\n\n");
  client.receive("streamOpened", later.id, head);
  const outputs = bytes(later, `event: room/reset\n${reset}event: room/snapshot\nid: room/aaaaaaaa.105\ndata: 5\n\n`);
  assert.equal(resets(client), 1, "the gap before 102");
  assert.deepEqual(kinds(outputs).filter((one) => one.endsWith("Stream")), ["closeStream"]);
  const [again] = streams(client.wait(250));
  assert.match(again.target, /&after=aaaaaaaa\.103,-$/);
  client.receive("streamOpened", again.id, head);
  // Of this one it is true.
  bytes(again, `event: room/reset\n${reset}event: room/snapshot\nid: room/aaaaaaaa.205\ndata: 6\n\n`);
  assert.equal(resets(client), 2);
  bytes(again, `event: room/reset\n${reset}`);
  assert.equal(resets(client), 3, "in the middle of a stream");
});

test("C1: a reset is reported if nothing has come meanwhile, or its snapshot has not", () => {
  for (const hasReset of [false, true]) {
    const { client, earlier, later, bytes } = overlapping();
    if (hasReset) bytes(earlier, `event: reset\n${reset}`);
    client.receive("streamOpened", later.id, head);
    bytes(later, `event: room/reset\n${reset}event: room/snapshot\nid: room/aaaaaaaa.105\ndata: 5\n\n`);
    assert.equal(resets(client), hasReset ? 2 : 1);
    assert.equal(client.state, 5);
  }
});

test("C1: a stream from the beginning stays when the page wakes", () => {
  for (const start of ["start", "now"]) {
    const client = new Client();
    client.follow({ start });
    const [first] = streams(client.outputs);
    client.receive("streamOpened", first.id, head);
    client.bytes("id: aaaaaaaa.0\n\n");
    client.receive("wake");
    client.wait(50);
    assert.equal(streams(client.outputs).length, 1);
  }
});

test("C2: a server that accepts fewer sessions on a stream gets more streams", () => {
  const demand = { states: true, pulses: false, activities: false };
  const count = (stream) => stream.target.split("session=").length - 1;
  for (const [status, code] of [[400, "too_many_sessions"], [414, ""], [431, ""]]) {
    const client = new Client();
    const sessions = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for (const session of sessions) client.receive("follow", session, { demand, predicts: false, start: "present" });
    let open = streams(client.wait(50));
    assert.deepEqual(open.map(count), [10]);
    while (open.some((one) => count(one) > 3)) {
      const large = open.find((one) => count(one) > 3);
      client.receive("streamOpened", large.id, response(status, problem(code)));
      const outputs = client.receive("streamEnded", large.id, undefined);
      const closed = outputs.filter(([kind]) => kind === "closeStream").map(([, id]) => id);
      open = open.filter((one) => one !== large && !closed.includes(one.id)).concat(streams(outputs));
    }
    assert.deepEqual(open.map(count), [2, 2, 2, 2, 2], `${status}`);
  }
});

test("R10: the first state after a gap may contain what is not answered", () => {
  const client = new Client();
  const demand = { states: true, pulses: false, activities: false };
  client.follow({ start: "start" });
  const first = client.stream;
  client.receive("streamOpened", first.id, head);
  // Another demand: another stream is opened before the first one has brought anything.
  client.follow({ start: "start", demand: { ...demand, activities: true } });
  const second = client.stream;
  assert.notEqual(second.id, first.id);
  client.stream = first;
  client.bytes("event: state\nid: aaaaaaaa.3\ndata: 3\n\n");
  client.send(1);
  assert.equal(client.shown, 4);
  client.stream = second;
  client.receive("streamOpened", second.id, head);
  // The server has trimmed what was before: the effect of the send may be in it.
  client.bytes("event: state\nid: aaaaaaaa.9\ncause: another\ndata: 9\n\n");
  assert.equal(client.state, 9);
  assert.equal(client.shown, 4);
});

test("C3: a stream that worked and ended cleanly is opened at once; another one after a wait", () => {
  const client = live();
  client.wait(5_000);
  client.bytes("event: ping\nid: aaaaaaaa.0\ndata: {}\n\n");
  assert.equal(streams(client.receive("streamEnded", client.stream.id, undefined)).length, 1);
  client.receive("streamOpened", client.stream.id, head);
  assert.equal(streams(client.receive("streamEnded", client.stream.id, undefined)).length, 0);
  assert.equal(streams(client.wait(125)).length, 1);
});

test("C3: a server that drains spreads its clients", () => {
  const client = live();
  client.bytes("retry: 100\n\n");
  client.wait(5_000);
  client.bytes("retry: 9000\n\n");
  assert.equal(streams(client.receive("streamEnded", client.stream.id, undefined)).length, 0);
  assert.equal(streams(client.wait(8_999)).length, 0);
  assert.equal(streams(client.wait(1)).length, 1);
});

test("C4: a silent stream is replaced, at once when the page wakes", () => {
  for (const [silence, wakes] of [[40_000, false], [20_001, true]]) {
    const client = live();
    const { id } = client.stream;
    assert.deepEqual(client.wait(silence - 1).filter(([kind]) => kind === "closeStream"), []);
    const outputs = client.wait(1);
    if (wakes) outputs.push(...client.receive("wake"));
    assert.deepEqual(outputs.find(([kind]) => kind === "closeStream"), ["closeStream", id]);
  }
});

const status = (client) =>
  last(client.outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === "status"))[2][1].link;
/** The newest status, without that of an attempt that has just begun. */
const waits = (client) =>
  last(client.outputs.filter(([, , one]) => one?.[0] === "status" && one[1].link.kind !== "connecting"))[2][1].link;

test("C5: a redirection to what is no address is waited out", () => {
  for (const location of ["http://[", "//", "http://a:x", ""]) {
    const client = new Client();
    client.follow();
    client.receive("streamOpened", client.stream.id, response(307, "", { location }));
    client.receive("streamEnded", client.stream.id);
    assert.equal(status(client).kind, "waiting");
  }
});

test("C5: foreign answers for an hour, at each step, refuse nothing; then every action is applied once", () => {
  const page = "<html>not the service</html>";
  const statuses = [...Array(305).keys()].map((number) => 200 + number);
  for (const time of [1_000, 3_600_000]) {
    const client = new Client();
    client.follow({ makes: '{"reactor":"counter"}' });
    for (const action of [1, 2, 3]) client.send(action);
    let count = 0;
    const answered = new Set();
    const open = () =>
      client.outputs.filter(([kind, id]) => /^(request|openStream)$/.test(kind) && !answered.has(id)).map(
        ([kind, id, one]) => ({ kind, id, ...one }),
      );
    /** Serves all requests until a time, as a proxy or as the service. */
    const serve = (until, isForeign) => {
      let number = 0;
      while (client.now.uptime < until) {
        for (const { kind, id, method } of open()) {
          answered.add(id);
          const foreign = response(statuses[count++ % statuses.length], page, { "content-type": "text/html" });
          if (kind === "openStream") {
            client.receive("streamOpened", id, isForeign ? foreign : head);
            if (isForeign) client.receive("streamEnded", id);
            else client.bytes("event: snapshot\nid: aaaaaaaa.0\ndata: 0\n\n");
          } else if (isForeign) client.receive("answered", id, foreign);
          else client.answer({ id }, 200, method === "POST" ? receipt(++number) : made);
        }
        client.wait(500);
      }
    };
    serve(time, true);
    assert.deepEqual([ends(client), client.pending], [[], 3]);
    assert.match(waits(client).why, /^status \d+: this is not an answer of the service$/);
    serve(time + 60_000, false);
    // The stream and the posts get a proxy's answers too.
    client.receive("streamEnded", client.stream.id, "cut");
    for (const action of [4, 5]) client.send(action);
    serve(client.now.uptime + time, true);
    assert.deepEqual([client.pending, waits(client).kind], [2, "waiting"]);
    serve(client.now.uptime + 60_000, false);
    const keys = new Set(posts(client).map((one) => one.fields["Idempotency-Key"]));
    assert.deepEqual(ends(client).sort(), [1, 2, 3, 4, 5].map((ticket) => `${ticket} applied`));
    assert.equal(new Set(posts(client).map((one) => one.body)).size, keys.size, "a request has one key");
    assert.equal(status(client).kind, "live");
  }
});

test("C5: what is refused is tried again slowly, and when the client wakes", () => {
  for (const wakes of [false, true]) {
    const client = new Client();
    client.follow();
    client.receive("streamOpened", client.stream.id, response(403, problem("forbidden")));
    client.receive("streamEnded", client.stream.id);
    assert.deepEqual(status(client), {
      kind: "failed",
      problem: { status: 403, code: "forbidden", detail: "forbidden!" },
    });
    client.wait(29_999);
    assert.equal(streams(client.outputs).length, 1);
    if (wakes) client.receive("wake");
    client.wait(wakes ? 50 : 15_001);
    client.wait(50);
    assert.equal(streams(client.outputs).length, 2);
    client.receive("streamOpened", client.stream.id, head);
    assert.equal(status(client).kind, "live");
    const count = client.outputs.length;
    client.wait(120_000 - 80_001);
    assert.deepEqual(streams(client.outputs.slice(count)), [], "nothing is tried again");
  }
});

test("C5: a session that is refused and left is forgotten", () => {
  const client = new Client();
  client.follow({ makes: '{"reactor":"counter"}' });
  client.answer(requests(client.outputs)[0], 422, problem("unknown_reactor"));
  client.receive("leave", "room");
  client.wait(120_000);
  assert.deepEqual([client.machine.links.size, client.machine.attempts.size], [0, 0]);
});

test("C5: a stream follows a redirection within its origin, and takes no token elsewhere", () => {
  for (
    const [location, target] of [["/base/v1/moved?x=1", "/v1/moved?x=1"], ["https://evil.example/base/v1/x"], [""]]
  ) {
    const client = new Client();
    client.follow();
    client.receive("streamOpened", client.stream.id, response(307, "", { location }));
    const opened = streams(client.receive("streamEnded", client.stream.id, undefined));
    assert.deepEqual(opened.map((one) => one.target), target ? [target] : []);
  }
});

test("C5: a redirect applies to one connection: a maintenance page may stay after the server is back", () => {
  for (const status of [undefined, 200, 404, 503, 307]) {
    const client = new Client();
    client.follow();
    client.receive("streamOpened", client.stream.id, response(307, "", { location: "/base/maintenance" }));
    let opened = streams(client.receive("streamEnded", client.stream.id));
    for (let count = 1; count <= 3 && opened.length; count++) {
      assert.equal(opened[0].target, "/maintenance");
      const field = { location: "/base/maintenance" };
      if (status) client.receive("streamOpened", client.stream.id, response(status, "<html>", field));
      opened = streams(client.receive("streamEnded", client.stream.id, status ? undefined : "nobody listens"));
    }
    assert.deepEqual(opened, []);
    assert.match(streams(client.wait(1_000))[0].target, /^\/v1\/sessions\/room\/events\?/);
  }
});

test("C5: after its stream got 204, a session that is left is not asked for any more", () => {
  const client = new Client();
  client.follow();
  client.receive("streamOpened", client.stream.id, response(204));
  client.receive("streamEnded", client.stream.id);
  client.answer(last(requests(client.outputs)), 502, "<html>", { "content-type": "text/html" });
  client.receive("leave", "room");
  client.wait(120_000);
  assert.deepEqual([client.machine.links.size, client.machine.attempts.size], [0, 0]);
});

/** Gives the token that is asked for. */
const give = (client, token) => {
  const [, id, refused] = last(client.outputs.filter(([kind]) => kind === "askForToken"));
  client.receive("token", id, token);
  return refused;
};

test("C6: a 401 settles nothing: a token is asked for at once, then before each attempt", () => {
  const client = new Client({ asksForTokens: true });
  for (const action of [1, 2]) client.send(action);
  assert.equal(give(client, "one"), undefined);
  assert.equal(last(posts(client)).fields.Authorization, "Bearer one");
  client.answer(last(posts(client)), 401, problem("token_invalid"));
  assert.equal(give(client, "two"), "one");
  client.answer(last(posts(client)), 401, problem("token_invalid"));
  assert.deepEqual([posts(client).length, ends(client)], [2, []]);
  const { kind, problem: found } = status(client);
  assert.deepEqual([kind, found.code], ["waiting", "token_invalid"]);
  client.wait(30_000);
  assert.equal(give(client, "three"), "two");
  client.answer(last(posts(client)), 200, receipt(1));
  assert.equal(give(client, "three"), undefined);
  client.answer(last(posts(client)), 200, receipt(2));
  assert.deepEqual(posts(client).map((one) => one.body), ["1", "1", "1", "2"]);
  assert.deepEqual(ends(client), ["1 applied", "2 applied"]);
});

test("C6: the token that was refused is sent again after a wait only", () => {
  const client = new Client({ asksForTokens: true });
  client.send(1);
  give(client, "one");
  client.answer(last(posts(client)), 401, "<html>", { "content-type": "text/html" });
  give(client, "one");
  assert.equal(posts(client).length, 1);
  client.receive("wake");
  assert.equal(give(client, "one"), "one");
  client.answer(last(posts(client)), 200, receipt(1));
  assert.deepEqual([posts(client).length, ends(client)], [2, ["1 applied"]]);
});

test("D8: a hidden page gives its connection back, and resumes after what it has seen", () => {
  const client = live();
  const { id } = client.stream;
  client.bytes("event: state\nid: aaaaaaaa.7\ndata: 7\n\n");
  client.receive("hide");
  assert.deepEqual(client.wait(50).filter(([kind]) => kind === "closeStream"), [["closeStream", id]]);
  client.send(1);
  assert.equal(posts(client).length, 1, "actions are sent all the same");
  const [stream] = streams(client.receive("show"));
  assert.match(stream.target, /after=aaaaaaaa\.7$/);
});

test("a stream with an event that is too large, or without its position, is closed and tried again", () => {
  for (
    const text of [
      "data: " + "x".repeat(200),
      "event: state\nid: x\ndata: 1\n\n",
      "event: state\nid: aaaaaaaa.1\ndata: {\n\n",
    ]
  ) {
    const client = live({ limits: { eventBytes: 100 } });
    const { id } = client.stream;
    const outputs = client.bytes(text);
    assert.deepEqual(outputs.find(([kind]) => kind === "closeStream"), ["closeStream", id]);
    assert.equal(streams(client.wait(125)).length, 1);
  }
});
