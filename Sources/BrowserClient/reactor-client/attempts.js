// Attempts, until something is achieved, and the waits between them.

/** @import { ClientMachine } from "./machine.js" */
/** @import { Problem, Request, Response } from "./types.d.ts" */

/** The bounds and times of a client, in milliseconds. The half that sends has further ones. */
export const limits = {
  actionsInOutbox: 10_000,
  readBack: 1_000,
  sessionsOnStream: 100,
  sessionsMadeAtOnce: 16,
  waitForConnection: 2_000,
  targetBytes: 8_192,
  gathering: 50,
  silence: 40_000,
  silenceOnWake: 20_000,
  opening: 10_000,
  answer: 30_000,
  proven: 5_000,
  longestWait: 3_600_000,
  eventBytes: 16_777_216,
};

/**
 * The range of the wait after `failures`, in milliseconds: full jitter draws from it uniformly (O3).
 *
 * @param {number} failures
 */
export const waitRange = (failures) => Math.min(30_000, 250 * 2 ** Math.min(failures, 7));

/**
 * Something that is attempted until it is achieved: a post, the making of a session, a reading, a stream. An
 * attempt begins with the question for a token; at its end it is answered, or fails and is begun again after a
 * wait.
 */
export class Attempt {
  isStream = false;
  /** That of the request which is running; 0: none is. */
  id = 0;
  /** What is running is the question for its token. */
  isAsking = false;
  /** The end of the wait, or the time at which what is running fails; infinite without either. */
  until = Infinity;
  why = "";
  /** The service's words, if it has answered the last attempt. @type {Problem | undefined} */
  problem;
  failures = 0;
  /** The time from which a stream gives up its connection for this request. */
  waitDeadline = Infinity;
  /** The time from which on a sign of life ends its wait; infinite if none does. */
  from = Infinity;
  /** The time before which the service wants no further attempt. */
  earliest = 0;
  /** One has ended a wait since the last success. */
  isHurried = false;
  /** The token of what is running. @type {string | undefined} */
  used;
  /** The token that was refused last. @type {string | undefined} */
  refused;
  /** It asks for another one at once. */
  #isEager = false;

  /** @param {ClientMachine} machine @param {string[]} sessions those whose status it decides */
  constructor(machine, sessions) {
    this.machine = machine;
    this.sessions = sessions;
  }

  get isIdle() {
    return this.until === Infinity;
  }

  touch() {
    for (const session of this.sessions) this.machine.touched.add(session);
  }

  /** Begins, unless it is running. */
  begin() {
    const { machine } = this;
    if (this.id) return;
    this.id = ++machine.lastID;
    machine.running.set(this.id, this);
    this.#wait(machine.limits.answer);
    this.isAsking = machine.asksForTokens;
    if (this.isAsking) machine.outputs.push(["askForToken", this.id, this.refused]);
    else this.#launch();
  }

  /** The request of the attempt that begins; undefined if nothing is to be achieved any more. @returns {Request | undefined} */
  request() {
    return undefined;
  }

  /** @param {string} [token] */
  #launch(token) {
    const { machine } = this;
    this.isAsking = false;
    this.used = token;
    this.until = machine.uptime + machine.limits.answer;
    const request = this.request();
    if (!request) return this.end();
    if (token !== undefined) request.fields.Authorization = `Bearer ${token}`;
    const { answer, waitForConnection } = machine.limits;
    if (machine.hasFewConnections && !this.isStream) this.waitDeadline = this.until - answer + waitForConnection;
    machine.outputs.push([this.isStream ? "openStream" : "request", this.id, request]);
  }

  /** C6. @param {string | undefined} value @param {string} [why] there is none */
  token(value, why = "there is no token") {
    if (!this.isAsking) return;
    if (value === undefined) this.retry(why);
    // The refused token again: send it only after a wait.
    else if (this.#isEager && value === this.refused) this.retry(this.why);
    else this.#launch(value);
    this.#isEager = false;
  }

  /**
   * C6: its token was refused.
   * @param {Problem} problem
   * @returns whether it asks for another one at once, which it does once.
   */
  asksAgain(problem) {
    this.#isEager = this.refused === undefined && !!this.used;
    this.refused = this.used;
    this.note(problem);
    return this.#isEager;
  }

  /** The reason for the next wait. @param {Problem} problem */
  note(problem) {
    this.problem = problem.code ? problem : undefined;
    return this.why = `status ${problem.status}: ${problem.detail}`;
  }

  /** @param {Response} response */
  answered(response) {
    const problem = problemOf(response);
    this.end();
    if (/^2|409|41[02]|422/.test(`${response.status}`)) this.machine.hurry();
    if (response.status !== 401) this.settle(response, problem);
    else if (this.asksAgain(problem)) this.begin();
    else this.retryAfter(response, problem);
  }

  /** The meaning of an answer. @param {Response} _ @param {Problem} __ */
  settle(_, __) {}

  /** C5: the answer achieves nothing, and refuses nothing. @param {Response} response @param {Problem} problem */
  retryAfter({ field }, problem) {
    // A date counts as absent: the two clocks may differ.
    const [seconds = "0"] = /^\d{1,9}$/.exec(field("retry-after") ?? "") ?? [];
    this.retry(this.note(problem), Number(seconds) * 1_000);
  }

  /** @param {string} why */
  requestFailed(why) {
    this.problem = undefined;
    this.retry(why);
  }

  /** Its time has come. */
  due() {
    if (!this.id) return this.begin();
    this.#abort();
    this.requestFailed("nothing has arrived for too long");
  }

  /** Waits after a failure: full jitter, at least `minimum`. @param {string} why @param {number} [minimum] */
  retry(why, minimum = 0) {
    this.schedule(why, Math.max(this.machine.random.fraction() * waitRange(this.failures++), minimum));
    // Once is enough: what fails although the server works would be attempted at the rate of the
    // others' successes.
    this.earliest = this.machine.uptime + minimum;
    if (!this.isHurried) this.from = this.earliest;
  }

  /** C3: the server works, as something else has shown. */
  hurry() {
    const time = Math.max(this.machine.uptime, this.from);
    if (time >= this.until) return;
    this.until = time;
    this.isHurried = true;
    this.touch();
  }

  /** Waits without a failure. @param {string} why @param {number} wait */
  schedule(why, wait) {
    this.end();
    this.why = why;
    this.#wait(Math.min(wait, this.machine.limits.longestWait));
  }

  /** @param {number} wait */
  #wait(wait) {
    this.until = this.machine.uptime + wait;
    this.from = Infinity;
    this.earliest = 0;
    this.machine.attempts.add(this);
    this.touch();
  }

  /** Nothing is running or waited for any more. */
  end() {
    this.machine.attempts.delete(this);
    this.machine.running.delete(this.id);
    this.id = 0;
    this.until = this.waitDeadline = Infinity;
    this.touch();
  }

  /** The purpose is achieved, or the server works: waits begin at their shortest again. */
  succeed() {
    this.failures = 0;
    this.isHurried = false;
    this.refused = undefined;
  }

  /** Ends what is running. */
  close() {
    this.#abort();
    this.end();
  }

  #abort() {
    const { id, isAsking, machine } = this;
    if (id && !isAsking) machine.outputs.push([this.isStream ? "closeStream" : "cancelRequest", id]);
  }
}

/** The characters of a refusal that are kept. */
const mostDetail = 4_096;

/** An answer in the service's words (RFC 9457); another one has no code (C5). @param {Response} response @returns {Problem} */
export function problemOf({ status, body, field }) {
  const isProblem = /^application\/problem\+json\b/i.test(field("content-type") ?? "");
  const { code, detail, refusal } = isProblem && json(body) || {};
  if (typeof code !== "string") return { status, code: "", detail: "this is not an answer of the service" };
  return { status, code, detail: String(detail).slice(0, mostDetail), ...refusal && { refusal } };
}

/** Whether the service will not serve a session, or make it (C5). @param {Problem} problem */
export const isRefusal = ({ code }) =>
  /^(forbidden|not_an_input|unknown_(pulse|reactor)|other_\w+|too_many_sessions|body_too_large)$/.test(code);

/** The value of a text; undefined for one that is no JSON. @param {string} text @returns {any} */
export function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
