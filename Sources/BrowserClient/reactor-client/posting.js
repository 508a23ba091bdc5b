// The sends of one session: its requests, one after the other, and the overlay of those that are
// not confirmed.

import { reaches } from "./following.js";
import { Narrowing } from "./narrowing.js";
import { bodyOf } from "./outbox.js";
import { Overlay } from "./overlay.js";
import { Post } from "./post.js";

/** @import { SessionLink } from "./link.js" */
/** @import { Sender } from "./sender.js" */
/** @import { Entry, Position, Problem, Receipt, Saved, ShownChange } from "./types.d.ts" */

/** The sends of one session. Its link has it from the moment at which what sends is loaded. */
export class Posting {
  overlay = new Overlay();
  narrowing = new Narrowing();
  /** Whether the sent request is durable. */
  isSaved = true;
  /** Whether an attempt of the sent request may have been carried out without an answer. */
  isUnclear = false;
  /**
   * The refusal of the sent request without a look for its key: attempts ask for the key's answer
   * until the server does not know it.
   * @type {Problem | undefined}
   */
  question;
  /** Whether an earlier run of the program sent the request. */
  isRestored = false;
  /**
   * The key of the last request that got its response; it is not used again (ADR-0072).
   * @type {string | undefined}
   */
  doneKey;
  /** The bytes of actions in a request, after one that was too slow for the server. */
  #mostBytes = Infinity;
  /** The position of the state that is kept. @type {string | undefined} */
  kept;
  /** Sends that the confirmed state contains, and the held one does not. @type {number[]} */
  #contained = [];

  /** @param {SessionLink} link @param {Sender} sender */
  constructor(link, sender) {
    this.link = link;
    this.machine = link.machine;
    this.sender = sender;
    this.post = new Post(this);
  }

  get lane() {
    return this.sender.outbox.lane(this.link.id);
  }

  /** The body of the request that creates the session for the actions that wait. */
  get makes() {
    const { sent, queued } = this.lane;
    const makes = (sent?.entries[0] ?? queued[0])?.makes;
    // An earlier version of this client stored only the name of the reactor.
    return makes && makes[0] !== "{" ? JSON.stringify({ reactor: makes }) : makes;
  }

  /** No state is known, and nothing is held. @param {boolean} predicts @returns the sends over the next state. */
  joinAgain(predicts) {
    const { overlay, lane } = this;
    this.#contained = [];
    for (const one of overlay.requests) one.hold = undefined;
    return predicts ? [...overlay.entries, ...lane.queued] : [];
  }

  // --- what is shown

  /**
   * The confirmed state has advanced, maybe into another life (R8).
   *
   * @param {Position} position @param {string | undefined} cause
   * @param {{ isWhole: boolean, isFirst?: boolean, opened: number }} how
   */
  observe(position, cause, how) {
    const { link, overlay, machine: { uptime }, sender: { limits } } = this;
    // The state is one of an earlier life until that of this one is read, and so is
    // what is over it.
    if ((link.reader.confirmed ?? position).generation !== position.generation) return;
    for (const entry of overlay.beginLife(position.generation)) this.join(entry);
    if (overlay.observe(position, cause, { ...how, end: uptime + limits.hold })) this.post.ask();
  }

  /** @param {Entry} entry */
  join(entry) {
    const { change, following } = this.link;
    if (following?.predicts) change.joined.push(entry);
  }

  /** Sends are in the state, have failed, or were taken back. @param {number[]} tickets @param {number[]} [left] */
  leave(tickets, left = this.link.change.left) {
    const { change: { joined }, following } = this.link;
    if (!following?.predicts) return;
    for (const ticket of tickets) {
      const index = joined.findIndex((one) => one.ticket === ticket);
      if (index < 0) left.push(ticket);
      else joined.splice(index, 1);
    }
  }

  /** At the end of an input: what the confirmed state contains now leaves (R2). */
  cover() {
    const { link, machine: { uptime }, overlay, sender: { limits } } = this;
    this.leave(overlay.cover(link.reader, link.isLive, uptime, limits.hold), this.#contained);
    if (!overlay.held.length) link.change.left.push(...this.#contained.splice(0));
  }

  /** What can be delivered of a change while the shown state is held. @param {ShownChange} change */
  holdBack(change) {
    const { link, overlay } = this;
    const held = new Set(overlay.held.flatMap((one) => one.entries));
    if (!link.following?.predicts || !held.size) return change;
    // The state below is held. The program's own further actions show at once; those that have
    // failed vanish at once.
    const { left, joined } = change;
    const own = joined.filter((one) => !held.has(one));
    link.change = { ...change, left: [], joined: joined.filter((one) => held.has(one)) };
    return own.length || left.length ? { advancesBase: false, left, joined: own } : undefined;
  }

  /** Begins with a state that the outbox has kept. @param {Saved} saved @param {Position} [after] */
  showSaved({ position, state }, after) {
    const { link } = this;
    link.reader.restore(position, state, after?.text === position.text);
    this.kept = position.text;
    link.change.advancesBase = true;
    link.deliver("snapshot", { origin: "saved", position, state: { value: state } });
  }

  /** At the end of an input, after the shown state: keeps its position, and reports receipts. */
  settle() {
    const { link, machine, overlay } = this;
    const { demand: { states }, reader: { seen, current } } = link;
    // Everything is seen up to a position, with the state there.
    const isKeepable = machine.keepsStates && states && seen && current && reaches(seen, current) &&
      // A later life would reduce a request over a state that may have it.
      !overlay.requests.some((one) => !one.receipt && (one.cause || one.hold !== undefined));
    if (isKeepable && seen.text !== this.kept) {
      this.kept = seen.text;
      machine.outputs.push(["keepState", link.id, seen]);
    }
    // They follow the state that contains what they are about (R6).
    for (const [ticket, receipt] of overlay.takeReports(states && link.isLive, states)) {
      link.deliver("outcome", ticket, { kind: "applied", receipt });
    }
    this.sender.holding[overlay.heldUntil ? "add" : "delete"](this);
  }

  // --- requests

  /** Sends the session's next request, unless one is under way (O1). */
  sendNext() {
    const { link, machine, overlay, sender } = this;
    const { id: session } = link;
    const { sent, queued } = this.lane;
    if (sender.writer.failure || link.isCreating) return;
    if (sent) {
      if (!overlay.find(sent.key)) {
        // Of an earlier life of the program.
        overlay.add(sent, machine.uptime);
        this.isUnclear = this.isRestored = true;
      }
      if (this.post.isIdle) this.post.begin();
      return;
    }
    const { limits } = sender;
    const bytesInRequest = Math.min(limits.bytesInRequest, this.#mostBytes);
    const count = sender.outbox.nextBatch(session, this.narrowing.most, { ...limits, bytesInRequest });
    if (!count) return;
    // O2: drawn at the first attempt, and durable with the exact bytes before they leave.
    const key = sender.drawKey();
    this.isSaved = this.isUnclear = this.isRestored = false;
    this.question = undefined;
    const body = bodyOf(queued.slice(0, count));
    const change = { type: /** @type {const} */ ("sent"), session, key, body, count, date: machine.date };
    sender.writer.record(change, { post: key, session });
    const request = this.lane.sent;
    if (request) overlay.add(request, machine.uptime);
  }

  /** The request with this key is durable. @param {string} key */
  saved(key) {
    const { sent } = this.lane;
    if (sent?.key !== key) return;
    this.isSaved = true;
    for (const { ticket } of sent.entries) this.link.deliver("outcome", ticket, { kind: "sent" });
    this.post.begin();
  }

  /** The sent request is answered. @param {Receipt} receipt */
  applied(receipt) {
    const { sent } = this.lane;
    if (!sent) return;
    this.sender.writer.record({ type: "done", session: this.link.id, key: this.doneKey = sent.key });
    this.#mostBytes *= 2;
    const request = this.overlay.find(sent.key);
    if (request) request.receipt = receipt;
    this.#settled(sent.entries.length);
  }

  /** The sends of the sent request fail; without a problem they are in doubt. @param {Problem} [problem] @param {Position} [at] */
  settleSent(problem, at) {
    this.#settled(this.#failAll(this.lane.sent?.entries, problem, at));
  }

  /** @param {Entry[]} [entries] @param {Problem} [problem] @param {Position} [at] @returns their number. */
  #failAll(entries = [], problem, at) {
    return [...entries].map(({ ticket }) => this.fail(ticket, problem, at)).length;
  }

  /** @param {number} count */
  #settled(count) {
    this.narrowing.finish(count);
    this.post.succeed();
    this.sendNext();
  }

  /** Refused for a reason that says nothing of earlier attempts. @param {Problem} problem */
  refuseSent(problem) {
    this.settleSent(this.isUnclear ? undefined : problem);
  }

  /** O5. @param {Problem} problem */
  narrow(problem) {
    const count = this.lane.sent?.entries.length ?? 0;
    if (count < 2) return this.settleSent(problem);
    this.withdraw();
    this.narrowing.halve(count);
    this.post.succeed();
    this.sendNext();
  }

  /**
   * The sent request has come too slowly, and nothing of this attempt is applied: the next ones are
   * half as large.
   *
   * @returns whether it is divided, too: after an attempt that may have been carried out only the
   * same bytes may follow.
   */
  shrinks() {
    const { body = "", entries = [] } = this.lane.sent ?? {};
    this.#mostBytes = body.length / 2;
    return !this.isUnclear && entries.length > 1;
  }

  /** The sends of the sent request wait again. */
  withdraw() {
    const { sent } = this.lane;
    if (!sent) return;
    this.sender.writer.record({ type: "withdrawn", session: this.link.id, key: sent.key });
    this.overlay.withdraw(sent.key);
  }

  /**
   * Ends a send, and rolls its prediction back (O6). The outcome is reported when it is durable.
   *
   * @param {number} ticket @param {Problem} [problem] @param {Position} [at]
   */
  fail(ticket, problem, at) {
    const { link: { id: session }, sender: { writer } } = this;
    /** @type {import("./types.d.ts").Outcome} */
    const outcome = problem ? { kind: "refused", problem, at } : { kind: "inDoubt" };
    const change = { type: /** @type {const} */ ("settled"), ticket, session, problem };
    writer.record(change, writer.failure ? undefined : { report: ticket, session, outcome });
    if (writer.failure) this.link.deliver("outcome", ticket, outcome);
    this.overlay.remove(ticket);
    this.leave([ticket]);
  }

  /** Refuses everything that the session's lane has. @param {Problem} problem */
  refuseAll(problem) {
    const isUnclear = this.isUnclear || (this.post.id && !this.post.isAsking);
    this.post.close();
    this.narrowing = new Narrowing();
    const { sent, queued } = this.lane;
    this.#failAll(sent?.entries, isUnclear ? undefined : problem);
    this.#failAll(queued, problem);
  }
}
