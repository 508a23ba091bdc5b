// One session of a machine: what is known of it beside its outbox, and what follows from that.

import { SessionReader } from "./following.js";
import { Creation, Post, Reading } from "./requests.js";
import { bodyOf, Narrowing, Overlay } from "./sending.js";

/** @import { ClientMachine } from "./machine.js" */
/** @import { Stream } from "./streams.js" */
/** @import { Block, Demand, Delivery, End, Entry, Following, LinkStatus, Position, Problem, Receipt } from "./types.d.ts" */
/** @import { ShownChange } from "./types.d.ts" */

/** @type {Demand} */
const nothing = { states: false, pulses: false, activities: false };

/** @param {Entry[]} [joined] @returns {ShownChange} */
const noChange = (joined = []) => ({ advancesBase: false, left: [], joined });

export class SessionLink {
  /** @type {Following | undefined} */
  following;
  /** A request that makes the session is due or under way. */
  isCreating = false;
  reader = new SessionReader();
  overlay = new Overlay();
  narrowing = new Narrowing();
  /** Whether the sent request is durable. */
  isSaved = true;
  /** Whether an attempt of the sent request may have been carried out without an answer. */
  isUnclear = false;
  /** @type {End | undefined} */
  ended;
  /** The server's refusal to serve it. @type {Problem | undefined} */
  failure;
  /** The server's refusal of the program's token, in a post. @type {Problem | undefined} */
  pause;
  /** The change of the shown state that is not delivered. */
  #change = noChange();
  /** The status that is delivered, as JSON. */
  #status = "";
  /** The position of the state that is kept. @type {string | undefined} */
  #kept;

  /** @param {ClientMachine} machine @param {string} id */
  constructor(machine, id) {
    this.machine = machine;
    this.id = id;
    this.path = `/v1/sessions/${id}`;
    this.post = new Post(this);
    this.creation = new Creation(this);
    this.reading = new Reading(this);
  }

  get lane() {
    return this.machine.outbox.lane(this.id);
  }

  get demand() {
    return this.following?.demand ?? nothing;
  }

  get wantsEvents() {
    const { states, pulses, activities } = this.demand;
    return (states || !!pulses || activities) && !this.ended && !this.failure;
  }

  get wantsStream() {
    return this.wantsEvents && !this.isCreating;
  }

  get isLive() {
    return !!this.machine.carrier(this.id)?.isOpen;
  }

  /** The reactor of which this client makes the session. */
  get makes() {
    const { sent, queued } = this.lane;
    return this.following?.makes ?? (sent?.entries[0] ?? queued[0])?.makes;
  }

  /** @type {(...delivery: Delivery) => void} */
  deliver = (...delivery) => void this.machine.outputs.push(["deliver", this.id, delivery]);

  // --- following

  /** @param {Following} following */
  follow(following) {
    const { following: before, machine, demand, overlay } = this;
    const { after, makes, predicts, saved } = following;
    if (!before) machine.endOnStreams(this.id); // One that was left a moment ago has no snapshot for it.
    const isMade = before?.makes === makes && !this.ended && !this.isCreating;
    this.following = following;
    if (!before || after) this.reader = new SessionReader(after);
    if (!demand.states || before?.predicts !== predicts) {
      this.reader.forgetState();
      this.#change = noChange(predicts ? [...overlay.entries, ...this.lane.queued] : []);
    }
    if (!before && saved && this.demand.states) {
      const { position, state } = saved;
      this.reader.restore(position, after?.text === position.text);
      this.#kept = position.text;
      this.#change.advancesBase = true;
      this.deliver("snapshot", { origin: "saved", position, state: { value: state } });
    }
    this.failure = this.ended = undefined;
    if (makes !== undefined && !isMade) this.create();
  }

  /** Has the session made by the server, before anything else of it. */
  create() {
    this.isCreating = true;
    this.creation.begin();
  }

  /** C4: tries again what was refused to a token. */
  wake() {
    if (this.failure?.status === 401) this.failure = undefined;
    this.pause = undefined;
    if (this.isCreating) this.creation.begin();
    this.continuePosting();
  }

  /**
   * Reads a block of the session's stream.
   *
   * @param {Block} block @param {Stream} stream
   * @returns the fault of a block that no server writes.
   */
  feed(block, stream) {
    const { machine: { uptime, limits, touched }, reader, id } = this;
    const { name, position, cause } = block;
    touched.add(id);
    // An event may have ended the stream within the same bytes.
    if (!this.wantsEvents || !stream.live.has(id)) return undefined;
    const { confirmed: before, seen } = reader;
    const isWhole = name === "snapshot";
    if (stream.beginEvents(id) && !isWhole && name !== "reset" && position && reader.skips(position)) {
      this.deliver("reset", "trimmed");
    }
    // Behind that: the block itself may follow the events that are lost.
    const isFirst = !before || reader.isStale;
    const delivery = reader.receive(block, stream.demand);
    if (reader.confirmed !== before) this.#change.advancesBase = true;
    if (!delivery) return undefined;
    if (delivery[0] === "malformed") return delivery[1];
    if (delivery[0] === "ended") return this.over(delivery[1]);
    // Of a stream that was opened before another one brought the first snapshot: what was between is lost.
    if (seen && delivery[0] === "snapshot") this.deliver("reset", "trimmed");
    this.deliver(...delivery);
    if (!position || name === "reset" || !stream.demand.states) return undefined;
    this.beginLife(position);
    // Live events have their causes. A snapshot never has one, and a replay need not (R10).
    const opened = isWhole ? uptime : stream.openedAt;
    this.overlay.observe(position, cause, { isWhole, isFirst, opened, end: uptime + limits.hold });
    return undefined;
  }

  /** The confirmed state is another one, which was read. */
  advance() {
    this.#change.advancesBase = true;
  }

  /** R8. @param {Position} position */
  beginLife({ generation }) {
    for (const entry of this.overlay.beginLife(generation)) this.join(entry);
  }

  /** The session's events are over. @param {End} reason */
  finish(reason) {
    this.machine.endOnStreams(this.id);
    if (this.ended) return;
    this.ended = reason;
    this.deliver("ended", reason);
  }

  /** The server says so: this client makes a missing one, if nobody else has. @param {End} reason @returns {undefined} */
  over(reason) {
    if (reason !== "unknown" || this.following?.makes === undefined) return void this.finish(reason);
    // The position that is seen remains: in the new life it leads to a `reset`.
    this.machine.endOnStreams(this.id);
    this.create();
  }

  // --- what is shown

  /** @param {Entry} entry */
  join(entry) {
    if (this.following?.predicts) this.#change.joined.push(entry);
  }

  /** @param {number[]} tickets */
  leave(...tickets) {
    const { joined, left } = this.#change;
    if (!this.following?.predicts) return;
    for (const ticket of tickets) {
      const index = joined.findIndex((one) => one.ticket === ticket);
      if (index < 0) left.push(ticket);
      else joined.splice(index, 1);
    }
  }

  /** The change to deliver now (R3). @returns {ShownChange | undefined} */
  #takeChange() {
    const { overlay, reader } = this;
    const change = this.#change;
    const { advancesBase, left, joined } = change;
    if (!reader.confirmed || !(advancesBase || left.length || joined.length)) return undefined;
    this.#change = noChange();
    if (!this.following?.predicts || !overlay.heldUntil) return change;
    // The state below is held. The program's own further actions show at once.
    const held = overlay.heldTickets;
    const own = joined.filter((one) => !held.has(one.ticket));
    this.#change = { ...change, joined: joined.filter((one) => held.has(one.ticket)) };
    return own.length ? noChange(own) : undefined;
  }

  /** At the end of an input by which the session may have changed. */
  settle() {
    const { id, machine, overlay, demand, reader } = this;
    this.leave(...overlay.cover(reader.confirmed, machine.uptime));
    const reports = overlay.takeReports(demand.states && this.isLive, demand.states);
    const change = this.#takeChange();
    machine.holding[overlay.heldUntil ? "add" : "delete"](this);
    if (change) this.deliver("shown", change);
    const kept = machine.keepsStates && demand.states && !overlay.isUncertain ? reader.settled : undefined;
    if (kept && kept.text !== this.#kept) {
      this.#kept = kept.text;
      machine.outputs.push(["keepState", id, kept]);
    }
    for (const [ticket, receipt] of reports) this.deliver("outcome", ticket, { kind: "applied", receipt });
    this.reading.review();
    const status = { link: this.#linkStatus(), pending: this.lane.actionCount };
    const text = JSON.stringify(status);
    if (text !== this.#status) this.deliver("status", status);
    this.#status = text;
    if (!this.following && !machine.outbox.lanes.has(id) && !overlay.requests.length) machine.links.delete(id);
  }

  /** C7. @returns {LinkStatus} */
  #linkStatus() {
    const { ended, failure, pause, machine } = this;
    if (ended) return { kind: "ended", reason: ended };
    if (failure) return { kind: "failed", problem: failure };
    if (pause) return { kind: "paused", problem: pause };
    const stream = machine.carrier(this.id);
    const attempt = this.isCreating ? this.creation : stream;
    if (!this.isCreating && (!this.wantsStream || (machine.isHidden && !stream))) return { kind: "idle" };
    if (attempt === stream && stream?.isOpen) return { kind: "live" };
    if (!attempt || attempt.id || attempt.isIdle) return { kind: "connecting", attempt: (attempt?.failures ?? 0) + 1 };
    return { kind: "waiting", until: attempt.until, why: attempt.why };
  }

  // --- sending

  /** Sends the session's next request, unless one is under way (O1). */
  continuePosting() {
    const { machine, overlay, id } = this;
    const { sent, queued } = this.lane;
    if (machine.writer.failure || this.isCreating || this.pause) return;
    if (sent) {
      if (!overlay.find(sent.key)) {
        // Of an earlier life of the program.
        overlay.add(sent, machine.uptime);
        this.isUnclear = true;
      }
      if (this.post.isIdle) this.post.begin();
      return;
    }
    const count = machine.outbox.nextBatch(id, this.narrowing.most, machine.limits);
    if (!count) return;
    // O2: drawn at the first attempt, and durable with the exact bytes before they leave.
    const key = machine.random.key();
    this.isSaved = this.isUnclear = false;
    const body = bodyOf(queued.slice(0, count));
    const change = { type: /** @type {const} */ ("sent"), session: id, key, body, count, date: machine.date };
    machine.writer.record(change, { post: key, session: id });
    const request = this.lane.sent;
    if (request) overlay.add(request, machine.uptime);
  }

  /** The request with this key is durable. @param {string} key */
  saved(key) {
    const { sent } = this.lane;
    if (sent?.key !== key) return;
    this.isSaved = true;
    for (const { ticket } of sent.entries) this.deliver("outcome", ticket, { kind: "sent" });
    this.post.begin();
  }

  /** The sent request is answered. @param {Receipt} receipt */
  applied(receipt) {
    const { sent } = this.lane;
    if (!sent) return;
    this.machine.writer.record({ type: "done", session: this.id, key: sent.key });
    this.overlay.answer(sent.key, receipt);
    this.#settled(sent.entries.length);
  }

  /** The sends of the sent request fail; without a problem they are in doubt. @param {Problem} [problem] @param {Position} [at] */
  settleSent(problem, at) {
    const entries = [...this.lane.sent?.entries ?? []];
    for (const { ticket } of entries) this.fail(ticket, problem, at);
    this.#settled(entries.length);
  }

  /** @param {number} count */
  #settled(count) {
    this.narrowing.finish(count);
    this.post.succeed();
    this.continuePosting();
  }

  /** Refused for a reason that says nothing of earlier attempts. @param {Problem} problem */
  refuseSent(problem) {
    this.settleSent(this.isUnclear ? undefined : problem);
  }

  /** O5. @param {Problem} problem */
  narrow(problem) {
    const { sent } = this.lane;
    const count = sent?.entries.length ?? 0;
    if (count < 2) return this.settleSent(problem);
    this.withdraw();
    this.narrowing.halve(count);
    this.post.succeed();
    this.continuePosting();
  }

  /** The sends of the sent request wait again. */
  withdraw() {
    const { sent } = this.lane;
    if (!sent) return;
    this.machine.writer.record({ type: "withdrawn", session: this.id, key: sent.key });
    this.overlay.withdraw(sent.key);
  }

  /**
   * Ends a send, and rolls its prediction back (O6). The outcome is reported when it is durable.
   *
   * @param {number} ticket @param {Problem} [problem] @param {Position} [at]
   */
  fail(ticket, problem, at) {
    const { writer } = this.machine;
    /** @type {import("./types.d.ts").Outcome} */
    const outcome = problem ? { kind: "refused", problem, at } : { kind: "inDoubt" };
    const change = { type: /** @type {const} */ ("settled"), ticket, session: this.id, problem };
    writer.record(change, writer.failure ? undefined : { report: ticket, session: this.id, outcome });
    if (writer.failure) this.deliver("outcome", ticket, outcome);
    this.overlay.remove(ticket);
    this.leave(ticket);
  }

  /** Refuses everything that the session's lane has. @param {Problem} problem */
  refuseAll(problem) {
    const isUnclear = this.isUnclear || (this.post.id && !this.post.isAsking);
    this.post.close();
    this.narrowing = new Narrowing();
    const { sent, queued } = this.lane;
    for (const { ticket } of [...sent?.entries ?? []]) this.fail(ticket, isUnclear ? undefined : problem);
    for (const { ticket } of [...queued]) this.fail(ticket, problem);
  }
}
