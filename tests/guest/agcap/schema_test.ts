import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { checkSchema, definition, type JsonSchema } from "../../../src/guest/agcap/json_schema.ts";
import { AGCAP_SCHEMA } from "../../../src/guest/agcap/schema.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { parseJson } from "../../../src/guest/loaders/json_parser.ts";
import { schemaText } from "../../../tools/agcap/write_schema.ts";

const document = (name: string) => Deno.readTextFileSync(new URL(`../../../docs/${name}`, import.meta.url));

/** Every object of the schema with its place, references followed once. */
function* objects(schema: JsonSchema, place = "$"): Generator<[string, JsonSchema]> {
  if (schema.type === "object") yield [place, schema];
  for (const [key, value] of Object.entries(schema.properties ?? {})) yield* objects(value, `${place}.${key}`);
  for (const [key, value] of Object.entries(schema.$defs ?? {})) yield* objects(value, key);
  if (schema.items) yield* objects(schema.items, `${place}[]`);
  for (const [i, branch] of (schema.oneOf ?? []).entries()) yield* objects(branch, `${place}|${i}`);
}

Deno.test("docs/agcap.schema.json is the schema that the reader uses", () => {
  assertEquals(document("agcap.schema.json"), schemaText(), "deno run -A tools/agcap/write_schema.ts writes it");
});

Deno.test("docs/agcap.md names every key of the manifest, and every code of a refusal", () => {
  const text = document("agcap.md");
  let keys = 0;
  for (const [place, { properties }] of objects(AGCAP_SCHEMA)) {
    for (const key of Object.keys(properties ?? {})) {
      assertStringIncludes(text, `\`${key}\``, `${place}.${key} is not documented`);
      keys++;
    }
  }
  assertEquals(keys > 60, true, `${keys} keys`);
  const codes = new Set<string>();
  for (const folder of ["zip", "agcap"]) {
    const root = new URL(`../../../src/guest/${folder}/`, import.meta.url);
    for (const { name } of Deno.readDirSync(root)) {
      if (name === "describe_code.ts" || name === "write_zip.ts") continue;
      for (const [, code] of Deno.readTextFileSync(new URL(name, root)).matchAll(/"((?:zip|agcap)\.[a-z0-9-]+)"/g)) {
        codes.add(code);
      }
    }
  }
  // An entry that is not there is found by the reader of the manifest first.
  codes.delete("zip.missing");
  assertEquals(codes.size > 25, true, `${codes.size} codes`);
  for (const code of codes) assertStringIncludes(text, `\`${code}\``);
});

Deno.test("objects of the schema are closed, their required keys exist, and every reference leads somewhere", () => {
  for (const [place, { properties = {}, required = [], additionalProperties }] of objects(AGCAP_SCHEMA)) {
    assertEquals(additionalProperties, false, place);
    for (const key of required) assertEquals(key in properties, true, `${place}: ${key}`);
  }
  for (const [, ref] of JSON.stringify(AGCAP_SCHEMA).matchAll(/"\$ref":"([^"]+)"/g)) definition(ref, AGCAP_SCHEMA);
});

const CASES: [schema: JsonSchema, good: string[], bad: [json: string, says: string][]][] = [
  [
    { type: "integer", minimum: 2, maximum: 9 },
    ["2", "9"],
    [["1", "outside 2 to 9"], ["10", "outside"], ["2.5", "whole number"], ['"0x3"', "not a text"], [
      "null",
      "not null",
    ]],
  ],
  [
    { type: "string", pattern: "^a+$", minLength: 1, maxLength: 3 },
    ['"a"', '"aaa"'],
    [['""', "empty"], ['"aaaa"', "4 letters"], ['"ab"', "the form"], ["1", "a text is expected"]],
  ],
  [{ type: "string", enum: ["x", "y"] }, ['"y"'], [['"z"', "not one of x, y"]]],
  [{ type: "string", const: "only" }, ['"only"'], [['"other"', "only only is known"]]],
  [
    { type: "array", items: { type: "integer" }, minItems: 1, maxItems: 2 },
    ["[1]", "[1,2]"],
    [["[]", "at least 1"], ["[1,2,3]", "at most 2"], ['["a"]', "$[0]"], ["{}", "a list is expected"]],
  ],
  [
    {
      type: "object",
      properties: { a: { type: "integer" }, b: { $ref: "#/$defs/b" } },
      required: ["a"],
      additionalProperties: false,
      $defs: { b: { type: "string" } },
    },
    ['{"a":1}', '{"a":1,"b":"x"}'],
    [["{}", '"a" is missing'], ['{"a":1,"c":1}', "unknown key"], ['{"a":1,"b":2}', "$.b"], ["[]", "an object"]],
  ],
  [
    {
      oneOf: [
        {
          type: "object",
          properties: { k: { type: "string", const: "x" }, n: { type: "integer" } },
          required: ["k", "n"],
        },
        { type: "object", properties: { k: { type: "string", const: "y" } }, required: ["k"] },
      ],
    },
    ['{"k":"x","n":1}', '{"k":"y"}'],
    [['{"k":"z"}', "one of x, y"], ['{"k":"x"}', '"n" is missing'], ['{"k":"y","n":1}', "unknown key"], [
      "{}",
      '"k" is missing',
    ]],
  ],
];

Deno.test("the schema checker accepts what its schemas describe, and names what they do not", () => {
  for (const [schema, good, bad] of CASES) {
    const check = (json: string) => checkSchema(parseJson("f.json", new TextEncoder().encode(json)), schema);
    for (const json of good) check(json);
    for (const [json, says] of bad) {
      const error = assertThrows(() => check(json), MalformedFileError);
      assertStringIncludes(error.message, says);
      assertEquals([error.place.file, typeof error.place.fileOffset], ["f.json", "number"]);
    }
  }
});

Deno.test("a schema that is wrong itself is a defect, whatever the document", () => {
  const document = parseJson("f.json", new TextEncoder().encode('{"k":"x"}'));
  const cases: [JsonSchema, string][] = [
    [{ $ref: "#/$defs/nowhere" }, "has no #/$defs/nowhere"],
    [{ oneOf: [{ type: "object", properties: { k: { type: "string" } } }] }, "no property with const"],
    [{}, "without a type"],
  ];
  for (const [schema, says] of cases) {
    assertStringIncludes(assertThrows(() => checkSchema(document, schema), TypeError).message, says);
  }
});
