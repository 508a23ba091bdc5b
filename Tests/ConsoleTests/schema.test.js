import assert from "node:assert/strict";
import { test } from "node:test";
import { caseOf, decimal, form, integer, isExact, parse, place } from "../../Sources/Console/schema.js";

const ACTIONS = {
  oneOf: [
    { type: "object", properties: { type: { const: "alert" }, message: { type: ["string", "null"] } }, required: ["type"] },
    { type: "object", properties: { type: { const: "doSomeAction" } }, required: ["type"] },
  ],
};

test("the cases of an enum, by their tags", () => {
  const made = form(ACTIONS);
  assert.equal(made.kind, "cases");
  assert.deepEqual(made.cases.map(({ name }) => name), ["alert", "doSomeAction"]);
  const [type, message] = made.cases[0].form.fields;
  assert.deepEqual([type.form.kind, type.form.value, type.isRequired], ["constant", "alert", true]);
  assert.deepEqual([message.form.kind, message.form.isNullable, message.isRequired], ["string", true, false]);
});

test("the case of a value is that of its tag", () => {
  const { cases } = form(ACTIONS);
  assert.equal(caseOf(cases, { type: "doSomeAction" }), 1);
  assert.equal(caseOf(cases, { type: "alert", message: "x" }), 0);
  assert.equal(caseOf(cases, { type: "unknown" }), 0);
});

test("every kind of schema has a form", () => {
  for (
    const [schema, kind] of [
      [{ type: "boolean" }, "boolean"],
      [{ type: "integer", minimum: 0 }, "integer"],
      [{ type: "number" }, "number"],
      [{ enum: ["slow", "fast"] }, "choice"],
      [{ type: "array", items: { type: "string" } }, "array"],
      [{ type: "object", additionalProperties: { type: "integer" } }, "json"],
      [{ type: ["string", "number"], format: "date-time" }, "string"],
      [{ type: ["object", "null"], properties: { a: {} } }, "object"],
      [{ const: 3 }, "constant"],
      [{}, "json"],
      [true, "json"],
      [undefined, "json"],
      [{ $ref: "https://elsewhere.example/schema" }, "json"],
      [{ $ref: "#/$defs/Missing" }, "json"],
    ]
  ) {
    assert.equal(form(schema).kind, kind, JSON.stringify(schema));
  }
  assert.equal(form({ oneOf: [{ type: "null" }, { type: "string" }] }).kind, "string");
  assert.ok(form({ oneOf: [{ type: "null" }, { type: "string" }] }).isNullable);
});

test("a type that contains itself ends", () => {
  const tree = {
    $ref: "#/$defs/Tree",
    $defs: { Tree: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/Tree" } } } } },
  };
  let part = form(tree);
  let depth = 0;
  while (part.kind !== "json") {
    part = part.kind === "array" ? part.item : part.fields[0].form;
    assert.ok((depth += 1) < 50);
  }
});

test("whole numbers are exact or refused", () => {
  assert.deepEqual(integer(" 42 "), { value: 42 });
  assert.deepEqual(integer("-7", { minimum: -7 }), { value: -7 });
  for (const text of ["", "1.5", "1e3", "x", "0x10", "9007199254740993", "9".repeat(30)]) {
    assert.ok(integer(text).fault, text);
  }
  assert.ok(integer("3", { maximum: 2 }).fault);
  assert.ok(integer("1", { minimum: 2 }).fault);
  assert.deepEqual(decimal("1.5e2"), { value: 150 });
  for (const text of ["", "x", "Infinity", "NaN"]) assert.ok(decimal(text).fault, text);
});

test("JSON is exact or refused", () => {
  assert.deepEqual(parse('{"n":[9007199254740991,-1.5,null,"9007199254740993"]}').n.length, 4);
  for (const text of ["9007199254740992", "-9007199254740993", '{"a":[1,{"b":1e16}]}']) {
    assert.ok(!isExact(JSON.parse(text)), text);
    assert.throws(() => parse(text), /2⁵³/, text);
  }
  assert.throws(() => parse("{"), SyntaxError);
});

test("the place of a problem is the pointer in its detail", () => {
  assert.equal(place("the body is invalid at /message: expected a string, found a number"), "/message");
  assert.equal(place('the body is invalid at /a/0/b~1c: the field "x" is missing'), "/a/0/b~1c");
  assert.equal(place("the body is invalid at its root: expected an object, found a number"), "");
  assert.equal(place("the state is too large"), undefined);
  assert.equal(place(undefined), undefined);
});
