// @ts-types="./reactor-client.d.ts"
import type { Outbox } from "./reactor-client.js";

/**
 * Keeps a client's outbox in IndexedDB, so that its actions survive the tab. Pages of one origin
 * may use one name at the same time. Each page sends its own actions. If a page is gone, another
 * one sends the rest of its actions, or the next page that is opened does. The sending page lists
 * them in its `client.pendingSends`, but not in its `session.pending` or its prediction.
 *
 * A page that came over plain HTTP from another host has no Web Locks. Its actions are kept in
 * memory.
 *
 * @param name of the database
 * @param options `account`: whose actions these are; those of another account are never sent
 */
export function indexedDBOutbox(name: string, options?: { account?: string | undefined }): Outbox;
