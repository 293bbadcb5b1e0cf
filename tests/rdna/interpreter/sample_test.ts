/** Image samples and gathers with software filtering (AMD RDNA2 ISA, sections 8.2.3 to 8.2.6). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { asm, type Program } from "./asm.ts";
import { F, imageAt8, type ImageFields, rows, samplerAt16, type SamplerFields, Type, withImage } from "./image.ts";
import { type Before, f16, f32, u32 } from "./machine.ts";

const LZ = asm`image_sample_lz v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;

/** Clamp modes. */
const WRAP = 0, MIRROR = 1, EDGE = 2, MIRROR_EDGE = 3, BORDER = 6, MIRROR_BORDER = 7;

/** 8 by 4 texels of 32_FLOAT: x + 10 y. */
const GRID = () => rows(8, 4, (x, y) => f32(x + 10 * y));

/** Numbers of four lanes' v0. */
function sample(
  program: Program,
  v: Before["v"],
  sampler: SamplerFields = {},
  image: ImageFields = {},
  words = GRID(),
): number[] {
  const s = { ...imageAt8({ format: F.F32, ...image }), ...samplerAt16(sampler) };
  return numbers(withImage(program, words, { s, v }).lanes(0, 4));
}

function numbers(bits: number[]): number[] {
  return [...new Float32Array(Uint32Array.from(bits).buffer)];
}

/** f32 bits of a list. */
function floats(...values: number[]): number[] {
  return values.map(f32);
}

Deno.test("nearest: the texel that the coordinate lies in", () => {
  assertEquals(sample(LZ, { 4: floats(0, 0.124, 0.125, 0.999), 5: floats(0, 0.25, 0.49, 0.99) }), [0, 10, 11, 37]);
});

Deno.test("linear: weights of 1/256 between the centres of texels", () => {
  const linear = { mag: 1 };
  // Centre of texel 2 of row 1; half-way to texel 3; a quarter of the way down.
  const v = { 4: floats(2.5 / 8, 3 / 8, 3 / 8, 2.5 / 8), 5: floats(1.5 / 4, 1.5 / 4, 2 / 4, 1.75 / 4) };
  assertEquals(sample(LZ, v, linear), [12, 12.5, 17.5, 14.5]);
  // 1/512 of a texel is a tie and goes to the even step 0; 3/512 goes to 2/256.
  const fine = { 4: floats((2.5 + 1 / 512) / 8, (2.5 + 3 / 512) / 8, (2.5 + 1 / 256) / 8, 2.5 / 8), 5: f32(0.125) };
  assertEquals(sample(LZ, fine, linear), [2, 2 + 2 / 256, 2 + 1 / 256, 2]);
});

Deno.test("clamp modes outside the image, nearest", () => {
  // Texels -3, -1, 8, 18 of 8.
  const v = { 4: floats(-2.5 / 8, -0.5 / 8, 8.5 / 8, 18.5 / 8), 5: f32(0.125) };
  const clamped = (mode: number, border = 2) => sample(LZ, v, { clamp: [mode, EDGE, EDGE], border });
  assertEquals(clamped(WRAP), [5, 7, 0, 2]);
  assertEquals(clamped(MIRROR), [2, 0, 7, 2]);
  assertEquals(clamped(EDGE), [0, 0, 7, 7]);
  assertEquals(clamped(MIRROR_EDGE), [2, 0, 7, 7]);
  assertEquals(clamped(BORDER), [1, 1, 1, 1]);
  assertEquals(clamped(BORDER, 0), [0, 0, 0, 0]);
  assertEquals(clamped(MIRROR_BORDER), [2, 0, 1, 1]);
});

Deno.test("linear filtering across the edge blends with what the clamp mode gives", () => {
  const v = { 4: floats(0, 1, 0.25 / 8, 0), 5: floats(0.125, 0.125, 0.125, 0) };
  assertEquals(sample(LZ, v, { mag: 1, clamp: [WRAP, WRAP, WRAP] }), [3.5, 3.5, 1.75, 18.5]);
  assertEquals(sample(LZ, v, { mag: 1, clamp: [EDGE, EDGE, EDGE] }), [0, 7, 0, 0]);
  assertEquals(sample(LZ, v, { mag: 1, clamp: [BORDER, BORDER, BORDER], border: 2 }), [0.5, 4, 0.25, 0.75]);
});

Deno.test("border colours: transparent black, opaque black, opaque white; a table of colours is refused", () => {
  const program = asm`image_sample_lz v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const border = (type: number) => {
    const s = { ...imageAt8({ format: F.F32x4 }), ...samplerAt16({ clamp: [BORDER, BORDER, BORDER], border: type }) };
    const after = withImage(program, new Uint32Array(64), { s, v: { 4: f32(-1), 5: 0 }, exec: 1n });
    return numbers([0, 1, 2, 3].map((k) => after.v(k)));
  };
  assertEquals([border(0), border(1), border(2)], [[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]]);
  assertThrows(() => border(3), RefusedError, "a border colour from a table");
});

Deno.test("unnormalized coordinates count texels, of the first level", () => {
  const v = { 4: floats(0, 1.5, 3.5, 7.9), 5: floats(0, 0.5, 2.5, 3.9) };
  const plain = asm`image_sample v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  assertEquals(sample(plain, v, { unnormalized: true, clamp: [EDGE, EDGE, EDGE] }), [0, 1, 23, 37]);
  const unorm = asm`image_sample_lz v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm`;
  assertEquals(sample(unorm, v, { clamp: [EDGE, EDGE, EDGE] }), [0, 1, 23, 37]);
  assertEquals(sample(unorm, { 4: f32(2), 5: f32(1) }, { mag: 1 })[0], 6.5);
});

/** A chain of 8x4, 4x2, 2x1, 1x1 whose levels are filled with their numbers times 100, plus x. */
function chain(): Uint32Array {
  const words = rows(8, 8, (x, y) => f32((y === 0 ? 300 : y === 1 ? 200 : y < 4 ? 100 : 0) + x));
  return words;
}
const CHAIN: ImageFields = { pitch: 64, lastLevel: 3 };

Deno.test("an explicit level of detail, with none, nearest and linear mip filters", () => {
  const program = asm`image_sample_l v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const at = (mip: number, lods: number[], extra: SamplerFields = {}, image: ImageFields = {}) =>
    sample(program, { 4: 0, 5: 0, 6: floats(...lods) }, { mip, ...extra }, { ...CHAIN, ...image }, chain());
  assertEquals(at(0, [0, 1, 2, 3]), [0, 0, 0, 0]);
  assertEquals(at(1, [0.49, 0.5, 2.4, 9]), [0, 100, 200, 300]);
  assertEquals(at(2, [-1, 0.5, 1.25, 9]), [0, 50, 125, 300]);
  // Sampler limits and bias.
  assertEquals(at(1, [0, 1, 2, 3], { minLod: 1, maxLod: 2 }), [100, 100, 200, 200]);
  assertEquals(at(1, [0, 1, 2, 3], { bias: -1 }), [0, 0, 100, 200]);
  // Views: levels count from BASE_LEVEL to LAST_LEVEL, the resource's smallest level from the chain.
  assertEquals(at(1, [0, 1, 2, 3], {}, { baseLevel: 1, lastLevel: 2, maxMip: 3 }), [100, 200, 200, 200]);
  assertEquals(at(1, [0, 1, 2, 3], {}, { minLod: 2 }), [200, 200, 200, 300]);
});

Deno.test("the level of detail comes from the differences in the quad, plus bias", () => {
  // Coordinates one texel of level 0 apart: level 0. Two apart: 1. Four: 2.
  const quad = (step: number) => ({ 4: floats(0, step / 8, 0, step / 8), 5: floats(0, 0, step / 4, step / 4) });
  const sampler = { mip: 1, clamp: [WRAP, WRAP, WRAP] as [number, number, number] };
  const plain = asm`image_sample v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const first = (program: Program, v: Before["v"], extra: SamplerFields = {}) =>
    sample(program, v, { ...sampler, ...extra }, CHAIN, chain())[0];
  assertEquals([1, 2, 4, 8].map((step) => first(plain, quad(step))), [0, 100, 200, 300]);
  // The y difference counts with the height: two rows of four.
  assertEquals(first(plain, { 4: 0, 5: floats(0, 0, 0.5, 0.5) }), 100);
  assertEquals(first(plain, quad(1), { bias: 2 }), 200);
  const biased = asm`image_sample_b v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const { 4: x, 5: y } = quad(2);
  assertEquals(first(biased, { 4: f32(1), 5: x, 6: y }), 200);
  const limited = asm`image_sample_cl v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  assertEquals(first(limited, { 4: x, 5: y, 6: f32(3) }), 300);
  assertEquals(first(limited, { 4: x, 5: y, 6: f32(0) }), 100);
});

Deno.test("given derivatives: those by x, then those by y, then the coordinates", () => {
  const sampler = { mip: 1 };
  const given = asm`image_sample_d v0, v[4:9], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const one = (v: Before["v"], program = given) => sample(program, v, sampler, CHAIN, chain())[0];
  const coordinates = { 8: f32(2.5 / 8), 9: 0 };
  assertEquals(one({ 4: f32(1 / 8), 5: 0, 6: 0, 7: f32(1 / 4), ...coordinates }), 2);
  assertEquals(one({ 4: f32(1 / 8), 5: 0, 6: 0, 7: f32(2 / 4), ...coordinates }), 101);
  assertEquals(one({ 4: f32(4 / 8), 5: 0, 6: 0, 7: 0, ...coordinates }), 200);
  // G16: both components of a derivative in one register.
  const packed = asm`image_sample_d_g16 v0, v[4:7], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const v = { 4: f16(1 / 8), 5: f16(2 / 4) << 16, 6: f32(2.5 / 8), 7: 0 };
  assertEquals(one(v, packed), 101);
});

Deno.test("texel offsets: 6 signed bits for each axis, before the coordinates", () => {
  const program = asm`image_sample_lz_o v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const v = { 4: [0, 2 | 1 << 8, 0x3f | 0x3e << 8, 0x1f], 5: floats(2.5 / 8), 6: floats(2.5 / 4) };
  const all = { ...v, 5: f32(2.5 / 8), 6: f32(2.5 / 4) };
  assertEquals(sample(program, all, { clamp: [EDGE, EDGE, EDGE] }), [22, 34, 1, 27]);
});

Deno.test("comparison: reference first, each texel is compared before filtering", () => {
  const program = asm`image_sample_c_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const at = (compare: number, references: number[], mag = 0) =>
    sample(program, { 4: floats(...references), 5: f32(2.5 / 8), 6: f32(1.5 / 4) }, { compare, mag });
  // The texel is 12.
  const references = [11, 12, 13, NaN];
  assertEquals([0, 1, 2, 3, 4, 5, 6, 7].map((compare) => at(compare, references)), [
    [0, 0, 0, 0],
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [1, 1, 0, 0],
    [0, 0, 1, 0],
    [1, 0, 1, 1],
    [0, 1, 1, 0],
    [1, 1, 1, 1],
  ]);
  // Between 11 and 12 (x 2): half of the texels pass "greater" for 11.5.
  const between = { 4: f32(11.5), 5: f32(2 / 8), 6: f32(1.5 / 4) };
  assertEquals(sample(program, between, { compare: 4, mag: 1 })[0], 0.5);
  // References for normalized depth are limited to 0..1.
  const words = Uint32Array.of(0x0000ffff);
  const one = { format: F.Unorm16, width: 1, height: 1 };
  assertEquals(sample(program, { 4: f32(2), 5: 0, 6: 0 }, { compare: 2 }, one, words)[0], 1);
});

Deno.test("gathers: the four texels of linear filtering, one component, in the order left-below, right-below, right, left", () => {
  const program = asm`image_gather4_lz v[0:3], v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const s = { ...imageAt8({ format: F.F32 }), ...samplerAt16({ clamp: [EDGE, EDGE, EDGE] }) };
  const gather = (v: Before["v"], which = program, s0 = s, words = GRID()) => {
    const after = withImage(which, words, { s: s0, v, exec: 1n });
    return numbers([0, 1, 2, 3].map((k) => after.v(k)));
  };
  assertEquals(gather({ 4: f32(3 / 8), 5: f32(2 / 4) }), [22, 23, 13, 12]);
  assertEquals(gather({ 4: f32(0), 5: f32(0) }), [0, 0, 0, 0]);
  // The component that DMASK names; 8_8_8_8.
  const words = rows(2, 2, (x, y) => (x + 2 * y) * 0x11 << 8 | 0x33);
  const green = asm`image_gather4_lz v[0:3], v[4:5], s[8:15], s[16:19] dmask:0x2 dim:SQ_RSRC_IMG_2D`;
  const s8 = { ...imageAt8({ format: F.Unorm8x4, width: 2, height: 2 }), ...samplerAt16() };
  assertEquals(gather({ 4: f32(0.5), 5: f32(0.5) }, green, s8, words), [2, 3, 1, 0].map((n) => Math.fround(n / 15)));
  const compare = asm`image_gather4_c_lz v[0:3], v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const less = { ...imageAt8({ format: F.F32 }), ...samplerAt16({ compare: 1 }) };
  assertEquals(gather({ 4: f32(12.5), 5: f32(3 / 8), 6: f32(2 / 4) }, compare, less), [1, 1, 1, 0]);
});

Deno.test("one-dimensional and three-dimensional images", () => {
  const one = asm`image_sample_lz v0, v4, s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_1D`;
  assertEquals(sample(one, { 4: floats(0.5 / 8, 1 / 8, 7.5 / 8, 0) }, { mag: 1 }, { type: Type.D1 }), [0, 0.5, 7, 3.5]);
  const words = rows(8, 8, (x, y) => f32(x + 10 * (y & 3) + 100 * (y >> 2)));
  const three = asm`image_sample_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_3D`;
  const v = { 4: f32(2.5 / 8), 5: f32(1.5 / 4), 6: floats(0.25, 0.5, 0.75, 0.375) };
  const volume = { type: Type.D3, depth: 2 };
  assertEquals(sample(three, v, { mag: 1 }, volume, words), [12, 62, 112, 37]);
  // A filter of its own for the third axis: 1 is nearest.
  assertEquals(sample(three, v, { mag: 1, z: 1 }, volume, words), [12, 112, 112, 12]);
});

Deno.test("array layers: rounded to nearest even and limited", () => {
  const words = rows(8, 16, (x, y) => f32(x + 100 * (y >> 2)));
  const program = asm`image_sample_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D_ARRAY`;
  const fields = { type: Type.D2Array, depth: 4 };
  const v = { 4: f32(1.5 / 8), 5: 0, 6: floats(-3, 0.5, 1.5, 9) };
  assertEquals(sample(program, v, {}, fields, words), [1, 1, 201, 301]);
  const line = asm`image_sample_lz v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_1D_ARRAY`;
  const lines = { type: Type.D1Array, depth: 4, height: 1 };
  assertEquals(sample(line, { 4: f32(2.5 / 8), 5: floats(0, 1, 2.6, 9) }, {}, lines), [2, 12, 32, 32]);
});

Deno.test("cubes: coordinates in 1..2 on a face", () => {
  const words = rows(4, 24, (x, y) => f32(x + 10 * (y & 3) + 100 * (y >> 2)));
  const program = asm`image_sample_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_CUBE`;
  const fields = { type: Type.Cube, width: 4, height: 4, depth: 6 };
  const v = { 4: floats(1.125, 1.375, 1.5, 1.9), 5: floats(1.125, 1.375, 1.5, 1.9), 6: floats(0, 1, 5, 3) };
  assertEquals(sample(program, v, {}, fields, words), [0, 111, 522, 333]);
  assertEquals(sample(program, { ...v, 4: f32(1.5), 5: f32(1.5) }, { mag: 1 }, fields, words), [
    16.5,
    116.5,
    516.5,
    316.5,
  ]);
  const across = { 4: f32(1), 5: f32(1.5), 6: 0 };
  assertThrows(() => sample(program, across, { mag: 1 }, fields, words), RefusedError, "a cube map across an edge");
});

Deno.test("16-bit coordinates with A16, several components with D16", () => {
  const a16 = asm`image_sample_lz v0, v4, s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D a16`;
  const pair = (x: number, y: number) => u32(f16(x) | f16(y) << 16);
  assertEquals(sample(a16, { 4: [pair(0, 0), pair(2.5 / 8, 1.5 / 4), pair(0.5, 0.75), 0] }), [0, 12, 34, 0]);
  const d16 = asm`image_sample_lz v[0:1], v[4:5], s[8:15], s[16:19] dmask:0x7 dim:SQ_RSRC_IMG_2D d16`;
  const s = { ...imageAt8({ format: F.Unorm8x4, width: 1, height: 1 }), ...samplerAt16() };
  const after = withImage(d16, Uint32Array.of(0x00ff33ff), { s, v: { 4: 0, 5: 0 }, exec: 1n });
  assertEquals([after.v(0), after.v(1) & 0xffff], [u32(f16(1) | f16(0.2) << 16), f16(1)]);
});

Deno.test("minimum and maximum filters take the extreme of the texels that have a weight", () => {
  const v = { 4: floats(3 / 8, 3 / 8, 2.5 / 8, 3 / 8), 5: floats(2 / 4, 1.5 / 4, 1.5 / 4, 2 / 4) };
  assertEquals(sample(LZ, v, { mag: 1, filterMode: 1 }), [12, 12, 12, 12]);
  assertEquals(sample(LZ, v, { mag: 1, filterMode: 2 }), [23, 13, 12, 23]);
});

Deno.test("integer formats can be sampled with nearest only", () => {
  const words = rows(8, 4, (x, y) => x + 10 * y);
  const s = { ...imageAt8({ format: F.U32 }), ...samplerAt16() };
  assertEquals(withImage(LZ, words, { s, v: { 4: f32(2.5 / 8), 5: f32(1.5 / 4) } }).v(0), 12);
  const linear = { ...s, ...samplerAt16({ mag: 1 }) };
  assertThrows(() => withImage(LZ, words, { s: linear }), RefusedError, "linear filtering of integers");
});

Deno.test("image_get_lod: the level that would be used, and the unlimited one", () => {
  const program = asm`image_get_lod v[0:1], v[4:5], s[8:15], s[16:19] dmask:0x3 dim:SQ_RSRC_IMG_2D`;
  const s = { ...imageAt8({ format: F.F32, ...CHAIN }), ...samplerAt16({ maxLod: 2 }) };
  const v = { 4: floats(0, 1, 0, 1), 5: 0 };
  const after = withImage(program, chain(), { s, v });
  assertEquals(numbers([after.v(0), after.v(1)]), [2, 3]);
});

Deno.test("what is not implemented is refused by name", () => {
  const v = { 4: 0, 5: 0 };
  assertThrows(() => sample(LZ, v, { mag: 3, aniso: 2 }), RefusedError, "anisotropic filtering");
  assertThrows(() => sample(LZ, { 4: f32(-1), 5: 0 }, { clamp: [4, 0, 0] }), RefusedError, "half a border texel");
  const gather = asm`image_gather4 v[0:3], v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_3D`;
  const volume = { type: Type.D3, depth: 2 };
  assertThrows(() => sample(gather, v, {}, volume), RefusedError, "an image that is not two-dimensional");
});
