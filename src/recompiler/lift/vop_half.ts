/**
 * Vector f16 operations (AMD RDNA2 ISA, sections 12.7, 12.8, 12.10). Sums and products are operations on bits; the rest is computed in f32, which
 * holds every f16 number, and rounded once.
 */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import {
  flushHalf,
  halfBitsSource,
  halfFloatSource,
  halfInput,
  int16Source,
  joinHalves,
  lowHalf,
  writeHalfFloat,
  writeHalfInt,
} from "./half.ts";
import { floatSource, intSource, writeVector } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineHalf(define: Define): void {
  defineArithmetic(define);
  defineMinMax(define);
  defineUnary(define);
  defineConversions(define);
  define(
    "v_ldexp_f16",
    (l, i) => writeHalfFloat(l, i, scaleHalf(l, halfFloatSource(l, i, 0), int16Source(l, i, 1, true))),
  );
  define("v_frexp_exp_i16_f16", (l, i) => writeHalfInt(l, i, halfExponent(l, halfFloatSource(l, i, 0))));
  define("v_frexp_mant_f16", (l, i) => writeHalfFloat(l, i, halfMantissa(l, halfFloatSource(l, i, 0))));
  // Moves two halves. Denormals are flushed as operands and as results are (Mesa's ACO packs with it only where MODE keeps f16 denormals); signalling NaNs become
  // quiet in IEEE mode (ROCm/rocm-systems, rocjitsu, conversion.h and fp_mode.h).
  define("v_pack_b32_f16", (l, i) => {
    refuseOutput(i);
    const half = (n: number) => {
      const source = halfBitsSource(l, i, n);
      const bits = l.modes.keepsInputs16 && !l.modes.keepsResults16 ? flushHalf(l, source) : source;
      return l.request.ieee ? quietHalf(l, bits) : bits;
    };
    writeVector(l, i, joinHalves(l, half(0), half(1)));
  });
}

function quietHalf(l: Lifter, bits: number): number {
  const { ir } = l;
  const isNan = ir.emit(Op.ULt, l.u(0x7c00), ir.emit(Op.And, bits, l.u(0x7fff)));
  return l.select(isNan, ir.emit(Op.Or, bits, l.u(0x200)), bits);
}

function refuseOutput(i: Instruction): void {
  if (i.omod !== 0) refuse("an output modifier on packed halves");
  if (i.flags & Flag.Clamp) refuse("clamp on packed halves");
}

type Compute = (l: Lifter, a: number, b: number, c: number) => number;

/** D = f(bits of the sources), rounded once. */
function half(define: Define, name: string, sources: 1 | 2 | 3, compute: Compute): void {
  define(name, (l, i) => {
    l.modes.requireRounding16And64();
    const [a, b, c] = [0, 1, 2].map((n) => n < sources ? halfBitsSource(l, i, n) : 0);
    writeHalfFloat(l, i, compute(l, a, b, c));
  });
}

/** -a. */
function negateHalf(l: Lifter, bits: number): number {
  return l.ir.emit(Op.Xor, bits, l.u(0x8000));
}

function defineArithmetic(define: Define): void {
  half(define, "v_add_f16", 2, (l, a, b) => l.ir.emit(Op.HAdd, a, b, 1));
  half(define, "v_sub_f16", 2, (l, a, b) => l.ir.emit(Op.HAdd, a, negateHalf(l, b), 1));
  half(define, "v_subrev_f16", 2, (l, a, b) => l.ir.emit(Op.HAdd, b, negateHalf(l, a), 1));
  half(define, "v_mul_f16", 2, (l, a, b) => l.ir.emit(Op.HMul, a, b, 1));
  for (const name of ["v_fma_f16", "v_fmamk_f16", "v_fmaak_f16"]) {
    half(define, name, 3, (l, a, b, c) => l.ir.emit(Op.HFma, a, b, c, 1));
  }
  define("v_fmac_f16", (l, i) => {
    l.modes.requireRounding16And64();
    const a = halfBitsSource(l, i, 0), b = halfBitsSource(l, i, 1);
    const c = halfInput(l, lowHalf(l, l.asU(l.source(i.dst))));
    writeHalfFloat(l, i, l.ir.emit(Op.HFma, a, b, c, 1));
  });
}

function defineMinMax(define: Define): void {
  const define1 = (name: string, sources: 2 | 3, compute: Compute) => {
    define(name, (l, i) => {
      const [a, b, c] = [0, 1, 2].map((n) => n < sources ? halfBitsSource(l, i, n) : 0);
      writeHalfFloat(l, i, compute(l, a, b, c));
    });
  };
  for (const [name, op] of [["min", Op.FMin], ["max", Op.FMax]] as const) {
    define1(`v_${name}_f16`, 2, (l, a, b) => pickHalf(l, op, a, b));
    define1(`v_${name}3_f16`, 3, (l, a, b, c) => pickHalf(l, op, pickHalf(l, op, a, b), c));
  }
  define1("v_med3_f16", 3, (l, a, b, c) => {
    const { ir } = l;
    const [x, y, z] = [a, b, c].map((bits) => ir.emit(Op.CvtH2F, bits));
    const median = ir.emit(Op.FMax, ir.emit(Op.FMin, x, y), ir.emit(Op.FMin, ir.emit(Op.FMax, x, y), z));
    const anyNan = [x, y, z].map((id) => ir.emit(Op.FIsNan, id)).reduce((p, q) => l.or(p, q));
    // With a NaN among the operands the result is that of v_min3.
    const smallest = pickHalf(l, Op.FMin, pickHalf(l, Op.FMin, a, b), c);
    return l.select(anyNan, smallest, ir.emit(Op.CvtF2H, median));
  });
}

/** min or max of two; NaNs as in v_min_f32. */
export function pickHalf(l: Lifter, op: number, a: number, b: number): number {
  const { ir } = l;
  let result = ir.emit(Op.CvtF2H, ir.emit(op, ir.emit(Op.CvtH2F, a), ir.emit(Op.CvtH2F, b)));
  if (!l.request.ieee) return result;
  for (const operand of [b, a]) {
    const size = ir.emit(Op.And, operand, l.u(0x7fff));
    const signalling = ir.emit(Op.ULt, ir.emit(Op.ISub, size, l.u(0x7c01)), l.u(0x1ff));
    result = l.select(signalling, ir.emit(Op.Or, operand, l.u(0x200)), result);
  }
  return result;
}

/** D = f(S0) in f32, rounded. Functions are within half a unit in the last place of f16, plus the device's own error in f32. */
function defineUnary(define: Define): void {
  const OPERATIONS = {
    rcp: Op.FRcp,
    sqrt: Op.FSqrt,
    rsq: Op.FRsq,
    log: Op.FLog2,
    exp: Op.FExp2,
    sin: Op.FSin,
    cos: Op.FCos,
    floor: Op.FFloor,
    ceil: Op.FCeil,
    trunc: Op.FTrunc,
    rndne: Op.FRndne,
  };
  for (const [name, op] of Object.entries(OPERATIONS)) {
    define(`v_${name}_f16`, (l, i) => {
      l.modes.requireRounding16And64();
      writeHalfFloat(l, i, l.ir.emit(Op.CvtF2H, l.ir.emit(op, halfFloatSource(l, i, 0))));
    });
  }
  // a - floor(a), exact in f32, and below 1 (see v_fract_f32).
  define("v_fract_f16", (l, i) => {
    l.modes.requireRounding16And64();
    const { ir } = l;
    const a = halfFloatSource(l, i, 0);
    const rounded = ir.emit(Op.CvtF2H, ir.emit(Op.FSub, a, ir.emit(Op.FFloor, a)));
    // NaN has larger bits than 1.
    const isOne = ir.emit(Op.IEq, rounded, l.u(0x3c00));
    writeHalfFloat(l, i, l.select(isOne, l.u(0x3bff), rounded));
  });
}

/** a * 2^n rounded once: beyond 2^+-100 every f16 number is infinite or zero. */
function scaleHalf(l: Lifter, a: number, n: number): number {
  const { ir } = l;
  const limited = ir.emit(Op.SMin, ir.emit(Op.SMax, n, l.u(-100)), l.u(100));
  const factor = l.asF(ir.emit(Op.Shl, l.addConstant(limited, 127), l.u(23)));
  return ir.emit(Op.CvtF2H, ir.emit(Op.FMul, a, factor));
}

/** Whether an f32 value from an f16 one is zero, infinite or NaN. */
function hasNoExponent(l: Lifter, bits: number): number {
  const { ir } = l;
  const field = ir.emit(Op.UBfe, bits, l.u(23), l.u(8));
  return l.or(ir.emit(Op.IEq, field, l.u(0)), ir.emit(Op.IEq, field, l.u(255)));
}

/** n of a = m * 2^n with |m| in 0.5..1; 0 for zero, infinity and NaN. No f16 number is an f32 denormal. */
function halfExponent(l: Lifter, a: number): number {
  const { ir } = l;
  const bits = l.asU(a);
  const exponent = ir.emit(Op.ISub, ir.emit(Op.UBfe, bits, l.u(23), l.u(8)), l.u(126));
  return l.select(hasNoExponent(l, bits), l.u(0), exponent);
}

/** m of the same. */
function halfMantissa(l: Lifter, a: number): number {
  const { ir } = l;
  const bits = l.asU(a);
  const mantissa = ir.emit(Op.Or, ir.emit(Op.And, bits, l.u(0x807fffff)), l.u(0x3f000000));
  return ir.emit(Op.CvtF2H, l.asF(l.select(hasNoExponent(l, bits), bits, mantissa)));
}

function defineConversions(define: Define): void {
  for (const [name, op, signed] of [["u16", Op.CvtU2F, false], ["i16", Op.CvtS2F, true]] as const) {
    define(`v_cvt_f16_${name}`, (l, i) => {
      l.modes.requireRounding16And64();
      writeHalfFloat(l, i, l.ir.emit(Op.CvtF2H, l.ir.emit(op, int16Source(l, i, 0, signed))));
    });
  }
  define("v_cvt_u16_f16", (l, i) => {
    const { ir } = l;
    writeHalfInt(l, i, ir.emit(Op.UMin, ir.emit(Op.CvtF2U, halfFloatSource(l, i, 0)), l.u(0xffff)));
  });
  define("v_cvt_i16_f16", (l, i) => {
    const { ir } = l;
    const value = ir.emit(Op.CvtF2S, halfFloatSource(l, i, 0));
    writeHalfInt(l, i, ir.emit(Op.SMin, ir.emit(Op.SMax, value, l.u(-0x8000)), l.u(0x7fff)));
  });
  define("v_cvt_norm_i16_f16", (l, i) => writeHalfInt(l, i, normalized(l, halfFloatSource(l, i, 0), true)));
  define("v_cvt_norm_u16_f16", (l, i) => writeHalfInt(l, i, normalized(l, halfFloatSource(l, i, 0), false)));
  for (const [name, read] of [["f16", halfFloatSource], ["f32", floatSource]] as const) {
    for (const [type, signed] of [["i16", true], ["u16", false]] as const) {
      define(`v_cvt_pknorm_${type}_${name}`, (l, i) => {
        refuseOutput(i);
        writeVector(l, i, joinHalves(l, normalized(l, read(l, i, 0), signed), normalized(l, read(l, i, 1), signed)));
      });
    }
  }
  // Each 16-bit half clamped to 0..255, side by side in the low half; the upper half is zero (AMD RDNA2 ISA, V_SAT_PK_U8_I16).
  define("v_sat_pk_u8_i16", (l, i) => {
    const { ir } = l;
    const both = intSource(l, i, 0);
    const byte = (offset: number) => {
      const value = ir.emit(Op.SBfe, both, l.u(offset), l.u(16));
      return ir.emit(Op.SMin, ir.emit(Op.SMax, value, l.u(0)), l.u(255));
    };
    writeVector(l, i, ir.emit(Op.Or, byte(0), ir.emit(Op.Shl, byte(16), l.u(8))));
  });
}

/**
 * A number clamped to -1..1 (0..1) as a 16-bit fraction of 32767 (65535), to nearest even; NaN gives 0 (Vulkan and Direct3D's rule for normalized
 * numbers). The product with 2^n - 1 is x * 2^n - x, rounded to odd so that rounding to an integer is the only rounding.
 */
function normalized(l: Lifter, value: number, signed: boolean): number {
  const { ir } = l;
  const low = ir.constF(signed ? 0xbf800000 : 0);
  const clamped = ir.emit(Op.FMin, ir.emit(Op.FMax, value, low), ir.constF(0x3f800000));
  const scaled = ir.emit(Op.FMul, clamped, ir.constF(signed ? 0x47000000 : 0x47800000));
  const product = ir.emit(Op.FAddOdd, scaled, ir.emit(Op.FNeg, clamped));
  const whole = ir.emit(Op.CvtF2S, ir.emit(Op.FRndne, product));
  return l.select(ir.emit(Op.FIsNan, value), l.u(0), whole);
}
