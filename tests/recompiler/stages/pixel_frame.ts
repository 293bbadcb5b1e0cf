/** Pixel programs, run twice. */
import { assertEquals } from "@std/assert";
import type { Export } from "../../../src/rdna/interpreter/mod.ts";
import type { Interpolant, PixelState } from "../../../src/recompiler/stages/state.ts";
import { Random } from "../../support/random.ts";
import { f16Value, f32Bits, f32Value, fusedBits } from "../../support/spirv_eval/bits.ts";
import { parseSpirv, type SpirvModule, type Value } from "../../support/spirv_eval/parse.ts";
import { evaluateStage, type Interpolation, type StageOutput } from "../../support/spirv_eval/stage.ts";
import { deviceOf, runOnInterpreter, type StageCase, userDataOf, validated } from "./stage_case.ts";

/** Barycentrics by kind: perspective and linear, each at the sample, the centre, the centroid. */
const KINDS = ["persp sample", "persp center", "persp centroid", "linear sample", "linear center", "linear centroid"];

/** One pixel (or helper) with everything that the hardware would tell of it. */
export interface Pixel {
  live: boolean;
  /** Bits of I and J by kind. */
  barycentrics: readonly (readonly [number, number])[];
  /** Position: x and y of the centre, z and w as numbers. */
  x: number;
  y: number;
  z: number;
  w: number;
  front: boolean;
  sample: number;
  layer: number;
  coverage: number;
  /** Where the sample is in the pixel. */
  sampleAt: readonly [number, number];
}

/** Pixels in quads, and the attributes of each quad's primitive: bits by parameter, component, and P10, P20, P0. */
export interface Pixels {
  readonly pixels: readonly Pixel[];
  readonly parameters: readonly (readonly (readonly (readonly number[])[])[])[];
}

/** Random pixels; every quad has one that is live. */
export function randomPixels(count: number, seed: number, quads = 500): Pixels {
  const random = new Random(seed);
  const float = () => f32Bits((random.below(2001) - 1000) / (1 << random.below(11)));
  const unit = () => f32Bits(random.below(4097) / 4096);
  const pixels: Pixel[] = [];
  for (let quad = 0; quad < count / 4; quad++) {
    const [x, y] = [2 * random.below(quads), 2 * random.below(quads)],
      kept = random.below(4),
      front = random.chance(0.5);
    const layer = random.below(2048);
    for (let k = 0; k < 4; k++) {
      pixels.push({
        live: k === kept || random.chance(0.6),
        barycentrics: KINDS.map(() => [unit(), unit()] as const),
        x: x + (k & 1) + 0.5,
        y: y + (k >> 1) + 0.5,
        z: random.below(1025) / 1024,
        w: 2 ** (random.below(9) - 4),
        front,
        sample: random.below(4),
        layer,
        coverage: 1 + random.below(15),
        sampleAt: [random.below(16) / 16, random.below(16) / 16],
      });
    }
  }
  const parameters = Array.from(
    { length: count / 4 },
    () => Array.from({ length: 32 }, () => Array.from({ length: 4 }, () => [float(), float(), float()])),
  );
  return { pixels, parameters };
}

const P10 = 0, P20 = 1, P0 = 2;
const DEFAULTS = [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 0], [1, 1, 1, 1]];

/** What is in the LDS of a wave for an attribute. */
function attributeOf(
  { source, flat }: Interpolant,
  of: Pixels["parameters"][number],
  component: number,
  which: number,
) {
  if ("constant" in source) return which === P0 && DEFAULTS[source.constant][component] === 1 ? f32Bits(1) : 0;
  return flat && which !== P0 ? 0 : of[source.param][component][which];
}

/** The primitive mask of every wave here: any number, but for bit 31, which would say that there are no centroids. */
const PRIMITIVE_MASK = 0x0765_1234;

/** Vector registers of a pixel wave: the order and sizes are those of SPI_PS_INPUT_ADDR's bits (AMD register headers). */
function pixelRegisters(state: PixelState, { pixels }: Pixels): number[][] {
  const unknown = (n: number) => pixels.map(() => 0xdead_0000 + n);
  const place = (p: Pixel, axis: 0 | 1) => {
    const center = axis === 0 ? p.x : p.y;
    const at = state.positionLocation === 2 ? Math.floor(center) + p.sampleAt[axis] : center;
    return f32Bits(state.positionCorner ? Math.floor(at) : at);
  };
  const registers: number[][][] = [
    ...[0, 1, 2].map((k) => [0, 1].map((j) => pixels.map((p) => p.barycentrics[k][j]))),
    [unknown(1), unknown(2), unknown(3)],
    ...[3, 4, 5].map((k) => [0, 1].map((j) => pixels.map((p) => p.barycentrics[k][j]))),
    [unknown(4)],
    [pixels.map((p) => place(p, 0))],
    [pixels.map((p) => place(p, 1))],
    [pixels.map((p) => f32Bits(p.z))],
    [pixels.map((p) => f32Bits(p.w))],
    [pixels.map((p) => p.front ? 0xffff_ffff : 0)],
    [pixels.map((p) => ((state.perSample ? p.sample : 0) << 8 | p.layer << 16) >>> 0)],
    [pixels.map((p) => p.coverage)],
    [pixels.map((p) => Math.floor(p.x) | Math.floor(p.y) << 16)],
  ];
  return registers.flatMap((group, bit) =>
    (state.inputAddr >>> bit & 1) === 0
      ? []
      : (state.inputEna >>> bit & 1) === 0
      ? group.map((_, n) => unknown(16 * bit + n))
      : group
  );
}

/** What a pixel leaves: bits of the targets' components, and of depth, stencil and mask. */
export interface PixelResult {
  discarded: boolean;
  colors: Map<number, number[]>;
  depth?: number;
  stencil?: number;
  mask?: number;
}

/** What the export instructions of a wave mean for one of its lanes (AMD register headers, SPI_SHADER_EX_FORMAT). */
function pixelResult(
  exports: readonly Export[],
  lane: number,
  { colors, depthFormat, depth }: PixelState,
): PixelResult {
  const on = ({ exec }: Export) => (exec >> BigInt(lane) & 1n) === 1n;
  const last = exports.findLast(({ validMask }) => validMask);
  const result: PixelResult = { discarded: last === undefined || !on(last), colors: new Map() };
  const words = (e: Export) =>
    [0, 1, 2, 3].map((k) =>
      e.compressed
        ? (k < 2 && (e.mask >> 2 * k & 3) !== 0 ? e.values[k][lane] >>> 0 : 0)
        : e.mask >> k & 1
        ? e.values[k][lane] >>> 0
        : 0
    );
  for (const e of exports) {
    if (!on(e) || e.target === 9) continue;
    const w = words(e);
    if (e.target === 8) {
      const [z, stencil, mask] = depthFormat === "uint16_abgr" ? [0, w[0] >>> 16, w[1] & 0xffff] : w;
      if (depth.exportsDepth && depthFormat !== "uint16_abgr") result.depth = z;
      if (depth.exportsStencil && depthFormat !== "32_r") result.stencil = stencil & 0xff;
      if (depth.exportsMask && (depthFormat === "32_abgr" || depthFormat === "uint16_abgr")) result.mask = mask;
      continue;
    }
    const halves = [w[0] & 0xffff, w[0] >>> 16, w[1] & 0xffff, w[1] >>> 16], signed = (h: number) => h << 16 >> 16;
    const components = {
      "zero": () => undefined,
      "32_r": () => [w[0], 0, 0, 0],
      "32_gr": () => [w[0], w[1], 0, 0],
      "32_ar": () => [w[0], 0, 0, w[1]],
      "32_abgr": () => w,
      "fp16_abgr": () => halves.map((h) => f32Bits(f16Value(h))),
      "unorm16_abgr": () => halves.map((h) => f32Bits(h / 65535)),
      "snorm16_abgr": () => halves.map((h) => f32Bits(Math.max(signed(h) / 32767, -1))),
      "uint16_abgr": () => halves,
      "sint16_abgr": () => halves.map((h) => signed(h) >>> 0),
    }[colors[e.target].format]();
    if (components !== undefined) result.colors.set(e.target, components);
  }
  return result;
}

/** Runs a pixel program on the interpreter: one wave, lane n is pixel n. */
export function interpretedPixels(c: StageCase, pixels: Pixels): { results: PixelResult[]; memory: Uint8Array[] } {
  const state = c.program.state as PixelState;
  const scalars = [...userDataOf(c), PRIMITIVE_MASK];
  const { exports, fault, memory } = runOnInterpreter(c, {
    exec: pixels.pixels.reduce((mask, { live }, lane) => live ? mask | 1n << BigInt(lane) : mask, 0n),
    scalars,
    vectors: pixelRegisters(state, pixels),
    primitiveMask: PRIMITIVE_MASK,
    parameter: (lane, attribute, component, which) =>
      attributeOf(state.interpolants[attribute], pixels.parameters[lane >> 2], component, which),
  });
  assertEquals(fault, null, c.name);
  return { results: pixels.pixels.map((_, lane) => pixelResult(exports, lane, state)), memory };
}

/** An attribute where the hardware interpolates it: two steps, each rounded once. */
function interpolated(pixels: Pixels, n: number, location: number, how: Interpolation): number[] {
  const kind = `${how.linear ? "linear" : "persp"} ${how.place === "offset" ? "center" : how.place}`;
  const [i, j] = pixels.pixels[n].barycentrics[KINDS.indexOf(kind)];
  return pixels.parameters[n >> 2][location].map((p) =>
    how.flat ? p[P0] : Number(fusedBits(p[P20], j, fusedBits(p[P10], i, p[P0], 32), 32))
  );
}

const BUILT_IN = {
  position: 15,
  front: 17,
  sampleId: 18,
  mask: 20,
  layer: 9,
  helper: 23,
  barycentrics: 5286,
  linearBarycentrics: 5287,
};

/** Runs a fragment module on the evaluator; lane numbers are the evaluator's. */
export function evaluatedPixels(
  c: StageCase,
  module: SpirvModule,
  pixels: Pixels,
  subgroupSize: number,
  seed: number,
  done: (context: Uint8Array<ArrayBuffer>) => void = () => {},
): { outputs: StageOutput[]; memory: Uint8Array[] } {
  const state = c.program.state as PixelState;
  const { memory, push, bytes, context } = deviceOf(c, "pixel");
  // A host tells a program of samples the sample's position.
  const perSample = state.perSample || module.variables.some(({ builtIn }) => builtIn === BUILT_IN.sampleId);
  const outputs = evaluateStage({
    module,
    memory,
    push,
    count: pixels.pixels.length,
    subgroupSize,
    random: new Random(seed),
    builtIn: (n, builtIn): Value | undefined => {
      const p = pixels.pixels[n];
      switch (builtIn) {
        case BUILT_IN.position: {
          const [x, y] = perSample ? [Math.floor(p.x) + p.sampleAt[0], Math.floor(p.y) + p.sampleAt[1]] : [p.x, p.y];
          return [f32Bits(x), f32Bits(y), f32Bits(p.z), f32Bits(1 / p.w)];
        }
        case BUILT_IN.front:
          return p.front ? 1 : 0;
        case BUILT_IN.sampleId:
          return p.sample;
        case BUILT_IN.mask:
          return [p.coverage];
        case BUILT_IN.layer:
          return p.layer;
        case BUILT_IN.helper:
          return p.live ? 0 : 1;
        case BUILT_IN.barycentrics:
        case BUILT_IN.linearBarycentrics: {
          const [i, j] = p.barycentrics[builtIn === BUILT_IN.barycentrics ? 1 : 4];
          return [f32Bits(1 - f32Value(i) - f32Value(j)), i, j];
        }
      }
    },
    // The primitive's vertices have what P0, P10 and P20 are the differences of: exact, of numbers like these.
    input: (n, { type, location }) => {
      if (type.kind !== "array" || location === undefined) return undefined;
      const parameter = pixels.parameters[n >> 2][location];
      const vertex = (difference: number | undefined) =>
        parameter.map((p) => difference === undefined ? p[P0] : f32Bits(f32Value(p[P0]) + f32Value(p[difference])));
      return [vertex(undefined), vertex(P10), vertex(P20)];
    },
    isHelper: (n) => !pixels.pixels[n].live,
    attribute: (n, location, how) => interpolated(pixels, n, location, how),
  });
  done(context);
  return { outputs, memory: bytes() };
}

const FRAG_DEPTH = 22, SAMPLE_MASK = 20, STENCIL_REF = 5014;

/** Compares the module of a pixel program with the interpreter, on random pixels. @returns pixels that were compared */
export function comparePixels(
  c: StageCase,
  seeds: readonly number[] = [1, 2, 3],
  subgroupSizes: readonly number[] = [8, 32],
): number {
  const artifact = validated(c), module = parseSpirv(artifact.spirv);
  const sizes = artifact.laneMode === "subgroup" ? [c.program.waveSize] : subgroupSizes;
  let compared = 0;
  for (const seed of seeds) {
    const pixels = randomPixels(c.program.waveSize, seed, c.quads);
    const expected = interpretedPixels(c, pixels);
    for (const size of sizes) {
      const actual = evaluatedPixels(c, module, pixels, size, seed);
      actual.outputs.forEach((output, n) => {
        if (!pixels.pixels[n].live) return; // a helper leaves nothing
        compared++;
        const where = `${c.name}, seed ${seed}, subgroups of ${size}, pixel ${n}`;
        assertEquals(output.discarded, expected.results[n].discarded, where);
        if (!output.discarded) assertPixel(output, expected.results[n], where);
      });
      assertEquals(actual.memory, expected.memory, `${c.name}, seed ${seed}: memory`);
    }
  }
  return compared;
}

function assertPixel(output: StageOutput, { colors, depth, stencil, mask }: PixelResult, where: string): void {
  const bits = (value: unknown) => (value as number[]).map(canonical);
  for (const [target, components] of colors) {
    assertEquals(bits(output.locations.get(target)), components.map(canonical), `${where}, target ${target}`);
  }
  if (depth !== undefined) assertEquals(output.builtIns.get(FRAG_DEPTH), depth, `${where}, depth`);
  if (stencil !== undefined) assertEquals(output.builtIns.get(STENCIL_REF), stencil, `${where}, stencil`);
  if (mask !== undefined) assertEquals((output.builtIns.get(SAMPLE_MASK) as number[])[0], mask, `${where}, mask`);
}

/** The bits of all NaN are one here: nobody says which NaN it is. */
function canonical(bits: number): number {
  return Number.isNaN(f32Value(bits)) ? 0x7fc0_0000 : bits;
}
