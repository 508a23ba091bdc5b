// Loads modules when they are needed. A service worker cannot call `import()`, even for a module
// that it has already loaded. So each of these modules registers itself in `loaded` when it is
// evaluated.

import { ReactorError } from "./errors.js";

/** @import { LateModules } from "./types.d.ts" */

/** @type {LateModules} */
export const loaded = /** @type {any} */ ({});

/** Each name is a literal, so that bundlers find it. @type {Record<keyof LateModules, () => Promise<unknown>>} */
const imports = {
  calls: () => import("./calls.js"),
  log: () => import("./log.js"),
  sending: () => import("./sending.js"),
  storage: () => import("./storage.js"),
};

/**
 * Loads a module and returns what it registered. If loading fails, the next call tries again.
 *
 * @template {keyof LateModules} Name
 * @param {Name} name
 * @returns {Promise<LateModules[Name]>}
 */
export async function load(name) {
  if (!loaded[name]) {
    await imports[name]().catch((error) => {
      throw new ReactorError("unreachable", String(error));
    });
  }
  return loaded[name];
}
