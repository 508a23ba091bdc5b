// The machine's owner: carries its requests with `fetch`, loads what it needs, and is its clock.

import { limits } from "./attempts.js";
import { load } from "./loading.js";
import { ClientMachine } from "./machine.js";
import { isStream } from "./streams.js";

/** @import { Storage } from "./storage.js" */
/** @import { Change, Delivery, Input, Output, Request, Response } from "./types.d.ts" */
/** @import { ClientOptions, Outbox as Store } from "../reactor-client.d.ts" */

/** @param {unknown} error */
export const sentence = (error) => {
  const { message, cause } = /** @type {Error & { cause?: Error }} */ (error);
  return cause?.message ? `${message}: ${cause.message}` : String(message);
};

/** A timer of a browser has 31 bits. */
const longest = 2 ** 31 - 1;

/** @returns {undefined} */
const nobody = () => undefined;

/** Runs a machine: between the program, an outbox and `fetch`. */
export class Driver {
  /** @type {ClientMachine | undefined} Until the outbox is open there is none. */
  machine;
  /** The outbox of the program, if it has given one. @type {Storage | undefined} */
  storage;
  /** Settles when the half that sends is loaded or has failed. @type {Promise<void> | undefined} */
  loading;
  /** The followed sessions. @type {Map<string, (...delivery: Delivery) => void>} */
  sinks = new Map();
  isClosing = false;
  /** The page is hidden, and gives its connections back. */
  isHidden = false;
  /** Called when the page is hidden or shown, a session is left, or the client is closed. @type {Set<() => void>} */
  readers = new Set();
  options;
  /** @type {(() => Input | undefined)[]} */
  #inputs = [];
  #isRunning = false;
  /** The outbox cannot be opened. */
  #hasFailed = false;
  /** @type {Promise<void> | undefined} */
  #closed;
  /** @type {Map<unknown, AbortController>} */
  #controllers = new Map();
  /** @type {Set<Promise<void>>} */
  #tasks = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {string} server
   * @param {ClientOptions} options
   * @param {(session: string, ...delivery: Delivery) => void} deliver
   * @param {(orphan: Store) => void} [adopt]
   */
  constructor(server, options, deliver, adopt = nobody) {
    this.server = server;
    this.options = options;
    this.deliver = deliver;
    this.opened = this.#open(adopt);
    this.opened.catch(() => {
      this.#hasFailed = true;
      for (const input of this.#inputs.splice(0)) input();
    });
  }

  /** @param {(orphan: Store) => void} adopt */
  async #open(adopt) {
    const { as, outbox, token } = this.options;
    if (outbox) {
      const { Storage } = await load("storage");
      this.storage = new Storage(this, outbox);
      this.#inputs.unshift(await this.storage.open(adopt));
    }
    this.machine = new ClientMachine({
      server: this.server,
      as,
      asksForTokens: !!token,
      keepsStates: !!this.keeper,
      // Over plain HTTP a browser has HTTP/1.1, and six connections to a server for
      // all of its tabs.
      hasFewConnections: typeof document !== "undefined" && this.server.startsWith("http:"),
      random: { fraction: Math.random },
    });
    this.post("timer");
  }

  /** The states that the outbox keeps, if it does. */
  get keeper() {
    return this.storage?.keeper;
  }

  /**
   * Notes what has happened, and lets the machine decide; after the present decision, if there is one. Returns whether
   * it is accepted: not by a client that is closed, or has no outbox.
   *
   * @type {(...input: Input) => boolean}
   */
  post = (...input) => this.postLater(() => input);

  /** The same with an input that is made when it is its turn. @param {() => Input | undefined} input */
  postLater(input) {
    if (this.isClosing || this.#hasFailed) return false;
    this.#inputs.push(input);
    if (this.#isRunning || !this.machine) return true;
    this.#isRunning = true;
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) {
        const found = next();
        const now = { uptime: performance.now(), date: Math.floor(Date.now() / 1_000) };
        if (found) { for (const output of this.machine.receive(found, now)) this.#perform(output); }
      }
    } finally {
      this.#isRunning = false; // A fault in one input is not the end of all others.
    }
    return true;
  }

  /** The page is hidden or shown, or the network may be back. @param {"hide" | "show" | "wake"} what */
  notice(what) {
    if (what !== "wake") this.isHidden = what === "hide";
    this.post(what);
    this.alert();
  }

  /** Lets the readers look around. */
  alert() {
    for (const reader of [...this.readers]) reader();
  }

  /** @param {string} session */
  forget(session) {
    this.keeper?.forget(session);
    this.sinks.delete(session);
  }

  /** @param {Output} output */
  #perform([kind, ...values]) {
    const [id, value] = /** @type {any} */ (values);
    if (kind === "persist") return this.#persist(id, value);
    if (kind === "deliver") {
      this.keeper?.note(id, ...value);
      this.sinks.get(id)?.(...value);
      return this.deliver(id, ...value);
    }
    if (kind === "keepState") return this.keeper?.keep(id, value);
    if (kind === "cancelRequest" || kind === "closeStream") return this.abort(id);
    if (this.isClosing) return;
    if (kind === "loadSender") this.loading = this.#loadSender();
    else if (kind === "wakeMe") this.#wakeAt(id);
    else if (kind === "askForToken") {
      this.token(value).then(
        (found) => this.post("token", id, found),
        (error) => this.post("token", id, undefined, `no token: ${sentence(error)}`),
      );
    } else {this.run(id, (signal) =>
        kind === "request" ? this.#request(id, value, signal) : this.#stream(id, value, signal));}
  }

  /** Timers may be a little early. @param {number} time */
  #wakeAt(time) {
    clearTimeout(this.#timer);
    if (time === Infinity) return;
    const wait = Math.min(Math.max(Math.ceil(time - performance.now()), 0), longest);
    this.#timer = setTimeout(() => performance.now() < time ? this.#wakeAt(time) : this.post("timer"), wait);
  }

  // --- sending

  async #loadSender() {
    /** @type {Input} */
    let input;
    try {
      const { keySource, Sender } = await load("sending");
      const drawKey = await keySource();
      input = ["senderLoaded", (machine) => new Sender(machine, drawKey)];
    } catch (error) {
      input = ["senderFailed", `what sends cannot be loaded: ${sentence(error)}`];
    }
    this.post(...input);
  }

  /** What is not kept is durable at once. @param {number} number @param {Change[]} changes */
  #persist(number, changes) {
    if (this.storage) this.storage.persist(number, changes);
    else this.post("persisted", number);
  }

  // --- requests

  /** @param {string} [refused] */
  async token(refused) {
    return await this.options.token?.(refused === undefined ? {} : { refused }) ?? undefined;
  }

  /** The client is closed after it. @param {Promise<void>} task */
  track(task) {
    this.#tasks.add(task);
    task.finally(() => this.#tasks.delete(task));
  }

  /** @param {unknown} id @param {(signal: AbortSignal) => Promise<void>} body */
  run(id, body) {
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    if (this.isClosing) controller.abort();
    this.track(
      body(controller.signal).finally(() => {
        this.#controllers.delete(id);
        controller.abort(); // A body that was not read to its end.
      }),
    );
  }

  /** @param {unknown} id */
  abort(id) {
    this.#controllers.get(id)?.abort();
  }

  /** @param {Request} request @param {AbortSignal} signal */
  fetch({ method, target, fields, body }, signal) {
    const { fetch = globalThis.fetch } = this.options;
    /** @type {RequestInit} */
    const init = { method, headers: fields, signal, redirect: "manual", cache: "no-store" };
    if (body !== undefined) {
      init.body = body;
      // The page may be about to go: the browser then still delivers the request.
      init.keepalive = globalThis.document?.visibilityState === "hidden" && body.length < 20_000;
    }
    return fetch(this.server + target, init);
  }

  /** @param {globalThis.Response} response @param {boolean} [mayStream] @returns {Promise<Response>} */
  async read({ status, type, headers, body: stream }, mayStream = false) {
    /** @type {Response} */
    const found = {
      // A browser shows nothing of a redirection.
      status: type === "opaqueredirect" ? 302 : status,
      body: "",
      field: (name) => headers.get(name) ?? undefined,
    };
    const decoder = new TextDecoder();
    if (mayStream && isStream(found)) return found;
    for await (const part of parts(stream)) {
      found.body += decoder.decode(part, { stream: true });
      if (found.body.length > limits.eventBytes) throw new Error("the answer is too large");
    }
    return found;
  }

  /** @param {number} id @param {Request} request @param {AbortSignal} signal */
  async #request(id, request, signal) {
    try {
      this.post("answered", id, await this.read(await this.fetch(request, signal)));
    } catch (error) {
      this.post("requestFailed", id, sentence(error));
    }
  }

  /** @param {number} id @param {Request} request @param {AbortSignal} signal */
  async #stream(id, request, signal) {
    let why;
    try {
      const response = await this.fetch(request, signal);
      this.post("streamOpened", id, await this.read(response, true));
      if (!response.bodyUsed) { for await (const part of parts(response.body)) this.post("streamBytes", id, part); }
    } catch (error) {
      why = sentence(error);
    }
    this.post("streamEnded", id, why);
  }

  /** Ends what is under way. The outbox has the rest. @returns {Promise<void>} */
  close() {
    return this.#closed ??= this.#close();
  }

  async #close() {
    await this.opened.catch(nobody);
    this.keeper?.save();
    this.isClosing = true;
    clearTimeout(this.#timer);
    this.alert();
    for (const controller of this.#controllers.values()) controller.abort();
    while (this.#tasks.size) await Promise.allSettled(this.#tasks);
    await this.options.outbox?.close();
  }
}

/** The parts of a body: not every browser can iterate over one. @param {ReadableStream<Uint8Array> | null} body */
async function* parts(body) {
  const reader = body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) yield part.value;
}

/**
 * The numbers of this page's clients, by their servers. Hot reloading makes this module anew, and
 * leaves clients behind.
 *
 * @type {Record<string, number>}
 */
const clients = /** @type {any} */ (globalThis)[Symbol.for("reactor-client")] ??= {};

/**
 * Lets a client know of the page: one that is hidden gives its connections back after a while (D8).
 *
 * @param {string} server @param {(what: "hide" | "show" | "wake") => void} notice
 * @param {number} hiddenAfter
 * @returns {() => void} ends it.
 */
export function watchPage(server, notice, hiddenAfter) {
  if (typeof document === "undefined" || typeof addEventListener === "undefined") return nobody;
  const count = clients[server] = (clients[server] ?? 0) + 1;
  if (count > 1) {
    console.warn(
      `this page has ${count} clients of ${server}, each with its connection: close() the unused ones`,
    );
  }
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") notice("show");
    else if (hiddenAfter <= longest) timer = /** @type {any} */ (setTimeout(notice, hiddenAfter, "hide"));
  };
  // A page in the back/forward cache has no connections.
  const leave = /** @param {PageTransitionEvent} event */ ({ persisted }) => persisted && notice("hide");
  const ending = new AbortController();
  const on = /** @param {string} kind @param {(event: any) => void} act @param {EventTarget} [target] */ (
    kind,
    act,
    target = globalThis,
  ) => target.addEventListener(kind, act, ending);
  on("visibilitychange", look, document);
  on("pageshow", look);
  on("pagehide", leave);
  on("online", () => notice("wake"));
  if (document.visibilityState === "hidden") look();
  return () => {
    clearTimeout(timer);
    if (!ending.signal.aborted) clients[server] = (clients[server] ?? 1) - 1;
    ending.abort();
  };
}
