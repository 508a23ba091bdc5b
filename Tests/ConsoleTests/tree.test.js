import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "../../Sources/Console/diff.js";
import { brief, count, Tree } from "../../Sources/Console/tree.js";

const pointers = (tree) => tree.rows().map(({ pointer }) => pointer);

test("the rows of a value, with their places among their siblings", () => {
  const tree = new Tree();
  tree.show({ a: [1, { b: null }], "c/d": "x", e: {} });
  assert.deepEqual(pointers(tree), ["", "/a", "/a/0", "/a/1", "/a/1/b", "/c~1d", "/e"]);
  const row = tree.rows()[3];
  assert.deepEqual([row.depth, row.position, row.siblings, row.isOpen], [2, 2, 2, true]);
  assert.equal(tree.rows().at(-1).opens, false, "an empty object");
});

test("what a reader closes stays closed while the value changes", () => {
  const tree = new Tree();
  tree.show({ a: { b: 1 } });
  tree.toggle(tree.rows()[1]);
  tree.show({ a: { b: 2 }, c: 3 });
  assert.deepEqual(pointers(tree), ["", "/a", "/c"]);
  tree.toggle(tree.rows()[1]);
  assert.deepEqual(pointers(tree), ["", "/a", "/a/b", "/c"]);
});

test("a large value begins closed below the second level", () => {
  const tree = new Tree();
  const value = Array.from({ length: 1_000 }, (_, index) => ({ index, more: [1, 2] }));
  tree.show({ list: value });
  assert.equal(tree.rows().length, 1_002);
  assert.ok(tree.rows().every(({ depth }) => depth <= 2));
});

test("changes are marked, and so are the parts that they are in", () => {
  const tree = new Tree();
  const [before, after] = [{ a: { b: 1 }, c: [1, 2], d: 1 }, { a: { b: 2 }, c: [1], e: 5, d: 1 }];
  tree.show(after, diff(before, after).changes);
  const marks = Object.fromEntries(tree.rows().map(({ pointer, mark }) => [pointer, mark]));
  assert.deepEqual(marks, {
    "": "inside",
    "/a": "inside",
    "/a/b": "changed",
    "/c": "changed",
    "/c/0": undefined,
    "/e": "added",
    "/d": undefined,
  });
});

test("types differ in their form", () => {
  assert.deepEqual(
    ["null", null, 1, true, [], [1], {}, { a: 1 }, "x".repeat(200)].map((value) => brief(value, 3)),
    ['"nul…"', "null", "1", "true", "[]", "[1]", "{}", "{1}", '"xxx…"'],
  );
});

test("nodes are counted up to a limit", () => {
  assert.equal(count({ a: [1, 2] }, 100), 4);
  assert.equal(count(Array(1_000_000).fill(0), 50), 50);
});
