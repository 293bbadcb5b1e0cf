import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import { corpusFile, corpusTest } from "../support/corpus.ts";
import { programJson } from "../fuzz/save.ts";
import { computeState, GuestProgram } from "../support/guest_program.ts";
import { UNSUPPORTED } from "../support/machine_code.ts";
import { dispatchDirect } from "../support/packets.ts";
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");
const GENERIC = ["--device", "generic"];

Deno.test("recompile prints the module as assembly, with a summary", async () => {
  const { code, lines, text } = await anyagc("recompile", PROGRAM, ...GENERIC);
  assertEquals(code, 0);
  assertMatch(lines[0], /^; 0x200000000: \d+ instructions became \d+ words for generic, wave32, 8 x 8 x 1 threads/);
  assertStringIncludes(text, "OpEntryPoint GLCompute");
  assertStringIncludes(text, "OpFunctionEnd");
});

Deno.test("recompile -o writes the module's binary, which is valid and the same as the one that it prints", async () => {
  const file = await Deno.makeTempFile({ suffix: ".spv" });
  try {
    const { code, lines } = await anyagc("recompile", PROGRAM, ...GENERIC, "-o", file);
    assertEquals([code, lines.length], [0, 1]);
    const words = new Uint32Array((await Deno.readFile(file)).buffer);
    assertEquals(words[0], 0x07230203);
    openSpirvTools().requireValid(words, "the module");
    const printed = JSON.parse((await anyagc("recompile", PROGRAM, ...GENERIC, "--json")).text);
    assertEquals(printed.words, words.length);
    assertEquals(printed.assembly, openSpirvTools().disassemble(words));
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("every pass that --dump list names can be dumped, or is said not to be done", async () => {
  const { lines: passes } = await anyagc("recompile", PROGRAM, "--dump", "list");
  assertEquals(passes.length > 3, true);
  assertEquals(passes.at(-1), "packed");
  const { code, errors } = await anyagc("recompile", PROGRAM, ...GENERIC, "--dump=packed");
  assertEquals(code, 2);
  assertMatch(errors, /the pass packed is not done for this program: its lane mode is laneless/);
  for (const pass of passes.slice(0, -1)) {
    const { code, text } = await anyagc("recompile", PROGRAM, ...GENERIC, `--dump=${pass}`);
    assertEquals(code, 0, pass);
    assertEquals(text.length > 100, true, pass);
    assertEquals(text.includes("OpEntryPoint"), false, pass);
  }
});

Deno.test("recompile says what is wrong with its options and input", async () => {
  for (
    const [args, message] of [
      [[PROGRAM, "--dump", "simplfy"], /there is no pass simplfy \(did you mean simplify\?\); there is cfg/],
      [
        [PROGRAM, "--shader", "0x200000001"],
        /there is no program 0x200000001 \(did you mean 0x200000000\?\); there is 0x200000000/,
      ],
      [[PROGRAM, "--wave", "8"], /--wave is 32 or 64/],
      [[projectFile("LICENSE")], /no known format/],
    ] as const
  ) {
    const { code, errors } = await anyagc("recompile", ...args);
    assertEquals(code, 2, errors);
    assertMatch(errors, message);
  }
});

corpusTest("recompile of a compiler's record gives a valid module", "aco", async () => {
  const file = await Deno.makeTempFile({ suffix: ".spv" });
  try {
    const { code, errors } = await anyagc(
      "recompile",
      corpusFile("aco", "buf.w32.comp.rdna.bin"),
      ...GENERIC,
      "-o",
      file,
    );
    assertEquals([code, errors], [0, ""]);
    openSpirvTools().requireValid(new Uint32Array((await Deno.readFile(file)).buffer), "the module");
  } finally {
    await Deno.remove(file);
  }
});

corpusTest(
  "recompile takes pixel and vertex shaders and names the stage; other stages are refused by name",
  "openagc",
  async () => {
    const shader = (name: string) => corpusFile("openagc", `${name}.sb`);
    for (
      const [name, stage] of [
        ["runtime_triangle_frag", "pixel"],
        ["sint16_frag", "pixel"],
        ["runtime_triangle_vert_front", "vertex"],
        ["triangle_vert", "vertex"],
      ]
    ) {
      const { code, text, errors } = await anyagc("recompile", shader(name), ...GENERIC, "--wave", "64");
      assertEquals([code, errors], [0, ""], name);
      assertMatch(text, new RegExp(`^; ${name}: .* ${stage} stage, laneless`));
      const json = JSON.parse((await anyagc("recompile", shader(name), ...GENERIC, "--wave", "64", "--json")).text);
      assertEquals([json.schema, json.stage], ["anyagc.recompile/1", stage]);
    }
    for (
      const [name, why] of [
        ["triangle_ngg_front", /a geometry shader is part of the program/],
        ["triangle_tess_es_front", /a tessellation stage is part of the program/],
        ["triangle_frag", /SPI_PS_INPUT_ENA is not set/],
      ] as const
    ) {
      const { code, errors } = await anyagc("recompile", shader(name), ...GENERIC);
      assertEquals(code, 1, name);
      assertMatch(errors, why);
      assertStringIncludes(errors, `${name}.sb`);
    }
  },
);

/** A file with a program that has three instructions that are refused. */
async function unsupportedProgram(): Promise<string> {
  const guest = new GuestProgram("unsupported"), code = guest.code(UNSUPPORTED);
  guest.submit(0, computeState({ code, userData: [] }), dispatchDirect([1, 1, 1]));
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, programJson(guest.program, [], []));
  return file;
}

/** What both commands say of it: every instruction with its name, pc, guest address and words. */
function assertAllRefused(errors: string): void {
  assertStringIncludes(errors, "3 instructions that are refused");
  for (
    const line of [
      "s_sendmsg at pc 0x0 (guest address 0x200000000, words 0xbf900001)",
      "exp at pc 0x8 (guest address 0x200000008, words 0xf800080f 0x00000000)",
      "ds_gws_init at pc 0x10 (guest address 0x200000010, words 0xd8660000 0x00000000)",
    ]
  ) assertStringIncludes(errors, line);
}

Deno.test("recompile lists all that is refused of a program", async () => {
  const file = await unsupportedProgram();
  try {
    const { code, errors } = await anyagc("recompile", file, ...GENERIC);
    assertEquals(code, 1);
    assertAllRefused(errors);
  } finally {
    await Deno.remove(file);
  }
});

vulkanTest("run lists all that is refused of a program", async () => {
  const file = await unsupportedProgram();
  try {
    const { code, errors } = await anyagc("run", file);
    assertEquals(code, 1);
    assertAllRefused(errors);
  } finally {
    await Deno.remove(file);
  }
});

corpusTest("what is refused of a shader's file has its place in it", "aco", async () => {
  // The shader's first instruction becomes s_trap 2.
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["buf.w32.comp.rdna.bin", "buf.w32.comp.json"]) {
      await Deno.copyFile(corpusFile("aco", name), `${folder}/${name}`);
    }
    const code = await Deno.readFile(`${folder}/buf.w32.comp.rdna.bin`);
    code.set([2, 0, 0x92, 0xbf]);
    await Deno.writeFile(`${folder}/buf.w32.comp.rdna.bin`, code);
    const { code: exit, errors } = await anyagc("recompile", `${folder}/buf.w32.comp.json`, ...GENERIC);
    assertEquals(exit, 1);
    assertMatch(
      errors,
      /s_trap is not recompiled: there is no trap handler .*buf\.w32\.comp.*file offset 0x0.*pc 0x0/s,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

corpusTest("recompile --back joins the halves of a merged program", "openagc", async () => {
  const [front, back, other] = ["triangle_ngg_front", "triangle_ngg_back", "triangle_tess_hs_back"].map((name) =>
    corpusFile("openagc", `${name}.sb`)
  );
  const { code, text, errors } = await anyagc("recompile", front, "--back", back, ...GENERIC, "--json");
  assertEquals(code, 0, errors);
  const { shader, stage, workgroupSize, instructionCount } = JSON.parse(text);
  assertEquals([shader, stage, workgroupSize], ["triangle_ngg_front + triangle_ngg_back", "compute", [256, 1, 1]]);
  assert(instructionCount > 150, `${instructionCount} instructions of both halves`);
  const wrong = await anyagc("recompile", front, "--back", other, ...GENERIC);
  assertEquals(wrong.code, 1);
  assertMatch(wrong.errors, /triangle_ngg_front and triangle_tess_hs_back are no halves of one program/);
  const none = await anyagc("recompile", front, "--back", PROGRAM);
  assertEquals(none.code, 2);
  assertMatch(none.errors, /--back joins two shaders; .*program\.json is none/);
});
