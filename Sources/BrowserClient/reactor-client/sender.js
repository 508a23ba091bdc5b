// The half of the machine that sends, with its outbox.

import { bytesOf, Outbox, OutboxWriter, sendingLimits } from "./outbox.js";
import { Posting } from "./posting.js";

/** @import { SessionLink } from "./link.js" */
/** @import { ClientMachine } from "./machine.js" */
/** @import { Problem, SendOptions } from "./types.d.ts" */

/** The server waits for effects for so long, in whole milliseconds. @param {number | undefined} settled */
const waitOf = (settled) => settled === undefined ? undefined : Math.round(Math.min(Math.max(settled, 0), 600_000));

export class Sender {
  /** The sessions whose shown state is held. @type {Set<Posting>} */
  holding = new Set();

  /**
   * @param {ClientMachine} machine
   * @param {() => string} drawKey a key of 128 bits that nobody can guess
   * @param {Outbox} [outbox]
   */
  constructor(machine, drawKey, outbox = new Outbox()) {
    this.machine = machine;
    this.drawKey = drawKey;
    this.limits = { ...sendingLimits, ...machine.limits };
    this.outbox = outbox;
    this.writer = new OutboxWriter(outbox);
  }

  /** @param {SessionLink} link */
  posting(link) {
    return new Posting(link, this);
  }

  /** @param {string} session */
  #of(session) {
    return /** @type {Posting} */ (this.machine.link(session).posting);
  }

  /** The sends of an earlier life of the program continue. */
  restore() {
    for (const session of this.outbox.lanes.keys()) this.#of(session).sendNext();
  }

  /** The time at which a shown state is no longer held. */
  get until() {
    return Math.min(...[...this.holding].map(({ overlay }) => overlay.heldUntil));
  }

  performDue() {
    const { uptime, touched } = this.machine;
    for (const { link, overlay } of this.holding) if (overlay.heldUntil <= uptime) touched.add(link.id);
  }

  /** @param {string} session @param {string[]} actions @param {SendOptions & { makes?: string | undefined }} options */
  send(session, actions, { settled, ...options }) {
    const { limits, outbox, writer: { failure } } = this;
    const posting = this.#of(session);
    const { link } = posting;
    const bytes = bytesOf([...actions, options.makes].join(""));
    const refuse = /** @param {string} kind @param {string} [reason] @param {Problem} [problem] */ (
      kind,
      reason,
      problem,
    ) => link.deliver("notAccepted", { kind, problem, reason });
    if (!actions.length) return refuse("empty", "there is no action to send");
    if (failure) return refuse("outboxUnavailable", failure);
    if (link.ended === "deleted") return refuse("ended", "the session has ended");
    if (link.failure && link.isCreating) return refuse("refused", undefined, link.failure);
    const ticket = outbox.nextTicket;
    const entry = { ticket, session, actions, bytes, ...options, settled: waitOf(settled) };
    // Those that no state contains are kept like those that are not sent.
    const kept = posting.overlay.answered.flatMap((one) => one.entries);
    if (!outbox.hasRoom([entry, ...kept], limits)) return refuse("outboxFull");
    this.writer.record({ type: "queued", entry }, { report: ticket, session, outcome: { kind: "queued" } });
    posting.join(entry);
    link.deliver("accepted", ticket);
    posting.sendNext();
  }

  /** Whether a send can be taken back: it has not left. @param {number} ticket @param {string} session */
  isQueued(ticket, session) {
    // A change that is not durable would be undone by the end of the process.
    return !this.writer.failure && this.outbox.lane(session).queued.some((one) => one.ticket === ticket);
  }

  /** @param {number} ticket @param {string} session */
  discard(ticket, session) {
    if (!this.isQueued(ticket, session)) return;
    const posting = this.#of(session);
    const { queued, sent } = posting.lane;
    const index = queued.findIndex((one) => one.ticket === ticket);
    const outcome = /** @type {const} */ ({ kind: "discarded" });
    this.writer.record({ type: "discarded", ticket, session }, { report: ticket, session, outcome });
    posting.narrowing.discard((sent?.entries.length ?? 0) + index);
    posting.leave([ticket]);
  }

  /** The program has seen that a send failed. @param {number} ticket */
  seen(ticket) {
    this.writer.record({ type: "seen", ticket });
  }

  /** All changes up to a number are durable. @param {number} number */
  persisted(number) {
    for (const one of this.writer.persisted(number)) {
      const posting = this.#of(one.session);
      if ("report" in one) posting.link.deliver("outcome", one.report, one.outcome);
      else posting.saved(one.post);
    }
  }

  /** The outbox cannot be written: nothing is sent that is not durable. @param {string} reason */
  persistFailed(reason) {
    const consequences = this.writer.fail(reason);
    this.machine.outboxStuck(reason, Infinity);
    for (const { posting } of this.machine.links.values()) if (!posting?.isSaved) posting?.withdraw();
    const reported = new Set();
    for (const one of consequences) {
      if (!("report" in one) || reported.has(one.report)) continue;
      const { session, report: ticket, outcome } = one;
      const posting = this.#of(session);
      const isKept = !["queued", "discarded"].includes(outcome.kind);
      reported.add(ticket);
      posting.link.deliver("outcome", ticket, isKept ? outcome : { kind: "outboxUnavailable", reason });
      if (isKept) continue;
      this.writer.record({ type: "discarded", ticket, session });
      posting.leave([ticket]);
    }
  }
}
