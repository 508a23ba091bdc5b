// Addresses of views: everything after `#`. An address never contains a token.
//
//   #/?q=meet&reactor=alerts      the list, with a search
//   #/metrics
//   #/s/meeting-7                 live
//   #/s/meeting-7/v/812           version 812
//   #/s/meeting-7/v/812/diff/811  what changed between 811 and 812; `live` for the present one

export const ID = /^[\w-]{1,128}$/;

/** Returns a route for any text; one that is no address is the list. */
export function parse(hash) {
	const [path, query = ""] = hash.replace(/^#/, "").split("?");
	const parts = path.split("/").filter((part) => part !== "");
	const search = new URLSearchParams(query);
	const route = { view: "list", q: search.get("q") ?? "", reactor: search.get("reactor") ?? "" };
	if (parts[0] === "metrics" && parts.length === 1) return { ...route, view: "metrics" };
	if (parts[0] !== "s" || !ID.test(parts[1] ?? "")) return route;
	const found = { ...route, view: "session", session: parts[1] };
	let rest = parts.slice(2);
	if (rest[0] === "v" && number(rest[1]) !== undefined) {
		found.version = number(rest[1]);
		rest = rest.slice(2);
	}
	if (rest[0] === "diff" && rest.length <= 2) {
		const base = rest[1] === undefined || rest[1] === "live" ? rest[1] ?? "previous" : number(rest[1]);
		if (base !== undefined) found.diff = base;
	}
	return found;
}

export function format(route) {
	let path = "#/";
	if (route.view === "metrics") path = "#/metrics";
	if (route.view === "session") {
		path = `#/s/${route.session}`;
		if (route.version !== undefined) path += `/v/${route.version}`;
		if (route.diff !== undefined) path += route.diff === "previous" ? "/diff" : `/diff/${route.diff}`;
	}
	const search = new URLSearchParams();
	if (route.q) search.set("q", route.q);
	if (route.reactor) search.set("reactor", route.reactor);
	const query = search.toString();
	return query ? `${path}?${query}` : path;
}

function number(text) {
	if (!/^\d{1,15}$/.test(text ?? "")) return undefined;
	return Number(text);
}
