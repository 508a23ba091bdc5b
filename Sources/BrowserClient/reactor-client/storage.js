// The outbox that a program has given: what is sent is durable in it before it leaves.

import { sentence } from "./driver.js";
import { StateKeeper } from "./keeping.js";
import * as half from "./sending.js";

/** @import { Driver } from "./driver.js" */
/** @import { Change, Input } from "./types.d.ts" */
/** @import { Outbox as Store, OutboxChange } from "../reactor-client.d.ts" */

export class Storage {
  /** The states that it keeps, if it does. @type {StateKeeper | undefined} */
  keeper;
  #driver;
  #store;

  /** @param {Driver} driver @param {Store} store */
  constructor(driver, store) {
    this.#driver = driver;
    this.#store = store;
    driver.half = half;
    if (store.keepsStates) this.keeper = new StateKeeper(driver);
  }

  /** @param {(orphan: Store) => void} adopt @returns {Promise<() => Input>} the first input of the machine. */
  async open(adopt) {
    const outbox = new half.Outbox();
    const drawKey = await half.keySource();
    for (const change of /** @type {Change[]} */ (await this.#store.open(adopt))) {
      this.keeper?.restore(change);
      if (!outbox.apply(change)) throw new Error("the outbox contradicts itself");
    }
    return () => ["senderLoaded", (machine) => new half.Sender(machine, drawKey, outbox)];
  }

  /** @param {number} number @param {OutboxChange[]} changes */
  persist(number, changes) {
    const done = () => void this.#driver.post("persisted", number);
    const failed = /** @param {unknown} error */ (error) => void this.#driver.post("persistFailed", sentence(error));
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
