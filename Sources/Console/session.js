// One session: its state, live or as it was, its pulses, its log, and what can be done with it.

import { announce, button, every, grey, h, perFrame, set } from "./dom.js";
import { diff } from "./diff.js";
import { Pulses } from "./pulses.js";
import { Scrubber } from "./scrubber.js";
import { Sending } from "./sending.js";
import { confirm } from "./server.js";
import { clock, Timeline } from "./timeline.js";
import { changesTable, guarded, isLarge, secrecy, showFault, text, TreeView } from "./values.js";

const EVERY = 2_000;
/** What a session was forked from, by this page. */
const origins = new Map();
/** States of versions that are kept in the page. */
const CACHED = 64;

/** The time since a moment, or (`sign` 1) until it. */
function span(moment, sign) {
	const seconds = Math.max(0, sign * (Date.parse(moment) - Date.now()) / 1e3);
	return seconds < 6e3 ? `${seconds.toFixed(seconds < 10)} s` : `${Math.round(seconds / 3600)} h`;
}

export class SessionView {
	node = h("div.session");
	#server;
	#id;
	#go;
	#create;
	#route;
	#session;
	#reactor;
	/** The input with which the session was created; undefined without one. */
	#input;
	#timeline;
	#pulses;
	#sending;
	#runtime;
	#version;
	#mode = "tree";
	#present;
	/** How many live states there were. */
	#states = 0;
	/** The live state that was drawn last, and what changed by it. */
	#drawn;
	#changes = [];
	#cache = new Map();
	/** The positions of those versions. */
	#positions = new Map();
	/** The version that is being read; the newest wish waits for it. */
	#reading;
	#isBeginning = false;
	#isOpen = false;
	/** Why the state is not shown yet: the session is `asleep` or `missing`. */
	#waits;
	#isClosed = false;
	#hasEnded = false;
	#wantsTree = false;
	#timer;
	#parts = {
		title: h("h1", { tabindex: "-1" }),
		facts: h("p.facts-line"),
		link: h("span.link"),
		past: h("div.past", { hidden: true }),
		body: h("div"),
		state: h("div.state-body"),
		input: h("section.card", { "aria-label": "Input" }),
		buttons: h("div.bar"),
	};
	#treeList = h("div.tree");
	#tree = new TreeView(this.#treeList, "State");
	#scrubber = new Scrubber((version, isDragging) => this.#choose(version, isDragging));
	#modes = {};
	#draw = perFrame(() => this.#showState(), 50);
	#hidden = () => {
		this.#showState();
		this.#showInput();
		this.#timeline?.redraw();
		this.#pulses?.redraw();
	};

	/** `go(route, isPassing)` changes the address; `create(id)` offers to make a session. */
	constructor(server, id, go, create) {
		this.#create = create;
		this.#server = server;
		this.#id = id;
		this.#go = go;
		this.#parts.title.textContent = id;
		this.node.append(
			h("header.session-head",
				h("div", this.#parts.title, this.#parts.facts),
				this.#parts.buttons,
			),
			this.#parts.past,
			this.#parts.body,
		);
		secrecy.listeners.add(this.#hidden);
		this.#timer = every(EVERY, () => this.#readRuntime());
	}

	close() {
		this.#isClosed = true;
		clearInterval(this.#timer);
		secrecy.listeners.delete(this.#hidden);
		this.#timeline?.close();
		this.#session?.leave();
	}

	/** Shows the session as an address says. */
	async show(route) {
		this.#route = route;
		if (route.diff !== undefined) this.#mode = "diff";
		else if (this.#mode === "diff") this.#mode = "tree";
		if (this.#isOpen) return this.#showAll();
		if (this.#isBeginning) return;
		this.#isBeginning = true;
		await guarded(this.#parts.body, () => this.#begin());
	}

	/** Looking wakes no session; reading its state does, and is asked for. */
	async #begin() {
		try {
			await this.#readRuntime(true);
		} catch (error) {
			if (error.code !== "unknown_session") throw error;
			this.#waits = "missing";
			return this.#parts.body.replaceChildren(
				h("div.card.note.fault", { role: "alert" },
					h("p", `The session ${this.#id} does not exist.`),
					this.#server.isReadOnly ? "" : button("Create it…", () => this.#create(this.#id), { class: "primary" }),
				),
			);
		}
		if (this.#runtime.awake || this.#route.version !== undefined) return this.#open();
		this.#waits = "asleep";
		this.#parts.body.replaceChildren(
			h("div.card.note",
				h("p", "This session is asleep: it is in the journal, and not in memory. Reading it wakes it."),
				button("Read it", () => guarded(this.#parts.body, () => this.#open()), { class: "primary" }),
			),
		);
	}

	async #open() {
		this.#waits = undefined;
		const reactors = await this.#server.reactors().catch(() => new Map());
		const head = await this.#readHead();
		if (this.#isClosed) return;
		this.#reactor = reactors.get(head.reactor) ?? { name: head.reactor, pulses: [], examples: [] };
		this.#present = head.state;
		this.#isOpen = true;
		this.#follow(head);
		this.#build();
		this.#showAll();
	}

	async #readHead() {
		const head = await this.#server.request("GET", `/v1/sessions/${this.#id}`);
		await this.#readRuntime(true);
		this.#version = head.version;
		this.#input = head.input;
		return head;
	}

	#beginTimeline({ position, version }) {
		this.#timeline.begin({ position, version, kept: this.#runtime.kept.from });
	}

	#follow(head) {
		this.#session = this.#server.client.session(this.#id);
		// Its history may be another one.
		this.#session.onReset(() => {
			this.#cache.clear();
			this.#positions.clear();
			this.#readHead().then((head) => this.#isClosed || this.#beginTimeline(head), () => {});
		});
		this.#session.subscribe(() => {
			const state = this.#session.confirmed;
			if (state !== undefined && state !== this.#present) {
				this.#present = state;
				this.#states += 1;
				if (this.#showsLive) this.#draw();
			}
			this.#showLink();
		});
		this.#pulses = new Pulses(this.#session);
		this.#timeline = new Timeline(this.#session, {
			server: this.#server,
			reactor: head.reactor,
			isReadOnly: this.#server.isReadOnly,
			version: (version) => this.#moved(version),
			open: (version) => this.#choose(version),
			fork: (plan, entry) => this.#forkWithout(plan, entry),
			again: (action) => this.#sending?.use(action),
		});
		this.#beginTimeline(head);
	}

	#moved(version) {
		if (version <= this.#version) return;
		this.#version = version;
		// A version with an equal state is the same object, but still a change.
		if (this.#mode === "diff" && this.#showsLive) this.#draw();
		this.#facts();
	}

	get #showsLive() {
		return this.#route.version === undefined || this.#route.diff === "live";
	}

	#facts = perFrame(() => {
		this.#showFacts();
		this.#showScrubber();
		if (this.#route.version !== undefined) this.#showPast();
	}, 200);

	// MARK: The page

	#build() {
		const mode = (name, label) =>
			this.#modes[name] = button(label, () => this.#setMode(name), { "aria-pressed": "false" });
		const state = h("section.card.state", { "aria-label": "State" },
			h("div.bar", h("h2", "State"), mode("tree", "Tree"), mode("json", "JSON"), mode("diff", "Diff")),
			this.#parts.state,
		);
		if (!this.#server.isReadOnly) this.#sending = new Sending(this.#session, this.#reactor);
		this.#parts.body.replaceChildren(
			h("div.columns",
				h("div.column", state, this.#input === undefined ? "" : this.#parts.input, this.#pulses.node),
				h("div.column", this.#timeline.node),
			),
			this.#scrubber.node,
			this.#sending?.node ?? "",
		);
		const buttons = [this.#parts.link];
		if (!this.#server.isReadOnly) {
			const fork = button("Fork", () => this.#fork(fork));
			const remove = button("Delete…", () => this.#delete(remove), { class: "danger" });
			buttons.push(fork, remove);
		}
		this.#parts.buttons.replaceChildren(...buttons);
		this.#showInput();
		this.#showLink();
	}

	#showAll() {
		this.#showFacts();
		this.#showScrubber();
		this.#showPast();
		this.#showState();
	}

	#showFacts() {
		const { awake, subscribers, effects = [], sources = [], timers = [], stubbed } = this.#runtime ?? {};
		const parts = [this.#reactor?.name, this.#version === undefined ? "" : `version ${this.#version}`, this.#session?.position];
		if (awake === false) parts.push("asleep");
		if (subscribers !== undefined) parts.push(`${subscribers} ${subscribers === 1 ? "subscriber" : "subscribers"}${
			subscribers > 0 && this.#session?.status.kind === "live" ? ", including those of this page" : ""
		}`);
		const origin = origins.get(this.#id);
		if (origin) parts.push(`forked from ${origin}`);
		const list = (words, all) => all.length > 0 &&
			parts.push(`${words}: ${all.slice(0, 5).join(", ")}${all.length > 5 ? "…" : ""}`);
		list(
			`${effects.length} ${effects.length === 1 ? "effect" : "effects"} running`,
			effects.map(({ id, step, action, since }) => `${id ?? `step ${step ?? "?"}`} (action ${action}, ${span(since, -1)})`),
		);
		list("timers", timers.map(({ name, due }) => `${name} in ${span(due, 1)}`));
		list("sources", sources);
		if (stubbed) parts.push("stubbed");
		this.#parts.facts.textContent = parts.filter(Boolean).join(" · ");
	}

	#showLink() {
		const { status, pending } = this.#session;
		const words = {
			live: "● live",
			idle: "○ idle",
			connecting: "◌ connecting…",
			waiting: "◌ waiting to connect again",
			failed: "✕ failed",
			ended: "■ ended",
		};
		const detail = status.problem?.detail ?? status.why ?? status.reason ?? "";
		const text = `${words[status.kind]}${pending > 0 ? ` · ${pending} unsent` : ""}`;
		const link = this.#parts.link;
		if (link.textContent !== text) link.textContent = text;
		link.className = `link ${status.kind}`;
		set(link, "title", detail);
		if (status.kind === "ended" && !this.#hasEnded) {
			this.#hasEnded = true;
			const why = status.reason === "deleted" ? "This session was deleted." : `This session cannot be followed: ${status.reason}.`;
			announce(why);
			this.#parts.past.hidden = false;
			this.#parts.past.replaceChildren(h("span", why));
		}
	}

	#showScrubber() {
		const from = this.#runtime?.kept?.from?.version ?? 0;
		this.#scrubber.show({ from: Math.min(from, this.#version), to: this.#version }, this.#route.version);
	}

	#showPast() {
		const { version } = this.#route;
		this.node.classList.toggle("is-past", version !== undefined);
		if (this.#hasEnded) return;
		this.#parts.past.hidden = version === undefined;
		if (version === undefined) return;
		const time = this.#timeline.entry(version)?.time;
		const ago = this.#version - version;
		const words = `◑ Version ${version} of ${this.#version}${time ? `, ${clock(time)}` : ""}: ${
			ago === 0 ? "the newest" : ago === 1 ? "one version ago" : `${ago} versions ago`
		}.`;
		const line = this.#parts.past.querySelector("span");
		if (line && this.#parts.past.dataset.version === String(version)) {
			line.textContent = words;
			return;
		}
		this.#parts.past.dataset.version = String(version);
		this.#parts.past.replaceChildren(
			h("span", words),
			button("Compare with live", () => this.#go({ ...this.#route, diff: "live" })),
			this.#server.isReadOnly ? "" : button("Fork from here", (event) => this.#fork(event.target)),
			button("Back to live", () => this.#choose(undefined)),
		);
	}

	/** The input with which the session was created never changes. */
	#showInput() {
		this.#parts.input.replaceChildren(h("h2", "Input"), ...text(this.#input, "The input as JSON"));
	}

	// MARK: The state

	async #showState() {
		if (!this.#isOpen) return;
		for (const [name, control] of Object.entries(this.#modes)) set(control, "aria-pressed", String(name === this.#mode));
		const { version } = this.#route;
		const place = this.#parts.state;
		if (version === undefined && this.#present !== this.#drawn) {
			this.#changes = this.#drawn === undefined ? [] : diff(this.#drawn, this.#present).changes;
			this.#drawn = this.#present;
		}
		if (version === undefined && this.#mode !== "diff") return this.#showValue(this.#present, this.#changes);
		const wish = JSON.stringify([this.#route, this.#mode, this.#version, this.#states]);
		// One request at a time: the newest wish is read when it is done.
		if (this.#reading !== undefined) return this.#reading = wish;
		this.#reading = wish;
		try {
			if (this.#mode === "diff") await this.#showDiff(place);
			else await this.#showVersion(version);
		} catch (error) {
			showFault(place, this.#missing(error, version), () => this.#showState());
		}
		const next = this.#reading;
		this.#reading = undefined;
		if (next !== wish) this.#showState();
	}

	#missing(error, version) {
		if (error.code !== "unknown_version") return error;
		this.#readRuntime();
		return version === undefined ? error : new Error(`Version ${version} is not kept: ${error.detail}`);
	}

	async #showVersion(version) {
		const state = await this.#at(version);
		const before = version > this.#scrubber.range.from ? this.#cache.get(version - 1) : undefined;
		if (this.#route.version !== version) return;
		this.#showValue(state, before === undefined ? [] : diff(before, state).changes);
		if (before !== undefined || version === 0) return;
		// The changes are marked when the version before is here.
		const earlier = await this.#at(version - 1).catch(() => undefined);
		if (earlier !== undefined && this.#route.version === version && this.#mode !== "diff") {
			this.#showValue(state, diff(earlier, state).changes);
		}
	}

	#showValue(value, changes) {
		const place = this.#parts.state;
		if (this.#mode === "json" || isLarge(value) && !this.#wantsTree) {
			const nodes = text(value);
			if (this.#mode !== "json") {
				nodes.unshift(
					h("p.note",
						"This state is large. ",
						button("Show it as a tree", () => {
							this.#wantsTree = true;
							this.#showState();
						}),
					),
				);
			}
			return place.replaceChildren(...nodes);
		}
		if (this.#treeList.parentNode !== place || place.children.length > 1) place.replaceChildren(this.#treeList);
		this.#tree.show(value, changes, this.#reactor.pulses);
	}

	async #showDiff(place) {
		const { version, diff: base = "previous" } = this.#route;
		const name = (number) => `version ${number}`;
		let [from, to, title, assigned, alone] = [];
		if (base === "previous") {
			const target = version ?? this.#version;
			const other = Math.max(this.#scrubber.range.from, target - 1);
			[from, to] = [await this.#at(other), await this.#at(target)];
			const [after, position] = [this.#positions.get(other), this.#positions.get(target)];
			if (other < target) assigned = await this.#server.assigned(this.#id, after, position);
			else alone = target === 0 ? "This is version 0: nothing has changed yet." : `The version before ${name(target)} is not kept.`;
			title = `${version === undefined ? "The last change: from" : "From"} ${name(other)} to ${name(target)}`;
		} else {
			const present = version === undefined || base === "live" ? this.#present : undefined;
			const other = base;
			if (base === "live") [from, to] = [await this.#at(version), present];
			else [from, to] = [await this.#at(other), present ?? await this.#at(version)];
			title = base === "live"
				? `From ${name(version)} to the live state`
				: `From ${name(other)} to ${version === undefined ? "the live state" : name(version)}`;
		}
		const field = h("input", {
			type: "number",
			min: this.#scrubber.range.from,
			max: this.#scrubber.range.to,
			class: "version",
			"aria-label": "Compare with version",
			placeholder: "n",
		});
		field.addEventListener("change", () => field.value !== "" && this.#go({ ...this.#route, diff: Number(field.value) }));
		// A field that is being typed in stays.
		const route = JSON.stringify(this.#route);
		if (place.firstChild?.dataset?.route === route) while (place.children.length > 1) place.lastChild.remove();
		else {
			place.replaceChildren(h("div.bar",
				{ "data-route": route },
				h("label.tick", "compare with version ", field),
				button("the one before", () => this.#go({ ...this.#route, diff: "previous" })),
				version === undefined ? "" : button("live", () => this.#go({ ...this.#route, diff: "live" })),
			));
		}
		place.append(...alone ? [h("p.quiet", alone)] : changesTable(diff(from, to), title, assigned));
	}

	async #at(version) {
		const known = this.#cache.get(version);
		if (known !== undefined) return known;
		const { state, position } = await this.#server.request("GET", `/v1/sessions/${this.#id}?version=${version}`);
		this.#cache.set(version, state);
		this.#positions.set(version, position);
		for (const kept of [this.#cache, this.#positions]) if (kept.size > CACHED) kept.delete(kept.keys().next().value);
		return state;
	}

	#setMode(mode) {
		this.#mode = mode;
		const { diff: _, ...route } = this.#route;
		if (mode === "diff") return this.#go({ ...route, diff: "previous" });
		if (this.#route.diff !== undefined) return this.#go(route);
		this.#showState();
	}

	#choose(version, isPassing = false) {
		const { version: _, diff: base, ...route } = this.#route;
		if (version !== undefined) route.version = version;
		if (base !== undefined && this.#mode === "diff") route.diff = base;
		if (version === undefined && base === "live") delete route.diff;
		this.#go(route, isPassing);
	}

	// MARK: Keys

	/** Returns whether the key means something here. */
	key(key) {
		const acts = {
			"[": () => this.#scrubber.step(-1),
			"]": () => this.#scrubber.step(1),
			l: () => this.#choose(undefined),
			d: () => this.#setMode(this.#mode === "diff" ? "tree" : "diff"),
			s: () => this.#sending?.focus(),
			p: () => this.#pulses.toggle(),
			e: () => {
				this.#timeline.rows.focus();
				this.#timeline.rows.step(0);
			},
		};
		if (!this.#isOpen || !Object.hasOwn(acts, key)) return false;
		acts[key]();
		return true;
	}

	// MARK: What changes something

	/** Makes a session that begins like this one, does something with it, and shows it. */
	async #make(version, control, act = () => {}) {
		const from = { session: this.#id, ...(version === undefined ? {} : { version }) };
		try {
			const { id } = await this.#server.request("POST", "/v1/sessions", { reactor: this.#reactor.name, from });
			act(id);
			origins.set(id, `${this.#id}, version ${version}`);
			announce(`Forked as ${id}`);
			this.#go({ view: "session", session: id });
		} catch (error) {
			this.#report(control, error);
		}
	}

	async #fork(control) {
		const { version } = this.#route;
		const sentence = `A new session begins with the state of ${this.#id} ${version === undefined ? "as it is now" : `at version ${version}`}. The server chooses its id.`;
		if (!await confirm("Fork this session", [sentence], "Fork")) return;
		await this.#make(version ?? this.#version, control);
	}

	async #forkWithout({ version, actions, lost }, entry) {
		const sentences = [
			`A new session begins at version ${version}, before action ${entry.action}. Then the ${actions.length} later actions that came alone are posted to it, in their order.`,
			"Their effects run again, with everything that they do outside of the session.",
		];
		if (lost > 0) sentences.push(`${lost} later actions are left out: they came in batches, or have numbers beyond 2⁵³.`);
		if (!await confirm(`Fork without action ${entry.action}`, sentences, "Fork")) return;
		await this.#make(version, undefined, (id) => {
			const fork = this.#server.client.session(id);
			for (const action of actions) fork.submit(action);
			fork.leave();
		});
	}

	async #delete(control) {
		const sentences = [`${this.#id} ends for good, with its whole history. Its id cannot be used again.`];
		if (!await confirm("Delete this session", sentences, "Delete")) return;
		try {
			await this.#server.client.remove(this.#id);
			announce(`${this.#id} is deleted`);
			this.#go({ view: "list" });
		} catch (error) {
			this.#report(control, error);
		}
	}

	#report(control, error) {
		if (error.status === 403 && control) grey(control, error.detail);
		announce(error.detail ?? error.message);
		this.#parts.past.hidden = false;
		showFault(this.#parts.past, error);
	}

	// MARK: The runtime

	async #readRuntime(isNeeded = false) {
		try {
			this.#runtime = await this.#server.request("GET", `/v1/sessions/${this.#id}/runtime`);
		} catch (error) {
			if (isNeeded) throw error;
			return;
		}
		// Somebody else has created it, or has woken it.
		if (this.#waits === "missing" || (this.#waits && this.#runtime.awake)) {
			this.#waits = undefined;
			guarded(this.#parts.body, () => this.#begin());
		}
		if (!this.#isOpen) return;
		this.#showFacts();
		this.#showScrubber();
	}
}
