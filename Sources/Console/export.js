// A session's log in the form of `journal export`, which `journal import` reads.

import { position } from "./entries.js";
import { isExact } from "./schema.js";

const RECORDS = { mutation: "mutation", "state.replaced": "mutation", activity: "activity" };

/**
 * `start`: version, position, state and time before the first of `entries`, which are all after it.
 * `last`: the same for their last version, if any. An imported session wakes with it, because
 * mutations may have the form of an earlier version of the reactor.
 */
export function exported(session, start, entries, last) {
	if (!isExact([start, entries, last])) throw new Error("A browser rounds numbers beyond 2⁵³: use `journal export`.");
	const { generation, number: keptAfter } = position(start.position);
	const created = milliseconds(start.time);
	const { id, reactor, stateVersion } = session;
	const lines = [
		{ journal: 2 },
		{ session: id, reactor, generation, created, keptAfter, keptVersion: start.version },
	];
	let { version } = start;
	if (keptAfter === 0) lines.push({ record: 0, kind: "created", version: 0, action: 0, time: created });
	for (const entry of entries) {
		const { number, part } = position(entry.position);
		const isNote = part !== Infinity;
		const kind = isNote ? "note" : RECORDS[entry.kind] ?? "failure";
		version = entry.version ?? version;
		const content = isNote || kind === "failure" ? { kind: entry.kind, content: entry.content } : entry.content;
		const [action, time] = [entry.action ?? 0, milliseconds(entry.time)];
		lines.push({ record: number, ...(isNote && { part }), kind, version, action, time, content });
	}
	const records = lines.length - 2;
	const snapshot = ({ version, position: place, state, time }, lastAction) => {
		const { number: snapshot } = position(place);
		lines.push({ snapshot, version, lastAction, stateVersion, time: milliseconds(time), state });
	};
	const before = (entries.find((entry) => entry.action > 0)?.action ?? 1) - 1;
	snapshot(start, before);
	if (last) {
		const { number } = position(last.position);
		const earlier = entries.filter((entry) => position(entry.position).number <= number);
		snapshot(last, earlier.reduce((newest, { action = 0 }) => Math.max(newest, action), before));
	}
	const [end, snapshots] = [lines.length, last ? 2 : 1];
	lines.push({ end, sessions: 1, records, snapshots, answers: 0, running: 0, tombstones: 0 });
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const milliseconds = (time) => time ? Date.parse(time) : 0;
