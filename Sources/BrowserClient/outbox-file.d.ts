// @ts-types="./reactor-client.d.ts"
import type { Outbox } from "./reactor-client.js";

/**
 * Keeps a client's outbox in a file, for Node: what is in it survives the process. One process has it at a time.
 *
 * @param path the file; `<path>.lock` and `<path>.new` are beside it
 * @param options `account`: whose actions these are; those of another account are never sent
 */
export function fileOutbox(path: string, options?: { account?: string | undefined }): Outbox;
