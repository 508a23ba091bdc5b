// C3: a sign of life ends the waits for a server that has failed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, response } from "./machine-client.js";

const head = response(200, "", { "content-type": "text/event-stream" });
const receipt = (number) => JSON.stringify({ position: `aaaaaaaa.${number}`, version: number });
const count = (outputs, kind) => outputs.filter(([one]) => one === kind).length;
const newest = (client) => [...client.requests.values()].pop();

/** A client whose stream has failed so often that its wait is long, and whose post is under way. */
function broken() {
  const client = new Client();
  client.follow();
  client.receive("streamOpened", client.stream.id, head);
  client.bytes("event: snapshot\nid: aaaaaaaa.0\ndata: 0\n\n");
  for (let failures = 0; failures < 7; failures++) {
    client.receive("streamEnded", client.stream.id, "reset");
    assert.equal(count(client.wait(30_000), "openStream"), 1);
  }
  client.send(1);
  client.receive("streamEnded", client.stream.id, "reset");
  return client;
}

for (
  const [status, opens] of [
    [200, 1],
    [202, 1],
    [409, 1],
    [410, 0], // The session has ended: its stream is not wanted any more.
    [412, 1],
    [422, 1],
    [400, 0],
    [403, 0],
    [404, 0],
    [429, 0],
    [500, 0],
    [503, 0],
    [504, 0],
  ]
) {
  test(`an answer with ${status} ${opens ? "opens the stream at once" : "is no sign of life"}`, () => {
    const client = broken();
    const outputs = client.answer(
      newest(client),
      status,
      status < 300 ? receipt(1) : `{"code":"${status === 410 ? "session_ended" : ""}"}`,
    );
    assert.equal(count(outputs, "openStream"), opens);
  });
}

test("a lost answer is no sign of life", () => {
  const client = broken();
  assert.equal(count(client.receive("requestFailed", newest(client).id, "reset"), "openStream"), 0);
});

test("an open stream sends the post that waits", () => {
  const client = new Client();
  client.send(1);
  for (let failures = 0; failures < 7; failures++) {
    client.receive("requestFailed", newest(client).id, "reset");
    assert.equal(count(client.wait(30_000), "request"), 1);
  }
  client.receive("requestFailed", newest(client).id, "reset");
  client.follow();
  const outputs = client.receive("streamOpened", client.stream.id, head);
  assert.equal(count(outputs, "request"), 1);
});

test("the status of each session that waits has the shorter wait", () => {
  const client = new Client();
  const demand = { states: true, pulses: false, activities: false };
  client.receive("follow", "other", { demand, predicts: false, start: "present" });
  client.follow();
  client.receive("streamOpened", client.stream.id, response(503, "", { "retry-after": "20" }));
  client.receive("streamEnded", client.stream.id);
  for (let failures = 0; failures < 7; failures++) {
    client.wait(30_000);
    client.receive("streamOpened", client.stream.id, response(503, "", { "retry-after": failures < 6 ? "0" : "2" }));
    client.receive("streamEnded", client.stream.id);
  }
  client.send(1);
  const { uptime } = client.now;
  const outputs = client.answer(newest(client), 200, receipt(1));
  for (const session of ["room", "other"]) {
    const found = outputs.filter(([, id, one]) => id === session && one[0] === "status").pop();
    const { link } = found[2][1];
    assert.deepEqual([link.kind, link.until], ["waiting", uptime + 2_000]);
  }
});

test("the Retry-After of its own refusal holds", () => {
  const client = new Client();
  client.follow();
  client.send(1);
  client.receive("streamOpened", client.stream.id, response(503, "", { "retry-after": "20" }));
  client.receive("streamEnded", client.stream.id);
  client.now.uptime += 1_000;
  assert.equal(count(client.answer(newest(client), 200, receipt(1)), "openStream"), 0);
  assert.equal(count(client.wait(18_999), "openStream"), 0);
  assert.equal(count(client.wait(1), "openStream"), 1);
});

test("a stream that fails though posts succeed is hurried once until it works", () => {
  const client = broken();
  assert.equal(count(client.answer(newest(client), 200, receipt(1)), "openStream"), 1);
  client.receive("streamEnded", client.stream.id, "reset");
  for (let number = 2; number < 20; number++) {
    client.send(1);
    assert.equal(count(client.answer(newest(client), 200, receipt(number)), "openStream"), 0);
  }
  assert.equal(count(client.wait(30_000), "openStream"), 1);
  client.receive("streamOpened", client.stream.id, head);
  client.bytes("event: snapshot\nid: aaaaaaaa.20\ndata: 20\n\n");
  client.now.uptime += 5_000;
  client.bytes(":\n");
  client.receive("streamEnded", client.stream.id, "reset");
  client.send(1);
  assert.equal(count(client.answer(newest(client), 200, receipt(21)), "openStream"), 1);
});

test("a server that drains is not hurried", () => {
  const client = new Client();
  client.follow();
  client.receive("streamOpened", client.stream.id, head);
  client.bytes("retry: 2000\n\nevent: snapshot\nid: aaaaaaaa.4\ndata: 4\n\n");
  client.now.uptime += 5_000;
  client.bytes("retry: 9000\n\n");
  client.send(1);
  client.receive("streamEnded", client.stream.id);
  assert.equal(count(client.answer(newest(client), 200, receipt(5)), "openStream"), 0);
});
