// The unconfirmed actions over the confirmed state, and the batches that are halved.

import { compare, reaches } from "./following.js";

/** @import { SessionReader } from "./following.js" */
/** @import { Entry, Position, Receipt, Sent } from "./types.d.ts" */

/** @param {{ hold?: number | undefined }} request */
const isHeld = ({ hold = -1 }) => hold >= 0;

/**
 * The requests of one session whose effect may be missing in the confirmed state (R2).
 *
 * When the stream has brought some of a request's records, neither the whole request nor nothing of it can be
 * reduced over the state: the shown state is then held until the rest arrives.
 */
export class Overlay {
  /**
   * `cause`: the position of the last event that names the request; `causeOpened`: the uptime from which on its
   * connection has causes; `isComplete`: all of its events have come, or are awaited no longer; `hold`: undefined, the
   * uptime until which the shown state is held, 0 as long as nothing can come that would show the rest, or -1 after
   * that; `awaitsEvents`: the held state may have a part of it. Else it has all or nothing, which the answer shows.
   *
   * @type {{ key: string, entries: Entry[], firstAttempt: number, receipt?: Receipt, cause?: Position | undefined,
   *   causeOpened?: number, isComplete?: boolean, hold?: number | undefined, awaitsEvents?: boolean, isCovered?: boolean,
   *   isReported?: boolean }[]}
   */
  requests = [];

  /** @param {string} key */
  find(key) {
    return this.requests.find((one) => one.key === key);
  }

  /** The answered requests that the confirmed state does not reach. It never does, if the program may not read it. */
  get answered() {
    return this.requests.filter((one) => one.receipt && !one.isCovered);
  }

  get entries() {
    return this.requests.filter((one) => !one.isCovered).flatMap((one) => one.entries);
  }

  /** @param {Sent} sent @param {number} now */
  add(sent, now) {
    this.requests.push({ key: sent.key, entries: [...sent.entries], firstAttempt: now });
  }

  /** @param {string} key */
  withdraw(key) {
    this.requests = this.requests.filter((one) => one.key !== key);
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
   * @returns whether one has of which only the answer says whether the state has the request.
   */
  observe(position, cause, { isWhole, isFirst = false, opened, end }) {
    let begins = false;
    for (const one of this.requests) {
      if (one.isCovered) continue;
      if (one.key === cause) {
        one.cause = position;
        one.causeOpened = opened;
      } else if (one.cause) {
        // The records of a request follow each other. An event without a cause is another's on the
        // connection that had the cause; on a later one it may be the request's own.
        const hasCause = cause !== undefined || opened <= /** @type {number} */ (one.causeOpened);
        const isLater = compare(position.number, one.cause.number) > 0;
        if ((hasCause && isLater) || (isWhole && reaches(position, one.cause))) one.isComplete = true;
        continue;
      } else if (
        (cause !== undefined && !isFirst) || opened < one.firstAttempt ||
        (one.receipt && reaches(position, one.receipt.at))
      ) continue;
      // It is the request's own event or, without a cause, may be (R10); and it may
      // not be the last.
      begins ||= one.hold === undefined && !one.cause;
      one.hold ??= end;
      one.awaitsEvents = !isWhole;
    }
    return begins;
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
   * Ends holds that are over, and marks the requests that the confirmed state contains (R2). A hold that only events can
   * end waits for them: a state with a part of a request must not be shown because its stream is away.
   *
   * @param {SessionReader} reader @param {boolean} isLive whether its stream is open
   * @param {number} now @param {number} limit the time of a hold that has waited
   * @returns {number[]} the tickets that leave.
   */
  cover({ confirmed, current, isStale }, isLive, now, limit) {
    const left = [];
    for (const one of this.requests) {
      if (one.isCovered) continue;
      if (isHeld(one)) {
        if (one.awaitsEvents && !(isLive && current)) one.hold = 0;
        else if (!one.hold) one.hold = now + limit;
        else if (one.hold <= now) {
          one.hold = -1;
          if (one.cause) one.isComplete = true;
        }
      }
      const { receipt } = one;
      // Without an answer, a receipt has the position of an event that was seen, maybe not of the
      // last: it counts when that one is awaited no longer.
      const isReached = receipt && (receipt.version !== undefined || !isHeld(one)) && confirmed &&
        reaches(confirmed, receipt.at);
      if (!isReached && (isStale || !one.isComplete)) continue;
      one.isCovered = true;
      left.push(...one.entries.map((entry) => entry.ticket));
    }
    return left;
  }

  /** The requests for which the shown state is held. */
  get held() {
    return this.requests.filter((one) => !one.isCovered && isHeld(one));
  }

  /** The uptime until which the shown state is held; 0 if it is not, or waits for events. */
  get heldUntil() {
    return Math.max(0, ...this.held.map((one) => /** @type {number} */ (one.hold)));
  }

  /**
   * The receipts that the program may have now (R6).
   *
   * @param {boolean} isConfirming whether the confirmed state is about to contain the answered requests
   * @param {boolean} keepsUncovered whether there is a state over which they are reduced until then
   * @returns {[number, Receipt][]}
   */
  takeReports(isConfirming, keepsUncovered) {
    /** @type {[number, Receipt][]} */
    const reports = [];
    for (const one of this.requests) {
      const { receipt } = one;
      if (!receipt || one.isReported || (!one.isCovered && isConfirming)) continue;
      one.isReported = true;
      let start = 0;
      for (const { ticket, actions } of one.entries) {
        const first = start;
        const rejected = receipt.rejected.map((index) => index - first).filter((index) =>
          index >= 0 && index < actions.length
        );
        start += actions.length;
        reports.push([ticket, { ...receipt, rejected, failures: receipt.failures.slice(first, start) }]);
      }
    }
    this.requests = this.requests.filter((one) => !one.isReported || (!one.isCovered && keepsUncovered));
    return reports;
  }
}
