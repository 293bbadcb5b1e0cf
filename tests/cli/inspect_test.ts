import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { writeAgcap } from "../../src/guest/agcap/write_agcap.ts";
import type { LoadedProgram } from "../../src/guest/program.ts";
import { everything } from "../guest/agcap/support.ts";
import { mutations } from "../guest/support/mutations.ts";
import { buildRecord } from "../guest/support/records.ts";
import { corpusFile, corpusNames, corpusTest } from "../support/corpus.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, IMAGE_LOAD, STEP, UNSUPPORTED } from "../support/machine_code.ts";
import { dispatchDirect, dispatchIndirect, releaseMem32, waitMemoryEquals, writeData } from "../support/packets.ts";
import { anyagc, projectFile } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");
// deno-lint-ignore no-explicit-any -- what the command prints
type Input = any;

/** The one input of `inspect --json`, and the exit code. */
async function inspected(file: string): Promise<{ code: number; input: Input }> {
  const { code, text } = await anyagc("inspect", file, "--json"), data = JSON.parse(text);
  assertEquals([data.schema, data.inputs.length, data.inputs[0].file], ["anyagc.inspect/1", 1, file]);
  return { code, input: data.inputs[0] };
}

/** {@linkcode inspected} of a program's capture. */
async function inspectedProgram(program: LoadedProgram): Promise<{ code: number; input: Input }> {
  const file = Deno.makeTempFileSync({ suffix: ".agcap" });
  try {
    Deno.writeFileSync(file, writeAgcap(program));
    return await inspected(file);
  } finally {
    Deno.removeSync(file);
  }
}

/** SET_SH_REG of user data. */
const userData = (...values: number[]) =>
  [0xc0007600 | values.length << 16, 0x240, ...values].map((word) => word >>> 0);

Deno.test("a program is told by its windows, streams, packets, dispatches, programs and labels", async () => {
  const { code, lines } = await anyagc("inspect", PROGRAM);
  assertEquals(code, 0);
  for (
    const line of [
      `${PROGRAM}: program description, ${Deno.statSync(PROGRAM).size} bytes`,
      "  program julia, gfx1013",
      "    0x200000000  4 KiB    r-x  512 bytes of contents  code",
      "    1  queue 0x20  42 words  8 packets  draw",
      "    1  DISPATCH_DIRECT",
      "    6  SET_SH_REG",
      "    queue 0x20: 0x200010000 = 0x4a554c49",
      "  picture: 640 x 360, rgba8, linear, at 0x200100000",
    ]
  ) assert(lines.includes(line), line);
  assert(lines.some((line) => line.startsWith("    queue 0x20: 0x200000000, 80 x 45 x 1 groups of 8 x 8 x 1, wave32")));
  assert(!lines.some((line) => line.includes("v_mul_f32")), "code is what disasm shows");
});

Deno.test("dispatches have their groups, threads and user SGPRs; indirect ones the size that memory has at first", async () => {
  const guest = new GuestProgram("two"), step = guest.code(STEP), copy = guest.code(COPY);
  const data = guest.buffer(new Uint32Array(64)), size = guest.buffer(Uint32Array.of(2, 3, 4));
  const registers = (code: bigint, ...values: number[]) =>
    computeState({ code, userData: values, threads: [32, 2, 1], groupIds: [true, true, false], ldsBytes: 1024 });
  guest.submit(
    0x21,
    registers(step, ...words64(data.address), 7),
    dispatchDirect([5, 1, 1], { waveSize: 32 }),
    userData(...words64(data.address), 8),
    dispatchDirect([100, 3, 1], { waveSize: 32, threads: true }),
  );
  guest.submit(
    0,
    registers(copy, ...words64(data.address), ...words64(data.address), 9),
    dispatchIndirect(size.address, { waveSize: 64 }),
  );
  const { code, input } = await inspectedProgram(guest.program), low = Number(data.address & 0xffff_ffffn);
  const high = Number(data.address >> 32n), hex = (address: bigint) => `0x${address.toString(16)}`;
  assertEquals(code, 0, JSON.stringify(input.problems));
  const threads = [32, 2, 1];
  assertEquals(input.dispatches, [
    { queue: 33, program: hex(step), groups: [5, 1, 1], threads, waveSize: 32, userSgprs: [low, high, 7] },
    {
      ...{ queue: 33, program: hex(step), groups: [100, 3, 1], partialThreads: true },
      ...{ threads, waveSize: 32, userSgprs: [low, high, 8] },
    },
    {
      ...{ queue: 0, program: hex(copy), groups: [2, 3, 4], indirect: hex(size.address) },
      ...{ threads, waveSize: 64, userSgprs: [low, high, low, high, 9] },
    },
  ]);
  assertEquals(input.dispatchCount, 3);
  // A program whose groups are cut is recompiled apart.
  const programs = input.programs.map((each: Input) => [each.address, each.waveSize, each.dispatches, each.codeWords]);
  assertEquals(programs, [
    [hex(step), 32, 1, STEP.length],
    [hex(step), 32, 1, STEP.length],
    [hex(copy), 64, 1, COPY.length],
  ]);
  const [{ vgprs, ldsBytes, userSgprCount, instructionCount, scratchBytes }] = input.programs;
  assertEquals([vgprs, ldsBytes, userSgprCount, instructionCount, scratchBytes], [32, 1024, 3, 7, 0]);
  assertEquals(input.programs[2].vgprs, 16);
  assertEquals(input.packets.DISPATCH_DIRECT, 2);
});

Deno.test("streams are followed through waits that only a shader ends, and what they were taken for is told", async () => {
  const guest = new GuestProgram("waits"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
  const own = data.address + 64n, other = data.address + 128n;
  guest.submit(0, waitMemoryEquals(own, 5), writeData(other, 9), releaseMem32(data.address, 0x77));
  guest.submit(
    0x20,
    computeState({ code, userData: [...words64(data.address), 1] }),
    waitMemoryEquals(other, 9),
    dispatchDirect([1, 1, 1]),
  );
  const { code: exit, input } = await inspectedProgram(guest.program);
  assertEquals([exit, input.dispatchCount, input.problemCount], [0, 1, 0]);
  assertEquals(input.waits, [{
    ...{ queue: 0, address: `0x${own.toString(16)}`, compare: "==", reference: "0x5" },
    ...{ mask: "0xffffffff", value: "0x5" },
  }]);
  assertEquals(input.labels.map(({ queue, value }: Input) => [queue, value]), [[0, "0x77"]]);
});

Deno.test("what a run would refuse is a problem with its place, and makes the exit code 1: packets, programs, lacks", async () => {
  // A packet: the whole submission and those behind it on the queue are left out, other queues are not.
  const guest = new GuestProgram("refused"), code = guest.code(STEP), bad = guest.code(UNSUPPORTED);
  const data = guest.buffer(new Uint32Array(64)),
    state = computeState({ code, userData: [...words64(data.address), 1] });
  guest.submit(0, state, [0xc0012d00, 3, 2], dispatchDirect([1, 1, 1]));
  guest.submit(0, state, dispatchDirect([2, 1, 1]));
  guest.submit(0x20, computeState({ code: bad, userData: [] }), dispatchDirect([3, 1, 1]));
  const { code: exit, input } = await inspectedProgram(guest.program);
  assertEquals(exit, 1);
  assertEquals(input.submissions.map(({ refused }: Input) => refused ?? false), [true, false, false]);
  assertEquals(input.dispatches.map(({ groups }: Input) => groups), [[3, 1, 1]]);
  const [packet, program] = input.problems;
  assertEquals([input.problemCount, packet.class, packet.place.queue], [2, "RefusedError", 0]);
  assertEquals(packet.place.words, [0xc0012d00, 3, 2]);
  assertStringIncludes(packet.message, "DRAW_INDEX_AUTO");
  assertEquals(typeof packet.place.fileOffset, "number");
  assertEquals([program.class, program.place.guestAddress], ["RefusedError", `0x${bad.toString(16)}`]);
  assertStringIncludes(program.message, "s_sendmsg");
  assert(input.notes.some((note: string) => note.startsWith("submission 1 is behind a refused one")));

  const lacking = await inspectedProgram({ ...guest.program, submissions: [], missing: ["descriptor set 0"] });
  assertEquals([lacking.code, lacking.input.problems[0].code], [1, "guest.incomplete"]);

  const unmapped = new GuestProgram("unmapped");
  unmapped.buffer(new Uint32Array(1));
  unmapped.submit(0, computeState({ code: 0x7_0000_0000n, userData: [] }), dispatchDirect([1, 1, 1]));
  const nowhere = await inspectedProgram(unmapped.program);
  assertEquals([nowhere.code, nowhere.input.problems[0].place.guestAddress], [1, "0x700000000"]);
});

Deno.test("a file offset is told only where the file holds the words", async () => {
  const text = JSON.stringify({
    schema: "anyagc.program/1",
    memory: [],
    submissions: [{ queue: 0, words: ["0x80000000", "0xc0012d00", 3, 2], label: "draws" }],
  });
  await withFiles({ "draw.json": text }, async (folder) => {
    const { code, input } = await inspected(`${folder}/draw.json`), [{ message, place }] = input.problems;
    assertEquals([code, place.file, place.fileOffset], [1, `${folder}/draw.json`, undefined]);
    assertMatch(message, /^draws: DRAW_INDEX_AUTO at word 0x1: /);
  });
});

Deno.test("programs with images are recompiled with the descriptors that memory holds", async () => {
  const guest = new GuestProgram("image"), code = guest.code(IMAGE_LOAD);
  const texels = guest.buffer(new Uint32Array(1024));
  const t = guest.buffer(new Uint32Array(8)), out = guest.buffer(new Uint32Array(64));
  guest.submit(
    0,
    computeState({
      code,
      userData: [...words64(t.address), ...words64(out.address), 8],
      threads: [8, 8, 1],
      threadIds: 2,
    }),
    dispatchDirect([1, 1, 1]),
  );
  assert(texels.bytes > 0);
  const { input } = await inspectedProgram(guest.program);
  // A descriptor of zeros is refused as what it is, not as one that is unknown.
  assertEquals(input.problems.map(({ code }: Input) => code.startsWith("recompiler.image-descriptor")), [false]);
});

Deno.test("everything that a capture can hold is told: windows, expectations, picture, shaders, recorded results, notes", async () => {
  const program = everything(), { code, input } = await inspectedProgram(program);
  assertEquals([code, input.format, input.kind, input.name], [0, "capture", "program", "everything"]);
  assertEquals(
    input.memory.map(({ permissions, pieces, contentBytes }: Input) => [permissions, pieces, contentBytes]),
    program.memory.map(({ permissions, contents }, i) =>
      [
        ["r-x", "rw-", "rwx"][i],
        contents.length,
        contents.reduce((sum, { data }) => sum + data.length, 0),
        permissions,
      ].slice(0, 3)
    ),
  );
  assertEquals(input.packets, { NOP: 3 });
  assertEquals(input.submissions.map(({ label, packets }: Input) => [label ?? "", packets]), [["first", 1], ["", 2], [
    "",
    0,
  ]]);
  assertEquals(input.expectations.map(({ bytes }: Input) => bytes), [9, 1200]);
  assertEquals(input.untouched[0].reason, "a border");
  assertEquals([input.frame.width, input.frame.format], [5, "bgra8"]);
  assertEquals(input.shaders.map(({ name, producer, stage }: Input) => [name, producer, stage]), [
    ["in memory", "agc", "compute"],
    ["beside", "agc", "compute"],
    ["compiled", "aco", "compute"],
  ]);
  const [, , compiled] = input.shaders;
  assertEquals([compiled.waveSize, compiled.workgroupSize, compiled.userSgprCount, compiled.ldsBytes], [
    64,
    [8, 8, 1],
    3,
    512,
  ]);
  const { recorded } = input;
  assertEquals([recorded.outcome, recorded.labels, recorded.ranges, recorded.bytes], ["differs", 2, 2, 18]);
  assertEquals(input.programNotes, ["a note", "another"]);
});

Deno.test("a shader record is told by stage, registers and user SGPRs, whatever its file is called", () =>
  withFiles({
    "x.txt": buildRecord({
      type: 0,
      sh: [[0x20C, 0], [0x20D, 0], [0x212, 0x602C_0001], [0x213, 0x88 | 2 << 15], [0x240, 0x4453_0003]],
      code: [0xBF800000, 0xBF810000],
      shaderBytes: 8,
    }, { form: "file-offset" }).bytes,
  }, async (folder) => {
    const { code, input } = await inspected(`${folder}/x.txt`), [shader] = input.shaders;
    assertEquals([code, input.format, input.kind], [0, "AGC shader record", "shader"]);
    assertEquals([shader.stage, shader.userSgprCount, shader.ldsBytes, shader.execBytes], ["compute", 4, 1024, 8]);
    assertEquals(shader.userSgprs, [{ name: "descriptor_set_ptr", sgpr: 0, count: 1, set: 3 }]);
    assertEquals(shader.systemSgprs, [{ name: "workgroup_id_x", sgpr: 4 }]);
    // The record leaves it to the dispatch: nobody can say how many VGPRs the granules are.
    assertEquals([shader.waveSize, shader.vgprs], [undefined, undefined]);
    assertMatch(input.notes[0], /^not recompiled: .* wave size/);
  }));

Deno.test("files that are not what they should be are clear errors, and the others are looked into", () =>
  withFiles({ "cut.agcap": writeAgcap(everything()).subarray(0, 600), "empty": "" }, async (folder) => {
    const names = [
      `${folder}/cut.agcap`,
      `${folder}/empty`,
      `${folder}/missing`,
      folder,
      projectFile("LICENSE"),
      PROGRAM,
    ];
    const { code, text, errors } = await anyagc("inspect", ...names);
    assertEquals(code, 2);
    const lines = errors.split("\n");
    assertEquals(lines.length, names.length - 1);
    names.slice(0, -1).forEach((name, i) => assertStringIncludes(lines[i], `file ${name}`));
    for (
      const [i, cause] of ["cut short", "empty", "no such file", "not a regular file", "no known format"].entries()
    ) {
      assertStringIncludes(lines[i], cause);
    }
    assertStringIncludes(text, `${PROGRAM}: program description`);
    const { inputs } = JSON.parse((await anyagc("inspect", ...names, "--json")).text);
    assertEquals(inputs.map(({ error }: Input) => error?.exitCode ?? 0), [2, 2, 2, 2, 2, 0]);
  }));

Deno.test("200 damaged captures and records give facts or errors that name the file, never a defect", async () => {
  const record = buildRecord({ type: 0, sh: [[0x20C, 0], [0x20D, 0], [0x212, 0], [0x213, 0]], code: [0xBF810000] }, {
    form: "file-offset",
  }).bytes;
  const guest = new GuestProgram("two"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
  guest.submit(0, computeState({ code, userData: [...words64(data.address), 7] }), dispatchDirect([5, 1, 1]));
  const text = new TextEncoder().encode(jsonProgram(guest.program));
  const files: Record<string, Uint8Array> = {};
  for (const [i, bytes] of [...mutations(text, 100, 5)].entries()) files[`program${i}`] = bytes;
  for (const [i, bytes] of [...mutations(record, 50, 6)].entries()) files[`record${i}`] = bytes;
  for (const [i, bytes] of [...mutations(writeAgcap(guest.program), 50, 7)].entries()) files[`capture${i}`] = bytes;
  await withFiles(files, async (folder) => {
    const names = Object.keys(files).map((name) => `${folder}/${name}`);
    const { inputs } = JSON.parse((await anyagc("inspect", ...names, "--json")).text);
    assertEquals(inputs.length, 200);
    for (const { file, error, problems } of inputs) {
      assert(error === undefined || (error.code !== "internal" && error.place.file === file), JSON.stringify(error));
      for (const { code } of problems ?? []) assert(code !== "internal");
    }
    const refused = inputs.filter(({ error }: Input) => error !== undefined).length;
    assert(refused > 20 && refused < 190, `${refused} refused`);
  });
});

corpusTest("every file of the corpus that a loader knows is told as what it is", "golden", async () => {
  const formats: [string, RegExp, string][] = [
    ["golden", /dispatch-1\.json$/, "golden capture"],
    ["openagc", /\.oagc$/, "OpenAGC capture"],
    ["openagc", /\.sb$/, "AGC shader record"],
    ["aco", /\.comp\.json$/, "compiler output"],
    ["llvm", /^k\..*\.json$/, "compiler output"],
  ];
  for (const [folder, pattern, format] of formats) {
    const names = corpusNames(folder, pattern);
    assert(names.length > 0, folder);
    const { inputs } = JSON.parse((await anyagc("inspect", ...names.map((n) => corpusFile(folder, n)), "--json")).text);
    for (const input of inputs) assertEquals(input.format, format, `${input.file}: ${input.error?.message}`);
  }
  const { input } = await inspected(corpusFile("golden", "c0__c0-dispatch-1.json"));
  assertEquals(
    input.dispatches.map(({ program, groups, threads, waveSize }: Input) => [program, groups, threads, waveSize]),
    [
      ["0x200028000", [1, 1, 1], [1, 1, 1], 32],
    ],
  );
});

/** Runs `body` with a folder that holds these files. */
async function withFiles(files: Record<string, string | Uint8Array>, body: (folder: string) => Promise<void>) {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-test-" });
  try {
    for (const [name, content] of Object.entries(files)) {
      Deno.writeFileSync(
        `${folder}/${name}`,
        typeof content === "string" ? new TextEncoder().encode(content) : content,
      );
    }
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** A program as a description without files. */
function jsonProgram({ memory, submissions }: LoadedProgram): string {
  const hex = (address: bigint) => `0x${address.toString(16)}`;
  return JSON.stringify({
    schema: "anyagc.program/1",
    memory: memory.map(({ base, bytes, contents: [{ data }] }) => ({
      base: hex(base),
      bytes,
      contents: [{ offset: 0, words: Array.from(new Uint32Array(data.slice().buffer)) }],
    })),
    submissions: submissions.map(({ queue, words }) => ({ queue, words: Array.from(words) })),
  });
}
