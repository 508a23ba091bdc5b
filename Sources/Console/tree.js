// A JSON value as the rows of a tree.

import { pointer } from "./diff.js";

/** A value with more nodes begins with everything below the second level closed. */
const OPEN_NODES = 2_000;

export function kind(value) {
	if (value === null || value === undefined) return "null";
	if (Array.isArray(value)) return "array";
	return typeof value;
}

/** The number of nodes, counted up to a limit. */
export function count(value, limit) {
	let nodes = 0;
	const waiting = [value];
	while (waiting.length > 0 && nodes < limit) {
		const next = waiting.pop();
		nodes += 1;
		if (typeof next === "object" && next !== null) {
			for (const child of Object.values(next)) {
				waiting.push(child);
				if (waiting.length > limit) break;
			}
		}
	}
	return nodes;
}

/** A value, and which of its parts are open. */
export class Tree {
	/** What the reader has opened or closed, by pointer. */
	#chosen = new Map();
	#openDepth = Infinity;
	value;
	/** What changed: `added`, `changed` by pointer. */
	marks = new Map();

	show(value, changes = []) {
		this.value = value;
		this.#openDepth = count(value, OPEN_NODES + 1) > OPEN_NODES ? 2 : Infinity;
		this.marks = new Map();
		for (const { path, kind } of changes) {
			// A removal changes the part that it was in.
			const marked = kind === "removed" ? path.slice(0, -1) : path;
			this.marks.set(pointer(marked), kind === "removed" ? "changed" : kind);
			for (let end = marked.length - 1; end >= 0; end -= 1) {
				const parent = pointer(marked.slice(0, end));
				if (!this.marks.has(parent)) this.marks.set(parent, "inside");
			}
		}
	}

	isOpen(row) {
		return this.#chosen.get(row.pointer) ?? row.depth < this.#openDepth;
	}

	toggle(row, open = !this.isOpen(row)) {
		this.#chosen.set(row.pointer, open);
	}

	/** The rows that are visible: those in closed parts are left out. */
	rows() {
		const rows = [];
		const add = (value, key, path, depth, position, siblings) => {
			const row = {
				key,
				value,
				depth,
				pointer: path,
				kind: kind(value),
				mark: this.marks.get(path),
				position,
				siblings,
				size: typeof value === "object" && value !== null ? Object.keys(value).length : 0,
			};
			row.opens = row.size > 0;
			row.isOpen = row.opens && this.isOpen(row);
			rows.push(row);
			if (!row.isOpen) return;
			let index = 0;
			for (const [name, child] of Object.entries(value)) {
				add(child, name, path + pointer([name]), depth + 1, (index += 1), row.size);
			}
		};
		add(this.value, "", "", 0, 1, 1);
		return rows;
	}
}

/** A leaf or an outline of a value, on one line. */
export function brief(value, most = 120) {
	switch (kind(value)) {
		case "array":
			return value.length === 0 ? "[]" : `[${value.length}]`;
		case "object": {
			const size = Object.keys(value).length;
			return size === 0 ? "{}" : `{${size}}`;
		}
		case "string":
			return JSON.stringify(value.length > most ? `${value.slice(0, most)}…` : value);
		default:
			return String(value ?? null);
	}
}

/** A value as one line of JSON, cut at a length. */
export function line(value, most = 160) {
	const text = JSON.stringify(value) ?? "null";
	return text.length > most ? `${text.slice(0, most)}…` : text;
}
