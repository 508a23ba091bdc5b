// A followed session, as the program has it: its states with their prediction, its readers,
// and its sends.

import { errorOf, ProblemError, ReactorError, TooSlowError, unless } from "./errors.js";
import { position } from "./following.js";
import { load, loaded } from "./loading.js";

/** @import { Delivery, Event, Following, LinkStatus as Link, ShownChange, Snapshot } from "./types.d.ts" */
/** @import { Driver } from "./driver.js" */
/** @import { Prediction } from "./prediction.js" */
/** @import { LinkStatus, LogEntry, Progress, Receipt, ReactorTypes, Session as Shape } from "../reactor-client.d.ts" */
/** @import { SessionEvent, SessionOptions, Ticket as TicketShape, View } from "../reactor-client.d.ts" */

/** Listeners whose faults are their program's own. @template {unknown[]} Values */
export class Listeners {
  /** @type {Set<(...values: Values) => void>} */
  #all = new Set();

  /** @param {(...values: Values) => void} listener @returns {() => void} */
  add(listener) {
    const one = /** @param {Values} values */ (...values) => listener(...values);
    this.#all.add(one);
    return () => void this.#all.delete(one);
  }

  /** @param {Values} values */
  call(...values) {
    for (const listener of [...this.#all]) {
      try {
        // One before it may have ended it.
        if (this.#all.has(listener)) listener(...values);
      } catch (error) {
        setTimeout(() => {
          throw error;
        });
      }
    }
  }
}

/** @param {string} text */
function checkPosition(text) {
  if (!position(String(text))) throw new TypeError(`"${text}" is not a session position`);
}

/** Takes a send back, unless it has left. @param {Driver} driver @param {string} session @param {() => number | undefined} find its number */
export const discard = (driver, session, find) => /** @type {Promise<boolean>} */ (new Promise((resolve) => {
  const isAccepted = driver.postLater(() => {
    const number = find();
    const isQueued = number !== undefined && !!driver.machine?.sender?.isQueued(number, session);
    resolve(isQueued);
    return isQueued ? ["discard", number, session] : undefined;
  });
  if (!isAccepted) resolve(false);
}));

/** @implements {TicketShape} */
export class Ticket {
  /** @type {number | undefined} */
  number;
  /** @type {Progress | undefined} */
  progress;
  /** Whether somebody sees how it ends. */
  isWatched = false;
  /** Called when it is durable. @type {(() => void) | undefined} */
  replaces;
  /** @type {Listeners<[Progress]>} */
  #listeners = new Listeners();
  #driver;
  #session;

  /** @param {Driver} driver @param {string} session */
  constructor(driver, session) {
    this.#driver = driver;
    this.#session = session;
  }

  /** @returns {Promise<Receipt>} */
  get done() {
    return new Promise((resolve, reject) => {
      this.on((progress) => {
        if (progress.kind === "applied") resolve(progress.receipt);
        else if (progress.kind === "failed") reject(progress.error);
      });
    });
  }

  /** @param {(progress: Progress) => void} listener */
  on(listener) {
    const { progress, number } = this;
    this.isWatched = true;
    if (progress?.kind === "failed" && number !== undefined) this.#driver.post("seen", number);
    if (progress) listener(progress);
    return this.#listeners.add(listener);
  }

  /** @returns {Promise<boolean>} */
  async discard() {
    await this.#driver.loading; // Then it has its number.
    return await discard(this.#driver, this.#session, () => this.number);
  }

  /** @param {Progress} progress */
  report(progress) {
    if (this.progress?.kind === "applied" || this.progress?.kind === "failed") return;
    this.progress = progress;
    if (progress.kind === "queued") this.replaces?.();
    this.#listeners.call(progress);
  }

  /** @param {Parameters<typeof errorOf>[0]} end */
  fail(end) {
    this.report({ kind: "failed", error: errorOf(end) });
  }
}

/**
 * @template {ReactorTypes} R
 * @implements {Shape<R>}
 */
export class Session {
  /** @type {Shape<R>["state"]} */
  state;
  /** @type {Shape<R>["confirmed"]} */
  confirmed;
  /** @type {string | undefined} */
  position;
  /** @type {LinkStatus} */
  status = { kind: "idle" };
  pending = 0;
  /** @type {Shape<R>["presence"]} */
  presence;
  #driver;
  #client;
  #options;
  /** The confirmed state below the unconfirmed actions. @type {{ state: R["State"] } | undefined} */
  #base;
  /** @type {Prediction<R> | undefined} */
  #prediction;
  /** The present values of pulses. @type {Map<string, unknown>} */
  #pulses = new Map();
  #isResetting;
  /** @type {View<R> | undefined} */
  #view;
  /** @type {Listeners<[]>} */
  #changes = new Listeners();
  /** @type {Listeners<[SessionEvent<R>]>} */
  #events = new Listeners();
  /** Loops over pulses: an assignment, or the end of all. @type {Listeners<[name?: string, value?: unknown]>} */
  #loops = new Listeners();
  /** @type {() => void} */
  #resolve = () => {};
  /** @type {(error: Error) => void} */
  #reject = () => {};

  /**
   * @param {string} id @param {SessionOptions<R>} options @param {Driver} driver
   * @param {import("../reactor-client.js").ReactorClient} client
   */
  constructor(id, options, driver, client) {
    const { from } = options;
    if (typeof from === "object") checkPosition(from.after);
    this.id = id;
    // Loops that begin before the first snapshot get its values, like those after a reset.
    this.#isResetting = (from ?? "present") === "present";
    this.send = this.send.bind(this);
    this.submit = this.submit.bind(this);
    this.#options = options;
    this.#driver = driver;
    this.#client = client;
    /** @type {Promise<void>} */
    this.ready = this.#await();
    driver.postLater(() => {
      if (this.#hasLeft) return undefined;
      // Not before its turn: what is delivered until then is another one's, who has left.
      driver.sinks.set(id, this.#receive);
      return ["follow", id, this.#following()];
    });
  }

  /** @returns {Promise<void>} */
  #await() {
    /** @type {Promise<void>} */
    const ready = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    ready.catch(() => {}); // It is no fault not to wait for it.
    return ready;
  }

  get reactor() {
    return this.#options.reactor;
  }

  /** C7. */
  get lastByteAt() {
    const at = this.#driver.machine?.carrier(this.id)?.lastByteAt;
    return at ? Math.round(Date.now() + at - performance.now()) : undefined;
  }

  get #hasLeft() {
    return this.status.kind === "ended" && this.status.reason === "left";
  }

  /** @returns {Following} */
  #following() {
    const { reactor, input, make = true, follow = {}, predict, from = "present" } = this.#options;
    const { states = true, pulses = true, activities = true, presence } = follow;
    const kept = this.#driver.keeper?.take(this.id);
    const saved = from === "present" || from === "saved" ? kept : undefined;
    const after = typeof from === "object" ? position(from.after) : from === "saved" ? saved?.position : undefined;
    return {
      demand: { states, pulses: Array.isArray(pulses) && !pulses.length ? false : pulses, activities, presence },
      makes: make && reactor ? JSON.stringify({ reactor, input }) : undefined,
      predicts: !!predict,
      start: from === "now" || from === "start" ? from : "present",
      after,
      saved,
    };
  }

  // --- news

  /** @type {(...delivery: Delivery) => void} */
  #receive = (...delivery) => {
    const [kind, value] = delivery;
    if (kind === "snapshot") this.#present(value);
    else if (kind === "state") this.#version(value, delivery[2]);
    else if (kind === "event") this.#happened(value);
    else if (kind === "shown") this.#show(value);
    else if (kind === "status") this.#report(value.link, value.pending);
    else if (kind === "presence") {
      this.presence = value;
      this.#changed();
    } else if (kind === "ended") this.#events.call({ kind, reason: value });
    else if (kind === "reset") {
      this.#isResetting = true;
      this.#events.call({ kind, reason: value });
    }
  };

  /** @param {Snapshot} snapshot */
  #present({ origin, position: { text }, state, pulses }) {
    // A program that continues after the position of a state that was read would miss events.
    if (origin !== "reading") this.position = text;
    if (pulses) this.#pulses = new Map(Object.entries(pulses));
    if (state) this.confirmed = /** @type {R["State"]} */ (state.value);
    if (origin !== "saved") this.#endReset(pulses ?? state?.value);
    if (state && origin !== "saved") {
      this.#events.call({ kind: "present", state: /** @type {R["State"]} */ (state.value), position: text });
    }
  }

  /**
   * After a reset the loops have the present values once more. The snapshot of a reset may be lost with its connection, or
   * none is to come: then the next state has them, as members.
   *
   * @param {unknown} values
   */
  #endReset(values) {
    if (!this.#isResetting || !values) return;
    this.#isResetting = false;
    for (const [name, value] of Object.entries(values)) {
      if (this.#pulses.has(name)) this.#pulses.set(name, value);
      this.#loops.call(name, value);
    }
  }

  /** @param {Event} event @param {boolean} isConfirmed */
  #version({ position: { text }, value, cause }, isConfirmed) {
    this.position = text;
    const state = /** @type {R["State"]} */ (value);
    if (isConfirmed) {
      this.confirmed = state;
      this.#endReset(value);
    }
    this.#events.call({ kind: "state", state, position: text, cause });
  }

  /** @param {Event} event */
  #happened({ name, position: { text }, value, cause }) {
    this.position = text;
    const { pulses = true, activities = true } = this.#options.follow ?? {};
    // Without a snapshot the names of the pulses are not known; an activity names itself.
    const tag = /** @type {{ type?: unknown } | null} */ (value)?.type;
    // A stream of several sessions brings what any of them follows.
    if (!this.#pulses.has(name) && tag === name) {
      if (!activities) return;
      return this.#events.call({ kind: "activity", name, value, position: text, cause });
    }
    if (Array.isArray(pulses) ? !pulses.includes(name) : !pulses) return;
    this.#pulses.set(name, value);
    this.#loops.call(name, value);
    this.#events.call({ kind: "pulse", name, value, position: text, cause });
  }

  /** R3. @param {ShownChange} change */
  #show(change) {
    const { predict } = this.#options;
    const { sending } = loaded;
    if (change.advancesBase) this.#base = { state: /** @type {R["State"]} */ (this.confirmed) };
    // Before the half that sends is loaded, there is nothing to predict.
    if (predict && sending) this.#prediction ??= new sending.Prediction(predict);
    const shown = this.#prediction ? this.#prediction.show(change, this.#base) : this.#base;
    if (!shown) return;
    this.state = shown.state;
    this.#resolve();
    this.#changed();
  }

  #changed() {
    this.#view = undefined;
    this.#changes.call();
  }

  /** @param {Link | LinkStatus} link @param {number} pending */
  #report(link, pending) {
    this.pending = pending;
    // A refused session is tried again.
    if (this.status.kind === "failed" && link.kind !== "failed") this.ready = this.#await();
    this.status = link.kind === "waiting" ? { ...link, until: Date.now() + link.until - performance.now() } : link;
    if (link.kind === "failed") this.#reject(new ProblemError(link.problem));
    if (link.kind === "ended") this.#over(link.reason);
    if (link.kind === "live" && !(this.#options.follow?.states ?? true)) this.#resolve();
    this.#changed();
  }

  /** @param {string} reason */
  #over(reason) {
    this.#reject(new ReactorError("ended", `the session ${this.id} has ended: ${reason}`));
    this.#loops.call();
  }

  // --- sending

  /**
   * @param {R["Action"] | R["Action"][]} action
   * @param {{ ifMatch?: string, settled?: number, signal?: AbortSignal }} [options]
   * @returns {Promise<Receipt>}
   */
  async send(action, { ifMatch, settled, signal } = {}) {
    signal?.throwIfAborted();
    if (ifMatch !== undefined) checkPosition(ifMatch);
    const ticket = this.#submit(Array.isArray(action) ? action : [action], { ifMatch, settled });
    try {
      return await unless(signal, ticket.done);
    } catch (error) {
      if (signal?.aborted) ticket.isWatched = false; // Nobody waits for it any more.
      throw error;
    }
  }

  /** @param {R["Action"]} action */
  submit(action) {
    return this.#submit([action], {});
  }

  /** @param {R["Action"][]} actions @param {import("./types.d.ts").SendOptions} options */
  #submit(actions, options) {
    const ticket = new Ticket(this.#driver, this.id);
    const fail = /** @param {unknown} [error] */ (error = "") =>
      ticket.fail({ kind: "notEncodable", reason: `the action is not encodable ${error}` });
    try {
      const texts = actions.map((action) => JSON.stringify(action));
      if (texts.includes(/** @type {any} */ (undefined))) fail();
      else this.#client.submit(ticket, this.id, texts, options);
    } catch (error) {
      fail(error);
    }
    return ticket;
  }

  // --- readers

  /** @param {() => void} listener */
  subscribe = (listener) => this.#changes.add(listener);

  getSnapshot = () => this.state;

  /** @returns {View<R>} */
  getView = () =>
    this.#view ??= {
      state: this.state,
      status: this.status,
      pending: this.pending,
      presence: this.presence,
    };

  /**
   * @template {keyof R["pulses"] & string} P
   * @param {P} pulse @param {(value: R["pulses"][P], event: { position: string, cause?: string | undefined }) => void} listener
   */
  on(pulse, listener) {
    return this.#events.add((event) => {
      if (event.kind === "pulse" && event.name === pulse) listener(/** @type {R["pulses"][P]} */ (event.value), event);
    });
  }

  /** @param {(activity: R["activities"][keyof R["activities"]], event: { position: string, cause?: string | undefined }) => void} listener */
  onActivity(listener) {
    return this.#events.add((event) => {
      if (event.kind === "activity") {
        listener(/** @type {R["activities"][keyof R["activities"]]} */ (event.value), event);
      }
    });
  }

  /** @param {(reason: string) => void} listener */
  onReset(listener) {
    return this.#events.add((event) => event.kind === "reset" && listener(event.reason));
  }

  /** @param {(event: SessionEvent<R>) => void} listener */
  onEvent(listener) {
    return this.#events.add(listener);
  }

  /**
   * @template {keyof R["pulses"] & string} P
   * @param {P} pulse @param {{ buffer?: number, signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<R["pulses"][P], void, undefined>}
   */
  async *pulse(pulse, { buffer = 1_024, signal } = {}) {
    const waiting = this.#pulses.has(pulse) ? [this.#pulses.get(pulse)] : [];
    let isOver = this.status.kind === "ended";
    let isTooSlow = false;
    let wake = () => {};
    const end = () => {
      isOver = true;
      wake();
    };
    const leave = this.#loops.add((name, value) => {
      if (name === undefined) return end();
      if (name !== pulse) return;
      if (waiting.length < buffer) waiting.push(value);
      else isTooSlow = true;
      wake();
    });
    signal?.addEventListener("abort", end);
    try {
      for (;;) {
        while (waiting.length && !signal?.aborted) yield /** @type {R["pulses"][P]} */ (waiting.shift());
        if (isTooSlow) throw new TooSlowError(buffer);
        if (isOver || signal?.aborted) return;
        await new Promise((resolve) => wake = () => resolve(undefined));
      }
    } finally {
      leave();
      signal?.removeEventListener("abort", end);
    }
  }

  /** @param {{ after?: string, live?: boolean, signal?: AbortSignal }} [options] @returns {AsyncGenerator<LogEntry, void, undefined>} */
  async *log(options = {}) {
    // Most pages never read a log.
    yield* (await load("log")).readLog(this.#driver, this.id, { ...options, isLeft: () => this.#hasLeft });
  }

  /** @param {number} version @returns {Promise<R["State"]>} */
  async at(version) {
    return (await this.#client.request("GET", `/v1/sessions/${this.id}?version=${version}`)).state;
  }

  /** @param {{ version?: number }} [options] @returns {Promise<Shape<R>>} */
  async fork({ version } = {}) {
    return (await load("calls")).fork(this.#client, this, this.#options, version);
  }

  async delete() {
    await this.#client.remove(this.id);
  }

  leave() {
    if (!this.#client.forget(this)) return;
    this.#driver.post("leave", this.id);
    this.finish();
  }

  /** Nothing follows. */
  finish() {
    if (this.status.kind === "ended") return;
    this.#report({ kind: "ended", reason: "left" }, this.pending);
    this.#events.call({ kind: "ended", reason: "left" });
    this.#driver.alert();
  }

  /** It cannot be followed at all. @param {import("./types.d.ts").Problem} problem */
  fail(problem) {
    this.#report({ kind: "failed", problem }, 0);
  }
}
