// An outbox in a file, for Node: what is in it survives the process.

import { constants } from "node:fs";
import { link, mkdir, open, readFile, realpath, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import { Outbox } from "./reactor-client/outbox.js";
import "./reactor-client/storage.js";

/** @import { Change } from "./reactor-client/types.d.ts" */
/** @import { Outbox as Store, OutboxChange } from "./reactor-client.d.ts" */

const table = Uint32Array.from({ length: 256 }, (_, number) => {
  let value = number;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** CRC-32 as eight digits. @param {string} text */
export function checksum(text) {
  let value = 0xffffffff;
  for (const byte of Buffer.from(text)) value = (table[(value ^ byte) & 255] ?? 0) ^ (value >>> 8);
  return ((value ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

/** One group: what one write has made durable. @param {unknown[]} changes */
const line = (changes) => {
  const text = JSON.stringify(changes);
  return `${checksum(text)} ${text}\n`;
};

/** The least from which an outbox can be restored. @param {Outbox} outbox @returns {Change[]} */
function changesOf({ lanes, settlements, nextTicket }) {
  const all = [...lanes.values()];
  const entries = all.flatMap(({ sent, queued }) => [...(sent?.entries ?? []), ...queued]);
  return [
    ...[...settlements.values()].map((one) => ({ type: /** @type {const} */ ("settled"), ...one })),
    ...entries.sort((a, b) => a.ticket - b.ticket).map((entry) => ({ type: /** @type {const} */ ("queued"), entry })),
    ...[...lanes].flatMap(([session, { sent }]) => {
      if (!sent) return [];
      const { key, body, date, entries: { length: count } } = sent;
      return [{ type: /** @type {const} */ ("sent"), session, key, body, date, count }];
    }),
    { type: "next", ticket: nextTicket },
  ];
}

/** States beyond these are dropped, those that were saved longest ago first. */
const mostStates = 1_024;
const mostStateCharacters = 67_108_864;

/**
 * Keeps a client's outbox in a file, one line for each write: its checksum, and changes as JSON. One process has it
 * at a time.
 *
 * @param {string} path the file; `<path>.lock` and `<path>.new` are beside it
 * @param {{ account?: string }} [options] `account`: whose actions these are; those of another are never sent
 * @returns {Store}
 */
export function fileOutbox(path, { account } = {}) {
  return new FileOutbox(path, account);
}

/** @implements {Store} */
class FileOutbox {
  keepsStates = true;
  #outbox = new Outbox();
  /** With their lengths as JSON, those that were saved longest ago first. @type {Map<string, [OutboxChange, number]>} */
  #states = new Map();
  #stateCharacters = 0;
  #hasLock = false;
  /** @type {import("node:fs/promises").FileHandle | undefined} */
  #file;
  #size = 0;
  /** The size of the beginning that was rewritten last. */
  #base = 0;
  /** Changes that wait for the present write. @type {OutboxChange[]} */
  #next = [];
  /** The write that they wait for. @type {Promise<void> | undefined} */
  #flushing;
  /** The last write that was begun. @type {Promise<void>} */
  #writing = Promise.resolve();
  /** @type {Error | undefined} */
  #failure;
  #path;
  #account;

  /** @param {string} path @param {string} [account] */
  constructor(path, account) {
    this.#path = path;
    this.#account = account ?? null;
  }

  async open() {
    await mkdir(dirname(this.#path), { recursive: true });
    // By another name it is the same file, and has the same lock.
    this.#path = await realpath(this.#path).catch(() => this.#path);
    await lock(`${this.#path}.lock`);
    this.#hasLock = true;
    try {
      const text = await readFile(this.#path, "utf8").catch((error) => {
        if (error.code === "ENOENT") return "";
        throw error;
      });
      this.#replay(text);
      // A full disk has no room for a second file: continue the old one.
      await this.#rewrite().catch((error) => this.#continue(text, error));
    } catch (error) {
      await this.#unlock();
      throw error;
    }
    return this.#contents();
  }

  /** Gives the file free; not one that another process has. */
  async #unlock() {
    if (this.#hasLock) await unlink(`${this.#path}.lock`).catch(() => {});
    this.#hasLock = false;
  }

  /** @returns {OutboxChange[]} */
  #contents() {
    return [...changesOf(this.#outbox), ...[...this.#states.values()].map(([state]) => state)];
  }

  /** @param {string} text */
  #replay(text) {
    let offset = 0;
    const damaged = /** @param {string} why */ (why) =>
      new Error(`the outbox ${this.#path} is damaged at byte ${offset}: ${why}`);
    // A line that was cut off was never acted upon. A crash of the system can leave zeros.
    const lines = text.replace(/\0+$/, "").split("\n");
    if (lines.length > 1 || text === "") lines.pop();
    for (const [number, one] of lines.entries()) {
      const content = one.slice(9);
      if (one.slice(0, 8) !== checksum(content)) throw damaged("a checksum is wrong");
      const changes = JSON.parse(content);
      if (!number) {
        const { outbox, account } = changes.shift();
        if (outbox !== 1) throw damaged("it is not an outbox of this client");
        if (account !== this.#account) throw new Error(`the outbox ${this.#path} belongs to another account`);
      }
      for (const change of changes) {
        if (!this.#apply(change)) throw damaged("a change does not follow from those before");
      }
      offset += Buffer.byteLength(one) + 1;
    }
  }

  /** @param {OutboxChange} change */
  #apply(change) {
    const one = /** @type {Change} */ (change);
    if (one.type !== "state") return this.#outbox.apply(one);
    this.#forget(one.session);
    if (one.position) {
      const length = JSON.stringify(one.state ?? null).length;
      this.#states.set(one.session, [one, length]);
      this.#stateCharacters += length;
    }
    while (this.#states.size > mostStates || this.#stateCharacters > mostStateCharacters) {
      this.#forget(this.#states.keys().next().value ?? "");
    }
    return true;
  }

  /** @param {string} session */
  #forget(session) {
    this.#stateCharacters -= this.#states.get(session)?.[1] ?? 0;
    this.#states.delete(session);
  }

  /** Begins the file anew, without its past. An interruption leaves the old one or the new one. */
  async #rewrite() {
    const text = line([{ outbox: 1, account: this.#account }, ...this.#contents()]);
    const name = `${this.#path}.new`;
    await unlink(name).catch(() => {}); // Of a process that has ended meanwhile.
    const file = await open(name, "ax", 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
      await rename(name, this.#path);
    } catch (error) {
      await file.close();
      await unlink(name).catch(() => {});
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#size = this.#base = Buffer.byteLength(text);
    const folder = await open(dirname(this.#path), constants.O_RDONLY);
    await folder.sync().finally(() => folder.close());
  }

  /**
   * Continues a file as it is.
   * @param {string} text
   * @param {unknown} error why it cannot be rewritten
   */
  async #continue(text, error) {
    if (this.#file || !text.includes("\n")) throw error;
    const file = await open(this.#path, "a");
    // A line that was cut off.
    this.#size = this.#base = Buffer.byteLength(text.slice(0, text.lastIndexOf("\n") + 1));
    await file.truncate(this.#size);
    this.#file = file;
  }

  /**
   * Rejects with an error whose `isFinal` is true if no later write can succeed.
   * @param {OutboxChange[]} changes
   * @returns {Promise<void>}
   */
  write(changes) {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#next.push(...changes);
    // Changes that come during a write are written together.
    this.#flushing ??= this.#writing = this.#writing.then(() => this.#flush());
    return this.#flushing;
  }

  async #flush() {
    const changes = this.#next;
    this.#next = [];
    this.#flushing = undefined;
    if (this.#failure) throw this.#failure;
    try {
      await this.#append(changes);
    } catch (error) {
      // States are no promise: without room for them, actions continue.
      const { isFinal } = /** @type {Error & { isFinal?: boolean }} */ (error);
      if (!await this.#rollBack() || isFinal) throw this.#fail(error);
      if (changes.some((one) => one.type !== "state")) throw error;
      return;
    }
    for (const change of changes) this.#apply(change);
    if (this.#size <= 2 * this.#base + 1_048_576) return;
    const file = this.#file;
    try {
      await this.#rewrite();
    } catch (error) {
      if (this.#file !== file) throw this.#fail(error);
      this.#base = this.#size; // The old one remains, and is rewritten when it has grown as much again.
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    return this.#failure = Object.assign(/** @type {Error} */ (error), { isFinal: true });
  }

  /** @param {OutboxChange[]} changes */
  async #append(changes) {
    if (!this.#file) throw this.#fail(new Error(`the outbox ${this.#path} is not open`));
    const [one, other] = [await this.#file.stat(), await stat(this.#path).catch(() => undefined)];
    if (one.ino !== other?.ino || one.dev !== other.dev) {
      throw this.#fail(new Error(`the file ${this.#path} was moved or deleted`));
    }
    const text = line(changes);
    await this.#file.appendFile(text);
    // After a failed flush nobody knows what is on the disk.
    await this.#file.datasync().catch((error) => Promise.reject(this.#fail(error)));
    this.#size += Buffer.byteLength(text);
  }

  /** Removes what a failed write may have left: it is not to come back. @returns whether it is gone. */
  async #rollBack() {
    try {
      await this.#file?.truncate(this.#size);
      await this.#file?.datasync();
      return true;
    } catch {
      return false;
    }
  }

  async close() {
    await this.#writing.catch(() => {});
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
    await this.#unlock();
  }
}

/** Whether a process lives. Only one of this host can be asked for. @param {number} pid */
function lives(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** The moment at which a process began, so that another one with its number is not taken for it. @param {number} pid */
async function birth(pid) {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

/** Claims a file for this process; that of a process that is gone is replaced. @param {string} path */
async function lock(path) {
  const unique = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  const own = `${process.pid} ${await birth(process.pid)} ${unique}`;
  const file = await open(unique, "wx", 0o600);
  await file.writeFile(own).finally(() => file.close());
  try {
    for (;;) {
      try {
        // Whole at once: nobody reads a lock that has no process yet.
        return await link(unique, path);
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
      }
      const found = await readFile(path, "utf8").catch(() => undefined);
      if (found === undefined) continue;
      const [pid, began] = found.split(" ");
      const isOwn = Number(pid) === process.pid && began === await birth(process.pid);
      if (isOwn || (lives(Number(pid)) && began === await birth(Number(pid)))) {
        throw new Error(`the outbox is in use by the process ${pid}`);
      }
      // Another program may have replaced it meanwhile: its file goes back.
      const old = `${unique}.old`;
      await rename(path, old).catch(() => {});
      const moved = await readFile(old, "utf8").catch(() => found);
      if (moved !== found) await link(old, path).catch(() => {});
      await unlink(old).catch(() => {});
    }
  } finally {
    await unlink(unique).catch(() => {});
  }
}
