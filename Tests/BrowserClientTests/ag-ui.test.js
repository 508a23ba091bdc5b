// A conversation as events of AG-UI. The tests check them against the protocol's published schema,
// @ag-ui/core 0.0.58 (events.ts, types.ts), and the rules of @ag-ui/client (verify.ts), both
// rewritten here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { agUIEvents, runAgent } from "../../Sources/BrowserClient/reactor-client/ag-ui.js";
import { Fake } from "./fake-server.js";

const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isMessage = (value) =>
  isObject(value) && isText(value.id) && ["user", "assistant"].includes(value.role) && isText(value.content);
const isOperation = (value) =>
  isObject(value) && ["add", "replace", "remove"].includes(value.op) && /^\//.test(value.path) &&
  Object.hasOwn(value, "value") === (value.op !== "remove");

/** The members that an event must have. The schema permits others in each of them. */
const schema = {
  RUN_STARTED: { threadId: isText, runId: isText },
  RUN_FINISHED: { threadId: isText, runId: isText },
  RUN_ERROR: { message: isText, code: isText },
  MESSAGES_SNAPSHOT: { messages: (value) => Array.isArray(value) && value.every(isMessage) },
  TEXT_MESSAGE_START: {
    messageId: isText,
    role: (value) => ["developer", "system", "assistant", "user"].includes(value),
  },
  TEXT_MESSAGE_CONTENT: { messageId: isText, delta: (value) => isText(value) && value.length > 0 },
  TEXT_MESSAGE_END: { messageId: isText },
  STATE_SNAPSHOT: { snapshot: isObject },
  STATE_DELTA: { delta: (value) => Array.isArray(value) && value.every(isOperation) },
};

/** Reads events as a client of AG-UI does: it verifies their form and their order, and keeps messages and a state. */
class Reader {
  types = [];
  messages = [];
  state = {};
  contents = [];
  runs = [];
  #isRunning = false;
  #isOver = false;
  #active = new Set();

  read(event) {
    const { type } = event;
    this.types.push(type);
    const members = schema[type];
    assert.ok(members, `${type} is no event of AG-UI that a conversation has`);
    for (const [name, isValid] of Object.entries(members)) {
      assert.ok(isValid(event[name]), `${type}.${name} is ${JSON.stringify(event[name])}`);
    }
    assert.ok(type === "RUN_STARTED" || type === "RUN_ERROR" || this.#isRunning, `${type} outside of a run`);
    assert.ok(!this.#isOver || type === "RUN_STARTED", `${type} after RUN_ERROR`);
    this[type]?.(event);
  }

  RUN_STARTED({ runId }) {
    assert.ok(!this.#isRunning, "two runs at a time");
    this.#isRunning = true;
    this.#isOver = false;
    this.runs.push(runId);
  }

  RUN_FINISHED({ runId }) {
    assert.equal(this.#active.size, 0, "a message is active");
    assert.equal(runId, this.runs.at(-1));
    this.#isRunning = false;
  }

  RUN_ERROR() {
    this.#isRunning = false;
    this.#isOver = true;
    this.#active.clear();
  }

  MESSAGES_SNAPSHOT({ messages }) {
    this.messages = messages;
  }

  TEXT_MESSAGE_START({ messageId, role }) {
    assert.ok(!this.#active.has(messageId));
    assert.ok(!this.messages.some(({ id }) => id === messageId), "a message begins twice");
    this.#active.add(messageId);
    this.messages = [...this.messages, { id: messageId, role, content: "" }];
  }

  TEXT_MESSAGE_CONTENT({ messageId, delta }) {
    assert.ok(this.#active.has(messageId));
    this.contents.push(delta);
    const message = this.messages.find(({ id }) => id === messageId);
    message.content += delta;
  }

  TEXT_MESSAGE_END({ messageId }) {
    assert.ok(this.#active.delete(messageId));
  }

  STATE_SNAPSHOT({ snapshot }) {
    this.state = { ...snapshot };
  }

  STATE_DELTA({ delta }) {
    for (const { op, path, value } of delta) {
      const name = path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~");
      assert.equal(Object.hasOwn(this.state, name), op !== "add", `${op} ${path}`);
      if (op === "remove") delete this.state[name];
      else this.state[name] = value;
    }
  }
}

const empty = { phase: "idle", messages: [], tokens: 0, count: 0 };
const user = (number, text) => ({ number, role: "user", text });
const answer = (number, text) => ({ number, role: "assistant", text });
const answering = (...messages) => ({ ...empty, phase: "answering", messages, count: messages.at(-1).number });
const texts = (reader) => reader.messages.map(({ content }) => content);

/** A followed conversation, and what a reader of AG-UI has of it. */
class Stage {
  #number = 0;
  reader = new Reader();

  static async begin(state, answer) {
    const stage = new Stage();
    stage.fake = new Fake(answer);
    stage.client = new (await import("../../Sources/BrowserClient/reactor-client.js")).ReactorClient(
      "http://127.0.0.1",
      { fetch: stage.fake.fetch },
    );
    stage.session = stage.client.session("talk", {});
    await stage.fake.opened;
    stage.fake.send("snapshot", "0", { pulses: { phase: state.phase }, state });
    await stage.session.ready;
    return stage;
  }

  /** Begins to read; ended by the test or by the session. */
  follow(options) {
    this.events = agUIEvents(this.session, options);
    return this;
  }

  /** Reads events up to one of this type, `count` times. */
  async until(type, count = 1) {
    while (count > 0) {
      const { value, done } = await this.events.next();
      assert.ok(!done, `ended before ${type}`);
      this.reader.read(value);
      if (value.type === type) count -= 1;
    }
  }

  /** Sends a state, and has it at the session. */
  async state(state) {
    this.#number += 1;
    const has = new Promise((resolve) => {
      const leave = this.session.onEvent((event) => event.kind === "state" && (leave(), resolve()));
    });
    this.fake.send("state", this.#number, state);
    await has;
  }
}

test("AG-UI: an answer is a run, and each token a content", async () => {
  const stage = (await Stage.begin(empty)).follow();
  await stage.until("RUN_FINISHED");
  assert.deepEqual(stage.reader.types, ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
  await stage.state(answering(user(1, "Why?"), answer(2, "")));
  await stage.until("TEXT_MESSAGE_START");
  for (const text of ["Be", "Because", "Because."]) {
    await stage.state(answering(user(1, "Why?"), answer(2, text)));
    await stage.until("TEXT_MESSAGE_CONTENT");
  }
  await stage.state({ ...answering(user(1, "Why?"), answer(2, "Because.")), phase: "complete" });
  await stage.until("RUN_FINISHED");
  assert.deepEqual(stage.reader.contents, ["Be", "cause", "."]);
  assert.deepEqual(texts(stage.reader), ["Why?", "Because."]);
  assert.deepEqual(stage.reader.state, { phase: "complete", count: 2 });
  assert.deepEqual(stage.reader.runs, ["talk-0", "talk-2"]);
  await stage.client.close();
});

test("AG-UI: a second viewer begins with the text so far", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "Bec")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  assert.deepEqual(stage.reader.contents, ["Bec"]);
  await stage.state({ ...answering(user(1, "Why?"), answer(2, "Because")), phase: "stopped" });
  await stage.until("RUN_FINISHED");
  assert.deepEqual(texts(stage.reader), ["Why?", "Because"]);
  assert.equal(stage.reader.state.phase, "stopped");
  await stage.client.close();
});

test("AG-UI: a retry ends the run, and the next one has the messages that remain", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "Bec")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  await stage.state(answering(user(1, "Why?"), answer(3, "")));
  await stage.until("TEXT_MESSAGE_START");
  await stage.state({ ...answering(user(1, "Why?"), answer(3, "So.")), phase: "complete" });
  await stage.until("RUN_FINISHED");
  assert.deepEqual(texts(stage.reader), ["Why?", "So."]);
  assert.deepEqual(stage.reader.runs, ["talk-2", "talk-3"]);
  await stage.client.close();
});

test("AG-UI: while the model is asked again, the run continues, and members come and go", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "Bec")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  const failed = { ...answering(user(1, "Why?"), answer(2, "Bec")), phase: "failed", problem: "busy", "a/b~": 1 };
  await stage.state(failed);
  await stage.until("STATE_DELTA");
  assert.deepEqual(stage.reader.state, { phase: "failed", count: 2, problem: "busy", "a/b~": 1 });
  await stage.state(answering(user(1, "Why?"), answer(2, "Beca")));
  await stage.until("STATE_DELTA");
  assert.deepEqual(stage.reader.state, { phase: "answering", count: 2 });
  assert.deepEqual(stage.reader.runs, ["talk-2"]);
  assert.deepEqual(stage.reader.contents, ["Bec", "a"]);
  await stage.client.close();
});

test("AG-UI: a slow program gets longer texts, and the messages of runs that it has missed", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "B")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  for (const text of ["Be", "Bec", "Beca"]) await stage.state(answering(user(1, "Why?"), answer(2, text)));
  await stage.until("TEXT_MESSAGE_CONTENT");
  assert.deepEqual(stage.reader.contents, ["B", "eca"]);
  await stage.state({ ...answering(user(1, "Why?"), answer(2, "Because")), phase: "complete" });
  await stage.state(answering(user(1, "Why?"), answer(2, "Because"), user(3, "Really?"), answer(4, "Yes")));
  await stage.until("TEXT_MESSAGE_CONTENT");
  assert.deepEqual(texts(stage.reader), ["Why?", "Because", "Really?", "Yes"]);
  await stage.client.close();
});

test("AG-UI: after a reset the text continues, unless the answer is another one", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "Bec")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  const present = async (state) => {
    const has = new Promise((resolve) => {
      const leave = stage.session.onEvent((event) => event.kind === "present" && (leave(), resolve()));
    });
    stage.fake.send("reset", "7", { reason: "trimmed" });
    stage.fake.send("snapshot", "7", { pulses: { phase: state.phase }, state });
    await has;
  };
  await present(answering(user(1, "Why?"), answer(2, "Because")));
  await stage.until("TEXT_MESSAGE_CONTENT");
  assert.deepEqual(stage.reader.contents, ["Bec", "ause"]);
  await present(answering(user(1, "Why?"), answer(2, "Never mind")));
  await stage.until("TEXT_MESSAGE_CONTENT");
  assert.deepEqual(texts(stage.reader), ["Why?", "Never mind"]);
  await stage.client.close();
});

test("AG-UI: the end of the session is an error of the run", async () => {
  const stage = (await Stage.begin(answering(user(1, "Why?"), answer(2, "Bec")))).follow();
  await stage.until("TEXT_MESSAGE_CONTENT");
  stage.session.leave();
  await stage.until("RUN_ERROR");
  assert.ok((await stage.events.next()).done);
  await stage.client.close();
});

test("AG-UI: runAgent asks the last question, and ends with its run", async () => {
  const asked = [];
  const stage = await Stage.begin(empty, (body) => {
    asked.push(JSON.parse(body));
    stage.state(answering(user(1, "Why?"), answer(2, "")));
    return [200, { position: "aaaaaaaa.1", version: 1 }];
  });
  const messages = [{ id: "a", role: "user", content: "Old?" }, { id: "b", role: "user", content: "Why?" }];
  stage.events = runAgent(stage.session, { messages, runId: "mine" });
  await stage.until("TEXT_MESSAGE_START");
  await stage.state({ ...answering(user(1, "Why?"), answer(2, "So.")), phase: "complete" });
  await stage.until("RUN_FINISHED");
  assert.ok((await stage.events.next()).done);
  assert.deepEqual(asked, [{ type: "ask", text: "Why?" }]);
  assert.deepEqual(texts(stage.reader), ["Why?", "So."]);
  assert.deepEqual(stage.reader.runs, ["mine"]);
  await stage.client.close();
});

test("AG-UI: a refused question is an error, and nothing else", async () => {
  const stage = await Stage.begin(empty, () => [422, {
    code: "action_refused",
    detail: "Stop the answer before you ask again.",
    refusal: { code: "answering" },
  }]);
  stage.events = runAgent(stage.session, { messages: [{ id: "a", role: "user", content: "Why?" }] });
  const { value } = await stage.events.next();
  stage.reader.read(value);
  assert.equal(value.code, "answering");
  assert.ok((await stage.events.next()).done);
  await stage.client.close();
});
