/** Image loads, stores, atomics and size queries (AMD RDNA2 ISA, sections 8.2 and 12.16). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { asm, type Program } from "./asm.ts";
import { F, IMAGE, imageAt8, type ImageFields, rows, Type, withImage } from "./image.ts";
import { type Before, f16, f32, u32 } from "./machine.ts";

const LOAD = asm`image_load v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
const STORE = asm`image_store v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;

/** Texel (x, y) is 100 y + x + 1. */
const GRID = () => rows(8, 4, (x, y) => 100 * y + x + 1);

/** Four lanes with coordinates in v4, v5 (and v6). */
function at(program: Program, fields: ImageFields, words: Uint32Array, v: Before["v"], before: Before = {}) {
  return withImage(program, words, { ...before, s: { ...imageAt8(fields), ...before.s }, v });
}

Deno.test("loads and stores of a linear two-dimensional image: rows lie 256 bytes apart", () => {
  const after = at(LOAD, {}, GRID(), { 4: [0, 7, 3, 2], 5: [0, 0, 3, 1] });
  assertEquals(after.lanes(0, 4), [1, 8, 304, 103]);
  const { words } = at(STORE, {}, GRID(), { 0: [9, 8, 7, 6], 4: [0, 7, 3, 2], 5: [0, 0, 3, 1] });
  assertEquals([words[0], words[7], words[3 * 64 + 3], words[64 + 2], words[1]], [9, 8, 7, 6, 2]);
});

Deno.test("word 4 of a linear two-dimensional image is its pitch in texels, less one", () => {
  const words = Uint32Array.from({ length: 64 }, (_, n) => n);
  assertEquals(at(LOAD, { width: 4, pitch: 16 }, words, { 4: [0, 1, 2, 3], 5: [0, 1, 2, 3] }).lanes(0, 4), [
    0,
    17,
    34,
    51,
  ]);
});

Deno.test("coordinates outside read 0 and are not written; they are signed", () => {
  const outside = { 4: [8, u32(-1), 0, 0], 5: [0, 0, 4, 0x80000000] };
  const after = at(LOAD, {}, GRID(), { 0: 77, ...outside });
  assertEquals([...after.lanes(0, 4), after.fault], [0, 0, 0, 0, null]);
  assertEquals(at(STORE, {}, GRID(), { 0: 77, ...outside }).words, GRID());
});

Deno.test("DMASK: registers for the components it names, in order", () => {
  const words = Uint32Array.of(0x04030201);
  const fields = { format: F.U8x4, width: 1, height: 1 };
  const v = { 0: 9, 1: 9, 2: 9, 3: 9, 4: 0, 5: 0 };
  const all = asm`image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const loaded = at(all, fields, words, v, { exec: 1n });
  assertEquals([0, 1, 2, 3].map((k) => loaded.v(k)), [1, 2, 3, 4]);
  const yw = asm`image_load v[0:1], v[4:5], s[8:15] dmask:0xa dim:SQ_RSRC_IMG_2D`;
  const some = at(yw, fields, words, v, { exec: 1n });
  assertEquals([0, 1, 2, 3].map((k) => some.v(k)), [2, 4, 9, 9]);
  // A store with fewer components writes zeros to the others.
  const store = asm`image_store v[0:1], v[4:5], s[8:15] dmask:0xa dim:SQ_RSRC_IMG_2D`;
  const stored = at(store, fields, Uint32Array.of(0xffffffff), { 0: 5, 1: 6, 4: 0, 5: 0 }, { exec: 1n });
  assertEquals(stored.words[0], 0x06000500);
});

Deno.test("DST_SEL turns components of loads, and back for stores", () => {
  const fields = { format: F.Unorm8x4, width: 1, height: 1, select: 6 | 5 << 3 | 4 << 6 | 1 << 9 };
  const all = asm`image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const loaded = at(all, fields, Uint32Array.of(0x80ff0033), { 4: 0, 5: 0 }, { exec: 1n });
  assertEquals([0, 1, 2, 3].map((k) => loaded.v(k)), [1, 0, 0x33 / 255, 1].map(f32));
  const store = asm`image_store v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const v = { 0: f32(1), 1: f32(0), 2: f32(0.2), 3: f32(1), 4: 0, 5: 0 };
  assertEquals(at(store, fields, Uint32Array.of(0), v, { exec: 1n }).words[0], 0x00ff0033);
});

Deno.test("D16 packs components in pairs", () => {
  const fields = { format: F.Unorm8x4, width: 1, height: 1 };
  const load = asm`image_load v[0:1], v[4:5], s[8:15] dmask:0x7 dim:SQ_RSRC_IMG_2D d16`;
  const loaded = at(load, fields, Uint32Array.of(0x80ff0033), { 2: 9, 4: 0, 5: 0 }, { exec: 1n });
  assertEquals([loaded.v(0), loaded.v(1), loaded.v(2)], [f16(0x33 / 255), f16(1), 9]);
  const store = asm`image_store v[0:1], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D d16`;
  const v = { 0: f16(1) | f16(0) << 16, 1: f16(0.2) | f16(1) << 16, 4: 0, 5: 0 };
  assertEquals(at(store, fields, Uint32Array.of(0), v, { exec: 1n }).words[0], 0xff3300ff);
});

Deno.test("A16 takes two coordinates from a register; they are unsigned", () => {
  const load = asm`image_load v0, v4, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D a16`;
  assertEquals(at(load, {}, GRID(), { 4: [0x00010002, 0x00030007, 0x0000ffff, 0] }).lanes(0, 4), [103, 308, 0, 1]);
});

Deno.test("coordinates in registers that are not consecutive", () => {
  const load = asm`image_load v0, [v9, v2], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  assertEquals(at(load, {}, GRID(), { 9: [0, 7, 3, 2], 2: [0, 0, 3, 1] }).lanes(0, 4), [1, 8, 304, 103]);
});

Deno.test("R128 descriptors have four words", () => {
  const load = asm`image_load v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D r128`;
  const after = at(load, {}, GRID(), { 4: [0, 7, 3, 2], 5: [0, 0, 3, 1] }, {
    s: { 12: 0xffffffff, 13: 0xffffffff, 14: 0xffffffff },
  });
  assertEquals(after.lanes(0, 4), [1, 8, 304, 103]);
});

Deno.test("one-dimensional images, and arrays of them", () => {
  const one = asm`image_load v0, v4, s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D`;
  assertEquals(at(one, { type: Type.D1 }, GRID(), { 4: [0, 7, 8, 2] }).lanes(0, 4), [1, 8, 0, 3]);
  const array = asm`image_load v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_1D_ARRAY`;
  const fields = { type: Type.D1Array, height: 1, depth: 4 };
  assertEquals(at(array, fields, GRID(), { 4: [0, 7, 1, 2], 5: [0, 1, 4, 3] }).lanes(0, 4), [1, 108, 0, 303]);
});

Deno.test("layers of two-dimensional arrays and cubes: BASE_ARRAY is the first, DEPTH the last one", () => {
  // Two rows a layer.
  const words = rows(8, 16, (x, y) => (y >> 1) * 1000 + (y & 1) * 100 + x);
  const array = asm`image_load v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D_ARRAY`;
  const v = { 4: 3, 5: [0, 1, 1, 0], 6: [0, 1, 2, 5] };
  const fields = { type: Type.D2Array, height: 2, depth: 5, baseLayer: 2 };
  // Layers 2 to 4; 5 does not belong to the view.
  assertEquals(at(array, fields, words, v).lanes(0, 4), [2003, 3103, 4103, 0]);
  const cube = asm`image_load v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_CUBE`;
  assertEquals(at(cube, { ...fields, type: Type.Cube, depth: 6, baseLayer: 0 }, words, v).lanes(0, 4), [
    3,
    1103,
    2103,
    5003,
  ]);
});

Deno.test("three-dimensional images: slices lie behind each other", () => {
  const words = rows(8, 6, (x, y) => y * 100 + x);
  const load = asm`image_load v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_3D`;
  const fields = { type: Type.D3, height: 2, depth: 3 };
  assertEquals(at(load, fields, words, { 4: 5, 5: [0, 1, 0, 0], 6: [0, 1, 2, 3] }).lanes(0, 4), [5, 305, 405, 0]);
});

Deno.test("mip levels of linear images with a pitch: the smallest lies first", () => {
  // 8x4 has levels 8x4, 4x2, 2x1, 1x1: level 3 in row 0, 2 in row 1, 1 in rows 2 and 3, 0 from row 4.
  const words = rows(8, 8, (x, y) => y * 100 + x);
  const load = asm`image_load_mip v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const fields = { pitch: 64, lastLevel: 3 };
  const v = { 4: [0, 1, 3, 7], 5: [0, 0, 1, 3], 6: [3, 2, 1, 0] };
  assertEquals(at(load, fields, words, v).lanes(0, 4), [0, 101, 303, 707]);
  // Level numbers count from BASE_LEVEL; levels behind LAST_LEVEL, negative ones, and texels outside the level read 0.
  const view = { ...fields, baseLevel: 1, lastLevel: 2, maxMip: 3 };
  const some = { 4: [3, 1, 0, 2], 5: [1, 0, 0, 0], 6: [0, 1, 2, 1] };
  assertEquals(at(load, view, words, some).lanes(0, 4), [303, 101, 0, 0]);
  assertEquals(at(load, view, words, { 4: 0, 5: 0, 6: u32(-1) }).v(0), 0);
  // The plain load reads BASE_LEVEL.
  assertEquals(at(LOAD, view, words, { 4: 3, 5: 1 }).v(0), 303);
  const store = asm`image_store_mip v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const stored = at(store, view, words, { 0: [1, 2, 3, 4], ...some });
  assertEquals([stored.words[3 * 64 + 3], stored.words[64 + 1], stored.words[0]], [1, 2, 0]);
});

Deno.test("sizes: width, height, layers and levels of a level; zeros for levels that do not exist", () => {
  const query = asm`image_get_resinfo v[0:3], v4, s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const sizes = (program: Program, fields: ImageFields) => {
    const after = at(program, fields, GRID(), { 4: [0, 1, 3, 4] });
    return [0, 1, 2, 3].map((lane) => [0, 1, 2, 3].map((k) => after.v(k, lane)));
  };
  assertEquals(sizes(query, { width: 16384, height: 3, pitch: 16384, lastLevel: 3, maxMip: 14 }), [
    [16384, 3, 1, 4],
    [8192, 1, 1, 4],
    [2048, 1, 1, 4],
    [0, 0, 0, 4],
  ]);
  const deep = asm`image_get_resinfo v[0:3], v4, s[8:15] dmask:0xf dim:SQ_RSRC_IMG_3D`;
  assertEquals(sizes(deep, { type: Type.D3, width: 9, height: 5, depth: 7 })[0], [9, 5, 7, 1]);
  const array = asm`image_get_resinfo v[0:3], v4, s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D_ARRAY`;
  assertEquals(sizes(array, { type: Type.D2Array, depth: 7, baseLayer: 2 })[0], [8, 4, 5, 1]);
});

Deno.test("image atomics on 32-bit texels", () => {
  const value = { 4: [0, 7, 3, 2], 5: [0, 0, 3, 1] };
  const ops: [Program, number, number, number][] = [
    [asm`image_atomic_swap v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 7, 5, 7],
    [asm`image_atomic_add v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 7, 5, 12],
    [asm`image_atomic_sub v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 7, 5, u32(-2)],
    [asm`image_atomic_smin v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, u32(-7), 5, u32(-7)],
    [asm`image_atomic_umin v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, u32(-7), 5, 5],
    [asm`image_atomic_smax v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, u32(-7), 5, 5],
    [asm`image_atomic_umax v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, u32(-7), 5, u32(-7)],
    [asm`image_atomic_and v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 6, 5, 4],
    [asm`image_atomic_or v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 6, 5, 7],
    [asm`image_atomic_xor v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 6, 5, 3],
    [asm`image_atomic_inc v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 5, 5, 0],
    [asm`image_atomic_dec v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, 4, 5, 4],
    [asm`image_atomic_fmin v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, f32(1), f32(2), f32(1)],
    [asm`image_atomic_fmax v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`, f32(1), f32(2), f32(2)],
  ];
  for (const format of [F.U32, F.S32]) {
    for (const [program, operand, old, expected] of ops) {
      const after = at(program, { format }, rows(8, 4, () => old), { 0: operand, ...value }, { exec: 5n });
      assertEquals([after.v(0, 0), after.v(0, 1), after.v(0, 2)], [old, operand, old], program.lines[0]);
      assertEquals([after.words[0], after.words[7], after.words[3 * 64 + 3]], [expected, old, expected]);
    }
  }
});

Deno.test("image atomics without GLC give nothing back, of 64 bits, compare and swap, and outside", () => {
  const plain = asm`image_atomic_add v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  const quiet = at(plain, {}, GRID(), { 0: 10, 4: [0, 0, 0, 8], 5: 0 });
  assertEquals([quiet.words[0], ...quiet.lanes(0, 4)], [31, 10, 10, 10, 10]);
  const swap = asm`image_atomic_cmpswap v[0:1], v[4:5], s[8:15] dmask:0x3 dim:SQ_RSRC_IMG_2D glc`;
  const swapped = at(swap, {}, GRID(), { 0: 77, 1: 2, 4: [0, 1, 2, 8], 5: 0 });
  assertEquals([...swapped.words.subarray(0, 3)], [1, 77, 3]);
  assertEquals(swapped.lanes(0, 4), [1, 2, 3, 0]);
  const wide = asm`image_atomic_add v[0:1], v[4:5], s[8:15] dmask:0x3 dim:SQ_RSRC_IMG_2D glc`;
  const sum = at(wide, { format: F.U32x2 }, Uint32Array.of(0xffffffff, 1), { 0: 1, 1: 0, 4: 0, 5: 0 }, { exec: 1n });
  assertEquals([...sum.words, sum.v64(0)], [0, 2, 0x1_ffff_ffffn]);
  assertThrows(() => at(wide, {}, GRID(), {}), RefusedError, "an atomic on texels of 4 bytes");
  assertThrows(() => at(plain, { format: F.U8 }, GRID(), {}), RefusedError, "an atomic on texels of 1 bytes");
});

/** 64KB_R_X with 4 bytes: byte offset of a texel in its block of 128 by 128, as measured on the console. */
function colourOffset(x: number, y: number): number {
  return (y << 4 & 0x70) ^ (y << 5 & 0xf00) ^ (y << 9 & 0x1000) ^ (y << 8 & 0x4000) ^
    (x << 2 & 0xc) ^ (x << 5 & 0x380) ^ (x << 4 & 0x400) ^ (x << 6 & 0x800) ^ (x << 9 & 0xa000);
}

Deno.test("a tiled colour target (64KB_R_X) of 4-byte texels", () => {
  // 200x130: two blocks across, two down.
  const width = 200, height = 130;
  const words = new Uint32Array(4 * 0x4000);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const block = (y >> 7) * 2 + (x >> 7);
      words[block * 0x4000 + colourOffset(x & 127, y & 127) / 4] = y * 1000 + x;
    }
  }
  const fields = { width, height, tile: 27 };
  for (let y = 0; y < height; y += 5) {
    const v = { 4: (lane: number) => (lane * 37 + y) % width, 5: y };
    const after = at(LOAD, fields, words, v, { exec: 0xffff_ffffn });
    assertEquals(after.lanes(0), Array.from({ length: 32 }, (_, lane) => y * 1000 + v[4](lane)));
  }
  const stored = at(STORE, fields, words, { 0: 1, 4: 199, 5: 129 });
  assertEquals(stored.words[3 * 0x4000 + colourOffset(71, 1) / 4], 1);
});

Deno.test("every tile mode and element size maps a block's texels to different places", () => {
  const sizes: Record<number, number> = { 1: 256, 2: 256, 5: 4096, 6: 4096, 21: 4096, 22: 4096 };
  const program = asm`image_store v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
  for (const tile of [1, 2, 5, 6, 9, 10, 21, 22, 24, 25, 26, 27]) {
    // 32_UINT: texels of a block number their dwords.
    const size = (sizes[tile] ?? 65536) / 4;
    const across = 2 ** Math.ceil(Math.log2(size) / 2), down = size / across;
    const words = new Uint32Array(size);
    for (let first = 0; first < size; first += 32) {
      at(program, { width: across, height: down, tile }, words, {
        0: (lane) => first + lane + 1,
        4: (lane) => (first + lane) % across,
        5: (lane) => Math.floor((first + lane) / across),
      }, { exec: 0xffff_ffffn });
    }
    assertEquals(words.every((word) => word !== 0), true, `tile mode ${tile}`);
  }
});

Deno.test("texels of 1, 2, 8 and 16 bytes", () => {
  const bytes = new Uint8Array(1024).map((_, n) => n);
  const words = new Uint32Array(bytes.buffer);
  const v = { 4: [0, 1, 2, 3], 5: [0, 1, 2, 3] };
  assertEquals(at(LOAD, { format: F.U8 }, words, v).lanes(0, 4), [0, 1, 2, 3]);
  const two = asm`image_load v[0:1], v[4:5], s[8:15] dmask:0x3 dim:SQ_RSRC_IMG_2D`;
  const pairs = at(two, { format: F.U8x2 }, words, v);
  assertEquals([pairs.lanes(0, 4), pairs.lanes(1, 4)], [[0, 2, 4, 6], [1, 3, 5, 7]]);
  const eight = at(two, { format: F.U32x2 }, words, v);
  assertEquals([eight.v(0, 1), eight.v(1, 1)], [0x0b0a0908, 0x0f0e0d0c]);
  const four = asm`image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D`;
  const sixteen = at(four, { format: F.F32x4 }, words, v);
  assertEquals([sixteen.v(0, 2), sixteen.v(3, 2)], [0x23222120, 0x2f2e2d2c]);
});

Deno.test("TFE gives a status behind the data; faults name the texel's address", () => {
  const load = asm`image_load v[0:1], v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D tfe`;
  const after = at(load, { height: 8 }, GRID(), { 4: [0, 1, 8, 2], 5: [0, 4, 0, 1] });
  assertEquals([after.lanes(0, 4), after.lanes(1, 4)], [[1, 0, 0, 103], [0, 1, 0, 0]]);
  assertEquals([after.fault?.address, after.fault?.bytes], [IMAGE + 4n * 256n + 4n, 4]);
});

Deno.test("what is not implemented is refused by name", () => {
  const refused = (program: Program, fields: ImageFields, message: string) =>
    assertThrows(() => at(program, fields, GRID(), {}), RefusedError, message);
  refused(LOAD, { format: 109 }, "the image format 109");
  refused(LOAD, { type: Type.D2Msaa }, "several samples");
  refused(LOAD, { type: 0 }, "the image type 0");
  refused(LOAD, { type: Type.D3 }, "does not fit the image's type");
  refused(LOAD, { tile: 4 }, "tile mode 4");
  refused(LOAD, { tile: 27, lastLevel: 1 }, "a tiled image with several levels");
  refused(LOAD, { lastLevel: 1 }, "a linear image with several levels");
  refused(
    asm`image_load_pck v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`,
    {},
    "image_load_pck: unconverted texels",
  );
  refused(
    asm`image_bvh_intersect_ray v[0:3], v[4:14], s[8:11]`,
    {},
    "image_bvh_intersect_ray: ray intersection",
  );
});
