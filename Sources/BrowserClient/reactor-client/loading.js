// The modules that are loaded when they are needed. A service worker cannot import anything while it
// runs, not even what it has: so each of them is noted here when it is evaluated.

import { ReactorError } from "./errors.js";

/** @import { LateModules } from "./types.d.ts" */

/** @type {LateModules} */
export const loaded = /** @type {any} */ ({});

/** A bundler has to see each name. @type {Record<keyof LateModules, () => Promise<unknown>>} */
const imports = {
  calls: () => import("./calls.js"),
  log: () => import("./log.js"),
  sending: () => import("./sending.js"),
  storage: () => import("./storage.js"),
};

/**
 * What a module has for its users. If it cannot be loaded, the next call tries again.
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
