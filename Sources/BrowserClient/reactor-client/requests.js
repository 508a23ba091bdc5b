// The requests of a session that is followed: it is made, and its state is read.

import { Attempt, isRefusal, json } from "./attempts.js";
import { position } from "./following.js";

/** @import { SessionLink } from "./link.js" */
/** @import { Problem, Request, Response } from "./types.d.ts" */

export const isJSON = { "Content-Type": "application/json" };

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
  /** A server limits the connections of one address, so further requests wait. @override */
  begin() {
    const { machine: { limits, making, unmade } } = this;
    if (this.id) return;
    if (making.size >= limits.sessionsMadeAtOnce) {
      this.end();
      return void unmade.add(this);
    }
    unmade.delete(this);
    making.add(this);
    super.begin();
  }

  /** @override */
  end() {
    const { making, unmade } = this.machine;
    super.end();
    if (!making.delete(this)) return;
    for (const next of unmade) return next.begin();
  }

  /** @returns {Request | undefined} @override */
  request() {
    const { link } = this;
    const { makes: body, path: target } = link;
    if (body) return { method: "PUT", target, fields: { ...isJSON }, body };
    // Nobody wants it to be made any more. The sends find out whether it exists.
    link.isCreating = false;
    link.posting?.sendNext();
    return undefined;
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine } = this;
    if (response.status < 202 && position(json(response.body)?.position)) {
      this.succeed();
      link.isCreating = false;
      machine.changePlan();
      return link.posting?.sendNext();
    }
    if (problem.code === "session_ended") {
      link.isCreating = false;
      link.finish("deleted");
    } else if (isRefusal(problem)) link.fail(problem);
    else return this.retryAfter(response, problem);
    link.posting?.refuseAll(problem);
  }
}

/** Tries again what the service has refused (C5): slowly, and when the client wakes. */
export class Recovery extends SessionAttempt {
  /** @override */
  begin() {
    const { link, machine } = this;
    this.end();
    link.failure = undefined;
    link.wake();
    machine.changePlan();
  }
}

/**
 * Reads the state beside the stream if an answer is not confirmed: a record without an event on this stream never is.
 * Also if the stream has resumed and no state is known.
 */
export class Reading extends SessionAttempt {
  /** A stream was answered with 204: the session has ended if the service says so in a problem. */
  isDoubted = false;

  /** Begins or ends it, after something has changed. */
  review() {
    const { link, machine, isDoubted } = this;
    const { reader, posting } = link;
    const lacksState = !reader.current && reader.seen && link.isLive;
    const isNeeded = posting?.overlay.answered.length || lacksState;
    // If nobody follows the session any more, the look-up waits until it is followed again.
    const isAsked = (isNeeded && link.demand.states && !reader.awaitsSnapshot || isDoubted && link.following) &&
      !link.ended;
    if (!isAsked === this.isIdle) return;
    if (!isAsked) {
      this.close();
      this.succeed();
    } else if (lacksState || isDoubted) this.begin();
    else this.schedule("the answer is not confirmed", machine.limits.readBack);
  }

  /** It waits for an event, not for the server. @override */
  hurry() {}

  /** @returns {Request} @override */
  request() {
    const { isDoubted, link: { path: target } } = this;
    // Why the pulses: a token may grant nothing else. The request accepts no stream, so the service
    // answers with a problem, which proves that the service sent it.
    const fields = isDoubted ? { Accept: "application/problem+json" } : {};
    return { method: "GET", target: isDoubted ? `${target}/pulses` : target, fields };
  }

  /** @param {Response} response @param {Problem} problem @override */
  settle(response, problem) {
    const { link, machine, isDoubted } = this;
    const { code } = problem;
    const found = response.status === 200 ? json(response.body) : undefined;
    const at = position(found?.position);
    if (isDoubted) {
      if (code === "session_ended") return link.over("deleted");
      if (code === "unknown_session") return link.over("unknown");
      this.isDoubted = code !== "not_acceptable";
    }
    if (isDoubted || !at || !("state" in found)) return this.retryAfter(response, problem);
    if (link.demand.states && link.reader.read(at)) {
      link.change.advancesBase = true;
      // R10: it may contain a request that is not answered.
      link.posting?.observe(at, undefined, { isWhole: true, opened: machine.uptime });
      const state = { value: link.reader.share(found.state) };
      link.deliver("snapshot", { origin: "reading", position: at, state });
    }
    this.retry("the answer is not confirmed");
  }
}
