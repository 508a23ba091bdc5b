// The declarations name exactly the codes that the server and the client use.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);
/** @param {string} path */
const read = (path) => readFileSync(new URL(path, root), "utf8");
const declarations = read("Sources/BrowserClient/reactor-client.d.ts");

/** @param {string} name */
function declared(name) {
  const [, union = ""] = declarations.match(new RegExp(`export type ${name} =([^;]*);`)) ?? [];
  return [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code).sort();
}

test("the codes of problems are those of openapi.yaml", () => {
  const [, list = ""] = read("openapi.yaml").match(/\n {4}Problem:\n[^]*?\n {8}code:[^]*?enum:([^\]]*)\]/) ?? [];
  const codes = list.replace(/#.*/g, "").match(/\w+/g) ?? [];
  assert(codes.length > 100);
  assert.deepEqual(declared("ProblemCode"), codes.sort());
});

test("the client's codes are declared", () => {
  const folder = "Sources/BrowserClient/";
  const files = readdirSync(new URL(folder, root), { recursive: true }).map(String).filter((name) =>
    name.endsWith(".js")
  );
  const codes = files.flatMap((name) =>
    [...read(folder + name).matchAll(/(?:new ReactorError|super)\("(\w+)"|status: 0, code: "(\w+)"/g)]
      .map(([, made, stored]) => made ?? stored)
  );
  assert(codes.length > 5);
  const known = declared("ClientCode");
  assert.deepEqual(codes.filter((code) => !known.includes(code)), []);
});
