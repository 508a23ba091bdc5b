// The console: puts the parts together, and follows the address.

import { announce, button, every, find, grey, h, stored } from "./dom.js";
import { ActionForm, Fault } from "./form.js";
import { Metrics } from "./plots.js";
import { format, parse } from "./router.js";
import { place } from "./schema.js";
import { Server } from "./server.js";
import { SessionList } from "./sessions.js";
import { SessionView } from "./session.js";
import { guarded, secrecy } from "./values.js";

const HEALTH = 2_000;
const KEYS = [
	["/", "search"],
	["j  k", "next and previous session"],
	["Enter", "open it"],
	["[  ]", "version before and after"],
	["l", "live"],
	["d", "difference"],
	["e", "entries of the timeline"],
	["s", "send an action"],
	["p", "pause the pulses"],
	["n", "new session"],
	["m", "metrics"],
	["h", "hide values"],
	["t", "dark or light"],
	["?", "this list"],
	["Esc", "close, or leave a field"],
];

const server = new Server();
let list;
let metrics;
let view;
let route = parse(location.hash);

function go(next, isPassing = false) {
	// The search stays in the address of whatever is opened from it.
	const address = format({ q: route.q, reactor: route.reactor, ...next });
	if (address === location.hash) return;
	if (isPassing) history.replaceState(null, "", address);
	else history.pushState(null, "", address);
	follow();
}

/** Shows what the address says. */
function follow() {
	const before = route;
	route = parse(location.hash);
	list.search(route.q, route.reactor);
	const main = find("view");
	const isSame = before.view === route.view && before.session === route.session && view !== undefined;
	document.body.classList.toggle("has-view", route.view !== "list");
	list.mark(route.session);
	// One may have been made or deleted.
	if (before.session !== route.session) list.refresh();
	if (route.view === "session") {
		document.title = `${route.session} · console`;
		if (!isSame || !(view instanceof SessionView)) {
			close();
			view = new SessionView(server, route.session, go, askForSession);
			main.replaceChildren(view.node);
			announce(`Session ${route.session}`);
		}
		view.show(route);
		return;
	}
	close();
	document.title = "Console of reactor-server";
	if (route.view === "metrics") {
		metrics.showIn(main);
		announce("Metrics");
	} else showWelcome(main);
}

function close() {
	if (view instanceof SessionView) view.close();
	view = undefined;
}

function showWelcome(main) {
	const { version, journal, reactors } = server.home;
	main.replaceChildren(
		h("div.welcome",
			h("h1", "Sessions"),
			h("p", "Choose a session on the left, or type the beginning of its id. None there yet?"),
			server.isReadOnly ? "" : h("ul",
				h("li", button("Create a session", () => askForSession(), { class: "primary" })),
				reactors?.includes("chat")
					? h("li", h("a", { href: new URL("demo", server.base) }, "Try the demonstration"), ": two clients of one session")
					: "",
				h("li", "Or from a terminal:", h("pre.card", { tabindex: "0" }, curl(reactors?.[0] ?? "alerts"))),
			),
			h("p.quiet", `reactor-server ${version}, journal: ${journal}.`),
			reactors ? h("p.quiet", `Hosted here: ${reactors.join(", ")}.`) : "",
			h("p.quiet", h("kbd", "?"), " lists the keys."),
		),
	);
}

/** A line that creates a session. */
function curl(reactor) {
	const token = server.needsToken ? " -H 'Authorization: Bearer …'" : "";
	const body = JSON.stringify({ reactor });
	return `curl -X PUT ${new URL("v1/sessions/first", server.base)}${token} -H 'Content-Type: application/json' -d '${body}'`;
}

// MARK: A new session

async function askForSession(id = "") {
	const dialog = find("create");
	find("create-fault").textContent = "";
	find("create-id").value = id;
	const picker = find("create-reactor");
	const reactors = await server.reactors().catch(() => new Map());
	picker.replaceChildren(...[...reactors.keys()].map((name) => h("option", { value: name }, name)));
	picker.onchange = () => showInput(reactors.get(picker.value));
	picker.onchange();
	dialog.showModal();
}

/** The form for the input of a new session; undefined if the reactor takes none. */
let input;

function showInput(reactor) {
	const schema = reactor?.schemas?.input;
	input = schema === undefined ? undefined : new ActionForm(schema, "input");
	if (reactor?.inputExamples?.length > 0) input?.fill(reactor.inputExamples[0]);
	find("create-input").replaceChildren(...input ? [h("h3", "Input"), input.node] : []);
}

/** Shows why the session was not created: at the field of the input that is at fault, or below the form. */
function refuse(pointer, sentence) {
	const isBeside = pointer !== undefined && input?.refuse(pointer, sentence);
	find("create-fault").textContent = isBeside ? "" : sentence;
	if (isBeside) announce(sentence);
}

async function create(event) {
	event.preventDefault();
	const id = find("create-id").value.trim();
	const body = { reactor: find("create-reactor").value };
	find("create-fault").textContent = "";
	try {
		if (input) body.input = input.read();
		const made = id === ""
			? await server.request("POST", "/v1/sessions", body)
			: await server.request("PUT", `/v1/sessions/${encodeURIComponent(id)}`, body);
		find("create").close();
		find("create-id").value = "";
		list.reload();
		// The page may show it as one that does not exist.
		close();
		go({ view: "session", session: made.id });
		if (!view) follow();
	} catch (error) {
		if (error.status === 403) grey(find("new-session"), error.detail);
		const at = error instanceof Fault ? error.pointer : error.code === "not_an_input" ? place(error.detail) ?? "" : undefined;
		refuse(at, error.detail ?? error.message);
	}
}

// MARK: Appearance

const system = matchMedia("(prefers-color-scheme: dark)");

let chosen = stored("localStorage", "reactor-theme");

/** The chosen theme, or the system's. */
function showTheme() {
	document.documentElement.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
}

function toggleTheme() {
	chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
	stored("localStorage", "reactor-theme", chosen);
	showTheme();
	announce(`${chosen} theme`);
}

function toggleValues() {
	secrecy.toggle();
	const control = find("hide");
	control.setAttribute("aria-pressed", String(secrecy.isOn));
	announce(secrecy.isOn ? "Values are hidden" : "Values are shown");
}

// MARK: Keys

function key(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
	const isField = event.target.closest("input, select, textarea, [contenteditable]");
	if (event.key === "Escape") {
		if (isField) event.target.blur();
		else if (route.view !== "list") go({ view: "list" });
		return;
	}
	if (isField) return;
	if (Object.hasOwn(ACTS, event.key)) ACTS[event.key]();
	else if (!(view instanceof SessionView && view.key(event.key))) return;
	event.preventDefault();
}

const ACTS = {
	"/": () => {
		document.body.classList.remove("has-view");
		find("search").select();
	},
	j: () => step(1),
	k: () => step(-1),
	m: () => go({ view: route.view === "metrics" ? "list" : "metrics" }),
	n: () => server.isReadOnly || askForSession(),
	t: toggleTheme,
	h: toggleValues,
	"?": () => find("keys").showModal(),
};

function step(by) {
	list.rows.focus();
	list.rows.step(by);
}

// MARK: Health

async function checkHealth() {
	const { word, detail } = await server.health();
	const place = find("health");
	if (place.textContent !== word) {
		place.textContent = word;
		place.className = `health ${word.replace(" ", "-")}`;
	}
	const banner = find("banner");
	if (banner.textContent !== detail) banner.textContent = detail;
	banner.hidden = detail === "";
}

async function begin() {
	await server.connect();
	find("server-name").textContent = `reactor-server ${server.home.version}`;
	find("journal").textContent = `${server.home.journal} journal`;
	find("new-session").hidden = server.isReadOnly;
	find("read-only").hidden = !server.isReadOnly;
	find("other-token").hidden = !server.needsToken;
	list = new SessionList(server, (id) => go({ view: "session", session: id }), (search) => {
		go({ ...route, ...search }, true);
	}, askForSession);
	metrics = new Metrics(server);
	list.begin();
	follow();
	checkHealth();
	every(HEALTH, checkHealth);
}

find("key-list").append(...KEYS.map(([name, meaning]) =>
	h("div", h("dt", h("kbd", name)), h("dd", meaning))
));
find("new-session").addEventListener("click", () => askForSession());
find("other-token").addEventListener("click", () => server.forgetToken());
find("create-form").addEventListener("submit", create);
find("theme").addEventListener("click", toggleTheme);
find("hide").addEventListener("click", toggleValues);
find("help").addEventListener("click", () => find("keys").showModal());
find("to-list").addEventListener("click", () => go({ view: "list" }));
for (const control of document.querySelectorAll("[data-close]")) {
	control.addEventListener("click", () => control.closest("dialog").close(control.dataset.close));
}
document.addEventListener("keydown", key);
addEventListener("popstate", follow);

system.addEventListener("change", showTheme);

showTheme();
guarded(find("view"), begin);
