// Moves among the versions that are kept: exact steps, a number, a slider.

import { button, h, set } from "./dom.js";

/** The time of rest after which a dragged slider is followed. */
const REST = 60;

export class Scrubber {
	node;
	#range = { from: 0, to: 0 };
	#version;
	#choose;
	#timer;
	#slider = h("input", { type: "range", min: "0", max: "0", step: "1", "aria-label": "Version" });
	#field = h("input", { type: "number", min: "0", step: "1", "aria-label": "Version", class: "version" });
	#of = h("span.quiet");
	#live;

	/** `choose(version, isDragging)`; no version is live. */
	constructor(choose) {
		this.#choose = choose;
		const step = (label, name, target) => button(label, () => this.#go(target()), { "aria-label": name, title: name });
		this.#live = button("● Live", () => choose(undefined, false), { title: "l" });
		this.#slider.addEventListener("input", () => {
			clearTimeout(this.#timer);
			this.#say(Number(this.#slider.value));
			this.#timer = setTimeout(() => this.#go(Number(this.#slider.value), true), REST);
		});
		this.#slider.addEventListener("change", () => {
			clearTimeout(this.#timer);
			this.#go(Number(this.#slider.value));
		});
		this.#field.addEventListener("change", () => {
			if (this.#field.value !== "") this.#go(Number(this.#field.value));
		});
		this.node = h("section.card.bar.scrubber", { "aria-label": "Versions" },
			step("|◀", "The oldest kept version", () => this.#range.from),
			step("◀", "The version before", () => this.present - 1),
			this.#slider,
			step("▶", "The next version", () => this.present + 1),
			step("▶|", "The newest version", () => this.#range.to),
			h("label.tick", "version ", this.#field),
			this.#of,
			this.#live,
		);
	}

	get present() {
		return this.#version ?? this.#range.to;
	}

	get range() {
		return this.#range;
	}

	step(by) {
		this.#go(this.present + by);
	}

	/** No version is live. */
	show(range, version) {
		this.#range = range;
		this.#version = version;
		set(this.#slider, "min", range.from);
		set(this.#slider, "max", range.to);
		set(this.#field, "min", range.from);
		set(this.#field, "max", range.to);
		if (document.activeElement !== this.#field) this.#field.value = this.present;
		this.#slider.value = this.present;
		this.#say(this.present);
		this.#of.textContent = `of ${range.from}–${range.to}`;
		set(this.#live, "aria-pressed", String(version === undefined));
	}

	#say(version) {
		set(this.#slider, "aria-valuetext", `version ${version} of ${this.#range.to}`);
	}

	#go(version, isDragging = false) {
		const exact = Math.max(this.#range.from, Math.min(Math.round(version), this.#range.to));
		if (Number.isNaN(exact)) return;
		this.#choose(exact, isDragging);
	}
}
