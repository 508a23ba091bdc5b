// The changes between two JSON values.

/** A difference has at most this many lines. */
export const MOST_CHANGES = 2_000;
/** Arrays of more elements than this are compared by their ends and their indices. */
const ALIGNED = 400;

/** Changes are `added`, `removed` or `changed`; paths are those of the new value, of the old one if removed. */
export function diff(before, after) {
	const found = { changes: [], isComplete: true };
	compare(before, after, [], found);
	return found;
}

/** The text of a path: a JSON Pointer (RFC 6901). */
export function pointer(path) {
	return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

function compare(before, after, path, found) {
	if (before === after) return;
	if (isObject(before) && isObject(after)) return compareObjects(before, after, path, found);
	if (Array.isArray(before) && Array.isArray(after)) {
		return compareArrays(before, after, path, found);
	}
	add(found, { path, kind: "changed", before, after });
}

function compareObjects(before, after, path, found) {
	for (const key of Object.keys(before)) {
		if (Object.hasOwn(after, key)) compare(before[key], after[key], [...path, key], found);
		else add(found, { path: [...path, key], kind: "removed", before: before[key] });
	}
	for (const key of Object.keys(after)) {
		if (!Object.hasOwn(before, key)) {
			add(found, { path: [...path, key], kind: "added", after: after[key] });
		}
	}
}

/** An element that moved because another one before it came or went is no change. */
function compareArrays(before, after, path, found) {
	const [one, other] = [before, after].map((array) => array.map((value) => JSON.stringify(value)));
	let start = 0;
	while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
	let end = 0;
	const most = Math.min(one.length, other.length) - start;
	while (end < most && one[one.length - 1 - end] === other[other.length - 1 - end]) end += 1;
	const olds = one.length - start - end;
	const news = other.length - start - end;
	const pairs = olds > ALIGNED || news > ALIGNED
		? []
		: align(one.slice(start, start + olds), other.slice(start, start + news));
	let [oldAt, newAt] = [0, 0];
	for (const [oldNext, newNext] of [...pairs, [olds, news]]) {
		while (oldAt < oldNext && newAt < newNext) {
			compare(before[start + oldAt], after[start + newAt], [...path, start + newAt], found);
			oldAt += 1;
			newAt += 1;
		}
		for (; oldAt < oldNext; oldAt += 1) {
			add(found, { path: [...path, start + oldAt], kind: "removed", before: before[start + oldAt] });
		}
		for (; newAt < newNext; newAt += 1) {
			add(found, { path: [...path, start + newAt], kind: "added", after: after[start + newAt] });
		}
		oldAt = oldNext + 1;
		newAt = newNext + 1;
	}
}

/** The longest common subsequence, as pairs of indices. */
function align(one, other) {
	const width = other.length + 1;
	const lengths = new Uint16Array((one.length + 1) * width);
	for (let row = one.length - 1; row >= 0; row -= 1) {
		for (let column = other.length - 1; column >= 0; column -= 1) {
			lengths[row * width + column] = one[row] === other[column]
				? lengths[(row + 1) * width + column + 1] + 1
				: Math.max(lengths[(row + 1) * width + column], lengths[row * width + column + 1]);
		}
	}
	const pairs = [];
	let [row, column] = [0, 0];
	while (row < one.length && column < other.length) {
		if (one[row] === other[column]) {
			pairs.push([row, column]);
			row += 1;
			column += 1;
		} else if (lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]) row += 1;
		else column += 1;
	}
	return pairs;
}

function add(found, change) {
	if (found.changes.length < MOST_CHANGES) found.changes.push(change);
	else found.isComplete = false;
}

function isObject(value) {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
