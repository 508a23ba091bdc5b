// Makes states that keep unchanged parts as the same objects, so that a comparison by identity
// shows the changes. All values are JSON, whose depth the server bounds.

/** @import { Operation } from "./types.d.ts" */

/**
 * Changes a value that nobody has yet: parts that equal those of an old one become these.
 *
 * @param {any} old @param {any} value
 */
export function share(old, value) {
  if (!old || !value || typeof old !== "object" || typeof value !== "object") return value;
  if (Array.isArray(old) !== Array.isArray(value)) return value;
  const keys = Object.keys(value);
  let isSame = keys.length === Object.keys(old).length;
  for (const key of keys) {
    const has = Object.hasOwn(old, key);
    if (has) value[key] = share(old[key], value[key]);
    isSame &&= has && Object.is(value[key], old[key]); // -0 is not 0
  }
  return isSame ? old : value;
}

/** @param {any} parent @param {string} key @param {number} [more] indices past the last one */
const has = (parent, key, more = 0) =>
  Array.isArray(parent) ? `${+key >>> 0}` === key && +key < parent.length + more : Object.hasOwn(parent, key);

/** Not by assignment: `__proto__` is a member like any other. @param {any} parent @param {string} key @param {unknown} value */
const set = (parent, key, value) =>
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });

/**
 * Performs an operation, and copies what contains its place.
 *
 * @param {any} parent @param {Operation} operation @param {Set<unknown>} own the copies
 * @returns whether it is possible.
 */
function perform(parent, { op, path, value }, own) {
  const [start = "", ...tokens] = path.split("/");
  let key = start;
  for (const token of tokens) {
    let child = has(parent, key) && parent[key];
    if (!child || typeof child !== "object" || /~(?![01])/.test(token)) return false;
    if (!own.has(child)) {
      child = Array.isArray(child) ? child.slice() : { ...child };
      own.add(child);
      set(parent, key, child);
    }
    parent = child;
    key = token.replace(/~1/g, "/").replace(/~0/g, "~");
  }
  const isArray = Array.isArray(parent);
  const exists = has(parent, key);
  if (op === "remove" && exists) {
    if (isArray) parent.splice(+key, 1);
    else delete parent[key];
  } else if (value === undefined) return false;
  else if (isArray && op === "add" && (key === "-" || has(parent, key, 1))) {
    parent.splice(key === "-" ? parent.length : +key, 0, value);
  } else if ((!isArray && op === "add") || (exists && op === "replace")) {
    set(parent, key, share(exists && parent[key], value));
  } else return false;
  return true;
}

/**
 * The state after a patch of `add`, `remove` and `replace` (RFC 6902). The old state does not change: each object that
 * does is copied once, with its members in their order.
 *
 * @param {{ value: unknown } | undefined} base the state before; undefined if it is not known
 * @param {Operation[]} patch
 * @returns {unknown}
 * @throws {Error} if it does not apply as a whole
 */
export function patched(base, patch) {
  const root = { "": base?.value };
  const own = new Set([root]);
  const isPossible = base && patch.every((operation) => perform(root, operation, own));
  if (!isPossible || root[""] === undefined || Object.keys(root).length > 1) {
    throw new Error("the patch does not apply");
  }
  return root[""];
}
