import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, ExitCode } from "../../../src/errors.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { Program } from "../../../src/guest/program.ts";
import { withFiles } from "../support/files.ts";
import { mutations } from "../support/mutations.ts";

type Json = Record<string, unknown>;

const FULL: Json = {
  schema: "anyagc.program/1",
  name: "full",
  target: "gfx1030",
  notes: ["a note"],
  memory: [
    {
      name: "code",
      base: "0x200000000",
      bytes: 8192,
      permissions: "rx",
      contents: [{ offset: "0x100", file: "parts/code.bin" }, { offset: 0, hex: "01 02\n03", repeat: 2 }],
    },
    {
      base: "0xFFFF800000010000",
      bytes: "0x1000",
      contents: [{ offset: 8, words: [1, "0xFFFFFFFF"] }, { offset: 4092, floats: [-1.5] }],
    },
  ],
  submissions: [
    { queue: 0, words: ["0xC0001000", 0] },
    { queue: "0x20", label: "compute", file: "stream.pm4" },
    { queue: 0, address: "0x200000004", dwords: 2 },
  ],
  expect: [{ address: "0xFFFF800000010000", words: [7, 8], repeat: 3, reason: "because" }],
  untouched: [{ address: "0x200000000", bytes: 5, reason: "code" }],
  frame: { address: "0x200000000", width: 8, height: 4, format: "bgra8", pitchBytes: 64 },
};
const FILES = { "parts/code.bin": Uint8Array.of(9, 8, 7, 6), "stream.pm4": Uint8Array.of(1, 0, 0, 0xC0, 2, 0, 0, 0) };

function load(document: Json, files: Record<string, Uint8Array | string> = FILES): Program {
  return withFiles({ ...files, "program.json": JSON.stringify(document) }, (folder) => {
    const loaded = loadFile(`${folder}/program.json`);
    assert(loaded.kind === "program");
    return loaded.program;
  });
}

/** The document with one value replaced (or removed, for undefined) at a path like `memory.0.base`. */
function changed(path: string, value: unknown): Json {
  const copy = structuredClone(FULL);
  const keys = path.split(".");
  // deno-lint-ignore no-explicit-any
  const owner = keys.slice(0, -1).reduce((node: any, key) => node[key], copy);
  if (value === undefined) delete owner[keys.at(-1)!];
  else owner[keys.at(-1)!] = value;
  return copy;
}

Deno.test("a program that uses every key reads as its author means it", () => {
  const program = load(FULL);
  assertEquals([program.name, program.target, program.notes], ["full", "gfx1030", ["a note"]]);
  assertEquals(program.memory, [
    {
      name: "code",
      base: 0x2_0000_0000n,
      bytes: 8192,
      permissions: Permission.Read | Permission.Execute,
      contents: [{ offset: 0, data: Uint8Array.of(1, 2, 3, 1, 2, 3) }, {
        offset: 256,
        data: Uint8Array.of(9, 8, 7, 6),
      }],
    },
    {
      name: "window 1",
      base: 0xFFFF_8000_0001_0000n,
      bytes: 4096,
      permissions: Permission.All,
      contents: [{ offset: 8, data: Uint8Array.of(1, 0, 0, 0, 255, 255, 255, 255) }, {
        offset: 4092,
        data: Uint8Array.of(0, 0, 0xC0, 0xBF),
      }],
    },
  ]);
  assertEquals(program.submissions.map(({ queue, label, address, words }) => [queue, label, address, [...words]]), [
    [0, undefined, undefined, [0xC0001000, 0]],
    [0x20, "compute", undefined, [0xC0000001, 2]],
    [0, undefined, 0x2_0000_0004n, [0x0302, 0]],
  ]);
  assertEquals(program.expectations, [{
    address: 0xFFFF_8000_0001_0000n,
    data: Uint8Array.of(7, 0, 0, 0, 8, 0, 0, 0),
    bytes: 24,
    reason: "because",
  }]);
  assertEquals(program.untouched, [{ address: 0x2_0000_0000n, bytes: 5, reason: "code" }]);
  assertEquals(program.frame, {
    address: 0x2_0000_0000n,
    width: 8,
    height: 4,
    pitchBytes: 64,
    format: "bgra8",
    tiling: "linear",
  });
});

Deno.test("the smallest program gets its defaults", () => {
  const program = load({
    schema: "anyagc.program/1",
    memory: [{ base: "0x1000", bytes: 4096 }],
    submissions: [{ queue: 0, words: [] }],
  });
  assertEquals([program.name, program.target, program.memory[0].permissions, program.frame], [
    "program",
    "gfx1013",
    Permission.All,
    undefined,
  ]);
  const tiled = load({
    ...changed("memory.0.bytes", 4 << 20),
    frame: { address: "0x200000000", width: 129, height: 1, format: "rgba8", tiling: "64KB_R_X" },
  });
  assertEquals(tiled.frame!.pitchBytes, 1024);
});

Deno.test("the example in the documentation is a valid program", () => {
  const text = Deno.readTextFileSync(new URL("../../../docs/program-json.md", import.meta.url));
  const example = JSON.parse(text.match(/```json\n([\s\S]*?)```/)![1]);
  const program = load(example, { "fill.bin": Uint8Array.of(0, 0, 0x81, 0xBF) });
  assertEquals([program.memory.length, program.expectations[0].bytes, program.frame!.pitchBytes], [2, 256, 32]);
});

Deno.test("every mistake is refused with path, offset and reason", () => {
  const cases: [path: string, value: unknown, message: string][] = [
    ["schema", "anyagc.program/2", "$.schema: only anyagc.program/1 is known"],
    ["extra", 1, "$.extra: unknown key"],
    ["name", 5, "$.name: a text is expected"],
    ["target", "gfx900", '$.target: "gfx900" is not one of gfx1013, gfx1030'],
    ["notes", "x", "$.notes: a list is expected"],
    ["memory", undefined, '$: the key "memory" is missing'],
    ["submissions", undefined, '$: the key "submissions" is missing'],
    ["submissions", [], "$.submissions: at least 1 item is expected"],
    ["memory.0.size", 1, "$.memory[0].size: unknown key"],
    ["memory.0.base", "0x200000010", "$.memory[0].base: 0x200000010 is no multiple of 4096"],
    ["memory.0.base", "0x800000000000", "$.memory[0].base: 0x800000000000 is no guest address"],
    ["memory.0.base", "200000000", "is not hexadecimal with 0x"],
    ["memory.0.base", "0x10000000000000000", "$.memory[0].base: 18446744073709551616 is outside"],
    ["memory.0.base", -4096, "$.memory[0].base: -4096 is outside"],
    ["memory.0.base", "0x7FFFFFFFF000", "$.memory[0].bytes: the window leaves the guest's addresses at 0x800000001000"],
    ["memory.1.base", "0xFFFFFFFFFFFFF000", "$.memory[1].bytes: the window leaves the guest's addresses"],
    ["memory.0.bytes", 0, "$.memory[0].bytes: 0 is outside"],
    ["memory.0.bytes", 100, "$.memory[0].bytes: 100 is no multiple of 4096"],
    ["memory.0.bytes", 4096.5, "$.memory[0].bytes: a whole number is expected"],
    ["memory.1.base", "0x200001000", "$.memory[1]: overlaps window code"],
    ["memory.0.permissions", "wr", '"wr": letters of "rwx"'],
    ["memory.0.permissions", "", "letters of"],
    ["memory.0.contents.0.offset", 8192, "$.memory[0].contents[0].offset: 8192 is outside 0 to 8191"],
    ["memory.0.contents.0.offset", 8190, "$.memory[0].contents[0]: the contents end at 0x2002, the window at 0x2000"],
    ["memory.0.contents.0.offset", 4, "$.memory[0].contents[0]: overlaps the contents at offset 0x0"],
    ["memory.0.contents.1.offset", "0xFE", "$.memory[0].contents[0]: overlaps the contents at offset 0xfe"],
    ["memory.0.contents.1.repeat", 4000000000, "$.memory[0].contents[1]: the contents end at"],
    ["memory.0.contents.1.repeat", 0, "$.memory[0].contents[1].repeat: 0 is outside"],
    ["memory.0.contents.1.hex", "0", "bytes of two hexadecimal digits"],
    ["memory.0.contents.1.hex", "zz", "bytes of two hexadecimal digits"],
    ["memory.0.contents.1.hex", "", "$.memory[0].contents[1]: the contents are empty"],
    ["memory.0.contents.1.words", [1], "exactly one of file, hex, words, floats"],
    ["memory.0.contents.1.hex", undefined, "exactly one of file, hex, words, floats"],
    ["memory.1.contents.0.words", [4294967296], "$.memory[1].contents[0].words[0]: 4294967296 is outside"],
    ["memory.1.contents.1.floats", ["1"], "$.memory[1].contents[1].floats[0]: a number is expected"],
    ["memory.0.contents.0.file", "none.bin", "$.memory[0].contents[0].file: there is no file"],
    ["memory.0.contents.0.file", "../x.bin", "a name relative to the program's own folder"],
    ["memory.0.contents.0.file", "parts/../../x.bin", "a name relative to the program's own folder"],
    ["memory.0.contents.0.file", "/etc/passwd", "a name relative to the program's own folder"],
    ["memory.0.contents.0.file", "", "a name relative to the program's own folder"],
    ["submissions.0.queue", 1, "$.submissions[0].queue: queues are 0"],
    ["submissions.0.queue", "0x58", "$.submissions[0].queue: queues are 0"],
    ["submissions.0.file", "stream.pm4", "$.submissions[0]: exactly one of words, file, address"],
    ["submissions.0.words", undefined, "$.submissions[0]: exactly one of words, file, address"],
    ["submissions.0.dwords", 2, "$.submissions[0].dwords: belongs to address only"],
    ["submissions.2.dwords", undefined, '$.submissions[2]: the key "dwords" is missing'],
    [
      "submissions.2.dwords",
      2048,
      "$.submissions[2].address: 0x200000004 to 0x200002004 is not inside one memory window",
    ],
    ["submissions.2.address", "0x200000002", "$.submissions[2].address: 0x200000002 is no multiple of 4"],
    ["submissions.1.file", "parts/odd.bin", "$.submissions[1].file: 3 bytes are no whole words"],
    [
      "expect.0.address",
      "0x300000000",
      "$.expect[0].address: 0x300000000 to 0x300000018 is not inside one memory window",
    ],
    ["expect.0.repeat", 1000, "is not inside one memory window"],
    ["expect.0.words", [], "$.expect[0]: nothing to compare"],
    ["expect.0.reason", undefined, '$.expect[0]: the key "reason" is missing'],
    ["untouched.0.bytes", 8193, "$.untouched[0].address"],
    ["untouched.0.why", 1, "$.untouched[0].why: unknown key"],
    ["frame.width", 0, "$.frame.width: 0 is outside"],
    ["frame.height", 4096, "$.frame.address: 0x200000000 to"],
    ["frame.pitchBytes", 28, "$.frame.pitchBytes: 28 is outside 32"],
    ["frame.pitchBytes", 33, "$.frame.pitchBytes: must be a multiple of 4"],
    ["frame.format", "rgb565", "$.frame.format"],
    ["frame.tiling", "4KB_S", "$.frame.tiling"],
  ];
  for (const [path, value, message] of cases) {
    const error = assertThrows(
      () => load(changed(path, value), { ...FILES, "parts/odd.bin": Uint8Array.of(1, 2, 3) }),
      MalformedFileError,
      undefined,
      path,
    );
    assertStringIncludes(error.message, message);
    assert(error.place.fileOffset !== undefined && error.place.file!.endsWith("program.json"));
    assertEquals(error.exitCode, ExitCode.Usage);
  }
});

Deno.test("a link that leads out of the program's folder is refused", () => {
  withFiles({
    "inside/program.json": JSON.stringify(changed("memory.0.contents.0.file", "link.bin")),
    "secret.bin": Uint8Array.of(1),
  }, (folder) => {
    Deno.symlinkSync(`${folder}/secret.bin`, `${folder}/inside/link.bin`);
    const error = assertThrows(() => loadFile(`${folder}/inside/program.json`), MalformedFileError);
    assertStringIncludes(error.message, "is a link out of the program's folder");
  });
});

Deno.test("1,000 damaged programs are read or refused, never anything else", () => {
  const bytes = new TextEncoder().encode(JSON.stringify(FULL));
  withFiles({ ...FILES }, (folder) => {
    let read = 0;
    for (const damaged of mutations(bytes, 1000, 3)) {
      Deno.writeFileSync(`${folder}/program.json`, damaged);
      try {
        loadFile(`${folder}/program.json`);
        read++;
      } catch (error) {
        assertInstanceOf(error, AnyAgcError);
      }
    }
    assert(read > 0 && read < 900, `${read} read`);
  });
});
