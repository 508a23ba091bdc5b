import assert from "node:assert/strict";
import { test } from "node:test";
import { merged, parts } from "../../Sources/Console/sessions.js";

const list = (text, next) => ({ sessions: text.split("").map((id) => ({ id, version: 0 })), next });
const part = (text, next) => ({ sessions: text.split("").map((id) => ({ id, version: 1 })), next });
/** The ids; those of the part as capitals. */
const shown = ({ sessions, next }) =>
  `${sessions.map(({ id, version }) => (version === 1 ? id.toUpperCase() : id)).join("")} ${next ?? "end"}`;

test("what is read again replaces its part of the list", () => {
  assert.equal(shown(merged(list("abcdef", "f"), "b", part("cd", "d"))), "abCDef f");
  assert.equal(shown(merged(list("abcdef"), undefined, part("ab", "b"))), "ABcdef end");
});

test("sessions that were deleted go, and new ones come at their places", () => {
  assert.equal(shown(merged(list("abdf", "f"), "a", part("cd", "d"))), "aCDf f");
  assert.equal(shown(merged(list("abcf", "f"), "a", part("f", "f"))), "aF f");
  assert.equal(shown(merged(list("abc"), undefined, part(""))), " end");
  assert.equal(shown(merged(list(""), undefined, part("ab"))), "AB end");
});

test("what was not read yet stays so, unless the end is there", () => {
  assert.equal(shown(merged(list("abc", "c"), "a", part("bcde", "e"))), "aBC c");
  assert.equal(shown(merged(list("abc", "c"), "a", part("bde"))), "aBDE end");
  assert.equal(shown(merged(list("abc"), "a", part("bcde", "e"))), "aBCDE e");
});

test("words with a colon are tags", () => {
  assert.deepEqual(parts(""), { tags: [], prefix: "" });
  assert.deepEqual(parts("meeting-7"), { tags: [], prefix: "meeting-7" });
  assert.deepEqual(parts(" status:open  m table:1:2"), { tags: ["status:open", "table:1:2"], prefix: "m" });
  assert.equal(parts("a b").prefix, "a b");
});
