// The outgoing part: the outbox, the acts that wait for it to be durable, and the overlay of unconfirmed actions.

import { compare, reaches } from "./following.js";

/** @import { Change, Consequence, Entry, Lane, Limits, Output, Position, Receipt, Sent, Settlement } from "./types.d.ts" */

/** @param {string} text */
export const bytesOf = (text) => new TextEncoder().encode(text).length;

/**
 * The sends that are not done: the part of a client that outlives its page or process.
 *
 * `apply` is the only way to change it, so replaying the changes of a store gives the same outbox.
 */
export class Outbox {
  /** The sends of each session, in order; at most one request is under way (O1). No lane is empty. @type {Map<string, Lane>} */
  lanes = new Map();
  /** Ends of sends that the program has not seen. @type {Map<number, Settlement>} */
  settlements = new Map();
  actionCount = 0;
  byteCount = 0;
  nextTicket = 1;

  /** @param {string} session @returns {Lane} */
  lane(session) {
    return this.lanes.get(session) ?? { queued: [], actionCount: 0 };
  }

  /**
   * @param {Change} change
   * @returns {boolean} false, and nothing is changed, if it does not follow from those before it.
   */
  apply(change) {
    if (change.type === "state") return true;
    if (change.type === "seen" || change.type === "next") {
      const { type, ticket } = change;
      if (type === "next") this.nextTicket = Math.max(this.nextTicket, ticket);
      else if (!this.settlements.delete(ticket)) return false;
      else this.actionCount--;
      return true;
    }
    const session = change.type === "queued" ? change.entry.session : change.session;
    const lane = this.lane(session);
    const { sent } = lane;
    if (change.type === "queued") {
      const { entry } = change;
      if (entry.ticket < this.nextTicket || !entry.actions.length) return false;
      this.nextTicket = entry.ticket + 1;
      lane.queued.push(entry);
      this.#count(lane, entry, 1);
    } else if (change.type === "sent") {
      const { key, body, date, count } = change;
      if (sent || count < 1 || count > lane.queued.length) return false;
      lane.sent = { key, body, date, entries: lane.queued.splice(0, count) };
    } else if (change.type === "settled" || change.type === "discarded") {
      const { ticket } = change;
      const isIt = /** @param {Entry} one */ (one) => one.ticket === ticket;
      const list = change.type === "settled" && sent?.entries.some(isIt) ? sent.entries : lane.queued;
      const index = list.findIndex(isIt);
      if (index >= 0) { for (const entry of list.splice(index, 1)) this.#count(lane, entry, -1); }
      else if (change.type === "discarded" || ticket < this.nextTicket) return false;
      if (sent && !sent.entries.length) lane.sent = undefined;
      if (change.type === "settled") {
        this.settlements.set(ticket, { ticket, session, problem: change.problem });
        this.actionCount++;
      }
    } else {
      if (!sent || sent.key !== change.key) return false;
      lane.sent = undefined;
      if (change.type === "withdrawn") lane.queued.unshift(...sent.entries);
      else for (const entry of sent.entries) this.#count(lane, entry, -1);
    }
    if (lane.sent || lane.queued.length) this.lanes.set(session, lane);
    else this.lanes.delete(session);
    return true;
  }

  /** Whether a further send fits (O7). @param {string[]} actions @param {number} bytes @param {Limits} limits */
  hasRoom(actions, bytes, limits) {
    return this.actionCount + actions.length <= limits.actionsInOutbox &&
      this.byteCount + bytes <= limits.bytesInOutbox;
  }

  /**
   * The number of waiting sends that the next request has (O1).
   *
   * @param {string} session @param {number} most @param {Limits} limits
   */
  nextBatch(session, most, limits) {
    let [count, actions, bytes] = [0, 0, 0];
    for (const entry of this.lane(session).queued.slice(0, most)) {
      actions += entry.actions.length;
      bytes += entry.bytes;
      const isAlone = entry.ifMatch !== undefined || entry.settled !== undefined;
      if (count && (isAlone || actions > limits.actionsInRequest || bytes > limits.bytesInRequest)) break;
      count++;
      if (isAlone) break;
    }
    return count;
  }

  /** @param {Lane} lane @param {Entry} entry @param {number} sign */
  #count(lane, entry, sign) {
    lane.actionCount += sign * entry.actions.length;
    this.actionCount += sign * entry.actions.length;
    this.byteCount += sign * entry.bytes;
  }
}

/** The body of a request: one action by itself, several as an array. @param {Entry[]} entries */
export function bodyOf(entries) {
  const actions = entries.flatMap((entry) => entry.actions);
  return actions.length === 1 ? actions[0] ?? "" : `[${actions.join(",")}]`;
}

/** The outbox, and what waits until its changes are durable: nothing follows from a change before. */
export class OutboxWriter {
  /** Why nothing can be written any more. @type {string | undefined} */
  failure;
  /** @type {Change[]} */
  #changes = [];
  #lastNumber = 0;
  /** @type {[number, Consequence][]} */
  #waiting = [];

  /** @param {Outbox} outbox */
  constructor(outbox) {
    this.outbox = outbox;
  }

  /** @param {Change} change @param {Consequence} [consequence] */
  record(change, consequence) {
    if (!this.outbox.apply(change)) return;
    this.#changes.push(change);
    if (consequence) this.#waiting.push([this.#lastNumber + 1, consequence]);
  }

  /** The changes since the last call, to be made durable under a number. @returns {Output | undefined} */
  takeChanges() {
    if (!this.#changes.length || this.failure) return undefined;
    const changes = this.#changes;
    this.#changes = [];
    return ["persist", ++this.#lastNumber, changes];
  }

  /** All changes up to this number are durable. @param {number} number */
  persisted(number) {
    const later = this.#waiting.findIndex(([one]) => one > number);
    return this.#waiting.splice(0, later < 0 ? this.#waiting.length : later).map(([, one]) => one);
  }

  /** Nothing can be written any more. @param {string} reason @returns what does not follow. */
  fail(reason) {
    this.failure ??= reason;
    return this.persisted(Infinity);
  }
}

/**
 * O5: the numbers of sends in the next requests, while a refused batch is halved until the culprit stands
 * alone.
 */
export class Narrowing {
  /** @type {number[]} */
  #pieces = [];

  get most() {
    return this.#pieces[0] ?? Infinity;
  }

  /** The current request was refused with this number of sends, which wait again. @param {number} count */
  halve(count) {
    this.finish(count);
    const first = Math.ceil(count / 2);
    this.#pieces.unshift(...[first, count - first].filter((piece) => piece));
  }

  /** The current request with this number of sends is settled. @param {number} count */
  finish(count) {
    const piece = this.#pieces[0];
    if (piece === undefined) return;
    if (piece > count) this.#pieces[0] = piece - count;
    else this.#pieces.shift();
  }

  /** The send at this index of the lane was taken back. @param {number} index */
  discard(index) {
    let end = 0;
    const found = this.#pieces.findIndex((piece) => index < (end += piece));
    const piece = this.#pieces[found];
    if (piece !== undefined) this.#pieces.splice(found, 1, ...piece > 1 ? [piece - 1] : []);
  }
}

/**
 * The requests of one session whose effect may be missing in the confirmed state (R2).
 *
 * When the stream has brought some of a request's records, neither the whole request nor nothing of it can be
 * reduced over the state: the shown state is then held until the rest arrives.
 */
export class Overlay {
  /**
   * `cause`: the position of the last event that names the request; `causeOpened`: the uptime from which on its
   * connection has causes; `isComplete`: all of its events have come; `hold`: undefined, the uptime until which
   * the shown state is held, or -1 after that.
   *
   * @type {{ key: string, entries: Entry[], firstAttempt: number, receipt?: Receipt, cause?: Position | undefined,
   *   causeOpened: number, isComplete: boolean, hold?: number, isCovered: boolean, isReported: boolean }[]}
   */
  requests = [];

  /** @param {string} key */
  find(key) {
    return this.requests.find((one) => one.key === key);
  }

  /** Whether an answer was received that the confirmed state does not reach. */
  get awaitsConfirmation() {
    return this.requests.some((one) => one.receipt && !one.isCovered);
  }

  /** Whether a later life would reduce a request over a state that may have it. */
  get isUncertain() {
    return this.requests.some((one) => !one.receipt && (one.cause || one.hold !== undefined));
  }

  get entries() {
    return this.requests.filter((one) => !one.isCovered).flatMap((one) => one.entries);
  }

  /** @param {Sent} sent @param {number} now */
  add(sent, now) {
    const flags = { causeOpened: 0, isComplete: false, isCovered: false, isReported: false };
    this.requests.push({ key: sent.key, entries: [...sent.entries], firstAttempt: now, ...flags });
  }

  /** @param {string} key */
  withdraw(key) {
    this.requests = this.requests.filter((one) => one.key !== key);
  }

  /** @param {string} key @param {Receipt} receipt */
  answer(key, receipt) {
    const request = this.find(key);
    if (request) request.receipt = receipt;
  }

  /** A send of a request that is under way was refused. @param {number} ticket */
  remove(ticket) {
    for (const one of this.requests) one.entries = one.entries.filter((entry) => entry.ticket !== ticket);
    this.requests = this.requests.filter((one) => one.entries.length);
  }

  /**
   * An event has advanced the confirmed state.
   *
   * @param {Position} position @param {string | undefined} cause
   * @param {{ isWhole: boolean, isFirst?: boolean, opened: number, end: number }} how `isWhole`: it was the state
   *   after a commit; `isFirst`: none, or none that it continues, was known; `opened`: the uptime from which
   *   on events have causes;
   *   `end`: that of a hold that begins here
   */
  observe(position, cause, { isWhole, isFirst = false, opened, end }) {
    for (const one of this.requests) {
      if (one.isCovered) continue;
      if (one.key === cause) {
        one.cause = position;
        one.causeOpened = opened;
        one.hold ??= end;
      } else if (one.cause) {
        // The records of a request follow each other. An event without a cause is another's on the
        // connection that had the cause; on a later one it may be the request's own.
        const hasCause = cause !== undefined || opened <= one.causeOpened;
        const isLater = compare(position.number, one.cause.number) > 0;
        if ((hasCause && isLater) || (isWhole && reaches(position, one.cause))) one.isComplete = true;
      } else if (
        (cause === undefined || isFirst) && opened >= one.firstAttempt &&
        !(one.receipt && reaches(position, one.receipt.at))
      ) {
        // R10: this or an earlier one may be the request's own event, and not the last.
        one.hold ??= end;
      }
    }
  }

  /**
   * The session has this life (R8): requests that another one has answered are over, others are sent into it.
   *
   * @param {string} generation
   * @returns the sends that the confirmed state does not contain any more.
   */
  beginLife(generation) {
    /** @type {Entry[]} */
    const uncovered = [];
    for (const one of this.requests) {
      if (one.receipt) {
        if (one.receipt.at.generation !== generation) one.isComplete = true;
      } else if (one.cause && one.cause.generation !== generation) {
        one.cause = undefined;
        one.isComplete = false;
        if (one.isCovered) uncovered.push(...one.entries);
        one.isCovered = false;
      }
    }
    return uncovered;
  }

  /**
   * Marks the requests that the confirmed state contains (R2), and ends holds that are over.
   *
   * @param {Position | undefined} confirmed @param {number} now
   * @returns {number[]} the tickets that leave.
   */
  cover(confirmed, now) {
    const left = [];
    for (const one of this.requests) {
      if (one.isCovered) continue;
      if (one.hold !== undefined && one.hold >= 0 && one.hold <= now) {
        one.hold = -1;
        if (one.cause) one.isComplete = true;
      }
      one.isCovered = one.isComplete || !!(one.receipt && confirmed && reaches(confirmed, one.receipt.at));
      if (one.isCovered) left.push(...one.entries.map((entry) => entry.ticket));
    }
    return left;
  }

  get #held() {
    return this.requests.filter((one) => !one.isCovered && (one.hold ?? -1) >= 0);
  }

  /** The uptime until which the shown state is held; 0 if it is not. */
  get heldUntil() {
    return Math.max(0, ...this.#held.map((one) => one.hold ?? 0));
  }

  /** The sends of which it is not certain whether the confirmed state contains them. */
  get heldTickets() {
    return new Set(this.#held.flatMap((one) => one.entries.map((entry) => entry.ticket)));
  }

  /**
   * The receipts that the program may have now (R6).
   *
   * @param {boolean} isConfirming whether the confirmed state is about to contain the answered requests
   * @param {boolean} keepsUncovered whether there is a state over which they are reduced until then
   * @returns {[number, Receipt][]}
   */
  takeReports(isConfirming, keepsUncovered) {
    if (!this.requests.length) return [];
    /** @type {[number, Receipt][]} */
    const reports = [];
    for (const one of this.requests) {
      const { receipt } = one;
      if (!receipt || one.isReported || (!one.isCovered && isConfirming)) continue;
      one.isReported = true;
      let start = 0;
      for (const { ticket, actions } of one.entries) {
        const [first, end] = [start, start += actions.length];
        const rejected = receipt.rejected.filter((index) => index >= first && index < end).map((index) =>
          index - first
        );
        reports.push([ticket, { ...receipt, rejected }]);
      }
    }
    this.requests = this.requests.filter((one) => !one.isReported || (!one.isCovered && keepsUncovered));
    return reports;
  }
}
