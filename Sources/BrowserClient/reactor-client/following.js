// The incoming part: positions, event streams, and the events of a session, each once and in order.

import { json } from "./attempts.js";
import { patched, share } from "./patching.js";

/** @import { Block, Demand, Delivery, Position, Snapshot, StreamEvent } from "./types.d.ts" */

const FORM = /^([a-z0-9]{8})\.(0|[1-9]\d{0,19})(?:\.([1-9]\d{0,9}))?$/;

/** Compares decimal numbers as text: they reach 2⁶⁴. @param {string} a @param {string} b */
export const compare = (a, b) => a.length - b.length || +(a > b) - +(a < b);

/**
 * Reads `<generation>.<number>[.<part>]`; undefined for a text that no server writes.
 *
 * @param {string} text
 * @returns {Position | undefined}
 */
export function position(text) {
  const [, generation, number, part = ""] = FORM.exec(text) ?? [];
  if (!generation || !number) return undefined;
  if (compare(number, "18446744073709551615") > 0 || compare(part, "4294967295") > 0) return undefined;
  return { text, generation, number, part };
}

/**
 * R7: whether everything up to `b` is seen when everything up to `a` is. The events of a record have
 * parts and come before its bare position.
 *
 * @param {Position} a @param {Position} b
 */
export function reaches(a, b) {
  if (a.generation !== b.generation) return false;
  const order = compare(a.number, b.number);
  if (order) return order > 0;
  return !a.part || (!!b.part && compare(a.part, b.part) >= 0);
}

/** The vector that resumes a stream of many sessions. @param {(Position | "-" | "x")[]} entries */
export const vector = (entries) => entries.map((one) => typeof one === "string" ? one : one.text).join(",");

/** Decodes an event stream as it arrives (HTML standard §9.2.5 and §9.2.6): any cut gives the same events. */
export class EventStreamDecoder {
  id = "";
  /** @type {number | undefined} The last `retry:`, in milliseconds. */
  retry;
  // Deno 2.9 removes a mark from the beginning of each chunk: this class does it once.
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #isFirst = true;
  #endedInReturn = false;
  /** A line whose end has not come. */
  #line = "";
  /** The fields of an event whose end has not come. @type {{ data?: string, event?: string, id?: string, cause?: string }} */
  #fields = {};
  #limit;

  /** @param {number} limit the length of a line, and of an event's data, from which on `receive` throws */
  constructor(limit) {
    this.#limit = limit;
  }

  /**
   * @param {Uint8Array} bytes
   * @returns the complete events; one with an id alone has an empty name.
   */
  receive(bytes) {
    /** @type {StreamEvent[]} */
    const events = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (!text) return events;
    if ((this.#isFirst && text[0] === "\ufeff") || (this.#endedInReturn && text[0] === "\n")) text = text.slice(1);
    this.#isFirst = false;
    this.#endedInReturn = text.endsWith("\r");
    const [rest = "", ...ends] = text.split(text.includes("\r") ? /\r\n?|\n/ : "\n");
    this.#extend(rest);
    for (const text of ends) {
      if (this.#line) this.#field(this.#line);
      else this.#dispatch(events);
      this.#line = "";
      this.#extend(text);
    }
    return events;
  }

  /** @param {string} text */
  #extend(text) {
    this.#line += text;
    this.#check(this.#line.length);
  }

  /** @param {number} length */
  #check(length) {
    if (length > this.#limit) throw new RangeError(`an event is larger than ${this.#limit}`);
  }

  /** @param {string} line */
  #field(line) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    const fields = this.#fields;
    if (name === "data") {
      fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
      this.#check(fields.data.length + 1);
    } else if (name === "event" || ((name === "id" || name === "cause") && !value.includes("\0"))) fields[name] = value;
    else if (name === "retry" && /^\d{1,15}$/.test(value)) this.retry = Number(value);
  }

  /** @param {StreamEvent[]} events */
  #dispatch(events) {
    const { data, event, id, cause } = this.#fields;
    this.#fields = {};
    this.id = id ?? this.id;
    if (data !== undefined) events.push({ name: event || "message", data, id: this.id, cause });
    else if (id !== undefined) events.push({ name: "", data: "", id });
  }
}

/** @param {string} data */
const reason = (data) => String(json(data)?.reason ?? "");

/** The events of one session's stream: each once, in order. */
export class SessionReader {
  /** @type {Position | undefined} Everything up to here is seen: the position to resume from. */
  seen;
  /** @type {Position | undefined} Of the newest state (R1). Past `seen`, when a state was read. */
  confirmed;
  /** The events that are seen do not continue the state: only another state can follow it. */
  isStale = false;
  /** A `reset` has come, and its snapshot has not; or the state is a saved one that is not continued. */
  awaitsSnapshot = false;
  /**
   * The state at `seen`, to which a patch applies; undefined while it is not known. Reading a
   * state beside the stream does not change it.
   * @type {{ value: unknown } | undefined}
   */
  base;
  /** The newest state, whose parts later ones share. @type {unknown} */
  newest;

  /** @param {Position} [after] */
  constructor(after) {
    this.seen = after;
  }

  /** The position of the state, if the events that come continue it. */
  get current() {
    return this.awaitsSnapshot || this.isStale ? undefined : this.confirmed;
  }

  /** Begins with a saved state. @param {Position} position @param {unknown} state @param {boolean} isContinued */
  restore(position, state, isContinued) {
    this.confirmed = position;
    this.awaitsSnapshot = !isContinued;
    this.newest = state;
    this.base = isContinued ? { value: state } : undefined;
  }

  /** @param {unknown} state one that nobody has yet */
  share(state) {
    return this.newest = share(this.newest, state);
  }

  /** The following events do not keep the state current. */
  forgetState() {
    this.confirmed = this.base = undefined;
    this.isStale = false;
  }

  /**
   * Whether a stream that was opened without a position begins after what another one has brought.
   *
   * @param {Position} position
   */
  skips(position) {
    if (!this.seen || this.awaitsSnapshot || reaches(this.seen, position)) return false;
    this.base = undefined;
    this.isStale = !!this.confirmed;
    return true;
  }

  /** A stream without a snapshot is opened: one that was lost with the connection before never comes. */
  beginAgain() {
    if (!this.awaitsSnapshot) return;
    this.awaitsSnapshot = false;
    this.isStale = !!this.confirmed;
  }

  /**
   * Reads a block.
   *
   * @param {Block} block
   * @param {Demand} demand that of the stream, which decides the form of a snapshot
   * @returns {Delivery | ["malformed", string] | undefined}
   */
  receive(block, demand) {
    const { name, position } = block;
    if (name === "ping") return undefined;
    if (name === "reset") {
      // To resume from the position of the reset would skip the snapshot after it.
      this.awaitsSnapshot = demand.states || !!demand.pulses;
      this.seen = this.awaitsSnapshot ? undefined : position;
      this.base = undefined;
      return ["reset", reason(block.data)];
    }
    if (name === "end") {
      const why = reason(block.data);
      return ["ended", why === "unknown" || why === "forbidden" ? why : "deleted"];
    }
    if (!position) return ["malformed", `the event ${name} has no position`];
    // On such a stream, the state does not keep up with the events.
    if (!demand.states) this.base = undefined;
    try {
      return name === "snapshot" ? this.#snapshot(block, position, demand) : this.#event(block, position, demand);
    } catch (error) {
      // After a patch that does not apply, the next connection asks for no patches, so that the
      // same version comes as a state.
      this.base = undefined;
      return ["malformed", `the event ${name} cannot be read: ${error}`];
    }
  }

  /** A state was read beside the stream. @param {Position} position @returns whether it is the newest one */
  read(position) {
    const { seen, current } = this;
    if (seen && seen.generation !== position.generation) return false;
    if (current) {
      if (reaches(current, position)) return false;
    } else if (seen && !reaches(position, seen)) return false; // It lacks what the stream has brought.
    this.#confirm(position);
    return true;
  }

  /** @param {Position} position */
  #confirm(position) {
    this.confirmed = position;
    this.isStale = false;
  }

  /**
   * @param {Block} block @param {Position} position @param {Demand} demand
   * @returns {Delivery | undefined}
   */
  #snapshot(block, position, demand) {
    if (this.seen && reaches(this.seen, position)) return undefined;
    const value = JSON.parse(block.data);
    /** @type {Snapshot} */
    const snapshot = { origin: "stream", position };
    if (!demand.states) snapshot.pulses = value;
    else {
      const hasBoth = demand.pulses && value && Object.keys(value).sort().join() === "pulses,state";
      if (hasBoth) snapshot.pulses = value.pulses;
      // If the reactor has no pulses, the value is the state.
      snapshot.state = this.base = { value: this.share(hasBoth ? value.state : value) };
    }
    const { current } = this;
    this.seen = position;
    // A state that was read can be newer. After a reset only the snapshot counts.
    if (current && reaches(current, position)) delete snapshot.state;
    else if (demand.states) this.#confirm(position);
    this.awaitsSnapshot = false;
    return ["snapshot", snapshot];
  }

  /**
   * An event, or a position by itself.
   *
   * @param {Block} block @param {Position} position @param {Demand} demand
   * @returns {Delivery | undefined}
   */
  #event({ name, data, cause, isPatch }, position, demand) {
    const { seen, current } = this;
    // R7: drops events at or before the position that is seen, and those of another life.
    if (this.awaitsSnapshot || (seen && (seen.generation !== position.generation || reaches(seen, position)))) {
      return undefined;
    }
    const isState = isPatch || name === "state";
    let value = name && JSON.parse(data);
    if (isState) {
      value = this.newest = isPatch ? patched(this.base, value) : share(this.newest, value);
      this.base = { value };
    }
    const event = { name, position, value, cause };
    const isCovered = !!current && reaches(current, position);
    this.seen = position;
    if (demand.states && !isCovered) {
      // The first event of a stream says nothing of those before it: the state may even be one of
      // another life.
      if (isState || (seen && current)) this.#confirm(position);
      else this.isStale = !!this.confirmed;
    }
    if (!name) return undefined;
    return isState ? ["state", event, !isCovered] : ["event", event];
  }
}
