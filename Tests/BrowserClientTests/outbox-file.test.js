// The outbox in a file: who has it, and what is in it after a fault.

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileOutbox } from "../../Sources/BrowserClient/outbox-file.js";
import { ReactorClient } from "../../Sources/BrowserClient/reactor-client.js";
import { Fake, never } from "./fake-server.js";

/** Calls with the path of an outbox in a folder of its own. */
async function inFolder(act) {
  const folder = mkdtempSync(join(tmpdir(), "outbox-"));
  try {
    await act(join(folder, "outbox"), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const queued = (ticket, text = "1") => {
  return { type: "queued", entry: { ticket, session: "room", actions: [text], bytes: text.length } };
};
const state = (number, text) => ({ type: "state", session: `room-${number}`, position: "aaaaaaaa.1", state: text });
const tickets = (changes) => changes.filter((one) => one.type === "queued").map((one) => one.entry.ticket);

test("a client that did not get the file does not give it free", () =>
  inFolder(async (path) => {
    const fake = new Fake(never);
    const first = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fileOutbox(path) });
    await first.opened;
    for (let turn = 0; turn < 2; turn++) {
      const other = new ReactorClient("http://127.0.0.1", { fetch: fake.fetch, outbox: fileOutbox(path) });
      await assert.rejects(other.opened, /in use by the process/);
      await other.close();
    }
    await first.close();
    assert.ok(!existsSync(`${path}.lock`));
  }));

test("of many that open a file at once one has it, by whatever name", () =>
  inFolder(async (path, folder) => {
    const before = fileOutbox(path);
    await before.open(() => {});
    await before.close();
    symlinkSync(path, `${path}-link`);
    const all = Array.from({ length: 20 }, (_, number) => fileOutbox(number % 2 ? path : `${path}-link`));
    const opened = await Promise.allSettled(all.map((one) => one.open(() => {})));
    assert.equal(opened.filter((one) => one.status === "fulfilled").length, 1);
    for (const one of all) await one.close();
    assert.deepEqual(readdirSync(folder).sort(), ["outbox", "outbox-link"]);
  }));

test("nobody else can read what is in the file", () =>
  inFolder(async (path) => {
    const outbox = fileOutbox(path);
    await outbox.open(() => {});
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await outbox.close();
  }));

test("a file that was deleted or replaced takes no more actions", () =>
  inFolder(async (path) => {
    for (const act of [() => rmSync(path), () => (rmSync(path), writeFileSync(path, ""))]) {
      const outbox = fileOutbox(path);
      await outbox.open(() => {});
      await outbox.write([queued(1)]);
      act();
      await assert.rejects(outbox.write([queued(2)]));
      await assert.rejects(outbox.write([queued(3)]));
      await outbox.close();
      rmSync(path, { force: true });
    }
  }));

test("a file that cannot be rewritten remains, and takes further actions", () =>
  inFolder(async (path) => {
    let outbox = fileOutbox(path);
    await outbox.open(() => {});
    // Not a file: to rewrite fails.
    const text = JSON.stringify("x".repeat(700_000));
    mkdirSync(`${path}.new`);
    writeFileSync(join(`${path}.new`, "file"), "");
    for (const ticket of [1, 2, 3]) {
      await outbox.write([queued(ticket, text)]);
      await outbox.write([{ type: "discarded", ticket, session: "room" }]);
    }
    await outbox.write([queued(4)]);
    assert.ok(statSync(path).size > 2_000_000);
    await outbox.close();
    // The next program continues the file, after a line that was cut off.
    writeFileSync(path, "cut off", { flag: "a" });
    outbox = fileOutbox(path);
    assert.deepEqual(tickets(await outbox.open(() => {})), [4]);
    await outbox.write([queued(5)]);
    await outbox.close();
    rmSync(`${path}.new`, { recursive: true });
    outbox = fileOutbox(path);
    assert.deepEqual(tickets(await outbox.open(() => {})), [4, 5]);
    assert.ok(statSync(path).size < 1_000);
    await outbox.close();
  }));

test("saved states are bounded in their number and their sum; those that were saved last remain", () =>
  inFolder(async (path) => {
    let outbox = fileOutbox(path);
    await outbox.open(() => {});
    await outbox.write(Array.from({ length: 1_100 }, (_, number) => state(number, "s")));
    await outbox.write([state(500, "again")]);
    await outbox.close();
    outbox = fileOutbox(path);
    const found = (await outbox.open(() => {})).filter((one) => one.type === "state");
    assert.equal(found.length, 1_024);
    assert.equal(found[found.length - 1].session, "room-500");
    assert.ok(!found.some((one) => one.session === "room-75"));
    const large = "x".repeat(16_000_000);
    for (let number = 0; number < 5; number++) await outbox.write([state(`large-${number}`, large)]);
    await outbox.close();
    outbox = fileOutbox(path);
    const rest = (await outbox.open(() => {})).filter((one) => one.type === "state").map((one) => one.session);
    assert.deepEqual(rest, [1, 2, 3, 4].map((number) => `room-large-${number}`));
    await outbox.close();
  }));

test("a line that was cut off is dropped; damage before the end is reported with its place", () =>
  inFolder(async (path) => {
    let outbox = fileOutbox(path);
    await outbox.open(() => {});
    await outbox.write([queued(1)]);
    await outbox.write([queued(2)]);
    await outbox.close();
    const whole = readFileSync(path);
    const second = whole.lastIndexOf("\n", whole.length - 2) + 1;
    for (const end of [second, second + 1, whole.length - 1]) {
      writeFileSync(path, whole.subarray(0, end));
      outbox = fileOutbox(path);
      assert.deepEqual(tickets(await outbox.open(() => {})), [1]);
      await outbox.close();
    }
    const damaged = Buffer.from(whole);
    damaged[second + 20] ^= 1;
    writeFileSync(path, damaged);
    chmodSync(path, 0o600);
    await assert.rejects(fileOutbox(path).open(() => {}), new RegExp(`damaged at byte ${second}`));
  }));
