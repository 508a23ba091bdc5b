// The outcomes of a client's sends, for its program.

import { errorOf } from "./errors.js";

/** @import { Driver } from "./driver.js" */
/** @import { Listeners, Ticket } from "./session.js" */
/** @import { Outcome } from "./types.d.ts" */
/** @import { Progress, Refusal } from "../reactor-client.d.ts" */

/** @param {Outcome} outcome @returns {Progress} */
function progressOf(outcome) {
  const { kind } = outcome;
  if (kind === "queued" || kind === "sent") return { kind };
  if (kind === "discarded") return { kind: "failed", error: errorOf({ kind, reason: "the action was taken back" }) };
  if (kind !== "applied") return { kind: "failed", error: errorOf(outcome) };
  const { at, version, rejected } = outcome.receipt;
  return { kind, receipt: { position: at.text, version, rejected } };
}

/** Whether it has failed and is kept until the program has seen it. @param {Outcome} outcome */
const isRefusal = ({ kind }) => kind === "refused" || kind === "inDoubt";

/** The tickets that the machine has numbered. */
export class Tickets {
  /** @type {Map<number, Ticket>} */
  #tickets = new Map();
  #driver;
  #refusals;

  /** @param {Driver} driver @param {Listeners<[Refusal, object | undefined]>} refusals */
  constructor(driver, refusals) {
    this.#driver = driver;
    this.#refusals = refusals;
  }

  /** @param {number} number @param {Ticket | undefined} ticket */
  add(number, ticket) {
    if (ticket) this.#tickets.set(ticket.number = number, ticket);
  }

  /** @param {string} session @param {number} number @param {Outcome} outcome */
  report(session, number, outcome) {
    const progress = progressOf(outcome);
    const ticket = this.#tickets.get(number);
    if (progress.kind === "applied" || progress.kind === "failed") this.#tickets.delete(number);
    ticket?.report(progress);
    this.refuse(this.#driver, session, number, outcome);
    if (ticket?.isWatched && isRefusal(outcome)) this.#driver.post("seen", number);
  }

  /** @param {Driver} driver @param {string} session @param {number} number @param {Outcome} outcome */
  refuse(driver, session, number, outcome) {
    if (!isRefusal(outcome)) return;
    const dismiss = () => void driver.post("seen", number);
    const settlement = driver.machine?.sender?.outbox.settlements.get(number);
    this.#refusals.call({ session, error: errorOf(outcome), dismiss }, settlement);
  }

  /** The failures of an earlier page, or of one that is gone. @param {Driver} driver */
  reportUnseen(driver) {
    for (const { session, ticket, problem } of driver.machine?.sender?.outbox.settlements.values() ?? []) {
      this.refuse(driver, session, ticket, problem ? { kind: "refused", problem } : { kind: "inDoubt" });
    }
  }

  /** The client is closed. */
  close() {
    const reason = "closed before the answer came: it may have been applied";
    for (const ticket of this.#tickets.values()) ticket.fail({ kind: "closed", reason });
    this.#tickets.clear();
  }
}
