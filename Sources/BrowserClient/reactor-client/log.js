// The action log of a session. Its pages are read as the loop needs them; live, its stream.

import { isPassing, problemOf, retryAfter } from "./answers.js";
import { limits, waitRange } from "./attempts.js";
import { ProblemError } from "./errors.js";
import { EventStreamDecoder } from "./following.js";

/** @import { Driver } from "./driver.js" */
/** @import { LogEntry } from "../reactor-client.d.ts" */

/**
 * @param {Driver} driver @param {string} session @param {{ after?: string, live?: boolean, signal?: AbortSignal }} options
 * @returns {AsyncGenerator<LogEntry, void, undefined>}
 */
export async function* readLog(driver, session, { after, live, signal }) {
  const path = `/v1/sessions/${session}/log?`;
  let failures = 0;
  let isOver = false;
  while (!isOver && !signal?.aborted && !driver.isClosing) {
    const fields = { Accept: live ? "text/event-stream" : "application/json" };
    const start = after === undefined ? (live ? "from=start" : "") : `after=${encodeURIComponent(after)}`;
    const target = path + start + (live ? "" : `${start && "&"}limit=1000`);
    /** @type {string | undefined} */
    let why;
    let minimum = 0;
    try {
      const reading = live ? stream : page;
      for await (const part of reading(driver, target, fields, signal)) {
        failures = 0;
        if (part.entry) {
          if (part.position === after) continue;
          yield part.entry;
        }
        after = part.position ?? after;
        isOver ||= !!part.isLast;
      }
    } catch (error) {
      if (!(error instanceof Refused)) why = String(error);
      else if (!isPassing(error.status)) throw new ProblemError(error.problem);
      else [why, minimum] = [error.problem.detail, error.minimum];
    }
    if (why === undefined && (!live || isOver)) continue;
    const wait = Math.max(Math.random() * waitRange(failures++), Math.min(minimum, limits.longestWait));
    await new Promise((resolve) => {
      setTimeout(resolve, wait);
      signal?.addEventListener("abort", resolve, { once: true });
    });
  }
}

/** The answer is no log. */
class Refused extends Error {
  /** @param {import("./types.d.ts").Response} response */
  constructor(response) {
    super();
    this.status = response.status;
    this.problem = problemOf(response);
    this.minimum = retryAfter(response);
  }
}

/** @typedef {{ entry?: LogEntry, position?: string | undefined, isLast?: boolean }} Part */

/**
 * @param {Driver} driver @param {string} target @param {Record<string, string>} fields
 * @returns {AsyncGenerator<Part, void, undefined>}
 */
async function* page(driver, target, fields) {
  const response = await driver.call({ method: "GET", target, fields });
  if (response.status !== 200) throw new Refused(response);
  const { entries, next } = JSON.parse(response.body);
  for (const entry of entries) yield { entry, position: entry.position };
  yield { position: next, isLast: next === undefined };
}

/**
 * @param {Driver} driver @param {string} target @param {Record<string, string>} fields @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Part, void, undefined>}
 */
async function* stream(driver, target, fields, signal) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal?.addEventListener("abort", abort, { once: true });
  // C4. Also while the loop is slow: to resume is exact.
  let timer = setTimeout(abort, limits.opening);
  try {
    const token = await driver.token(undefined);
    const own = token === undefined ? fields : { ...fields, Authorization: `Bearer ${token}` };
    const response = await driver.fetch({ method: "GET", target, fields: own }, controller.signal);
    if (response.status !== 200) {
      const body = await response.text();
      throw new Refused({ status: response.status, body, field: (name) => response.headers.get(name) ?? undefined });
    }
    const decoder = new EventStreamDecoder(limits.eventBytes);
    const reader = response.body?.getReader();
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(abort, limits.silence);
      const part = await reader?.read();
      if (!part || part.done) return;
      for (const { name, data, id } of decoder.receive(part.value)) {
        if (name === "ping" || name === "problem") continue;
        if (name === "end") yield { isLast: true };
        else if (!name || name === "reset") yield { position: id };
        else yield { entry: JSON.parse(data), position: id };
      }
    }
  } finally {
    clearTimeout(timer);
    controller.abort();
    signal?.removeEventListener("abort", abort);
  }
}
