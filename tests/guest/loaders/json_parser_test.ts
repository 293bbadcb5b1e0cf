import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, ExitCode } from "../../../src/errors.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import type { JsonNode } from "../../../src/guest/loaders/json_node.ts";
import { parseJson } from "../../../src/guest/loaders/json_parser.ts";
import { mutations } from "../support/mutations.ts";

const encoder = new TextEncoder();
const parse = (text: string) => parseJson("t.json", encoder.encode(text));

function plain(node: JsonNode): unknown {
  if (Array.isArray(node.value)) return node.value.map(plain);
  if (node.value instanceof Map) return Object.fromEntries([...node.value].map(([key, value]) => [key, plain(value)]));
  return node.value;
}

function refusal(text: string | Uint8Array): MalformedFileError {
  return assertThrows(
    () => parseJson("t.json", typeof text === "string" ? encoder.encode(text) : text),
    MalformedFileError,
  );
}

Deno.test("valid documents read as JSON.parse reads them", () => {
  const documents = [
    "null",
    " [ ] ",
    "{}",
    '{"a":1,"b":[true,false,null],"c":{"d":"e"}}',
    "[0,-0,1.5,-2e3,1E+2,0.001,123456789012345]",
    '["","\\n\\t\\u0041\\\\\\"\\/","gr\u00fc\u00df \u{1F600}"]',
    "[[[[[1]]]],\r\n\t2]",
  ];
  for (const document of documents) assertEquals(plain(parse(document)), JSON.parse(document));
});

Deno.test("what JSON.parse refuses is refused with the byte offset of the problem", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["   ", 3],
    ["{", 1],
    ["[1,]", 3],
    ["[1 2]", 3],
    ['{"a" 1}', 5],
    ['{"a":1,}', 7],
    ["{a:1}", 1],
    ["tru", 0],
    ["nulL", 0],
    ["01", 0],
    ["1.", 0],
    ["-", 0],
    ["+1", 0],
    ["1e", 0],
    ['"abc', 0],
    ['"abc\\', 0],
    ['"\\x41"', 0],
    ['"a\nb"', 2],
    ["[1] 2", 4],
    ["\uFEFF{}", 0],
    ["'a'", 0],
    ["NaN", 0],
  ];
  for (const [text, offset] of cases) {
    assertThrows(() => JSON.parse(text), SyntaxError);
    const error = refusal(text);
    assertEquals([text, error.place.fileOffset, error.place.file, error.exitCode], [
      text,
      offset,
      "t.json",
      ExitCode.Usage,
    ]);
  }
});

Deno.test("a key that appears twice, bytes that are not UTF-8 and deep nesting are refused", () => {
  assertStringIncludes(refusal('{"a":1,"a":2}').message, '"a" appears twice');
  assertEquals(refusal('{"a":1,"a":2}').place.fileOffset, 7);
  assertStringIncludes(refusal(Uint8Array.of(0x22, 0xC3, 0x28, 0x22)).message, "not UTF-8");
  assertStringIncludes(refusal("[".repeat(100000)).message, "nested deeper");
});

Deno.test("values are asked for by type, and errors name path, offset and reason", () => {
  const root = parse('{"list":[1,"0x10",{"odd key":true}],"big":"0xFFFFFFFFFFFFFFFF","float":1.5,"huge":1e300}');
  assertEquals(root.get("list").items()[1].integer(0, 100), 16);
  assertEquals(root.get("big").unsigned((1n << 64n) - 1n), 0xFFFF_FFFF_FFFF_FFFFn);
  const cases: [() => unknown, string][] = [
    [
      () => root.get("list").items()[2].get("odd key").text(),
      '$.list[2]["odd key"]: a text is expected, not a boolean',
    ],
    [() => root.get("none"), '$: the key "none" is missing'],
    [() => root.get("list").members(), "$.list: an object is expected, not a list"],
    [() => root.get("list").items(4), "$.list: at least 4 items are expected, not 3"],
    [() => root.get("list").items()[1].integer(0, 15), "$.list[1]: 16 is outside 0 to 15"],
    [() => root.get("list").items()[0].integer(2, 15), "$.list[0]: 1 is outside 2 to 15"],
    [() => root.get("float").integer(0, 9), "$.float: a whole number is expected"],
    [() => root.get("huge").integer(0, 9), "$.huge: a whole number is expected"],
    [() => root.get("big").unsigned(255n), "$.big: 18446744073709551615 is outside 0 to 255"],
    [() => root.get("big").oneOf("a", "b"), '"0xFFFFFFFFFFFFFFFF" is not one of a, b'],
    [() => root.get("list").words(), "$.list[2]: a number is expected, not an object"],
    [() => root.onlyKeys(["list", "big"]), "$.float: unknown key; known here: list, big"],
    [() => root.get("list").boolean(), "$.list: true or false is expected, not a list"],
    [() => parse('"12"').integer(0, 99), '"12" is not hexadecimal with 0x'],
  ];
  for (const [ask, message] of cases) {
    const error = assertThrows(ask, MalformedFileError);
    assertStringIncludes(error.message, message);
    assert(error.place.fileOffset !== undefined);
  }
  assertEquals(root.get("list").items()[1].offset, 11);
});

Deno.test("damaged documents are read or refused, never anything else, and agree with JSON.parse where both read", () => {
  const document = encoder.encode(
    '{"schema":"x/1","list":[1,2.5,-3e2,"\\u00e4\\n",{"a":[true,false,null]}],"t":"0x12 \u00e9"}',
  );
  let read = 0;
  for (const bytes of mutations(document, 1000, 7)) {
    let mine: unknown;
    try {
      mine = plain(parseJson("t.json", bytes));
      read++;
    } catch (error) {
      assertInstanceOf(error, AnyAgcError);
      continue;
    }
    assertEquals(mine, JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  }
  assert(read > 20, `${read} documents survived their damage`);
});
