/** The graphics records of OpenAGC's compiler (corpus/openagc): what recompiles is compared with the interpreter, what does not is refused by name. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { stageProgramOf } from "../../../src/driver/stage_program.ts";
import { RefusedError } from "../../../src/errors.ts";
import { linearImageDescriptor, rawBufferDescriptor } from "../../../src/guest/harness/descriptors.ts";
import { loadSb } from "../../../src/guest/loaders/sb.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { comparePixels, compareVertices, type StageCase } from "./frame.ts";

/** Records of compute shaders. */
const COMPUTE = /^(fill_color|copy_consume|render_consume|htile)/;

const GEOMETRY = /a geometry shader is part of the program/,
  TESSELLATION = /a tessellation stage is part of the program/;

/** What is refused, and why. */
const REFUSED: readonly (readonly [RegExp, RegExp])[] = [
  [/^(depth_)?triangle_ngg_.*(front|back)/, GEOMETRY],
  [/^triangle_tess_(invocations_|lines_)?gs_/, GEOMETRY],
  [/^triangle_tess_es_/, TESSELLATION],
  [/^triangle_tess_hs_/, /hull-(front|back) programs are not recompiled/],
  [/^runtime_triangle_vert_back/, /the back half of a merged program/],
  [/^depth_resolve_frag/, /images with several samples/],
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
const SAMPLER = [0x92, 0xfff000, 0, 0];

/** Memory with descriptor set 0, an image or a buffer of words, and a vertex buffer. */
function memoryOf(name: string): StageCase["memory"] {
  const bytes = new Uint8Array(0x8000), view = new DataView(bytes.buffer), base = 0x2_0000_0000n;
  bytes.forEach((_, k) => bytes[k] = 37 * k + (k >> 5) & 0xff);
  const put = (address: bigint, words: readonly number[]) =>
    words.forEach((word, k) => view.setUint32(Number(address - base) + 4 * k, word, true));
  if (name.startsWith("sample_rate")) {
    put(SET, rawBufferDescriptor(VERTICES, 64));
    put(VERTICES, new Array(16).fill(0));
  } else if (name.startsWith("runtime")) {
    put(SET, [Number(VERTICES & 0xffff_ffffn), 2 | 24 << 16, 64, 0x11014fac]);
    for (let k = 0; k < 64 * 6; k++) view.setFloat32(Number(VERTICES - base) + 4 * k, k / 8 - 9, true);
  } else put(SET, [...(name.startsWith("bc") ? array(IMAGE) : IMAGE), ...SAMPLER]);
  return [{ address: base, bytes }];
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
    image: [...(name.startsWith("bc") ? array(IMAGE) : IMAGE), ...SAMPLER],
  };
}

corpusTest(
  "all graphics records of OpenAGC's compiler are recompiled and give what the interpreter gives, or are refused by name",
  "openagc",
  () => {
    const names = corpusNames("openagc", /\.sb$/).filter((name) => !COMPUTE.test(name));
    const results = { pixel: 0, vertex: 0, refused: 0, compared: 0 };
    for (const name of names) {
      const refusal = REFUSED.find(([pattern]) => pattern.test(name))?.[1];
      try {
        const c = caseOf(name);
        const stage = c.program.state.stage;
        results.compared += stage === "pixel" ? comparePixels(c, [1, 2], [8]) : compareVertices(c, [1, 2, 3]);
        results[stage]++;
        assertEquals(refusal, undefined, `${name} is not refused`);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        assert(refusal !== undefined, `${name}: ${error.message}`);
        assertMatch(error.message, refusal);
        results.refused++;
      }
    }
    console.log(
      `    ${names.length} graphics records: ${results.pixel} pixel and ${results.vertex} vertex programs recompiled ` +
        `(${results.compared} invocations compared), ${results.refused} refused by name`,
    );
    assertEquals(names.length, 47);
    assertEquals([results.pixel, results.vertex, results.refused], [23, 2, 22]);
  },
);
