// Values of sessions on the screen: a tree, text, and differences.

import { add, button, h } from "./dom.js";
import { pointer } from "./diff.js";
import { brief, count, line, Tree } from "./tree.js";
import { Rows } from "./rows.js";

/** The text of a larger value is cut. */
const LARGE = 1_048_576;
/** A value with more nodes begins as text, and is a tree on demand. */
const MANY = 20_000;
const HIDDEN = "•••";

/** Whether values are hidden, and what depends on it. */
export const secrecy = {
	isOn: false,
	listeners: new Set(),
	toggle() {
		this.isOn = !this.isOn;
		for (const listener of this.listeners) listener();
	},
};

/** A value for reading, unless values are hidden. */
export function shown(value, most) {
	return secrecy.isOn ? HIDDEN : line(value, most);
}

export class TreeView {
	#tree = new Tree();
	#rows;
	#pulses = new Set();

	constructor(list, label) {
		this.#rows = new Rows(list, {
			role: "tree",
			item: "treeitem",
			label,
			id: (item) => item.pointer,
			draw: (item, row) => this.#draw(item, row),
			open: (item) => this.#toggle(item),
			key: (event, item) => this.#key(event, item),
		});
	}

	/** `changes`: those of `diff`, to be marked. */
	show(value, changes = [], pulses = []) {
		this.#pulses = new Set(pulses.map((name) => pointer([name])));
		this.#tree.show(value, changes);
		this.redraw();
	}

	redraw() {
		this.#rows.show(this.#tree.rows());
	}

	#toggle(row, open) {
		if (!row.opens) return;
		this.#tree.toggle(row, open);
		this.redraw();
	}

	#key(event, row) {
		const index = this.#rows.items.indexOf(row);
		if (event.key === "ArrowRight") {
			if (row.opens && !row.isOpen) this.#toggle(row, true);
			else if (row.isOpen) this.#rows.step(1);
			return true;
		}
		if (event.key === "ArrowLeft") {
			if (row.isOpen) this.#toggle(row, false);
			else {
				let parent = index;
				while (parent > 0 && this.#rows.items[parent].depth >= row.depth) parent -= 1;
				this.#rows.move(parent);
			}
			return true;
		}
		return false;
	}

	#draw(item, row) {
		row.style.paddingInlineStart = `${0.5 + item.depth * 1.1}rem`;
		row.setAttribute("aria-level", item.depth + 1);
		row.setAttribute("aria-posinset", item.position);
		row.setAttribute("aria-setsize", item.siblings);
		if (item.opens) row.setAttribute("aria-expanded", String(item.isOpen));
		if (item.mark) row.classList.add(item.mark);
		const isPulse = this.#pulses.has(item.pointer);
		const text = secrecy.isOn && !item.opens ? HIDDEN : brief(item.value, 400);
		add(
			row,
			h("span.twig", { "aria-hidden": "true" }, item.opens ? (item.isOpen ? "▾" : "▸") : ""),
			item.depth > 0 && h("span.key", item.key),
			isPulse && h("span.pulse", { title: "a pulse" }, "◉"),
			h("span", { class: `value ${item.kind}` }, text),
			item.mark && item.mark !== "inside" &&
				h("span.mark", item.mark === "added" ? "new" : "changed"),
		);
	}
}

/** A value as text; a large one is cut. */
export function text(value, label = "The state as JSON") {
	if (secrecy.isOn) return [h("p.quiet", "Values are hidden (h shows them).")];
	const whole = JSON.stringify(value, null, 2) ?? "null";
	const cut = whole.slice(0, LARGE);
	const nodes = [h("pre.json", { tabindex: "0", "aria-label": label }, cut)];
	if (cut.length < whole.length) {
		nodes.unshift(h("p.note", `The first ${LARGE} of ${whole.length} characters.`));
	}
	return nodes;
}

/** Whether a value is too large to begin as a tree. */
export function isLarge(value) {
	return count(value, MANY) >= MANY;
}

/**
 * The changes between two values, and the pulses that were assigned an equal value, if they are
 * known, as a table.
 */
export function changesTable({ changes, isComplete }, title, assigned) {
	const equal = [...assigned ?? []].filter(([name]) => !changes.some(({ path }) => path.length === 0 || path[0] === name));
	if (changes.length === 0 && equal.length === 0) {
		return [h("p.quiet", `${title}: ${assigned ? "nothing has changed" : "the states are equal"}.`)];
	}
	const rows = changes.flatMap(({ path, kind, before, after }) => {
		const place = path.length === 0 ? "the whole state" : path.join(" › ");
		const row = (sign, word, className, value) =>
			h("tr", { class: className },
				h("td.sign", h("span.unseen", word), h("span", { "aria-hidden": "true" }, sign)),
				h("td.key", place),
				h("td.value", shown(value, 400)),
			);
		return [
			kind !== "added" && row("−", "before", "removed", before),
			kind !== "removed" && row("+", "after", "added", after),
		].filter(Boolean);
	});
	return [
		h("div.scroller", { tabindex: "0", role: "region", "aria-label": title },
			h("table.changes",
				h("caption", title),
				h("thead.unseen", h("tr", ...["which", "where", "value"].map((name) => h("th", { scope: "col" }, name)))),
				h("tbody", ...rows, ...equal.map(([name, value]) =>
					h("tr.same",
						h("td.sign", h("span.unseen", "assigned again"), h("span", { "aria-hidden": "true" }, "◉")),
						h("td.key", name),
						h("td.value", shown(value, 400), " — assigned again, equal value"),
					)
				)),
			),
			isComplete ? "" : h("p.note", "There are more changes than are shown."),
		),
	];
}

/** A part of the page that fails alone: it says so, and offers to try again. */
export async function guarded(place, act) {
	try {
		await act();
	} catch (error) {
		showFault(place, error, () => guarded(place, act));
	}
}

export function showFault(place, error, retry) {
	place.replaceChildren(
		h("div.fault", { role: "alert" },
			h("p", error?.detail ?? error?.message ?? String(error)),
			retry &&
				button("Try again", () => {
					place.replaceChildren();
					retry();
				}),
		),
	);
}
