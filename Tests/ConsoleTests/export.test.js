import assert from "node:assert/strict";
import { test } from "node:test";
import { exported } from "../../Sources/Console/export.js";

const lines = (...given) => exported(...given).trimEnd().split("\n").map((line) => JSON.parse(line));
const a = { id: "a", reactor: "alerts", stateVersion: 2 };
const time = "2026-01-01T00:00:00.500Z";

test("a whole history: its records, its notes, its beginning, and the counts", () => {
  const made = lines(
    a,
    { version: 0, position: "gggggggg.0", state: { n: 0 }, time },
    [
      { position: "gggggggg.1.1", time, action: 1, kind: "action.received", content: { received: 1 } },
      { position: "gggggggg.1", time, action: 1, version: 1, kind: "mutation", content: { n: 1 } },
      { position: "gggggggg.2", time, action: 1, kind: "activity", content: "ping" },
    ],
  );
  assert.deepEqual(made[0], { journal: 2 });
  assert.deepEqual([made[1].session, made[1].generation, made[1].keptAfter], ["a", "gggggggg", 0]);
  assert.equal(made[2].kind, "created");
  assert.deepEqual(made[3], {
    record: 1,
    part: 1,
    kind: "note",
    version: 0,
    action: 1,
    time: Date.parse(time),
    content: { kind: "action.received", content: { received: 1 } },
  });
  assert.deepEqual([made[4].kind, made[4].version, made[4].content], ["mutation", 1, { n: 1 }]);
  assert.deepEqual([made[5].kind, made[5].version], ["activity", 1]);
  assert.deepEqual([made[6].snapshot, made[6].lastAction, made[6].state], [0, 0, { n: 0 }]);
  assert.equal(made[6].stateVersion, 2);
  assert.deepEqual([made[7].end, made[7].records, made[7].snapshots], [7, 4, 1]);
});

test("the state of the last version is there: earlier mutations may have another form", () => {
  const entries = [
    { position: "gggggggg.1", time, action: 1, version: 1, kind: "mutation", content: "form 1" },
    { position: "gggggggg.2", time, action: 3, version: 2, kind: "mutation", content: "form 2" },
    { position: "gggggggg.3", time, action: 4, kind: "activity", content: "ping" },
  ];
  const last = { ...entries[1], position: "gggggggg.2", state: { n: 2 } };
  const made = lines(a, { version: 0, position: "gggggggg.0", state: { n: 0 }, time }, entries, last);
  assert.deepEqual(made[7], {
    snapshot: 2,
    version: 2,
    lastAction: 3,
    stateVersion: 2,
    time: Date.parse(time),
    state: { n: 2 },
  });
  assert.deepEqual([made[8].end, made[8].records, made[8].snapshots], [8, 4, 2]);
});

test("a history whose beginning is not kept begins with its snapshot", () => {
  const made = lines(
    a,
    { version: 30, position: "gggggggg.40", state: {}, time },
    [{ position: "gggggggg.41", time, action: 9, version: 31, kind: "mutation", content: {} }],
  );
  assert.deepEqual([made[1].keptAfter, made[1].keptVersion], [40, 30]);
  assert.equal(made[2].record, 41);
  assert.deepEqual([made[3].snapshot, made[3].version, made[3].lastAction], [40, 30, 8]);
});

test("a number that a browser rounds is not exported", () => {
  const start = { version: 0, position: "gggggggg.0", state: { n: 0 }, time };
  const entry = { position: "gggggggg.1", time, action: 1, version: 1, kind: "mutation", content: { n: [2 ** 53 - 1] } };
  assert.equal(lines(a, start, [entry])[3].content.n[0], 9007199254740991);
  const rounded = JSON.parse("9007199254740993");
  assert.throws(() => exported(a, { ...start, state: { n: rounded } }, [entry]), /2⁵³/);
  assert.throws(() => exported(a, start, [{ ...entry, content: { n: [-rounded] } }]), /2⁵³/);
});
