// Drives the JavaScript client for `.ci/conformance` in Node: commands on standard input, replies
// and events on standard output, one JSON object a line (ClientConformance in ReactorHosting.docc).

import { writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileOutbox } from "../../Sources/BrowserClient/outbox-file.js";
import { Adapter } from "./adapter-commands.js";

const adapter = new Adapter({
  write: (line) => {
    // Whole and at once: a pipe that is full makes the runner's turn.
    for (let bytes = Buffer.from(line + "\n"); bytes.length;) {
      try {
        bytes = bytes.subarray(writeSync(1, bytes));
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
    }
  },
  outbox: (path, account) => fileOutbox(path, account === undefined ? {} : { account }),
});
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on("line", (line) => adapter.perform(line));
lines.on("close", () => process.exit(0));
