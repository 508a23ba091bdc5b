import assert from "node:assert/strict";
import { test } from "node:test";
import { History, MOST_POINTS, parse, quantile, scaled, sum } from "../../Sources/Console/metrics.js";

const PAGE = `# HELP a b
# TYPE reactor_requests_total counter
reactor_requests_total 10
reactor_responses_total{route="postActions",status="200"} 7
reactor_responses_total{route="a\\"b\\\\",status="422"} 3
odd line
reactor_x{le="+Inf"} +Inf
`;

test("a page is read with its labels, and odd lines are left out", () => {
  const samples = parse(PAGE);
  assert.equal(sum(samples, "reactor_requests_total"), 10);
  assert.equal(sum(samples, "reactor_responses_total"), 10);
  assert.equal(sum(samples, "reactor_responses_total", ({ status }) => status === "422"), 3);
  assert.equal(samples.get("reactor_responses_total")[1].labels.route, 'a"b\\');
  assert.equal(sum(samples, "missing"), undefined);
  assert.equal(sum(samples, "reactor_x"), Infinity);
});

test("a quantile is interpolated in its bucket, over the time between two pages", () => {
  const page = (counts) =>
    parse(counts.map(([le, count]) => `t_bucket{le="${le}"} ${count}`).join("\n"));
  const before = page([["1.0", 100], ["2.0", 100], ["+Inf", 100]]);
  const after = page([["1.0", 110], ["2.0", 120], ["+Inf", 120]]);
  assert.equal(quantile(before, after, "t", 0.5), 1);
  assert.equal(quantile(before, after, "t", 0.75), 1.5);
  assert.equal(quantile(before, before, "t", 0.5), undefined);
  const above = page([["1.0", 100], ["2.0", 100], ["+Inf", 105]]);
  assert.equal(quantile(before, above, "t", 0.5), 2, "above the last limit");
});

test("counters become rates, and a smaller counter is a restart", () => {
  const history = new History();
  const page = (count) =>
    parse(`reactor_requests_total ${count}\nreactor_responses_total{status="200"} ${count}\nreactor_subscribers 4\n`);
  history.add(page(10), 0);
  history.add(page(30), 2_000);
  history.add(page(5), 4_000);
  history.add(page(9), 6_000);
  assert.deepEqual(history.plots[0][0], [undefined, 10, undefined, 2]);
  assert.deepEqual(history.plots[3][0], [4, 4, 4, 4]);
  assert.deepEqual(history.restarts, [2]);
});

test("points are bounded, and restarts move with them", () => {
  const history = new History();
  const page = (count) => parse(`reactor_requests_total ${count}\n`);
  for (let at = 0; at < MOST_POINTS + 50; at += 1) {
    history.add(page(at >= 100 ? at - 100 : at + 500), at * 2_000);
  }
  assert.equal(history.plots[0][0].length, MOST_POINTS);
  assert.deepEqual(history.restarts, [50]);
});

test("numbers are short", () => {
  assert.deepEqual(
    [scaled(0, "/s"), scaled(1234, "/s"), scaled(0.00042, "s"), scaled(0.0042, "s"), scaled(3, "s"), scaled(undefined, ""), scaled(2_500_000, "B/s")],
    ["0/s", "1.2 k/s", "420 µs", "4.2 ms", "3 s", "–", "2.5 MB/s"],
  );
});
