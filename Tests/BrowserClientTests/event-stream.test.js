import assert from "node:assert/strict";
import { test } from "node:test";
import { EventStreamDecoder } from "../../Sources/BrowserClient/reactor-client/following.js";

const text =
  ': comment\r\nretry: 20\r\nevent: state\r\nid: k3v9x0qa.5\r\ncause: key\r\ndata: {"é":\r\ndata:  1}\r\n\r\nid: a\n\n';
const expected = [
  { name: "state", data: '{"é":\n 1}', id: "k3v9x0qa.5", cause: "key" },
  { name: "", data: "", id: "a" },
];

test("a stream gives the same events, however it is cut", () => {
  const bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = new EventStreamDecoder(1_000);
    const events = [...decoder.receive(bytes.subarray(0, cut)), ...decoder.receive(bytes.subarray(cut))];
    assert.deepEqual(events, expected);
    assert.equal(decoder.retry, 20);
  }
});
