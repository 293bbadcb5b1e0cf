import { Code, Decoration, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import type { Body } from "../body.ts";
import type { RuntimeFunctions } from "./functions.ts";

/**
 * Float operations that no single SPIR-V instruction computes exactly. Where the instruction set documents a result bit by bit (conversions,
 * minimum, maximum), these functions give it on every device; they do not rely on how a device treats denormals or NaN.
 */

/** Minimum or maximum with -0 < +0; a NaN gives the other operand. `flush`: denormal results become zeros. */
export function minMax(functions: RuntimeFunctions, max: boolean, flush: boolean): number {
  return functions.get(`${max ? "max" : "min"}${flush ? "Flush" : ""}`, T.F32, [T.F32, T.F32], (body) => {
    const [a, b] = body.parameters;
    const chosen = body.glsl(max ? Glsl.NMax : Glsl.NMin, T.F32, [a, b]);
    // Operands that compare equal differ at most in the sign of zero; NMin and NMax may return either.
    const equal = body.op2(Code.FOrdEqual, T.Bool, a, b);
    const bits = body.op2(
      max ? Code.BitwiseAnd : Code.BitwiseOr,
      T.U32,
      body.op1(Code.Bitcast, T.U32, a),
      body.op1(Code.Bitcast, T.U32, b),
    );
    const result = body.select(T.F32, equal, body.op1(Code.Bitcast, T.F32, bits), chosen);
    body.returnValue(flush ? flushed(body, result) : result);
  });
}

/** A denormal becomes a zero of its sign. */
export function flushDenormal(functions: RuntimeFunctions): number {
  return functions.get("flush", T.F32, [T.F32], (body) => body.returnValue(flushed(body, body.parameters[0])));
}

/** Code for the same. */
export function flushed(body: Body, value: number): number {
  const { module } = body;
  const bits = body.op1(Code.Bitcast, T.U32, value);
  const exponent = body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x7f800000));
  const small = body.op2(Code.IEqual, T.Bool, exponent, module.u32(0));
  const sign = body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x80000000));
  return body.op1(Code.Bitcast, T.F32, body.select(T.U32, small, sign, bits));
}

/** To an unsigned integer, toward zero, clamped; NaN gives 0. (SPIR-V leaves out-of-range conversions undefined.) */
export function toUnsigned(functions: RuntimeFunctions): number {
  return functions.get("f2u", T.U32, [T.F32], (body) => {
    const [x] = body.parameters;
    const { module } = body;
    // NClamp of NaN gives the lower bound; the upper bound is the largest float below 2^32.
    const inside = body.glsl(Glsl.NClamp, T.F32, [x, module.constant(T.F32, 0), module.constant(T.F32, 0x4f7fffff)]);
    const converted = body.op1(Code.ConvertFToU, T.U32, inside);
    const above = body.op2(Code.FOrdGreaterThanEqual, T.Bool, x, module.constant(T.F32, 0x4f800000));
    body.returnValue(body.select(T.U32, above, module.u32(0xffffffff), converted));
  });
}

/** To a signed integer, toward zero, clamped; NaN gives 0. */
export function toSigned(functions: RuntimeFunctions): number {
  return functions.get("f2s", T.U32, [T.F32], (body) => {
    const [x] = body.parameters;
    const { module } = body;
    const low = module.constant(T.F32, 0xcf000000), high = module.constant(T.F32, 0x4effffff);
    const inside = body.glsl(Glsl.NClamp, T.F32, [x, low, high]);
    const converted = body.op1(Code.ConvertFToS, T.U32, inside);
    const above = body.op2(Code.FOrdGreaterThanEqual, T.Bool, x, module.constant(T.F32, 0x4f000000));
    const clamped = body.select(T.U32, above, module.u32(0x7fffffff), converted);
    const ordered = body.op2(Code.FOrdEqual, T.Bool, x, x);
    body.returnValue(body.select(T.U32, ordered, clamped, module.u32(0)));
  });
}

const HALF_MIN_NORMAL = 0x38800000; // 2^-14 as f32
const HALF_LIMIT = 0x47800000; // 2^16 as f32
const REBIAS = 112 << 10; // difference of the exponent biases, at f16's exponent

/** To f16 bits. Rounds to nearest even, or toward zero. A NaN stays one, quiet, with the upper bits of its payload. */
export function toHalf(functions: RuntimeFunctions, towardZero: boolean): number {
  return functions.get(towardZero ? "f2hRtz" : "f2h", T.U32, [T.F32], (body) => {
    if (functions.device.exactHalfPack && !towardZero) {
      const pair = body.op2(Code.CompositeConstruct, T.F32x2, body.parameters[0], body.module.constant(T.F32, 0));
      return body.returnValue(body.glsl1(Glsl.PackHalf2x16, T.U32, pair));
    }
    const { module } = body;
    const u = (value: number) => module.u32(value);
    const bits = body.op1(Code.Bitcast, T.U32, body.parameters[0]);
    const size = body.op2(Code.BitwiseAnd, T.U32, bits, u(0x7fffffff));
    let rounded = size;
    if (!towardZero) {
      const odd = body.op3(Code.BitFieldUExtract, T.U32, size, u(13), u(1));
      rounded = body.op2(Code.IAdd, T.U32, body.op2(Code.IAdd, T.U32, size, u(0xfff)), odd);
    }
    const shifted = body.op2(Code.ShiftRightLogical, T.U32, rounded, u(13));
    const normal = body.op2(Code.ISub, T.U32, shifted, u(REBIAS));
    const denormal = towardZero ? truncatedDenormal(body, size) : roundedDenormal(body, size);
    const payload = body.op2(
      Code.BitwiseOr,
      T.U32,
      body.op3(Code.BitFieldUExtract, T.U32, size, u(13), u(10)),
      u(0x7e00),
    );
    const isNan = body.op2(Code.ULessThan, T.Bool, u(0x7f800000), size);
    let large = body.select(T.U32, isNan, payload, u(0x7c00));
    if (towardZero) {
      const finite = body.op2(Code.ULessThan, T.Bool, size, u(0x7f800000));
      large = body.select(T.U32, finite, u(0x7bff), large);
    }
    const fits = body.op2(Code.ULessThan, T.Bool, size, u(HALF_LIMIT));
    const isSmall = body.op2(Code.ULessThan, T.Bool, size, u(HALF_MIN_NORMAL));
    const result = body.select(T.U32, isSmall, denormal, body.select(T.U32, fits, normal, large));
    const sign = body.op2(
      Code.BitwiseAnd,
      T.U32,
      body.op2(Code.ShiftRightLogical, T.U32, bits, u(16)),
      u(0x8000),
    );
    body.returnValue(body.op2(Code.BitwiseOr, T.U32, result, sign));
  });
}

/** |x| * 2^24 rounded to nearest even for |x| < 2^-14: the last place of a float in 0.5..1 is 2^-24, so adding 0.5 rounds there. */
function roundedDenormal(body: Body, size: number): number {
  const { module } = body;
  const half = module.constant(T.F32, 0x3f000000);
  const sum = body.op2(Code.FAdd, T.F32, body.op1(Code.Bitcast, T.F32, size), half);
  module.decorate(sum, Decoration.NoContraction);
  return body.op2(Code.ISub, T.U32, body.op1(Code.Bitcast, T.U32, sum), module.u32(0x3f000000));
}

/** |x| * 2^24 rounded toward zero for |x| < 2^-14: the mantissa shifted right by 126 minus the exponent field. */
function truncatedDenormal(body: Body, size: number): number {
  const { module } = body;
  const exponent = body.op2(Code.ShiftRightLogical, T.U32, size, module.u32(23));
  const distance = body.op2(Code.ISub, T.U32, module.u32(126), exponent);
  const shift = body.glsl(Glsl.UMin, T.U32, [distance, module.u32(31)]);
  const fraction = body.op2(Code.BitwiseAnd, T.U32, size, module.u32(0x7fffff));
  const mantissa = body.op2(Code.BitwiseOr, T.U32, fraction, module.u32(0x800000));
  return body.op2(Code.ShiftRightLogical, T.U32, mantissa, shift);
}

/** From f16 bits in the low half; exact. */
export function fromHalf(functions: RuntimeFunctions): number {
  return functions.get("h2f", T.F32, [T.U32], (body) => {
    if (functions.device.exactHalfPack) {
      const pair = body.glsl1(Glsl.UnpackHalf2x16, T.F32x2, body.parameters[0]);
      return body.returnValue(body.extract(T.F32, pair, 0));
    }
    const { module } = body;
    const u = (value: number) => module.u32(value);
    const [bits] = body.parameters;
    const size = body.op2(Code.BitwiseAnd, T.U32, bits, u(0x7fff));
    const placed = body.op2(Code.ShiftLeftLogical, T.U32, size, u(13));
    const normal = body.op2(Code.IAdd, T.U32, placed, u(0x38000000));
    const isNan = body.op2(Code.ULessThan, T.Bool, u(0x7c00), size);
    const special = body.op2(Code.BitwiseOr, T.U32, placed, body.select(T.U32, isNan, u(0x7fc00000), u(0x7f800000)));
    const scaled = body.op2(
      Code.FMul,
      T.F32,
      body.op1(Code.ConvertUToF, T.F32, size),
      module.constant(T.F32, 0x33800000), // 2^-24
    );
    const denormal = body.op1(Code.Bitcast, T.U32, scaled);
    const isSmall = body.op2(Code.ULessThan, T.Bool, size, u(0x400));
    const isSpecial = body.op2(Code.ULessThanEqual, T.Bool, u(0x7c00), size);
    const result = body.select(T.U32, isSmall, denormal, body.select(T.U32, isSpecial, special, normal));
    const sign = body.op2(
      Code.ShiftLeftLogical,
      T.U32,
      body.op2(Code.BitwiseAnd, T.U32, bits, u(0x8000)),
      u(16),
    );
    body.returnValue(body.op1(Code.Bitcast, T.F32, body.op2(Code.BitwiseOr, T.U32, result, sign)));
  });
}

/** Sine or cosine of an argument in revolutions. Reduced to half a revolution around 0 first, exactly. Precision is the device's. */
export function revolution(functions: RuntimeFunctions, cosine: boolean): number {
  return functions.get(cosine ? "cos" : "sin", T.F32, [T.F32], (body) => {
    const { module } = body;
    const [x] = body.parameters;
    const whole = body.glsl1(Glsl.RoundEven, T.F32, x);
    const reduced = body.op2(Code.FSub, T.F32, x, whole);
    module.decorate(reduced, Decoration.NoContraction);
    const radians = body.op2(Code.FMul, T.F32, reduced, module.constant(T.F32, 0x40c90fdb)); // 2 pi
    body.returnValue(body.glsl1(cosine ? Glsl.Cos : Glsl.Sin, T.F32, radians));
  });
}

/**
 * a * b + c with one rounding, for devices whose Fma rounds twice: the product is exact in f64; the sum is rounded to odd there (its last bit is set
 * when anything was lost), so that the rounding to f32 sees on which side the exact sum lies. (Boldo and Melquiond, "Emulation of a FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008.)
 */
export function fusedMultiplyAdd(functions: RuntimeFunctions): number {
  return functions.get("fma", T.F32, [T.F32, T.F32, T.F32], (body) => {
    const { module } = body;
    const exact: number[] = [];
    const arithmetic = (opcode: number, x: number, y: number) => {
      const id = body.op2(opcode, T.F64, x, y);
      exact.push(id);
      return id;
    };
    const [a, b, c] = body.parameters.map((value) => body.op1(Code.FConvert, T.F64, value));
    const product = arithmetic(Code.FMul, a, b);
    const sum = arithmetic(Code.FAdd, product, c);
    // What the sum lost (two-sum; NaN when the sum is not finite).
    const part = arithmetic(Code.FSub, sum, product);
    const rest = arithmetic(Code.FSub, sum, part);
    const lost = arithmetic(Code.FAdd, arithmetic(Code.FSub, product, rest), arithmetic(Code.FSub, c, part));
    const zero = module.constant64(T.F64, 0, 0);
    const inexact = body.op2(Code.FOrdNotEqual, T.Bool, lost, zero);
    const bits = body.op1(Code.Bitcast, T.U64, sum);
    const even = body.op2(
      Code.IEqual,
      T.Bool,
      body.op2(Code.BitwiseAnd, T.U64, bits, module.u64(1)),
      module.u64(0),
    );
    const differs = body.op2(
      Code.LogicalNotEqual,
      T.Bool,
      body.op2(Code.FOrdLessThan, T.Bool, lost, zero),
      body.op2(Code.FOrdLessThan, T.Bool, sum, zero),
    );
    const step = body.select(T.U64, differs, module.constant64(T.U64, 0xffffffff, 0xffffffff), module.u64(1));
    const stepped = body.op2(Code.IAdd, T.U64, bits, step);
    const adjust = body.op2(Code.LogicalAnd, T.Bool, inexact, even);
    const odd = body.op1(Code.Bitcast, T.F64, body.select(T.U64, adjust, stepped, bits));
    body.returnValue(body.op1(Code.FConvert, T.F32, odd));
    module.decorateAll(exact, Decoration.NoContraction);
  });
}
