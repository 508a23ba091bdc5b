// A session's log in the form of `reactor-server journal export`, which `journal import` reads.

import { position } from "./entries.js";
import { isExact } from "./schema.js";

const RECORDS = { mutation: "mutation", "state.replaced": "mutation", activity: "activity" };

/**
 * `start` has the version, position, state and time before the first entry; `entries` has all entries after it. `last`
 * has the same for the last version among them, if there is one. An imported session wakes with `last`, because
 * mutations may have the form of an earlier version of the reactor.
 */
export function exported(session, start, entries, last) {
	if (!isExact([start, entries, last])) throw new Error("A browser rounds numbers beyond 2⁵³: use `journal export`.");
	const from = position(start.position);
	const began = milliseconds(start.time);
	const lines = [
		{ journal: 2 },
		{
			session: session.id,
			reactor: session.reactor,
			generation: from.generation,
			created: began,
			keptAfter: from.number,
			keptVersion: start.version,
		},
	];
	let [version, records] = [start.version, 0];
	if (from.number === 0) {
		lines.push({ record: 0, kind: "created", version: 0, action: 0, time: began });
		records += 1;
	}
	for (const entry of entries) {
		const { number, part } = position(entry.position);
		const record = { record: number };
		if (part !== Infinity) record.part = part;
		record.kind = part !== Infinity ? "note" : RECORDS[entry.kind] ?? "failure";
		version = entry.version ?? version;
		Object.assign(record, { version, action: entry.action ?? 0, time: milliseconds(entry.time) });
		record.content = record.kind === "note" || record.kind === "failure"
			? { kind: entry.kind, content: entry.content }
			: entry.content;
		lines.push(record);
		records += 1;
	}
	const snapshot = ({ version, position: at, state, time }, lastAction) => {
		const { number } = position(at);
		const { stateVersion } = session;
		lines.push({ snapshot: number, version, lastAction, stateVersion, time: milliseconds(time), state });
	};
	const before = (entries.find((entry) => entry.action > 0)?.action ?? 1) - 1;
	snapshot(start, before);
	if (last) {
		const { number } = position(last.position);
		const earlier = entries.filter((entry) => position(entry.position).number <= number);
		snapshot(last, earlier.reduce((newest, { action = 0 }) => Math.max(newest, action), before));
	}
	lines.push({
		end: lines.length,
		sessions: 1,
		records,
		snapshots: last ? 2 : 1,
		answers: 0,
		running: 0,
		tombstones: 0,
	});
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function milliseconds(time) {
	return time ? Date.parse(time) : 0;
}
