// The newest confirmed states of an outbox that keeps them, for `from: "saved"`. They
// are no promise.

import { position } from "./following.js";

/** @import { Driver } from "./driver.js" */
/** @import { Change, Delivery, Position, Saved } from "./types.d.ts" */
/** @import { OutboxChange } from "../reactor-client.d.ts" */

/** A state is written at most every 5 s. */
const saveInterval = 5_000;

export class StateKeeper {
  /** The states that an earlier page has saved. @type {Map<string, Saved>} */
  saved = new Map();
  /** @type {Map<string, { value: unknown }>} */
  #newest = new Map();
  /** Those that are not written yet. @type {Map<string, OutboxChange>} */
  #unsaved = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #driver;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  /** @param {Change} change */
  restore(change) {
    if (change.type !== "state") return;
    const at = position(change.position ?? "");
    if (at) this.saved.set(change.session, { position: at, state: change.state });
  }

  /** Gives a state away, once: later it is too old. @param {string} session */
  take(session) {
    const saved = this.saved.get(session);
    this.saved.delete(session);
    return saved;
  }

  /** @param {string} session @param {Delivery} delivery */
  note(session, ...delivery) {
    if (delivery[0] === "snapshot" && delivery[1].state) this.#newest.set(session, delivery[1].state);
    else if (delivery[0] === "state" && delivery[2]) this.#newest.set(session, delivery[1]);
    else if (delivery[0] === "ended") {
      this.#newest.delete(session);
      this.#unsaved.set(session, /** @type {OutboxChange} */ ({ type: "state", session }));
      this.save();
    }
  }

  /** @param {string} session @param {Position} at */
  keep(session, at) {
    const state = this.#newest.get(session);
    if (!state) return;
    const change = { type: "state", session, position: at.text, state: state.value };
    this.#unsaved.set(session, change);
    this.#timer ??= setTimeout(() => this.save(), saveInterval);
  }

  /** A session is left: what is kept of it is written. @param {string} session */
  forget(session) {
    this.save();
    this.#newest.delete(session);
  }

  /** Writes the states now. A failure is that of the next action. */
  save() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#unsaved.size) return;
    const changes = [...this.#unsaved.values()];
    this.#unsaved.clear();
    try {
      this.#driver.storage?.write(changes)?.catch(() => {});
    } catch { /* As above. */ }
  }
}
