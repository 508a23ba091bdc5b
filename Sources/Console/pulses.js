// The pulses and activities of a session as they come, equal ones too.

import { button, h, perFrame, set } from "./dom.js";
import { Rows } from "./rows.js";
import { clock } from "./timeline.js";
import { shown } from "./values.js";

const MOST = 2_000;

export class Pulses {
	node;
	#events = [];
	#rows;
	#isPaused = false;
	#missed = 0;
	#pause = button("Pause", () => this.toggle(), { "aria-pressed": "false", title: "p" });
	#draw = perFrame(() => this.#show(), 200);

	constructor(session) {
		const list = h("div");
		this.#rows = new Rows(list, {
			role: "listbox",
			item: "option",
			label: "Pulses and activities, newest first",
			draw: (event, row) => this.#drawRow(event, row),
		});
		this.node = h("section.card.pulses", { "aria-label": "Pulses" },
			h("div.bar", h("h2", "Pulses"), h("span.quiet", "from now on"), this.#pause),
			list,
		);
		session.onEvent((event) => {
			if (event.kind !== "pulse" && event.kind !== "activity") return;
			this.#events.unshift({ ...event, at: clock(Date.now()) });
			if (this.#events.length > MOST) this.#events.pop();
			if (this.#isPaused) this.#missed += 1;
			this.#draw();
		});
		this.#show();
	}

	redraw() {
		this.#rows.redraw();
	}

	/** Freezes the view, and not the stream. */
	toggle() {
		this.#isPaused = !this.#isPaused;
		this.#missed = 0;
		set(this.#pause, "aria-pressed", String(this.#isPaused));
		this.#pause.textContent = "Pause";
		this.#show();
	}

	#show() {
		if (this.#isPaused) {
			this.#pause.textContent = this.#missed > 0 ? `Continue (${this.#missed} new)` : "Continue";
			return;
		}
		this.#rows.show([...this.#events]);
	}

	#drawRow(event, row) {
		row.append(
			h("span.time", event.at),
			h("span.sign", { "aria-hidden": "true" }, event.kind === "pulse" ? "◉" : "◇"),
			h("span.kind", event.name),
			h("span.value", shown(event.value)),
		);
	}
}
