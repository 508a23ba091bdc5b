// TypeScript from the schemas of reactors.

/** @import { HostedReactor } from "../reactor-client.d.ts" */
/** @typedef {{ [member: string]: any }} Schema */

/** @param {string} name */
const property = (name) => /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);

/** A name of a type, made of any text. @param {string} text */
const capitalized = (text) =>
  text.replace(/(?:^|[^A-Za-z0-9])+([A-Za-z0-9])/g, (_, letter) => letter.toUpperCase()).replace(/[^A-Za-z0-9]/g, "")
    .replace(/^(?=\d|$)/, "T");

/** @param {string[]} types */
function union(types) {
  const all = [...new Set(types)];
  return all.includes("unknown") ? "unknown" : all.join(" | ") || "never";
}

/** The named types of one file. */
class Names {
  /** The texts of objects that are declared, by their schemas. @type {Map<string, string>} */
  #objects = new Map();
  /** @type {Map<string, number>} */
  #counts = new Map();
  /** @type {Map<string, string>} */
  declarations = new Map();

  /** Notes the objects of a schema: one that is there twice gets a name. @param {unknown} schema */
  count(schema) {
    if (Array.isArray(schema)) { for (const one of schema) this.count(one); }
    else if (schema && typeof schema === "object") {
      const { type } = /** @type {Schema} */ (schema);
      const own = Array.isArray(type) && type.includes("object") ? { ...schema, type: "object" } : schema;
      if (this.#isNameable(own)) {
        const text = JSON.stringify(own);
        this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1);
      }
      for (const one of Object.values(schema)) this.count(one);
    }
  }

  /** @param {Schema} schema */
  #isNameable({ type, properties }) {
    return type === "object" && properties && Object.keys(properties).length > 1 && !properties.type?.const;
  }

  /** A name that is not taken. @param {string} path */
  free(path) {
    let name = capitalized(path);
    for (let number = 2; this.declarations.has(name); number++) name = `${capitalized(path)}${number}`;
    this.declarations.set(name, "");
    return name;
  }

  /**
   * @param {Schema | boolean} schema @param {string} path from which a name is made
   * @param {Record<string, string>} [references] the names of `$defs`
   * @returns {string}
   */
  type(schema, path, references = {}) {
    if (typeof schema !== "object") return "unknown";
    if (schema.$defs) {
      references = { ...references };
      for (const name of Object.keys(schema.$defs)) references[name] = this.free(`${path.split(" ")[0]} ${name}`);
      for (const [name, one] of Object.entries(schema.$defs)) {
        this.#declare(references[name] ?? name, one, `${path} ${name}`, references);
      }
    }
    if (schema.$ref) return references[String(schema.$ref).replace("#/$defs/", "")] ?? "unknown";
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum) return union(schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)));
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices) return union(choices.map((/** @type {Schema} */ one) => this.type(one, path, references)));
    if (Array.isArray(schema.type)) {
      return union(schema.type.map((type) => this.type({ ...schema, type }, path, references)));
    }
    switch (schema.type) {
      case "integer":
      case "number":
        return "number";
      case "string":
      case "boolean":
      case "null":
        return schema.type;
      case "array": {
        const element = this.type(schema.items ?? {}, path, references);
        return element.includes(" | ") ? `(${element})[]` : `${element}[]`;
      }
      case "object":
        return this.#object(schema, path, references);
      default:
        return "unknown";
    }
  }

  /** @param {Schema} schema @param {string} path @param {Record<string, string>} references */
  #object(schema, path, references) {
    const text = JSON.stringify(schema);
    if (!this.#isNameable(schema) || (this.#counts.get(text) ?? 0) < 2) return this.#members(schema, path, references);
    let name = this.#objects.get(text);
    if (!name) {
      this.#objects.set(text, name = this.free(path));
      this.#declare(name, schema, path, references);
    }
    return name;
  }

  /** @param {string} name @param {Schema} schema @param {string} path @param {Record<string, string>} references */
  #declare(name, schema, path, references) {
    if (schema.type === "object" && schema.properties) {
      const members = this.#fields(schema, path, references).map((one) => `  ${one};\n`).join("");
      this.declarations.set(name, `export interface ${name} {\n${members}}\n`);
    } else this.declarations.set(name, `export type ${name} = ${this.type(schema, path, references)};\n`);
  }

  /** @param {Schema} schema @param {string} path @param {Record<string, string>} references */
  #members(schema, path, references) {
    const { properties = {}, additionalProperties } = schema;
    if (additionalProperties) return `Record<string, ${this.type(additionalProperties, path, references)}>`;
    if (!Object.keys(properties).length) return "Record<string, unknown>";
    return `{ ${this.#fields(schema, path, references).join("; ")} }`;
  }

  /** @param {Schema} schema @param {string} path @param {Record<string, string>} references */
  #fields({ properties = {}, required = [] }, path, references) {
    return Object.entries(properties).map(([name, one]) => {
      const mark = required.includes(name) ? "" : "?";
      return `${property(name)}${mark}: ${this.type(one, `${path.split(" ")[0]} ${name}`, references)}`;
    });
  }
}

/**
 * The types of all reactors as a TypeScript file.
 *
 * @param {HostedReactor[]} reactors
 * @param {string} origin where they are from
 */
export function typescript(reactors, origin) {
  const names = new Names();
  names.declarations.set("Reactors", "");
  for (const { schemas } of reactors) names.count(schemas);
  const lines = reactors.map(({ name, schemas }) => {
    /** @param {Record<string, unknown> | undefined} map */
    const record = (map) => {
      const members = Object.entries(map ?? {}).map(([key, one]) =>
        `${property(key)}: ${names.type(/** @type {Schema} */ (one), `${name} ${key}`)}`
      );
      return members.length ? `{ ${members.join("; ")} }` : "Record<never, never>";
    };
    const action = names.type(/** @type {Schema} */ (schemas?.action ?? {}), `${name} action`);
    const { input } = /** @type {{ input?: Schema }} */ (schemas ?? {});
    return `  ${property(name)}: {${input === undefined ? "" : `\n    Input: ${names.type(input, `${name} input`)};`}
    Action:${action.split(" | {").join("\n      | {").replace(/^\{/, "\n      | {").replace(/^(?!\n)/, " ")};
    State: ${names.type(/** @type {Schema} */ (schemas?.state ?? {}), `${name} state`)};
    pulses: ${record(schemas?.pulses)};
    activities: ${record(schemas?.activities)};
  };
`;
  });
  names.declarations.delete("Reactors");
  return `// From ${origin}. Make it again when a reactor changes.
// Integers are exact up to 2^53.

export interface Reactors {
${lines.join("")}}
${[...names.declarations.values()].map((one) => `\n${one}`).join("")}`;
}
