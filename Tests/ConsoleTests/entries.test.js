import assert from "node:assert/strict";
import { test } from "node:test";
import {
  caseName,
  details,
  Entries,
  FAMILIES,
  family,
  MOST_ENTRIES,
  precedes,
  rows,
  without,
} from "../../Sources/Console/entries.js";

const at = (position, action, kind, extra = {}) => ({
  position: `gggggggg.${position}`,
  time: "2026-01-01T00:00:00.000Z",
  action,
  kind,
  ...extra,
});

const LOG = [
  at("1.1", 1, "action.received", { content: { received: { type: "start" }, key: "k1" } }),
  at("1", 1, "mutation", { version: 1, content: { type: "begin" } }),
  at("2.1", 1, "effect.started", { content: { step: 1, id: "work" } }),
  at("2.2", 2, "action.received", { content: { received: { type: "say", text: "Hi" } } }),
  at("2", 2, "mutation", { version: 2, content: { type: "append" } }),
  at("3", 1, "mutation", { version: 3, content: { type: "advance" } }),
  at("4", 0, "source.failed", { content: { source: "news", error: "gone" } }),
];
const ALL = { newestFirst: true, grouped: true, families: new Set(FAMILIES), find: "" };
const places = (shown) => shown.map(({ entry }) => entry.position.slice(9));

test("a part precedes its record", () => {
  assert.ok(precedes("g.2.1", "g.2"));
  assert.ok(precedes("g.2.9", "g.2.10"));
  assert.ok(precedes("g.9", "g.10.1"));
  assert.ok(!precedes("g.2", "g.2"));
});

test("kinds belong to families, unknown ones too", () => {
  assert.deepEqual(
    ["action.rejected", "mutation.dropped", "state.replaced", "effect.failed", "source.ended", "hook.failed", "activity", "cycler.didEmit", "newer"]
      .map(family),
    ["actions", "mutations", "mutations", "faults", "effects", "faults", "activities", "calls", "calls"],
  );
});

test("entries are grouped by action, which is read downwards whichever action comes first", () => {
  const shown = rows(LOG, ALL);
  assert.deepEqual(places(shown), ["4", "2.2", "2", "1.1", "1", "2.1", "3"]);
  assert.deepEqual(shown.map(({ isMember }) => isMember), [false, false, true, false, true, true, true]);
  assert.deepEqual(places(rows(LOG, { ...ALL, newestFirst: false })), ["1.1", "1", "2.1", "3", "2.2", "2", "4"]);
});

test("an action with many entries shows itself and the newest ones, until it is unfolded or searched", () => {
  const step = (number) => at(String(number), 1, "mutation", { version: number, content: { type: "advance" } });
  const log = [at("1.1", 1, "action.received"), ...Array.from({ length: 40 }, (_, index) => step(index + 1))];
  const shown = rows(log, ALL);
  assert.deepEqual([shown[0].entry, shown[1].fold, shown[1].count], [log[0], 1, 29]);
  assert.deepEqual(shown.slice(2).map(({ entry }) => entry), log.slice(30));
  for (const other of [{ unfolded: new Set([1]) }, { find: "a" }, { grouped: false }]) {
    assert.equal(rows(log, { ...ALL, ...other }).length, log.length);
  }
  // One entry is no shorter when it is folded.
  assert.deepEqual(rows(log.slice(0, 13), ALL).map(({ entry }) => entry), log.slice(0, 13));
});

test("without groups the order is that of the log, or the reverse", () => {
  const order = LOG.map(({ position }) => position.slice(9));
  assert.deepEqual(places(rows(LOG, { ...ALL, grouped: false, newestFirst: false })), order);
  assert.deepEqual(places(rows(LOG, { ...ALL, grouped: false })), order.toReversed?.() ?? [...order].reverse());
});

test("a filter and a text leave out the rest", () => {
  assert.deepEqual(places(rows(LOG, { ...ALL, families: new Set(["effects"]) })), ["2.1"]);
  assert.deepEqual(places(rows(LOG, { ...ALL, find: "HI" })), ["2.2"]);
  assert.deepEqual(places(rows(LOG, { ...ALL, find: "k1" })), ["1.1"]);
  assert.deepEqual(places(rows(LOG, { ...ALL, find: "v3" })), ["3"]);
  assert.deepEqual(places(rows(LOG, { ...ALL, find: "<nothing>" })), []);
});

test("an entry that is there already is not added again", () => {
  const entries = new Entries();
  for (const entry of [...LOG, ...LOG]) entries.append(entry);
  assert.equal(entries.list.length, LOG.length);
});

test("the window is bounded, and older entries come back", () => {
  const entries = new Entries();
  const entry = (number) => at(String(number), number, "mutation", { version: number });
  for (let number = 1; number <= MOST_ENTRIES + 100; number += 1) entries.append(entry(number));
  assert.equal(entries.list.length, MOST_ENTRIES);
  assert.equal(entries.list[0].version, 101);
  const page = Array.from({ length: 150 }, (_, index) => entry(index + 1));
  entries.prepend(page, true);
  assert.equal(entries.list.length, MOST_ENTRIES);
  assert.equal(entries.list[0].version, 1);
  assert.ok(entries.isDetached && entries.hasOldest);
  // A new entry would leave a gap.
  assert.equal(entries.append(entry(99_999)), false);
});

test("names and details of tagged, keyed and plain values", () => {
  for (
    const [value, name, rest] of [
      [{ type: "alert", message: "Hi" }, "alert", { message: "Hi" }],
      [{ type: "reset" }, "reset", undefined],
      [{ alert: { message: "Hi" } }, "alert", { message: "Hi" }],
      ["plain", "plain", undefined],
      [7, "", 7],
      [null, "", null],
      [{ a: 1, b: 2 }, "", { a: 1, b: 2 }],
    ]
  ) {
    assert.equal(caseName(value), name);
    assert.deepEqual(details(value), rest);
  }
});

test("without an action: the version before it, and the later actions in their order", () => {
  assert.deepEqual(without(LOG, 2, 0), { version: 1, actions: [], lost: 0 });
  const more = [
    ...LOG,
    at("5.1", 3, "action.received", { content: { received: { type: "say", text: "A" } } }),
    at("5", 3, "mutation", { version: 4 }),
    at("6.1", 4, "action.received", { content: {} }),
    at("6.2", 5, "action.rejected", { content: { received: { type: "say", text: "" } } }),
    at("6.3", 6, "action.received", { content: { received: { type: "say", text: "B" } } }),
  ];
  assert.deepEqual(without(more, 2, 0), {
    version: 1,
    actions: [{ type: "say", text: "A" }, { type: "say", text: "B" }],
    lost: 1,
  });
  const rounded = at("7.1", 7, "action.received", { content: { received: { type: "add", number: 2 ** 53 } } });
  assert.deepEqual(without([...more, rounded], 2, 0), { ...without(more, 2, 0), lost: 2 });
  assert.equal(without(more, 1, 0).version, 0);
  assert.equal(without(more, 1, 0).actions.length, 3);
});

test("without an action whose beginning is not loaded the version is that before the next one", () => {
  const late = LOG.slice(3).map((entry) => ({ ...entry, version: entry.version && entry.version + 40 }));
  assert.equal(without(late, 2, undefined).version, 41);
  assert.equal(without(late, 99, undefined), undefined);
});
