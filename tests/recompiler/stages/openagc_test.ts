/** The graphics records of OpenAGC's compiler (corpus/openagc): what recompiles is compared with the interpreter, what does not is refused by name. */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { stageProgramOf } from "../../../src/driver/stage_program.ts";
import { RefusedError } from "../../../src/errors.ts";
import { linearImageDescriptor, rawBufferDescriptor } from "../../../src/guest/harness/descriptors.ts";
import { loadSb } from "../../../src/guest/loaders/sb.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { PixelState } from "../../../src/recompiler/stages/state.ts";
import { Random } from "../../support/random.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import { f32Value } from "../../support/spirv_eval/bits.ts";
import { parseSpirv, type SpirvModule } from "../../support/spirv_eval/parse.ts";
import { evaluateStage } from "../../support/spirv_eval/stage.ts";
import { fusedPair, groupCase, loadRecord, type PairFacts } from "./group_corpus.ts";
import { compareGroups, evaluatedGroups, groupRequestOf, type GroupResult, launchedGroup } from "./group_frame.ts";
import { exportedPrimitives, originalPrimitives, type Originals } from "./group_originals.ts";
import { comparePixels, evaluatedPixels, randomPixels } from "./pixel_frame.ts";
import { deviceOf, type StageCase, validated } from "./stage_case.ts";
import { compareVertices } from "./vertex_frame.ts";

/** Records of compute shaders. */
const COMPUTE = /^(fill_color|copy_consume|render_consume|htile)/;

/** Merged programs: the names of their halves' records, without _front and _back. All but the one that is a vertex program are groups. */
const PAIRS: Readonly<Record<string, PairFacts | "vertex">> = {
  runtime_triangle_vert: "vertex",
  depth_triangle_ngg: { corners: 3, slots: 3 },
  triangle_ngg: { corners: 3, slots: 3 },
  triangle_ngg_amplify: { corners: 3, slots: 6 },
  triangle_ngg_invocations: { corners: 3, slots: 3, invocations: 2 },
  triangle_ngg_lines: { corners: 2, slots: 3 },
  triangle_tess_es: { corners: 3, tessellated: true },
  triangle_tess_gs: { corners: 3, slots: 3, tessellated: true },
  triangle_tess_hs: { corners: 3, hull: true },
  triangle_tess_invocations_gs: { corners: 3, slots: 3, invocations: 2, tessellated: true },
  triangle_tess_lines_gs: { corners: 3, slots: 4, tessellated: true },
};

/** What a half is refused with that comes without the other one, by the pair. */
const ALONE: readonly (readonly [RegExp, RegExp])[] = [
  [/^(depth_)?triangle_ngg_/, /a geometry shader is part of the program/],
  [/^triangle_tess_(invocations_|lines_)?gs_/, /a geometry shader is part of the program/],
  [/^triangle_tess_es_/, /a tessellation stage is part of the program/],
  [/^triangle_tess_hs_/, /hull-(front|back) programs are not recompiled/],
  [/^runtime_triangle_vert_back/, /the back half of a merged program/],
];

/** Registers that the oldest records leave out; the others of their kind have these. */
const CONTEXT: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  "triangle_frag.sb": [[0x1b3, 2], [0x1b6, 0x8001], [0x1c5, 4]],
  "depth_triangle_frag.sb": [[0x1b3, 2], [0x1b6, 0x8001], [0x1c5, 4]],
  "triangle_line_frag.sb": [[0x1b3, 2], [0x1b6, 0x8000], [0x1c5, 4]],
  "depth_resolve_frag.sb": [[0x1b3, 0x380], [0x1b6, 0x8000], [0x1c5, 4]],
};

function load(name: string): ShaderSource {
  const file = corpusFile("openagc", name);
  const shader = loadSb(file, Deno.readFileSync(file));
  const { abi } = shader;
  for (const [offset, value] of CONTEXT[name] ?? []) abi.record.cxRegisters.push({ offset, value, address: 0n });
  return shader;
}

/** One-SGPR pointers get the high half 2. */
const SET = 0x2_0000_1000n, TEXELS = 0x2_0000_4000n, VERTICES = 0x2_0000_2000n;
const IMAGE = linearImageDescriptor(TEXELS, { width: 64, height: 64, format: 56, texelBytes: 4 });
/** 64x64 texels of four samples of 8_8_8_8_UNORM, a block of 64KB_R_X: planes of 16 KiB (measured on the console). */
const SAMPLES = 0x2_0001_0000n, SAMPLES_BYTES = 0x10000;
const SAMPLED = [
  Number(SAMPLES >> 8n & 0xffff_ffffn),
  (56 << 20 | (63 & 3) << 30) >>> 0,
  63 >> 2 | 63 << 14,
  (0xfac | 2 << 16 | 27 << 20 | 14 << 28) >>> 0,
  0,
  2 << 4,
  0,
  0,
];
const SAMPLER = [0x92, 0xfff000, 0, 0];

/** Memory with descriptor set 0, an image or a buffer of words, and a vertex buffer. */
function memoryOf(name: string): StageCase["memory"] {
  const bytes = new Uint8Array(isResolve(name) ? 0x20000 : 0x8000),
    view = new DataView(bytes.buffer),
    base = 0x2_0000_0000n;
  bytes.forEach((_, k) => bytes[k] = 37 * k + (k >> 5) & 0xff);
  const put = (address: bigint, words: readonly number[]) =>
    words.forEach((word, k) => view.setUint32(Number(address - base) + 4 * k, word, true));
  if (name.startsWith("sample_rate")) {
    put(SET, rawBufferDescriptor(VERTICES, 64));
    put(VERTICES, new Array(16).fill(0));
  } else if (name.startsWith("runtime")) {
    put(SET, [Number(VERTICES & 0xffff_ffffn), 2 | 24 << 16, 64, 0x11014fac]);
    for (let k = 0; k < 64 * 6; k++) view.setFloat32(Number(VERTICES - base) + 4 * k, k / 8 - 9, true);
  } else if (isResolve(name)) put(SET, SAMPLED);
  else put(SET, [...(name.startsWith("bc") ? array(IMAGE) : IMAGE), ...SAMPLER]);
  return [{ address: base, bytes }];
}

function isResolve(name: string): boolean {
  return name.startsWith("depth_resolve");
}

/** The descriptor of an array of images. */
function array(words: readonly number[]): number[] {
  return words.map((word, k) => k === 3 ? (word & 0xfff_ffff | 13 << 28) >>> 0 : word);
}

function caseOf(name: string): StageCase {
  const shader = load(name);
  const pointer = Number(SET & 0xffff_ffffn);
  return {
    name,
    code: shader.code,
    program: stageProgramOf(shader),
    target: shader.target,
    // Set 0 of a pixel program is in s2; a vertex program has its table of buffers in its first user SGPR, then the first vertex.
    userData: name.startsWith("runtime_triangle_vert")
      ? [pointer, 3, 0]
      : name === "triangle_vert.sb"
      ? [0, 0, 1]
      : [0, 0, pointer],
    memory: memoryOf(name),
    image: isResolve(name) ? SAMPLED : [...(name.startsWith("bc") ? array(IMAGE) : IMAGE), ...SAMPLER],
    // Pixels within the image, and some beyond it.
    ...(isResolve(name) ? { quads: 40 } : {}),
  };
}

corpusTest(
  "all graphics records of OpenAGC's compiler that are no halves are recompiled and give what the interpreter gives",
  "openagc",
  () => {
    const names = corpusNames("openagc", /\.sb$/).filter((name) => !COMPUTE.test(name));
    const halves = Object.keys(PAIRS).flatMap((pair) => [`${pair}_front.sb`, `${pair}_back.sb`]);
    assertEquals(names.filter((name) => /_(front|back)\.sb$/.test(name)), halves.sort());
    const results = { pixel: 0, vertex: 0, compared: 0 };
    for (const name of names.filter((name) => !halves.includes(name))) {
      const c = caseOf(name), { stage } = c.program.state;
      results.compared += stage === "pixel" ? comparePixels(c, [1, 2], [8]) : compareVertices(c, [1, 2, 3]);
      results[stage]++;
    }
    console.log(
      `    ${names.length} graphics records, ${halves.length} of them halves; of the others ${results.pixel} pixel and ` +
        `${results.vertex} vertex programs recompiled (${results.compared} invocations compared)`,
    );
    assertEquals(names.length, 47);
    assertEquals([results.pixel, results.vertex], [24, 1]);
  },
);

corpusTest(
  "the halves of OpenAGC's merged programs are recompiled together and give what the interpreter gives",
  "openagc",
  () => {
    let groups = 0, vertices = 0, pairs = 0;
    for (const [pair, facts] of Object.entries(PAIRS)) {
      pairs++;
      if (facts === "vertex") {
        const fused = fusedPair(pair);
        assert(fused.program.kind === "vertex");
        vertices += compareVertices({ ...caseOf(`${pair}_front.sb`), code: fused.code, program: fused.program.stage }, [
          1,
          2,
          3,
        ]);
        continue;
      }
      // The bit that says whether primitives are counted (in GDS) is off and on.
      for (const counts of facts.slots === undefined ? [false] : [false, true]) {
        const c = groupCase(pair, { ...facts, counts });
        const run = compareGroups(c, {
          groups: facts.hull || counts ? 1 : 2,
          devices: counts ? [[32]] : [[32], [8]],
        });
        groups += run.groups;
        const some = (test: (result: GroupResult) => boolean) => assert(run.results.some(test), pair);
        if (facts.hull) some(({ memory }) => memory[0].some((byte, k) => byte !== c.memory![0].bytes[k]));
        else some(({ allocation, exports }) => allocation !== 0 && exports.get(12)!.some((word) => word !== 0));
        assertEquals(run.results.some(({ gds }) => gds.some((byte) => byte !== 0)), counts, `${pair}: GDS`);
      }
    }
    console.log(`    ${pairs} merged programs: ${groups} groups and ${vertices} vertices compared`);
    assertEquals([pairs, groups], [11, 8 * (4 + 1) + 4 + 2]);
  },
);

/** Pairs with the original modules that each was compiled from. */
const GROUP_ORIGINALS: Readonly<Record<string, Originals>> = {
  depth_triangle_ngg: { first: "depth_triangle_vert.spv", geometry: "triangle_geom.spv", strip: 3 },
  triangle_ngg: { first: "triangle_vert.spv", geometry: "triangle_geom.spv", strip: 3 },
  triangle_ngg_amplify: { first: "triangle_vert.spv", geometry: "triangle_amplify.spv", strip: 3 },
  triangle_ngg_invocations: { first: "triangle_vert.spv", geometry: "triangle_invocations.spv", strip: 3 },
  triangle_ngg_lines: { first: "triangle_vert.spv", geometry: "triangle_lines.spv", strip: 3 },
  triangle_tess_es: { first: "triangle_tese.spv", strip: 3, reordered: true },
  triangle_tess_gs: { first: "triangle_tese.spv", geometry: "triangle_tess_geom.spv", strip: 3, reordered: true },
  triangle_tess_invocations_gs: {
    first: "triangle_tese.spv",
    geometry: "triangle_invocations.spv",
    strip: 3,
    reordered: true,
  },
  triangle_tess_lines_gs: {
    first: "triangle_tese.spv",
    geometry: "triangle_tess_lines.spv",
    strip: 2,
    reordered: true,
  },
};

/** Floats that differ by a few roundings. */
function assertNear(actual: readonly number[], expected: readonly number[], where: string): void {
  assertEquals(actual.length, expected.length, where);
  actual.forEach((bits, k) => {
    const [a, b] = [f32Value(bits), f32Value(expected[k])];
    assert(Math.abs(a - b) <= 4 * 2 ** -23, `${where}: ${a}, the original has ${b}`);
  });
}

corpusTest(
  "recompiled merged programs make the primitives that their original SPIR-V makes, evaluated",
  "openagc",
  () => {
    let primitives = 0;
    for (const [pair, originals] of Object.entries(GROUP_ORIGINALS)) {
      const c = groupCase(pair, PAIRS[pair] as PairFacts), random = new Random(5);
      const launched = [launchedGroup(c, random)];
      const artifact = recompile(groupRequestOf(c, evaluatedDevice(32)));
      const { results } = evaluatedGroups(c, artifact, launched, 32, random);
      launched.forEach((group, n) => {
        const expected = originalPrimitives(c, group, originals),
          actual = exportedPrimitives(results[n], originals.strip);
        assertEquals(actual.length, expected.length, pair);
        actual.forEach((corners, k) => {
          const where = `${pair}, group ${n}, primitive ${k}`;
          if (originals.reordered) assertNear(corners.flat(), expected[k].flat(), where);
          else assertEquals(corners, expected[k], where);
        });
        primitives += actual.length;
      });
    }
    console.log(
      `    ${Object.keys(GROUP_ORIGINALS).length} merged programs against their originals: ${primitives} primitives`,
    );
    assert(primitives > 200);
  },
);

corpusTest("the halves of OpenAGC's merged programs are refused by themselves, with what is missing", "openagc", () => {
  for (const name of Object.keys(PAIRS).flatMap((pair) => [`${pair}_front.sb`, `${pair}_back.sb`])) {
    const refusal = ALONE.find(([pattern]) => pattern.test(name))?.[1];
    if (refusal === undefined) assertEquals(stageProgramOf(loadRecord(name)).state.stage, "vertex");
    else assertMatch(assertThrows(() => stageProgramOf(loadRecord(name)), RefusedError).message, refusal);
  }
});

/** Pixel records with the original module that each was compiled from. */
const ORIGINALS: readonly (readonly [string, string])[] = [
  ...["depth_triangle", "rgba16_unorm", "runtime_triangle", "sint16", "snorm16", "triangle_line", "uint16"].map((
    name,
  ) => [`${name}_frag.sb`, `${name}_frag.spv`] as const),
  ...["r", "rg", "rgba"].flatMap((form) =>
    ["sint32", "uint32"].map((name) => [`${name}_${form}_frag.sb`, `${name}_frag.spv`] as const)
  ),
];

corpusTest("recompiled pixel records give what their original SPIR-V gives, evaluated the same way", "openagc", () => {
  let values = 0;
  for (const [record, original] of ORIGINALS) {
    const c = caseOf(record), pixels = randomPixels(c.program.waveSize, 5);
    const source = new Uint32Array(Deno.readFileSync(corpusFile("openagc", original)).buffer);
    const recompiled = evaluatedPixels(c, parseSpirv(validated(c).spirv), pixels, 8, 1);
    const expected = evaluatedPixels(c, parseSpirv(source), pixels, 8, 1);
    const { colors } = c.program.state as PixelState;
    expected.outputs.forEach(({ locations }, n) => {
      if (!pixels.pixels[n].live) return;
      for (const [target, value] of locations) {
        const format = colors[target].format;
        const actual = recompiled.outputs[n].locations.get(target) as number[];
        // One-component outputs are no vectors; what the format has no place for is 0.
        [value].flat().slice(0, PLACES[format] ?? 4).forEach((bits, k) => {
          const where = `${record}, pixel ${n}, target ${target}, component ${k}`;
          if (format === "fp16_abgr") assertHalf(actual[k], bits as number, where);
          else assertEquals(actual[k], bits, where);
          values++;
        });
      }
    });
  }
  console.log(`    ${ORIGINALS.length} records against their originals: ${values} values`);
  assert(values > 1000);
});

const PLACES: Partial<Record<string, number>> = { "32_r": 1, "32_gr": 2 };

/**
 * An exported half is the original's float rounded toward zero; where the compiler made one operation of a sum and the rounding, the float that the original
 * rounds in between can move it by one in the last place.
 */
function assertHalf(actual: number, original: number, where: string): void {
  const value = f32Value(original), half = f32Value(actual);
  if (Number.isNaN(value)) return assert(Number.isNaN(half), where);
  const ulp = Math.max(2 ** -24, 2 ** (Math.floor(Math.log2(Math.abs(value))) - 10));
  assert(Math.abs(half - value) <= ulp || Math.abs(value) >= 65504, `${where}: ${half}, the original has ${value}`);
}

corpusTest(
  "the record that resolves samples gives what its original does, of samples that are planes of one colour",
  "openagc",
  () => {
    const c = caseOf("depth_resolve_frag.sb"), [{ bytes }] = c.memory!, plane = SAMPLES_BYTES / 4;
    const colors = [[255, 0, 51, 9], [0, 102, 51, 9], [51, 0, 0, 9], [0, 0, 204, 9]];
    for (let at = 0; at < SAMPLES_BYTES; at++) {
      bytes[Number(SAMPLES & 0xf_ffffn) + at] = colors[Math.floor(at / plane)][at % 4];
    }
    const pixels = randomPixels(c.program.waveSize, 7, 32);
    const { outputs } = evaluatedPixels(c, parseSpirv(validated(c).spirv), pixels, 8, 1);
    // What depth_resolve_frag.spv says: the mean, and where that is dark 0.125490203 times what is missing.
    const mean = [0, 1, 2].map((k) => colors.reduce((sum, color) => sum + color[k] / 255, 0) / 4);
    const rest = 0.125490203 * (1 - Math.max(...mean)), expected = [...mean.map((value) => value + rest), 1];
    let values = 0;
    outputs.forEach(({ locations }, n) => {
      if (!pixels.pixels[n].live) return;
      (locations.get(0) as number[]).forEach((bits, k) => {
        assert(Math.abs(f32Value(bits) - expected[k]) <= 2 ** -11, `pixel ${n}, component ${k}: ${f32Value(bits)}`);
        values++;
      });
    });
    assert(values > 50);
  },
);

corpusTest("recompiled vertex records give what their original SPIR-V gives, evaluated the same way", "openagc", () => {
  for (const [record, original] of [["runtime_triangle_vert_front.sb", "runtime_triangle_vert.spv"]]) {
    const c = caseOf(record), bytes = c.memory![0].bytes, view = new DataView(bytes.buffer);
    const source = parseSpirv(new Uint32Array(Deno.readFileSync(corpusFile("openagc", original)).buffer));
    const indices = Array.from({ length: 16 }, (_, k) => k), first = c.userData![1];
    const run = (module: SpirvModule) => {
      const { memory, push, bytes: after } = deviceOf(c, "vertex");
      const outputs = evaluateStage({
        ...{ module, memory, push, count: indices.length, subgroupSize: 8, random: new Random(3) },
        builtIn: (n) => indices[n],
        // Six floats a vertex: the inputs at locations 0 and 1.
        attribute: (n, location) =>
          [0, 1, 2, 3].map((k) => {
            const at = Number(VERTICES & 0xffffn) + 4 * (6 * (indices[n] + first) + 3 * location + k);
            return view.getUint32(at, true);
          }),
      });
      after();
      return outputs;
    };
    const expected = run(source), actual = run(parseSpirv(validated(c).spirv));
    expected.forEach(({ builtIns, locations }, n) => {
      assertEquals(actual[n].builtIns.get(0), builtIns.get(0), `${record}, vertex ${n}, position`);
      for (const [location, value] of locations) {
        assertEquals((actual[n].locations.get(location) as number[]).slice(0, 3), (value as number[]).slice(0, 3));
      }
    });
  }
});
