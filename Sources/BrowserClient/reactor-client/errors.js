/** @import { Problem } from "../reactor-client.d.ts" */
/** @import { Position } from "./types.d.ts" */

/** Why something failed on this side. */
export class ReactorError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The server refuses. */
export class ProblemError extends ReactorError {
  /** @param {Problem} problem @param {string} [position] */
  constructor(problem, position) {
    super(problem.code, problem.detail);
    Object.assign(this, problem, { position });
  }
}

/** The send was applied once or not at all. */
export class InDoubtError extends ReactorError {
  constructor() {
    super("in_doubt", "the action was applied once or not at all");
  }
}

/** A loop has not kept up. */
export class TooSlowError extends ReactorError {
  /** @param {number} limit */
  constructor(limit) {
    super("too_slow", `more than ${limit} values wait for this loop`);
  }
}

/** @type {Record<string, string>} */
const sentences = {
  closed: "the client is closed",
  outboxFull: "the outbox is full: 10 000 actions, or 16 MiB of them",
};

/**
 * The error for the end of a send, as the machine names it.
 *
 * @param {{ kind: string, problem?: Problem | undefined, at?: Position | undefined, reason?: string | undefined }} end
 */
export function errorOf({ kind, problem, at, reason = sentences[kind] ?? kind }) {
  if (problem) return new ProblemError(problem, at?.text);
  if (kind === "inDoubt") return new InDoubtError();
  return new ReactorError(kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), reason);
}

/**
 * The result of a promise, unless a signal is aborted before. The signal keeps nothing of it.
 *
 * @template Result
 * @param {AbortSignal | undefined} signal @param {Promise<Result>} promise
 * @returns {Promise<Result>}
 */
export async function unless(signal, promise) {
  const ending = new AbortController();
  /** @type {Promise<never>} */
  const aborted = new Promise((_, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, ending);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    ending.abort();
  }
}
