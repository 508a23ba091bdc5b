// JSON Schemas as forms need them.

/** Deeper values, and types that contain themselves, are typed as JSON. */
const DEEPEST = 8;

/** The form of a schema; its kind is one of `cases object array string number integer boolean choice constant json`. */
export function form(schema, definitions = schema?.$defs ?? {}, depth = 0) {
	if (schema === undefined || schema === true || depth > DEEPEST) return { kind: "json" };
	if (schema.$ref) {
		const name = /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1];
		const target = schema.$ref === "#" ? undefined : definitions[name];
		return target ? form(target, definitions, depth + 1) : { kind: "json" };
	}
	const types = [schema.type].flat().filter(Boolean);
	const isNullable = types.includes("null");
	const common = { isNullable };
	if ("const" in schema) return { ...common, kind: "constant", value: schema.const };
	if (schema.enum) {
		return {
			isNullable: isNullable || schema.enum.includes(null),
			kind: "choice",
			choices: schema.enum.filter((value) => value !== null),
		};
	}
	const several = schema.oneOf ?? schema.anyOf;
	if (several) {
		const real = several.filter((one) => one.type !== "null");
		const cases = real.map((one, index) => ({
			name: caseName(one, index),
			form: form(one, definitions, depth + 1),
		}));
		const hasNull = real.length < several.length;
		if (cases.length === 1) return { ...cases[0].form, isNullable: isNullable || hasNull };
		return { isNullable: isNullable || hasNull, kind: "cases", cases };
	}
	const known = types.filter((type) => type !== "null");
	const type = known[0] ?? (schema.properties ? "object" : undefined);
	switch (known.length > 1 && schema.format === "date-time" ? "string" : type) {
		case "object":
			return object(schema, definitions, depth, common);
		case "array":
			return { ...common, kind: "array", item: form(schema.items ?? {}, definitions, depth + 1) };
		case "integer":
		case "number":
			return { ...common, kind: type, minimum: schema.minimum, maximum: schema.maximum };
		case "boolean":
			return { ...common, kind: "boolean" };
		case "string":
			return { ...common, kind: "string", format: schema.format };
		default:
			return { ...common, kind: "json" };
	}
}

function object(schema, definitions, depth, common) {
	const properties = Object.entries(schema.properties ?? {});
	// The keys of a dictionary are typed with its values.
	if (properties.length === 0 && typeof schema.additionalProperties === "object") return { ...common, kind: "json" };
	const fields = properties.map(([name, property]) => ({
		name,
		isRequired: schema.required?.includes(name) ?? false,
		form: form(property, definitions, depth + 1),
	}));
	return { ...common, kind: "object", fields };
}

function caseName(schema, index) {
	const tag = schema.properties?.type?.const;
	if (tag !== undefined) return String(tag);
	if ("const" in schema) return String(schema.const);
	const names = Object.keys(schema.properties ?? {});
	return names.length === 1 ? names[0] : `form ${index + 1}`;
}

/** Which case a value has: the first that its tag or its members fit. */
export function caseOf(cases, value) {
	const found = cases.findIndex(({ form }) => fits(form, value));
	return Math.max(0, found);
}

function fits(form, value) {
	switch (form.kind) {
		case "constant":
			return form.value === value;
		case "object": {
			if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
			return form.fields.every(({ name, isRequired, form }) => {
				if (!Object.hasOwn(value, name)) return !isRequired;
				return form.kind !== "constant" || form.value === value[name];
			});
		}
		case "string":
			return typeof value === "string";
		case "array":
			return Array.isArray(value);
		default:
			return true;
	}
}

/** Where a problem's detail says that a body is wrong: a JSON Pointer; nothing if it names none. */
export function place(detail) {
	return / at (\/\S*?|its root): /.exec(detail ?? "")?.[1]?.replace("its root", "");
}

/** Whether JSON keeps all numbers of a value: a browser rounds larger ones. */
export function isExact(value) {
	if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
	return typeof value !== "object" || value === null || Object.values(value).every(isExact);
}

/** Reads JSON that is to be sent. */
export function parse(text) {
	const value = JSON.parse(text);
	if (!isExact(value)) throw new Error("A browser rounds numbers beyond 2⁵³.");
	return value;
}

/** Reads a whole number exactly: a value or a fault. */
export function integer(text, { minimum, maximum } = {}) {
	const trimmed = text.trim();
	if (!/^[+-]?\d+$/.test(trimmed)) return { fault: "a whole number" };
	const value = Number(trimmed);
	if (!isExact(value)) return { fault: "a whole number below 2⁵³" };
	return inLimits(value, minimum, maximum);
}

export function decimal(text, { minimum, maximum } = {}) {
	const trimmed = text.trim();
	const value = Number(trimmed);
	if (trimmed === "" || !Number.isFinite(value)) return { fault: "a number" };
	return inLimits(value, minimum, maximum);
}

function inLimits(value, minimum = -Infinity, maximum = Infinity) {
	if (value < minimum) return { fault: `at least ${minimum}` };
	if (value > maximum) return { fault: `at most ${maximum}` };
	return { value };
}
