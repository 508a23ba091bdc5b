// One session of a machine: what is known of it, and what follows from that. What it sends is
// in posting.js.

import { json } from "./attempts.js";
import { SessionReader } from "./following.js";
import { Creation, Reading, Recovery } from "./requests.js";

/** @import { ClientMachine } from "./machine.js" */
/** @import { Posting } from "./posting.js" */
/** @import { Stream } from "./streams.js" */
/** @import { Block, Demand, Delivery, End, Entry, Following, LinkStatus, Problem } from "./types.d.ts" */
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
  /** @type {End | undefined} */
  ended;
  /** The server's refusal to serve it. @type {Problem | undefined} */
  failure;
  /** Actions that wait for the half that sends. */
  waitingActions = 0;
  /** The change of the shown state that is not delivered. */
  change = noChange();
  /** The status that is delivered, as JSON. */
  #status = "";

  /** @param {ClientMachine} machine @param {string} id */
  constructor(machine, id) {
    this.machine = machine;
    this.id = id;
    this.path = `/v1/sessions/${id}`;
    this.creation = new Creation(this);
    this.reading = new Reading(this);
    this.recovery = new Recovery(this);
    /** What it sends, once that is loaded. @type {Posting | undefined} */
    this.posting = machine.sender?.posting(this);
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

  /** The body of the request with which this client creates the session. */
  get makes() {
    return this.following?.makes ?? this.posting?.makes;
  }

  /** @type {(...delivery: Delivery) => void} */
  deliver = (...delivery) => void this.machine.outputs.push(["deliver", this.id, delivery]);

  // --- following

  /** @param {Following} following */
  follow(following) {
    const { following: before, machine, demand, posting } = this;
    const { after, makes, predicts, saved } = following;
    if (!before) machine.endOnStreams(this.id); // One that was left a moment ago has no snapshot for it.
    const isMade = before?.makes === makes && !this.ended && !this.isCreating;
    this.following = following;
    if (!before || after) this.reader = new SessionReader(after);
    if (!demand.states || before?.predicts !== predicts) {
      this.reader.forgetState();
      this.change = noChange(posting?.joinAgain(predicts));
    }
    if (!before && saved && this.demand.states) posting?.showSaved(saved, after);
    this.failure = this.ended = undefined;
    if (predicts) machine.loadSender();
    if (makes && !isMade) this.create();
  }

  /** Has the session made by the server, before anything else of it. */
  create() {
    this.isCreating = true;
    this.creation.begin();
  }

  /** The service refuses to serve the session (C5). @param {Problem} problem */
  fail(problem) {
    this.failure = problem;
    this.recovery.schedule("", 30_000 * (1 + this.machine.random.fraction()));
  }

  /** C4: begins what may be begun. */
  wake() {
    if (this.isCreating && !this.failure) this.creation.begin();
    if (this.following?.predicts) this.machine.loadSender();
    this.posting?.sendNext();
  }

  /**
   * Reads a block of the session's stream.
   *
   * @param {Block} block @param {Stream} stream
   * @returns why its stream is of no use as it is.
   */
  feed(block, stream) {
    const { machine: { uptime, touched }, reader, id } = this;
    const { name, position, cause } = block;
    touched.add(id);
    // An event may have ended the stream within the same bytes.
    if (!this.wantsEvents || !stream.live.has(id)) return undefined;
    if (name === "presence" && stream.demand.presence) {
      if (this.demand.presence) this.deliver("presence", json(block.data));
      return undefined;
    }
    const { confirmed: before, seen } = reader;
    const isWhole = name === "snapshot";
    const entry = stream.beginEvents(id);
    // C1: the gap is before events that another stream has brought meanwhile. The next attempt
    // resumes after them.
    if (name === "reset" && entry && seen && seen !== entry) return "the stream is overtaken";
    if (entry === "-" && !isWhole && position && reader.skips(position)) this.deliver("reset", "trimmed");
    // Read after `skips`: if events before this block are lost, `skips` marks the state as stale.
    const isFirst = !reader.current;
    const delivery = reader.receive(block, stream.demand);
    if (reader.confirmed !== before) this.change.advancesBase = true;
    if (!delivery) return undefined;
    if (delivery[0] === "malformed") return delivery[1];
    if (delivery[0] === "ended") return this.over(delivery[1]);
    // Of a stream that was opened before another one brought the first snapshot: what was
    // between is lost.
    if (seen && delivery[0] === "snapshot") this.deliver("reset", "trimmed");
    this.deliver(...delivery);
    if (!position || name === "reset" || !stream.demand.states) return undefined;
    // Live events have their causes. A snapshot never has one, and a replay need not (R10).
    const opened = isWhole ? uptime : stream.openedAt;
    this.posting?.observe(position, cause, { isWhole, isFirst, opened });
    return undefined;
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
    this.reading.isDoubted = false;
    if (reason !== "unknown" || !this.following?.makes) return void this.finish(reason);
    // The position that is seen remains: in the new life it leads to a `reset`.
    this.machine.endOnStreams(this.id);
    this.create();
  }

  // --- what is shown

  /** The change to deliver now (R3). @returns {ShownChange | undefined} */
  #takeChange() {
    const { change, posting, reader } = this;
    if (!reader.confirmed || !(change.advancesBase || change.left.length || change.joined.length)) return undefined;
    this.change = noChange();
    return posting ? posting.holdBack(change) : change;
  }

  /** At the end of an input by which the session may have changed. */
  settle() {
    const { id, machine, posting } = this;
    posting?.cover();
    const change = this.#takeChange();
    if (change) this.deliver("shown", change);
    posting?.settle();
    this.reading.review();
    const pending = posting ? posting.lane.actionCount : this.waitingActions;
    const fault = pending ? machine.outboxFault : undefined;
    const status = { link: fault ? { kind: /** @type {const} */ ("waiting"), ...fault } : this.#linkStatus(), pending };
    const text = JSON.stringify(status);
    if (text !== this.#status) this.deliver("status", status);
    this.#status = text;
    const isOver = !this.following && !pending && !posting?.overlay.requests.length;
    if (isOver) {
      machine.links.delete(id);
      machine.unmade.delete(this.creation);
    }
    if (isOver || !this.failure) this.recovery.end();
  }

  /** C7. @returns {LinkStatus} */
  #linkStatus() {
    const { ended, failure, machine, posting } = this;
    if (ended) return { kind: "ended", reason: ended };
    if (failure) return { kind: "failed", problem: failure };
    const stream = machine.carrier(this.id);
    const isStuck = !!posting?.post.failures;
    const attempt = this.isCreating ? this.creation : isStuck ? posting.post : stream;
    if (!isStuck && !this.isCreating && (!this.wantsStream || (machine.isHidden && !stream))) return { kind: "idle" };
    if (attempt === stream && stream?.isOpen) return { kind: "live" };
    if (!isStuck && (!attempt || attempt.id || attempt.isIdle)) {
      return { kind: "connecting", attempt: (attempt?.failures ?? 0) + 1 };
    }
    const { until, why, problem } = /** @type {import("./attempts.js").Attempt} */ (attempt);
    return problem ? { kind: "waiting", until, why, problem } : { kind: "waiting", until, why };
  }
}
