// Pending and failed sends, as a program finds them; and the requests that a client sends.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";
import { Fake, never } from "./fake-server.js";
import { Client, response } from "./machine-client.js";

const refusing = () => [422, { code: "not_an_action", detail: "no" }];
const head = response(200, "", { "content-type": "text/event-stream" });
const posts = (outputs) => outputs.filter(([kind, , one]) => kind === "request" && one.method === "POST");

test("a refusal has its actions; a retry sends them under a new key, and then it is seen", async () => {
  const fake = new Fake(refusing);
  const { client, session } = await fake.session();
  const refused = new Promise((resolve) => client.on("refusal", resolve));
  session.submit({ number: 7 });
  const refusal = await refused;
  assert.deepEqual(refusal.actions, [{ number: 7 }]);
  fake.answer = () => [200, { position: "aaaaaaaa.1", version: 1 }];
  const receipt = refusal.retry().done;
  fake.send("state", "1", { sum: 7 });
  assert.equal((await receipt).version, 1);
  assert.deepEqual(fake.posts, ['{"number":7}', '{"number":7}']);
  const keys = fake.requests.filter((one) => one.method === "POST").map((one) => one.headers["Idempotency-Key"]);
  assert.notEqual(keys[0], keys[1]);
  const types = fake.changes.map((one) => one.type);
  assert.ok(types.lastIndexOf("queued") < types.indexOf("seen"), `${types}`);
  await client.close();
});

test("a refusal of an earlier page has its actions", async () => {
  const fake = new Fake();
  fake.open = () => [
    { type: "queued", entry: { ticket: 1, session: "room", actions: ['{"number":1}'], bytes: 12 } },
    { type: "settled", ticket: 1, session: "room", problem: { status: 422, code: "not_an_action", detail: "no" } },
  ];
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fake });
  const { actions } = await new Promise((resolve) => client.on("refusal", resolve));
  assert.deepEqual(actions, [{ number: 1 }]);
  await client.close();
});

test("the sends that are not done are a list, and one that has not left is taken back", async () => {
  const fake = new Fake(never);
  const { client, session } = await fake.session();
  session.submit({ number: 1 });
  session.submit({ number: 2 });
  const found = client.pendingSends;
  assert.deepEqual(found.map((one) => [one.session, one.actions, one.isSent]), [
    ["room", [{ number: 1 }], true],
    ["room", [{ number: 2 }], false],
  ]);
  assert.deepEqual(await Promise.all(found.map((one) => one.discard())), [false, true]);
  assert.equal(client.pendingSends.length, 1);
  await client.close();
});

test("a failure that the program waits for is no refusal; one whose waiting was ended is", async () => {
  const fake = new Fake(refusing);
  const { client, session } = await fake.session();
  const heard = [];
  client.on("refusal", (one) => heard.push(one.actions[0].number));
  await assert.rejects(session.send({ number: 1 }), { code: "not_an_action" });
  let answer;
  fake.answer = () => new Promise((resolve) => answer = () => resolve(refusing()));
  const controller = new AbortController();
  const sent = session.send({ number: 2 }, { signal: controller.signal });
  while (!answer) await new Promise((resolve) => setTimeout(resolve));
  controller.abort(new Error("enough"));
  await assert.rejects(sent, /enough/);
  answer();
  await new Promise((resolve) => client.on("refusal", resolve));
  assert.deepEqual(heard, [2]);
  await client.close();
});

test("a session does not hear what another one on its stream follows", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session({ follow: { pulses: ["value"], activities: false } });
  const heard = [];
  session.onEvent((event) => heard.push(event.kind === "state" ? "state" : event.name));
  fake.send("said", "1.1", { type: "said" });
  fake.send("other", "1.2", 1);
  fake.send("value", "1.3", 2);
  fake.send("state", "1", { sum: 1 });
  while (heard[heard.length - 1] !== "state") await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(heard, ["value", "state"]);
  await client.close();
});

test("the status has the reason for which there is no token", async () => {
  const fake = new Fake();
  const token = () => Promise.reject(new Error("signed out"));
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, token });
  const session = client.session("room");
  await new Promise((resolve) => session.subscribe(() => session.status.kind === "waiting" && resolve()));
  assert.equal(session.status.why, "no token: signed out");
  await client.close();
});

test("a deletion is believed when the service says that the session is gone", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const requests = () => fake.requests.splice(0).map(({ method, target }) => `${method} ${target}`);
  requests();
  fake.answer = () => [200, {}];
  await assert.rejects(session.delete(), { code: "unreachable", message: /the responses are not from the service/ });
  assert.deepEqual(requests(), Array(3).fill("DELETE /v1/sessions/room"));
  // The first answer is another's, and the second one the service's.
  fake.answer = () => fake.requests.length < 3 ? [200, {}] : [410, { code: "session_ended", detail: "deleted" }];
  await session.delete();
  assert.deepEqual(requests(), Array(3).fill("DELETE /v1/sessions/room"));
  // A service that is busy has not said it.
  fake.answer = () => fake.requests.length < 2 ? [200, {}] : [503, { code: "draining", detail: "busy" }];
  await assert.rejects(session.delete(), { code: "unreachable", message: "status 503: busy" });
  fake.answer = () => [403, { code: "forbidden", detail: "no" }];
  await assert.rejects(session.delete(), { code: "forbidden" });
  await client.close();
});

test("ADR-0072: a request says which key is not used again", () => {
  const client = new Client();
  client.send(1);
  const [first] = [...client.requests.values()];
  assert.equal(first.fields["Idempotency-Key-Done"], undefined);
  client.send(2);
  client.answer(first, 200, '{"position":"aaaaaaaa.1","version":1}');
  const key = first.fields["Idempotency-Key"];
  const second = client.requests.get(client.keys[1]);
  assert.equal(second.fields["Idempotency-Key-Done"], key);
  // Also in a repeated attempt, and after a refusal, which the server does not store.
  client.receive("requestFailed", second.id, "reset");
  client.wait(1_000);
  const again = client.requests.get(client.keys[1]);
  assert.notEqual(again.id, second.id);
  assert.deepEqual(again.fields, second.fields);
  client.send(3);
  client.answer(again, 422, '{"code":"not_an_action","detail":"no"}');
  assert.equal(client.requests.get(client.keys[2]).fields["Idempotency-Key-Done"], key);
});

test("the clock of the program's life is believed when it is set back", () => {
  const client = new Client();
  const [[, id]] = posts(client.send(1).concat(client.outputs));
  client.now.date -= 7_200;
  client.receive("requestFailed", id, "reset");
  assert.equal(posts(client.wait(1_000)).length, 1);
  assert.deepEqual(client.failed, []);
});

test("sixteen sessions are made at a time", () => {
  const client = new Client({ sends: false });
  const demand = { states: true, pulses: false, activities: false };
  const puts = () => client.outputs.filter(([kind, , one]) => kind === "request" && one.method === "PUT");
  for (let number = 0; number < 40; number++) {
    client.receive("follow", `room-${number}`, {
      demand,
      predicts: false,
      start: "present",
      makes: '{"reactor":"alerts"}',
    });
  }
  assert.equal(puts().length, 16);
  // A session that was left is not created. A failed one gives up its turn, and gets another.
  client.receive("leave", "room-16");
  client.receive("requestFailed", puts()[0][1], "reset");
  assert.equal(puts()[16][2].target, "/v1/sessions/room-17");
  for (let index = 1; index < puts().length; index++) {
    client.answer({ id: puts()[index][1] }, 201, '{"position":"aaaaaaaa.0"}');
  }
  client.wait(1_000);
  client.answer({ id: puts()[puts().length - 1][1] }, 201, '{"position":"aaaaaaaa.0"}');
  assert.deepEqual([puts().length, client.machine.making.size, client.machine.unmade.size], [40, 0, 0]);
});

test("where connections are few, a stream gives way to an action that has waited 2 s", () => {
  for (const hasFewConnections of [true, false]) {
    const client = new Client({ hasFewConnections });
    client.follow();
    client.receive("streamOpened", client.stream.id, head);
    client.bytes("event: snapshot\nid: aaaaaaaa.0\ndata: 0\n\n");
    client.send(1);
    const stream = client.stream.id;
    const closed = () => client.outputs.filter(([kind, id]) => kind === "closeStream" && id === stream).length;
    const status = () =>
      client.outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === "status").pop()[2][1].link;
    client.wait(1_900);
    assert.equal(closed(), 0);
    client.wait(200);
    assert.equal(closed(), +hasFewConnections);
    if (!hasFewConnections) continue;
    assert.deepEqual([status().kind, status().why], ["waiting", "its connection is used for a request"]);
    // After the response the stream gets its connection back at once.
    client.answer(client.requests.get(client.keys[0]), 200, '{"position":"aaaaaaaa.1","version":1}');
    assert.notEqual(client.stream.id, stream);
    assert.match(client.stream.target, /after=aaaaaaaa\.0/);
  }
});

test("a reactor's refusal has its code and its sentence, and a failure is in the receipt", async () => {
  const problem = { code: "action_refused", detail: "The highest bid is 12.", refusal: { code: "bid_too_low" } };
  const fake = new Fake(() => [422, problem]);
  const { client, session } = await fake.session();
  await assert.rejects(session.send({ number: 1 }), { ...problem, status: 422, name: "ProblemError" });
  const refused = new Promise((resolve) => client.on("refusal", resolve));
  session.submit({ number: 2 });
  const { error, actions } = await refused;
  assert.deepEqual([error.refusal, actions], [{ code: "bid_too_low" }, [{ number: 2 }]]);
  const settled = fake.changes.filter((one) => one.type === "settled");
  assert.deepEqual(settled.at(-1).problem.refusal, { code: "bid_too_low" }, "the next page has it too");
  const members = { position: "aaaaaaaa.1", version: 1 };
  const receipts = [
    [{ accepted: false, reason: "why" }, [0], ["why"]],
    [{ failed: "why" }, [], ["why"]],
    [{ rejected: [1], reasons: { 1: "a" }, failures: { 0: "b" } }, [1], ["b", "a"]],
    [{}, [], [undefined, undefined]],
  ];
  const refusals = { 1: { code: "no", detail: "No." } };
  for (const [more, rejected, failures] of receipts) {
    fake.answer = () => [200, { ...members, ...more }];
    const count = failures.length;
    const receipt = session.send(Array(count).fill({ number: 3 }));
    fake.send("state", "1", { sum: 3 });
    const { rejected: some, failures: errors } = await receipt;
    assert.deepEqual([some, Array.from({ length: count }, (_, index) => errors[index])], [rejected, failures]);
  }
  fake.answer = (body) => [200, { ...members, ...body.startsWith("[") && { rejected: [1], refusals } }];
  // The second and the third one leave together.
  const sends = [4, 5, 6].map((number) => session.send({ number }));
  fake.send("state", "1", { sum: 3 });
  assert.deepEqual((await Promise.all(sends)).map((one) => [one.rejected, one.failures[0]]), [
    [[], undefined],
    [[], undefined],
    [[0], { code: "no", detail: "No." }],
  ]);
  await client.close();
});
