import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { SoftwareDevice } from "../../../../src/driver/software/software_device.ts";
import { AnyAgcError, RefusedError } from "../../../../src/errors.ts";
import { loadRunnable } from "../../../../src/guest/load_program.ts";
import { fnv1a64 } from "../../../../src/guest/loaders/golden_image.ts";
import { loadFile } from "../../../../src/guest/loaders/load_file.ts";
import type { LoadedProgram } from "../../../../src/guest/program.ts";
import { corpusFile, corpusTest } from "../../../support/corpus.ts";
import { withFiles } from "../../support/files.ts";
import { mutations } from "../../support/mutations.ts";
import { buildRecord } from "../../support/records.ts";
import { buildCapture, type RawFile, type RawRecord, record } from "./capture.ts";

/** One of each record. */
const ALL: RawRecord[] = [
  record.runtime(),
  record.create(1, 9),
  record.name(1, 9, "a command buffer"),
  record.buffer(2),
  record.image(3),
  record.view(4, 3),
  record.sampler(5),
  record.shader(6, 100, 0x1122n),
  record.compute(7, 6, [64, 1, 1]),
  record.graphics(8),
  record.begin(1, 1),
  record.transition(1, 2),
  record.words(6, 1, 1, [0xC0001000, 0]),
  record.words(12, 1, 1, [0xC0001000, 1]),
  record.submission(9, 1, [1], { fence: 10, waits: [[11, 1]], signals: [[12, 2]] }),
  record.fence(10, 9),
  record.message(),
  record.readback(2, 0xABCn),
  record.unknown(),
  record.destroy(1, 9),
];

function load(records: readonly RawRecord[], file?: RawFile): LoadedProgram {
  return withFiles({ "x.oagc": buildCapture(records, file).bytes }, (folder) => {
    const loaded = loadFile(`${folder}/x.oagc`);
    if (loaded.kind !== "program") throw new Error("no program");
    return loaded.program;
  });
}

Deno.test("every record of a capture is listed with its offset, number and contents", () => {
  const { listing, submissions, missing } = load(ALL);
  assertEquals(listing?.length, ALL.length + 2);
  const expected = [
    "OpenAGC capture 1, runtime 47, shader bytes left out",
    "profile a profile, firmware 0x00001234, family 2, AGC 12, capabilities 0xff",
    'create       command buffer 1 "a command buffer", details 1, 2',
    'name         command buffer 1 "a command buffer"',
    "resource     buffer 2: 4096 bytes, usage 0x30, flags 0x2",
    "resource     image 3: 64 x 32 x 1, 2 levels, 3 layers, format 56, 1 samples, usage 0x7",
    "resource     image view 4: image 3, format 56, levels 0 + 1, layers 0 + 1",
    "resource     sampler 5: filters 1, 1, addressing 2, 2, 2, flags 0x0",
    "shader       shader 6, stage 0, record version 24, 100 bytes, FNV-1a 0x0000000000001122",
    "pipeline     compute pipeline 7: shader 6, 64 x 1 x 1 threads, 1 descriptors, 1 push-constant ranges",
    "pipeline     graphics pipeline 8: hull 0, primitive 9, pixel 10, 1 vertex inputs, 0 descriptors, 1 colour targets",
    'begin        command buffer 1 "a command buffer", compute, room for 64 words',
    'transition   buffer 2 in command buffer 1 "a command buffer": state 0 of owner 0 to state 4 of owner 2',
    'recorded     command buffer 1 "a command buffer", compute, 2 words',
    'stream       command buffer 1 "a command buffer", compute, 2 words',
    'submission   9, compute: command buffer 1 "a command buffer"; fence 10; waits for label 11 = 1; signals label 12 = 2; done',
    "fence        fence 10 of submission 9: done, up to 1000 ns",
    "message      aFunction: went wrong (an object, result 0x80890003)",
    "readback     buffer 2, 256 bytes at 0x80: FNV-1a 0x0000000000000abc",
    "type 77      not known, 4 bytes",
    'destroy      command buffer 1 "a command buffer"',
    "end          done, 21 records,",
  ];
  listing!.forEach((line, i) => assertStringIncludes(line, expected[i]));
  assertStringIncludes(listing![1], "0x000020   1  runtime");
  // What was submitted is the final stream, not what the application recorded.
  assertEquals([submissions[0].queue, [...submissions[0].words]], [0, [0xC0001000, 1]]);
  assertEquals(missing, undefined);
});

Deno.test("command buffers of accepted submissions are submitted in order, each as it was then", () => {
  const nop = (value: number) => [0xC0001000, value];
  const { submissions, notes } = load([
    record.words(12, 1, 0, nop(1)),
    record.words(12, 2, 0, nop(2)),
    record.submission(1, 0, [2, 1]),
    record.words(12, 1, 0, nop(3)),
    record.submission(2, 0, [1], { result: 0x8089_0001 }),
    record.submission(3, 1, [1]),
  ]);
  assertEquals(submissions.map(({ queue, words, label }) => [queue, words[1], label]), [
    [0, 2, "submission 1, command buffer 2"],
    [0, 1, "submission 1, command buffer 1"],
    [0, 3, "submission 3, command buffer 1"],
  ]);
  assertEquals(notes, ["submission 2 was not accepted when it was captured (0x80890001): left out"]);
});

/** s[2:3] is an address: lane 0 to 63 write s4 there, a word each. */
const CODE = [
  0x34000082, // v_lshlrev_b32 v0, 2, v0
  0x7E020204, // v_mov_b32 v1, s4
  0xDC708000,
  0x00020100, // global_store_dword v0, v1, s[2:3]
  0xBF810000, // s_endpgm
];
const LABEL = 0x2_0000_0000, RSRC1 = 0x602C_0000, RSRC2 = 5 << 1, PROGRAM = 0x7F3D_7086_4200;

function shaderFile(placeholder?: [number, number]): Uint8Array<ArrayBuffer> {
  const sh: [number, number][] = [[0x20C, 0], [0x20D, 0], [0x212, RSRC1], [0x213, RSRC2]];
  return buildRecord({ type: 0, sh: placeholder === undefined ? sh : [...sh, placeholder], code: CODE }, {
    form: "file-offset",
  }).bytes;
}

const set = (register: number, ...values: number[]) => [0xC000_7600 | values.length << 16, register, ...values];
const STREAM = [
  ...set(0x204, 0, 0, 0, 64, 1, 1),
  ...set(0x20C, PROGRAM / 256 % 2 ** 32 >>> 0, Math.floor(PROGRAM / 2 ** 40)),
  ...set(0x212, RSRC1, RSRC2),
  ...set(0x240, 0, 0, LABEL % 2 ** 32, Math.floor(LABEL / 2 ** 32), 0xC0FFEE),
  0xC0031502,
  1,
  1,
  1,
  0x8041, // DISPATCH_DIRECT, wave32
  0xC0064900,
  0x0030C528,
  0x20000000,
  (LABEL + 256) % 2 ** 32,
  Math.floor(LABEL / 2 ** 32),
  0x600D,
  0,
  0, // RELEASE_MEM
];

function dispatching(shader: Uint8Array, how: "inside" | "beside" | "not at all", hash = fnv1a64(shader)): RawRecord[] {
  return [
    record.shader(3, shader.length, hash),
    ...(how === "inside" ? [record.bytes(3, shader)] : []),
    record.compute(4, 3, [64, 1, 1]),
    record.words(12, 5, 1, STREAM),
    record.submission(1, 1, [5]),
  ];
}

for (const how of ["inside", "beside"] as const) {
  Deno.test(`a capture whose shader is ${how} and whose memory is only written runs, with the shader's results`, () => {
    const shader = shaderFile(),
      file = buildCapture(dispatching(shader, how), { flags: how === "inside" ? 1 : 0 }).bytes;
    withFiles(
      { "x.oagc": file, ...(how === "beside" ? { "any.sb": shader, "other.sb": new Uint8Array(9) } : {}) },
      (folder) => {
        const program = loadRunnable(`${folder}/x.oagc`);
        assertEquals(program.shaders.map(({ address }) => address), [BigInt(PROGRAM)]);
        assertEquals(
          program.notes.some((note) => note.includes("any.sb, which has the recorded hash")),
          how === "beside",
        );
        using device = new SoftwareDevice();
        const run = device.run(program);
        assertEquals([run.result.error?.message, run.result.outcome, run.result.dispatches], [undefined, "passed", 1]);
        for (let i = 0; i < 64; i++) assertEquals(run.memory.readU32(BigInt(LABEL + 4 * i)), 0xC0FFEE);
        assertEquals(run.memory.readU32(BigInt(LABEL + 256)), 0x600D);
        run.close();
      },
    );
  });
}

Deno.test("a capture that lacks what a run needs is refused by the names of what is missing", () => {
  const shader = shaderFile(), [, , , stream, submission] = dispatching(shader, "inside");
  const hash = fnv1a64(shader).toString(16).padStart(16, "0"),
    code = "the code of the compute program at 0x7f3d70864200";
  const known = (id: number, threads = 64) => [
    record.shader(id, shader.length, fnv1a64(shader)),
    record.bytes(id, shader),
    record.compute(id + 100, id, [threads, 1, 1]),
  ];
  // The word of the stream that becomes COMPUTE_USER_DATA_2.
  const withPointer = record.words(12, 5, 1, STREAM.with(20, 0x5555));
  const cases: [records: RawRecord[], missing: string][] = [
    [
      dispatching(shader, "not at all"),
      `${code} (shader 3, ${shader.length} bytes, FNV-1a 0x${hash}: its bytes were not recorded, and no file beside has that hash)`,
    ],
    [[...known(3, 32), stream, submission], `${code} (no compute pipeline of the capture fits)`],
    [
      [...known(3), ...known(6), stream, submission],
      `${code} (shader 3, ${shader.length} bytes, FNV-1a 0x${hash} or shader 6`,
    ],
    [
      [...dispatching(shaderFile([0x242, 0x4453_0001]), "inside").slice(0, 3), withPointer, submission],
      "descriptor set 1 of shader-3, lower half of its address 0x00005555",
    ],
    [
      [record.words(12, 1, 0, [0xC0036300, 0x1000, 2, 0, 3]), record.submission(1, 0, [1])],
      "register table at 0x200001000",
    ],
    [[record.runtime()], "a submission"],
  ];
  for (const [records, missing] of cases) {
    withFiles({ "x.oagc": buildCapture(records, { flags: 1 }).bytes }, (folder) => {
      const loaded = loadFile(`${folder}/x.oagc`);
      if (loaded.kind !== "program") throw new Error("no program");
      assertEquals(loaded.program.missing?.length, 1, missing);
      assertStringIncludes(loaded.program.missing![0], missing);
      const error = assertThrows(() => loadRunnable(`${folder}/x.oagc`), RefusedError);
      assertStringIncludes(error.message, missing);
      assertEquals([error.code, error.place.file], ["guest.incomplete", `${folder}/x.oagc`]);
    });
  }
});

Deno.test("a file beside that has a shader's hash and is no record is refused by its name", () => {
  const bytes = new TextEncoder().encode("not a record at all, but hashed as one");
  const file = buildCapture([record.shader(3, bytes.length, fnv1a64(bytes))]).bytes;
  withFiles({ "x.oagc": file, "odd.sb": bytes }, (folder) => {
    const error = assertThrows(() => loadFile(`${folder}/x.oagc`), AnyAgcError);
    assertEquals([error.code, error.place.file], ["file.record", `${folder}/odd.sb`]);
  });
});

Deno.test("everything that is wrong in a capture is refused with file, offset and reason", async (t) => {
  const nop = record.words(12, 1, 0, [0xC0001000, 0]), shader = shaderFile();
  const cases: [says: string, records: RawRecord[], at: (at: number[]) => number, file?: RawFile, code?: string][] = [
    ["capture version 2", [nop], () => 8, { version: 2 }, "openagc.version"],
    ["a header of 36 bytes", [nop], () => 12, { headerBytes: 36 }],
    ["byte order mark", [nop], () => 16, { endian: 0x04030201 }],
    ["flags 0x2", [nop], () => 24, { flags: 2 }],
    ["reserved word", [nop], () => 28, { reserved: 1 }],
    ["record version 2", [{ ...nop, version: 2 }], ([a]) => a + 2, {}, "openagc.record-version"],
    ["a record of 15 bytes", [{ ...nop, size: 15 }], ([a]) => a + 4],
    ["a record of 9999 bytes", [{ ...nop, size: 9999 }], ([a]) => a + 4],
    ["record 7 where 1 is expected", [{ ...nop, sequence: 7 }], ([a]) => a + 8],
    ["the end record is missing", [nop], ([a]) => a + 40, { open: true }],
    ["5 records are announced, not 2", [nop], ([, b]) => b + 24, { records: 5 }],
    ["5 bytes are announced", [nop], ([, b]) => b + 32, { bytes: 5 }],
    ["something behind the end record", [{ type: 11, fields: [new Uint8Array(24)] }], ([, b]) => b],
    ["8 bytes; 16 are expected", [{ type: 4, fields: [[8, 1]] }], ([a]) => a + 16],
    ["8 bytes; its type has at least 16", [{ type: 12, fields: [[8, 1]] }], ([a]) => a + 16],
    ["16 bytes; 24 are expected", [{ type: 12, fields: [[8, 1], [4, 0], [4, 2]] }], ([a]) => a + 16],
    ["object type 9 is no resource", [{ type: 13, fields: [[8, 1], [4, 9], [4, 1]] }], ([a]) => a + 24],
    ["object type 9 is no pipeline", [{ type: 16, fields: [[8, 1], [4, 9], [4, 1]] }], ([a]) => a + 24],
    ["16 bytes; at least 48", [{ type: 16, fields: [[8, 1], [4, 8], [4, 1]] }], ([a]) => a + 16],
    ["queue type 2", [nop, record.submission(1, 2, [1])], ([, b]) => b + 24],
    ["command buffer 2 has no stream", [nop, record.submission(1, 0, [1, 2])], ([, b]) => b + 16 + 48],
    [
      "no type 3 packet header",
      [record.words(12, 1, 0, [0xC0001000, 0, 5]), record.submission(1, 0, [1])],
      ([a]) => a + 32 + 8,
      {},
      "openagc.stream",
    ],
    ["bytes with hash", dispatching(shader, "inside", 1n), ([, b]) => b + 32, { flags: 1 }],
  ];
  for (const [says, records, at, file, code = "openagc."] of cases) {
    await t.step(says, () => {
      const built = buildCapture(records, file);
      withFiles({ "x.oagc": built.bytes }, (folder) => {
        const error = assertThrows(() => loadFile(`${folder}/x.oagc`), AnyAgcError);
        assertStringIncludes(error.summary, says);
        assertStringIncludes(error.code, code);
        assertEquals([error.place.file, error.place.fileOffset], [`${folder}/x.oagc`, at(built.at)]);
      });
    });
  }
});

Deno.test("a capture cut short at any byte, and 1,000 damaged ones, are read or refused, never anything else", () => {
  const whole = buildCapture([...ALL, ...dispatching(shaderFile(), "inside")], { flags: 1 }).bytes;
  let read = 0, refused = 0;
  withFiles({}, (folder) => {
    const attempt = (bytes: Uint8Array) => {
      Deno.writeFileSync(`${folder}/x.oagc`, bytes);
      try {
        loadFile(`${folder}/x.oagc`);
        read++;
      } catch (error) {
        if (!(error instanceof AnyAgcError)) throw error;
        assertStringIncludes(error.place.file ?? "", `${folder}/x.oagc`);
        refused++;
      }
    };
    for (let length = 1; length < whole.length; length += 7) attempt(whole.subarray(0, length));
    assertEquals(read, 0);
    for (const damaged of mutations(whole, 1000, 21)) attempt(damaged);
  });
  assertEquals(read > 100 && refused > 500, true, `${read} read, ${refused} refused`);
});

corpusTest(
  "the reference capture is listed, its shader is found by its hash, and a run is refused by name",
  "openagc",
  () => {
    const path = corpusFile("openagc", "reference.oagc"), loaded = loadFile(path);
    if (loaded.kind !== "program") throw new Error("no program");
    const { listing, submissions, shaders, missing } = loaded.program;
    assertEquals([listing?.length, submissions.length, submissions[0].queue], [28, 1, 0]);
    assertEquals([submissions[0].words.length, submissions[0].fileOffset], [0x13B, 0x918]);
    assertEquals(shaders.map(({ name, address }) => [name, address]), [["fill_color_native", 0x7F3D_7086_4200n]]);
    assertEquals(missing, ["descriptor set 0 of fill_color_native, lower half of its address 0x70864300"]);
    const error = assertThrows(() => loadRunnable(path), RefusedError);
    assertEquals([error.code, error.place.file], ["guest.incomplete", path]);
  },
);
