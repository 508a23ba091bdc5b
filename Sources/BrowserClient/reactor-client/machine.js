// The client without I/O, clock and randomness of its own: each input is answered with the things to do, in
// order. The rules have the names of the design: O sending, R what is shown, C connections.

import { Attempts, limits } from "./attempts.js";
import { answers, begin, linkStatus, performAttempts, scheduleReadBack } from "./answers.js";
import { carrier, changePlan, endOnStreams, makePlan, reopen, streams } from "./streams.js";
import { SessionReader } from "./following.js";
import { bodyOf, bytesOf, Narrowing, Outbox, OutboxWriter, Overlay } from "./sending.js";

/** @import { Delivery, Demand, Entry, Following, Input, Limits, LinkStatus, Now, Output, Position, Problem } from "./types.d.ts" */
/** @import { Random, Receipt, Request, Response, SendOptions, ShownChange, Block } from "./types.d.ts" */

/** @type {Demand} */
const nothing = { states: false, pulses: false, activities: false };

/** The inputs that other modules read. @type {Record<string, (machine: ClientMachine, now: Now, ...values: any[]) => void>} */
const elsewhere = { ...answers, ...streams };

/** One session: what is known of it beside its outbox. */
class SessionLink {
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
  /** @type {"deleted" | "unknown" | "forbidden" | undefined} */
  end;
  /** The server's refusal to serve it. @type {Problem | undefined} */
  failure;
  /** The server's refusal of the program's token, in a post. @type {Problem | undefined} */
  pause;
  /** The change of the shown state that is not delivered. @type {ShownChange} */
  change = { advancesBase: false, left: [], joined: [] };
  /** @type {{ link: LinkStatus, pending: number } | undefined} */
  status;
  /** @type {Position | undefined} */
  kept;

  get demand() {
    return this.following?.demand ?? nothing;
  }

  get wantsEvents() {
    const { states, pulses, activities } = this.demand;
    return (states || !!pulses || activities) && !this.end && !this.failure;
  }

  get wantsStream() {
    return this.wantsEvents && !this.isCreating;
  }

  /** @param {Entry} entry */
  join(entry) {
    if (this.following?.predicts) this.change.joined.push(entry);
  }

  /** @param {number[]} tickets */
  leave(tickets) {
    if (!this.following?.predicts) return;
    for (const ticket of tickets) {
      const index = this.change.joined.findIndex((one) => one.ticket === ticket);
      if (index >= 0) this.change.joined.splice(index, 1);
      else this.change.left.push(ticket);
    }
  }

  /** The change to deliver now (R3). @returns {ShownChange | undefined} */
  takeChange() {
    const { change } = this;
    if (!this.reader.confirmed || !(change.advancesBase || change.left.length || change.joined.length)) {
      return undefined;
    }
    if (this.following?.predicts && this.overlay.heldUntil) {
      // The state below is held. The program's own further actions show at once.
      const held = this.overlay.heldTickets;
      const joined = change.joined.filter((one) => !held.has(one.ticket));
      change.joined = change.joined.filter((one) => held.has(one.ticket));
      return joined.length ? { advancesBase: false, left: [], joined } : undefined;
    }
    this.change = { advancesBase: false, left: [], joined: [] };
    return change;
  }
}

/** The client of one server: which request, which stream, and which news for the program. */
export class ClientMachine {
  /** @type {Map<string, SessionLink>} */
  links = new Map();
  /** @type {Map<number, import("./following.js").StreamConnection>} In the order in which they were made. */
  streams = new Map();
  lastStream = 0;
  /** The followed sessions, in the order in which they were. @type {Set<string>} */
  followed = new Set();
  /** The number of sessions that the server accepts on one stream, as far as is known (C2). */
  mostSessions = Infinity;
  planTime = Infinity;
  /** The sessions whose shown state is held. @type {Set<string>} */
  holding = new Set();
  /** The sessions whose links have changed in this input. @type {Set<string>} */
  touched = new Set();
  /** @type {Output[]} */
  outputs = [];
  wakeTime = Infinity;
  isRestored = false;
  /** Whether no connections are wanted (D8). */
  isHidden = false;

  /**
   * @param {{ server: string, random: Random, outbox?: Outbox, asksForTokens?: boolean, keepsStates?: boolean,
   *   limits?: Partial<Limits> }} options
   */
  constructor(options) {
    this.server = options.server;
    this.random = options.random;
    this.keepsStates = options.keepsStates ?? false;
    this.limits = { ...limits, ...options.limits };
    this.writer = new OutboxWriter(options.outbox ?? new Outbox());
    this.attempts = new Attempts(options.asksForTokens ?? false, this.limits, options.random);
  }

  get outbox() {
    return this.writer.outbox;
  }

  /**
   * Decides what follows from an input.
   *
   * @param {Input} input @param {Now} now
   * @returns {Output[]}
   */
  receive([name, ...values], now) {
    if (!this.isRestored) {
      // The sends of an earlier life of the program continue.
      this.isRestored = true;
      for (const session of this.outbox.lanes.keys()) {
        this.link(session);
        this.continuePosting(session, now);
      }
    }
    const own = /** @type {any} */ (this)[name];
    if (own) own.call(this, now, ...values);
    else if (name !== "timer") elsewhere[name]?.(this, now, ...values);
    this.performDue(now);
    for (const session of [...this.touched].sort()) this.settle(session, now);
    this.touched.clear();
    this.reportTime();
    const saved = this.writer.takeChanges();
    const outputs = this.outputs;
    this.outputs = [];
    return saved ? [["persist", saved.number, saved.changes], ...outputs] : outputs;
  }

  /** @param {string} session */
  link(session) {
    let link = this.links.get(session);
    if (!link) this.links.set(session, link = new SessionLink());
    this.touched.add(session);
    return link;
  }

  /** @param {string} session @param {Delivery} delivery */
  deliver(session, delivery) {
    this.outputs.push(["deliver", session, delivery]);
  }

  // --- following

  /** @param {Now} now @param {string} session @param {Following} following */
  follow(now, session, following) {
    const link = this.link(session);
    const before = link.following;
    if (!before) endOnStreams(this, session); // One that was left a moment ago has no snapshot for it.
    this.followed.add(session);
    const isMade = before?.makes === following.makes && !link.end && !link.isCreating;
    const followedStates = link.demand.states && before?.predicts === following.predicts;
    if (!before || following.after) link.reader = new SessionReader(following.after);
    link.following = following;
    if (!followedStates) {
      link.reader.forgetState();
      const joined = following.predicts ? [...link.overlay.entries, ...this.outbox.lane(session).queued] : [];
      link.change = { advancesBase: false, left: [], joined };
    }
    const { saved } = following;
    if (!before && saved && link.demand.states) {
      link.reader.restore(saved.position, following.after?.text === saved.position.text);
      link.kept = saved.position;
      link.change.advancesBase = true;
      this.deliver(session, ["snapshot", { origin: "saved", position: saved.position, state: { value: saved.state } }]);
    }
    link.failure = link.end = undefined;
    if (following.makes !== undefined && !isMade) this.create(session, now);
    changePlan(this, now);
  }

  /** @param {Now} now @param {string} session */
  leave(now, session) {
    const link = this.links.get(session);
    if (!link?.following) return;
    link.following = undefined;
    this.followed.delete(session);
    this.touched.add(session);
    changePlan(this, now);
  }

  /** Has the session made by the server, before anything else of it. @param {string} session @param {Now} now */
  create(session, now) {
    this.link(session).isCreating = true;
    begin(this, `create/${session}`, now);
  }

  /** C4: replaces silent streams, ends waits, and tries again what was refused to a token. @param {Now} now */
  wake(now) {
    this.attempts.wake(now.uptime);
    for (const [session, link] of this.links) {
      if (link.failure?.status === 401) link.failure = undefined;
      link.pause = undefined;
      this.touched.add(session);
      if (link.isCreating) begin(this, `create/${session}`, now);
      this.continuePosting(session, now);
    }
    for (const stream of [...this.streams.values()]) {
      const record = this.attempts.of(`stream/${stream.id}`);
      if (!stream.isWanted || stream.phase !== "open" || record?.phase !== "underWay") continue;
      if (now.uptime - stream.lastByteAt > this.limits.silenceOnWake) reopen(this, record.id, now);
    }
    changePlan(this, now);
  }

  /** Gives the connections back until `show`: what is seen resumes them (D8). @param {Now} now */
  hide(now) {
    this.isHidden = true;
    changePlan(this, now);
  }

  /** @param {Now} now */
  show(now) {
    this.isHidden = false;
    this.wake(now);
    makePlan(this, now);
  }

  // --- the end of an input

  /** @param {string} session @param {Now} now */
  settle(session, now) {
    const link = this.links.get(session);
    if (!link) return;
    const { overlay, demand, reader } = link;
    if (overlay.requests.length) link.leave(overlay.cover(reader.confirmed, now.uptime));
    const isLive = carrier(this, session)?.phase === "open";
    const reports = overlay.takeReports(demand.states && isLive, demand.states);
    const change = link.takeChange();
    if (overlay.heldUntil) this.holding.add(session);
    else this.holding.delete(session);
    if (change) this.deliver(session, ["shown", change]);
    const kept = this.keepsStates && demand.states && !overlay.isUncertain ? reader.settled : undefined;
    if (kept && kept.text !== link.kept?.text) this.outputs.push(["keepState", session, link.kept = kept]);
    for (const [ticket, receipt] of reports) this.deliver(session, ["outcome", ticket, { kind: "applied", receipt }]);
    scheduleReadBack(this, session, now);
    const status = { link: linkStatus(this, session), pending: this.outbox.lane(session).actionCount };
    if (!link.status || !isSame(status.link, link.status.link) || status.pending !== link.status.pending) {
      link.status = status;
      this.deliver(session, ["status", status]);
    }
    if (!link.following && !this.outbox.lanes.has(session) && !overlay.requests.length) this.links.delete(session);
  }

  reportTime() {
    let earliest = Math.min(this.attempts.earliest, this.planTime);
    for (const session of this.holding) {
      earliest = Math.min(earliest, this.links.get(session)?.overlay.heldUntil || Infinity);
    }
    if (earliest !== this.wakeTime) this.outputs.push(["wakeMe", this.wakeTime = earliest]);
  }

  // --- sending

  /** @param {Now} now @param {string} session @param {string[]} actions @param {SendOptions} options */
  send(now, session, actions, options) {
    const link = this.link(session);
    const bytes = actions.reduce((sum, action) => sum + bytesOf(action), 0);
    const refuse = /** @param {string} kind @param {Problem} [problem] */ (kind, problem) =>
      this.deliver(session, ["notAccepted", { kind, problem, reason: this.writer.failure }]);
    if (!actions.length) return refuse("empty");
    if (this.writer.failure) return refuse("outboxUnavailable");
    if (link.end === "deleted") return refuse("ended");
    if (link.failure && link.isCreating) return refuse("refused", link.failure);
    if (!this.outbox.hasRoom(actions, bytes, this.limits)) return refuse("outboxFull");
    const ticket = this.outbox.nextTicket;
    const entry = { ticket, session, actions, bytes, makes: link.following?.makes, ...options };
    this.writer.record({ type: "queued", entry }, { report: ticket, session, outcome: { kind: "queued" } });
    link.join(entry);
    this.deliver(session, ["accepted", ticket]);
    this.continuePosting(session, now);
  }

  /** @param {Now} _ @param {number} ticket @param {string} session */
  discard(_, ticket, session) {
    const { queued, sent } = this.outbox.lane(session);
    const index = queued.findIndex((one) => one.ticket === ticket);
    // A change that is not durable would be undone by the end of the process.
    if (this.writer.failure || index < 0) return;
    const outcome = /** @type {const} */ ({ kind: "discarded" });
    this.writer.record({ type: "discarded", ticket, session }, { report: ticket, session, outcome });
    const link = this.link(session);
    link.narrowing.discard((sent?.entries.length ?? 0) + index);
    link.leave([ticket]);
  }

  /** The program has seen that a send failed. @param {Now} _ @param {number} ticket */
  seen(_, ticket) {
    this.writer.record({ type: "seen", ticket });
  }

  /** Sends the session's next request, unless one is under way (O1). @param {string} session @param {Now} now */
  continuePosting(session, now) {
    const link = this.links.get(session);
    if (this.writer.failure || !link || link.isCreating || link.pause) return;
    const { sent, queued } = this.outbox.lane(session);
    if (sent) {
      if (!link.overlay.find(sent.key)) {
        // Of an earlier life of the program.
        link.overlay.add(sent, now.uptime);
        link.isUnclear = true;
      }
      if (link.isSaved && this.attempts.isIdle(`post/${session}`)) this.post(session, now);
      return;
    }
    const count = this.outbox.nextBatch(session, link.narrowing.most, this.limits);
    if (!count) return;
    // O2: drawn at the first attempt, and durable with the exact bytes before they leave.
    const key = this.random.key();
    link.isSaved = link.isUnclear = false;
    const body = bodyOf(queued.slice(0, count));
    this.writer.record({ type: "sent", session, key, body, count, date: now.date }, { post: key, session });
    const request = this.outbox.lane(session).sent;
    if (request) link.overlay.add(request, now.uptime);
  }

  /** All changes up to a number are durable. @param {Now} now @param {number} number */
  persisted(now, number) {
    for (const one of this.writer.persisted(number)) {
      const { session } = one;
      if ("report" in one) {
        this.deliver(session, ["outcome", one.report, one.outcome]);
        continue;
      }
      const { sent } = this.outbox.lane(session);
      const link = this.links.get(session);
      if (!link || sent?.key !== one.post) continue;
      link.isSaved = true;
      for (const entry of sent.entries) this.deliver(session, ["outcome", entry.ticket, { kind: "sent" }]);
      this.post(session, now);
    }
  }

  /** The outbox cannot be written: nothing is sent that is not durable. @param {Now} _ @param {string} reason */
  persistFailed(_, reason) {
    const consequences = this.writer.fail(reason);
    for (const [session, link] of this.links) {
      const { sent } = this.outbox.lane(session);
      if (link.isSaved || !sent) continue;
      this.writer.record({ type: "withdrawn", session, key: sent.key });
      link.overlay.withdraw(sent.key);
    }
    const reported = new Set();
    for (const one of consequences) {
      if (!("report" in one)) continue;
      const { session, report: ticket } = one;
      this.touched.add(session);
      if (reported.has(ticket)) continue;
      reported.add(ticket);
      const isKept = one.outcome.kind !== "queued" && one.outcome.kind !== "discarded";
      if (!isKept) {
        this.writer.record({ type: "discarded", ticket, session });
        this.links.get(session)?.leave([ticket]);
      }
      this.deliver(session, ["outcome", ticket, isKept ? one.outcome : { kind: "outboxUnavailable", reason }]);
    }
  }

  /** Attempts the session's sent request, which is durable. @param {string} session @param {Now} now */
  post(session, now) {
    const { sent } = this.outbox.lane(session);
    const link = this.links.get(session);
    if (!sent || !link?.isSaved || link.isCreating || link.pause) {
      this.attempts.remove(`post/${session}`); // Continued when that is over.
      return;
    }
    const request = link.overlay.find(sent.key);
    const age = (now.date - sent.date) * 1_000;
    const { memoryOfServer, hold } = this.limits;
    // O4. A clock that was set back hides the age: an hour is within the server's margin.
    const isForgotten = now.uptime - (request?.firstAttempt ?? now.uptime) >= memoryOfServer || age < -3_600_000 ||
      age >= memoryOfServer;
    if (!isForgotten) return begin(this, `post/${session}`, now);
    if (!request?.cause) return this.settleSent(session, undefined, undefined, now);
    // An event has shown that it is applied. Its last one is awaited as long as the shown state is held.
    if (!request.isComplete && (request.hold ?? -1) > now.uptime) {
      return this.attempts.schedule(`post/${session}`, hold, "its last event is awaited", now.uptime);
    }
    this.applied({ at: request.cause, rejected: [] }, session, now);
  }

  /** @param {Receipt} receipt @param {string} session @param {Now} now */
  applied(receipt, session, now) {
    const { sent } = this.outbox.lane(session);
    const link = this.link(session);
    if (!sent) return;
    this.writer.record({ type: "done", session, key: sent.key });
    link.narrowing.finish(sent.entries.length);
    link.overlay.answer(sent.key, receipt);
    this.attempts.succeed(`post/${session}`);
    this.continuePosting(session, now);
  }

  /**
   * The sends of the sent request fail; without a problem they are in doubt.
   *
   * @param {string} session @param {Problem | undefined} problem @param {Position | undefined} at @param {Now} now
   */
  settleSent(session, problem, at, now) {
    const entries = [...this.outbox.lane(session).sent?.entries ?? []];
    if (!entries.length) return;
    this.link(session).narrowing.finish(entries.length);
    for (const { ticket } of entries) this.fail(ticket, session, problem, at);
    this.attempts.succeed(`post/${session}`);
    this.continuePosting(session, now);
  }

  /**
   * Ends a send, and rolls its prediction back (O6). The outcome is reported when it is durable.
   *
   * @param {number} ticket @param {string} session @param {Problem | undefined} problem @param {Position} [at]
   */
  fail(ticket, session, problem, at) {
    const outcome = problem
      ? { kind: /** @type {const} */ ("refused"), problem, at }
      : { kind: /** @type {const} */ ("inDoubt") };
    this.writer.record(
      { type: "settled", ticket, session, problem },
      this.writer.failure ? undefined : { report: ticket, session, outcome },
    );
    if (this.writer.failure) this.deliver(session, ["outcome", ticket, outcome]);
    const link = this.link(session);
    link.overlay.remove(ticket);
    link.leave([ticket]);
  }

  /** Refused for a reason that says nothing of earlier attempts. @param {string} session @param {Problem} problem @param {Now} now */
  refuseSent(session, problem, now) {
    this.settleSent(session, this.links.get(session)?.isUnclear ? undefined : problem, undefined, now);
  }

  /** Refuses everything that the session's lane has. @param {string} session @param {Problem} problem */
  refuseAll(session, problem) {
    const link = this.link(session);
    const id = this.attempts.remove(`post/${session}`);
    if (id !== undefined) this.outputs.push(["cancelRequest", id]);
    const isUnclear = link.isUnclear || id !== undefined;
    link.narrowing = new Narrowing();
    const { sent, queued } = this.outbox.lane(session);
    for (const { ticket } of [...sent?.entries ?? []]) this.fail(ticket, session, isUnclear ? undefined : problem);
    for (const { ticket } of [...queued]) this.fail(ticket, session, problem);
  }

  /** Does what time alone has made due. @param {Now} now */
  performDue(now) {
    performAttempts(this, now);
    if (this.planTime <= now.uptime) makePlan(this, now);
    for (const session of this.holding) {
      if ((this.links.get(session)?.overlay.heldUntil ?? 0) <= now.uptime) this.touched.add(session);
    }
  }

  /** The target of a redirection within the server's origin. @param {string} [location] */
  targetOf(location) {
    if (!location) return undefined;
    const { origin, pathname } = new URL(this.server);
    const base = `${pathname.replace(/\/+$/, "")}/`;
    try {
      const url = new URL(location, `${origin}/`);
      const target = url.pathname + url.search;
      if (url.origin === origin && target.startsWith(base)) return target.slice(base.length - 1);
    } catch { /* It is no address. */ }
    return undefined;
  }
}

/** Whether two flat values are equal. @param {any} a @param {any} b */
const isSame = (a, b) =>
  Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((key) => a[key] === b[key]);
