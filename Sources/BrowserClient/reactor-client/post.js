// The request of a session that sends actions, and the meaning of its answers.

import { isPassing, json, retryAfter } from "./attempts.js";
import { position } from "./following.js";
import { failure, isJSON, SessionAttempt } from "./requests.js";

/** @import { Posting } from "./posting.js" */
/** @import { Problem, Receipt, Request, Response } from "./types.d.ts" */

/** Sends the session's request: one at a time (O1). */
export class Post extends SessionAttempt {
  /** @param {Posting} posting */
  constructor(posting) {
    super(posting.link);
    this.posting = posting;
  }

  /** Begins if there is a request that is durable, and nothing is in its way; else that continues it. @override */
  begin() {
    const { link, posting, machine: { uptime, date } } = this;
    const { limits } = posting.sender;
    const { sent } = posting.lane;
    if (this.id) return;
    this.end();
    if (!sent || !posting.isSaved || link.isCreating || link.pause) return;
    const request = posting.overlay.find(sent.key);
    const age = (date - sent.date) * 1_000;
    // O4. A clock that was set back hides the age: an hour is within the server's margin.
    const isForgotten = uptime - (request?.firstAttempt ?? uptime) >= limits.memoryOfServer ||
      age >= limits.memoryOfServer || age < -3_600_000;
    if (!isForgotten) super.begin();
    else if (!request?.cause) posting.settleSent();
    // An event has shown that it is applied. Its last one is awaited as long as the shown state is held.
    else if (!request.isComplete && /** @type {number} */ (request.hold) > uptime) {
      this.schedule("its last event is awaited", limits.hold);
    } else posting.applied({ at: request.cause, rejected: [] });
  }

  /** @returns {Request | undefined} @override */
  request() {
    const { sent } = this.posting.lane;
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
    this.posting.isUnclear = true;
    this.retry(why);
  }

  /** @param {Problem} problem @override */
  refuse(problem) {
    this.link.pause = problem;
    this.posting.refuseSent(problem);
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine, posting } = this;
    const { status, code } = problem;
    const receipt = status === 200 || status === 202 ? receiptOf(response.body) : undefined;
    if (receipt) posting.applied(receipt);
    else if (status === 404 && code === "unknown_session" && link.makes !== undefined) {
      this.retry(problem.detail);
      link.create();
    } else if (status === 409 && code === "request_running") {
      // O3, for an attempt that is not lost but early: 100 ms … 2 s.
      posting.isUnclear = true;
      const wait = Math.max(100 + machine.random.fraction() * 1_900, retryAfter(response));
      this.schedule("the request is carried out", wait);
    } else if (status === 410) {
      link.finish("deleted");
      posting.refuseAll(problem);
    } // Two programs share an outbox.
    else if (status === 422 && code === "key_reused") posting.settleSent();
    else if ([400, 413, 415, 422].includes(status)) posting.narrow(problem);
    else if (status === 412 || status === 409) {
      // The server looks for the key before it refuses with these.
      const tag = /^(?:W\/)?"([^"]*)"/.exec(response.field("etag") ?? "");
      posting.settleSent(problem, status === 412 && tag ? position(tag[1] ?? "") : undefined);
    } else if (!isPassing(status)) posting.refuseSent(problem);
    else {
      posting.isUnclear = true;
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
