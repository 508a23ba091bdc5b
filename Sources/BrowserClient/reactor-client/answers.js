// Attempts of the machine, and the meaning of their answers.

import { carrier, changePlan, endOnStreams, failStream, openStream, streamEnded } from "./streams.js";
import { position } from "./following.js";

/** @import { ClientMachine } from "./machine.js" */
/** @import { LinkStatus, Now, Position, Problem, Receipt, Request, Response } from "./types.d.ts" */

/** The kind of a purpose, and its session or number. @param {string} purpose @returns {[string, string]} */
const parts = (purpose) => {
  const slash = purpose.indexOf("/");
  return [purpose.slice(0, slash), purpose.slice(slash + 1)];
};

/** The sessions of a purpose may have another status. @param {ClientMachine} machine @param {string} purpose */
function touch(machine, purpose) {
  const [kind, name] = parts(purpose);
  if (kind !== "stream") machine.touched.add(name);
  else for (const session of machine.streams.get(Number(name))?.sessions ?? []) machine.touched.add(session);
}

/** The reactor of which this client makes the session. @param {ClientMachine} machine @param {string} session */
const reactorOf = (machine, session) =>
  machine.links.get(session)?.following?.makes ?? machine.outbox.entries(session)[0]?.makes;

/** @param {ClientMachine} machine @param {string} purpose @param {Now} now */
export function begin(machine, purpose, now) {
  const record = machine.attempts.begin(purpose, now.uptime);
  if (!record) return;
  touch(machine, purpose);
  if (record.phase === "asking") machine.outputs.push(["askForToken", record.id, record.refused]);
  else launch(machine, purpose, record.id, undefined, now);
}

/** @param {string | undefined} token */
const authorized = (token) => token === undefined ? {} : { Authorization: `Bearer ${token}` };

/**
 * @param {ClientMachine} machine @param {string} purpose @param {number} id @param {string | undefined} token
 * @param {Now} now
 */
function launch(machine, purpose, id, token, now) {
  const [kind, name] = parts(purpose);
  const json = { "Content-Type": "application/json" };
  const path = `/v1/sessions/${name}`;
  let wait = machine.limits.answer;
  /** @type {Request | undefined} */
  let request;
  if (kind === "stream") {
    request = openStream(machine, Number(name));
    wait = machine.limits.opening;
  } else if (kind === "readBack") request = { method: "GET", target: path, fields: {} };
  else if (kind === "create") {
    const reactor = reactorOf(machine, name);
    if (reactor !== undefined) {
      request = { method: "PUT", target: path, fields: json, body: JSON.stringify({ reactor }) };
    }
  } else {
    const { sent } = machine.outbox.lane(name);
    const { ifMatch, settled } = sent?.entries[0] ?? {};
    wait += settled ?? 0;
    // The server reads at most five digits of milliseconds.
    const time = (settled ?? 0) > 99_999 ? `${Math.floor((settled ?? 0) / 1_000)}s` : `${settled}ms`;
    const target = `${path}/actions${settled === undefined ? "" : `?wait=settled&timeout=${time}`}`;
    const condition = ifMatch === undefined ? {} : { "If-Match": `"${ifMatch}"` };
    const fields = { ...json, ...condition, "Idempotency-Key": sent?.key ?? "" };
    if (sent) request = { method: "POST", target, fields, body: sent.body };
  }
  if (!request) {
    machine.attempts.remove(purpose);
    const link = machine.links.get(name);
    if (kind !== "create" || !link) return;
    // Nobody wants it to be made any more. The sends find out whether it exists.
    link.isCreating = false;
    return machine.continuePosting(name, now);
  }
  Object.assign(request.fields, authorized(token));
  machine.attempts.extend(id, now.uptime + wait);
  machine.outputs.push([kind === "stream" ? "openStream" : "request", id, request]);
}

/**
 * @param {ClientMachine} machine @param {Now} now @param {number} id @param {string | undefined} value
 */
function token(machine, now, id, value) {
  const purpose = machine.attempts.asking(id);
  if (!purpose) return;
  if (value === undefined) {
    machine.attempts.end(id);
    return retry(machine, purpose, "there is no token", 0, now);
  }
  if (machine.attempts.of(purpose)?.refused === value) {
    // C6: the same one again is no new one.
    machine.attempts.end(id);
    const detail = "the server has refused this token";
    return refuseToken(machine, purpose, { status: 401, code: "", detail }, now);
  }
  machine.attempts.launch(purpose, value, now.uptime);
  launch(machine, purpose, id, value, now);
}

/** @param {ClientMachine} machine @param {Now} now @param {number} id @param {Response} response */
function answered(machine, now, id, response) {
  const mayHelp = response.status === 401 && machine.attempts.refuseToken(id);
  const purpose = machine.attempts.end(id);
  if (!purpose) return;
  touch(machine, purpose);
  if (mayHelp) return begin(machine, purpose, now);
  const problem = problemOf(response);
  if (response.status === 401) return refuseToken(machine, purpose, problem, now);
  const [kind, session] = parts(purpose);
  if (kind === "post") posted(machine, session, response, problem, now);
  else if (kind === "create") created(machine, session, response, problem, now);
  else readBack(machine, session, response, problem, now);
}

/** @param {ClientMachine} machine @param {Now} now @param {number} id @param {string} why */
function requestFailed(machine, now, id, why) {
  const purpose = machine.attempts.end(id);
  if (!purpose) return;
  const [kind, session] = parts(purpose);
  const link = machine.links.get(session);
  if (kind === "post" && link) link.isUnclear = true;
  retry(machine, purpose, why, 0, now);
}

export const answers = { token, answered, requestFailed };

/** @param {ClientMachine} machine @param {string} purpose @param {string} why @param {number} minimum @param {Now} now */
export function retry(machine, purpose, why, minimum, now) {
  touch(machine, purpose);
  const [kind, name] = parts(purpose);
  const stream = kind === "stream" && machine.streams.get(Number(name));
  if (stream) stream.phase = "closed";
  machine.attempts.retry(purpose, why, minimum, now.uptime);
}

/** Two tokens in a row are refused (C5, C6). @param {ClientMachine} machine @param {string} purpose @param {Problem} problem @param {Now} now */
function refuseToken(machine, purpose, problem, now) {
  touch(machine, purpose);
  machine.attempts.succeed(purpose);
  const [kind, name] = parts(purpose);
  const link = machine.links.get(name);
  if (kind === "stream") return failStream(machine, Number(name), problem);
  if (kind === "readBack") return retry(machine, purpose, problem.detail, 0, now);
  if (link) link.pause = problem;
  if (kind === "post") machine.refuseSent(name, problem, now);
}

/** Does what time alone has made due. @param {ClientMachine} machine @param {Now} now */
export function performAttempts(machine, now) {
  const { attempts } = machine;
  for (const id of attempts.expired(now.uptime)) {
    const purpose = attempts.purpose(id);
    if (!purpose) continue;
    const isAsking = attempts.asking(id);
    const why = "nothing has arrived for too long";
    if (purpose.startsWith("stream/") && !isAsking) {
      machine.outputs.push(["closeStream", id]);
      streamEnded(machine, now, id, why);
    } else {
      if (!isAsking) machine.outputs.push(["cancelRequest", id]);
      requestFailed(machine, now, id, why);
    }
  }
  for (const purpose of attempts.due(now.uptime)) {
    if (purpose.startsWith("post/")) machine.post(purpose.slice(5), now);
    else begin(machine, purpose, now);
  }
}

/** The characters of a refusal that are kept: a proxy may answer with a page. */
const mostDetail = 4_096;

/** A refusal in the server's words (RFC 9457). @param {Response} response @returns {Problem} */
export function problemOf({ status, body }) {
  const fallback = `the response has status ${status}`;
  try {
    const { code, detail, title } = JSON.parse(body);
    return {
      status,
      code: typeof code === "string" ? code : "",
      detail: String(detail ?? title ?? fallback).slice(0, mostDetail),
    };
  } catch {
    return { status, code: "", detail: fallback };
  }
}

/** `Retry-After` in milliseconds. A date counts as absent: the two clocks may differ. @param {Response} response */
export const retryAfter = (response) => {
  const text = response.field("retry-after") ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : 0;
};

/** The server's answer to a request: the actions are committed. @param {string} body @returns {Receipt | undefined} */
function receiptOf(body) {
  try {
    const { position: text, version, accepted, rejected } = JSON.parse(body);
    const at = position(text);
    if (!at || typeof version !== "number" || !Array.isArray(rejected ?? [])) return undefined;
    return { at, version, rejected: rejected ?? (accepted === false ? [0] : []) };
  } catch {
    return undefined;
  }
}

/** Whether the same request may be answered otherwise later. @param {number} status */
export const isPassing = (status) =>
  status < 300 || [408, 425, 429, 500, 502, 503, 504].includes(status) || status > 505;

/**
 * @param {ClientMachine} machine @param {string} session @param {Response} response @param {Problem} problem
 * @param {Now} now
 */
function posted(machine, session, response, problem, now) {
  const { status, body } = response;
  const purpose = `post/${session}`;
  const link = machine.links.get(session);
  if (!link) return;
  const receipt = status === 200 || status === 202 ? receiptOf(body) : undefined;
  if (receipt) return machine.applied(receipt, session, now);
  if (status === 404 && problem.code === "unknown_session") {
    if (reactorOf(machine, session) === undefined) return machine.refuseSent(session, problem, now);
    retry(machine, purpose, problem.detail, 0, now);
    return machine.create(session, now);
  }
  if (status === 409 && problem.code === "request_running") {
    // O3, for an attempt that is not lost but early: 100 ms … 2 s.
    link.isUnclear = true;
    const wait = Math.max(100 + machine.random.fraction() * 1_900, retryAfter(response));
    return machine.attempts.schedule(purpose, wait, "the request is carried out", now.uptime);
  }
  if (status === 410) {
    endSession(machine, session, "deleted");
    return machine.refuseAll(session, problem);
  }
  // Two programs share an outbox.
  if (status === 422 && problem.code === "key_reused") return machine.settleSent(session, undefined, undefined, now);
  if ([400, 413, 415, 422].includes(status)) return narrow(machine, session, problem, now);
  if (status === 412 || status === 409) {
    // The server looks for the key before it refuses with these.
    const tag = status === 412 ? /^(?:W\/)?"([^"]*)"/.exec(response.field("etag") ?? "") : undefined;
    return machine.settleSent(session, problem, tag ? position(tag[1] ?? "") : undefined, now);
  }
  if (!isPassing(status)) return machine.refuseSent(session, problem, now);
  link.isUnclear = true;
  retry(machine, purpose, `status ${status}: ${problem.detail}`, retryAfter(response), now);
}

/** O5. @param {ClientMachine} machine @param {string} session @param {Problem} problem @param {Now} now */
function narrow(machine, session, problem, now) {
  const { sent } = machine.outbox.lane(session);
  const link = machine.links.get(session);
  if (!link || !sent || sent.entries.length < 2) return machine.settleSent(session, problem, undefined, now);
  const count = sent.entries.length;
  machine.writer.record({ type: "withdrawn", session, key: sent.key });
  link.overlay.withdraw(sent.key);
  link.narrowing.halve(count);
  machine.attempts.succeed(`post/${session}`);
  machine.continuePosting(session, now);
}

/**
 * @param {ClientMachine} machine @param {string} session @param {Response} response @param {Problem} problem
 * @param {Now} now
 */
function created(machine, session, response, problem, now) {
  const link = machine.links.get(session);
  const { status } = response;
  if (!link) return;
  if (status === 200 || status === 201) {
    machine.attempts.succeed(`create/${session}`);
    link.isCreating = false;
    changePlan(machine, now);
    return machine.continuePosting(session, now);
  }
  if (isPassing(status)) {
    return retry(machine, `create/${session}`, `status ${status}: ${problem.detail}`, retryAfter(response), now);
  }
  if (status === 410) {
    link.isCreating = false;
    endSession(machine, session, "deleted");
  } else link.failure = problem;
  machine.refuseAll(session, problem);
}

/** The session's events are over. @param {ClientMachine} machine @param {string} session @param {"deleted" | "unknown" | "forbidden"} reason */
export function endSession(machine, session, reason) {
  endOnStreams(machine, session);
  const link = machine.links.get(session);
  machine.touched.add(session);
  if (!link || link.end) return;
  link.end = reason;
  machine.deliver(session, ["ended", reason]);
}

/**
 * The server says that the session's events are over: this client makes a missing one, if nobody else has.
 *
 * @param {ClientMachine} machine @param {string} session @param {"deleted" | "unknown" | "forbidden"} reason @param {Now} now
 */
export function sessionOver(machine, session, reason, now) {
  if (reason !== "unknown" || machine.links.get(session)?.following?.makes === undefined) {
    return endSession(machine, session, reason);
  }
  // The position that is seen remains: in the new life it leads to a `reset`.
  endOnStreams(machine, session);
  machine.create(session, now);
}

/**
 * Reads the state beside the stream if an answer is not confirmed: a record without an event on this stream
 * never is. Also if the stream has resumed and no state is known.
 *
 * @param {ClientMachine} machine @param {string} session @param {Now} now
 */
export function scheduleReadBack(machine, session, now) {
  const link = machine.links.get(session);
  if (!link) return;
  const { reader, overlay } = link;
  const purpose = `readBack/${session}`;
  const isLive = carrier(machine, session)?.phase === "open";
  const lacksState = (!reader.confirmed || reader.isStale) && reader.seen && isLive;
  if (!link.demand.states || link.end || reader.awaitsSnapshot || !(overlay.awaitsConfirmation || lacksState)) {
    const id = machine.attempts.remove(purpose);
    if (id !== undefined) machine.outputs.push(["cancelRequest", id]);
  } else if (machine.attempts.isIdle(purpose)) {
    if (lacksState) return begin(machine, purpose, now);
    machine.attempts.schedule(purpose, machine.limits.readBack, "the answer is not confirmed", now.uptime);
  }
}

/**
 * @param {ClientMachine} machine @param {string} session @param {Response} response @param {Problem} problem
 * @param {Now} now
 */
function readBack(machine, session, response, problem, now) {
  const purpose = `readBack/${session}`;
  const link = machine.links.get(session);
  /** @type {any} */
  let found;
  try {
    found = response.status === 200 ? JSON.parse(response.body) : undefined;
  } catch { /* It is no state. */ }
  const at = position(found?.position);
  if (!at || !("state" in found)) {
    return retry(machine, purpose, `the state is not read: ${problem.detail}`, retryAfter(response), now);
  }
  if (link?.reader.read(at)) {
    link.change.advancesBase = true;
    for (const entry of link.overlay.beginLife(at.generation)) link.join(entry);
    // R10: it may contain a request that is not answered.
    const { uptime } = now;
    link.overlay.observe(at, undefined, { isWhole: true, opened: uptime, end: uptime + machine.limits.hold });
    machine.deliver(session, ["snapshot", { origin: "reading", position: at, state: { value: found.state } }]);
  }
  retry(machine, purpose, "the answer is not confirmed", 0, now);
}

/** C7. @param {ClientMachine} machine @param {string} session @returns {LinkStatus} */
export function linkStatus(machine, session) {
  const link = machine.links.get(session);
  if (!link) return { kind: "idle" };
  if (link.end) return { kind: "ended", reason: link.end };
  if (link.failure) return { kind: "failed", problem: link.failure };
  if (link.pause) return { kind: "paused", problem: link.pause };
  const status = /** @param {string} purpose @returns {LinkStatus} */ (purpose) => {
    const record = machine.attempts.of(purpose);
    if (record?.phase === "waiting") return { kind: "waiting", until: record.until, why: record.why };
    return { kind: "connecting", attempt: (record?.failures ?? 0) + 1 };
  };
  if (link.isCreating) return status(`create/${session}`);
  if (!link.wantsStream) return { kind: "idle" };
  const stream = carrier(machine, session);
  if (!stream) return machine.isHidden ? { kind: "idle" } : { kind: "connecting", attempt: 1 };
  return stream.phase === "open" ? { kind: "live" } : status(`stream/${stream.id}`);
}
