/**
 * Vector comparisons (AMD RDNA2 ISA, section 12.9): v_cmp writes a lane mask, v_cmpx writes EXEC (and nothing else on this family). Lanes that are not
 * active give 0.
 */
import type { Instruction } from "../../instruction.ts";
import { opcodeId, OPCODES } from "../../table.ts";
import { VOPC_RUNS } from "../../table/vopc.ts";
import { f16Value, f32Value, f64Value } from "../float/bits.ts";
import { input16 } from "../float/f16.ts";
import { input32 } from "../float/f32.ts";
import { input64 } from "../float/f64.ts";
import type { FloatMode } from "../float/mode.ts";
import type { Define, Handler } from "../handler.ts";
import type { Wave } from "../machine/wave.ts";
import { setMask } from "../operands/scalar.ts";
import { beginVector, fetchOf, isWide, NARROW, WIDE } from "../operands/vector.ts";

type Compare<T> = (a: T, b: T) => boolean;

/** Conditions on numbers; a NaN makes every ordered one false. */
const FLOAT: Readonly<Record<string, Compare<number>>> = {
  f: () => false,
  lt: (a, b) => a < b,
  eq: (a, b) => a === b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  lg: (a, b) => a < b || a > b,
  ge: (a, b) => a >= b,
  o: (a, b) => a === a && b === b,
  u: (a, b) => a !== a || b !== b,
  nge: (a, b) => !(a >= b),
  nlg: (a, b) => !(a < b || a > b),
  ngt: (a, b) => !(a > b),
  nle: (a, b) => !(a <= b),
  neq: (a, b) => a !== b,
  nlt: (a, b) => !(a < b),
  tru: () => true,
};

const INTEGER: Readonly<Record<string, Compare<number | bigint>>> = {
  f: () => false,
  lt: (a, b) => a < b,
  eq: (a, b) => a === b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ne: (a, b) => a !== b,
  ge: (a, b) => a >= b,
  t: () => true,
};

/** The number that a source's bits stand for, by type. */
// deno-lint-ignore no-explicit-any
const VALUES: Readonly<Record<string, (m: FloatMode, bits: any) => number | bigint>> = {
  f32: (m, bits: number) => f32Value(input32(m, bits)),
  f16: (m, bits: number) => f16Value(input16(m, bits)),
  f64: (m, bits: bigint) => f64Value(input64(m, bits)),
  i32: (_m, bits: number) => bits,
  u32: (_m, bits: number) => bits >>> 0,
  i16: (_m, bits: number) => bits << 16 >> 16,
  u16: (_m, bits: number) => bits,
  i64: (_m, bits: bigint) => BigInt.asIntN(64, bits),
  u64: (_m, bits: bigint) => bits,
};

/** Adds the handlers of this class. */
export function defineCompares(define: Define): void {
  for (const { type, conditions } of VOPC_RUNS) {
    for (const condition of conditions) {
      for (const prefix of ["v_cmp", "v_cmpx"]) {
        const name = `${prefix}_${condition}_${type}`;
        define(name, condition === "class" ? classHandler(name, type) : compareHandler(name, type, condition));
      }
    }
  }
}

/** A handler that writes the mask of the active lanes for which `test` holds. */
function maskHandler(name: string, test: (m: FloatMode, lane: number) => boolean): Handler {
  const opcode = OPCODES[opcodeId(name)];
  const [first, second] = [fetchOf(opcode, 0), fetchOf(opcode, 1)];
  return (w: Wave, i: Instruction) => {
    beginVector(w, i);
    first(w, i, 0);
    second(w, i, 1);
    const m = w.mode;
    let lo = 0, hi = 0;
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane) || !test(m, lane)) continue;
      if (lane < 32) lo |= 1 << lane;
      else hi |= 1 << (lane - 32);
    }
    setMask(w, i, i.sdst, lo, hi);
  };
}

function compareHandler(name: string, type: string, condition: string): Handler {
  const value = VALUES[type];
  const compare = (type[0] === "f" ? FLOAT : INTEGER)[condition] as Compare<number | bigint>;
  const buffers = isWide(OPCODES[opcodeId(name)].src[0]) ? WIDE : NARROW;
  const [a, b] = buffers;
  return maskHandler(name, (m, lane) => compare(value(m, a[lane]), value(m, b[lane])));
}

/** Shape of a float format: what v_cmp_class looks at. */
interface ClassFormat {
  sign: bigint;
  /** Bits of infinity. */
  infinity: bigint;
  /** Bits of the smallest normal number. */
  normal: bigint;
  /** The bit that makes a NaN quiet. */
  quiet: bigint;
}

const FORMATS: Readonly<Record<string, ClassFormat>> = {
  f16: { sign: 1n << 15n, infinity: 0x7c00n, normal: 0x400n, quiet: 0x200n },
  f32: { sign: 1n << 31n, infinity: 0x7f800000n, normal: 0x800000n, quiet: 0x400000n },
  f64: { sign: 1n << 63n, infinity: 0x7ffn << 52n, normal: 1n << 52n, quiet: 1n << 51n },
};

/**
 * Class of a float: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity (AMD RDNA2
 * ISA, V_CMP_CLASS_F32). Denormals count as what they are, whatever MODE says.
 */
function floatClass(bits: bigint, type: string): number {
  const { sign, infinity, normal, quiet } = FORMATS[type];
  const size = bits & sign - 1n;
  if (size > infinity) return (size & quiet) === 0n ? 0 : 1;
  const positive = size === infinity ? 9 : size >= normal ? 8 : size > 0n ? 7 : 6;
  return (bits & sign) !== 0n ? 11 - positive : positive;
}

function classHandler(name: string, type: string): Handler {
  const source = isWide(OPCODES[opcodeId(name)].src[0]) ? WIDE[0] : NARROW[0];
  const classes = NARROW[1];
  const width = type === "f64" ? 64 : 32;
  return maskHandler(
    name,
    (_m, lane) => (classes[lane] >>> floatClass(BigInt.asUintN(width, BigInt(source[lane])), type) & 1) !== 0,
  );
}
