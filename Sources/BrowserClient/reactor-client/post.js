// The request of a session that sends actions, and the meaning of its answers.

import { json } from "./attempts.js";
import { position } from "./following.js";
import { isJSON, SessionAttempt } from "./requests.js";

/** @import { Posting } from "./posting.js" */
/** @import { Problem, Receipt, Request, Response } from "./types.d.ts" */

/** The service's codes for a fault in the body (C5, O5). */
const unfit =
  /^(malformed_json|not_an_action|batch_too_large|action_(failed|refused)|not_encodable|(body|state)_too_large|too_much_output)$/;

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
    if (!sent || !posting.isSaved || link.isCreating) return;
    const request = posting.overlay.find(sent.key);
    const age = (date - sent.date) * 1_000;
    // O4. A clock that was set back hides the age of a request of an earlier run. An hour is within
    // the server's margin.
    const isForgotten = uptime - (request?.firstAttempt ?? uptime) >= limits.memoryOfServer ||
      age >= limits.memoryOfServer || (posting.isRestored && age < -3_600_000);
    if (!isForgotten) super.begin();
    else if (!request?.cause) posting.settleSent();
    // An event has shown that it is applied. Its last one is awaited as long as the shown
    // state is held.
    else if (!request.isComplete && /** @type {number} */ (request.hold) > uptime) {
      this.schedule("waiting for its last event", limits.hold);
    } else posting.applied({ at: request.cause, rejected: [], failures: [] });
  }

  /** @returns {Request | undefined} @override */
  request() {
    const { sent } = this.posting.lane;
    if (!sent) return undefined;
    const { key, body, entries } = sent;
    const { ifMatch, settled } = entries[0] ?? {};
    const { doneKey, question } = this.posting;
    /** @type {Record<string, string>} */
    const fields = { ...isJSON, "Idempotency-Key": key };
    if (doneKey) fields["Idempotency-Key-Done"] = doneKey;
    if (ifMatch !== undefined && !question) fields["If-Match"] = `"${ifMatch}"`;
    let target = `${this.link.path}/actions`;
    // The server's least rate is 4 KiB a second, if it is not set otherwise.
    this.until += body.length;
    if (settled !== undefined) {
      this.until += settled;
      // The server reads at most five digits of milliseconds.
      target += `?wait=settled&timeout=${settled > 99_999 ? `${Math.floor(settled / 1_000)}s` : `${settled}ms`}`;
    }
    return { method: "POST", target, fields, body: question ? "[]" : body };
  }

  /** A state is held that may have the actions, which the answer says: a wait ends. */
  ask() {
    if (!this.id && !this.isIdle) this.until = Math.min(this.until, Math.max(this.machine.uptime, this.earliest));
  }

  /** @param {string} why @override */
  requestFailed(why) {
    this.posting.isUnclear = true;
    super.requestFailed(why);
  }

  /** @param {Response} response @param {Problem} problem @override */
  retryAfter(response, problem) {
    // A service that refuses the token has not read the actions, nor has one that has given up
    // their body.
    const isRead = problem.code !== "body_too_slow" && (response.status !== 401 || !problem.code);
    if (isRead) this.posting.isUnclear = true;
    super.retryAfter(response, problem);
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine, posting } = this;
    const { code } = problem;
    const receipt = /200|202/.test(`${response.status}`) ? receiptOf(response.body) : undefined;
    if (receipt) posting.applied(receipt);
    else if (code === "unknown_session" && link.makes !== undefined) {
      this.retryAfter(response, problem);
      link.create();
    } else if (code === "request_running") {
      // O3, for an attempt that is not lost but early: 100 ms … 2 s.
      posting.isUnclear = true;
      this.schedule("the request is running", 100 + machine.random.fraction() * 1_900);
    } else if (code === "session_ended") {
      link.finish("deleted");
      posting.refuseAll(problem);
    } // Two programs share an outbox.
    else if (code === "key_reused") posting.settleSent();
    else if (posting.question && code === "empty_batch") posting.narrow(posting.question);
    // No question is unfit, so this says nothing of the request.
    else if (posting.question && unfit.test(code)) posting.settleSent();
    else if (posting.isUnclear && code === "body_too_large") {
      // An earlier attempt may have been carried out, when the server still read such a body.
      posting.question = problem;
      this.begin();
    } else if (code === "body_too_slow" ? posting.shrinks() : unfit.test(code) && response.status < 500) {
      posting.narrow(problem);
    } else if (code === "position_changed" || code === "no_parent") {
      // The server looks for the key before it refuses with these.
      const [, tag = ""] = /^(?:W\/)?"([^"]*)"/.exec(response.field("etag") ?? "") ?? [];
      posting.settleSent(problem, position(tag));
    } else if (code === "forbidden" || code === "unknown_session") posting.refuseSent(problem);
    else this.retryAfter(response, problem);
  }
}

/** The server's answer to a post: the actions are committed. @param {string} body @returns {Receipt | undefined} */
function receiptOf(body) {
  const { position: text, version, accepted, rejected = accepted === false ? [0] : [], ...why } = json(body) ?? {};
  const at = position(text);
  if (!at || typeof version !== "number" || !Array.isArray(rejected)) return undefined;
  const failures = Object.assign([why.reason ?? why.failed], why.reasons, why.refusals, why.failures);
  return { at, version, rejected, failures };
}
