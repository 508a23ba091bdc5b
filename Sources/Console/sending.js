// Sends actions to a session: by a form or as JSON.

import "../reactor-client/sending.js"; // Before the server goes away.
import { announce, button, h, grey } from "./dom.js";
import { ActionForm, Fault } from "./form.js";
import { caseName } from "./entries.js";
import { parse, place } from "./schema.js";
import { line } from "./tree.js";

/** Actions that the arrow up recalls. */
const RECALLED = 50;
/** How long `wait for effects` waits. */
const SETTLED = 30_000;

export class Sending {
	node;
	#session;
	#form;
	#isJSON = false;
	#area = h("textarea", { rows: "4", spellcheck: "false", "aria-label": "The action as JSON" });
	#body = h("div");
	#result = h("p.result", { role: "status" });
	#ifMatch = h("input", { type: "checkbox" });
	#settled = h("input", { type: "checkbox" });
	#send = button("Send", () => this.send(), { class: "primary" });
	#mode;
	#sent = [];
	#recalled = 0;

	constructor(session, reactor) {
		this.#session = session;
		this.#form = new ActionForm(reactor?.schemas?.action);
		const examples = reactor?.examples ?? [];
		if (examples.length > 0) this.#fill(examples[0]);
		const templates = h("select", { "aria-label": "Examples" },
			h("option", { value: "" }, "examples…"),
			...examples.map((example, index) => h("option", { value: index }, line(example, 60))),
		);
		templates.addEventListener("change", () => {
			if (templates.value !== "") this.#fill(examples[Number(templates.value)]);
			templates.value = "";
		});
		this.#mode = button("As JSON", () => this.#toggle());
		this.node = h("section.card.sending", { "aria-label": "Send an action", on: { keydown: (event) => this.#key(event) } },
			h("div.bar", h("h2", "Send"), examples.length > 0 ? templates : "", this.#mode),
			this.#body,
			h("div.bar",
				h("label.tick", this.#ifMatch, " only if nothing happens meanwhile"),
				h("label.tick", this.#settled, " wait for effects"),
				this.#send,
			),
			this.#result,
		);
		this.#body.append(this.#form.node);
	}

	focus() {
		this.#body.querySelector("input, select, textarea")?.focus();
	}

	use(action) {
		this.#fill(action);
		this.focus();
	}

	async send() {
		let action;
		try {
			action = this.#isJSON ? parse(this.#area.value) : this.#form.read();
		} catch (error) {
			return this.#refuse(error instanceof Fault ? error.pointer : "", error.message);
		}
		const options = {};
		if (this.#ifMatch.checked) options.ifMatch = this.#session.position;
		if (this.#settled.checked) options.settled = SETTLED;
		this.#remember(action);
		this.#report("Sending…", "");
		try {
			const receipt = await this.#session.send(action, options);
			const isRejected = receipt.rejected?.length > 0;
			const version = receipt.version === undefined ? "" : ` Version ${receipt.version},`;
			const [failure] = receipt.failures;
			const why = failure === undefined ? "" : ` ${isRejected ? "Why" : "Its effect has failed"}: ${failure.detail ?? failure}`;
			this.#report(
				(isRejected ? "The reactor has rejected it; nothing has changed." : `Applied.${version} position ${receipt.position}.`) + why,
				isRejected || failure !== undefined ? "bad" : "good",
			);
		} catch (error) {
			if (error.status === 403) grey(this.#send, error.detail);
			// The reactor's own sentence names no field of the form.
			if (error.refusal) return this.#refuse("", `${error.refusal.code}: ${error.detail}`);
			this.#refuse(place(error.detail) ?? "", error.detail ?? error.message);
		}
	}

	#fill(action) {
		this.#form.fill(action);
		this.#area.value = JSON.stringify(action, null, 2) ?? "";
	}

	#toggle() {
		try {
			if (this.#isJSON) this.#form.fill(JSON.parse(this.#area.value));
			else this.#area.value = JSON.stringify(this.#form.read(), null, 2);
		} catch {
			// The other one stays as it was.
		}
		this.#isJSON = !this.#isJSON;
		this.#mode.textContent = this.#isJSON ? "As a form" : "As JSON";
		this.#body.replaceChildren(this.#isJSON ? this.#area : this.#form.node);
	}

	#refuse(pointer, sentence) {
		const isBeside = !this.#isJSON && this.#form.refuse(pointer, sentence);
		this.#report(isBeside ? `Refused: see ${pointer === "" ? "the action" : pointer}.` : sentence, "bad");
		if (isBeside) announce(sentence);
	}

	#report(sentence, className) {
		this.#result.className = `result ${className}`;
		this.#result.textContent = sentence;
	}

	#remember(action) {
		this.#sent.push(action);
		if (this.#sent.length > RECALLED) this.#sent.shift();
		this.#recalled = this.#sent.length;
	}

	/** Arrow up recalls what was sent; Control and Enter send from any field. */
	#key(event) {
		if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target.tagName === "INPUT")) {
			event.preventDefault();
			if (event.target.type !== "checkbox") this.send();
		}
		const isField = event.target.tagName === "INPUT" && event.target.type === "text";
		if (event.key === "ArrowUp" && isField && this.#recalled > 0) {
			event.preventDefault();
			this.#recalled -= 1;
			const action = this.#sent[this.#recalled];
			this.#fill(action);
			announce(`Recalled ${caseName(action)}`);
		}
	}
}
