/** @import { ShownChange } from "./types.d.ts" */
/** @import { ReactorTypes } from "../reactor-client.d.ts" */

/**
 * The state that is shown before the server has answered: the unconfirmed actions over the confirmed state (R3).
 *
 * @template {ReactorTypes} R
 */
export class Prediction {
  #predict;
  /** In the order of their tickets. @type {{ ticket: number, actions: R["Action"][] }[]} */
  #overlay = [];
  /** @type {{ state: R["State"] } | undefined} */
  #shown;

  /** @param {(state: R["State"], action: R["Action"]) => R["State"]} predict */
  constructor(predict) {
    this.#predict = predict;
  }

  /**
   * @param {ShownChange} change
   * @param {{ state: R["State"] } | undefined} base there is none while the first state may contain an earlier action (R10)
   * @returns what is shown.
   */
  show({ advancesBase, left, joined }, base) {
    if (left.length) {
      const gone = new Set(left);
      this.#overlay = this.#overlay.filter((one) => !gone.has(one.ticket));
    }
    const last = this.#overlay[this.#overlay.length - 1]?.ticket ?? 0;
    const added = joined.map(({ ticket, actions }) => ({ ticket, actions: actions.map((one) => JSON.parse(one)) }));
    const isLast = added.every((one) => one.ticket > last);
    this.#overlay.push(...added);
    if (!isLast) this.#overlay.sort((a, b) => a.ticket - b.ticket);
    if (!base) return undefined;
    // Actions that join at the end are reduced over the shown state: else each reduces a
    // long queue anew.
    const shown = isLast && !advancesBase && !left.length ? this.#shown : undefined;
    const state = shown ? this.#reduce(shown.state, added) : this.#reduce(base.state, this.#overlay);
    return this.#shown = { state };
  }

  /** @param {R["State"]} state @param {{ actions: R["Action"][] }[]} sends */
  #reduce(state, sends) {
    for (const action of sends.flatMap((one) => one.actions)) {
      try {
        state = this.#predict(state, action);
      } catch { /* It is shown when the server has applied it. */ }
    }
    return state;
  }
}
