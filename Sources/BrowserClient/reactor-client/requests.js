// The requests of a session that is followed: it is made, and its state is read.

import { Attempt, isPassing, json, retryAfter } from "./attempts.js";
import { position } from "./following.js";

/** @import { SessionLink } from "./link.js" */
/** @import { Problem, Request, Response } from "./types.d.ts" */

export const isJSON = { "Content-Type": "application/json" };

/** @param {Problem} problem */
export const failure = ({ status, detail }) => `status ${status}: ${detail}`;

/** An attempt for one session. */
export class SessionAttempt extends Attempt {
  /** @param {SessionLink} link */
  constructor(link) {
    super(link.machine, [link.id]);
    this.link = link;
  }
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
    link.posting?.sendNext();
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
      return link.posting?.sendNext();
    }
    if (isPassing(status)) return this.retry(failure(problem), retryAfter(response));
    if (status === 410) {
      link.isCreating = false;
      link.finish("deleted");
    } else link.failure = problem;
    link.posting?.refuseAll(problem);
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
    const { reader, posting } = link;
    const lacksState = !reader.current && reader.seen && link.isLive;
    const isNeeded = posting?.overlay.answered.length || lacksState;
    const isAsked = isNeeded && link.demand.states && !link.ended && !reader.awaitsSnapshot;
    if (!isAsked === this.isIdle) return;
    if (!isAsked) {
      this.close();
      this.succeed();
    } else if (lacksState) this.begin();
    else this.schedule("the answer is not confirmed", machine.limits.readBack);
  }

  /** It waits for an event, not for the server. @override */
  hurry() {}

  /** @returns {Request} @override */
  request() {
    return { method: "GET", target: this.link.path, fields: {} };
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine } = this;
    const found = response.status === 200 ? json(response.body) : undefined;
    const at = position(found?.position);
    if (!at || !("state" in found)) return this.retry(`the state is not read: ${problem.detail}`, retryAfter(response));
    if (link.reader.read(at)) {
      link.change.advancesBase = true;
      // R10: it may contain a request that is not answered.
      link.posting?.observe(at, undefined, { isWhole: true, opened: machine.uptime });
      link.deliver("snapshot", { origin: "reading", position: at, state: { value: found.state } });
    }
    this.retry("the answer is not confirmed");
  }
}
