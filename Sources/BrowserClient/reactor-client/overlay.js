// The unconfirmed actions over the confirmed state, and the batches that are halved.

import { compare, reaches } from "./following.js";

/** @import { Entry, Position, Receipt, Sent } from "./types.d.ts" */

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
