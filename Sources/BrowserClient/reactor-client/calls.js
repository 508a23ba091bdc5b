// Requests beside the machine, which a page loads when it makes the first of them.

import { json, limits, problemOf } from "./attempts.js";
import { sentence } from "./driver.js";
import { ProblemError, ReactorError, unless } from "./errors.js";
import { loaded } from "./loading.js";

/** @import { Driver } from "./driver.js" */
/** @import { Request, Response } from "./types.d.ts" */
/** @import { ReactorClient } from "../reactor-client.js" */
/** @import { ReactorTypes, Session, SessionLine, SessionOptions } from "../reactor-client.d.ts" */

/**
 * Sends a request once; with another token a second time, if the first is refused. Rejects without an answer in 30 s.
 *
 * @param {Driver} driver @param {Request} request @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
export async function call(driver, request, signal) {
  /** @type {string | undefined} */
  let refused;
  for (;;) {
    /** @type {string | undefined} */
    let token;
    const response = await unless(
      signal,
      /** @type {Promise<Response>} */ (new Promise((resolve, reject) => {
        const id = {};
        driver.run(id, async (own) => {
          /** @type {ReturnType<typeof setTimeout> | undefined} */
          let timer;
          const abort = () => driver.abort(id);
          signal?.addEventListener("abort", abort);
          try {
            token = await unless(own, driver.token(refused));
            timer = setTimeout(abort, limits.answer);
            const fields = token === undefined
              ? request.fields
              : { ...request.fields, Authorization: `Bearer ${token}` };
            resolve(await driver.read(await driver.fetch({ ...request, fields }, own)));
          } catch (error) {
            reject(new Error(sentence(error)));
          }
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
        });
      })),
    );
    if (response.status !== 401 || token === undefined || refused !== undefined) return response;
    refused = token;
  }
}

/** @param {Driver} driver @param {string} method @param {string} target @param {unknown} [body] */
async function answerOf(driver, method, target, body) {
  if (driver.isClosing) throw new ReactorError("closed", "the client is closed");
  /** @type {Request} */
  const request = { method, target, fields: { Accept: "application/json" } };
  if (body !== undefined) {
    request.fields["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  return await call(driver, request).catch((error) => {
    throw new ReactorError("unreachable", error.message);
  });
}

/**
 * The JSON of an answer.
 *
 * @param {Driver} driver @param {string} method @param {string} target @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function request(driver, method, target, body) {
  const response = await answerOf(driver, method, target, body);
  const { status, body: text } = response;
  if (status < 200 || status >= 300) {
    const problem = problemOf(response);
    if (problem.code) throw new ProblemError(problem);
    throw new ReactorError("unreachable", `status ${status}: ${problem.detail}`);
  }
  const found = text ? json(text) : undefined;
  if (text && found === undefined) throw new ReactorError("unreachable", `the answer to ${target} is not JSON`);
  return found;
}

/**
 * What follows from an answer to the DELETE of a session. A 204 has no words: something in between
 * may say it to whatever it is asked. So the session is deleted once more, and then the service
 * says that it is gone.
 *
 * @param {Response} response @param {number} count the answers of 2xx before it
 * @returns {"again" | "gone" | ReactorError}
 */
export function deletionOf(response, count) {
  const { status } = response;
  const problem = problemOf(response);
  if (status >= 200 && status < 300) {
    return count < 2
      ? "again"
      : doubt("the responses are not from the service: it has not said that the session is gone");
  }
  if (!problem.code) return doubt(`status ${status}: ${problem.detail}`);
  if (!count) return new ProblemError(problem);
  return /^(session_ended|unknown_session)$/.test(problem.code) ? "gone" : doubt(`status ${status}: ${problem.detail}`);
}

/** @param {string} why */
const doubt = (why) => new ReactorError("unreachable", why);

/** Deletes a session. @param {Driver} driver @param {string} session */
export async function remove(driver, session) {
  for (let count = 0;; count++) {
    const found = deletionOf(await answerOf(driver, "DELETE", `/v1/sessions/${session}`), count);
    if (found === "gone") return;
    if (found !== "again") throw found;
  }
}

/**
 * @param {Driver} driver
 * @param {{ prefix?: string, reactor?: string, after?: string, limit?: number }} options
 * @returns {AsyncGenerator<SessionLine, void, undefined>}
 */
export async function* sessions(driver, options) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) if (value) query.set(name, String(value));
  for (;;) {
    const { sessions, next } = await request(driver, "GET", `/v1/sessions?${query}`);
    yield* sessions;
    if (next === undefined) return;
    query.set("after", next);
  }
}

/**
 * @template {ReactorTypes} R
 * @param {ReactorClient} client
 * @param {SessionOptions<R> & { reactor: string, fork?: { session: string, version?: number } }} options
 * @returns {Promise<Session<R>>}
 */
export async function create(client, { fork, ...options }) {
  const { reactor } = options;
  // A fork has the input of its origin.
  const input = fork ? undefined : options.input;
  const { id } = await client.request("POST", "/v1/sessions", { reactor, input, from: fork });
  return client.session(id, /** @type {SessionOptions<R>} */ (options));
}

/**
 * @template {ReactorTypes} R
 * @param {ReactorClient} client @param {{ id: string, reactor: string | undefined }} session
 * @param {SessionOptions<R>} options @param {number} [version]
 * @returns {Promise<Session<R>>}
 */
export async function fork(client, { id, reactor }, options, version) {
  reactor ??= /** @type {string} */ ((await client.request("GET", `/v1/sessions/${id}`)).reactor);
  const from = /** @type {any} */ ({ session: id, version });
  return await create(client, { ...options, from: "present", make: false, reactor, fork: from });
}

loaded.calls = { create, fork, remove, request, sessions };
