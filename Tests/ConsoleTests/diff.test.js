import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { diff, MOST_CHANGES, pointer } from "../../Sources/Console/diff.js";

const changes = (before, after) =>
  diff(before, after).changes.map(({ path, kind }) => `${kind} ${pointer(path)}`);

test("equal values have no difference", () => {
  for (const value of [null, 1, "a", [], {}, { a: [1, { b: null }] }]) {
    assert.deepEqual(changes(value, structuredClone(value)), []);
  }
});

test("members are added, removed and changed", () => {
  assert.deepEqual(changes({ a: 1, b: 2, c: 3 }, { a: 1, b: 4, d: 5 }), [
    "changed /b",
    "removed /c",
    "added /d",
  ]);
});

test("null is a value, and not a missing member", () => {
  assert.deepEqual(changes({ a: null }, {}), ["removed /a"]);
  assert.deepEqual(changes({}, { a: null }), ["added /a"]);
  assert.deepEqual(changes({ a: null }, { a: 0 }), ["changed /a"]);
});

test("a list of the last hundred that moves by one has one change at each end", () => {
  const list = (from) => Array.from({ length: 100 }, (_, index) => ({ number: from + index }));
  assert.deepEqual(changes(list(0), list(1)), ["removed /0", "added /99"]);
});

test("an element that changes is compared with the one at its place", () => {
  const before = [{ id: 1, text: "a" }, { id: 2, text: "b" }, { id: 3, text: "c" }];
  const after = structuredClone(before);
  after[1].text = "x";
  assert.deepEqual(changes(before, after), ["changed /1/text"]);
});

test("insertions and removals in the middle", () => {
  assert.deepEqual(changes([1, 2, 3, 4], [1, 9, 2, 3, 4]), ["added /1"]);
  assert.deepEqual(changes([1, 2, 3, 4], [1, 3, 4]), ["removed /1"]);
});

test("another type at the same place is one change", () => {
  assert.deepEqual(changes({ a: [1] }, { a: { 0: 1 } }), ["changed /a"]);
  assert.deepEqual(changes([1], null), ["changed "]);
});

test("applying the changes to random values gives the new ones", () => {
  let seed = 7;
  const random = (limit) => (seed = (seed * 48271) % 2147483647) % limit;
  const value = (depth) => {
    switch (random(depth > 3 ? 3 : 5)) {
      case 0:
        return random(3);
      case 1:
        return ["a", null, true][random(3)];
      case 2:
        return "text";
      case 3:
        return Array.from({ length: random(5) }, () => value(depth + 1));
      default:
        return Object.fromEntries(Array.from({ length: random(4) }, () => [`k${random(5)}`, value(depth + 1)]));
    }
  };
  for (let round = 0; round < 2_000; round += 1) {
    const [before, after] = [value(0), value(0)];
    const found = diff(before, after);
    assert.ok(found.isComplete);
    // Each value that the changes name is at its place, and nothing else differs.
    assert.equal(found.changes.length === 0, isDeepStrictEqual(before, after));
    for (const { path, kind, after: now } of found.changes) {
      if (kind === "removed") continue;
      assert.deepEqual(path.reduce((part, key) => part[key], after), now);
    }
  }
});

test("a difference without end is cut, and says so", () => {
  const many = (text) => Object.fromEntries(Array.from({ length: MOST_CHANGES + 5 }, (_, n) => [n, text]));
  const found = diff(many("a"), many("b"));
  assert.equal(found.changes.length, MOST_CHANGES);
  assert.equal(found.isComplete, false);
  assert.equal(diff(Array(5_000).fill(1), Array(5_000).fill(2)).isComplete, false);
});

test("a pointer escapes its parts", () => {
  assert.equal(pointer(["a/b", "c~d", 0]), "/a~1b/c~0d/0");
});
