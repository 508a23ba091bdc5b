// A list of any length of which only the visible rows are elements.

import { h, perFrame, set } from "./dom.js";

const HEIGHT = 26;
/** Rows beyond the visible ones, above and below. */
const SPARE = 6;
let lists = 0;

/**
 * Keyboard: arrows, Home, End, Page Up and Page Down move the active row, Enter opens it. The focus
 * stays on the list, which names its active row to assistive technology.
 */
export class Rows {
	#list;
	#canvas;
	#options;
	#items = [];
	#active = -1;
	#name = `rows-${lists += 1}`;
	#first = -1;
	#last = -1;

	/** `options`: role, item (the rows' role), label, draw(item, row); id(item), open(item), near(edge), key(event, item), moved(item). */
	constructor(list, options) {
		this.#list = list;
		this.#options = options;
		this.#canvas = h("div.canvas", { role: "presentation" });
		set(list, "role", options.role);
		set(list, "tabindex", "0");
		set(list, "aria-label", options.label);
		list.classList.add("rows");
		list.replaceChildren(this.#canvas);
		const draw = perFrame(() => this.#draw(false));
		list.addEventListener("scroll", draw, { passive: true });
		list.addEventListener("keydown", (event) => this.#key(event));
		list.addEventListener("click", (event) => this.#click(event));
		new ResizeObserver(draw).observe(list);
	}

	get items() {
		return this.#items;
	}

	get active() {
		return this.#items[this.#active];
	}

	/** The active row, and what is being read further down, stay; `id` finds them. */
	show(items) {
		const { id = (item) => item } = this.#options;
		const old = this.#items;
		const place = (index) => index in old ? items.findIndex((item) => id(item) === id(old[index])) : -1;
		const top = Math.floor(this.#list.scrollTop / HEIGHT);
		const newTop = top > 0 ? place(top) : -1;
		const active = place(this.#active);
		this.#active = active < 0 ? Math.min(this.#active, items.length - 1) : active;
		this.#items = items;
		this.#canvas.style.height = `${items.length * HEIGHT}px`;
		if (newTop >= 0) this.#list.scrollTop += (newTop - top) * HEIGHT;
		this.#draw(true);
	}

	scrollToTop() {
		this.#list.scrollTop = 0;
	}

	move(index, isQuiet = false) {
		if (this.#items.length === 0) return;
		this.#active = Math.max(0, Math.min(index, this.#items.length - 1));
		const top = this.#active * HEIGHT;
		const { scrollTop, clientHeight } = this.#list;
		if (top < scrollTop) this.#list.scrollTop = top;
		if (top + HEIGHT > scrollTop + clientHeight) this.#list.scrollTop = top + HEIGHT - clientHeight;
		this.#draw(true);
		if (!isQuiet) this.#options.moved?.(this.active);
	}

	step(by) {
		this.move(this.#active < 0 ? 0 : this.#active + by);
	}

	open() {
		if (this.active !== undefined) this.#options.open?.(this.active);
	}

	focus() {
		this.#list.focus();
	}

	/** Draws the visible rows again, after a change of what `draw` reads. */
	redraw() {
		this.#draw(true);
	}

	/** The visible part, as indices. */
	get visible() {
		const first = Math.max(0, Math.floor(this.#list.scrollTop / HEIGHT));
		const shown = Math.ceil(this.#list.clientHeight / HEIGHT) + 1;
		return { first, last: Math.min(this.#items.length, first + shown) };
	}

	#draw(isNew) {
		const { first: top, last: bottom } = this.visible;
		const first = Math.max(0, top - SPARE);
		const last = Math.min(this.#items.length, bottom + SPARE);
		if (!isNew && first === this.#first && last === this.#last) return;
		[this.#first, this.#last] = [first, last];
		const rows = [];
		for (let index = first; index < last; index += 1) {
			const item = this.#items[index];
			const isActive = index === this.#active;
			const row = h("div", {
				id: `${this.#name}-${index}`,
				role: this.#options.item,
				class: isActive ? "row active" : "row",
				"aria-selected": String(isActive),
				"aria-posinset": index + 1,
				"aria-setsize": this.#items.length,
			});
			row.style.transform = `translateY(${index * HEIGHT}px)`;
			row.dataset.index = index;
			this.#options.draw(item, row);
			rows.push(row);
		}
		this.#canvas.replaceChildren(...rows);
		const isVisible = this.#active >= first && this.#active < last;
		set(this.#list, "aria-activedescendant", isVisible ? `${this.#name}-${this.#active}` : null);
		if (first === 0 && this.#items.length > 0) this.#options.near?.("top");
		if (last === this.#items.length && this.#items.length > 0) this.#options.near?.("bottom");
	}

	#key(event) {
		if (event.altKey || event.ctrlKey || event.metaKey || event.target !== this.#list) return;
		if (this.active !== undefined && this.#options.key?.(event, this.active)) {
			return event.preventDefault();
		}
		const page = Math.max(1, Math.floor(this.#list.clientHeight / HEIGHT) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
		if (event.key in steps) this.step(steps[event.key]);
		else if (event.key === "Home") this.move(0);
		else if (event.key === "End") this.move(this.#items.length - 1);
		else if (event.key === "Enter") this.open();
		else return;
		event.preventDefault();
	}

	#click(event) {
		const row = event.target.closest("[data-index]");
		if (!row) return;
		this.move(Number(row.dataset.index));
		this.open();
	}
}
