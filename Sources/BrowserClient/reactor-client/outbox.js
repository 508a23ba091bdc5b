// The sends that are not done, and the acts that wait until a change of them is durable.

/** @import { Change, Consequence, Entry, Lane, Output, SendingLimits, Settlement } from "./types.d.ts" */

/** The bounds and times of what is sent, in milliseconds. */
export const sendingLimits = {
  actionsInRequest: 100,
  bytesInRequest: 262_144,
  bytesInOutbox: 16_777_216,
  /** O4: the server keeps answers for 24 h at least. */
  memoryOfServer: 23 * 3_600_000,
  hold: 1_000,
};

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
    if (change.type === "next") {
      this.nextTicket = Math.max(this.nextTicket, change.ticket);
      return true;
    }
    if (change.type === "seen") {
      const settlement = this.settlements.get(change.ticket);
      if (settlement) this.#countSettlement(settlement, -1);
      return this.settlements.delete(change.ticket);
    }
    const { session } = "entry" in change ? change.entry : change;
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
      const [entry] = index < 0 ? [] : list.splice(index, 1);
      if (entry) this.#count(lane, entry, -1);
      else if (change.type === "discarded" || ticket < this.nextTicket) return false;
      if (sent && !sent.entries.length) lane.sent = undefined;
      if (change.type === "settled") {
        const { problem, actions = entry?.actions } = change;
        const settlement = { ticket, session, problem, actions };
        this.settlements.set(ticket, settlement);
        this.#countSettlement(settlement, 1);
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

  /** Whether these fit, too (O7). @param {Pick<Entry, "actions" | "bytes">[]} entries @param {SendingLimits} limits */
  hasRoom(entries, limits) {
    let { actionCount, byteCount } = this;
    for (const { actions, bytes } of entries) {
      actionCount += actions.length;
      byteCount += bytes;
    }
    return actionCount <= limits.actionsInOutbox && byteCount <= limits.bytesInOutbox;
  }

  /**
   * The number of waiting sends that the next request has (O1).
   *
   * @param {string} session @param {number} most @param {SendingLimits} limits
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

  /**
   * An earlier version of this client kept no actions.
   * @param {Settlement} settlement
   * @param {number} sign
   */
  #countSettlement({ actions = [] }, sign) {
    this.actionCount += sign * (actions.length || 1);
    for (const action of actions) this.byteCount += sign * bytesOf(action);
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
    return this.#waiting.splice(0, this.#waiting.filter(([one]) => one <= number).length).map(([, one]) => one);
  }

  /** Nothing can be written any more. @param {string} reason @returns what does not follow. */
  fail(reason) {
    this.failure ??= reason;
    return this.persisted(Infinity);
  }
}
