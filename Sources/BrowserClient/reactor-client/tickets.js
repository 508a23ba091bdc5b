// The outcomes of a client's sends, for its program.

import { errorOf } from "./errors.js";
import { discard } from "./session.js";

/** @import { Driver } from "./driver.js" */
/** @import { Listeners, Ticket } from "./session.js" */
/** @import { Outcome, Settlement } from "./types.d.ts" */
/** @import { PendingSend, Progress, Refusal } from "../reactor-client.d.ts" */

/** @param {Outcome} outcome @returns {Progress} */
function progressOf(outcome) {
  const { kind } = outcome;
  if (kind === "queued" || kind === "sent") return { kind };
  if (kind === "discarded") return { kind: "failed", error: errorOf({ kind, reason: "the action was taken back" }) };
  if (kind !== "applied") return { kind: "failed", error: errorOf(outcome) };
  const { at, version, rejected, failures } = outcome.receipt;
  return { kind, receipt: { position: at.text, version, rejected, failures } };
}

/** Whether it has failed and is kept until the program has seen it. @param {Outcome} outcome */
const isRefusal = ({ kind }) => kind === "refused" || kind === "inDoubt";

/** The tickets that the machine has numbered. */
export class Tickets {
  /** @type {Map<number, Ticket>} */
  #tickets = new Map();
  #driver;
  #refusals;
  #submit;

  /**
   * @param {Driver} driver @param {Listeners<[Refusal, object | undefined]>} refusals
   * @param {(session: string, actions: string[], replaces: () => void) => Ticket} submit `replaces` is called when they are
   *   in the outbox
   */
  constructor(driver, refusals, submit) {
    this.#driver = driver;
    this.#refusals = refusals;
    this.#submit = submit;
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
    if (ticket?.isWatched && isRefusal(outcome)) this.#driver.post("seen", number);
    else this.refuse(this.#driver, session, number, outcome);
  }

  /** @param {Driver} driver @param {string} session @param {number} number @param {Outcome} outcome */
  refuse(driver, session, number, outcome) {
    if (!isRefusal(outcome)) return;
    const dismiss = () => void driver.post("seen", number);
    /** @type {Settlement | undefined} */
    const settlement = driver.machine?.sender?.outbox.settlements.get(number);
    const texts = settlement?.actions ?? [];
    const actions = texts.map((one) => JSON.parse(one));
    const retry = () => this.#submit(session, texts, dismiss);
    this.#refusals.call({ session, error: errorOf(outcome), actions, dismiss, retry }, settlement);
  }

  /** Those that are not done, in their order. @param {Iterable<Driver>} drivers @returns {PendingSend[]} */
  pending(drivers) {
    return [...drivers].flatMap((driver) =>
      [...driver.machine?.sender?.outbox.lanes.values() ?? []]
        .flatMap(({ sent, queued }) => [
          ...(sent?.entries ?? []).map((entry) => ({ entry, isSent: true })),
          ...queued.map((entry) => ({ entry, isSent: false })),
        ])
        .sort((a, b) => a.entry.ticket - b.entry.ticket)
        .map(({ entry: { session, actions, ticket }, isSent }) => ({
          session,
          actions: actions.map((one) => JSON.parse(one)),
          isSent,
          discard: () => discard(driver, session, () => ticket),
        }))
    );
  }

  /** The failures of an earlier page, or of one that is gone. @param {Driver} driver */
  reportUnseen(driver) {
    for (const { session, ticket, problem } of driver.machine?.sender?.outbox.settlements.values() ?? []) {
      this.refuse(driver, session, ticket, problem ? { kind: "refused", problem } : { kind: "inDoubt" });
    }
  }

  /** The client is closed. */
  close() {
    const reason = "closed before the answer arrived: it may have been applied";
    for (const ticket of this.#tickets.values()) ticket.fail({ kind: "closed", reason });
    this.#tickets.clear();
  }
}
