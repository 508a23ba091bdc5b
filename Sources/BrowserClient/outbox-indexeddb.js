// An outbox in IndexedDB, for pages: what is in it survives the tab.
//
// Each page has rows of its own and a Web Lock that says that it lives. When a page is gone, its
// lock is granted to one of the others, or to the next one that is opened: that one sends what is
// left. So no request is sent by two pages, and no page waits for another one.

import { Outbox } from "./reactor-client/outbox.js";
import "./reactor-client/storage.js";

/** @import { Change, Entry, Settlement } from "./reactor-client/types.d.ts" */
/** @import { Outbox as Store, OutboxChange } from "./reactor-client.d.ts" */
/** @typedef {{ owner: string, session: string, key: string, body: string, date: number, tickets: number[] }} RequestRow */

/** @type {[string, string | string[]][]} */
const tables = [
  ["owners", "owner"],
  ["entries", ["owner", "ticket"]],
  ["requests", ["owner", "session"]],
  ["settlements", ["owner", "ticket"]],
  ["states", "session"],
];

/** States beyond these are dropped when a page opens, those that were saved longest ago first. */
const mostStates = 1_024;
const mostStateCharacters = 67_108_864;

/**
 * Keeps a client's outbox in IndexedDB, a row for each send and each request. Pages of one origin may use one name
 * at the same time. In a page without Web Locks, which is one that came over plain HTTP from another host, actions are kept in
 * memory.
 *
 * @param {string} name
 * @param {{ account?: string }} [options] `account`: whose actions these are; those of another are never sent
 * @returns {Store}
 */
export function indexedDBOutbox(name, { account = "" } = {}) {
  if (!globalThis.indexedDB || !globalThis.navigator?.locks) return { open: () => [], write() {}, close() {} };
  return new IndexedDBOutbox(`reactor-client ${name} ${account}`);
}

/** The milliseconds that a page may take to reload. */
const reloadTime = 1_000;
/**
 * Those for which the other pages leave it its actions: its modules may have to come over a slow
 * line.
 */
const absenceTime = 5_000;

/**
 * The owner whose rows this tab had before a reload.
 * @param {string} name
 * @param {string} [owner]
 */
function sessionOwner(name, owner) {
  try {
    if (owner !== undefined) sessionStorage.setItem(name, owner);
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return ""; // There is none in a worker, or the user does not permit it.
  }
}

/** @template Result @param {IDBRequest<Result>} request @returns {Promise<Result>} */
const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** @implements {Store} */
class IndexedDBOutbox {
  keepsStates = true;
  /** Its rows, so that a change knows which of them it is about. */
  #outbox = new Outbox();
  #name;
  #owner = "";
  /** @type {IDBDatabase | undefined} */
  #database;
  /**
   * The outbox of the page, which has the database; for an adopted outbox, another object.
   * @type {IndexedDBOutbox}
   */
  #page = this;
  /** Of a page: the connection to its database, counted, and whether it is of no use. */
  #connection = 0;
  #isClosed = false;
  /** @type {Promise<void> | undefined} */
  #connecting;
  /**
   * The connection over which the memory became what the rows are; 0 after a write that has failed.
   */
  #source = 0;
  /** The write that runs. @type {Promise<void> | undefined} */
  #writing;
  /** @type {BroadcastChannel | undefined} */
  #channel;
  /** The pages for whose end this one waits. @type {Set<string>} */
  #watched = new Set();
  /** Ends the waits for the locks of other pages. */
  #closing = new AbortController();
  #release = () => {};

  /** @param {string} name */
  constructor(name) {
    this.#name = name;
  }

  /** @param {(orphan: Store) => void} adopt @returns {Promise<OutboxChange[]>} */
  async open(adopt) {
    if (this.#owner) return await this.#read(); // It was adopted.
    await this.#connect();
    await this.#heal();
    // A reloaded page continues its own actions, even while another page waits to adopt them.
    const own = sessionOwner(this.#name);
    const owners = await this.#owners();
    if (owners.includes(own) && await this.#claim(own, reloadTime)) this.#owner = own;
    for (const owner of [...owners, crypto.getRandomValues(new Uint32Array(4)).join("-")]) {
      if (!this.#owner && await this.#claim(owner)) this.#owner = owner;
    }
    sessionOwner(this.#name, this.#owner);
    // Of two pages, the one that has its row later finds the other one's.
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => this.#watch(data, adopt);
    const changes = await this.#read();
    await this.write([]);
    this.#channel.postMessage(this.#owner);
    for (const owner of await this.#owners()) this.#watch(owner, adopt);
    return changes;
  }

  async #connect() {
    const opening = indexedDB.open(this.#name, 1);
    opening.onupgradeneeded = () => {
      for (const [table, keyPath] of tables) opening.result.createObjectStore(table, { keyPath });
    };
    const database = this.#database = await result(opening);
    this.#connection++;
    this.#isClosed = false;
    const closed = () => void (this.#isClosed ||= this.#database === database);
    database.onclose = closed;
    // Another page that deletes the database does not have to wait for this one.
    database.onversionchange = () => {
      database.close();
      closed();
    };
  }

  /** Connects again: once for all that wait for it. */
  #reconnect() {
    this.#database?.close();
    return this.#connecting ??= this.#connect().finally(() => this.#connecting = undefined);
  }

  /** Gives an owner to rows that have lost theirs, so that a page adopts them. */
  #heal() {
    return this.#transact(["owners", "entries", "settlements"], async (owners, entries, settlements) => {
      const known = new Set(await result(owners.getAllKeys()));
      /** @type {Map<string, number>} */
      const last = new Map();
      for (const table of [entries, settlements]) {
        const keys = /** @type {[string, number][]} */ (await result(table.getAllKeys()));
        for (const [owner, ticket] of keys) last.set(owner, Math.max(ticket, last.get(owner) ?? 0));
      }
      for (const [owner, ticket] of last) if (!known.has(owner)) owners.put({ owner, next: ticket + 1 });
    });
  }

  /**
   * Reads and writes within one transaction. Resolves when it is durable.
   *
   * @param {string[]} names @param {(...tables: IDBObjectStore[]) => unknown} act
   * @returns {Promise<void>}
   */
  #transact(names, act) {
    return new Promise((resolve, reject) => {
      const transaction = this.#page.#database?.transaction(names, "readwrite", { durability: "strict" });
      if (!transaction) throw new Error("the outbox is closed");
      transaction.oncomplete = () => resolve();
      // Also after an error, such as that there is no room.
      transaction.onabort = () => reject(transaction.error ?? new Error("the outbox cannot be written"));
      const fail = /** @param {unknown} error */ (error) => {
        reject(error);
        transaction.abort();
      };
      try {
        const acting = act(...names.map((name) => transaction.objectStore(name)));
        if (acting instanceof Promise) acting.catch(fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** @returns {Promise<string[]>} */
  async #owners() {
    return /** @type {string[]} */ (await result(this.#table("owners").getAllKeys()));
  }

  /** @param {string} table */
  #table(table) {
    const database = this.#page.#database;
    if (!database) throw new Error("the outbox is closed");
    return database.transaction(table).objectStore(table);
  }

  /**
   * Claims the rows of an owner, if no page has them.
   *
   * @param {string} owner @param {number} [time] in milliseconds, for which the claim waits
   * @returns {Promise<boolean>}
   */
  #claim(owner, time) {
    const options = time === undefined ? { ifAvailable: true } : { signal: AbortSignal.timeout(time) };
    return new Promise((resolve, reject) => {
      navigator.locks.request(`${this.#name} ${owner}`, options, (lock) => {
        resolve(!!lock);
        return lock && new Promise((release) => this.#release = () => release(undefined));
      }).catch((error) => time === undefined ? reject(error) : resolve(false));
    });
  }

  /** Waits until a page is gone, and adopts what it has left. @param {string} owner @param {(orphan: Store) => void} adopt */
  #watch(owner, adopt) {
    if (owner === this.#owner || this.#watched.has(owner)) return;
    this.#watched.add(owner);
    this.#await(owner, adopt).catch(() => {}); // The page is closing.
  }

  /** @param {string} owner @param {(orphan: Store) => void} adopt */
  async #await(owner, adopt) {
    const { signal } = this.#closing;
    const lock = `${this.#name} ${owner}`;
    for (let isThere = true; isThere;) {
      await navigator.locks.request(lock, { signal }, () => {});
      // The page may be reloading now, and then continues its own actions.
      await new Promise((resolve) => {
        const end = () => (clearTimeout(timer), signal.removeEventListener("abort", end), resolve(undefined));
        const timer = setTimeout(end, absenceTime);
        signal.addEventListener("abort", end);
      });
      // If it has come back it may reload once more, and have as much time.
      isThere = await navigator.locks.request(lock, { ifAvailable: true }, async (lock) => {
        if (lock) await this.#adopt(owner, adopt);
        return !lock;
      });
    }
  }

  /** @param {string} owner @param {(orphan: Store) => void} adopt */
  async #adopt(owner, adopt) {
    const { signal } = this.#closing;
    this.#watched.delete(owner);
    // Another page may have adopted it before.
    const row = signal.aborted ? undefined : await result(this.#table("owners").get(owner));
    if (!row) return;
    const orphan = new IndexedDBOutbox(this.#name);
    orphan.#owner = owner;
    orphan.#page = this;
    orphan.keepsStates = false;
    await new Promise((release) => {
      orphan.#release = () => release(undefined);
      signal.addEventListener("abort", orphan.#release);
      adopt(orphan);
    });
  }

  /** The changes that lead to the rows of this page. */
  async #read() {
    const range = IDBKeyRange.bound([this.#owner], [this.#owner, []]);
    /** @type {Settlement[]} */
    const settlements = await result(this.#table("settlements").getAll(range));
    /** @type {Entry[]} */
    const entries = await result(this.#table("entries").getAll(range));
    /** @type {RequestRow[]} */
    const requests = await result(this.#table("requests").getAll(range));
    const next = (await result(this.#table("owners").get(this.#owner)))?.next ?? 1;
    /** @type {Change[]} */
    const changes = [
      ...settlements.map((one) => ({ type: /** @type {const} */ ("settled"), ...one })),
      ...entries.map((entry) => ({ type: /** @type {const} */ ("queued"), entry })),
    ];
    for (const { session, key, body, date, tickets } of requests) {
      const count = entries.filter((one) => tickets.includes(one.ticket)).length;
      if (count) changes.push({ type: "sent", session, key, body, date, count });
    }
    changes.push({ type: "next", ticket: next });
    this.#outbox = new Outbox();
    for (const change of changes) {
      if (!this.#outbox.apply(change)) throw new Error("the outbox contradicts itself");
    }
    this.#source = this.#page.#connection;
    return [...changes, ...await this.#states()];
  }

  /** @returns {Promise<Change[]>} */
  async #states() {
    if (!this.keepsStates) return [];
    /** @type {{ session: string, position: string, state: unknown, saved?: number, length?: number }[]} */
    const rows = await result(this.#table("states").getAll());
    rows.sort((a, b) => (b.saved ?? 0) - (a.saved ?? 0));
    let characters = 0;
    const beyond = rows.findIndex(({ length = 0 }, index) =>
      index >= mostStates || (characters += length) > mostStateCharacters
    );
    if (beyond >= 0) {
      const table = this.#page.#database?.transaction("states", "readwrite").objectStore("states");
      for (const { session } of rows.splice(beyond)) table?.delete(session);
    }
    return rows.map(({ session, position, state }) => ({ type: "state", session, position, state }));
  }

  /**
   * One at a time: the rows are read again between two of them, never beside one.
   * @param {OutboxChange[]} changes
   * @returns {Promise<void>}
   */
  async write(changes) {
    while (this.#writing) await this.#writing.catch(() => {});
    return this.#writing = this.#write(changes).finally(() => this.#writing = undefined);
  }

  /** @param {OutboxChange[]} changes */
  async #write(changes) {
    const page = this.#page;
    if (page.#isClosed) await page.#reconnect();
    // After a failure the rows are what counts. Each owner has failures of its own.
    if (this.#source !== page.#connection) await this.#read();
    try {
      await this.#transact(tables.map(([table]) => table), (owners, ...others) => {
        for (const change of /** @type {Change[]} */ (changes)) this.#apply(change, others);
        owners?.put({ owner: this.#owner, next: this.#outbox.nextTicket });
      });
    } catch (error) {
      this.#source = 0; // The memory has what the rows have not.
      page.#isClosed = true;
      throw error;
    }
  }

  /** @param {Change} change @param {IDBObjectStore[]} others */
  #apply(change, [entries, requests, settlements, states]) {
    const owner = this.#owner;
    if (!entries || !requests || !settlements || !states) return;
    const session = change.type === "queued" ? change.entry.session : "session" in change ? change.session : "";
    const lane = this.#outbox.lane(session);
    const sent = lane.sent?.entries ?? [];
    if (change.type === "sent") {
      const { key, body, date, count } = change;
      requests.put({ owner, session, key, body, date, tickets: lane.queued.slice(0, count).map((one) => one.ticket) });
    } else if (change.type === "state") {
      const { position, state } = change;
      const length = JSON.stringify(state ?? null).length;
      if (position) states.put({ session, position, state, length, saved: Date.now() });
      else states.delete(session);
    } else if (change.type === "done") { for (const { ticket } of sent) entries.delete([owner, ticket]); }
    else if (change.type === "queued") entries.put({ owner, ...change.entry });
    else if (change.type === "seen") settlements.delete([owner, change.ticket]);
    else if (change.type === "settled" || change.type === "discarded") entries.delete([owner, change.ticket]);
    const hadRequest = !!sent.length;
    this.#outbox.apply(change);
    if (change.type === "settled") settlements.put({ owner, ...this.#outbox.settlements.get(change.ticket) });
    if (hadRequest && !this.#outbox.lane(session).sent) requests.delete([owner, session]);
  }

  async close() {
    try {
      // Remove the owner of a page that has sent everything. Ask the rows, which may never have
      // been read.
      const range = IDBKeyRange.bound([this.#owner], [this.#owner, []]);
      await this.#transact(["owners", "entries", "settlements"], async (owners, ...others) => {
        const counts = await Promise.all(others.map((table) => result(table.count(range))));
        if (counts.every((count) => !count)) owners?.delete(this.#owner);
      });
    } catch {
      // Somebody has deleted the database.
    } finally {
      this.#closing.abort();
      this.#release();
      // The database of one that was adopted is that of the page that has adopted it.
      if (this.#channel) this.#database?.close();
      this.#channel?.close();
    }
  }
}
