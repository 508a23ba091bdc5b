// The action log of a session. Its pages are read as the loop needs them; live, its stream.

import { limits, problemOf, waitRange } from "./attempts.js";
import { call } from "./calls.js";
import { ProblemError, unless } from "./errors.js";
import { EventStreamDecoder } from "./following.js";
import { loaded } from "./loading.js";

/** @import { Driver } from "./driver.js" */
/** @import { LogEntry } from "../reactor-client.d.ts" */

/**
 * @param {Driver} driver @param {string} session
 * @param {{ after?: string, live?: boolean, signal?: AbortSignal, isLeft: () => boolean }} options
 * @returns {AsyncGenerator<LogEntry, void, undefined>}
 */
export async function* readLog(driver, session, { after, live, signal, isLeft }) {
  const path = `/v1/sessions/${session}/log?`;
  const isOver = () => !!signal?.aborted || driver.isClosing || isLeft();
  // D8: a hidden page has no connection for it.
  const isPaused = () => isOver() || (!!live && driver.isHidden);
  let look = () => {};
  const reader = () => look();
  driver.readers.add(reader);
  signal?.addEventListener("abort", reader);
  let failures = 0;
  let isLast = false;
  try {
    while (!isLast && !isOver()) {
      if (isPaused()) {
        await new Promise((resolve) => {
          look = () => void (isPaused() && !isOver() || resolve(undefined));
        });
        continue;
      }
      const connection = new AbortController();
      look = () => void (isPaused() && connection.abort());
      const fields = { Accept: live ? "text/event-stream" : "application/json" };
      const start = after === undefined ? (live ? "from=start" : "") : `after=${encodeURIComponent(after)}`;
      const target = path + start + (live ? "" : `${start && "&"}limit=1000`);
      /** @type {string | undefined} */
      let why;
      let minimum = 0;
      try {
        const reading = live ? stream : page;
        for await (const part of reading(driver, target, fields, connection)) {
          failures = 0;
          if (part.entry) {
            if (part.position === after) continue;
            yield part.entry;
          }
          after = part.position ?? after;
          isLast ||= !!part.isLast;
        }
      } catch (error) {
        if (!(error instanceof Refused)) why = String(error);
        else if (/^(forbidden|session_ended|unknown_session)$/.test(error.problem.code)) {
          throw new ProblemError(error.problem);
        } else [why, minimum] = [error.problem.detail, error.minimum];
      }
      if (isPaused() || (why === undefined && (!live || isLast))) continue;
      const wait = Math.max(Math.random() * waitRange(failures++), Math.min(minimum, limits.longestWait));
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        look = () => {
          clearTimeout(timer);
          resolve(undefined);
        };
      });
    }
  } finally {
    driver.readers.delete(reader);
    signal?.removeEventListener("abort", reader);
  }
}

/** The answer is no log. */
class Refused extends Error {
  /** @param {import("./types.d.ts").Response} response */
  constructor(response) {
    super();
    this.problem = problemOf(response);
    this.minimum = 1_000 * (Number(response.field("retry-after")) || 0);
  }
}

/** @typedef {{ entry?: LogEntry, position?: string | undefined, isLast?: boolean }} Part */

/**
 * @param {Driver} driver @param {string} target @param {Record<string, string>} fields @param {AbortController} connection
 * @returns {AsyncGenerator<Part, void, undefined>}
 */
async function* page(driver, target, fields, connection) {
  const response = await call(driver, { method: "GET", target, fields }, connection.signal);
  if (response.status !== 200) throw new Refused(response);
  const { entries, next } = JSON.parse(response.body);
  for (const entry of entries) yield { entry, position: entry.position };
  yield { position: next, isLast: next === undefined };
}

/**
 * @param {Driver} driver @param {string} target @param {Record<string, string>} fields @param {AbortController} connection
 * @returns {AsyncGenerator<Part, void, undefined>}
 */
async function* stream(driver, target, fields, connection) {
  const { signal } = connection;
  const abort = () => connection.abort();
  // C4. Also while the loop is slow: to resume is exact.
  let timer = setTimeout(abort, limits.opening);
  signal.addEventListener("abort", () => clearTimeout(timer)); // The loop may never ask for more.
  try {
    const response = await open(driver, target, fields, signal);
    if (response.status === 204) {
      // A 204 has no body, so it does not prove that the service sent it. The same request, but
      // without a stream, gets a problem. The problem gives the reason.
      const [path = ""] = target.split("?");
      const lookUp = { method: "GET", target: path, fields: { Accept: "application/problem+json" } };
      throw new Refused(await call(driver, lookUp, signal));
    }
    if (response.status !== 200) throw new Refused(await driver.read(response));
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
        else if (!name) yield { position: id };
        else if (name === "reset") {
          yield { entry: { kind: name, position: id, time: "", action: 0, content: JSON.parse(data) }, position: id };
        } else yield { entry: JSON.parse(data), position: id };
      }
    }
  } finally {
    clearTimeout(timer);
    connection.abort();
  }
}

/** C6: with another token once, if the first is refused. @param {Driver} driver @param {string} target @param {Record<string, string>} fields @param {AbortSignal} signal */
async function open(driver, target, fields, signal) {
  /** @type {string | undefined} */
  let refused;
  for (;;) {
    const token = await unless(signal, driver.token(refused));
    const own = token === undefined ? fields : { ...fields, Authorization: `Bearer ${token}` };
    const response = await driver.fetch({ method: "GET", target, fields: own }, signal);
    if (response.status !== 401 || token === undefined || refused !== undefined) return response;
    await response.body?.cancel();
    refused = token;
  }
}

loaded.log = { readLog };
