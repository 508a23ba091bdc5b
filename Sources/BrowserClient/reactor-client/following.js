// The incoming part: positions, event streams, and the events of a session, each once and in order.

/** @import { Block, Demand, Delivery, Position, Response, Start, Wish } from "./types.d.ts" */

const FORM = /^([a-z0-9]{8})\.(0|[1-9]\d{0,19})(?:\.([1-9]\d{0,9}))?$/;

/** Compares decimal numbers as text: they reach 2⁶⁴. @param {string} a @param {string} b */
export const compare = (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);

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
  #text = new TextDecoder("utf-8", { ignoreBOM: true });
  #isFirst = true;
  /** @type {string[]} A line whose end has not come, in pieces. */
  #line = [];
  #length = 0;
  #endedInReturn = false;
  /** @type {string[]} */
  #data = [];
  #size = 0;
  #name = "";
  /** @type {string | undefined} */
  #id;
  /** @type {string | undefined} */
  #cause;
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
    /** @type {{ name: string, data: string, id: string, cause?: string | undefined }[]} */
    const events = [];
    const text = this.#text.decode(bytes, { stream: true });
    let start = 0;
    if (this.#isFirst && text) {
      this.#isFirst = false;
      if (text[0] === "\ufeff") start = 1;
    }
    if (this.#endedInReturn && text) {
      this.#endedInReturn = false;
      if (text[0] === "\n") start = 1;
    }
    const hasReturns = text.includes("\r");
    while (start < text.length) {
      let end = text.indexOf("\n", start);
      if (hasReturns) {
        const other = text.indexOf("\r", start);
        if (end < 0 || (other >= 0 && other < end)) end = other;
      }
      this.#extend(end < 0 ? text.slice(start) : text.slice(start, end));
      if (end < 0) break;
      const line = this.#line.length === 1 ? this.#line[0] ?? "" : this.#line.join("");
      this.#line = [];
      this.#length = 0;
      if (line) this.#field(line);
      else this.#dispatch(events);
      start = end + 1;
      if (text[end] !== "\r") continue;
      if (start === text.length) this.#endedInReturn = true;
      else if (text[start] === "\n") start++;
    }
    return events;
  }

  /** @param {string} text */
  #extend(text) {
    this.#length += text.length;
    this.#line.push(text);
    if (this.#length > this.#limit) throw new RangeError(`an event is larger than ${this.#limit}`);
  }

  /** @param {string} line */
  #field(line) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#size += value.length + 1;
      if (this.#size > this.#limit) throw new RangeError(`an event is larger than ${this.#limit}`);
      this.#data.push(value);
    } else if (name === "event") this.#name = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "cause" && !value.includes("\0")) this.#cause = value;
    else if (name === "retry" && /^\d{1,15}$/.test(value)) this.retry = Number(value);
  }

  /** @param {{ name: string, data: string, id: string, cause?: string | undefined }[]} events */
  #dispatch(events) {
    if (this.#id !== undefined) this.id = this.#id;
    if (this.#data.length) {
      const [name, data] = [this.#name || "message", this.#data.join("\n")];
      events.push({ name, data, id: this.id, cause: this.#cause });
    } else if (this.#id !== undefined) events.push({ name: "", data: "", id: this.id });
    this.#data = [];
    this.#size = 0;
    this.#name = "";
    this.#id = this.#cause = undefined;
  }
}

/** @param {string} data */
const reason = (data) => {
  try {
    return String(JSON.parse(data).reason ?? "");
  } catch {
    return "";
  }
};

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

  /** @param {Position} [after] */
  constructor(after) {
    this.seen = after;
  }

  /** Begins with a saved state. @param {Position} position @param {boolean} isContinued */
  restore(position, isContinued) {
    this.confirmed = position;
    this.awaitsSnapshot = !isContinued;
  }

  /** The position up to which everything is seen, with the state there. */
  get settled() {
    const { seen, confirmed } = this;
    return !this.awaitsSnapshot && !this.isStale && seen && confirmed && reaches(seen, confirmed) ? seen : undefined;
  }

  /** The following events do not keep the state current. */
  forgetState() {
    this.confirmed = undefined;
    this.isStale = false;
  }

  /**
   * Whether a stream that was opened without a position begins after what another one has brought.
   *
   * @param {Position} position
   */
  skips(position) {
    if (!this.seen || this.awaitsSnapshot || reaches(this.seen, position)) return false;
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
      // To resume from the position of the reset would skip the snapshot behind it.
      this.awaitsSnapshot = demand.states || !!demand.pulses;
      this.seen = this.awaitsSnapshot ? undefined : position;
      return ["reset", reason(block.data)];
    }
    if (name === "end") {
      const why = reason(block.data);
      return ["ended", why === "unknown" || why === "forbidden" ? why : "deleted"];
    }
    if (!position) return ["malformed", `the event ${name} has no position`];
    try {
      if (!name) return this.#advance(position, demand);
      return name === "snapshot" ? this.#snapshot(block, position, demand) : this.#event(block, position, demand);
    } catch (error) {
      return ["malformed", `the event ${name} has no JSON: ${error}`];
    }
  }

  /** A state was read beside the stream. @param {Position} position @returns whether it is the newest one */
  read(position) {
    const { seen, confirmed } = this;
    if (seen && seen.generation !== position.generation) return false;
    if (confirmed && !this.isStale) {
      if (reaches(confirmed, position)) return false;
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
    /** @type {import("./types.d.ts").Snapshot} */
    const snapshot = { origin: "stream", position };
    if (!demand.states) snapshot.pulses = value;
    else if (demand.pulses && value && Object.keys(value).sort().join() === "pulses,state") {
      snapshot.state = { value: value.state };
      snapshot.pulses = value.pulses;
    } else snapshot.state = { value }; // Of a reactor without pulses.
    this.seen = position;
    // A state that was read can be newer. After a reset only the snapshot counts.
    if (!this.awaitsSnapshot && !this.isStale && this.confirmed && reaches(this.confirmed, position)) {
      delete snapshot.state;
    } else if (demand.states) this.#confirm(position);
    this.awaitsSnapshot = false;
    return ["snapshot", snapshot];
  }

  /**
   * @param {Block} block @param {Position} position @param {Demand} demand
   * @returns {Delivery | undefined}
   */
  #event({ name, data, cause }, position, demand) {
    if (!this.#isNew(position)) return undefined;
    const event = { name, position, value: JSON.parse(data), cause };
    this.seen = position;
    const isCovered = !this.isStale && !!this.confirmed && reaches(this.confirmed, position);
    if (demand.states && !isCovered && (name === "state" || (this.confirmed && !this.isStale))) {
      this.#confirm(position);
    }
    return name === "state" ? ["state", event, !isCovered] : ["event", event];
  }

  /** @param {Position} position @param {Demand} demand @returns {undefined} */
  #advance(position, demand) {
    if (!this.#isNew(position)) return undefined;
    const isContinued = !!this.seen;
    this.seen = position;
    if (demand.states && this.confirmed && !reaches(this.confirmed, position)) {
      // A stream that begins here says nothing of the events before it.
      if (isContinued && !this.isStale) this.confirmed = position;
      else this.isStale = true;
    }
    return undefined;
  }

  /** R7: drops events at or before the position that is seen, and those of another life. @param {Position} position */
  #isNew(position) {
    if (this.awaitsSnapshot) return false;
    return !this.seen || (this.seen.generation === position.generation && !reaches(this.seen, position));
  }
}

/** @param {Demand} demand */
const demandText = ({ states, pulses, activities }) => {
  const kinds = [pulses && "pulses", activities && "activities", states && "states"].filter(Boolean).join(",");
  const names = Array.isArray(pulses) ? [...pulses].sort() : [];
  return [`only=${kinds}`, ...names.map((name) => `pulse=${encodeURIComponent(name)}`)];
};

/** A stream of one or several sessions, over all of its connections. */
export class StreamConnection {
  /** Whether it is part of the plan; else it ends as soon as others have begun (C1). */
  isWanted = true;
  /** The sessions of which events can come. @type {Set<string>} */
  live;
  /** @type {"closed" | "opening" | "open" | "refused"} */
  phase = "closed";
  /** @type {Response | undefined} A response that is no stream. */
  refusal;
  openedAt = 0;
  lastByteAt = 0;
  /** @type {string | undefined} */
  redirect;
  #redirects = 0;
  /** Sessions of which nothing was seen when the connection was opened, and nothing has come. @type {Set<string>} */
  #fresh = new Set();
  #decoder;
  #limit;
  /** @type {number | undefined} A larger `retry:` later means that the server drains. */
  #firstRetry;
  #hasBlock = false;

  /**
   * @param {number} id @param {string[]} sessions @param {Demand} demand @param {Start} start for the sessions
   *   of which nothing is seen
   * @param {number} limit of an event
   */
  constructor(id, sessions, demand, start, limit) {
    this.id = id;
    this.sessions = sessions;
    this.demand = demand;
    this.start = start;
    this.live = new Set(sessions);
    this.#limit = limit;
    this.#decoder = new EventStreamDecoder(limit);
  }

  get retryWait() {
    return this.#decoder.retry ?? 0;
  }

  /** Whether the server spreads the clients that come back (C3). */
  get isDraining() {
    return this.#firstRetry !== undefined && this.retryWait > this.#firstRetry;
  }

  /** Whether the connection has shown that the server works (C3). @param {number} now @param {number} proven */
  isProven(now, proven) {
    return this.phase === "open" && this.#hasBlock && now - this.openedAt >= proven;
  }

  /** The target that resumes each session by what is seen of it. @param {(session: string) => Position | undefined} seen */
  target(seen) {
    const { sessions } = this;
    const entries = sessions.map((one) => this.live.has(one) ? seen(one) ?? "-" : "x");
    const items = demandText(this.demand);
    if (sessions.length > 1) items.unshift(...sessions.map((one) => `session=${one}`), "ids=own");
    if (entries.includes("-") && this.start !== "present") items.push(`from=${this.start}`);
    if (entries.some((one) => one !== "-")) items.push(`after=${vector(entries)}`);
    return `/v1/${sessions.length > 1 ? "events" : `sessions/${sessions[0]}/events`}?${items.join("&")}`;
  }

  /** @param {string[]} fresh the sessions of which nothing is seen */
  begin(fresh) {
    this.phase = "opening";
    this.#fresh = new Set(fresh);
    this.#decoder = new EventStreamDecoder(this.#limit);
    this.#firstRetry = undefined;
    this.#hasBlock = false;
  }

  /** @param {Response} response @param {number} now */
  open(response, now) {
    this.lastByteAt = now;
    if (response.status === 200 && /^text\/event-stream/i.test(response.field("content-type") ?? "")) {
      this.phase = "open";
      this.openedAt = now;
      this.redirect = undefined;
      this.#redirects = 0;
    } else {
      this.phase = "refused";
      this.refusal = response;
    }
  }

  /** Follows a redirect; false after three in a row (C5). @param {string} target */
  redirectTo(target) {
    this.redirect = ++this.#redirects <= 3 ? target : undefined;
    return this.redirect !== undefined;
  }

  /** Whether this is the first event of the session on a connection that begins with it. @param {string} session */
  beginEvents(session) {
    return this.#fresh.delete(session);
  }

  /** Reads bytes of the body; throws if an event is too large. @param {Uint8Array} bytes @param {number} now */
  receive(bytes, now) {
    this.lastByteAt = now;
    const events = this.#decoder.receive(bytes);
    this.#firstRetry ??= this.#decoder.retry;
    if (events.length) this.#hasBlock = true;
    return events;
  }

  /**
   * The session and the block that an event is about; undefined if it is of no session on this stream.
   *
   * @param {{ name: string, data: string, id: string, cause?: string | undefined }} event
   * @returns {[string, Block] | undefined}
   */
  block({ name, data, id, cause }) {
    if (this.sessions.length === 1) {
      return [this.sessions[0] ?? "", { name, data, position: position(id), cause }];
    }
    // An id of a session has no slash: the first one splits.
    const split = /** @param {string} text */ (text) => /^([^/]*)\/(.*)$/s.exec(text);
    const own = split(id);
    const found = name ? split(name) : own;
    const session = found?.[1];
    if (!session || !this.live.has(session)) return undefined;
    const place = own?.[1] === session ? position(own[2] ?? "") : undefined;
    return [session, { name: name ? found[2] ?? "" : "", data, position: place, cause }];
  }
}

/** @param {boolean | string[]} a @param {boolean | string[]} b */
const unionOfPulses = (a, b) => a === true || b === true ? true : !a ? b : !b ? a : [...new Set([...a, ...b])].sort();

/**
 * Which sessions share a stream (C1, C2): those that want states, and those that do not. A stream whose
 * sessions and demand are unchanged stays as it is.
 *
 * @param {Wish[]} wishes in the order in which the sessions were followed
 * @param {StreamConnection[]} existing the streams of the plan before
 * @param {number} most sessions on one stream
 * @param {number} targetBytes
 */
export function plan(wishes, existing, most, targetBytes) {
  /** @param {Wish[]} list */
  const fits = (list) =>
    list.length <= most && list.reduce((sum, one) => sum + one.session.length + 50, 0) <= targetBytes;
  const kinds = new Map();
  for (const wish of wishes) {
    const kind = `${wish.demand.states} ${wish.start}`;
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(wish);
  }
  const groups = [];
  for (const members of kinds.values()) {
    const [{ demand: { states }, start }] = members;
    const streams = existing.filter((one) => one.start === start && one.demand.states === states);
    /** @type {Wish[][]} */
    const homes = streams.map((stream) => members.filter((/** @type {Wish} */ wish) => stream.live.has(wish.session)))
      .filter((home) => home.length && fits(home));
    const placed = new Set(homes.flat());
    for (const wish of members) {
      if (placed.has(wish)) continue;
      const room = homes.find((home) => fits([...home, wish]));
      if (room) room.push(wish);
      else homes.push([wish]);
    }
    // Streams that have become small are joined, when that saves one.
    const joined = homes.slice(-2).flat();
    if (homes.length > 1 && fits(joined)) homes.splice(-2, 2, joined);
    for (const home of homes) {
      const sessions = home.map((wish) => wish.session);
      const demand = home.map((wish) => wish.demand).reduce((a, b) => ({
        states: a.states || b.states,
        pulses: unionOfPulses(a.pulses, b.pulses),
        activities: a.activities || b.activities,
      }));
      const same = streams.find((stream) =>
        stream.live.size === sessions.length && sessions.every((one) => stream.live.has(one)) &&
        demandText(stream.demand).join() === demandText(demand).join()
      );
      groups.push({ sessions, demand, start, same });
    }
  }
  return groups;
}
