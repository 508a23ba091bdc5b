// The machine's owner: carries its requests with `fetch`, keeps its outbox, and is its clock.

import { limits } from "./attempts.js";
import { unless } from "./errors.js";
import { ClientMachine } from "./machine.js";
import { position } from "./following.js";
import { Outbox } from "./sending.js";

/** @import { Delivery, Input, Output, Position, Request, Response, Saved } from "./types.d.ts" */
/** @import { ClientOptions, Outbox as Store, OutboxChange } from "../reactor-client.d.ts" */

/** @param {unknown} error */
const sentence = (error) => {
  const { message, cause } = /** @type {Error & { cause?: Error }} */ (error);
  return cause?.message ? `${message}: ${cause.message}` : String(message);
};

/** @param {Crypto} crypto */
const key = (crypto) => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").slice(0, 22);
};

const nobody = () => {};

/** @type {Store} */
const memory = { open: () => [], write: nobody, close: nobody };

/** Runs a machine: between the program, an outbox and `fetch`. */
export class Driver {
  /** @type {ClientMachine | undefined} Until the outbox is open there is none. */
  machine;
  /** The states that an earlier page has saved. @type {Map<string, Saved>} */
  saved = new Map();
  /** The followed sessions. @type {Map<string, (delivery: Delivery) => void>} */
  sinks = new Map();
  #options;
  #store;
  /** @type {(() => Input | undefined)[]} */
  #inputs = [];
  #isRunning = false;
  isClosing = false;
  /** @type {Promise<void> | undefined} */
  #closed;
  /** The outbox cannot be opened. */
  hasFailed = false;
  /** The page is hidden, and gives its connections back. */
  isHidden = false;
  /** Called when the page is hidden or shown, a session is left, or the client is closed. @type {Set<() => void>} */
  readers = new Set();
  /** @type {Map<number | string, AbortController>} */
  #controllers = new Map();
  /** @type {Set<Promise<void>>} */
  #tasks = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** The newest confirmed states, if they are kept. @type {Map<string, { value: unknown }>} */
  #newest = new Map();
  /** Saved states that are not written yet. @type {Map<string, OutboxChange>} */
  #unsaved = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #saving;
  #calls = 0;

  /**
   * @param {string} server
   * @param {ClientOptions} options
   * @param {{ deliver?: (session: string, delivery: Delivery) => void, adopt?: (orphan: Store) => void }} owner
   */
  constructor(server, options, owner = {}) {
    this.server = server;
    this.#options = options;
    this.owner = owner;
    this.#store = options.outbox ?? memory;
    /** @type {Promise<void>} */
    this.opened = this.#open();
    this.opened.catch(() => {
      this.hasFailed = true;
      for (const input of this.#inputs.splice(0)) input();
    });
  }

  async #open() {
    // Node 18 has it in a module alone, whose name a bundler must not see.
    const name = "node:crypto";
    const random = globalThis.crypto ?? (await import(name)).webcrypto;
    const opening = this.#store.open((orphan) => this.owner.adopt?.(orphan));
    const changes = opening instanceof Promise ? await opening : opening;
    const outbox = new Outbox();
    for (const change of /** @type {import("./types.d.ts").Change[]} */ (changes)) {
      if (change.type === "state") {
        const at = position(change.position ?? "");
        if (at) this.saved.set(change.session, { position: at, state: change.state });
      } else if (!outbox.apply(change)) throw new Error("the outbox contradicts itself");
    }
    this.machine = new ClientMachine({
      server: this.server,
      outbox,
      asksForTokens: !!this.#options.token,
      keepsStates: this.#store.keepsStates ?? false,
      random: { fraction: Math.random, key: () => key(random) },
    });
    this.post(["timer"]);
  }

  /**
   * Notes what has happened, and lets the machine decide; after the present decision, if there is one.
   *
   * @param {Input | (() => Input | undefined)} input a function is called when it is the input's turn
   * @returns whether it is accepted: not by a client that is closed, or has no outbox
   */
  post(input) {
    if (this.isClosing || this.hasFailed) return false;
    this.#inputs.push(typeof input === "function" ? input : () => input);
    if (this.#isRunning || !this.machine) return true;
    this.#isRunning = true;
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const found = next();
        if (!found) continue;
        const now = { uptime: performance.now(), date: Math.floor(Date.now() / 1_000) };
        for (const output of this.machine.receive(found, now)) this.#perform(output);
      }
    } finally {
      this.#isRunning = false; // A fault in one input is not the end of all others.
    }
    return true;
  }

  /** The page is hidden or shown, or the network may be back. @param {"hide" | "show" | "wake"} what */
  notice(what) {
    if (what !== "wake") this.isHidden = what === "hide";
    this.post([what]);
    this.alert();
  }

  /** Lets the readers look around. */
  alert() {
    for (const reader of [...this.readers]) reader();
  }

  /** A session is left: what is kept of it is written. @param {string} session */
  forget(session) {
    this.save();
    this.sinks.delete(session);
    this.#newest.delete(session);
  }

  /** @param {Output} output */
  #perform(output) {
    switch (output[0]) {
      case "persist":
        return this.#persist(output[1], output[2]);
      case "deliver":
        return this.#deliver(output[1], output[2]);
      case "keepState":
        return this.#keep(output[1], output[2]);
      case "cancelRequest":
      case "closeStream":
        return this.#controllers.get(output[1])?.abort();
      case "wakeMe":
        clearTimeout(this.#timer);
        // A timer of a browser has 31 bits.
        if (output[1] < Infinity && !this.isClosing) {
          const wait = Math.min(Math.max(output[1] - performance.now(), 0), 2 ** 31 - 1);
          this.#timer = setTimeout(() => this.#tick(output[1]), wait);
        }
        return;
    }
    if (this.isClosing) return;
    const [kind, id, value] = output;
    if (kind === "askForToken") this.#ask(id, value);
    else {this.#run(id, (signal) =>
        kind === "request" ? this.#request(id, value, signal) : this.#stream(id, value, signal));}
  }

  /** Timers may be a little early. @param {number} time */
  #tick(time) {
    const rest = time - performance.now();
    if (rest > 0) this.#timer = setTimeout(() => this.#tick(time), Math.min(Math.ceil(rest), 2 ** 31 - 1));
    else this.post(["timer"]);
  }

  // --- the outbox

  /** @param {number} number @param {OutboxChange[]} changes */
  #persist(number, changes) {
    const failed = /** @param {unknown} error */ (error) => void this.post(["persistFailed", sentence(error)]);
    try {
      const writing = this.#store.write(changes);
      if (writing) this.#track(writing.then(() => void this.post(["persisted", number]), failed));
      else this.post(["persisted", number]);
    } catch (error) {
      failed(error);
    }
  }

  /** Saves a state, at most every 5 s. @param {string} session @param {Position} at */
  #keep(session, at) {
    const state = this.#newest.get(session);
    if (!state) return;
    this.#unsaved.set(
      session,
      /** @type {OutboxChange} */ ({ type: "state", session, position: at.text, state: state.value }),
    );
    this.#saving ??= setTimeout(() => this.save(), 5_000);
  }

  /** Writes the saved states now. They are no promise: a failure is that of the next action. */
  save() {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    if (!this.#unsaved.size) return;
    const changes = [...this.#unsaved.values()];
    this.#unsaved.clear();
    try {
      const writing = this.#store.write(changes);
      if (writing) this.#track(writing.catch(nobody));
    } catch { /* As above. */ }
  }

  /** @param {string} session @param {Delivery} delivery */
  #deliver(session, delivery) {
    if (this.#store.keepsStates) {
      if (delivery[0] === "snapshot" && delivery[1].state) this.#newest.set(session, delivery[1].state);
      else if (delivery[0] === "state" && delivery[2]) this.#newest.set(session, delivery[1]);
      else if (delivery[0] === "ended") {
        this.#newest.delete(session);
        this.#unsaved.set(session, /** @type {OutboxChange} */ ({ type: "state", session }));
        this.save();
      }
    }
    this.sinks.get(session)?.(delivery);
    this.owner.deliver?.(session, delivery);
  }

  // --- requests

  /** @param {number} id @param {string | undefined} refused */
  async #ask(id, refused) {
    try {
      this.post(["token", id, await this.token(refused)]);
    } catch {
      this.post(["token", id, undefined]);
    }
  }

  /** @param {string} [refused] */
  async token(refused) {
    return await this.#options.token?.(refused === undefined ? {} : { refused }) ?? undefined;
  }

  /** @param {Promise<void>} task */
  #track(task) {
    this.#tasks.add(task);
    task.finally(() => this.#tasks.delete(task));
  }

  /** @param {number | string} id @param {(signal: AbortSignal) => Promise<void>} body */
  #run(id, body) {
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    if (this.isClosing) controller.abort();
    this.#track(
      body(controller.signal).finally(() => {
        this.#controllers.delete(id);
        controller.abort(); // A body that was not read to its end.
      }),
    );
  }

  /** @param {Request} request @param {AbortSignal} signal */
  fetch({ method, target, fields, body }, signal) {
    const { fetch = globalThis.fetch } = this.#options;
    /** @type {RequestInit} */
    const init = { method, headers: fields, signal, redirect: "manual", cache: "no-store" };
    if (body !== undefined) {
      init.body = body;
      // The page may be about to go: the browser then still delivers the request.
      init.keepalive = globalThis.document?.visibilityState === "hidden" && body.length < 20_000;
    }
    return fetch(this.server + target, init);
  }

  /** @param {globalThis.Response} response @param {boolean} [isHead] @returns {Promise<Response>} */
  async read(response, isHead) {
    let body = "";
    const decoder = new TextDecoder();
    const reader = isHead ? undefined : response.body?.getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      body += decoder.decode(part.value, { stream: true });
      if (body.length > limits.eventBytes) throw new Error("the answer is too large");
    }
    // A browser shows nothing of a redirection.
    const status = response.type === "opaqueredirect" ? 302 : response.status;
    return { status, body, field: (name) => response.headers.get(name) ?? undefined };
  }

  /** @param {number} id @param {Request} request @param {AbortSignal} signal */
  async #request(id, request, signal) {
    try {
      this.post(["answered", id, await this.read(await this.fetch(request, signal))]);
    } catch (error) {
      this.post(["requestFailed", id, sentence(error)]);
    }
  }

  /** @param {number} id @param {Request} request @param {AbortSignal} signal */
  async #stream(id, request, signal) {
    try {
      const response = await this.fetch(request, signal);
      const isStream = response.status === 200 &&
        /^text\/event-stream/i.test(response.headers.get("content-type") ?? "");
      this.post(["streamOpened", id, await this.read(response, isStream)]);
      const reader = isStream ? response.body?.getReader() : undefined;
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        this.post(["streamBytes", id, part.value]);
      }
      this.post(["streamEnded", id, undefined]);
    } catch (error) {
      this.post(["streamEnded", id, sentence(error)]);
    }
  }

  /**
   * Sends a request beside the machine once; with another token a second time, if the first is refused. Rejects
   * without an answer in 30 s.
   *
   * @param {Request} request @param {AbortSignal} [signal]
   * @returns {Promise<Response>}
   */
  async call(request, signal) {
    const id = `call ${++this.#calls}`;
    /** @type {string | undefined} */
    let refused;
    for (;;) {
      /** @type {string | undefined} */
      let token;
      const response = await unless(
        signal,
        /** @type {Promise<Response>} */ (new Promise((resolve, reject) =>
          this.#run(id, async (own) => {
            /** @type {ReturnType<typeof setTimeout> | undefined} */
            let timer;
            const abort = () => this.#controllers.get(id)?.abort();
            signal?.addEventListener("abort", abort);
            try {
              token = await unless(own, this.token(refused));
              timer = setTimeout(abort, limits.answer);
              const fields = token === undefined
                ? request.fields
                : { ...request.fields, Authorization: `Bearer ${token}` };
              resolve(await this.read(await this.fetch({ ...request, fields }, own)));
            } catch (error) {
              reject(new Error(sentence(error)));
            }
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
          })
        )),
      );
      if (response.status !== 401 || token === undefined || refused !== undefined) return response;
      refused = token;
    }
  }

  /** Ends what is under way. The outbox has the rest. @returns {Promise<void>} */
  close() {
    return this.#closed ??= this.#close();
  }

  async #close() {
    await this.opened.catch(nobody);
    this.save();
    this.isClosing = true;
    clearTimeout(this.#timer);
    this.alert();
    for (const controller of this.#controllers.values()) controller.abort();
    while (this.#tasks.size) await Promise.allSettled(this.#tasks);
    await this.#store.close();
  }
}

/**
 * Lets a client know of the page: one that is hidden gives its connections back after a while (D8).
 *
 * @param {(what: "hide" | "show" | "wake") => void} notice @param {number} hiddenAfter
 * @returns {() => void} ends it.
 */
export function watchPage(notice, hiddenAfter) {
  if (typeof document === "undefined" || typeof addEventListener === "undefined") return nobody;
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") notice("show");
    else if (hiddenAfter < 2 ** 31) timer = /** @type {any} */ (setTimeout(() => notice("hide"), hiddenAfter));
  };
  // A page in the back/forward cache has no connections.
  const leave = /** @param {PageTransitionEvent} event */ (event) => event.persisted && notice("hide");
  const online = () => notice("wake");
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  addEventListener("pagehide", leave);
  addEventListener("online", online);
  if (document.visibilityState === "hidden") look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
    removeEventListener("pageshow", look);
    removeEventListener("pagehide", leave);
    removeEventListener("online", online);
  };
}
