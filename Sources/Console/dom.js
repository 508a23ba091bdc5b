// Makes elements. Everything that comes from a session becomes text: nothing here parses HTML, and
// the content security policy permits no inline code.

/**
 * Makes an element: `h("p.note", { id: "a" }, "text")`.
 *
 * @param {string} name With classes after dots.
 * @param {...any} parts Attributes first, if there are any: `on` are listeners by event, `false`, null and
 *   undefined leave an attribute out, `true` sets an empty one. Then the children.
 */
export function h(name, ...parts) {
	const [tag, ...classes] = name.split(".");
	const node = document.createElement(tag);
	if (classes.length > 0) node.className = classes.join(" ");
	const [first] = parts;
	if (first && typeof first === "object" && !(first instanceof Node)) {
		for (const [key, value] of Object.entries(parts.shift())) set(node, key, value);
	}
	add(node, ...parts);
	return node;
}

/** Appends what is there: a child may be left out by a condition. */
export function add(node, ...children) {
	node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

export function set(node, key, value) {
	if (key === "on") {
		for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
	} else if (value === true) {
		node.setAttribute(key, "");
	} else if (value === false || value === null || value === undefined) {
		node.removeAttribute(key);
	} else {
		node.setAttribute(key, value);
	}
}

const SVG = "http://www.w3.org/2000/svg";

export function drawing(name, attributes = {}, ...children) {
	const node = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
	node.append(...children);
	return node;
}

export function button(label, action, attributes = {}) {
	return h("button", { type: "button", on: { click: action }, ...attributes }, label);
}

/** Greys a control and says why; without a reason it works again. */
export function grey(control, reason) {
	set(control, "aria-disabled", reason ? "true" : null);
	set(control, "title", reason ?? null);
	if ("disabled" in control) control.disabled = Boolean(reason);
}

export function find(id) {
	return document.getElementById(id);
}

/** Says a sentence to screen readers. */
export function announce(sentence) {
	const region = find("announcements");
	region.textContent = "";
	region.textContent = sentence;
}

const due = [];

/** One act in a frame: together they would be a long task. */
function frame() {
	requestAnimationFrame(() => {
		if (due.length > 1) frame();
		due.shift()();
	});
}

/** Calls `act` in a frame, `rest` milliseconds after the last time; not while the page is hidden. */
export function perFrame(act, rest = 0) {
	let waits = false;
	let last = -rest;
	const call = () => {
		waits = false;
		last = performance.now();
		act();
	};
	const enqueue = () => due.push(call) > 1 || frame();
	return () => {
		if (waits) return;
		waits = true;
		const wait = last + rest - performance.now();
		if (wait > 0) setTimeout(enqueue, wait);
		else enqueue();
	};
}

/** Calls `act` again and again, while the page is shown; not before it has ended. */
export function every(milliseconds, act) {
	let isBusy = false;
	return setInterval(async () => {
		if (isBusy || document.visibilityState !== "visible") return;
		isBusy = true;
		await act();
		isBusy = false;
	}, milliseconds);
}

/** Reads from a storage of the browser, or writes to it; one that is forbidden has nothing. */
export function stored(storage, key, value) {
	try {
		if (value !== undefined) window[storage].setItem(key, value);
		return window[storage].getItem(key) || undefined;
	} catch {
		return undefined;
	}
}

export function download(name, type, text) {
	const address = URL.createObjectURL(new Blob([text], { type }));
	const link = h("a", { href: address, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
