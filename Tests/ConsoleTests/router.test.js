import assert from "node:assert/strict";
import { test } from "node:test";
import { format, parse } from "../../Sources/Console/router.js";

const list = { view: "list", q: "", reactor: "" };

test("every address is read as it is written", () => {
  for (
    const address of [
      "#/",
      "#/?q=meet&reactor=alerts",
      "#/metrics",
      "#/s/meeting-7",
      "#/s/meeting-7/v/812",
      "#/s/meeting-7/v/0",
      "#/s/meeting-7/v/812/diff/811",
      "#/s/meeting-7/v/812/diff",
      "#/s/meeting-7/v/812/diff/live",
      "#/s/meeting-7/diff",
      "#/s/meeting-7/diff/3?q=meet",
    ]
  ) {
    assert.equal(format(parse(address)), address);
  }
});

test("text that is no address is the list", () => {
  for (
    const hash of ["", "#", "#x", "#/s", "#/s/", "#/s/a%2Fb", "#/s/<img>", "#/nothing", `#/s/${"a".repeat(129)}`, "#/metrics/x"]
  ) {
    assert.deepEqual(parse(hash), list, hash);
  }
});

test("a part that is no version is left out", () => {
  assert.equal(format(parse("#/s/a/v/x")), "#/s/a");
  assert.equal(format(parse("#/s/a/v/-1")), "#/s/a");
  assert.equal(format(parse("#/s/a/v/1/diff/<b>")), "#/s/a/v/1");
});

test("a search may be any text", () => {
  const q = "<img src=x>&reactor=b#/";
  assert.equal(parse(format({ ...list, q })).q, q);
});
