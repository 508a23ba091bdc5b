// The client with a `fetch` of its own: no server, and no waiting but for its answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ProblemError, ReactorClient, TooSlowError } from "../../Sources/BrowserClient/reactor-client.js";
import { Fake, isSum } from "./fake-server.js";

test("an address that is none is a TypeError that names the fault", () => {
  for (
    const address of ["", "127.0.0.1", "ftp://a", "http://a?b", "http://a#b", "http://u:p@a", "http://", "http://a:x"]
  ) {
    assert.throws(() => new ReactorClient(address), (error) => {
      assert.ok(error instanceof TypeError, String(error));
      return error.message.startsWith(`"${address}" is not a server address: `);
    });
  }
  assert.equal(new ReactorClient(new URL("https://a.example/base/")).server, "https://a.example/base");
  assert.throws(() => new ReactorClient("http://a").session("no id"), TypeError);
});

test("a failure that the program waits for counts as seen; another one is kept", async () => {
  const fake = new Fake(() => [422, { code: "not_an_action", detail: "no" }]);
  const { client, session } = await fake.session();
  await assert.rejects(session.send({ type: "watched" }), (error) => {
    return error instanceof ProblemError && error.code === "not_an_action" && error.status === 422;
  });
  const types = () => fake.changes.map((one) => one.type).filter((type) => type === "settled" || type === "seen");
  assert.deepEqual(types(), ["settled", "seen"]);
  const refused = new Promise((resolve) => client.on("refusal", resolve));
  session.submit({ type: "unwatched" });
  const refusal = await refused;
  assert.deepEqual(types(), ["settled", "seen", "settled"]);
  refusal.dismiss();
  assert.deepEqual(types(), ["settled", "seen", "settled", "seen"]);
  await client.close();
});

test("presence is the newest set, and a change of the view", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session({ follow: { presence: true } }, { as: "ada" });
  const changed = new Promise((resolve) => session.subscribe(resolve));
  assert.equal(session.presence, undefined);
  fake.sendText('event: presence\ndata: {"present":["ada"],"others":1}\n\n');
  await changed;
  assert.deepEqual(session.presence, { present: ["ada"], others: 1 });
  assert.equal(session.getView().presence, session.presence);
  await client.close();
});

test("the newest state is saved when the client is closed", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  fake.send("state", "1", { sum: 5 });
  await isSum(session, 5);
  await client.close();
  const [state] = fake.changes.filter((one) => one.type === "state").slice(-1);
  assert.deepEqual(state, { type: "state", session: "room", position: "aaaaaaaa.1", state: { sum: 5 } });
});

test("a prediction that throws is left out; the others are shown", async () => {
  const { client, session } = await new Fake().session({
    predict: (state, { number }) => {
      if (number < 0) throw new Error("negative");
      return { sum: state.sum + number };
    },
  });
  session.submit({ number: 2 });
  session.submit({ number: -1 });
  session.submit({ number: 3 });
  assert.deepEqual([session.state, session.confirmed], [{ sum: 5 }, { sum: 0 }]);
  await client.close();
});

test("the shown state is the same object until it changes", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const [state, view] = [session.getSnapshot(), session.getView()];
  assert.equal(session.getSnapshot(), state);
  assert.equal(session.getView(), view);
  fake.send("state", "1", { sum: 1 });
  await isSum(session, 1);
  assert.notEqual(session.getView(), view);
  await client.close();
});

test("a loop over a pulse begins with the present value, and fails when it does not keep up", async () => {
  const fake = new Fake();
  const { client, session } = await fake.session();
  const loop = session.pulse("value", { buffer: 2 });
  assert.deepEqual(await loop.next(), { done: false, value: 0 });
  const heard = new Promise((resolve) => session.on("value", (value) => value === 4 && resolve()));
  for (let number = 1; number <= 4; number++) fake.send("value", `${number}`, number);
  await heard;
  assert.deepEqual([(await loop.next()).value, (await loop.next()).value], [1, 2]);
  await assert.rejects(loop.next(), TooSlowError);
  await client.close();
});

test("a client that is closed fails what is not done, and accepts nothing", async () => {
  const fake = new Fake(() => [503, {}]);
  const { client, session } = await fake.session();
  const { done } = session.submit({ number: 1 });
  await client.close();
  await assert.rejects(done, { code: "closed" });
  await assert.rejects(session.send({ number: 2 }), { code: "closed" });
  assert.equal(session.status.kind, "ended");
});

test("a second client for one server in a page warns", async () => {
  const [page, { warn }] = [new EventTarget(), console];
  const said = [];
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  globalThis.addEventListener = page.addEventListener.bind(page);
  console.warn = (text) => said.push(text);
  try {
    const make = (server) => new ReactorClient(server, { fetch: () => new Promise(() => {}) });
    const first = make("https://one.example.com");
    const other = make("https://other.example.com");
    assert.deepEqual(said, []);
    const second = make("https://one.example.com/");
    assert.equal(said.length, 1);
    assert.match(said[0], /2 clients of https:\/\/one\.example\.com, .*close\(\)/);
    await second.close();
    await second.close();
    const third = make("https://one.example.com");
    assert.equal(said.length, 2);
    await Promise.all([first.close(), third.close()]);
    const fourth = make("https://one.example.com");
    assert.equal(said.length, 2);
    await Promise.all([fourth.close(), other.close()]);
  } finally {
    console.warn = warn;
    delete globalThis.document;
    delete globalThis.addEventListener;
  }
});
