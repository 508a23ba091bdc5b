// The vectors that the Swift client's tests read, too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Attempt } from "../../Sources/BrowserClient/reactor-client/attempts.js";
import { deletionOf } from "../../Sources/BrowserClient/reactor-client/calls.js";
import { ProblemError } from "../../Sources/BrowserClient/reactor-client/errors.js";
import { EventStreamDecoder, position, reaches, vector } from "../../Sources/BrowserClient/reactor-client/following.js";
import { ClientMachine } from "../../Sources/BrowserClient/reactor-client/machine.js";
import { Client, response } from "./machine-client.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../ClientVectors/${name}.json`, import.meta.url), "utf8"));

/** Decodes bytes that are cut at these places; undefined if that fails. */
function decode(bytes, cuts, limit) {
  const decoder = new EventStreamDecoder(limit ?? 1_000_000);
  const events = [];
  let start = 0;
  try {
    for (const end of [...cuts, bytes.length]) {
      events.push(...decoder.receive(bytes.subarray(start, end)));
      start = end;
    }
  } catch {
    return undefined;
  }
  const plain = events.map((event) => JSON.parse(JSON.stringify(event)));
  return { events: plain, id: decoder.id, retry: decoder.retry };
}

test("event streams give these events, however they are cut", () => {
  for (const { bytes: text, events, id, retry, limit } of read("event-streams").cases) {
    const bytes = Buffer.from(text, "base64");
    const expected = events === null ? undefined : { events, id, retry };
    assert.deepEqual(decode(bytes, [], limit), expected, JSON.stringify(String(bytes)));
    for (let cut = 0; cut <= bytes.length; cut++) assert.deepEqual(decode(bytes, [cut], limit), expected);
    assert.deepEqual(decode(bytes, [...bytes.keys()], limit), expected, "byte by byte");
  }
});

test("positions have one form and one order", () => {
  const { inOrder, otherGeneration, noPositions } = read("positions");
  for (const text of noPositions) assert.equal(position(text), undefined, text);
  for (const [left, one] of inOrder.entries()) {
    assert.equal(position(one).text, one);
    for (const [right, other] of inOrder.entries()) {
      assert.equal(reaches(position(one), position(other)), left >= right, `${one} reaches ${other}`);
    }
    for (const other of otherGeneration) {
      assert.equal(reaches(position(one), position(other)), false);
      assert.equal(reaches(position(other), position(one)), false);
    }
  }
});

test("a vector has an entry for each session", () => {
  for (const { entries, text } of read("positions").vectors) {
    assert.equal(vector(entries.map((one) => position(one) ?? one)), text);
  }
});

test("waits are drawn from these ranges", () => {
  for (const { failures, fraction, minimum, wait } of read("backoff").cases) {
    const machine = new ClientMachine({ server: "", random: { fraction: () => fraction } });
    const attempt = new Attempt(machine, []);
    for (let count = 0; count <= failures; count++) attempt.retry("", minimum);
    assert.equal(attempt.until, wait, `${failures} failures, ${fraction} of the range`);
  }
});

for (const { name, steps } of read("overlays").transcripts) {
  test(name, () => {
    const client = new Client();
    for (const [number, step] of steps.entries()) {
      client.perform(step);
      for (const what of ["shown", "pending", "applied", "failed"]) {
        if (step[what] !== undefined) {
          assert.deepEqual(client[what], step[what], `${what} after step ${number}, ${JSON.stringify(step)}`);
        }
      }
    }
  });
}

test("C5, C6: what one answer means", () => {
  const list = (client, wanted) => client.outputs.filter(([kind]) => wanted.includes(kind));
  const { cases, lookUp } = read("answers");
  for (const { step, status, type, body, outcome } of cases) {
    if (step.startsWith("delete")) continue;
    const isRepeated = ["repeated", "question"].includes(step);
    const client = new Client();
    client.follow(step === "create" ? { makes: '{"reactor":"counter"}' } : {});
    const found = response(status, body, { "content-type": type });
    const refuse = (answer) => {
      client.receive("streamOpened", client.stream.id, answer);
      client.receive("streamEnded", client.stream.id);
    };
    if (step === "create") client.send(1);
    if (step === "stream") refuse(found);
    if (step === "lookup") refuse(response(204, "", { "content-type": "" }));
    if (step === "post" || isRepeated) client.send(1);
    const lastRequest = () => list(client, ["request"]).pop();
    if (isRepeated) {
      client.receive("requestFailed", lastRequest()[1], "cut");
      client.wait(30_000);
    }
    const [, , second] = lastRequest() ?? [];
    if (step === "question") {
      client.receive("answered", lastRequest()[1], response(413, '{"code":"body_too_large","detail":"d"}'));
    }
    const count = client.outputs.length;
    if (step !== "stream") client.receive("answered", lastRequest()[1], found);
    const told = client.outputs.filter(([kind, , one]) => kind === "deliver" && ["status", "ended"].includes(one[0]));
    const link = told.filter(([, , one]) => one[0] === "status").pop()?.[2][1].link.kind;
    const what = client.outputs.slice(count).filter(([, , one]) => one?.[0] === "outcome").pop()?.[2][2].kind;
    const next = list({ outputs: client.outputs.slice(count) }, ["request"]).map(([, , one]) => one);
    client.wait(30_000);
    client.wait(50);
    const isAttempted = list({ outputs: client.outputs.slice(count) }, ["request", "openStream"]).length > 0;
    const reads = list(client, ["request"]).map(([, , one]) => one).filter((one) => one.method === "GET");
    const name = `${step} ${status} ${type} ${body.slice(0, 80)}`;
    if (outcome === "waits" || outcome === "lookup") {
      assert.deepEqual([told.some(([, , one]) => one[0] === "ended"), client.failed], [false, []], name);
      assert.ok(isAttempted, name);
      if (step === "question") assert.equal(lastRequest()[2].body, "[]", name);
      const asked = reads.map(({ method, target, fields }) => ({ method, target, accept: fields.Accept }));
      if (step === "stream") assert.deepEqual(asked.slice(0, 1), outcome === "lookup" ? [lookUp] : [], name);
    } else if (outcome === "asks") {
      const { "Idempotency-Key": key } = second.fields;
      assert.deepEqual([what, next.length], [undefined, 1], name);
      assert.deepEqual(
        [next[0].body, next[0].target, next[0].fields["Idempotency-Key"]],
        ["[]", second.target, key],
        name,
      );
    } else if (outcome === "ended") assert.equal(link, "ended", name);
    else if (outcome === "failed") assert.equal(link, "failed", name);
    else if (outcome === "made") assert.ok(list(client, ["request"]).some(([, , one]) => one.method === "POST"), name);
    else assert.equal(what, outcome === "doubt" ? "inDoubt" : outcome, name);
    if (outcome === "refused" && step === "question") {
      const [, , [, , { problem }]] = client.outputs.filter(([, , one]) => one?.[0] === "outcome").pop();
      assert.equal(problem.code, "body_too_large", name);
    }
    if (outcome === "refused" && step === "create") assert.equal(link, "failed", name);
  }
});

test("C5: what an answer to a deletion means", () => {
  const cases = read("answers").cases.filter(({ step }) => step.startsWith("delete"));
  assert.ok(cases.length > 30);
  for (const { step, status, type, body, outcome } of cases) {
    const count = ["delete", "deleteAgain", "deleteThird"].indexOf(step);
    const found = deletionOf(response(status, body, { "content-type": type }), count);
    const name = `${step} ${status} ${type} ${body.slice(0, 80)}`;
    if (outcome === "refused") {
      assert.ok(found instanceof ProblemError, name);
      assert.equal(found.code, JSON.parse(body).code, name);
    } else if (outcome === "unknown") assert.equal(found.code, "unreachable", name);
    else assert.equal(found, outcome, name);
  }
});
