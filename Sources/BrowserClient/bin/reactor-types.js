#!/usr/bin/env node
// Prints the types of a server's reactors as TypeScript.
//
//   reactor-types http://127.0.0.1:8080 > reactors.d.ts
//
// REACTOR_TOKEN is the bearer token, if the server wants one. The status is 1 if there are no
// types, 64 for an address that is none.

import process from "node:process";
import { ReactorClient } from "../reactor-client.js";
import { typescript } from "./typescript.js";

/** @param {string} text @param {number} status @returns {never} */
const fail = (text, status) => {
  process.stderr.write(`${text}\n`);
  process.exit(status);
};

const [address, ...rest] = process.argv.slice(2);
const usage = "usage: reactor-types http://127.0.0.1:8080 > reactors.d.ts";
if (address === undefined || address.startsWith("-") || rest.length) fail(usage, 64);
const token = process.env.REACTOR_TOKEN;
/** @type {ReactorClient} */
let client;
try {
  client = new ReactorClient(address, token ? { token: () => token } : {});
} catch (error) {
  fail(`error: ${/** @type {Error} */ (error).message}\n${usage}`, 64);
}
try {
  const reactors = await client.reactors();
  if (!Array.isArray(reactors)) fail(`error: ${client.server} has no list of reactors`, 1);
  const without = reactors.find((one) => !one.schemas);
  if (without) {
    fail(`error: ${client.server} has no schema of ${without.name}: its version is older than this tool's`, 1);
  }
  process.stdout.write(typescript(reactors, `${client.server}/v1/reactors`));
} catch (error) {
  fail(`error: ${client.server} does not list its reactors: ${/** @type {Error} */ (error).message}`, 1);
}
