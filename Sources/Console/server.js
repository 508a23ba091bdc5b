// The server as the console knows it: what it says of itself, its client, and the token.

import { ReactorClient } from "../reactor-client.js";
import { EventStreamDecoder } from "../reactor-client/following.js";
import { h, find, stored } from "./dom.js";

const remembered = (token) => stored("sessionStorage", "reactor-console-token", token);
/** A server that hangs is away. */
const get = (address, headers = {}) => fetch(address, { headers, signal: AbortSignal.timeout(10_000) });

export class Server {
	/** The address of the API: a proxy may add a prefix. */
	base = new URL("..", import.meta.url);
	/** What `GET /` says. */
	home;
	client;
	#token = remembered();
	#asking;
	#reactors;

	/** Finds out what is served, and how. */
	async connect() {
		const response = await get(this.base, { Accept: "application/json" });
		if (!response.ok) throw new Error(`the server answers ${response.status} to GET ${this.base.pathname}`);
		this.home = await response.json();
		this.isReadOnly = this.home.console?.readOnly ?? false;
		this.needsToken = this.home.authentication !== "none";
		const options = this.needsToken ? { token: ({ refused }) => this.#find(refused) } : {};
		this.client = new ReactorClient(this.base, options);
	}

	/**
	 * Restarts the page, which asks for a token: the page may show only what the present token grants.
	 */
	forgetToken() {
		remembered("");
		location.reload();
	}

	/**
	 * The values that the version at a position assigned to pulses, by name. A comparison of states
	 * misses equal values. Undefined if its events are not kept.
	 */
	async assigned(session, after, position) {
		const target = new URL(`v1/sessions/${session}/events?only=pulses,states&after=${after}`, this.base);
		const headers = { Accept: "text/event-stream", ...this.#token ? { Authorization: `Bearer ${this.#token}` } : {} };
		const ending = new AbortController();
		const timer = setTimeout(() => ending.abort(), 10_000);
		try {
			const response = await fetch(target, { headers, signal: ending.signal });
			const reader = response.ok ? response.body.getReader() : undefined;
			const decoder = new EventStreamDecoder(16_777_216);
			const found = new Map();
			for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
				for (const { name, data, id } of decoder.receive(part.value)) {
					if (name === "reset" || name === "end") return undefined;
					if (name === "state" && id === position) return found;
					if (id.startsWith(`${position}.`)) found.set(name, JSON.parse(data));
				}
			}
			return undefined;
		} catch {
			return undefined; // The comparison of the states is there all the same.
		} finally {
			clearTimeout(timer);
			ending.abort();
		}
	}

	/** Returns the JSON of the answer; rejects with a ProblemError. */
	request(method, path, body) {
		return this.client.request(method, path, body);
	}

	/** A text, such as the metrics; rejects with a sentence. */
	async text(path) {
		const token = this.#token;
		const response = await get(new URL(path.slice(1), this.base), token ? { Authorization: `Bearer ${token}` } : {});
		if (response.ok) return response.text();
		const problem = await response.json().catch(() => ({}));
		throw Object.assign(new Error(problem.detail ?? `status ${response.status}`), { status: response.status });
	}

	/** Whether the server can be reached and is ready: a word and a sentence. */
	async health() {
		try {
			const response = await get(new URL("readyz", this.base));
			if (response.ok) return { word: "ready", detail: "" };
			const problem = await response.json().catch(() => ({}));
			// With an address for operators the probe is there; an answer is an answer.
			if (response.status === 404) return { word: "reachable", detail: "" };
			return { word: "not ready", detail: problem.detail ?? `status ${response.status}` };
		} catch {
			return { word: "away", detail: "The server cannot be reached. Everything continues when it is back." };
		}
	}

	/** The reactors by name. */
	async reactors() {
		this.#reactors ??= this.client.reactors().then(
			(list) => new Map(list.map((reactor) => [reactor.name, reactor])),
			(error) => {
				this.#reactors = undefined;
				throw error;
			},
		);
		return this.#reactors;
	}

	#find(refused) {
		if (this.#token !== undefined && this.#token !== refused) return this.#token;
		if (refused !== undefined) remembered("");
		this.#asking ??= ask(refused !== undefined).then(({ token, isRemembered }) => {
			this.#asking = undefined;
			this.#token = token;
			if (isRemembered) remembered(token);
			return token;
		});
		return this.#asking;
	}
}

/** Asks the user for a token; the page cannot be used without one. */
function ask(wasRefused) {
	const dialog = find("token");
	const field = find("token-text");
	const remember = find("token-remember");
	find("token-fault").textContent = wasRefused ? "The server has refused this token, or it has expired." : "";
	return new Promise((resolve) => {
		const form = dialog.querySelector("form");
		const submitted = (event) => {
			event.preventDefault();
			const token = field.value.trim();
			if (token === "") return;
			form.removeEventListener("submit", submitted);
			dialog.removeEventListener("close", open);
			field.value = "";
			dialog.close();
			resolve({ token, isRemembered: remember.checked });
		};
		const open = () => dialog.showModal();
		form.addEventListener("submit", submitted);
		// Escape closes it.
		dialog.addEventListener("close", open);
		open();
	});
}

/** Asks before something happens that cannot be undone; resolves with whether it shall. */
export function confirm(title, sentences, verb) {
	const dialog = find("confirm");
	find("confirm-title").textContent = title;
	find("confirm-text").replaceChildren(...sentences.map((sentence) => h("p", sentence)));
	find("confirm-yes").textContent = verb;
	dialog.returnValue = "";
	dialog.showModal();
	return new Promise((resolve) => {
		dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
	});
}
