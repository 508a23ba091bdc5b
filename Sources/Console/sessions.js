// The list of sessions: a search, and as many rows as were scrolled to.

import { announce, button, every, find, h } from "./dom.js";
import { ID } from "./router.js";
import { Rows } from "./rows.js";
import { guarded, showFault } from "./values.js";

const PAGE = 50;
/** Beyond them, search. */
const MOST = 100_000;
const PATIENCE = 150;
const REFRESH = 5_000;

export class SessionList {
	#server;
	#open;
	#searched;
	#rows;
	#prefix = "";
	#reactor = "";
	#lines = [];
	#next;
	/** The number of the search; answers to an earlier one are discarded. */
	#turn = 0;
	#isLoading = false;
	#timer;
	/** The session that the page shows. */
	#shown;
	#create;

	/** `create(id)` offers to make a session. */
	constructor(server, open, searched, create) {
		this.#create = create;
		this.#server = server;
		this.#open = open;
		this.#searched = searched;
		this.#rows = new Rows(find("sessions"), {
			role: "listbox",
			item: "option",
			label: "Sessions",
			id: (line) => line.id,
			draw: (line, row) => this.#draw(line, row),
			open: (line) => this.#open(line.id),
			near: (edge) => edge === "bottom" && this.#more(),
		});
		const field = find("search");
		const search = () => this.search(field.value.trim(), find("reactor").value);
		field.addEventListener("input", () => {
			clearTimeout(this.#timer);
			this.#timer = setTimeout(search, PATIENCE);
		});
		field.addEventListener("keydown", (event) => {
			if (event.key === "Enter") this.#enter(field.value.trim());
			if (event.key === "ArrowDown") this.#rows.focus();
		});
		find("reactor").addEventListener("change", search);
		every(REFRESH, () => this.refresh());
	}

	get rows() {
		return this.#rows;
	}

	/** Marks the session that is open. */
	mark(id) {
		if (this.#shown === id) return;
		this.#shown = id;
		this.#rows.redraw();
	}

	/** Opens the first session that is found; offers to make one. */
	async #enter(text) {
		clearTimeout(this.#timer);
		const [prefix, reactor] = [this.#prefix, this.#reactor];
		await this.search(text, find("reactor").value);
		if (text === prefix && reactor === this.#reactor) await this.reload();
		const first = this.#lines[0];
		if (first) return this.#open(first.id);
		if (!ID.test(text) || this.#server.isReadOnly) return;
		find("sessions-fault").replaceChildren(
			h("div.note",
				h("p", `No session begins with ${text}.`),
				button(`Create ${text}…`, () => this.#create(text)),
			),
		);
		announce(`No session begins with ${text}`);
	}

	/** Fills the choice of reactors. */
	async begin() {
		const reactors = await this.#server.reactors().catch(() => new Map());
		const options = [...reactors.keys()].map((name) => h("option", { value: name }, name));
		find("reactor").append(...options);
		find("reactor").value = this.#reactor;
	}

	async search(prefix, reactor) {
		find("search").value = prefix;
		find("reactor").value = reactor;
		const isSame = prefix === this.#prefix && reactor === this.#reactor && this.#turn > 0;
		if (isSame) return;
		[this.#prefix, this.#reactor] = [prefix, reactor];
		this.#searched({ q: prefix, reactor });
		await this.reload();
	}

	async reload() {
		const turn = this.#turn += 1;
		this.#isLoading = false;
		const fault = find("sessions-fault");
		fault.replaceChildren();
		if (isOdd(this.#prefix)) {
			this.#show([], undefined);
			return find("sessions-count").replaceChildren("an id cannot have such characters");
		}
		await guarded(fault, async () => {
			// An id that is the text itself is the first of those that begin with it.
			const page = await this.#page(undefined).catch((error) => {
				// The rows of another search are no result of this one.
				if (turn === this.#turn) this.#show([], undefined, "");
				throw error;
			});
			if (turn !== this.#turn) return;
			this.#show(page.sessions, page.next);
			this.#rows.scrollToTop();
			announce(find("sessions-count").textContent);
		});
	}

	#page(after, limit = PAGE) {
		const query = new URLSearchParams({ limit: String(limit) });
		const { tags, prefix } = parts(this.#prefix);
		for (const tag of tags) query.append("tag", tag);
		if (prefix !== "") query.set("prefix", prefix);
		if (this.#reactor !== "") query.set("reactor", this.#reactor);
		if (after !== undefined) query.set("after", after);
		return this.#server.request("GET", `/v1/sessions?${query}`);
	}

	async #more() {
		if (this.#isLoading || this.#next === undefined || this.#lines.length >= MOST) return;
		this.#isLoading = true;
		const turn = this.#turn;
		try {
			const page = await this.#page(this.#next);
			if (turn !== this.#turn) return;
			this.#show([...this.#lines, ...page.sessions], page.next);
		} catch (error) {
			showFault(find("sessions-fault"), error, () => {
				this.#isLoading = false;
				this.#more();
			});
			return;
		}
		this.#isLoading = false;
	}

	/** Reads the rows on the screen again: sessions have come and gone. */
	async refresh() {
		if (this.#isLoading || this.#turn === 0 || isOdd(this.#prefix)) return;
		const turn = this.#turn;
		const { first, last } = this.#rows.visible;
		const after = this.#lines[first - 1]?.id;
		try {
			// In the order of changes, a session may meanwhile have moved to the front.
			if (parts(this.#prefix).tags.length > 0) {
				const page = await this.#page(undefined, Math.min(1000, Math.max(PAGE, this.#lines.length)));
				if (turn === this.#turn && !this.#isLoading) this.#show(page.sessions, page.next);
				return;
			}
			const part = await this.#page(after, Math.max(PAGE, last - first));
			if (turn !== this.#turn || this.#isLoading) return;
			const { sessions, next } = merged({ sessions: this.#lines, next: this.#next }, after, part);
			this.#show(sessions, next);
			const fault = find("sessions-fault");
			if (sessions.length > 0 || fault.querySelector(".fault")) fault.replaceChildren();
		} catch {
			// The next time; the banner says that the server is away.
		}
	}

	#show(lines, next, words = undefined) {
		this.#lines = lines;
		this.#next = next;
		this.#rows.show(lines);
		const count = lines.length;
		words ??= count === 0 ? "no session" : count === 1 ? "1 session" : `${count} sessions`;
		if (next !== undefined) words += count >= MOST ? ", and more: search" : ", and more";
		const place = find("sessions-count");
		if (place.textContent !== words) place.textContent = words;
	}

	#draw(line, row) {
		if (line.id === this.#shown) {
			row.classList.add("open");
			row.setAttribute("aria-current", "page");
		}
		row.append(
			h("span.id", line.id),
			h("span.tag", line.reactor ?? ""),
			...Object.entries(line.tags ?? {}).map((tag) => h("span.tag", tag.join(":"))),
			line.status === "quarantined"
				? h("span.bad", { title: line.reason ?? "" }, "quarantined")
				: h("span.number", `v${line.version ?? 0}`),
		);
	}
}

/** The words of a search: those with a colon are tags, another one begins an id. */
export function parts(text) {
	const words = text.trim().split(/\s+/);
	const isTag = (word) => word.includes(":");
	return { tags: words.filter(isTag), prefix: words.filter((word) => !isTag(word)).join(" ") };
}

function isOdd(text) {
	const { prefix } = parts(text);
	return prefix !== "" && !ID.test(prefix);
}

/**
 * A list, `{sessions, next}` in the order of ids, with a part of it that was read again: all
 * sessions after an id, up to the part's own `next`. What the list has not read yet stays so.
 */
export function merged(list, after = "", part) {
	const isEnd = part.next === undefined;
	const later = isEnd ? [] : list.sessions.filter(({ id }) => id > part.next);
	const sessions = [
		...list.sessions.filter(({ id }) => id <= after),
		...part.sessions.filter(({ id }) => isEnd || list.next === undefined || id <= list.next),
		...later,
	];
	return { sessions, next: isEnd ? undefined : list.next ?? (later.length > 0 ? undefined : part.next) };
}
