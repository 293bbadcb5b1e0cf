/** Formats of typed buffers and images, one by one: what a load gives and what a store writes, and selectors. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { FORMAT_NUMBERS, formatOf } from "../../../src/rdna/formats.ts";
import { asm, execute, type Program } from "./asm.ts";
import { type Before, f16, f32, halves, u32 } from "./machine.ts";

const BASE = 0x7_0000_0000n;

/** DST_SEL: X, Y, Z, W; and X, Y, Z, 1. */
const XYZW = 0xfac, XYZ1 = 0x3ac;

/** A raw descriptor with a format in s[4:7]. */
function descriptor(format: number, select = XYZW): Record<number, number> {
  const [lo, hi] = halves(BASE);
  return { 4: lo, 5: hi, 6: 64, 7: 0x3000_0000 | format << 12 | select };
}

/** One lane, with `words` at the descriptor's base. */
function at(program: Program, s: Readonly<Record<number, number>>, words: Uint32Array, v: Before["v"] = {}) {
  return execute(program, { exec: 1n, s, v, memory: new Map([[BASE, new Uint8Array(words.buffer as ArrayBuffer)]]) });
}

const LOAD = asm`buffer_load_format_xyzw v[0:3], off, s[4:7], 0`;
const STORE = asm`buffer_store_format_xyzw v[0:3], off, s[4:7], 0`;
const IMAGE_LOAD = asm`image_load v[0:3], v[8:9], s[4:11] dmask:0xf dim:SQ_RSRC_IMG_2D`;
const IMAGE_STORE = asm`image_store v[0:3], v[8:9], s[4:11] dmask:0xf dim:SQ_RSRC_IMG_2D`;

/** Loads or stores an element with a format; formats from 128 on exist for images alone. */
function access(kind: "load" | "store", format: number, select: number, words: Uint32Array, v: Before["v"] = {}) {
  if (format < 128) return at(kind === "load" ? LOAD : STORE, descriptor(format, select), words, v);
  // One texel.
  const image = { 4: Number(BASE >> 8n), 5: format << 20, 6: 0, 7: (9 << 28 | select) >>> 0, 8: 0, 9: 0, 10: 0, 11: 0 };
  return at(kind === "load" ? IMAGE_LOAD : IMAGE_STORE, image, words, { 8: 0, 9: 0, ...v });
}

/** Memory of an element, by the field widths from the lowest bit: fields are given as unsigned numbers. */
function pack(widths: readonly number[], fields: readonly number[]): Uint32Array {
  let value = 0n, shift = 0n;
  widths.forEach((width, k) => {
    value |= BigInt(fields[k]) << shift;
    shift += BigInt(width);
  });
  return Uint32Array.from({ length: 4 }, (_, k) => Number(value >> BigInt(32 * k) & 0xffff_ffffn));
}

/** Components of every format of a family: the first format's number, the fields' widths and bits, and the numbers they are. */
interface Family {
  first: number;
  name: string;
  widths: number[];
  fields: number[];
  kinds: Record<string, number[]>;
}

/** Numbers of U/S-SCALED and U/SINT, which are the same. */
function six(unorm: number[], snorm: number[], unsigned: number[], signed: number[]): Record<string, number[]> {
  return { UNORM: unorm, SNORM: snorm, USCALED: unsigned, SSCALED: signed, UINT: unsigned, SINT: signed };
}

const FAMILIES: Family[] = [
  { first: 1, name: "8", widths: [8], fields: [0x80], kinds: six([128 / 255], [-1], [128], [-128]) },
  {
    first: 7,
    name: "16",
    widths: [16],
    fields: [0xc000],
    kinds: { ...six([49152 / 65535], [-16384 / 32767], [49152], [-16384]), FLOAT: [-2] },
  },
  {
    first: 14,
    name: "8_8",
    widths: [8, 8],
    fields: [0x80, 0x7f],
    kinds: six([128 / 255, 127 / 255], [-1, 1], [128, 127], [-128, 127]),
  },
  {
    first: 20,
    name: "32",
    widths: [32],
    fields: [0xbf800000],
    kinds: { UINT: [0xbf800000], SINT: [0xbf800000], FLOAT: [-1] },
  },
  {
    first: 23,
    name: "16_16",
    widths: [16, 16],
    fields: [0xc000, 0x4000],
    kinds: {
      ...six([49152 / 65535, 16384 / 65535], [-16384 / 32767, 16384 / 32767], [49152, 16384], [-16384, 16384]),
      FLOAT: [-2, 2],
    },
  },
  {
    first: 30,
    name: "10_11_11",
    widths: [11, 11, 10],
    fields: [0x400, 0x3ff, 0x200],
    kinds: {
      ...six([1024 / 2047, 1023 / 2047, 512 / 1023], [-1, 1, -1], [1024, 1023, 512], [-1024, 1023, -512]),
      FLOAT: [2, 1 + 63 / 64, 2],
    },
  },
  {
    first: 37,
    name: "11_11_10",
    widths: [10, 11, 11],
    fields: [0x1ff, 0x400, 0x7df],
    kinds: {
      ...six([511 / 1023, 1024 / 2047, 2015 / 2047], [1, -1, -33 / 1023], [511, 1024, 2015], [511, -1024, -33]),
      FLOAT: [1 + 31 / 32, 2, NaN],
    },
  },
  {
    first: 44,
    name: "10_10_10_2",
    widths: [2, 10, 10, 10],
    fields: [2, 0x200, 0x1ff, 0x3ff],
    kinds: six(
      [2 / 3, 512 / 1023, 511 / 1023, 1],
      [-1, -1, 1, -1 / 511],
      [2, 512, 511, 1023],
      [-2, -512, 511, -1],
    ),
  },
  {
    first: 50,
    name: "2_10_10_10",
    widths: [10, 10, 10, 2],
    fields: [0x200, 0x1ff, 0x3ff, 1],
    kinds: six(
      [512 / 1023, 511 / 1023, 1, 1 / 3],
      [-1, 1, -1 / 511, 1],
      [512, 511, 1023, 1],
      [-512, 511, -1, 1],
    ),
  },
  {
    first: 56,
    name: "8_8_8_8",
    widths: [8, 8, 8, 8],
    fields: [0, 0x40, 0x81, 0xff],
    kinds: six([0, 64 / 255, 129 / 255, 1], [0, 64 / 127, -1, -1 / 127], [0, 64, 129, 255], [0, 64, -127, -1]),
  },
  {
    first: 62,
    name: "32_32",
    widths: [32, 32],
    fields: [0x3f800000, 0x80000001],
    kinds: {
      UINT: [0x3f800000, 0x80000001],
      SINT: [0x3f800000, 0x80000001],
      FLOAT: [1, -(2 ** -149)],
    },
  },
  {
    first: 65,
    name: "16_16_16_16",
    widths: [16, 16, 16, 16],
    fields: [1, 0x7bff, 0x8000, 0xfc00],
    kinds: {
      ...six(
        [1 / 65535, 31743 / 65535, 32768 / 65535, 64512 / 65535],
        [1 / 32767, 31743 / 32767, -1, -1024 / 32767],
        [1, 31743, 32768, 64512],
        [1, 31743, -32768, -1024],
      ),
      FLOAT: [2 ** -24, 65504, -0, -Infinity],
    },
  },
  {
    first: 72,
    name: "32_32_32",
    widths: [32, 32, 32],
    fields: [1, 0xffffffff, 0x40000000],
    kinds: { UINT: [1, 0xffffffff, 0x40000000], SINT: [1, -1, 0x40000000], FLOAT: [2 ** -149, NaN, 2] },
  },
  {
    first: 75,
    name: "32_32_32_32",
    widths: [32, 32, 32, 32],
    fields: [1, 0x80000000, 0x40000000, 0x7f800000],
    kinds: {
      UINT: [1, 0x80000000, 0x40000000, 0x7f800000],
      SINT: [1, 0x80000000, 0x40000000, 0x7f800000],
      FLOAT: [2 ** -149, -0, 2, Infinity],
    },
  },
  // 255 -> 1; 0x80 -> 0.2158605 (IEC 61966-2-1); 10 -> 10 / 255 / 12.92; alpha is linear.
  { first: 128, name: "8", widths: [8], fields: [0xff], kinds: { SRGB: [1] } },
  { first: 129, name: "8_8", widths: [8, 8], fields: [0, 10], kinds: { SRGB: [0, 10 / 255 / 12.92] } },
  {
    first: 130,
    name: "8_8_8_8",
    widths: [8, 8, 8, 8],
    fields: [255, 0, 10, 128],
    kinds: { SRGB: [1, 0, 10 / 255 / 12.92, 128 / 255] },
  },
  // Mantissas 256, 1 and 511 with exponent 16: times 2^(16 - 24).
  {
    first: 132,
    name: "5_9_9_9",
    widths: [9, 9, 9, 5],
    fields: [256, 1, 511, 16],
    kinds: { FLOAT: [1, 1 / 256, 511 / 256] },
  },
  { first: 133, name: "5_6_5", widths: [5, 6, 5], fields: [31, 32, 1], kinds: { UNORM: [1, 32 / 63, 1 / 31] } },
  {
    first: 134,
    name: "1_5_5_5",
    widths: [5, 5, 5, 1],
    fields: [31, 16, 1, 1],
    kinds: { UNORM: [1, 16 / 31, 1 / 31, 1] },
  },
  {
    first: 135,
    name: "5_5_5_1",
    widths: [1, 5, 5, 5],
    fields: [1, 31, 16, 1],
    kinds: { UNORM: [1, 1, 16 / 31, 1 / 31] },
  },
  {
    first: 136,
    name: "4_4_4_4",
    widths: [4, 4, 4, 4],
    fields: [15, 8, 1, 0],
    kinds: { UNORM: [1, 8 / 15, 1 / 15, 0] },
  },
];

/** A register for comparison: NaN has many forms. */
function text(bits: number, isFloat: boolean): string {
  return isFloat && (bits & 0x7fff_ffff) > 0x7f80_0000 ? "NaN" : bits.toString(16);
}

/** All formats of the families with their expectations. */
const ROWS = FAMILIES.flatMap(({ first, name, widths, fields, kinds }) =>
  Object.entries(kinds).map(([kind, numbers], k) => {
    const isFloat = kind !== "UINT" && kind !== "SINT";
    return { number: first + k, name: `${name}_${kind}`, widths, fields, numbers, isFloat };
  })
);

Deno.test("the table of formats is complete", () => {
  assertEquals(ROWS.map((row) => [row.number, row.name]), FORMAT_NUMBERS.map((n) => [n, formatOf(n)!.name]));
  for (const { number, widths } of ROWS) assertEquals(formatOf(number)!.bits, widths);
});

for (const { number, name, widths, fields, numbers, isFloat } of ROWS) {
  Deno.test(`format ${number} ${name} loads`, () => {
    const count = numbers.length;
    const after = access("load", number, count === 3 ? XYZ1 : XYZW, pack(widths, fields));
    const one = isFloat ? f32(1) : 1;
    const expected = numbers.map((each) => isFloat ? f32(each) : u32(each));
    // One- and two-component formats repeat theirs.
    const all = count === 3 ? [...expected, one] : [0, 1, 2, 3].map((k) => expected[k % count]);
    assertEquals([0, 1, 2, 3].map((k) => text(after.v(k), isFloat)), all.map((each) => text(each, isFloat)));
  });

  Deno.test(`format ${number} ${name} stores what it loads`, () => {
    const words = pack(widths, fields);
    const stored = Uint32Array.of(0x99999999, 0x99999999, 0x99999999, 0x99999999);
    const v = Object.fromEntries(numbers.map((each, k) => [k, isFloat ? f32(each) : u32(each)]));
    const select = numbers.length === 4 ? XYZW : [0, 0x004, 0x02c, XYZ1][numbers.length];
    assertEquals(access("store", number, select, stored, v).fault, null);
    const { bytes } = formatOf(number)!;
    const before = new Uint8Array(words.buffer, 0, bytes), after = new Uint8Array(stored.buffer);
    // -2^(n-1) and -2^(n-1) + 1 are both -1, and NaN has many forms; the rest comes back.
    const ambiguous = name.endsWith("SNORM") && numbers.includes(-1) || numbers.some(Number.isNaN);
    if (!ambiguous) assertEquals([...after.subarray(0, bytes)], [...before]);
    assert(after.subarray(bytes).every((byte) => byte === 0x99), "nothing behind the element is written");
  });
}

/** Stores four registers in a format and gives the first words of the memory. */
function stored(format: number, values: readonly number[], select = XYZW): Uint32Array {
  const words = new Uint32Array(4);
  access("store", format, select, words, Object.fromEntries(values.map((each, k) => [k, each])));
  return words;
}

Deno.test("normalized stores are limited and round to nearest even; NaN is 0", () => {
  const unorm = (...values: number[]) => stored(56, values.map(f32))[0];
  assertEquals(unorm(-1, 2, NaN, Infinity), 0xff00ff00);
  // 0.5 * 255 = 127.5, a tie.
  assertEquals(unorm(0.5, 126 / 255, 0.4 / 255, 0.6 / 255), 0x01007e80);
  const snorm = (...values: number[]) => stored(57, values.map(f32))[0];
  assertEquals(snorm(-1, 1, -9, 0.5), 0x40817f81);
  assertEquals(stored(7, [f32(0.5)])[0], 0x8000);
});

Deno.test("integer stores are limited to the field", () => {
  assertEquals(stored(60, [256, 255, 0xffffffff, 7])[0], 0x07ffffff);
  assertEquals(stored(61, [128, 127, u32(-129), u32(-1)])[0], 0xff807f7f);
  assertEquals(stored(54, [1024, 1023, 5, 4])[0], u32(3 << 30 | 5 << 20 | 1023 << 10 | 1023));
  assertEquals(stored(58, [300, 2.5, 3.5, -1].map(f32))[0], 0x000402ff);
  assertEquals(stored(59, [300, -2.5, -300, -1].map(f32))[0], 0xff80fe7f);
});

Deno.test("float stores: f16 to nearest even; 11 and 10 bits without a sign", () => {
  const words = stored(71, [1 + 2 ** -11, 65520, -1e-9, 65519].map(f32));
  assertEquals([...words.subarray(0, 2)], [f16(1) | 0x7c00 << 16, 0x8000 | 0x7bff << 16]);
  // Format 36: X and Y with 6 bits of fraction, Z with 5. 1 + 1/128 is a tie.
  assertEquals(stored(36, [1 + 1 / 128, -3, 1 + 3 / 64].map(f32), XYZ1)[0], (0x3c0 | 0 << 11 | 0x1e2 << 22) >>> 0);
  const limits = stored(36, [Infinity, 1e9, NaN].map(f32), XYZ1)[0];
  assertEquals([limits & 0x7ff, limits >>> 22 & 0x3e0], [0x7c0, 0x3e0]);
});

Deno.test("sRGB loads and stores follow the transfer function within a step, exactly on bytes", () => {
  for (let byte = 0; byte < 256; byte++) {
    const words = Uint32Array.of(byte * 0x01010101, 0, 0, 0);
    const after = access("load", 130, XYZW, words);
    const encoded = byte / 255;
    const linear = encoded <= 0.04045 ? encoded / 12.92 : Math.pow((encoded + 0.055) / 1.055, 2.4);
    assertEquals([after.v(0), after.v(3)], [f32(linear), f32(encoded)]);
    assertEquals(stored(130, [0, 1, 2, 3].map((k) => after.v(k)))[0], words[0]);
  }
});

Deno.test("shared exponents: the largest component chooses, the others are rounded to its steps", () => {
  // 1 -> 256 * 2^-8; 1/512 is half a step.
  assertEquals(stored(132, [1, 1 / 512, 1 / 1024].map(f32), XYZ1)[0], (16 << 27 | 0 << 18 | 1 << 9 | 256) >>> 0);
  // 511.75/256 would be mantissa 512, so that the exponent goes up.
  assertEquals(stored(132, [511.75 / 256, 0, -1].map(f32), XYZ1)[0], (17 << 27 | 256) >>> 0);
  assertEquals(stored(132, [1e9, 0, NaN].map(f32), XYZ1)[0], (31 << 27 | 511) >>> 0);
});

Deno.test("loads give as many components as the opcode names", () => {
  const words = Uint32Array.of(0x04030201, 0, 0, 0);
  const s = descriptor(60);
  const v = { 0: 9, 1: 9, 2: 9, 3: 9 };
  assertEquals(at(asm`buffer_load_format_x v0, off, s[4:7], 0`, s, words, v).lanes(0, 1), [1]);
  const two = at(asm`buffer_load_format_xy v[0:1], off, s[4:7], 0`, s, words, v);
  assertEquals([0, 1, 2, 3].map((k) => two.v(k)), [1, 2, 9, 9]);
  const three = at(asm`buffer_load_format_xyz v[0:2], off, s[4:7], 0`, s, words, v);
  assertEquals([0, 1, 2, 3].map((k) => three.v(k)), [1, 2, 3, 9]);
});

Deno.test("stores write the components the opcode names and zeros for the others", () => {
  const rows: [Program, number][] = [
    [asm`buffer_store_format_x v0, off, s[4:7], 0`, 0x00000001],
    [asm`buffer_store_format_xy v[0:1], off, s[4:7], 0`, 0x00000201],
    [asm`buffer_store_format_xyz v[0:2], off, s[4:7], 0`, 0x00030201],
    [asm`buffer_store_format_xyzw v[0:3], off, s[4:7], 0`, 0x04030201],
  ];
  for (const [program, expected] of rows) {
    const words = Uint32Array.of(0xffffffff, 0, 0, 0);
    at(program, descriptor(60), words, { 0: 1, 1: 2, 2: 3, 3: 4 });
    assertEquals(words[0], expected, program.lines[0]);
  }
});

Deno.test("selectors choose the component of each register, zero or one", () => {
  const words = Uint32Array.of(0x04030201, 0, 0, 0);
  // Z, Y, X, 1; then 0, 1, W, W.
  const turned = at(LOAD, descriptor(60, 6 | 5 << 3 | 4 << 6 | 1 << 9), words);
  assertEquals([0, 1, 2, 3].map((k) => turned.v(k)), [3, 2, 1, 1]);
  const constant = at(LOAD, descriptor(56, 0 | 1 << 3 | 7 << 6 | 7 << 9), words);
  assertEquals([0, 1, 2, 3].map((k) => constant.v(k)), [0, f32(1), f32(4 / 255), f32(4 / 255)]);
  // Stores go the other way: register 0 is Z.
  assertEquals(stored(60, [1, 2, 3, 4], 6 | 5 << 3 | 4 << 6 | 7 << 9)[0], 0x04010203);
});

Deno.test("out of range: format accesses read zeros, to which selectors still apply, and write nothing", () => {
  const s = { ...descriptor(77, XYZ1), 6: 15 };
  const words = Uint32Array.of(1, 2, 3, 4);
  const after = at(LOAD, s, words);
  // The last dword starts at 12, which is inside; dwords are what is compared.
  assertEquals([0, 1, 2, 3].map((k) => after.v(k)), [1, 2, 3, f32(1)]);
  const outside = at(LOAD, { ...s, 6: 12 }, words);
  assertEquals([0, 1, 2, 3].map((k) => outside.v(k)), [0, 0, 0, f32(1)]);
  at(STORE, { ...s, 6: 12 }, words, { 0: 9 });
  assertEquals(words[0], 1);
});

Deno.test("typed buffers take the format of the instruction", () => {
  const words = Uint32Array.of(0x00ff8040, 0x11223344, 0, 0);
  const s = descriptor(22);
  const load = at(asm`tbuffer_load_format_xyzw v[0:3], off, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UNORM]`, s, words);
  assertEquals([0, 1, 2, 3].map((k) => load.v(k)), [64 / 255, 128 / 255, 1, 0].map(f32));
  const one = at(asm`tbuffer_load_format_x v0, off, s[4:7], 0 format:[BUF_FMT_16_UINT] offset:4`, s, words);
  assertEquals(one.v(0), 0x3344);
  const xy = at(asm`tbuffer_load_format_xy v[0:1], off, s[4:7], 0 format:[BUF_FMT_16_16_SINT]`, s, words);
  assertEquals([xy.v(0), xy.v(1)], [u32(-0x7fc0), 0xff]);
  const xyz = at(asm`tbuffer_load_format_xyz v[0:2], off, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UINT]`, s, words);
  assertEquals([xyz.v(0), xyz.v(1), xyz.v(2)], [0x40, 0x80, 0xff]);
  at(asm`tbuffer_store_format_x v0, off, s[4:7], 0 format:[BUF_FMT_32_FLOAT]`, s, words, { 0: f32(1) });
  assertEquals(words[0], f32(1));
  at(asm`tbuffer_store_format_xy v[0:1], off, s[4:7], 0 format:[BUF_FMT_16_16_FLOAT]`, s, words, {
    0: f32(1),
    1: f32(2),
  });
  assertEquals(words[0], f16(1) | f16(2) << 16);
  at(asm`tbuffer_store_format_xyz v[0:2], off, s[4:7], 0 format:[BUF_FMT_32_32_32_UINT]`, s, words, {
    0: 1,
    1: 2,
    2: 3,
  });
  at(asm`tbuffer_store_format_xyzw v[0:3], off, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UINT] offset:12`, s, words, {
    0: 4,
    1: 5,
    2: 6,
    3: 7,
  });
  assertEquals([...words], [1, 2, 3, 0x07060504]);
});

Deno.test("D16 loads give packed f16 or the low 16 bits of integers", () => {
  const words = Uint32Array.of(0x00ff8040, 0, 0, 0);
  const xyzw = asm`buffer_load_format_d16_xyzw v[0:1], off, s[4:7], 0`;
  const unorm = at(xyzw, descriptor(56), words);
  assertEquals([unorm.v(0), unorm.v(1)], [f16(64 / 255) | f16(128 / 255) << 16, f16(1)]);
  const sint = at(xyzw, descriptor(61), words);
  assertEquals([sint.v(0), sint.v(1)], [0xff800040, 0x0000ffff]);
  const x = at(asm`buffer_load_format_d16_x v0, off, s[4:7], 0`, descriptor(56), words, { 0: 0x99999999 });
  assertEquals(x.v(0) & 0xffff, f16(64 / 255));
  const xy = at(asm`buffer_load_format_d16_xy v0, off, s[4:7], 0`, descriptor(56), words);
  assertEquals(xy.v(0), f16(64 / 255) | f16(128 / 255) << 16);
  const xyz = at(asm`buffer_load_format_d16_xyz v[0:1], off, s[4:7], 0`, descriptor(56), words);
  assertEquals([xyz.v(0), xyz.v(1) & 0xffff], [f16(64 / 255) | f16(128 / 255) << 16, f16(1)]);
  const high = at(asm`buffer_load_format_d16_hi_x v0, off, s[4:7], 0`, descriptor(56), words, { 0: 0x12345678 });
  assertEquals(high.v(0), (f16(64 / 255) << 16 | 0x5678) >>> 0);
  const typed = asm`tbuffer_load_format_d16_xy v0, off, s[4:7], 0 format:[BUF_FMT_8_8_8_8_UINT]`;
  assertEquals(at(typed, descriptor(22), words).v(0), 0x00800040);
});

Deno.test("D16 stores take packed halves", () => {
  const store = (program: Program, format: number, v: Record<number, number>) => {
    const words = new Uint32Array(4);
    at(program, descriptor(format), words, v);
    return words[0];
  };
  const floats = { 0: f16(1) | f16(0.5) << 16, 1: f16(-1) | f16(0.25) << 16 };
  assertEquals(store(asm`buffer_store_format_d16_xyzw v[0:1], off, s[4:7], 0`, 56, floats), 0x400080ff);
  assertEquals(store(asm`buffer_store_format_d16_xyz v[0:1], off, s[4:7], 0`, 56, floats), 0x000080ff);
  assertEquals(store(asm`buffer_store_format_d16_xy v0, off, s[4:7], 0`, 56, floats), 0x000080ff);
  assertEquals(store(asm`buffer_store_format_d16_x v0, off, s[4:7], 0`, 56, floats), 0x000000ff);
  assertEquals(store(asm`buffer_store_format_d16_hi_x v0, off, s[4:7], 0`, 56, floats), 0x00000080);
  // Integers extend by the format's sign before they are limited.
  const integers = { 0: 0x0005ffff, 1: 0x0102_8000 };
  assertEquals(store(asm`buffer_store_format_d16_xyzw v[0:1], off, s[4:7], 0`, 61, integers), 0x7f8005ff);
  assertEquals(store(asm`buffer_store_format_d16_xyzw v[0:1], off, s[4:7], 0`, 60, integers), 0xffff05ff);
  const typed = asm`tbuffer_store_format_d16_xy v0, off, s[4:7], 0 format:[BUF_FMT_16_16_FLOAT]`;
  assertEquals(store(typed, 22, floats), floats[0]);
});

Deno.test("formats that are reserved, and a component that does not exist, are refused by name", () => {
  const words = new Uint32Array(4);
  for (const format of [0, 78, 127]) {
    assertThrows(() => at(LOAD, descriptor(format), words), RefusedError, `the data format ${format}`);
  }
  assertThrows(() => at(LOAD, descriptor(74), words), RefusedError, "the fourth component of 32_32_32_FLOAT");
  assertThrows(() => at(LOAD, descriptor(60, 2), words), RefusedError, "selector 2 is reserved");
});
