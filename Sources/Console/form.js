// A form made from the schema of a reactor's actions, or of the input of its sessions.

import { pointer as place } from "./diff.js";
import { button, h, set } from "./dom.js";
import { caseOf, decimal, form as formOf, integer, parse } from "./schema.js";

let fields = 0;

/** A field for a value: an element, and a way to read and to fill it. */
class Field {
	/** What this field is for, as a JSON Pointer. */
	pointer;
	node;
	control;
	#fault;
	#id = `field-${fields += 1}`;

	constructor(pointer, label, control, description) {
		this.pointer = pointer;
		this.control = control;
		set(control, "id", this.#id);
		this.#fault = h("span.field-fault", { id: `${this.#id}-fault` });
		this.node = h("div.field",
			h("label", { for: this.#id }, label),
			control,
			description ? h("span.quiet", description) : "",
			this.#fault,
		);
	}

	refuse(sentence) {
		this.#fault.textContent = sentence;
		set(this.control, "aria-invalid", sentence ? "true" : null);
		set(this.control, "aria-describedby", sentence ? this.#fault.id : null);
	}
}

export class Fault extends Error {
	constructor(pointer, sentence) {
		super(sentence);
		this.pointer = pointer;
	}
}

/** The form of an action, or of another value. `read` throws a Fault at a field whose text is no value. */
export class ActionForm {
	#fields = [];
	#part;
	node;

	constructor(schema, label = "action") {
		this.#part = this.#make(formOf(schema), "", label);
		this.node = this.#part.node;
	}

	read() {
		this.clear();
		return this.#part.read();
	}

	fill(value) {
		this.#part.fill(value);
	}

	clear() {
		for (const field of this.#fields) field.refuse("");
	}

	/** Shows a refusal beside the field that it names, or the one that contains it; false if there is none. */
	refuse(pointer, sentence) {
		let place = pointer;
		for (;;) {
			const field = this.#fields.findLast((field) => field.pointer === place && field.node.isConnected);
			if (field) {
				field.refuse(sentence);
				field.control.focus();
				return true;
			}
			if (place === "") return false;
			place = place.slice(0, place.lastIndexOf("/"));
		}
	}

	// A part is {node, read, fill}. `read` returns undefined for a field that is left out.
	#make(form, pointer, label, isRequired = true) {
		switch (form.kind) {
			case "constant":
				return { node: h("span"), read: () => form.value, fill() {} };
			case "cases":
				return this.#cases(form, pointer, label);
			case "object":
				return form.isNullable || !isRequired
					? this.#optional(form, pointer, label, isRequired)
					: this.#object(form, pointer, label);
			case "array":
				return this.#array(form, pointer, label);
			case "boolean":
			case "choice":
				return this.#choice(form, pointer, label, isRequired);
			case "string":
			case "integer":
			case "number":
				return this.#text(form, pointer, label, isRequired);
			default:
				return this.#json(pointer, label, isRequired);
		}
	}

	#add(field) {
		this.#fields.push(field);
		return field;
	}

	#cases(form, pointer, label) {
		const picker = h("select",
			...form.cases.map(({ name }, index) => h("option", { value: index }, name)),
		);
		const field = this.#add(new Field(pointer, label, picker));
		field.node.classList.add("picker");
		const body = h("div.fields");
		const parts = [];
		const part = (index) =>
			parts[index] ??= this.#make({ ...form.cases[index].form, isNullable: false }, pointer, form.cases[index].name);
		const show = () => {
			const { node } = part(Number(picker.value));
			// A node that is inserted again loses the focus.
			if (body.firstChild !== node) body.replaceChildren(node);
		};
		picker.addEventListener("change", show);
		show();
		return {
			node: h("div.cases", field.node, body),
			read: () => part(Number(picker.value)).read(),
			fill(value) {
				picker.value = String(caseOf(form.cases, value));
				show();
				part(Number(picker.value)).fill(value);
			},
		};
	}

	#object(form, pointer, label) {
		const parts = form.fields.map(({ name, isRequired, form }) => ({
			name,
			part: this.#make(form, pointer + place([name]), name, isRequired),
		}));
		const nodes = parts.map(({ part }) => part.node);
		return {
			node: pointer === ""
				? h("div.fields", ...nodes)
				: h("fieldset", h("legend", label), ...nodes),
			read() {
				const value = {};
				for (const { name, part } of parts) {
					const member = part.read();
					if (member !== undefined) value[name] = member;
				}
				return value;
			},
			fill(value) {
				for (const { name, part } of parts) part.fill(value?.[name]);
			},
		};
	}

	/** An object that may be null or missing: a tick decides. */
	#optional(form, pointer, label, isRequired) {
		const inner = this.#object({ ...form, isNullable: false }, pointer, label);
		const tick = h("input", { type: "checkbox" });
		const field = this.#add(new Field(pointer, `${label} present`, tick));
		const show = () => (inner.node.hidden = !tick.checked);
		tick.addEventListener("change", show);
		show();
		return {
			node: h("div", field.node, inner.node),
			read: () => (tick.checked ? inner.read() : form.isNullable && isRequired ? null : undefined),
			fill(value) {
				tick.checked = value !== null && value !== undefined;
				show();
				if (tick.checked) inner.fill(value);
			},
		};
	}

	#array(form, pointer, label) {
		const list = h("div.fields");
		let parts = [];
		const add = (value) => {
			const part = this.#make(form.item, `${pointer}/${parts.length}`, `${label} ${parts.length + 1}`);
			if (value !== undefined) part.fill(value);
			parts.push(part);
			list.append(part.node);
		};
		const adder = button("Add", () => add());
		const remover = button("Remove the last", () => parts.pop()?.node.remove());
		const field = this.#add(new Field(pointer, label, h("span.quiet", { tabindex: "-1" })));
		return {
			node: h("fieldset", h("legend", label), field.node, list, adder, " ", remover),
			read: () => parts.map((part) => part.read()),
			fill(value) {
				parts = [];
				list.replaceChildren();
				for (const one of Array.isArray(value) ? value : []) add(one);
			},
		};
	}

	#choice(form, pointer, label, isRequired) {
		const choices = form.kind === "boolean" ? [true, false] : form.choices;
		const absent = isRequired ? (form.isNullable ? ["null"] : []) : ["left out"];
		const names = [...absent, ...choices.map(String)];
		const picker = h("select", ...names.map((name, index) => h("option", { value: index }, name)));
		const field = this.#add(new Field(pointer, label, picker));
		return {
			node: field.node,
			read() {
				const index = Number(picker.value) - absent.length;
				return index >= 0 ? choices[index] : isRequired ? null : undefined;
			},
			fill(value) {
				const index = choices.indexOf(value);
				picker.value = String(index < 0 ? 0 : index + absent.length);
			},
		};
	}

	#text(form, pointer, label, isRequired) {
		const isNumber = form.kind !== "string";
		const input = h("input", {
			type: "text",
			autocomplete: "off",
			spellcheck: "false",
			inputmode: isNumber ? (form.kind === "integer" ? "numeric" : "decimal") : null,
		});
		const field = this.#add(new Field(pointer, label, input, form.format));
		const mayBeNull = form.isNullable || !isRequired;
		const tick = h("input", { type: "checkbox", "aria-label": `${label} is null` });
		if (mayBeNull) {
			tick.addEventListener("change", () => (input.disabled = tick.checked));
			field.node.append(h("span.null", tick, " null"));
		}
		return {
			node: field.node,
			read() {
				if (tick.checked) return isRequired ? null : undefined;
				if (!isNumber) return input.value;
				const { value, fault } = (form.kind === "integer" ? integer : decimal)(input.value, form);
				if (fault) throw new Fault(pointer, `Type ${fault}.`);
				return value;
			},
			fill(value) {
				tick.checked = mayBeNull && (value === null || value === undefined);
				input.disabled = tick.checked;
				input.value = value === null || value === undefined ? "" : String(value);
			},
		};
	}

	#json(pointer, label, isRequired) {
		const area = h("textarea", { rows: "3", spellcheck: "false", autocomplete: "off" });
		const field = this.#add(new Field(pointer, `${label} (JSON)`, area));
		return {
			node: field.node,
			read() {
				if (area.value.trim() === "" && !isRequired) return undefined;
				try {
					return parse(area.value);
				} catch (error) {
					throw new Fault(pointer, error.message);
				}
			},
			fill(value) {
				area.value = value === undefined ? "" : JSON.stringify(value, null, 2);
			},
		};
	}
}
