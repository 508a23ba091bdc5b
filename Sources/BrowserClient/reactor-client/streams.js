// The machine's streams: which there are, and the life of their connections.

import { begin, isPassing, problemOf, retry, retryAfter, sessionOver } from "./answers.js";
import { plan, StreamConnection } from "./following.js";

/** @import { ClientMachine } from "./machine.js" */
/** @import { Block, Now, Problem, Request, Response } from "./types.d.ts" */

/** The streams change a little later, together with other changes (C1). @param {ClientMachine} machine @param {Now} now */
export function changePlan(machine, now) {
  machine.planTime = Math.min(machine.planTime, now.uptime + machine.limits.gathering);
}

/** @param {ClientMachine} machine @param {Now} now */
export function makePlan(machine, now) {
  machine.planTime = Infinity;
  const { limits } = machine;
  const wishes = [];
  for (const session of machine.isHidden ? [] : machine.followed) {
    const link = machine.links.get(session);
    machine.touched.add(session);
    if (!link?.following || !link.wantsStream) continue;
    wishes.push({
      session,
      demand: link.demand,
      start: link.reader.seen ? /** @type {const} */ ("present") : link.following.start,
    });
  }
  const existing = [...machine.streams.values()].filter((one) => one.isWanted);
  const groups = plan(wishes, existing, Math.min(limits.sessionsOnStream, machine.mostSessions), limits.targetBytes);
  for (const stream of existing) stream.isWanted = groups.some((one) => one.same === stream);
  for (const { sessions, demand, start, same } of groups) {
    if (same) continue;
    const stream = new StreamConnection(++machine.lastStream, sessions, demand, start, limits.eventBytes);
    machine.streams.set(stream.id, stream);
    begin(machine, `stream/${stream.id}`, now);
  }
  retireStreams(machine);
}

/** The request of a stream's next connection. @param {ClientMachine} machine @param {number} id @returns {Request | undefined} */
export function openStream(machine, id) {
  const stream = machine.streams.get(id);
  if (!stream) return undefined;
  const seen = /** @param {string} session */ (session) => machine.links.get(session)?.reader.seen;
  for (const session of stream.live) if (stream.start !== "present") machine.links.get(session)?.reader.beginAgain();
  stream.begin([...stream.live].filter((session) => !seen(session)));
  return { method: "GET", target: stream.redirect ?? stream.target(seen), fields: { Accept: "text/event-stream" } };
}

/** The stream that says how a session is followed: the newest that is open, else the newest. @param {ClientMachine} machine @param {string} session */
export function carrier(machine, session) {
  let newest;
  for (const stream of machine.streams.values()) {
    if (!stream.live.has(session)) continue;
    if (!newest || stream.phase === "open" || newest.phase !== "open") newest = stream;
  }
  return newest;
}

/** Drops streams of an earlier plan that are not open, or when others have begun for their sessions (C1). @param {ClientMachine} machine */
function retireStreams(machine) {
  const carried = new Set();
  for (const { isWanted, phase, live } of machine.streams.values()) {
    if (isWanted && phase === "open") { for (const session of live) carried.add(session); }
  }
  for (const stream of [...machine.streams.values()]) {
    if (stream.isWanted) continue;
    const isNeeded = [...stream.live].some((one) =>
      !machine.isHidden && !carried.has(one) && machine.links.get(one)?.wantsStream
    );
    if (stream.phase !== "open" || !isNeeded) drop(machine, stream.id);
  }
}

/** @param {ClientMachine} machine @param {number} id */
function drop(machine, id) {
  for (const session of machine.streams.get(id)?.sessions ?? []) machine.touched.add(session);
  const attempt = machine.attempts.remove(`stream/${id}`);
  if (attempt !== undefined) machine.outputs.push(["closeStream", attempt]);
  machine.streams.delete(id);
}

/** The session has nothing more on any stream. @param {ClientMachine} machine @param {string} session */
export function endOnStreams(machine, session) {
  for (const stream of [...machine.streams.values()]) {
    if (stream.live.delete(session) && !stream.live.size) drop(machine, stream.id);
  }
}

/** The server refuses to serve the sessions of a stream. @param {ClientMachine} machine @param {number} id @param {Problem} problem */
export function failStream(machine, id, problem) {
  for (const session of machine.streams.get(id)?.live ?? []) {
    const link = machine.links.get(session);
    if (link) link.failure = problem;
  }
  drop(machine, id);
  retireStreams(machine);
}

// --- the life of a connection

/** @param {ClientMachine} machine @param {number} attempt */
const streamOf = (machine, attempt) =>
  machine.streams.get(Number(/^stream\/(\d+)$/.exec(machine.attempts.purpose(attempt) ?? "")?.[1]));

/** @param {ClientMachine} machine @param {Now} now @param {number} id @param {Response} response */
function streamOpened(machine, now, id, response) {
  const stream = streamOf(machine, id);
  if (!stream) return;
  if (response.status === 401 && machine.attempts.refuseToken(id)) return reopen(machine, id, now);
  stream.open(response, now.uptime);
  for (const session of stream.sessions) machine.touched.add(session);
  if (stream.phase !== "open") return;
  machine.attempts.extend(id, now.uptime + machine.limits.silence);
  retireStreams(machine);
}

/** Closes a connection, and opens the stream again at once. @param {ClientMachine} machine @param {number} id @param {Now} now */
export function reopen(machine, id, now) {
  const stream = streamOf(machine, id);
  machine.attempts.end(id);
  machine.outputs.push(["closeStream", id]);
  if (!stream) return;
  stream.phase = "closed";
  if (stream.isWanted) begin(machine, `stream/${stream.id}`, now);
  else retireStreams(machine);
}

/** @param {ClientMachine} machine @param {Now} now @param {number} id @param {Uint8Array} bytes */
function streamBytes(machine, now, id, bytes) {
  const stream = streamOf(machine, id);
  if (stream?.phase !== "open") return;
  let events;
  try {
    events = stream.receive(bytes, now.uptime);
  } catch (error) {
    return breakOff(machine, id, `the stream cannot be read: ${error}`, 0, now);
  }
  machine.attempts.extend(id, now.uptime + machine.limits.silence);
  for (const event of events) {
    if (event.name === "problem") {
      const problem = problemOf({ status: 0, body: event.data, field: () => undefined });
      if (problem.code === "token_invalid" && machine.attempts.refuseToken(id)) reopen(machine, id, now);
      else breakOff(machine, id, problem.detail, stream.retryWait, now);
      break;
    }
    const [session, block] = stream.block(event) ?? [];
    if (session === undefined || !block) continue;
    const fault = feed(machine, session, block, stream, now);
    if (fault === undefined) continue;
    breakOff(machine, id, fault, 0, now);
    break;
  }
  if (stream.isProven(now.uptime, machine.limits.proven)) machine.attempts.succeed(`stream/${stream.id}`);
}

/**
 * Reads a block of a session's stream.
 *
 * @param {ClientMachine} machine @param {string} session @param {Block} block @param {StreamConnection} stream
 * @param {Now} now
 * @returns the fault of a block that no server writes.
 */
function feed(machine, session, block, stream, now) {
  const link = machine.links.get(session);
  // An event may have ended the stream within the same bytes.
  if (!link?.wantsEvents || !stream.live.has(session) || !machine.streams.has(stream.id)) return undefined;
  const { reader, overlay } = link;
  const { confirmed: before, seen } = reader;
  const { position } = block;
  machine.touched.add(session);
  const isBeginning = block.name === "snapshot" || block.name === "reset";
  if (stream.beginEvents(session) && !isBeginning && position && reader.skips(position)) {
    machine.deliver(session, ["reset", "trimmed"]);
  }
  // Behind that: the block itself may follow the events that are lost.
  const isFirst = !before || reader.isStale;
  const delivery = reader.receive(block, stream.demand);
  if (reader.confirmed !== before) link.change.advancesBase = true;
  if (!delivery) return undefined;
  if (delivery[0] === "malformed") return delivery[1];
  if (delivery[0] === "ended") return sessionOver(machine, session, delivery[1], now);
  // Of a stream that was opened before another one brought the first snapshot: what was between is lost.
  if (seen && delivery[0] === "snapshot") machine.deliver(session, ["reset", "trimmed"]);
  machine.deliver(session, delivery);
  if (!position || block.name === "reset" || !stream.demand.states) return undefined;
  for (const entry of overlay.beginLife(position.generation)) link.join(entry);
  // Live events have their causes. A snapshot never has one, and a replay need not (R10).
  const isWhole = block.name === "snapshot";
  const opened = isWhole ? now.uptime : stream.openedAt;
  overlay.observe(position, block.cause, { isWhole, isFirst, opened, end: now.uptime + machine.limits.hold });
  return undefined;
}

/** Closes a connection, as after a failure. @param {ClientMachine} machine @param {number} id @param {string} why @param {number} minimum @param {Now} now */
function breakOff(machine, id, why, minimum, now) {
  const purpose = machine.attempts.end(id);
  if (!purpose) return;
  machine.outputs.push(["closeStream", id]);
  retry(machine, purpose, why, minimum, now);
  retireStreams(machine);
}

/** @param {ClientMachine} machine @param {Now} now @param {number} id @param {string} [failure] */
export function streamEnded(machine, now, id, failure) {
  const stream = streamOf(machine, id);
  machine.attempts.end(id);
  if (!stream) return;
  for (const session of stream.sessions) machine.touched.add(session);
  const { refusal } = stream;
  if (stream.phase === "refused" && refusal) {
    stream.phase = "closed";
    return refused(machine, stream, refusal, now);
  }
  const purpose = `stream/${stream.id}`;
  const isProven = stream.isProven(now.uptime, machine.limits.proven);
  stream.phase = "closed";
  if (!stream.isWanted) return drop(machine, stream.id);
  if (isProven) machine.attempts.succeed(purpose);
  // C3: one that worked and ended cleanly is opened again at once, unless the server spreads its clients.
  const minimum = stream.isDraining ? stream.retryWait : 0;
  if (failure !== undefined || !isProven) retry(machine, purpose, failure ?? "the stream has ended", minimum, now);
  else if (minimum) machine.attempts.schedule(purpose, minimum, "the server shuts down", now.uptime);
  else begin(machine, purpose, now);
}

export const streams = { streamOpened, streamBytes, streamEnded };

/**
 * C5: the meaning of a response that is no stream.
 *
 * @param {ClientMachine} machine @param {StreamConnection} stream @param {Response} response @param {Now} now
 */
function refused(machine, stream, response, now) {
  const problem = problemOf(response);
  const { status } = response;
  const purpose = `stream/${stream.id}`;
  const end = /** @param {"deleted" | "unknown"} reason */ (reason) => {
    for (const session of [...stream.live]) sessionOver(machine, session, reason, now);
  };
  if (status === 204) return end("deleted");
  if (status === 307 || status === 308) {
    const target = machine.targetOf(response.field("location"));
    if (target !== undefined && stream.redirectTo(target)) return begin(machine, purpose, now);
  }
  const count = stream.sessions.length;
  const hasNone = status === 404 && problem.code === "unknown_path";
  const hasFewer = status === 400 && problem.code === "too_many_sessions" || status === 414 || status === 431;
  if (count > 1 && (hasNone || hasFewer)) {
    // C2: a limit of the server's is below this client's. Not the same stream again, though sessions of it may be over.
    machine.mostSessions = Math.min(machine.mostSessions, hasNone ? 1 : Math.floor(count / 2));
    stream.isWanted = false;
    return makePlan(machine, now);
  }
  if (status === 404 && problem.code === "unknown_session" && stream.sessions.length === 1) return end("unknown");
  if (isPassing(status) || status >= 500) return retry(machine, purpose, problem.detail, retryAfter(response), now);
  failStream(machine, stream.id, problem);
}
