/** What draws the keys of requests: 128 bits, as numbers. @returns {Promise<() => string>} */
export async function keySource() {
  // Node 18 has it in a module alone, whose name a bundler must not see.
  const name = "node:crypto";
  /** @type {Crypto} */
  const crypto = globalThis.crypto ?? (await import(name)).webcrypto;
  return () => crypto.getRandomValues(new Uint32Array(4)).join("-");
}
