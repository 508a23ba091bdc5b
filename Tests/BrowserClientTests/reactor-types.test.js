import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";
import { test } from "node:test";
import { typescript } from "../../Sources/BrowserClient/bin/typescript.js";

const program = new URL("../../Sources/BrowserClient/bin/reactor-types.js", import.meta.url).pathname;
const node = process.versions.deno ? "node" : process.execPath;

/** Runs the program; returns its status and its outputs. */
const run = (...words) =>
  new Promise((resolve) => {
    const child = spawn(node, [program, ...words]);
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (data) => texts[name] += data);
    child.on("close", (status) => resolve({ status, ...texts }));
  });

/** Has a server with one answer to everything. */
async function serving(body, action) {
  const server = createServer((_, response) => response.end(body));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await action(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.close();
  }
}

const vectors = JSON.parse(readFileSync(new URL("../ClientVectors/typescript.json", import.meta.url), "utf8"));

for (const { name, state, type, declarations = [] } of vectors.cases) {
  test(`schema: ${name}`, () => {
    const text = typescript([{ name: "room", schemas: { action: {}, state, pulses: {}, activities: {} } }], "here");
    assert.match(text, /^ {4}State: (.*);$/m);
    assert.equal(/^ {4}State: (.*);$/m.exec(text)[1], type);
    assert.deepEqual(text.split("\n\n").slice(2).map((one) => one.trim()), declarations);
  });
}

test("reactor-types prints the types of a server", async () => {
  const reactors = [{ name: "room", schemas: { action: {}, state: { type: "string" }, pulses: {}, activities: {} } }];
  const { status, stdout, stderr } = await serving(JSON.stringify({ reactors }), run);
  assert.deepEqual([status, stderr], [0, ""]);
  assert.match(stdout, /export interface Reactors \{\n {2}room: \{\n {4}Action: unknown;\n {4}State: string;/);
});

test("the input of a reactor's sessions is a type too", () => {
  const member = { type: "object", properties: { a: {}, b: {} }, required: ["a"] };
  const input = { type: "object", properties: { lot: { type: "string" }, of: member }, required: ["lot"] };
  const schemas = { input, action: {}, state: member, pulses: {}, activities: {} };
  const text = typescript([{ name: "auction", schemas }], "here");
  assert.match(text, /\n {2}auction: \{\n {4}Input: \{ lot: string; of\?: AuctionOf \};\n {4}Action: unknown;/);
  assert.match(text, /\n {4}State: AuctionOf;\n/);
});

test("no server, no JSON and no schemas are one sentence and status 1", async () => {
  const answers = ["<html>", '{"reactors":[{"name":"room"}]}', "{}"];
  const found = [await run("http://127.0.0.1:9")];
  for (const answer of answers) found.push(await serving(answer, run));
  for (const { status, stdout, stderr } of found) {
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /^error: http:\S+ .+\n$/);
  }
});

test("an address that is none is the usage and status 64", async () => {
  for (const words of [[], ["ftp://127.0.0.1"], ["127.0.0.1"], ["--help"], ["http://a", "http://b"]]) {
    const { status, stdout, stderr } = await run(...words);
    assert.deepEqual([status, stdout], [64, ""]);
    assert.match(stderr, /usage: reactor-types http/);
  }
});
