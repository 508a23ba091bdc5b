// The machine's streams: which sessions share one, and the life of their connections.

import { Attempt, isRefusal, json, problemOf } from "./attempts.js";
import { EventStreamDecoder, position, vector } from "./following.js";

/** @import { ClientMachine } from "./machine.js" */
/** @import { Block, Demand, Position, Problem, Request, Response, Start, Wish } from "./types.d.ts" */

/** Whether a response is an event stream. @param {Response} response */
export const isStream = ({ status, field }) =>
  status === 200 && /^text\/event-stream/i.test(field("content-type") ?? "");

/** @param {Demand} demand */
const demandText = ({ states, pulses, activities, presence }) => {
  const kinds = [pulses && "pulses", activities && "activities", states && "states"].filter(Boolean);
  const names = Array.isArray(pulses) ? [...pulses].sort() : [];
  const named = names.map((name) => `pulse=${encodeURIComponent(name)}`);
  return [`only=${kinds}`, ...named, ...presence ? ["presence=on"] : []].join("&");
};

/** A stream of one or several sessions, over all of its connections. */
export class Stream extends Attempt {
  /** @override */
  isStream = true;
  /** Whether it is part of the plan; else it ends as soon as others have begun (C1). */
  isWanted = true;
  /** Its connection brings events. */
  isOpen = false;
  openedAt = 0;
  lastByteAt = 0;
  /** The sessions of which events can come. @type {Set<string>} */
  live;
  /** A response that is no stream. @type {Response | undefined} */
  #refusal;
  /** Of the next connection only: the service may never answer there. @type {string | undefined} */
  #redirect;
  /** The redirects since a stream was last open. Every fourth one is not followed. */
  #redirects = 0;
  /** The entries of the sessions of which nothing has come on this connection. @type {Map<string, Position | "-">} */
  #awaited = new Map();
  /** Something of each session has come: where they began makes no difference any more. @type {boolean | undefined} */
  hasBegun;
  /** The states of this connection may come as patches of those before. */
  #isPatched = false;
  #decoder;
  /** A larger `retry:` later means that the server drains. @type {number | undefined} */
  #firstRetry;
  #hasBlock = false;

  /**
   * @param {ClientMachine} machine @param {string[]} sessions @param {Demand} demand
   * @param {Start} start for the sessions of which nothing is seen
   */
  constructor(machine, sessions, demand, start) {
    super(machine, sessions);
    this.demand = demand;
    this.start = start;
    this.live = new Set(sessions);
    this.#decoder = new EventStreamDecoder(machine.limits.eventBytes);
  }

  /** The wait that the server asks for. */
  get #retryWait() {
    return this.#decoder.retry ?? 0;
  }

  /** Whether the connection has shown that the server works (C3). */
  get #isProven() {
    const { isOpen, openedAt, machine } = this;
    return isOpen && this.#hasBlock && machine.uptime - openedAt >= machine.limits.proven;
  }

  /** The request of the next connection, which resumes each session by what is seen of it. @returns {Request} @override */
  request() {
    const { demand, machine, sessions, live, start } = this;
    const isNew = start !== "present";
    // C8: only where every previous state is known, or comes as a snapshot.
    let asksForPatches = machine.acceptsPatches && demand.states;
    this.#awaited.clear();
    const entries = sessions.map((one) => {
      if (!live.has(one)) return "x";
      const { reader } = machine.link(one);
      if (isNew) reader.beginAgain();
      asksForPatches &&= reader.seen ? !!reader.base : !isNew;
      this.#awaited.set(one, reader.seen ?? "-");
      return reader.seen ?? "-";
    });
    this.until = machine.uptime + machine.limits.opening;
    this.#decoder = new EventStreamDecoder(machine.limits.eventBytes);
    this.#firstRetry = undefined;
    this.#hasBlock = false;
    const isJoint = sessions.length > 1;
    let target = isJoint
      ? `/v1/events?${sessions.map((one) => `session=${one}&`).join("")}ids=own&`
      : `/v1/sessions/${sessions}/events?`;
    target += demandText(demand);
    if (asksForPatches) target += "&form=patch";
    if (machine.as) target += `&as=${encodeURIComponent(machine.as)}`;
    if (isNew && entries.includes("-")) target += `&from=${start}`;
    if (entries.some((one) => one !== "-")) target += `&after=${vector(entries)}`;
    target = this.#redirect ?? target;
    this.#isPatched = target.includes("&form=patch");
    return { method: "GET", target, fields: { Accept: "text/event-stream" } };
  }

  /** @param {Response} response */
  streamOpened(response) {
    const { machine } = this;
    if (response.status === 401 && this.asksAgain(problemOf(response))) return this.#reopen();
    this.touch();
    this.lastByteAt = this.openedAt = machine.uptime;
    this.isOpen = isStream(response);
    if (!this.isOpen) this.#refusal = response;
    else {
      this.#redirects = 0;
      this.until = machine.uptime + machine.limits.silence;
      machine.hurry();
      machine.retireStreams();
    }
  }

  /** @param {Uint8Array} bytes */
  streamBytes(bytes) {
    const { machine } = this;
    if (!this.isOpen) return;
    let events;
    try {
      events = this.#decoder.receive(bytes);
    } catch (error) {
      return this.#breakOff(`the stream cannot be read: ${error}`);
    }
    this.lastByteAt = machine.uptime;
    this.until = machine.uptime + machine.limits.silence;
    this.#firstRetry ??= this.#decoder.retry;
    this.#hasBlock ||= !!events.length;
    for (const event of events) {
      if (event.name === "problem") {
        const { code, detail } = json(event.data) ?? {};
        const problem = { status: 0, code: String(code), detail: String(detail) };
        if (code === "token_invalid" && this.asksAgain(problem)) return this.#reopen();
        this.note(problem);
        return this.#breakOff(problem.detail, this.#retryWait);
      }
      const [session, block] = this.#block(event);
      block.isPatch = this.#isPatched && block.name === "patch";
      const fault = machine.links.get(session)?.feed(block, this);
      if (fault) return this.#breakOff(fault);
    }
    if (this.#isProven) this.succeed();
  }

  /** The session and the block that an event is about. @param {import("./types.d.ts").StreamEvent} event @returns {[string, Block]} */
  #block({ name, data, id, cause }) {
    const { sessions } = this;
    if (sessions.length < 2) return [sessions[0] ?? "", { name, data, position: position(id), cause }];
    // An id of a session has no slash: the first one splits.
    const split = /** @param {string} text */ (text) => /^(?:([^/]*)\/)?(.*)$/s.exec(text) ?? [];
    const [, owner, place = ""] = split(id);
    const [, session = "", rest = ""] = name ? split(name) : [, owner];
    return [session, { name: rest, data, position: owner === session ? position(place) : undefined, cause }];
  }

  /** The session's entry, for its first event on a connection. @param {string} session */
  beginEvents(session) {
    const entry = this.#awaited.get(session);
    this.#awaited.delete(session);
    this.hasBegun ||= !this.#awaited.size;
    return entry;
  }

  /** C4: a silent one is replaced. */
  wake() {
    const { machine, isWanted, isOpen, lastByteAt } = this;
    if (isWanted && isOpen && machine.uptime - lastByteAt > machine.limits.silenceOnWake) this.#reopen();
  }

  /** Gives up the connection for a request that waits for one, until that has its response. */
  giveWay() {
    const { machine } = this;
    if (!this.isOpen) return;
    this.close();
    this.schedule("its connection is used for a request", machine.limits.opening);
    this.from = machine.uptime;
    machine.retireStreams();
  }

  /** Closes the connection, and opens the stream again at once. */
  #reopen() {
    this.close();
    if (this.isWanted) this.begin();
    else this.machine.retireStreams();
  }

  /** Closes the connection, as after a failure. @param {string} why @param {number} [minimum] */
  #breakOff(why, minimum) {
    this.close();
    this.retry(why, minimum);
    this.machine.retireStreams();
  }

  /** @override */
  end() {
    super.end();
    this.isOpen = false;
    this.#refusal = this.#redirect = undefined;
  }

  /** @param {string} why @override */
  requestFailed(why) {
    this.problem = undefined;
    this.streamEnded(why);
  }

  /** @param {string} [why] */
  streamEnded(why) {
    const refusal = this.#refusal;
    const isProven = this.#isProven;
    this.end();
    if (refusal) return this.#refused(refusal);
    if (!this.isWanted) return this.drop();
    if (isProven) this.succeed();
    // C3: one that worked and ended cleanly is opened again at once, unless the server
    // spreads its clients.
    const minimum = this.#retryWait > (this.#firstRetry ?? Infinity) ? this.#retryWait : 0;
    if (why !== undefined || !isProven) this.retry(why ?? "the stream has ended", minimum);
    else if (minimum) this.schedule("the server is shutting down", minimum);
    else this.begin();
  }

  /** C5: the meaning of a response that is no stream. @param {Response} response */
  #refused(response) {
    const { machine, sessions, live } = this;
    const problem = problemOf(response);
    const { status, code } = problem;
    const isAlone = sessions.length < 2;
    const target = status === 307 || status === 308 ? machine.targetOf(response.field("location")) : undefined;
    const hasNone = code === "unknown_path";
    const hasFewer = code === "too_many_sessions" || status === 414 || status === 431;
    if (/^(unknown_parameter|bad_form)$/.test(code) && this.#isPatched) {
      machine.acceptsPatches = false;
      this.begin();
    } else if (code === "unknown_session" && isAlone) {
      for (const one of [...live]) {
        machine.link(one).over("unknown");
      }
    } else if (target && ++this.#redirects % 4) {
      this.#redirect = target;
      this.begin();
    } else if (!isAlone && (hasNone || hasFewer)) {
      // C2: a limit of the server's is below this client's. Not the same stream again, though
      // sessions of it may be over.
      machine.mostSessions = Math.min(machine.mostSessions, hasNone ? 1 : Math.floor(sessions.length / 2));
      this.isWanted = false;
      machine.makePlan();
    } else if (isRefusal(problem)) {
      for (const one of live) machine.link(one).fail(problem);
      this.drop();
      machine.retireStreams();
    } else {
      // 204 means that they have ended, but a proxy may send it too.
      if (status === 204) { for (const one of live) machine.link(one).reading.isDoubted = true; }
      this.retryAfter(response, problem);
    }
  }

  drop() {
    this.close();
    this.machine.streams.delete(this);
  }
}

/** @param {boolean | string[]} a @param {boolean | string[]} b */
const unionOfPulses = (a, b) => a === true || b === true ? true : !a ? b : !b ? a : [...new Set([...a, ...b])];

/** The demand of all of these sessions together. @param {Wish[]} wishes @returns {Demand} */
const union = (wishes) =>
  wishes.map((one) => one.demand).reduce((a, b) => ({
    states: a.states || b.states,
    pulses: unionOfPulses(a.pulses, b.pulses),
    activities: a.activities || b.activities,
    presence: a.presence || b.presence,
  }));

/**
 * Which sessions share a stream (C1, C2): those that want states, and those that do not. A stream whose
 * sessions and demand are unchanged stays as it is.
 *
 * @param {Wish[]} wishes in the order in which the sessions were followed
 * @param {Stream[]} existing the streams of the plan before
 * @param {number} most sessions on one stream
 * @param {number} targetBytes
 */
export function plan(wishes, existing, most, targetBytes) {
  /** @param {Wish[]} list */
  const fits = (list) =>
    list.length <= most && list.reduce((sum, one) => sum + one.session.length + 50, 0) <= targetBytes;
  /** @type {{ sessions: string[], demand: Demand, start: Start, same: Stream | undefined }[]} */
  const groups = [];
  const kindOf = /** @param {{ demand: Demand, start: Start, hasBegun?: boolean | undefined }} one */ (one) =>
    `${one.demand.states} ${one.hasBegun ? "present" : one.start}`;
  for (const kind of new Set(wishes.map(kindOf))) {
    const members = wishes.filter((one) => kindOf(one) === kind);
    const streams = existing.filter((one) => kindOf(one) === kind);
    const homes = streams.map((stream) => members.filter((wish) => stream.live.has(wish.session)))
      .filter((home) => home.length && fits(home));
    const placed = new Set(homes.flat());
    for (const wish of members) {
      if (placed.has(wish)) continue;
      const room = homes.find((home) => fits([...home, wish]));
      if (room) room.push(wish);
      else homes.push([wish]);
    }
    // Streams that have become small are joined, when that saves one.
    const joined = homes.slice(-2).flat();
    if (homes.length > 1 && fits(joined)) homes.splice(-2, 2, joined);
    for (const home of homes) {
      const sessions = home.map((wish) => wish.session);
      const demand = union(home);
      const same = streams.find((stream) =>
        stream.live.size === sessions.length && sessions.every((one) => stream.live.has(one)) &&
        demandText(stream.demand) === demandText(demand)
      );
      groups.push({ sessions, demand, start: home[0]?.start ?? "present", same });
    }
  }
  return groups;
}
