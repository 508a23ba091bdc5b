// The requests of a session, and the meaning of their answers.

import { Attempt, isPassing, json, retryAfter } from "./attempts.js";
import { position } from "./following.js";

/** @import { SessionLink } from "./link.js" */
/** @import { Problem, Receipt, Request, Response } from "./types.d.ts" */

const isJSON = { "Content-Type": "application/json" };

/** @param {Problem} problem */
const failure = ({ status, detail }) => `status ${status}: ${detail}`;

/** An attempt for one session. */
class SessionAttempt extends Attempt {
  /** @param {SessionLink} link */
  constructor(link) {
    super(link.machine, [link.id]);
    this.link = link;
  }
}

/** Sends the session's request: one at a time (O1). */
export class Post extends SessionAttempt {
  /** Begins if there is a request that is durable, and nothing is in its way; else that continues it. @override */
  begin() {
    const { link, machine: { uptime, date, limits } } = this;
    const { sent } = link.lane;
    if (this.id) return;
    this.end();
    if (!sent || !link.isSaved || link.isCreating || link.pause) return;
    const request = link.overlay.find(sent.key);
    const age = (date - sent.date) * 1_000;
    // O4. A clock that was set back hides the age: an hour is within the server's margin.
    const isForgotten = uptime - (request?.firstAttempt ?? uptime) >= limits.memoryOfServer ||
      age >= limits.memoryOfServer || age < -3_600_000;
    if (!isForgotten) super.begin();
    else if (!request?.cause) link.settleSent();
    // An event has shown that it is applied. Its last one is awaited as long as the shown state is held.
    else if (!request.isComplete && (request.hold ?? -1) > uptime) {
      this.schedule("its last event is awaited", limits.hold);
    } else link.applied({ at: request.cause, rejected: [] });
  }

  /** @returns {Request | undefined} @override */
  request() {
    const { sent } = this.link.lane;
    if (!sent) return undefined;
    const { key, body, entries } = sent;
    const { ifMatch, settled } = entries[0] ?? {};
    const fields = { ...isJSON, "Idempotency-Key": key };
    if (ifMatch !== undefined) Object.assign(fields, { "If-Match": `"${ifMatch}"` });
    let target = `${this.link.path}/actions`;
    if (settled !== undefined) {
      this.until += settled;
      // The server reads at most five digits of milliseconds.
      target += `?wait=settled&timeout=${settled > 99_999 ? `${Math.floor(settled / 1_000)}s` : `${settled}ms`}`;
    }
    return { method: "POST", target, fields, body };
  }

  /** @param {string} why @override */
  requestFailed(why) {
    this.link.isUnclear = true;
    this.retry(why);
  }

  /** @param {Problem} problem @override */
  refuse(problem) {
    this.link.pause = problem;
    this.link.refuseSent(problem);
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine } = this;
    const { status, code } = problem;
    const receipt = status === 200 || status === 202 ? receiptOf(response.body) : undefined;
    if (receipt) link.applied(receipt);
    else if (status === 404 && code === "unknown_session" && link.makes !== undefined) {
      this.retry(problem.detail);
      link.create();
    } else if (status === 409 && code === "request_running") {
      // O3, for an attempt that is not lost but early: 100 ms … 2 s.
      link.isUnclear = true;
      const wait = Math.max(100 + machine.random.fraction() * 1_900, retryAfter(response));
      this.schedule("the request is carried out", wait);
    } else if (status === 410) {
      link.finish("deleted");
      link.refuseAll(problem);
    } // Two programs share an outbox.
    else if (status === 422 && code === "key_reused") link.settleSent();
    else if ([400, 413, 415, 422].includes(status)) link.narrow(problem);
    else if (status === 412 || status === 409) {
      // The server looks for the key before it refuses with these.
      const tag = /^(?:W\/)?"([^"]*)"/.exec(response.field("etag") ?? "");
      link.settleSent(problem, status === 412 && tag ? position(tag[1] ?? "") : undefined);
    } else if (!isPassing(status)) link.refuseSent(problem);
    else {
      link.isUnclear = true;
      this.retry(failure(problem), retryAfter(response));
    }
  }
}

/** The server's answer to a post: the actions are committed. @param {string} body @returns {Receipt | undefined} */
function receiptOf(body) {
  const { position: text, version, accepted, rejected } = json(body) ?? {};
  const at = position(text);
  const indices = rejected ?? (accepted === false ? [0] : []);
  return at && typeof version === "number" && Array.isArray(indices) ? { at, version, rejected: indices } : undefined;
}

/** Makes the session, before anything else of it. */
export class Creation extends SessionAttempt {
  /** @returns {Request | undefined} @override */
  request() {
    const { link } = this;
    const { makes: reactor, path: target } = link;
    if (reactor !== undefined) {
      return { method: "PUT", target, fields: { ...isJSON }, body: JSON.stringify({ reactor }) };
    }
    // Nobody wants it to be made any more. The sends find out whether it exists.
    link.isCreating = false;
    link.continuePosting();
    return undefined;
  }

  /** @param {Problem} problem @override */
  refuse(problem) {
    this.link.pause = problem;
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine } = this;
    const { status } = response;
    if (status === 200 || status === 201) {
      this.succeed();
      link.isCreating = false;
      machine.changePlan();
      return link.continuePosting();
    }
    if (isPassing(status)) return this.retry(failure(problem), retryAfter(response));
    if (status === 410) {
      link.isCreating = false;
      link.finish("deleted");
    } else link.failure = problem;
    link.refuseAll(problem);
  }
}

/**
 * Reads the state beside the stream if an answer is not confirmed: a record without an event on this stream never is.
 * Also if the stream has resumed and no state is known.
 */
export class Reading extends SessionAttempt {
  /** Begins or ends it, after something has changed. */
  review() {
    const { link, machine } = this;
    const { reader, overlay } = link;
    const lacksState = (!reader.confirmed || reader.isStale) && reader.seen && link.isLive;
    const isNeeded = overlay.awaitsConfirmation || lacksState;
    if (!isNeeded || !link.demand.states || link.ended || reader.awaitsSnapshot) {
      if (this.isIdle) return;
      this.close();
      this.succeed();
    } else if (!this.isIdle) return;
    else if (lacksState) this.begin();
    else this.schedule("the answer is not confirmed", machine.limits.readBack);
  }

  /** @returns {Request} @override */
  request() {
    return { method: "GET", target: this.link.path, fields: {} };
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine: { uptime, limits } } = this;
    const found = response.status === 200 ? json(response.body) : undefined;
    const at = position(found?.position);
    if (!at || !("state" in found)) return this.retry(`the state is not read: ${problem.detail}`, retryAfter(response));
    if (link.reader.read(at)) {
      link.advance();
      link.beginLife(at);
      // R10: it may contain a request that is not answered.
      link.overlay.observe(at, undefined, { isWhole: true, opened: uptime, end: uptime + limits.hold });
      link.deliver("snapshot", { origin: "reading", position: at, state: { value: found.state } });
    }
    this.retry("the answer is not confirmed");
  }
}
