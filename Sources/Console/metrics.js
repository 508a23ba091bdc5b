// Prometheus text as series over time: counters become rates, histograms quantiles.

/** Points of a series: ten minutes at two seconds. */
export const MOST_POINTS = 300;

/** `name{label="value"} 1` by name, each with its labels. Lines that are none are left out. */
export function parse(text) {
	const samples = new Map();
	for (const line of text.split("\n")) {
		if (line === "" || line.startsWith("#")) continue;
		const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
		if (!found) continue;
		const value = found[3] === "+Inf" ? Infinity : Number(found[3]);
		if (Number.isNaN(value)) continue;
		const labels = {};
		for (const [, name, escaped] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
			labels[name] = escaped.replace(/\\(.)/g, (_, mark) => (mark === "n" ? "\n" : mark));
		}
		if (!samples.has(found[1])) samples.set(found[1], []);
		samples.get(found[1]).push({ labels, value });
	}
	return samples;
}

export function sum(samples, name, fits = () => true) {
	const found = samples.get(name);
	if (!found) return undefined;
	return found.reduce((total, { labels, value }) => total + (fits(labels) ? value : 0), 0);
}

/** A quantile of what a histogram counted between two pages, by interpolation in its bucket; nothing if it counted nothing. */
export function quantile(before, after, name, share, fits = () => true) {
	const buckets = new Map();
	for (const [samples, sign] of [[after, 1], [before, -1]]) {
		for (const { labels, value } of samples?.get(`${name}_bucket`) ?? []) {
			if (!fits(labels)) continue;
			const limit = labels.le === "+Inf" ? Infinity : Number(labels.le);
			buckets.set(limit, (buckets.get(limit) ?? 0) + sign * value);
		}
	}
	const ordered = [...buckets].sort(([one], [other]) => one - other);
	const total = ordered.at(-1)?.[1] ?? 0;
	if (total <= 0) return undefined;
	let [low, counted] = [0, 0];
	for (const [limit, upTo] of ordered) {
		if (upTo >= share * total) {
			if (limit === Infinity) return low;
			const inside = upTo - counted;
			return inside > 0 ? low + (limit - low) * ((share * total - counted) / inside) : limit;
		}
		[low, counted] = [limit, upTo];
	}
	return low;
}

const ofClass = (first) => ({ status }) => status?.startsWith(first);

/** The plots: titles, units and lines. A line without a value is not drawn. */
export const PLOTS = [
	{
		title: "Responses",
		unit: "/s",
		lines: ["2", "4", "5"].map((first) => ({
			name: `${first}xx`,
			rate: (samples) => sum(samples, "reactor_responses_total", ofClass(first)),
		})),
	},
	{
		title: "Time of a POST",
		unit: "s",
		lines: [0.5, 0.99].map((share) => ({
			name: `p${share * 100}`,
			histogram: "reactor_response_seconds",
			share,
			fits: ({ route }) => route === "postActions",
		})),
	},
	{
		title: "Commits of the journal",
		unit: "s",
		lines: [0.5, 0.99].map((share) => ({
			name: `p${share * 100}`,
			histogram: "reactor_journal_commit_seconds",
			share,
		})),
	},
	{
		title: "Subscribers and connections",
		unit: "",
		lines: [
			{ name: "subscribers", value: (samples) => sum(samples, "reactor_subscribers") },
			{ name: "connections", value: (samples) => sum(samples, "reactor_connections") },
		],
	},
	{
		title: "Events written",
		unit: "/s",
		lines: [{ name: "events", rate: (samples) => sum(samples, "reactor_stream_writes_total") }],
	},
	{
		title: "Bytes written to streams",
		unit: "B/s",
		lines: [{ name: "bytes", rate: (samples) => sum(samples, "reactor_stream_bytes_total") }],
	},
];

/** The samples of the last ten minutes, as the points of each plot. */
export class History {
	#before;
	#beforeAt;
	/** One for each plot: one list of points for each line. A point without a value is a gap. */
	plots = PLOTS.map(({ lines }) => lines.map(() => []));
	/** The indices of points at which the server had started again. */
	restarts = [];
	latest;

	/** `at`: milliseconds on any clock. */
	add(samples, at) {
		const seconds = (at - this.#beforeAt) / 1_000;
		const before = this.#before;
		const hasRestarted = before !== undefined &&
			(sum(samples, "reactor_requests_total") ?? 0) < (sum(before, "reactor_requests_total") ?? 0);
		const isFull = this.plots[0][0].length === MOST_POINTS;
		PLOTS.forEach(({ lines }, plot) =>
			lines.forEach((line, index) => {
				const points = this.plots[plot][index];
				points.push(value(line, hasRestarted ? undefined : before, samples, seconds));
				if (points.length > MOST_POINTS) points.shift();
			})
		);
		if (isFull) this.restarts = this.restarts.map((at) => at - 1).filter((at) => at >= 0);
		if (hasRestarted) this.restarts.push(this.plots[0][0].length - 1);
		this.#before = samples;
		this.#beforeAt = at;
		this.latest = samples;
	}
}

function value(line, before, samples, seconds) {
	if (line.value) return line.value(samples);
	if (!before) return undefined;
	if (line.histogram) return quantile(before, samples, line.histogram, line.share, line.fits);
	const [now, then] = [line.rate(samples), line.rate(before)];
	if (now === undefined || !(seconds > 0)) return undefined;
	return Math.max(0, now - (then ?? 0)) / seconds;
}

/** A number for people: three digits, and a prefix of its unit. */
export function scaled(number, unit) {
	if (number === undefined) return "–";
	if (unit === "s") {
		if (number < 0.001) return `${round(number * 1e6)} µs`;
		return number < 1 ? `${round(number * 1e3)} ms` : `${round(number)} s`;
	}
	const space = unit === "" || unit.startsWith("/") ? "" : " ";
	for (const [size, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
		if (number >= size) return `${round(number / size)} ${prefix}${unit}`;
	}
	return `${round(number)}${space}${unit}`;
}

function round(number) {
	return number >= 100 ? Math.round(number) : Number(number.toPrecision(2));
}
