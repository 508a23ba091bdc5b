// Metrics as plots and as a table.

import { button, drawing, every, find, h } from "./dom.js";
import { History, MOST_POINTS, parse, PLOTS, scaled, sum } from "./metrics.js";
import { showFault } from "./values.js";

const EVERY = 2_000;
const [WIDTH, HEIGHT] = [300, 80];

/** Reads the metrics while the page is shown; draws them where they are wanted. */
export class Metrics {
	#server;
	#history = new History();
	#fault;
	#isTable = false;
	#body = h("div");
	#toggle = button("As a table", () => {
		this.#isTable = !this.#isTable;
		this.#toggle.textContent = this.#isTable ? "As plots" : "As a table";
		this.#draw();
	});

	constructor(server) {
		this.#server = server;
		this.#read();
		every(EVERY, () => this.#read());
	}

	showIn(place) {
		place.replaceChildren(
			h("div.bar",
				h("h1", "Metrics"),
				h("span.quiet", "the last 10 minutes, every 2 s, while this page is shown"),
				this.#toggle,
			),
			this.#body,
		);
		this.#draw();
	}

	async #read() {
		try {
			if (!this.#server.home.metrics) {
				throw new Error("The metrics are at the operators' address (--ops-listen), which this page does not read.");
			}
			const samples = parse(await this.#server.text(this.#server.home.metrics));
			this.#history.add(samples, performance.now());
			this.#fault = undefined;
		} catch (error) {
			this.#fault = error;
		}
		this.#bar();
		this.#draw();
	}

	/** The line at the top of the page. */
	#bar() {
		const { latest, plots } = this.#history;
		const bar = find("figures");
		if (!latest || this.#fault) return bar.replaceChildren();
		const total = plots[0][0].map((_, index) =>
			plots[0].reduce((all, points) => (points[index] === undefined ? all : all + points[index]), 0)
		);
		const commit = plots[2][1].at(-1);
		bar.replaceChildren(
			h("span.figure", h("b", scaled(total.at(-1) ?? 0, "/s")), " responses "),
			spark(total.slice(-40)),
			h("span.figure", h("b", scaled(sum(latest, "reactor_subscribers"), "")), " subscribers"),
			commit === undefined ? "" : h("span.figure", h("b", scaled(commit, "s")), " commit p99"),
		);
	}

	#draw() {
		if (!this.#body.isConnected) return;
		if (this.#fault) return showFault(this.#body, this.#fault, () => this.#read());
		const { plots, restarts, latest } = this.#history;
		if (!latest) return this.#body.replaceChildren(h("p.quiet", "Reading the metrics…"));
		const drawn = PLOTS.map((plot, index) => ({ ...plot, points: plots[index] }))
			.filter(({ points }) => points.some((line) => line.some((value) => value !== undefined)));
		this.#body.replaceChildren(
			this.#isTable ? table(drawn) : h("div.plots", ...drawn.map((plot) => figure(plot, restarts))),
			facts(latest),
		);
	}
}

function path(points, top) {
	let text = "";
	let isDrawing = false;
	const start = MOST_POINTS - points.length;
	points.forEach((value, index) => {
		if (value === undefined) {
			isDrawing = false;
			return;
		}
		const x = ((start + index) / (MOST_POINTS - 1)) * WIDTH;
		const y = HEIGHT - (value / top) * (HEIGHT - 4) - 1;
		// A value between two gaps is a dot.
		text += `${isDrawing ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}${isDrawing ? "" : "h0"}`;
		isDrawing = true;
	});
	return text;
}

function figure({ title, unit, lines, points }, restarts) {
	const values = points.flat().filter((value) => value !== undefined);
	const top = Math.max(...values) || 1;
	const start = MOST_POINTS - points[0].length;
	const summary = lines.map(({ name }, index) => `${name} ${scaled(points[index].findLast((value) => value !== undefined), unit)}`);
	const svg = drawing(
		"svg",
		{ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${summary.join(", ")}`, preserveAspectRatio: "none" },
		...[0.25, 0.5, 0.75].map((part) =>
			drawing("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part })
		),
		...restarts.map((at) => {
			const x = ((start + at) / (MOST_POINTS - 1)) * WIDTH;
			return drawing("line", { class: "restart", x1: x, x2: x, y1: 0, y2: HEIGHT });
		}),
		...points.map((line, index) => drawing("path", { class: `line line-${index}`, d: path(line, top) })),
	);
	const legend = lines.map(({ name }, index) =>
		h("span",
			{ class: `legend line-${index}` },
			`${name} `,
			h("b", scaled(points[index].findLast((value) => value !== undefined), unit)),
		)
	);
	return h("figure.card",
		h("figcaption", title),
		h("div.plot",
			h("div.scale", { "aria-hidden": "true" }, ...[1, 0.5, 0].map((part) => h("span", scaled(top * part, unit)))),
			svg,
			h("div.times", { "aria-hidden": "true" }, ...["10 min ago", "5 min", "now"].map((time) => h("span", time))),
		),
		h("div.legends", ...legend),
		restarts.length > 0 ? h("p.quiet", "The line across marks a restart of the server.") : "",
	);
}

function table(plots) {
	const rows = plots.flatMap(({ title, unit, lines, points }) =>
		lines.map(({ name }, index) => {
			const known = points[index].filter((value) => value !== undefined);
			return h("tr",
				h("th", { scope: "row" }, `${title}: ${name}`),
				...[known.at(-1), known.length > 0 ? Math.max(...known) : undefined].map((value) =>
					h("td.number", scaled(value, unit))
				),
			);
		})
	);
	const head = h("tr", ...["metric", "now", "maximum"].map((name) => h("th", { scope: "col" }, name)));
	return h("table.card.facts", h("caption.unseen", "Metrics"), h("thead", head), h("tbody", ...rows));
}

/** Numbers that are well when they are zero. */
function facts(samples) {
	const lines = [
		["journal fails", "reactor_journal_failing"],
		["batches that wait for the journal", "reactor_journal_waiting"],
		["stalled subscribers", "reactor_subscribers_stalled"],
		["subscribers that catch up", "reactor_subscribers_catching_up"],
		["resets of streams", "reactor_resets_total"],
		["slow turns", "reactor_slow_turns_total"],
		["failures of reactors", "reactor_failures_total"],
		["refused connections", "reactor_connections_refused_total"],
	].filter(([, name]) => samples.has(name));
	return h("dl.card.facts",
		...lines.map(([label, name]) => {
			const value = sum(samples, name);
			return h("div", h("dt", label), h("dd", { class: value > 0 ? "bad" : "" }, String(value)));
		}),
	);
}

function spark(points) {
	const top = Math.max(1, ...points.filter((value) => value !== undefined));
	const text = points.map((value, index) => `${index ? "L" : "M"}${index * 2} ${(18 - ((value ?? 0) / top) * 16).toFixed(1)}`);
	return drawing("svg", { class: "spark", viewBox: "0 0 80 20", "aria-hidden": "true" }, drawing("path", { class: "line line-0", d: text.join("") }));
}
