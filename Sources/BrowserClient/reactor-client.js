// The client of a server of reactors, for browsers and Node: plain modules, no dependency, no build step.

import { problemOf } from "./reactor-client/answers.js";
import { limits } from "./reactor-client/attempts.js";
import { Driver, watchPage } from "./reactor-client/driver.js";
import { InDoubtError, ProblemError, ReactorError, TooSlowError } from "./reactor-client/errors.js";
import { Listeners, progressOf, Session } from "./reactor-client/session.js";

/** @import { Ticket } from "./reactor-client/session.js" */
/** @import { Delivery, SendOptions } from "./reactor-client/types.d.ts" */
/** @import { ClientOptions, HostedReactor, ReactorClient as Shape, ReactorTypes } from "./reactor-client.d.ts" */
/** @import { Outbox, Refusal, Session as SessionShape, SessionLine, SessionOptions } from "./reactor-client.d.ts" */

export { InDoubtError, ProblemError, ReactorError, TooSlowError };

/** @param {string | URL} server */
function addressOf(server) {
  const text = String(server);
  /** @param {string} fault @returns {never} */
  const fail = (fault) => {
    throw new TypeError(`"${text}" is no address of a server: ${fault}`);
  };
  if (!/^https?:\/\//i.test(text)) fail("it begins with neither http:// nor https://");
  if (text.includes("?")) fail("it has a query");
  if (text.includes("#")) fail("it has a fragment");
  let url;
  try {
    url = new URL(text);
  } catch {
    fail("its host or its port is no such");
  }
  if (url?.username || url?.password) fail("it has a user; give a token in the options");
  return url ? url.origin + url.pathname.replace(/\/+$/, "") : "";
}

const refusals = {
  empty: "there is no action to send",
  ended: "the session has ended",
  outboxFull: "the outbox is full: it has at most 10 000 actions, and 16 MiB of them",
};

/** @implements {Shape} */
export class ReactorClient {
  #driver;
  #options;
  #unwatch;
  /** Why there is no outbox. @type {import("./reactor-client.d.ts").Problem | undefined} */
  #failure;
  /** @type {Map<string, Session<any>>} */
  #sessions = new Map();
  /** Sends that the machine has not numbered yet, in their order. @type {Ticket[]} */
  #unnumbered = [];
  /** @type {Map<number, Ticket>} */
  #tickets = new Map();
  /** With the settlement of each, so that nobody hears of it twice. @type {Listeners<[Refusal, object | undefined]>} */
  #refusals = new Listeners();
  /** Of pages that are gone: each sends what it has, and ends. @type {Set<Driver>} */
  #orphans = new Set();

  /** @param {string | URL} server @param {ClientOptions} [options] */
  constructor(server, options = {}) {
    this.server = addressOf(server);
    this.#options = options;
    this.#driver = new Driver(this.server, options, {
      deliver: (session, delivery) => this.#receive(session, delivery),
      adopt: (orphan) => this.#adopt(orphan),
    });
    this.opened = this.#driver.opened;
    this.opened.catch((error) => {
      this.#failure = { status: 0, code: "outbox_unavailable", detail: String(error.message ?? error) };
      for (const ticket of this.#unnumbered.splice(0)) ticket.report(failed(this.#failure.code, this.#failure.detail));
      for (const session of this.#sessions.values()) session.fail(this.#failure);
    });
    this.#unwatch = watchPage((what) => this.#notice(what), options.hiddenAfter ?? 60_000);
  }

  /** @param {"hide" | "show" | "wake"} what */
  #notice(what) {
    for (const driver of [this.#driver, ...this.#orphans]) driver.notice(what);
  }

  /** Sends what a page that is gone has left. @param {Outbox} outbox */
  #adopt(outbox) {
    const endIfEmpty = () => {
      const { lanes, settlements } = driver.machine?.outbox ?? {};
      if (lanes?.size || settlements?.size) return;
      this.#orphans.delete(driver);
      driver.close();
    };
    /** @type {Driver} */
    const driver = new Driver(this.server, { ...this.#options, outbox }, {
      deliver: (session, [kind, ticket, outcome]) => {
        if (kind === "outcome" && outcome) this.#refuse(driver, session, ticket, progressOf(outcome));
        endIfEmpty();
      },
    });
    driver.opened.then(() => {
      this.#reportUnseen(driver, this.#refusals);
      endIfEmpty();
    }, () => this.#orphans.delete(driver));
    this.#orphans.add(driver);
  }

  // --- sessions

  /**
   * @template {ReactorTypes} R
   * @param {string} id @param {SessionOptions<R>} [options]
   * @returns {SessionShape<R>}
   */
  session(id, options = {}) {
    if (!/^[\w-]{1,128}$/.test(id)) throw new TypeError(`"${id}" is no id of a session: 1 to 128 of A-Z a-z 0-9 _ -`);
    if (this.#driver.isClosing) throw new ReactorError("closed", "the client is closed");
    let session = this.#sessions.get(id);
    if (session?.status.kind === "ended") session.leave(); // It may exist by now.
    if (!session || session.status.kind === "ended") {
      this.#sessions.set(id, session = new Session(id, options, this.#driver, this));
      if (this.#failure) session.fail(this.#failure);
    } else if (options.reactor !== undefined && session.reactor !== options.reactor) {
      throw new ReactorError("followed_otherwise", `the session ${id} is followed as one of ${session.reactor}`);
    }
    return session;
  }

  /**
   * @template {ReactorTypes} R
   * @param {SessionOptions<R> & { reactor: string, fork?: { session: string, version?: number } }} options
   * @returns {Promise<SessionShape<R>>}
   */
  async create({ fork, ...options }) {
    const { reactor } = options;
    const { id } = await this.request("POST", "/v1/sessions", fork ? { reactor, from: fork } : { reactor });
    return this.session(id, /** @type {SessionOptions<R>} */ (options));
  }

  /** @returns {Promise<HostedReactor[]>} */
  async reactors() {
    return (await this.request("GET", "/v1/reactors")).reactors;
  }

  /**
   * @param {{ prefix?: string, reactor?: string, after?: string, limit?: number }} [options]
   * @returns {AsyncGenerator<SessionLine, void, undefined>}
   */
  async *sessions(options = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) if (value) query.set(name, String(value));
    for (;;) {
      const { sessions, next } = await this.request("GET", `/v1/sessions?${query}`);
      yield* sessions;
      if (next === undefined) return;
      query.set("after", next);
    }
  }

  /** @param {Session<any>} session @returns whether it was followed. */
  forget(session) {
    if (this.#sessions.get(session.id) !== session) return false;
    this.#driver.forget(session.id);
    return this.#sessions.delete(session.id);
  }

  // --- sending

  /** @param {Ticket} ticket @param {string} session @param {string[]} actions @param {SendOptions} options */
  submit(ticket, session, actions, options) {
    if (this.#driver.isClosing) return ticket.report(failed("closed", "the client is closed"));
    if (this.#failure) return ticket.report(failed(this.#failure.code, this.#failure.detail));
    // Before the outbox is open nothing else bounds them.
    if (this.#unnumbered.length >= limits.actionsInOutbox) {
      return ticket.report(failed("outbox_full", refusals.outboxFull));
    }
    this.#unnumbered.push(ticket);
    this.#driver.post(["send", session, actions, options]);
  }

  /** @param {string} session @param {Delivery} delivery */
  #receive(session, delivery) {
    if (delivery[0] === "accepted") {
      const ticket = this.#unnumbered.shift();
      if (ticket) this.#tickets.set(ticket.number = delivery[1], ticket);
    } else if (delivery[0] === "notAccepted") {
      const { kind, problem, reason } = delivery[1];
      const code = kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const text = /** @type {Record<string, string>} */ (refusals)[kind] ?? reason ?? kind;
      const error = problem ? new ProblemError(problem) : new ReactorError(code, text);
      this.#unnumbered.shift()?.report({ kind: "failed", error });
    } else if (delivery[0] === "outcome") {
      const [, number, outcome] = delivery;
      const progress = progressOf(outcome);
      const ticket = this.#tickets.get(number);
      if (progress.kind === "applied" || progress.kind === "failed") this.#tickets.delete(number);
      const isSeen = ticket?.report(progress);
      if (outcome.kind !== "refused" && outcome.kind !== "inDoubt") return;
      this.#refuse(this.#driver, session, number, progress);
      if (isSeen) this.#driver.post(["seen", number]);
    }
  }

  /** @param {Driver} driver @param {string} session @param {number} ticket @param {import("./reactor-client.d.ts").Progress} progress */
  #refuse(driver, session, ticket, progress) {
    if (progress.kind !== "failed") return;
    const refusal = { session, error: progress.error, dismiss: () => void driver.post(["seen", ticket]) };
    this.#refusals.call(refusal, driver.machine?.outbox.settlements.get(ticket));
  }

  /** The failures of an earlier page, or of one that is gone. @param {Driver} driver @param {Listeners<[Refusal, object | undefined]>} listeners */
  #reportUnseen(driver, listeners) {
    for (const settlement of driver.machine?.outbox.settlements.values() ?? []) {
      const { ticket, session, problem } = settlement;
      const error = problem ? new ProblemError(problem) : new InDoubtError();
      listeners.call({ session, error, dismiss: () => void driver.post(["seen", ticket]) }, settlement);
    }
  }

  /** @param {"refusal"} _ @param {(refusal: Refusal) => void} listener */
  on(_, listener) {
    const told = new WeakSet();
    /** @type {Listeners<[Refusal, object | undefined]>} */
    const own = new Listeners();
    const end = own.add((refusal, settlement) => {
      if (settlement && told.has(settlement)) return;
      if (settlement) told.add(settlement);
      listener(refusal);
    });
    const endOthers = this.#refusals.add((...values) => own.call(...values));
    for (const driver of [this.#driver, ...this.#orphans]) {
      driver.opened.then(() => this.#reportUnseen(driver, own), () => {});
    }
    return () => {
      end();
      endOthers();
    };
  }

  // --- requests

  /** @param {string} method @param {string} path @param {unknown} [body] */
  async request(method, path, body) {
    if (this.#driver.isClosing) throw new ReactorError("closed", "the client is closed");
    const fields = { Accept: "application/json", ...body === undefined ? {} : { "Content-Type": "application/json" } };
    const request = { method, target: path, fields, ...body === undefined ? {} : { body: JSON.stringify(body) } };
    let response;
    try {
      response = await this.#driver.call(request);
    } catch (error) {
      throw new ReactorError("unreachable", /** @type {Error} */ (error).message);
    }
    const { status, body: text } = response;
    if (status < 200 || status >= 300) throw new ProblemError(problemOf(response));
    try {
      return text ? JSON.parse(text) : undefined;
    } catch {
      throw new ReactorError("unreachable", `the answer to ${path} has no JSON`);
    }
  }

  wake() {
    this.#notice("wake");
  }

  async close() {
    this.#unwatch();
    await Promise.all([this.#driver, ...this.#orphans].map((driver) => driver.close()));
    for (const session of this.#sessions.values()) session.finish();
    for (const ticket of [...this.#tickets.values(), ...this.#unnumbered]) {
      ticket.report(failed("closed", "the client was closed before the answer came: it may have been applied or not"));
    }
    this.#sessions.clear();
    this.#tickets.clear();
  }
}

/** @param {string} code @param {string} message @returns {import("./reactor-client.d.ts").Progress} */
const failed = (code, message) => ({ kind: "failed", error: new ReactorError(code, message) });
