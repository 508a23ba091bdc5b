// The action log of a session on the screen.

import { announce, button, download, h, perFrame, stored } from "./dom.js";
import { caseName, details, Entries, FAMILIES, family, position, rows, subject, without } from "./entries.js";
import { exported } from "./export.js";
import { Rows } from "./rows.js";
import { secrecy, showFault, shown } from "./values.js";

const PAGE = 500;
const SIGNS = { actions: "▸", mutations: "◆", effects: "▶", activities: "◇", faults: "✕", calls: "·" };

export class Timeline {
	node;
	/** The newest version that the log has shown. */
	version;
	#session;
	#hooks;
	#entries = new Entries();
	#rows;
	#options = { newestFirst: stored("localStorage", "reactor-order") !== "oldest", grouped: true, families: new Set(FAMILIES), find: "", unfolded: new Set() };
	#list = h("div");
	#detail = h("div.detail", { hidden: true });
	#fault = h("div");
	#status = h("span.quiet");
	#find = h("input", { type: "search", "aria-label": "Find in the entries that are loaded", placeholder: "find…", size: "10" });
	#newest = button("Newest entries", () => this.#restart(), { hidden: true });
	#controller = new AbortController();
	#isLoading = false;
	#kept;
	#draw = perFrame(() => this.#show(), 200);

	/** `hooks`: version(number), open(version), fork(plan, entry), again(action), isReadOnly, server, reactor. */
	constructor(session, hooks) {
		this.#session = session;
		this.#hooks = hooks;
		const order = h("select",
			{ "aria-label": "Order", on: { change: () => this.#reorder(order.value) } },
			h("option", { value: "newest" }, "newest first"),
			h("option", { value: "oldest" }, "oldest first"),
		);
		order.value = this.#options.newestFirst ? "newest" : "oldest";
		const kinds = h("select",
			{ "aria-label": "Kinds of entries", on: { change: () => this.#filter(kinds.value) } },
			h("option", { value: "" }, "all kinds"),
			...FAMILIES.map((name) => h("option", { value: name }, name)),
		);
		this.#find.addEventListener("input", () => {
			this.#options.find = this.#find.value.trim();
			this.#show();
		});
		const grouped = h("input", { type: "checkbox", checked: true });
		grouped.addEventListener("change", () => {
			this.#options.grouped = grouped.checked;
			this.#show();
		});
		this.#rows = new Rows(this.#list, {
			role: "listbox",
			item: "option",
			label: "Timeline",
			id: (row) => row.entry ?? `fold ${row.fold}`,
			draw: (row, node) => this.#drawRow(row, node),
			moved: (row) => this.#inspect(row?.entry),
			open: ({ entry, fold }) => entry ? entry.version !== undefined && this.#hooks.open(entry.version) : this.#unfold(fold),
			near: (edge) => edge === (this.#options.newestFirst ? "bottom" : "top") && this.#older(),
		});
		this.node = h("section.card.timeline", { "aria-label": "Timeline" },
			h("div.bar",
				h("h2", "Timeline"),
				order,
				kinds,
				h("div.find",
					h("label.tick", { title: "Each action above its results" }, grouped, " by action"),
					this.#find,
				),
			),
			this.#fault,
			this.#list,
			h("div.bar", this.#status, this.#newest, button("Export", () => this.#export(), { title: "as `journal import` reads it" })),
			this.#detail,
		);
	}

	get rows() {
		return this.#rows;
	}

	/** Begins with the newest entries, also anew, and continues with those that come. */
	begin({ kept, version, position }) {
		this.#controller.abort();
		this.#controller = new AbortController();
		this.#entries = new Entries();
		this.#kept = kept;
		this.version = version;
		this.#follow(position);
	}

	close() {
		this.#controller.abort();
	}

	/** The entry of a version, if it is loaded. */
	entry(version) {
		return this.#entries.list.findLast((entry) => entry.version === version);
	}

	redraw() {
		this.#rows.redraw();
		if (!this.#detail.hidden) this.#inspect(this.#rows.active?.entry);
	}

	#restart() {
		this.begin({ kept: this.#kept, version: this.version, position: this.#session.position ?? this.#kept.position });
	}

	async #follow(place) {
		const { signal } = this.#controller;
		const { generation, number } = position(place);
		const floor = position(this.#kept.position).number;
		const start = Math.max(floor, number - PAGE);
		this.#entries.hasOldest = start === floor;
		this.#fault.replaceChildren();
		try {
			for await (const entry of this.#session.log({ after: `${generation}.${start}`, live: true, signal })) {
				if (entry.kind === "reset") continue; // The session has the same, and begins the timeline anew.
				this.#entries.append(entry);
				if (entry.version !== undefined) {
					this.version = entry.version;
					this.#hooks.version(entry.version, entry);
				}
				this.#draw();
			}
		} catch (error) {
			if (signal.aborted) return;
			showFault(this.#fault, error, () => this.#restart());
		}
	}

	async #older() {
		const first = this.#entries.list[0];
		if (this.#isLoading || this.#entries.hasOldest || !first) return;
		this.#isLoading = true;
		try {
			const { generation, number } = position(first.position);
			const floor = position(this.#kept.position).number;
			const start = Math.max(floor, number - PAGE);
			const { entries, reset } = await this.#read(`${generation}.${start}`, number);
			// The server keeps less than before: what is there begins later.
			if (reset) this.#kept = { ...this.#kept, position: entries[0]?.position ?? this.#kept.position };
			this.#entries.prepend(entries, start === floor);
			this.#show();
		} catch (error) {
			showFault(this.#fault, error, () => this.#older());
		}
		this.#isLoading = false;
	}

	/** The entries from a place on, up to a number. */
	async #read(after, number = Infinity) {
		const found = { entries: [] };
		while (after !== undefined && position(after).number < number) {
			const query = new URLSearchParams({ after, limit: "1000" });
			const { entries, next, reset } = await this.#hooks.server.request("GET", `/v1/sessions/${this.#session.id}/log?${query}`);
			found.entries = found.entries.concat(entries);
			found.reset ||= reset;
			after = next;
		}
		return found;
	}

	#unfold(action) {
		this.#options.unfolded.add(action);
		this.#show();
	}

	#reorder(order) {
		stored("localStorage", "reactor-order", order);
		this.#options.newestFirst = order === "newest";
		this.#show();
	}

	#filter(name) {
		this.#options.families = new Set(name === "" ? FAMILIES : [name]);
		this.#show();
	}

	#show() {
		const shown = rows(this.#entries.list, this.#options);
		this.#rows.show(shown);
		const loaded = this.#entries.list.length;
		const count = shown.reduce((sum, row) => sum + (row.count ?? 1), 0);
		const words = [`${count} of ${loaded} loaded entries`];
		if (!this.#entries.hasOldest) words.push("scroll for older ones");
		if (this.#options.find !== "") words.push("only these are searched");
		this.#status.textContent = words.join(" · ");
		this.#newest.hidden = !this.#entries.isDetached;
	}

	#drawRow({ entry, fold, count, isMember, isOdd }, node) {
		node.classList.toggle("band", isOdd);
		node.classList.toggle("member", isMember);
		if (!entry) return node.append(h("span.more", `⋯ ${count} more entries of action ${fold}: show them`));
		const name = family(entry.kind);
		node.classList.add(name);
		const what = details(subject(entry));
		node.append(
			h("span.time", clock(entry.time)),
			h("span.number", entry.version === undefined ? "" : `v${entry.version}`),
			h("span.sign", { "aria-hidden": "true" }, SIGNS[name]),
			h("span.kind", label(entry)),
			h("span.value", what === undefined ? "" : shown(what, 200)),
		);
	}

	#inspect(entry) {
		this.#detail.hidden = entry === undefined;
		if (!entry) return;
		const { text: _, ...content } = entry;
		const buttons = [];
		if (entry.version !== undefined) {
			buttons.push(button(`Show version ${entry.version}`, () => this.#hooks.open(entry.version)));
		}
		if (!this.#hooks.isReadOnly && entry.action > 0) {
			const plan = without(this.#entries.list, entry.action, this.#entries.hasOldest ? this.#kept.version : undefined);
			if (plan) buttons.push(button(`Fork without action ${entry.action}`, () => this.#hooks.fork(plan, entry)));
		}
		if (!this.#hooks.isReadOnly && entry.content?.received !== undefined) {
			buttons.push(button("Use in the form", () => this.#hooks.again(entry.content.received)));
		}
		this.#detail.replaceChildren(
			h("pre.json", { tabindex: "0", "aria-label": "The entry" }, secrecy.isOn ? "•••" : JSON.stringify(content, null, 2)),
			h("div.bar", ...buttons),
		);
	}

	async #export() {
		try {
			const { server, reactor } = this.#hooks;
			const path = `/v1/sessions/${this.#session.id}`;
			const { kept } = await server.request("GET", `${path}/runtime`);
			const first = await server.request("GET", `${path}?version=${kept.from.version}`);
			const { entries, reset } = await this.#read(kept.from.position);
			if (reset) throw new Error("The kept history has changed in the meantime.");
			const start = { ...kept.from, state: first.state, time: entries[0]?.time ?? new Date().toISOString() };
			const newest = entries.findLast((entry) => entry.version > kept.from.version);
			const last = newest && { ...newest, ...await server.request("GET", `${path}?version=${newest.version}`) };
			const name = `${this.#session.id}.ndjson`;
			const hosted = (await server.client.reactors()).find((one) => one.name === reactor);
			if (!hosted) throw new Error(`This server does not host ${reactor}.`);
			const session = { id: this.#session.id, reactor, stateVersion: hosted.stateVersion };
			download(name, "application/x-ndjson", exported(session, start, entries, last));
			announce(`${entries.length} entries are saved as ${name}.`);
		} catch (error) {
			showFault(this.#fault, error, () => this.#export());
		}
	}
}

/** The time of day, after the day if that is not today. */
export function clock(time) {
	const date = new Date(time);
	const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("sv")} `;
	return `${day}${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** What happened, in words. */
function label(entry) {
	const name = caseName(subject(entry));
	const { id, step } = entry.content ?? {};
	const [kind, word] = entry.kind.split(".");
	if (entry.kind === "mutation") return name;
	if (entry.kind === "action.received") return `action ${name}`;
	if (kind === "action") return `action ${word} ${name}`;
	if (kind === "effect") return `effect ${id ?? (step === undefined ? "" : `step ${step}`)} ${word}`;
	return `${entry.kind} ${name === entry.kind ? "" : name}`;
}
