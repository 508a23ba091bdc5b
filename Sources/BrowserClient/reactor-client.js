// The client of a server of reactors, for browsers and Node: plain modules, no dependency,
// no build step.

import { limits } from "./reactor-client/attempts.js";
import { Driver, watchPage } from "./reactor-client/driver.js";
import { errorOf, InDoubtError, ProblemError, ReactorError, TooSlowError } from "./reactor-client/errors.js";
import { load, loaded } from "./reactor-client/loading.js";
import { Listeners, Session, Ticket } from "./reactor-client/session.js";

/** @import { Tickets } from "./reactor-client/tickets.js" */
/** @import { Delivery, SendOptions } from "./reactor-client/types.d.ts" */
/** @import { ClientOptions, HostedReactor, ReactorClient as Shape, ReactorTypes } from "./reactor-client.d.ts" */
/** @import { Outbox, Problem, Refusal, Session as SessionShape, SessionLine, SessionOptions } from "./reactor-client.d.ts" */

export { InDoubtError, ProblemError, ReactorError, TooSlowError };

/** @param {string | URL} server */
function addressOf(server) {
  const text = String(server);
  let url;
  try {
    url = new URL(text);
  } catch { /* The fault is named below. */ }
  const { search, hash, username, password } = url ?? {};
  const fault = !/^https?:\/\//i.test(text)
    ? "it begins with neither http:// nor https://"
    : !url
    ? "its host or its port is invalid"
    : search || hash || username || password;
  if (fault || !url) throw new TypeError(`"${text}" is not a server address: ${fault}`);
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** @implements {Shape} */
export class ReactorClient {
  #driver;
  #unwatch;
  /** Why there is no outbox. @type {Problem | undefined} */
  #failure;
  /** @type {Map<string, Session<any>>} */
  #sessions = new Map();
  /** Sends that the machine has not numbered yet, in their order. @type {Ticket[]} */
  #unnumbered = [];
  /** @type {Tickets | undefined} */
  #numbered;
  /** With the settlement of each, so that nobody hears of it twice. @type {Listeners<[Refusal, object | undefined]>} */
  #refusals = new Listeners();
  /** Its own, and those of pages that are gone: each of these sends what it has, and ends. @type {Set<Driver>} */
  #drivers = new Set();

  /** @param {string | URL} server @param {ClientOptions} [options] */
  constructor(server, options = {}) {
    this.server = addressOf(server);
    this.#driver = new Driver(this.server, options, this.#receive, this.#adopt);
    this.#drivers.add(this.#driver);
    this.opened = this.#driver.opened;
    this.opened.catch((error) => {
      this.#failure = { status: 0, code: "outbox_unavailable", detail: String(error.message ?? error) };
      for (const ticket of this.#unnumbered.splice(0)) this.#failUnopened(ticket, this.#failure);
      for (const session of this.#sessions.values()) session.fail(this.#failure);
    });
    this.#unwatch = watchPage(this.server, (what) => this.#notice(what), options.hiddenAfter ?? 60_000);
  }

  /** @param {"hide" | "show" | "wake"} what */
  #notice(what) {
    for (const driver of this.#drivers) driver.notice(what);
  }

  /** Sends what a page that is gone has left. @param {Outbox} outbox */
  #adopt = (outbox) => loaded.storage.adopt(outbox, this.#driver, this.#drivers, this.#tickets);

  // --- sessions

  /**
   * @template {ReactorTypes} R
   * @param {string} id @param {SessionOptions<R>} [options]
   * @returns {SessionShape<R>}
   */
  session(id, options = {}) {
    if (!/^[\w-]{1,128}$/.test(id)) throw new TypeError(`"${id}" is not a session id: [\\w-]{1,128}`);
    if (this.#driver.isClosing) throw errorOf({ kind: "closed" });
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
  async create(options) {
    return (await load("calls")).create(this, options);
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
    yield* (await load("calls")).sessions(this.#driver, options);
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
    if (this.#driver.isClosing) return ticket.fail({ kind: "closed" });
    if (this.#failure) return this.#failUnopened(ticket, this.#failure);
    // Before the outbox is open nothing else bounds them.
    if (this.#unnumbered.length >= limits.actionsInOutbox) return ticket.fail({ kind: "outboxFull" });
    this.#unnumbered.push(ticket);
    this.#driver.post("send", session, actions, options);
  }

  /** @param {Ticket} ticket @param {Problem} problem */
  #failUnopened(ticket, { detail: reason }) {
    ticket.fail({ kind: "outboxUnavailable", reason });
  }

  /** @type {(session: string, ...delivery: Delivery) => void} */
  #receive = (session, ...delivery) => {
    const [kind, value, outcome] = delivery;
    if (kind === "accepted") this.#tickets?.add(value, this.#unnumbered.shift());
    else if (kind === "notAccepted") this.#unnumbered.shift()?.fail(value);
    else if (kind === "outcome") this.#tickets?.report(session, value, outcome);
  };

  /** The sends that the machine has numbered: there are none before the half that sends is loaded. */
  get #tickets() {
    const { sending } = loaded;
    return sending && (this.#numbered ??= new sending.Tickets(this.#driver, this.#refusals, this.#again));
  }

  /** @param {string} session @param {string[]} actions @param {() => void} replaces */
  #again = (session, actions, replaces) => {
    const ticket = new Ticket(this.#driver, session);
    ticket.replaces = replaces;
    this.submit(ticket, session, actions, {});
    return ticket;
  };

  get pendingSends() {
    return this.#tickets?.pending(this.#drivers) ?? [];
  }

  /** @param {"refusal"} _ @param {(refusal: Refusal) => void} listener */
  on(_, listener) {
    const told = new WeakSet();
    const end = this.#refusals.add((refusal, settlement = refusal) => {
      if (told.has(settlement)) return;
      told.add(settlement);
      listener(refusal);
    });
    for (const driver of this.#drivers) driver.opened.then(() => this.#tickets?.reportUnseen(driver), () => {});
    return end;
  }

  // --- requests

  /** @param {string} method @param {string} path @param {unknown} [body] */
  async request(method, path, body) {
    return (await load("calls")).request(this.#driver, method, path, body);
  }

  /** @param {string} session */
  async remove(session) {
    await (await load("calls")).remove(this.#driver, session);
  }

  wake() {
    this.#notice("wake");
  }

  async close() {
    this.#unwatch();
    await Promise.all([...this.#drivers].map((driver) => driver.close()));
    for (const session of this.#sessions.values()) session.finish();
    this.#tickets?.close();
    for (const ticket of this.#unnumbered) ticket.fail({ kind: "closed" });
    this.#sessions.clear();
  }
}
