// @ts-types="./reactor-client.d.ts"
import type { Outbox } from "./reactor-client.js";

/**
 * Keeps a client's outbox in IndexedDB: what is in it survives the tab. Pages of one origin may use one name at the
 * same time: each sends its own actions, and those of a page that is gone are sent by one of the others, or by the
 * next that is opened. The `client.pendingSends` of that page lists them; its `session.pending` and its prediction do
 * not contain them.
 *
 * In a page without Web Locks, one that came over plain HTTP from another host, actions are kept in memory.
 *
 * @param name of the database
 * @param options `account`: whose actions these are; those of another account are never sent
 */
export function indexedDBOutbox(name: string, options?: { account?: string | undefined }): Outbox;
