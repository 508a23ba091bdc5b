/** @import { Limits, Random } from "./types.d.ts" */

/** The bounds and times of a client, in milliseconds. */
export const limits = {
  actionsInRequest: 100,
  bytesInRequest: 262_144,
  actionsInOutbox: 10_000,
  bytesInOutbox: 16_777_216,
  /** O4: the server keeps answers for 24 h at least. */
  memoryOfServer: 23 * 3_600_000,
  hold: 1_000,
  readBack: 1_000,
  sessionsOnStream: 100,
  targetBytes: 8_192,
  gathering: 50,
  silence: 40_000,
  silenceOnWake: 20_000,
  opening: 10_000,
  answer: 30_000,
  proven: 5_000,
  longestWait: 3_600_000,
  eventBytes: 16_777_216,
};

/**
 * The range of the wait after `failures`, in milliseconds: full jitter draws from it uniformly (O3).
 *
 * @param {number} failures
 */
export const waitRange = (failures) => Math.min(30_000, 250 * 2 ** Math.min(failures, 7));

/**
 * Attempts, from the question for a token to their end, and the waits between them: for posts, creations and
 * streams alike. A purpose is `post/…`, `create/…`, `readBack/…` with a session, or `stream/…` with a number.
 */
export class Attempts {
  /**
   * Waiting `until` a time, or asking for a token or under way until a deadline.
   *
   * @type {Map<string, { phase: "idle" | "waiting" | "asking" | "underWay", until: number, id: number, why: string,
   *   token?: string | undefined, failures: number, refused?: string | undefined }>}
   */
  #records = new Map();
  /** Those that are asking or under way. @type {Map<number, string>} */
  #running = new Map();
  #lastID = 0;
  #limits;
  #random;

  /** @param {boolean} asksForTokens @param {Limits} limits @param {Random} random */
  constructor(asksForTokens, limits, random) {
    this.asksForTokens = asksForTokens;
    this.#limits = limits;
    this.#random = random;
  }

  /** @param {string} purpose */
  of(purpose) {
    return this.#records.get(purpose);
  }

  /** @param {string} purpose */
  isIdle(purpose) {
    return (this.of(purpose)?.phase ?? "idle") === "idle";
  }

  /** @param {number} id */
  purpose(id) {
    return this.#running.get(id);
  }

  /** The purpose of an attempt that waits for its token. @param {number} id */
  asking(id) {
    const purpose = this.#running.get(id);
    return purpose && this.of(purpose)?.phase === "asking" ? purpose : undefined;
  }

  /** Begins an attempt; undefined if one is under way already. @param {string} purpose @param {number} now */
  begin(purpose, now) {
    const record = this.#record(purpose);
    if (record.phase === "asking" || record.phase === "underWay") return undefined;
    record.id = ++this.#lastID;
    record.until = now + this.#limits.answer;
    record.phase = this.asksForTokens ? "asking" : "underWay";
    this.#running.set(record.id, purpose);
    return record;
  }

  /** Continues an attempt with its token (C6). @param {string} purpose @param {string} token @param {number} now */
  launch(purpose, token, now) {
    Object.assign(this.#record(purpose), { phase: "underWay", until: now + this.#limits.answer, token });
  }

  /** Moves the moment at which a silent attempt fails. @param {number} id @param {number} until */
  extend(id, until) {
    const record = this.of(this.purpose(id) ?? "");
    if (record?.phase === "underWay") record.until = until;
  }

  /** Ends an attempt; undefined if it has ended before. The purpose keeps its failures. @param {number} id */
  end(id) {
    const purpose = this.#running.get(id);
    if (purpose === undefined) return undefined;
    this.#running.delete(id);
    this.#record(purpose).phase = "idle";
    return purpose;
  }

  /**
   * Waits after a failure: full jitter, at least `minimum`.
   *
   * @param {string} purpose @param {string} why @param {number} minimum @param {number} now
   */
  retry(purpose, why, minimum, now) {
    const wait = this.#random.fraction() * waitRange(this.#record(purpose).failures++);
    this.schedule(purpose, Math.max(wait, minimum), why, now);
  }

  /** Waits without a failure. @param {string} purpose @param {number} wait @param {string} why @param {number} now */
  schedule(purpose, wait, why, now) {
    const until = now + Math.min(wait, this.#limits.longestWait);
    Object.assign(this.#record(purpose), { phase: "waiting", until, why });
  }

  /** The server has refused the token of an attempt. @param {number} id @returns whether another one may help. */
  refuseToken(id) {
    const record = this.of(this.purpose(id) ?? "");
    if (record?.phase !== "underWay" || !record.token || record.refused !== undefined) return false;
    record.refused = record.token;
    return true;
  }

  /** The purpose is achieved, or the server works: waits begin at their shortest again. @param {string} purpose */
  succeed(purpose) {
    const record = this.of(purpose);
    if (!record) return;
    record.failures = 0;
    record.refused = undefined;
    if (record.phase === "idle") this.#records.delete(purpose);
  }

  /** Removes a purpose. @param {string} purpose @returns the attempt to cancel, if one is under way. */
  remove(purpose) {
    const record = this.of(purpose);
    this.#records.delete(purpose);
    if (record?.phase !== "asking" && record?.phase !== "underWay") return undefined;
    this.#running.delete(record.id);
    return record.phase === "underWay" ? record.id : undefined;
  }

  /** Ends all waits (C4), and begins them at their shortest. @param {number} now */
  wake(now) {
    for (const record of this.#records.values()) {
      record.failures = 0;
      if (record.phase === "waiting") record.until = now;
    }
  }

  /** The purposes whose wait is over, in the order in which they were first attempted. @param {number} now */
  due(now) {
    return [...this.#records].filter(([, one]) => one.phase === "waiting" && one.until <= now).map(([purpose]) =>
      purpose
    );
  }

  /** The attempts in which nothing has arrived for too long. @param {number} now */
  expired(now) {
    return [...this.#running].filter(([, purpose]) => (this.of(purpose)?.until ?? Infinity) <= now).map(([id]) => id);
  }

  /** The moment at which something is due. */
  get earliest() {
    let earliest = Infinity;
    for (const { phase, until } of this.#records.values()) if (phase !== "idle") earliest = Math.min(earliest, until);
    return earliest;
  }

  /** @param {string} purpose */
  #record(purpose) {
    let record = this.#records.get(purpose);
    if (!record) {
      record = { phase: "idle", until: 0, id: 0, why: "", failures: 0 };
      this.#records.set(purpose, record);
    }
    return record;
  }
}
