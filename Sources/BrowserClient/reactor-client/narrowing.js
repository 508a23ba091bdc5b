// A refused batch.

/**
 * O5: the numbers of sends in the next requests, while a refused batch is halved until the culprit stands
 * alone.
 */
export class Narrowing {
  /** @type {number[]} */
  #pieces = [];

  get most() {
    return this.#pieces[0] ?? Infinity;
  }

  /** The current request was refused with this number of sends, two or more, which wait again. @param {number} count */
  halve(count) {
    this.finish(count);
    const first = Math.ceil(count / 2);
    this.#pieces.unshift(first, count - first);
  }

  /** The current request with this number of sends is settled. @param {number} count */
  finish(count) {
    const piece = this.#pieces[0];
    if (piece === undefined) return;
    if (piece > count) this.#pieces[0] = piece - count;
    else this.#pieces.shift();
  }

  /** The send at this index of the lane was taken back. @param {number} index */
  discard(index) {
    let end = 0;
    const found = this.#pieces.findIndex((piece) => index < (end += piece));
    const piece = this.#pieces[found];
    if (piece !== undefined) this.#pieces.splice(found, 1, ...piece > 1 ? [piece - 1] : []);
  }
}
