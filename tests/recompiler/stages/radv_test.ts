/** RADV's machine code of our own shaders (tools/corpus/graphics) on the interpreter and, recompiled, on the evaluator. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { compileGraphics } from "../../../tools/corpus/graphics/main.ts";
import { findRadv } from "../../../tools/corpus/radv/environment.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { compareGroups } from "./group_frame.ts";
import { acoCase, acoGroupCase } from "./aco_case.ts";
import { comparePixels } from "./pixel_frame.ts";
import { compareVertices } from "./vertex_frame.ts";

/** Pairs that the test compiles itself: few, since RADV takes seconds for each. */
const SOME = ["three_ways", "discard_quads"];
/** Threads of a group of RADV's NGG programs with culling (Mesa, radv_shader_info.c: 128 vertices and primitives). */
const CULLING_THREADS = 128;
/** Shaders that are refused, and why. */
const REFUSED: Readonly<Record<string, RegExp>> = {};

function installed(program: string): boolean {
  try {
    return new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** Compares stages (paths without extension). @returns how many, how many invocations, and what was refused */
function compareStages(paths: readonly string[]): { stages: number; invocations: number; refused: string[] } {
  let invocations = 0;
  const refused: string[] = [];
  for (const path of paths) {
    const loaded = loadFile(`${path}.json`);
    if (loaded.kind !== "shader") throw new Error(`${path} is no shader`);
    try {
      const c = acoCase(loaded.shader);
      invocations += c.program.state.stage === "pixel" ? comparePixels(c, [1], [32]) : compareVertices(c, [1, 2]);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      if (/PRIMGEN_PASSTHRU_EN is off/.test(error.message)) {
        // It culls: a merged group.
        const c = acoGroupCase(loaded.shader, CULLING_THREADS);
        invocations += CULLING_THREADS * compareGroups(c, { groups: 1, devices: [[32]] }).groups;
        continue;
      }
      const expected = REFUSED[path.slice(path.lastIndexOf("/") + 1)];
      assert(expected?.test(error.message), `${path}: ${error.message}`);
      refused.push(path);
    }
  }
  return { stages: paths.length, invocations, refused };
}

const missing = findRadv() === undefined ? "RADV" : !installed("glslangValidator") ? "glslangValidator" : undefined;

Deno.test({
  name: `RADV's vertex and pixel programs give what the interpreter gives${
    missing === undefined ? "" : ` [ignored: ${missing} is not installed]`
  }`,
  ignore: missing !== undefined,
  fn: async () => {
    const output = Deno.makeTempDirSync({ prefix: "anyagc-test-" });
    try {
      const { written, failures } = await compileGraphics({
        family: "navi21",
        output,
        only: SOME,
        waveSizes: [32],
        variants: ["ngg"],
      });
      assertEquals(failures, []);
      const { stages, invocations, refused } = compareStages(written);
      console.log(`    ${stages - refused.length} of ${stages} stages, ${invocations} invocations`);
      assertEquals([stages, refused.length], [2 * SOME.length, 0]);
    } finally {
      Deno.removeSync(output, { recursive: true });
    }
  },
});

/** What `deno run -A tools/corpus/main.ts graphics` has made. */
const FOLDERS = ["navi21", "navi10"].map((family) =>
  decodeURIComponent(new URL(`../../../.cache/corpus/graphics-${family}`, import.meta.url).pathname)
);

for (const folder of FOLDERS) {
  const paths: string[] = [];
  try {
    for (const variant of Deno.readDirSync(folder)) {
      for (const { name } of Deno.readDirSync(`${folder}/${variant.name}`)) {
        if (name.endsWith(".json")) paths.push(`${folder}/${variant.name}/${name.slice(0, -5)}`);
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const family = folder.slice(folder.lastIndexOf("-") + 1);
  Deno.test({
    name: `all programs that tools/corpus has made for ${family} give what the interpreter gives${
      paths.length > 0 ? "" : ` [ignored: run "deno run -A tools/corpus/main.ts graphics --family ${family}" first]`
    }`,
    ignore: paths.length === 0,
    fn: () => {
      const { stages, invocations, refused } = compareStages(paths.sort());
      console.log(
        `    ${
          stages - refused.length
        } of ${stages} stages, ${invocations} invocations, ${refused.length} refused by name`,
      );
      assert(stages >= 100);
    },
  });
}

/** The pair of corpus/aco in its variants. Its descriptions have no registers, but the facts that these come from. */
corpusTest(
  "the vertex and pixel programs of corpus/aco give what the interpreter gives, the one that culls as a merged group",
  "aco",
  () => {
    const names = corpusNames("aco", /^tri.*\.(vert|frag)\.json$/);
    let compared = 0;
    const groups: string[] = [];
    for (const name of names) {
      const file = corpusFile("aco", name), loaded = loadFile(file);
      if (loaded.kind !== "shader") throw new Error(`${name} is no shader`);
      const shader = { ...loaded.shader, stageRegisters: registersOfFacts(JSON.parse(Deno.readTextFileSync(file))) };
      try {
        const c = acoCase(shader);
        compared += c.program.state.stage === "pixel" ? comparePixels(c, [1], [32]) : compareVertices(c, [1, 2]);
      } catch (error) {
        // As a vertex program it is refused, since it decides which primitives and vertices there are.
        if (!(error instanceof RefusedError)) throw error;
        assertMatch(error.message, /PRIMGEN_PASSTHRU_EN is off/, name);
        const { results } = compareGroups(acoGroupCase(shader, CULLING_THREADS), { seeds: [1], devices: [[64], [8]] });
        const counts = results.map(({ allocation }) => allocation);
        assert(counts.some((count) => count !== 0), "vertices that are left");
        groups.push(name);
      }
    }
    console.log(
      `    ${names.length} programs, ${compared} invocations; as merged groups: ${groups}`,
    );
    // RADV's own choice is NGG with culling.
    assertEquals(groups, ["tri.vert.json"]);
    assertEquals(names.length, 8);
  },
);

// deno-lint-ignore no-explicit-any
function registersOfFacts(facts: any) {
  const wave32 = facts.wave_size === 32, rsrc1 = facts.float_mode << 12 | 1 << 21;
  const rsrc2 = facts.num_user_sgprs << 1 | (facts.stage === "vert" ? facts.lds_bytes / 512 << 19 : 0) |
    (facts.vs?.needs_instance_id ? 3 << 16 : 0);
  const entry = (offset: number, value: number) => ({ offset, value: value >>> 0 });
  if (facts.stage === "frag") {
    const controls = Array.from(
      { length: facts.num_interp },
      (_, i) => entry(0x191 + i, i | (facts.flat_shaded_mask >> i & 1) << 10),
    );
    return {
      sh: [entry(0x00a, rsrc1), entry(0x00b, rsrc2)],
      context: [
        ...controls,
        entry(0x1b3, facts.spi_ps_input_ena),
        entry(0x1b4, facts.spi_ps_input_addr),
        entry(0x1b6, facts.num_interp | (wave32 ? 1 << 15 : 0)),
        entry(0x1c5, 4),
      ],
    };
  }
  const { ngg, vs } = facts;
  const stages = ngg === undefined
    ? wave32 ? 1 << 23 : 0
    : 2 << 3 | 1 << 13 | (wave32 ? 1 << 22 : 0) | ngg.passthrough << 25;
  const base = ngg === undefined ? 0x04a : 0x08a;
  return {
    sh: [entry(base, ngg === undefined ? rsrc1 | 3 << 24 : rsrc1), entry(base + 1, rsrc2)],
    context: [entry(0x1b1, vs.param_exports - 1 << 1), entry(0x2d5, stages)],
  };
}
