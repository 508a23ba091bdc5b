// The half that sends is loaded when it is needed: what happens before it is there, and without it.

import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";
import { Fake, isSum, never } from "./fake-server.js";
import { Client, response } from "./machine-client.js";

// --- the machine

const demand = { states: true, pulses: false, activities: false };
const loads = (client) => client.outputs.filter(([kind]) => kind === "loadSender").length;
const requests = (client, method) =>
  client.outputs.filter(([kind, , one]) => kind === "request" && one.method === method).map(([, id, one]) => ({
    id,
    ...one,
  }));
const posts = (client) => requests(client, "POST").map((one) => `${one.target.split("/")[3]} ${one.body}`);
const deliveries = (client, name) =>
  client.outputs.filter(([kind, , one]) => kind === "deliver" && one[0] === name).map(([, session, one]) => [
    session,
    one[1],
  ]);
const refused = (client) => deliveries(client, "notAccepted").map(([session, { kind }]) => `${session} ${kind}`);
const send = (client, session, action, options = {}) => client.receive("send", session, [String(action)], options);

/** A machine without the half that sends; a session `room` is followed, and its state is 0. */
function follower(following) {
  const client = new Client({ sends: false });
  client.follow({ predicts: false, ...following });
  client.receive("streamOpened", client.stream.id, response(200, "", { "content-type": "text/event-stream" }));
  client.bytes("event: snapshot\nid: aaaaaaaa.0\ndata: 0\n\n");
  return client;
}

test("a machine that only follows never asks for the half that sends", () => {
  const client = follower();
  client.receive("follow", "hall", { demand, predicts: false, start: "present", makes: '{"reactor":"counter"}' });
  client.answer(requests(client, "PUT")[0], 201, '{"position":"aaaaaaaa.0"}');
  client.bytes("event: state\nid: aaaaaaaa.1\ncause: another\ndata: 7\n\n");
  client.receive("hide");
  client.wait(50);
  client.receive("show");
  client.receive("leave", "room");
  assert.equal(client.shown, 7);
  assert.equal(loads(client), 0);
});

test("a prediction asks for it when its session is followed, a send when it is sent; once", () => {
  assert.equal(loads(follower({ predicts: true })), 1);
  const client = follower();
  for (const action of [1, 2]) send(client, "room", action);
  assert.equal(loads(client), 1);
  client.load();
  send(client, "room", 3);
  assert.equal(loads(client), 1);
});

test("sends that wait for it keep their order, in all sessions", () => {
  const client = follower();
  client.receive("follow", "hall", { demand, predicts: false, start: "present" });
  for (const [session, action] of [["room", 1], ["hall", 2], ["room", 3], ["other", 4]]) send(client, session, action);
  assert.deepEqual([posts(client), deliveries(client, "accepted")], [[], []]);
  client.load();
  assert.deepEqual(deliveries(client, "accepted"), [["room", 1], ["hall", 2], ["room", 3], ["other", 4]]);
  assert.deepEqual(posts(client), ["room 1", "hall 2", "other 4"]);
  const [first] = requests(client, "POST");
  client.answer(first, 200, JSON.stringify({ position: "aaaaaaaa.1", version: 1 }));
  assert.equal(posts(client)[3], "room 3");
});

test("sends that wait for it count as pending, and are predicted over the newest state as soon as it is there", () => {
  const client = follower({ predicts: true });
  for (const action of [1, 2]) send(client, "room", action);
  assert.deepEqual([client.pending, client.shown], [2, 0]);
  client.bytes("event: state\nid: aaaaaaaa.1\ncause: another\ndata: 10\n\n");
  assert.equal(client.shown, 10);
  client.load();
  assert.deepEqual([client.pending, client.shown], [2, 13]);
  client.bytes(`event: state\nid: aaaaaaaa.2\ncause: ${client.keys[0]}\ndata: 11\n\n`);
  const [first] = requests(client, "POST");
  client.answer(first, 200, JSON.stringify({ position: "aaaaaaaa.2", version: 2 }));
  assert.deepEqual([client.pending, client.shown, client.applied], [1, 13, [1]]);
});

test("without it, sends are refused in their order; the next one asks again", () => {
  const client = follower();
  send(client, "room", 1);
  send(client, "hall", 2);
  client.receive("senderFailed", "no network");
  assert.deepEqual(refused(client), ["room unreachable", "hall unreachable"]);
  assert.equal(deliveries(client, "notAccepted")[0][1].reason, "no network");
  assert.equal(client.pending, 0);
  client.bytes("event: state\nid: aaaaaaaa.1\ndata: 5\n\n");
  assert.equal(client.shown, 5, "following continues");
  send(client, "room", 3);
  assert.equal(loads(client), 2);
  client.load();
  assert.deepEqual(posts(client), ["room 3"]);
});

test("without it, a prediction asks again when the network may be back or the page is shown", () => {
  const client = follower({ predicts: true });
  client.receive("senderFailed", "no network");
  client.receive("wake");
  assert.equal(loads(client), 2);
  client.receive("senderFailed", "no network");
  client.receive("hide");
  assert.equal(loads(client), 2);
  client.receive("show");
  assert.equal(loads(client), 3);
});

test("a session that is deleted meanwhile refuses what waits for it", () => {
  const client = follower();
  send(client, "room", 1);
  client.bytes('event: end\nid: x\ndata: {"reason":"deleted"}\n\n');
  client.load();
  assert.deepEqual(refused(client), ["room ended"]);
  assert.deepEqual(posts(client), []);
});

test("a session that the server refuses to make meanwhile refuses what waits for it", () => {
  const client = new Client({ sends: false });
  client.follow({ predicts: false, makes: '{"reactor":"no such"}' });
  send(client, "room", 1);
  client.answer(requests(client, "PUT")[0], 422, '{"code":"unknown_reactor","detail":"no"}');
  client.load();
  assert.deepEqual(refused(client), ["room refused"]);
});

test("a session that is left meanwhile is sent to, and made if it is missing", () => {
  const client = new Client({ sends: false });
  client.follow({ predicts: false, makes: '{"reactor":"counter"}' });
  client.receive("requestFailed", requests(client, "PUT")[0].id, "cut");
  send(client, "room", 1);
  client.receive("leave", "room");
  client.load();
  client.wait(1_000);
  for (let count = 0; count < 3 && requests(client, "PUT").length < 2; count++) {
    for (const post of requests(client, "POST")) client.answer(post, 404, '{"code":"unknown_session","detail":"no"}');
    client.wait(1_000);
  }
  client.answer(requests(client, "PUT")[1], 201, '{"position":"aaaaaaaa.0"}');
  client.wait(1_000);
  const post = requests(client, "POST").pop();
  client.answer(post, 200, JSON.stringify({ position: "aaaaaaaa.1", version: 1 }));
  assert.deepEqual([client.applied, client.failed], [[1], []]);
});

test("a hidden page sends what has waited, and opens no stream", () => {
  const client = follower();
  send(client, "room", 1);
  client.receive("hide");
  client.wait(50);
  const count = client.outputs.filter(([kind]) => kind === "openStream").length;
  client.load();
  client.wait(50);
  assert.deepEqual(posts(client), ["room 1"]);
  assert.equal(client.outputs.filter(([kind]) => kind === "openStream").length, count);
});

// --- the client

const entryOfHalf = "reactor-client/sending.js";
const client = fileURLToPath(new URL("../../Sources/BrowserClient/", import.meta.url));

/** A client of modules of its own, with the half that sends if a test gives it: `give()`. */
async function copy(context) {
  const folder = mkdtempSync(join(tmpdir(), "reactor-client-"));
  context.after(() => rmSync(folder, { recursive: true }));
  cpSync(client, folder, { recursive: true });
  rmSync(join(folder, entryOfHalf));
  const { ReactorClient } = await import(pathToFileURL(join(folder, "reactor-client.js")).href);
  return { ReactorClient, give: () => copyFileSync(join(client, entryOfHalf), join(folder, entryOfHalf)) };
}

test("a page that only follows loads nothing else; one that sends without the rest is refused, and follows", async (context) => {
  const { ReactorClient } = await copy(context);
  const fake = new Fake();
  const { client, session } = await fake.session({}, { ReactorClient, outbox: undefined });
  fake.send("state", "1", { sum: 1 });
  await isSum(session, 1);
  const [one, two] = [session.send({ number: 1 }), client.session("hall").send({ number: 2 })];
  const taken = session.submit({ number: 3 }).discard();
  for (const done of [one, two]) {
    await assert.rejects(done, { code: "unreachable", message: /what sends cannot be loaded/ });
  }
  assert.equal(await taken, false);
  fake.send("state", "2", { sum: 2 });
  await isSum(session, 2);
  assert.deepEqual([fake.posts, session.pending], [[], 0]);
  await client.close();
});

// Deno 2.9 remembers a module that was not there (denoland/deno#36057).
test("a send tries again to load its half", { skip: "Deno" in globalThis }, async (context) => {
  const { ReactorClient, give } = await copy(context);
  const fake = new Fake();
  const { client, session } = await fake.session({}, { ReactorClient, outbox: undefined });
  await assert.rejects(session.send({ number: 1 }), { code: "unreachable" });
  give();
  fake.send("state", "1", { sum: 2 });
  await session.send({ number: 2 });
  assert.deepEqual(fake.posts, ['{"number":2}']);
  await client.close();
});

test("a prediction is shown as soon as what sends is loaded", async () => {
  const fake = new Fake(never);
  const predict = (state, { number }) => ({ sum: state.sum + number });
  const { client, session } = await fake.session({ predict }, { outbox: undefined });
  session.submit({ number: 2 });
  session.submit({ number: 3 });
  await isSum(session, 5);
  assert.deepEqual([session.pending, session.confirmed], [2, { sum: 0 }]);
  await client.close();
});

test("a send is taken back although its half is not loaded", async (context) => {
  const { ReactorClient, give } = await copy(context);
  give();
  const fake = new Fake(never);
  const { client, session } = await fake.session({}, { ReactorClient, outbox: undefined });
  session.submit({ number: 1 });
  const second = session.submit({ number: 2 });
  assert.deepEqual([session.pending, await second.discard()], [2, true]);
  await assert.rejects(second.done, { code: "discarded" });
  await client.close();
});

test("a client that is closed meanwhile sends nothing", async (context) => {
  const { ReactorClient, give } = await copy(context);
  give();
  const fake = new Fake();
  const { client, session } = await fake.session({}, { ReactorClient, outbox: undefined });
  const { done } = session.submit({ number: 1 });
  const closed = client.close();
  await assert.rejects(done, { code: "closed", message: "the client is closed" });
  await closed;
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(fake.posts, []);
});

test("a session that is left meanwhile is sent to all the same", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session({}, { outbox: undefined });
  const { done } = session.submit({ number: 1 });
  session.leave();
  assert.equal((await done).version, 1);
  await client.close();
});

test("sends that wait for it are bounded", async () => {
  const fake = new Fake(never);
  const client = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch });
  const session = client.session("room");
  for (let number = 0; number < 10_000; number++) session.submit({ number });
  await assert.rejects(session.send({}), { code: "outbox_full" });
  await client.close();
});
