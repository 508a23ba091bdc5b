// The client without I/O, clock and randomness of its own: each input is answered with the
// things to do, in order. The rules have the names of the design: O sending, R what is shown,
// C connections.

import { limits } from "./attempts.js";
import { SessionLink } from "./link.js";
import { plan, Stream } from "./streams.js";

/** @import { Attempt } from "./attempts.js" */
/** @import { Creation } from "./requests.js" */
/** @import { Sender } from "./sender.js" */
/** @import { Following, Input, Limits, Now, Output, Random, SendOptions, Wish } from "./types.d.ts" */

/** The client of one server: which request, which stream, and which news for the program. */
export class ClientMachine {
  uptime = 0;
  date = 0;
  /** @type {Map<string, SessionLink>} */
  links = new Map();
  /** In the order in which they were made. @type {Set<Stream>} */
  streams = new Set();
  /** Those that run or wait. @type {Set<Attempt>} */
  attempts = new Set();
  /** Those that run, by the ids of their requests. @type {Map<number, Attempt>} */
  running = new Map();
  lastID = 0;
  /** Sessions that are being made, and those that wait for their turn. @type {Set<Creation>} */
  making = new Set();
  /** @type {Set<Creation>} */
  unmade = new Set();
  /** The followed sessions, in the order in which they were. @type {Set<string>} */
  followed = new Set();
  /** The number of sessions that the server accepts on one stream, as far as is known (C2). */
  mostSessions = Infinity;
  /** Whether the server knows patches of states, as far as is known (C8). */
  acceptsPatches = true;
  /** The time at which the streams are to change. */
  planTime = Infinity;
  /** The sessions whose links have changed in this input. @type {Set<string>} */
  touched = new Set();
  /** @type {Output[]} */
  outputs = [];
  /** Whether no connections are wanted (D8). */
  isHidden = false;
  /** The half that sends (O). A client that only follows never has it. @type {Sender | undefined} */
  sender;
  /**
   * Why the outbox cannot be written now, and when it is tried again.
   * @type {{ why: string, until: number } | undefined}
   */
  outboxFault;
  #isLoading = false;
  /** Sends that wait for it, in their order. @type {Parameters<Sender["send"]>[]} */
  #early = [];
  #wakeTime = Infinity;

  /**
   * @param {{ server: string, random: Random, as?: string | undefined, asksForTokens?: boolean, keepsStates?: boolean,
   *   hasFewConnections?: boolean, limits?: Partial<Limits> }} options `hasFewConnections`: a browser has six for all of
   *   its tabs
   */
  constructor(
    { server, random, as, asksForTokens = false, keepsStates = false, hasFewConnections = false, limits: own },
  ) {
    this.server = server;
    this.as = as;
    this.random = random;
    this.asksForTokens = asksForTokens;
    this.keepsStates = keepsStates;
    this.hasFewConnections = hasFewConnections;
    this.limits = { ...limits, ...own };
  }

  /**
   * Decides what follows from an input: one that neither half knows is for the attempt whose request it is about.
   *
   * @param {Input} input @param {Now} now
   * @returns {Output[]}
   */
  receive([name, ...values], { uptime, date }) {
    this.uptime = uptime;
    this.date = date;
    const [id, ...rest] = values;
    const attempt = /** @type {any} */ (this.running.get(/** @type {number} */ (id)));
    const half = /** @type {any} */ ([this, this.sender].find((one) => one && name in one));
    if (half) half[name](...values);
    else attempt?.[name]?.(...rest);
    this.#performDue();
    for (const session of this.touched) this.links.get(session)?.settle();
    this.touched.clear();
    this.#reportTime();
    const saved = this.sender?.writer.takeChanges();
    const { outputs } = this;
    this.outputs = [];
    return saved ? [saved, ...outputs] : outputs;
  }

  /** Does what time alone has made due. */
  #performDue() {
    const { uptime } = this;
    for (const attempt of [...this.attempts]) {
      if (attempt.until <= uptime) attempt.due();
      if (attempt.waitDeadline > uptime) continue;
      attempt.waitDeadline = Infinity;
      for (const stream of [...this.streams]) stream.giveWay();
    }
    if (this.planTime <= uptime) this.makePlan();
    this.sender?.performDue();
  }

  #reportTime() {
    let earliest = Math.min(this.planTime, this.sender?.until ?? Infinity);
    for (const { until, waitDeadline } of this.attempts) earliest = Math.min(earliest, until, waitDeadline);
    if (earliest !== this.#wakeTime) this.outputs.push(["wakeMe", this.#wakeTime = earliest]);
  }

  /** @param {string} session */
  link(session) {
    let link = this.links.get(session);
    if (!link) this.links.set(session, link = new SessionLink(this, session));
    this.touched.add(session);
    return link;
  }

  // --- following

  /** @param {string} session @param {Following} following */
  follow(session, following) {
    this.followed.add(session);
    this.link(session).follow(following);
    this.changePlan();
  }

  /** @param {string} session */
  leave(session) {
    const link = this.links.get(session);
    if (link) link.following = undefined;
    this.followed.delete(session);
    this.touched.add(session);
    this.changePlan();
  }

  /** C4: replaces silent streams, ends waits, and tries again what was refused. */
  wake() {
    for (const attempt of this.attempts) {
      attempt.failures = 0;
      attempt.isHurried = false;
      if (!attempt.id) attempt.until = this.uptime;
    }
    for (const session of this.links.keys()) this.link(session).wake();
    for (const stream of [...this.streams]) stream.wake();
    this.changePlan();
  }

  /** C3: a sign of life ends waits after a failure. */
  hurry() {
    for (const attempt of this.attempts) attempt.hurry();
  }

  /** Gives the connections back until `show`: what is seen resumes them (D8). */
  hide() {
    this.isHidden = true;
    this.changePlan();
  }

  show() {
    this.isHidden = false;
    this.wake();
    this.makePlan();
  }

  // --- streams

  /** The streams change a little later, together with other changes (C1). */
  changePlan() {
    this.planTime = Math.min(this.planTime, this.uptime + this.limits.gathering);
  }

  makePlan() {
    const { limits, mostSessions } = this;
    this.planTime = Infinity;
    /** @type {Wish[]} */
    const wishes = [];
    for (const session of this.followed) {
      const { reader, following, demand, wantsStream } = this.link(session);
      if (this.isHidden || !following || !wantsStream) continue;
      wishes.push({ session, demand, start: reader.seen ? "present" : following.start });
    }
    const existing = [...this.streams].filter((one) => one.isWanted);
    const groups = plan(wishes, existing, Math.min(limits.sessionsOnStream, mostSessions), limits.targetBytes);
    for (const stream of existing) stream.isWanted = groups.some((one) => one.same === stream);
    for (const { sessions, demand, start, same } of groups) {
      if (same) continue;
      const stream = new Stream(this, sessions, demand, start);
      this.streams.add(stream);
      stream.begin();
    }
    this.retireStreams();
  }

  /** Drops streams of an earlier plan that are not open, or when others have begun for their sessions (C1). */
  retireStreams() {
    const open = [...this.streams].filter((one) => one.isOpen);
    const carried = new Set(open.filter((one) => one.isWanted).flatMap((one) => [...one.live]));
    for (const stream of [...this.streams]) {
      const isNeeded = stream.isOpen && !this.isHidden &&
        [...stream.live].some((one) => !carried.has(one) && this.links.get(one)?.wantsStream);
      if (!stream.isWanted && !isNeeded) stream.drop();
    }
  }

  /** The stream that says how a session is followed: the newest that is open, else the newest. @param {string} session */
  carrier(session) {
    let newest;
    for (const stream of this.streams) {
      if (stream.live.has(session) && (!newest || stream.isOpen || !newest.isOpen)) newest = stream;
    }
    return newest;
  }

  /** The session has nothing more on any stream. @param {string} session */
  endOnStreams(session) {
    for (const stream of [...this.streams]) if (stream.live.delete(session) && !stream.live.size) stream.drop();
    this.touched.add(session);
  }

  /** The target of a redirection within the server's origin. @param {string} [location] */
  targetOf(location) {
    try {
      const { origin, pathname } = new URL(`${this.server}/`);
      const url = new URL(location || "x:", origin);
      const target = url.pathname + url.search;
      if (url.origin === origin && target.startsWith(pathname)) return target.slice(pathname.length - 1);
    } catch { /* It is no address. */ }
    return undefined;
  }

  // --- sending

  /** Has the half that sends loaded, unless it is there or on its way. */
  loadSender() {
    if (this.sender || this.#isLoading) return;
    this.#isLoading = true;
    this.outputs.push(["loadSender"]);
  }

  /** @param {(machine: ClientMachine) => Sender} make */
  senderLoaded(make) {
    this.sender = make(this);
    for (const link of this.links.values()) link.posting = this.sender.posting(link);
    this.sender.restore();
    for (const send of this.#early.splice(0)) this.sender.send(...send);
  }

  /** @param {string | undefined} why @param {number} until */
  outboxStuck(why, until) {
    this.outboxFault = why === undefined ? undefined : { why: `the outbox cannot be written: ${why}`, until };
    for (const session of this.links.keys()) this.touched.add(session);
  }

  /** The next send tries again. @param {string} reason */
  senderFailed(reason) {
    this.#isLoading = false;
    for (const [session] of this.#early.splice(0)) {
      const link = this.link(session);
      link.waitingActions = 0;
      link.deliver("notAccepted", { kind: "unreachable", problem: undefined, reason });
    }
  }

  /** @param {string} session @param {string[]} actions @param {SendOptions} options */
  send(session, actions, options) {
    const link = this.link(session);
    // The session may be left before its turn comes, and is made all the same.
    /** @type {Parameters<Sender["send"]>} */
    const send = [session, actions, { makes: link.following?.makes, ...options }];
    if (this.sender) return this.sender.send(...send);
    link.waitingActions += actions.length;
    this.#early.push(send);
    this.loadSender();
  }
}
