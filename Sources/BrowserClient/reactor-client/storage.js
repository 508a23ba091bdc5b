// The outbox that a program has given: what is sent is durable in it before it leaves.

import { adopt } from "./adopting.js";
import { waitRange } from "./attempts.js";
import { sentence } from "./driver.js";
import { StateKeeper } from "./keeping.js";
import { keySource } from "./keys.js";
import { loaded } from "./loading.js";
import { Outbox } from "./outbox.js";
import { Sender } from "./sender.js";
import "./sending.js";

/** @import { Driver } from "./driver.js" */
/** @import { Change, Input } from "./types.d.ts" */
/** @import { Outbox as Store, OutboxChange } from "../reactor-client.d.ts" */

export class Storage {
  /** The states that it keeps, if it does. @type {StateKeeper | undefined} */
  keeper;
  #driver;
  #store;
  /** Changes that are not durable, and the number of the last of them. @type {OutboxChange[]} */
  #changes = [];
  #last = 0;
  #isWriting = false;
  #failures = 0;

  /** @param {Driver} driver @param {Store} store */
  constructor(driver, store) {
    this.#driver = driver;
    this.#store = store;
    if (store.keepsStates) this.keeper = new StateKeeper(driver);
  }

  /** @param {(orphan: Store) => void} adopt @returns {Promise<() => Input>} the first input of the machine. */
  async open(adopt) {
    const outbox = new Outbox();
    const drawKey = await keySource();
    for (const change of /** @type {Change[]} */ (await this.#store.open(adopt))) {
      this.keeper?.restore(change);
      if (!outbox.apply(change)) throw new Error("the outbox contradicts itself");
    }
    return () => ["senderLoaded", (machine) => new Sender(machine, drawKey, outbox)];
  }

  /** @param {number} number @param {OutboxChange[]} changes */
  persist(number, changes) {
    this.#changes.push(...changes);
    this.#last = number;
    if (!this.#isWriting) this.#write();
  }

  /** Writes one batch at a time, and repeats a failed one before any later one. */
  #write() {
    const [changes, last] = [this.#changes, this.#last];
    this.#isWriting = true;
    const done = () => {
      this.#isWriting = false;
      this.#changes = this.#changes.slice(changes.length);
      if (this.#failures) this.#driver.post("outboxStuck", undefined, 0);
      this.#failures = 0;
      if (this.#changes.length) this.#write();
      this.#driver.post("persisted", last);
    };
    const failed = /** @param {unknown} error */ (error) => {
      const reason = sentence(error);
      if (/** @type {{ isFinal?: boolean }} */ (error).isFinal) return void this.#driver.post("persistFailed", reason);
      const wait = 250 + Math.random() * waitRange(this.#failures++);
      this.#driver.post("outboxStuck", reason, performance.now() + wait);
      const timer = setTimeout(() => this.#driver.isClosing || this.#write(), wait);
      // Does not keep a finished program alive.
      /** @type {{ unref?: () => void }} */ (/** @type {unknown} */ (timer)).unref?.();
    };
    this.#changes = [...changes];
    try {
      const writing = this.write(changes);
      if (writing) writing.then(done, failed);
      else done();
    } catch (error) {
      failed(error);
    }
  }

  /** @param {OutboxChange[]} changes @returns {Promise<void> | void} */
  write(changes) {
    const writing = this.#store.write(changes);
    if (writing) this.#driver.track(writing.catch(() => {}));
    return writing;
  }
}

loaded.storage = { adopt, Storage };
