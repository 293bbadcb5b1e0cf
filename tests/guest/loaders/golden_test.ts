import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError } from "../../../src/errors.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { type GoldenOptions, loadGolden } from "../../../src/guest/loaders/golden.ts";
import { fnv1a64 } from "../../../src/guest/loaders/golden_image.ts";
import { parseJson } from "../../../src/guest/loaders/json_parser.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { initialBytes } from "../../../src/guest/map_program.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { withFiles } from "../support/files.ts";
import { mutations } from "../support/mutations.ts";
import { buildRecord } from "../support/records.ts";

type Json = Record<string, unknown>;

/** FNV-1a written the plain way, to check the fast one. */
function plainFnv(bytes: Uint8Array): bigint {
  let hash = 0xCBF29CE484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001B3n);
  return hash;
}

/** An image node from words at byte offsets. */
function image(bytes: number, words: Record<number, number>): Json {
  const data = new Uint8Array(bytes), view = new DataView(data.buffer);
  for (const [offset, word] of Object.entries(words)) view.setUint32(Number(offset), word, true);
  const chunks: Json = {};
  for (let at = 0; at < bytes; at += 256) {
    const text = Array.from({ length: 64 }, (_, i) => view.getUint32(at + 4 * i, true).toString(16).padStart(8, "0"))
      .join("");
    if (/[^0]/.test(text)) chunks[`0x${at.toString(16).padStart(4, "0")}`] = text;
  }
  return { fnv1a64: `0x${plainFnv(data).toString(16)}`, chunk_words: 64, chunks };
}

/** RELEASE_MEM: value to address. */
const releaseMem = (address: number, value: number) => [0xC0064900, 0x0030C528, 0x20000000, address, 2, value, 0, 0];
const hexWords = (words: number[]) => words.map((word) => `0x${word.toString(16)}`);

const RUNNER_WORDS = [0xC0001000, 0, ...releaseMem(0x9FFC, 0x77)];
const RUNNER: Json = {
  schema: 1,
  source: { klog: "x.log", pid: 1 },
  test: "own",
  sequence: 4,
  regions: { stage: { address: "0x200008000", bytes: 4096 }, buffer: { address: "0x20000a000", bytes: 8192 } },
  command: { offset: "0x200", words: hexWords(RUNNER_WORDS) },
  calls: [{ name: "a", words: [0, 2] }, { name: "b", words: [2, 10] }],
  workspace: image(
    4096,
    Object.fromEntries([[0, 0xABCD0123], ...RUNNER_WORDS.map((word, i) => [0x200 + 4 * i, word])]),
  ),
};

// The table names colour target 0 (256x128, 8888, swizzle mode 27) at 0x200400000, and pixel code at 0x200020000.
const TABLE = [0x318, 0x2004000, 0x31C, 0x8828, 0x3B0, 255 << 14 | 127, 0x3B8, 27 << 14];
const SUBMISSION_WORDS = [
  ...[0xC0039F00, 0x10000, 2, 0x80000000, 4],
  ...[0xC0036300, 0x10100, 2, 0x80000000, 2],
  ...releaseMem(0x30000, 5),
];
const SUBMISSION: Json = {
  schema: 1,
  kind: "driver-submission",
  source: { klog: "y.log", pid: 2 },
  test: "drawn",
  sequence: 1,
  label: "draw",
  dwords: SUBMISSION_WORDS.length,
  words: hexWords(SUBMISSION_WORDS),
  regions: [
    {
      index: 0,
      address: "0x200010000",
      bytes: "0x1000",
      ...image(
        4096,
        Object.fromEntries([...TABLE.map((word, i) => [4 * i, word]), [0x100, 0x008], [0x104, 0x2000200], [
          0x108,
          0x009,
        ], [0x10C, 0]]),
      ),
    },
    { index: 1, address: "0x200012000", bytes: "0x100" },
  ],
};
const RUN: Json = {
  schema: 1,
  kind: "driver-run",
  source: { klog: "y.log", pid: 2 },
  stages: [
    { index: 0, test: "drawn", address: "0x200020000", bytes: "0x1000", ...image(4096, { 0: 0xBF810000 }) },
    { index: 0, test: "other", address: "0x200020000", bytes: "0x1000", ...image(4096, { 0: 0xDEAD }) },
  ],
  regions: { "framebuffer-drawn": { address: "0x200400000", bytes: 1 << 20, test: "drawn" } },
  submissions: [{ test: "drawn", label: "draw", file: "drawn-1.json" }],
};
const INPUTS: Json = {
  _note: "x",
  "drawn-1": { "0x200012000": "0000000100000002", "0x200050000": "00000003", _note: "made up" },
};

function load(document: Json, files: Record<string, Json> = {}, options?: GoldenOptions): LoadedProgram {
  const texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, JSON.stringify(file)]));
  return withFiles({ ...texts, "c__drawn-1.json": JSON.stringify(document) }, (folder) => {
    const path = `${folder}/c__drawn-1.json`;
    return loadGolden(parseJson(path, Deno.readFileSync(path)), options);
  });
}

function words(program: LoadedProgram, address: bigint, count: number): number[] {
  return [...new Uint32Array(initialBytes(program, address, 4 * count).buffer)];
}

Deno.test("FNV-1a gives the published test values and agrees with the plain way on long input", () => {
  const encode = (text: string) => new TextEncoder().encode(text);
  assertEquals(fnv1a64(encode("")), 0xCBF29CE484222325n);
  assertEquals(fnv1a64(encode("a")), 0xAF63DC4C8601EC8Cn);
  assertEquals(fnv1a64(encode("foobar")), 0x85944171F73967E8n);
  const long = Uint8Array.from({ length: 5000 }, (_, i) => i * 37 ^ i >> 3);
  assertEquals(fnv1a64(long), plainFnv(long));
});

Deno.test("a runner capture gives its stage, its command words and its end marker", () => {
  const program = load(RUNNER);
  assertEquals([program.name, program.target], ["own-4", "gfx1013"]);
  assertEquals(program.submissions.map(({ queue, address, words }) => [queue, address, [...words]]), [[
    0,
    0x2_0000_8200n,
    RUNNER_WORDS,
  ]]);
  // The stage and the marker's page touch, and the region follows: one window.
  assertEquals(program.memory.map(({ base, bytes }) => [base, bytes]), [[0x2_0000_8000n, 0x4000]]);
  assertEquals(words(program, 0x2_0000_8000n, 1), [0xABCD0123]);
  assertEquals(words(program, 0x2_0000_8200n, 10), RUNNER_WORDS);
  assertEquals(program.expectations[0], {
    address: 0x2_0000_9FFCn,
    data: Uint8Array.of(0x77, 0, 0, 0),
    bytes: 4,
    reason: program.expectations[0].reason,
  });
  assertEquals(program.notes.length, 2);
});

Deno.test("a driver submission gets code from its run file, derived inputs, its target and a frame", () => {
  const program = load(SUBMISSION, { "c__run-1.json": RUN, "INPUTS.json": INPUTS });
  assertEquals([program.name, program.submissions[0].label, program.submissions[0].address], [
    "drawn-1",
    "draw",
    undefined,
  ]);
  assertEquals(words(program, 0x2_0002_0000n, 1), [0xBF810000]);
  assertEquals(words(program, 0x2_0001_2000n, 3), [1, 2, 0]);
  assertEquals(words(program, 0x2_0005_0000n, 1), [3]);
  assertEquals(program.frame, {
    address: 0x2_0040_0000n,
    width: 256,
    height: 128,
    pitchBytes: 1024,
    format: "bgra8",
    tiling: "64KB_R_X",
  });
  const target = program.memory.find(({ base, bytes }) =>
    base <= 0x2_0040_0000n && base + BigInt(bytes) > 0x2_0040_0000n
  )!;
  assertEquals(target.bytes, 2 << 20);
  for (
    const expected of [
      "marker at 0x200030000",
      "derived contents from INPUTS.json",
      "made up",
      "region 1, 0x200012000, 256 bytes: contents were not captured",
    ]
  ) {
    assert(program.notes.some((note) => note.includes(expected)), expected);
  }
});

Deno.test("what a capture lacks is said, not invented", () => {
  const missing = load(SUBMISSION);
  assert(missing.notes.some((note) => note.includes("the run file with the shader code is not beside the capture")));
  assert(
    missing.notes.some((note) => note.includes("shader code at 0x200020000 is not in the capture and not mapped")),
  );
  const foreign = { ...RUN, source: { klog: "z.log", pid: 2 } };
  assert(
    load(SUBMISSION, { "c__run-1.json": foreign }).notes.some((note) =>
      note.includes("is of another capture and was not used")
    ),
  );
  const none = load(SUBMISSION, { "c__run-1.json": RUN, "INPUTS.json": INPUTS }, { run: null, inputs: null });
  assert(!none.notes.some((note) => note.includes("INPUTS")));
  const unknown = structuredClone(SUBMISSION) as { regions: Json[] };
  Object.assign(
    unknown.regions[0],
    image(4096, { 0: 0x318, 4: 0x2004000, 8: 0x31C, 12: 0x8828, 16: 0x3B8, 20: 5 << 14 }),
  );
  const linear = load(unknown as unknown as Json);
  assert(linear.notes.some((note) => note.includes("swizzle mode 5) is not mapped")) && linear.frame === undefined);
});

Deno.test("a run file of another capture is used when it is named, and noted", () => {
  const stage = (RUN.stages as Json[])[0];
  const foreign = { ...RUN, source: { klog: "z.log", pid: 9 }, stages: [stage, { ...stage, test: "same code again" }] };
  withFiles({ "run.json": JSON.stringify(foreign), "c.json": JSON.stringify(SUBMISSION) }, (folder) => {
    const path = `${folder}/c.json`;
    const program = loadGolden(parseJson(path, Deno.readFileSync(path)), { run: `${folder}/run.json` });
    assert(program.notes.some((note) => note.includes("taken from run.json, which is of another capture")));
    assertEquals(words(program, 0x2_0002_0000n, 1), [0xBF810000]);
  });
});

Deno.test("every inconsistency in a capture is refused", () => {
  const broken = (document: Json, change: (copy: Record<string, Json & { chunks: Json }>) => void, message: string) => {
    const copy = structuredClone(document);
    // deno-lint-ignore no-explicit-any
    change(copy as any);
    const error = assertThrows(() => load(copy, { "c__run-1.json": RUN }), MalformedFileError);
    assertStringIncludes(error.message, message);
    assert(error.place.fileOffset !== undefined);
  };
  broken(RUNNER, (c) => c.workspace.fnv1a64 = "0x1234", "FNV-1a hash is 0x");
  broken(
    RUNNER,
    (c) => c.workspace.chunks["0x0000"] = (c.workspace.chunks["0x0000"] as string).replace("abcd0123", "abcd0124"),
    "FNV-1a hash is 0x",
  );
  broken(RUNNER, (c) => c.workspace.chunks["0x0000"] = "00", "512 hexadecimal digits");
  broken(RUNNER, (c) => c.workspace.chunks["0x0004"] = "0".repeat(512), "no multiple of 256");
  broken(RUNNER, (c) => c.workspace.chunks["0x1000"] = "0".repeat(512), "outside the image");
  broken(RUNNER, (c) => c.workspace.chunks["zero"] = "0".repeat(512), "must be an offset");
  broken(RUNNER, (c) => c.workspace.chunk_words = 32, "chunks of 64 words");
  broken(
    RUNNER,
    (c) => (c.command.words as string[])[1] = "0x1",
    "$.command.words[1]: the captured memory holds 0x00000000",
  );
  broken(RUNNER, (c) => c.command.offset = "0xfff0", "$.command.offset");
  broken(
    RUNNER,
    (c) => c.calls = [{ name: "a", words: [0, 2] }, { name: "b", words: [3, 10] }] as never,
    "must start at word 2",
  );
  broken(RUNNER, (c) => c.calls = [{ name: "a", words: [0, 2] }] as never, "the calls end at word 2");
  broken(RUNNER, (c) => c.regions.stage = { address: "0x800000000000", bytes: 4096 }, "not a guest address");
  broken(RUNNER, (c) => c.schema = 2 as never, "schema");
  broken(SUBMISSION, (c) => c.dwords = 3 as never, "$.dwords: the file has 18 words");
  broken(
    SUBMISSION,
    (c) => (c.words as unknown as string[])[0] = "0xC0FF9F00",
    "needs 257 words, the stream has 18 left",
  );
  broken(SUBMISSION, (c) => (c.words as unknown as string[])[0] = "0x00039F00", "is no type 3 packet header");
  broken(SUBMISSION, (c) => c.kind = "else" as never, 'unknown kind "else"');
  broken(RUN, () => {}, "load one of its submissions (drawn-1.json)");
});

Deno.test("shader records in captured memory are listed, and what only looks like one is noted", () => {
  const record = buildRecord({
    type: 1,
    sh: [[0x008, 0], [0x00B, 6]],
    cx: [[0x1B6, 0x8000]],
    code: [0xBF810000],
    shaderBytes: 4,
  }, {
    form: "absolute",
    base: 0x2_0001_0400n,
  });
  const at = Object.fromEntries([...new Uint32Array(record.bytes.buffer)].map((word, i) => [0x400 + 4 * i, word]));
  const document = structuredClone(SUBMISSION) as { regions: Json[] };
  const fake = { 0xE00: 0x34333231, 0xE04: 0x18, 0xE10: 0x7000 };
  Object.assign(
    document.regions[0],
    image(4096, { ...Object.fromEntries(TABLE.map((word, i) => [4 * i, word])), ...at, ...fake }),
  );
  const program = load(document as unknown as Json);
  const address = 0x2_0001_0400n + BigInt(record.codeOffset);
  assertEquals(program.shaders.map(({ name, address, source }) => [name, address, source.waveSize, [...source.code]]), [
    [`pixel-${address.toString(16)}`, address, 32, [0xBF810000]],
  ]);
  assert(program.notes.some((note) => note.includes("looks like a shader record at 0x200010e00 is none")));
});

Deno.test("derived inputs may not contradict the capture", () => {
  const inputs = { "drawn-1": { "0x200010000": "00000001" } };
  assertStringIncludes(
    assertThrows(() => load(SUBMISSION, { "INPUTS.json": inputs }), MalformedFileError).message,
    "contents are given twice",
  );
  const odd = { "drawn-1": { "0x200012000": "0001" } };
  assertStringIncludes(
    assertThrows(() => load(SUBMISSION, { "INPUTS.json": odd }), MalformedFileError).message,
    "8 hexadecimal digits",
  );
});

Deno.test("1,000 damaged captures are read or refused, never anything else", () => {
  for (const [document, seed] of [[RUNNER, 1], [SUBMISSION, 2]] as const) {
    for (const damaged of mutations(new TextEncoder().encode(JSON.stringify(document)), 500, seed)) {
      try {
        loadGolden(parseJson("golden.json", damaged));
      } catch (error) {
        assertInstanceOf(error, AnyAgcError);
      }
    }
  }
});

corpusTest("every capture of the corpus loads, run files excepted, and says what it lacks", "golden", () => {
  const names = corpusNames("golden", /__.*\.json$/);
  assertEquals(names.length, 26);
  const programs = names.filter((name) => !name.includes("__run-1"));
  assertEquals(programs.length, 16);
  for (const name of programs) {
    const loaded = loadFile(corpusFile("golden", name));
    assert(loaded.kind === "program");
    const { program } = loaded;
    assertEquals(program.submissions.length, 1);
    assertEquals(program.expectations.length, 1);
    const incomplete = program.notes.some((note) => note.includes("cannot run to its end"));
    assertEquals([name, incomplete], [name, name.startsWith("c7-blit-formats")]);
    assertEquals([name, program.shaders.length > 0], [name, !name.startsWith("c7-blit-formats")]);
  }
  for (const name of names.filter((each) => each.includes("__run-1"))) {
    assertThrows(() => loadFile(corpusFile("golden", name)), MalformedFileError, "load one of its submissions");
  }
});

corpusTest(
  "c0-dispatch-1 has the buffer, its descriptor and the marker page that the known results name",
  "golden",
  () => {
    const loaded = loadFile(corpusFile("golden", "c0__c0-dispatch-1.json"));
    assert(loaded.kind === "program");
    const { program } = loaded;
    const mapped = (address: bigint, bytes: number) =>
      program.memory.some((window) =>
        window.base <= address && address + BigInt(bytes) <= window.base + BigInt(window.bytes)
      );
    assert(mapped(0x2_0002_A000n, 0x1000));
    assert(mapped(0x2_0002_BFFCn, 4));
    assertEquals(words(program, 0x2_0002_9000n, 2), [0x0002_A000, 2]);
    assertEquals(words(program, 0x2_0002_A000n, 0x400), new Array(0x400).fill(0));
    assertEquals([...program.expectations[0].data], [0x01, 0x00, 0x39, 0x42]);
    assertEquals([program.submissions[0].words.length, program.submissions[0].address], [58, 0x2_0002_4000n]);
  },
);

corpusTest("the frames of the captures are the targets that the known results name", "golden", () => {
  // From EXPECTED.md: address and byte order of colour target 0.
  const known: [string, bigint, string][] = [
    ["c0__m2-solid-1", 0x2_0020_0000n, "bgra8"],
    ["b5c__b5-order-1", 0x2_0020_0000n, "rgba8"],
    ["c1-clear__c1-clear-1", 0x2_0020_0000n, "bgra8"],
    ["c1-triangle__c1-triangle-1", 0x2_0040_0000n, "bgra8"],
    ["c2-indexed__c2-indexed-1", 0x2_0040_0000n, "rgba8"],
    ["c4-rtt__c4-rtt-1", 0x2_0240_0000n, "rgba8"],
    ["c5-depth__c5-depth-1", 0x2_0040_0000n, "rgba8"],
  ];
  for (const [name, address, format] of known) {
    const loaded = loadFile(corpusFile("golden", `${name}.json`));
    assert(loaded.kind === "program");
    const { frame, memory } = loaded.program;
    assertEquals([name, frame!.address, frame!.width, frame!.height, frame!.format], [
      name,
      address,
      3840,
      2160,
      format,
    ]);
    assert(
      memory.some((window) => window.base <= address && address + (32n << 20n) <= window.base + BigInt(window.bytes)),
    );
  }
});

corpusTest("c7-blit-formats takes its code from another capture when told to", "golden", () => {
  const loaded = loadFile(corpusFile("golden", "c7-blit-formats__c7-blit-formats-1.json"), {
    golden: { run: corpusFile("golden", "c4-texture__run-1.json") },
  });
  assert(loaded.kind === "program");
  assertEquals(loaded.program.shaders.map((each) => each.address), [0x2_0003_D000n, 0x2_0003_F000n]);
  assert(loaded.program.notes.some((note) => note.includes("is of another capture")));
});
