// The action log as the console keeps it: a window of entries, oldest first, and its groups.

import { isExact } from "./schema.js";

/** Entries that are kept; those beyond are fetched again when they are needed. */
export const MOST_ENTRIES = 5_000;

export const FAMILIES = ["actions", "mutations", "effects", "activities", "faults", "calls"];

export function family(kind) {
	if (kind.endsWith(".failed")) return "faults";
	if (kind.startsWith("action.")) return "actions";
	if (kind.startsWith("mutation") || kind === "state.replaced") return "mutations";
	if (/^(effect|source|timer)\./.test(kind)) return "effects";
	if (kind.startsWith("activity")) return "activities";
	return "calls";
}

/** `k3v9x0qa.12.1` → generation, number, part. An entry with a part precedes its record. */
export function position(text) {
	const [generation, number, part] = text.split(".");
	return { generation, number: Number(number), part: part === undefined ? Infinity : Number(part) };
}

export function precedes(one, other) {
	const [a, b] = [position(one), position(other)];
	return a.number < b.number || (a.number === b.number && a.part < b.part);
}

/** The name of an action or a mutation: its tag, the only member, or nothing. */
export function caseName(value) {
	if (typeof value === "string") return value;
	if (typeof value !== "object" || value === null) return "";
	if (typeof value.type === "string") return value.type;
	const keys = Object.keys(value);
	return keys.length === 1 ? keys[0] : "";
}

/** What an entry is about: an action, a mutation, an id. */
export function subject({ kind, content }) {
	const part = /^action\.re/.test(kind) ? "received" : /^(\w+)\.dropped$/.exec(kind)?.[1];
	return part ? content?.[part] : content ?? {};
}

/** The part of a value that its name does not say. */
export function details(value) {
	if (typeof value === "string") return undefined;
	if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
	if (typeof value.type === "string") {
		const { type: _, ...rest } = value;
		return Object.keys(rest).length === 0 ? undefined : rest;
	}
	const keys = Object.keys(value);
	return keys.length === 0 ? undefined : keys.length === 1 ? value[keys[0]] : value;
}

export class Entries {
	list = [];
	/** Whether newer entries exist that are not in the window, because older ones were fetched. */
	isDetached = false;
	/** Whether the oldest entry of the log is in the window. */
	hasOldest = false;

	/** Adds an entry from the stream. One that is there, or that would leave a gap, is left out. */
	append(entry) {
		const last = this.list.at(-1);
		if (this.isDetached || (last && !precedes(last.position, entry.position))) return false;
		this.list.push(entry);
		if (this.list.length > MOST_ENTRIES) {
			this.list.splice(0, this.list.length - MOST_ENTRIES);
			this.hasOldest = false;
		}
		return true;
	}

	/** Adds a page before the window; entries that are there are left out. */
	prepend(page, isOldest) {
		const first = this.list[0];
		const older = first ? page.filter((entry) => precedes(entry.position, first.position)) : page;
		this.list = [...older, ...this.list];
		this.hasOldest = isOldest;
		if (this.list.length > MOST_ENTRIES) {
			this.list.length = MOST_ENTRIES;
			this.isDetached = true;
		}
	}
}

/** The text in which `find` looks, in lower case. */
export function text(entry) {
	entry.text ??= `${entry.kind} ${entry.position} ${entry.action ?? ""} ${
		entry.version === undefined ? "" : `v${entry.version}`
	} ${JSON.stringify(entry.content ?? null)}`.toLowerCase();
	return entry.text;
}

/**
 * The entries of an action that are shown at most: its first and its newest ones, unless it is
 * unfolded.
 */
const MOST_OF_ACTION = 12;

/**
 * The rows to show. Each action is read downwards, whichever comes first; `isMember`: what it has
 * led to; `fold`: the action of which `count` entries are left out here.
 */
export function rows(list, { newestFirst, grouped, families, find, unfolded }) {
	const wanted = find.toLowerCase();
	const shown = list.filter((entry) =>
		families.has(family(entry.kind)) && (wanted === "" || text(entry).includes(wanted))
	);
	if (!grouped) {
		if (newestFirst) shown.reverse();
		return shown.map((entry) => ({ entry, isMember: false, isOdd: false }));
	}
	const groups = new Map();
	let free = 0;
	for (const entry of shown) {
		// Entries without an action follow their neighbours.
		const key = entry.action > 0 ? entry.action : `free ${free += 1}`;
		if (groups.has(key)) groups.get(key).push(entry);
		else groups.set(key, [entry]);
	}
	const ordered = [...groups.values()];
	if (newestFirst) ordered.reverse();
	return ordered.flatMap((group, index) => {
		const isOdd = index % 2 === 1;
		const found = group.map((entry, place) => ({
			entry,
			isMember: group.length > 1 && !(place === 0 && entry.kind.startsWith("action.")),
			isOdd,
		}));
		const { action } = group[0];
		const count = group.length - MOST_OF_ACTION;
		// A search shows every entry that it finds.
		if (count > 1 && wanted === "" && !unfolded?.has(action)) {
			found.splice(1, count, { fold: action, count, isMember: true, isOdd });
		}
		return found;
	});
}

/**
 * How to make a session without one action: the version before it, and the actions after it that can be
 * posted again. `lost`: those whose content the log does not have, such as those of a batch, or a browser
 * rounds. Returns nothing if the window begins too late to know.
 */
export function without(list, action, firstVersion) {
	const start = list.findIndex((entry) => entry.action === action);
	if (start < 0) return undefined;
	let version = list.slice(0, start).findLast((entry) => entry.version !== undefined)?.version ?? firstVersion;
	if (version === undefined) {
		const next = list.find((entry) => entry.version !== undefined);
		if (!next) return undefined;
		version = next.version - 1;
	}
	const actions = [];
	let lost = 0;
	for (const entry of list.slice(start + 1)) {
		if (entry.action === action || entry.kind !== "action.received") continue;
		const received = entry.content?.received;
		if (received === undefined || !isExact(received)) lost += 1;
		else actions.push(received);
	}
	return { version, actions, lost };
}
