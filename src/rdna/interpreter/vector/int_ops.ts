/** Vector integer and bit operations (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). */
import type { Define } from "../handler.ts";
import { defineVop, type Kernel } from "./framework.ts";

const i24 = (a: number) => a << 8 >> 8;
const u24 = (a: number) => a & 0xffffff;
const i16 = (a: number) => a << 16 >> 16;
const u32 = (a: number) => a >>> 0;

/** High 32 bits of a product of two integers, signed or not. */
function mulHigh(a: bigint, b: bigint): number {
  return Number(BigInt.asIntN(32, a * b >> 32n));
}

/** Number of set bits. */
export function bitCount(a: number): number {
  a -= a >>> 1 & 0x55555555;
  a = (a & 0x33333333) + (a >>> 2 & 0x33333333);
  return Math.imul(a + (a >>> 4) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The bits in reverse order. */
export function bitReverse(a: number): number {
  a = (a & 0x55555555) << 1 | a >>> 1 & 0x55555555;
  a = (a & 0x33333333) << 2 | a >>> 2 & 0x33333333;
  a = (a & 0x0f0f0f0f) << 4 | a >>> 4 & 0x0f0f0f0f;
  a = (a & 0x00ff00ff) << 8 | a >>> 8 & 0x00ff00ff;
  return a << 16 | a >>> 16;
}

/** Position of the lowest set bit; -1 when there is none. */
export function findLow(a: number): number {
  return a === 0 ? -1 : 31 - Math.clz32(a & -a);
}

/** Zeros in front of the highest set bit; -1 when there is none. */
export function findHigh(a: number): number {
  return a === 0 ? -1 : Math.clz32(a);
}

/** Bits in front of the highest one that differs from the sign; -1 when all are equal. */
export function findHighSigned(a: number): number {
  return findHigh(a < 0 ? ~a : a);
}

function bfe(a: number, offset: number, width: number, signed: boolean): number {
  offset &= 31;
  width &= 31;
  if (width === 0) return 0;
  const shifted = signed ? a >> offset : a >>> offset;
  // What lies above bit 31 is zeros or the sign already.
  return signed ? shifted << 32 - width >> 32 - width : shifted & (1 << width) - 1;
}

/** Median of three. */
function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

const byte = (a: number, n: number) => a >>> n * 8 & 0xff;

/** Sum of the absolute differences of four bytes; with `masked`, bytes that are 0 in the reference b do not count. */
function sad8(a: number, b: number, masked: boolean): number {
  let sum = 0;
  for (let n = 0; n < 4; n++) {
    if (!masked || byte(b, n) !== 0) sum += Math.abs(byte(a, n) - byte(b, n));
  }
  return sum;
}

/** Four sums over bytes 0..3, 1..4, 2..5 and 3..6 of a, added to four 16-bit numbers. */
function quadSad(a: bigint, b: number, c: bigint, masked: boolean): bigint {
  let result = 0n;
  for (let n = 0n; n < 4n; n++) {
    const window = Number(BigInt.asIntN(32, a >> n * 8n));
    const sum = BigInt(sad8(window, b, masked)) + (c >> n * 16n & 0xffffn);
    result |= (sum & 0xffffn) << n * 16n;
  }
  return result;
}

/** Byte `select` of v_perm_b32: 0..3 of b, 4..7 of a, 8..11 the sign of a half, 12 zero, above all ones. */
function permByte(a: number, b: number, select: number): number {
  if (select < 8) return byte(select < 4 ? b : a, select & 3);
  if (select < 12) return (select < 10 ? b : a) >>> (select & 1 ? 31 : 15) & 1 ? 0xff : 0;
  return select === 12 ? 0 : 0xff;
}

function perm(a: number, b: number, selectors: number): number {
  let result = 0;
  for (let n = 0; n < 4; n++) result |= permByte(a, b, byte(selectors, n)) << n * 8;
  return result;
}

/** (a : b) >> shift, low 32 bits; shift below 32. */
function align(a: number, b: number, shift: number): number {
  return shift === 0 ? b : b >>> shift | a << 32 - shift;
}

function lerp(a: number, b: number, c: number): number {
  let result = 0;
  for (let n = 0; n < 4; n++) result |= byte(a, n) + byte(b, n) + (byte(c, n) & 1) >>> 1 << n * 8;
  return result;
}

/** Bit patterns; modifiers are refused. */
const BITS: Readonly<Record<string, Kernel>> = {
  v_mov_b32: (_m, a) => a,
  v_not_b32: (_m, a: number) => ~a,
  v_bfrev_b32: (_m, a) => bitReverse(a),
  v_ffbh_u32: (_m, a) => findHigh(a),
  v_ffbl_b32: (_m, a) => findLow(a),
  v_ffbh_i32: (_m, a) => findHighSigned(a),
  v_cndmask_b32: (_m, a, b, c) => c ? b : a,
  v_lshrrev_b32: (_m, a: number, b: number) => b >>> a,
  v_ashrrev_i32: (_m, a: number, b: number) => b >> a,
  v_lshlrev_b32: (_m, a: number, b: number) => b << a,
  v_and_b32: (_m, a: number, b: number) => a & b,
  v_or_b32: (_m, a: number, b: number) => a | b,
  v_xor_b32: (_m, a: number, b: number) => a ^ b,
  v_xnor_b32: (_m, a: number, b: number) => ~(a ^ b),
  v_min_i32: (_m, a: number, b: number) => Math.min(a, b),
  v_max_i32: (_m, a: number, b: number) => Math.max(a, b),
  v_min_u32: (_m, a: number, b: number) => Math.min(u32(a), u32(b)),
  v_max_u32: (_m, a: number, b: number) => Math.max(u32(a), u32(b)),
  v_min3_i32: (_m, a: number, b: number, c: number) => Math.min(a, b, c),
  v_max3_i32: (_m, a: number, b: number, c: number) => Math.max(a, b, c),
  v_med3_i32: (_m, a, b, c) => median(a, b, c),
  v_min3_u32: (_m, a: number, b: number, c: number) => Math.min(u32(a), u32(b), u32(c)),
  v_max3_u32: (_m, a: number, b: number, c: number) => Math.max(u32(a), u32(b), u32(c)),
  v_med3_u32: (_m, a, b, c) => median(u32(a), u32(b), u32(c)),
  v_bfe_u32: (_m, a, b, c) => bfe(a, b, c, false),
  v_bfe_i32: (_m, a, b, c) => bfe(a, b, c, true),
  v_bfi_b32: (_m, a: number, b: number, c: number) => a & b | ~a & c,
  v_bfm_b32: (_m, a: number, b: number) => (1 << (a & 31)) - 1 << (b & 31),
  v_alignbit_b32: (_m, a, b, c: number) => align(a, b, c & 31),
  v_alignbyte_b32: (_m, a, b, c: number) => align(a, b, (c & 3) * 8),
  v_perm_b32: (_m, a, b, c) => perm(a, b, c),
  v_lerp_u8: (_m, a, b, c) => lerp(a, b, c),
  v_xor3_b32: (_m, a: number, b: number, c: number) => a ^ b ^ c,
  v_or3_b32: (_m, a: number, b: number, c: number) => a | b | c,
  v_and_or_b32: (_m, a: number, b: number, c: number) => a & b | c,
  v_lshl_or_b32: (_m, a: number, b: number, c: number) => a << b | c,
  v_lshl_add_u32: (_m, a: number, b: number, c: number) => (a << b) + c | 0,
  v_add_lshl_u32: (_m, a: number, b: number, c: number) => (a + b | 0) << c,
  v_xad_u32: (_m, a: number, b: number, c: number) => (a ^ b) + c | 0,
  v_add3_u32: (_m, a: number, b: number, c: number) => a + b + c | 0,
  v_bcnt_u32_b32: (_m, a: number, b: number) => bitCount(a) + b | 0,
  v_mul_lo_u32: (_m, a, b) => Math.imul(a, b),
  v_mul_lo_i32: (_m, a, b) => Math.imul(a, b),
  v_mul_hi_u32: (_m, a: number, b: number) => mulHigh(BigInt(a >>> 0), BigInt(b >>> 0)),
  v_mul_hi_i32: (_m, a: number, b: number) => mulHigh(BigInt(a), BigInt(b)),
  v_mul_hi_i32_i24: (_m, a: number, b: number) => Math.floor(i24(a) * i24(b) / 2 ** 32),
  v_mul_hi_u32_u24: (_m, a: number, b: number) => Math.floor(u24(a) * u24(b) / 2 ** 32),
  v_lshlrev_b64: (_m, a: number, b: bigint) => BigInt.asUintN(64, b << BigInt(a & 63)),
  v_lshrrev_b64: (_m, a: number, b: bigint) => b >> BigInt(a & 63),
  v_ashrrev_i64: (_m, a: number, b: bigint) => BigInt.asUintN(64, BigInt.asIntN(64, b) >> BigInt(a & 63)),
  v_lshrrev_b16: (_m, a: number, b: number) => b >>> (a & 15),
  v_ashrrev_i16: (_m, a: number, b: number) => i16(b) >> (a & 15),
  v_lshlrev_b16: (_m, a: number, b: number) => b << (a & 15),
  v_max_u16: (_m, a: number, b: number) => Math.max(a, b),
  v_min_u16: (_m, a: number, b: number) => Math.min(a, b),
  v_max_i16: (_m, a: number, b: number) => Math.max(i16(a), i16(b)),
  v_min_i16: (_m, a: number, b: number) => Math.min(i16(a), i16(b)),
  v_min3_i16: (_m, a: number, b: number, c: number) => Math.min(i16(a), i16(b), i16(c)),
  v_max3_i16: (_m, a: number, b: number, c: number) => Math.max(i16(a), i16(b), i16(c)),
  v_med3_i16: (_m, a, b, c) => median(i16(a), i16(b), i16(c)),
  v_min3_u16: (_m, a: number, b: number, c: number) => Math.min(a, b, c),
  v_max3_u16: (_m, a: number, b: number, c: number) => Math.max(a, b, c),
  v_med3_u16: (_m, a, b, c) => median(a, b, c),
  v_mul_lo_u16: (_m, a: number, b: number) => Math.imul(a, b),
  v_qsad_pk_u16_u8: (_m, a, b, c) => quadSad(a, b, c, false),
  v_mqsad_pk_u16_u8: (_m, a, b, c) => quadSad(a, b, c, true),
};

/** Exact results, which wrap or, with clamp, saturate. */
const ARITHMETIC: Readonly<Record<string, Kernel>> = {
  v_add_nc_u32: (_m, a: number, b: number) => u32(a) + u32(b),
  v_sub_nc_u32: (_m, a: number, b: number) => u32(a) - u32(b),
  v_subrev_nc_u32: (_m, a: number, b: number) => u32(b) - u32(a),
  v_add_nc_i32: (_m, a: number, b: number) => a + b,
  v_sub_nc_i32: (_m, a: number, b: number) => a - b,
  v_add_nc_u16: (_m, a: number, b: number) => a + b,
  v_sub_nc_u16: (_m, a: number, b: number) => a - b,
  v_add_nc_i16: (_m, a: number, b: number) => i16(a) + i16(b),
  v_sub_nc_i16: (_m, a: number, b: number) => i16(a) - i16(b),
  v_mul_i32_i24: (_m, a: number, b: number) => i24(a) * i24(b),
  v_mul_u32_u24: (_m, a: number, b: number) => u24(a) * u24(b),
  v_mad_i32_i24: (_m, a: number, b: number, c: number) => i24(a) * i24(b) + c,
  v_mad_u32_u24: (_m, a: number, b: number, c: number) => u24(a) * u24(b) + u32(c),
  v_mad_u16: (_m, a: number, b: number, c: number) => a * b + c,
  v_mad_i16: (_m, a: number, b: number, c: number) => i16(a) * i16(b) + i16(c),
  v_mad_u32_u16: (_m, a: number, b: number, c: number) => a * b + u32(c),
  v_mad_i32_i16: (_m, a: number, b: number, c: number) => i16(a) * i16(b) + c,
  v_sad_u8: (_m, a, b, c: number) => sad8(a, b, false) + u32(c),
  v_msad_u8: (_m, a, b, c: number) => sad8(a, b, true) + u32(c),
  v_sad_hi_u8: (_m, a, b, c: number) => sad8(a, b, false) * 0x10000 + u32(c),
  v_sad_u16: (_m, a: number, b: number, c: number) =>
    Math.abs((a & 0xffff) - (b & 0xffff)) + Math.abs((a >>> 16) - (b >>> 16)) + u32(c),
  v_sad_u32: (_m, a: number, b: number, c: number) => Math.abs(u32(a) - u32(b)) + u32(c),
};

/** Adds the handlers of this class. */
export function defineIntegers(define: Define): void {
  for (const [name, kernel] of Object.entries(BITS)) defineVop(define, name, kernel);
  for (const [name, kernel] of Object.entries(ARITHMETIC)) defineVop(define, name, kernel, { exact: true });
}

/** Sum of absolute differences for v_mqsad_u32_u8. */
export const maskedSad8 = (a: number, b: number): number => sad8(a, b, true);
