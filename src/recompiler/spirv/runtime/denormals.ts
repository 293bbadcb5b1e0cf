import type { Body } from "../body.ts";
import { Code, Decoration, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import { bitsOf, doubled, isDenormal, signedFraction, writeRaised } from "./f32_bits.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { writeOddSum, writeScaled } from "./odd.ts";
import { softFma } from "./soft_fma.ts";

/**
 * f32 denormals where MODE keeps them and the device loses some or all of them (`RuntimeFunctions.denormals`). Nothing here gives a denormal to a float
 * instruction that may lose it, or takes one from it: operands and results are looked at as integers, and what may be wrong is computed in f64, or on
 * integers where there is no f64.
 */

/** The F64 of an F32. */
function writeWide(functions: RuntimeFunctions, body: Body, value: number): number {
  const converted = body.op1(Code.FConvert, T.F64, value);
  if (functions.denormals === "kept") return converted;
  const { module } = body;
  const bits = bitsOf(body, value);
  const whole = body.op1(Code.ConvertSToF, T.F64, signedFraction(body, bits));
  const small = body.op2(Code.FMul, T.F64, whole, module.constant64(T.F64, 0, 0x36a00000)); // 2^-149
  return body.select(T.F64, isDenormal(body, bits), small, converted);
}

/** The F32 nearest to an F64, ties to even. */
function writeNarrow(functions: RuntimeFunctions, body: Body, value: number): number {
  const converted = body.op1(Code.FConvert, T.F32, value);
  if (functions.denormals === "kept") return converted;
  const { module } = body;
  const size = body.glsl1(Glsl.FAbs, T.F64, value);
  const isSmall = body.op2(Code.FOrdLessThan, T.Bool, size, module.constant64(T.F64, 0, 0x38100000)); // 2^-126
  // Next to 2^-97 the last place of an F64 is 2^-149: the addition rounds there, and the low word is the F32's bits.
  const sum = body.op2(Code.FAdd, T.F64, size, module.constant64(T.F64, 0, 0x39e00000));
  module.decorate(sum, Decoration.NoContraction);
  const low = body.op1(Code.UConvert, T.U32, body.op1(Code.Bitcast, T.U64, sum));
  const wide = body.op1(Code.Bitcast, T.U64, value);
  const high = body.op1(Code.UConvert, T.U32, body.op2(Code.ShiftRightLogical, T.U64, wide, module.u32(32)));
  const sign = body.op2(Code.BitwiseAnd, T.U32, high, module.u32(0x80000000));
  const small = body.op1(Code.Bitcast, T.F32, body.op2(Code.BitwiseOr, T.U32, low, sign));
  return body.select(T.F32, isSmall, small, converted);
}

/** `(F32) -> F64`, exact. */
export function toWide(functions: RuntimeFunctions): number {
  return functions.get("f2d", T.F64, [T.F32], (body) => {
    body.returnValue(writeWide(functions, body, body.parameters[0]));
  });
}

/** `(F64) -> F32`, rounded once. */
export function toNarrow(functions: RuntimeFunctions): number {
  return functions.get("d2f", T.F32, [T.F64], (body) => {
    body.returnValue(writeNarrow(functions, body, body.parameters[0]));
  });
}

/** Denormals become the smallest normal number of their sign: to what only asks whether a number is zero, they are the same. */
export function raised(functions: RuntimeFunctions): number {
  return functions.get("raise", T.F32, [T.F32], (body) => body.returnValue(writeRaised(body, body.parameters[0])));
}

/** The sign bit inverted, or cleared: some devices compute `-x` and `|x|` as additions. */
export function writeSign(body: Body, value: number, absolute: boolean): number {
  const { module } = body;
  const bits = bitsOf(body, value);
  const changed = absolute
    ? body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x7fffffff))
    : body.op2(Code.BitwiseXor, T.U32, bits, module.u32(0x80000000));
  return body.op1(Code.Bitcast, T.F32, changed);
}

// --- comparison ---

/** Comparisons by SPIR-V opcode: of the integers that sort like the numbers, and what NaN operands give. */
const COMPARISONS: ReadonlyMap<number, readonly [integer: number, unordered: boolean]> = new Map([
  [Code.FOrdEqual, [Code.IEqual, false]],
  [Code.FOrdNotEqual, [Code.INotEqual, false]],
  [Code.FOrdLessThan, [Code.SLessThan, false]],
  [Code.FOrdLessThanEqual, [Code.SLessThanEqual, false]],
  [Code.FUnordEqual, [Code.IEqual, true]],
  [Code.FUnordNotEqual, [Code.INotEqual, true]],
  [Code.FUnordLessThan, [Code.SLessThan, true]],
  [Code.FUnordLessThanEqual, [Code.SLessThanEqual, true]],
]);

/** `(F32, F32) -> Bool`: the comparison `opcode`, on integers. */
export function comparison(functions: RuntimeFunctions, opcode: number): number {
  return functions.get(`compare ${opcode}`, T.Bool, [T.F32, T.F32], (body) => {
    const { module, parameters } = body;
    const [integer, unordered] = COMPARISONS.get(opcode)!;
    // Negative numbers count down from zero, which both zeros are.
    const [a, b] = parameters.map((value) => {
      const bits = bitsOf(body, value);
      const negative = body.op2(Code.SLessThan, T.Bool, bits, module.u32(0));
      return body.select(T.U32, negative, body.op2(Code.ISub, T.U32, module.u32(0x80000000), bits), bits);
    });
    const [nanA, nanB] = parameters.map((value) => body.op1(Code.IsNan, T.Bool, value));
    const holds = body.op2(integer, T.Bool, a, b);
    const nan = body.op2(Code.LogicalOr, T.Bool, nanA, nanB);
    body.returnValue(
      unordered
        ? body.op2(Code.LogicalOr, T.Bool, holds, nan)
        : body.op2(Code.LogicalAnd, T.Bool, holds, body.op1(Code.LogicalNot, T.Bool, nan)),
    );
  });
}

/** Minimum or maximum as `minMax` in float.ts, on integers. */
export function integerMinMax(functions: RuntimeFunctions, max: boolean): number {
  return functions.get(`${max ? "max" : "min"}Bits`, T.F32, [T.F32, T.F32], (body) => {
    const { module, parameters } = body;
    const [bitsA, bitsB] = parameters.map((value) => bitsOf(body, value));
    // Sorts like the numbers, -0 before 0; its own inverse.
    const turned = (bits: number) => {
      const signs = body.op2(Code.ShiftRightArithmetic, T.U32, bits, module.u32(31));
      const flip = body.op2(Code.ShiftRightLogical, T.U32, signs, module.u32(1));
      return body.op2(Code.BitwiseXor, T.U32, bits, flip);
    };
    const chosen = turned(body.glsl(max ? Glsl.SMax : Glsl.SMin, T.U32, [turned(bitsA), turned(bitsB)]));
    const [nanA, nanB] = parameters.map((value) => body.op1(Code.IsNan, T.Bool, value));
    const result = body.select(T.U32, nanA, bitsB, body.select(T.U32, nanB, bitsA, chosen));
    body.returnValue(body.op1(Code.Bitcast, T.F32, result));
  });
}

// --- arithmetic ---

/** Operations that lose denormals, and how many F32 operands they have. `scaled`: (a * b + c) * 2^d, d a U32. */
const OPERANDS = { add: 2, sub: 2, mul: 2, fma: 3, scaled: 3 } as const;
/** Name of such an operation. */
export type Arithmetic = keyof typeof OPERANDS;
/** Bit of the result in the suspects; bit n is operand n. */
export const SUSPECT_RESULT = 8;

/**
 * `(operands) -> F32`: the device's own instruction, and where an operand is denormal or the result may have become zero on its way, the exact result.
 *
 * @param suspects bit n: operand n may be denormal; bit 3: the result may be
 */
export function guardedArithmetic(functions: RuntimeFunctions, operation: Arithmetic, suspects: number): number {
  const fused = operation === "fma" || operation === "scaled";
  if (fused && !functions.device.fusesFma32) return exactArithmetic(functions, operation);
  const parameters: T[] = new Array(OPERANDS[operation]).fill(T.F32);
  if (operation === "scaled") parameters.push(T.U32);
  return functions.get(`${operation} guarded ${suspects}`, T.F32, parameters, (body) => {
    const { module } = body;
    const native = writeNative(body, operation);
    const doubts: number[] = [];
    for (let n = 0; n < OPERANDS[operation]; n++) {
      if (suspects >> n & 1) doubts.push(isDenormal(body, bitsOf(body, body.parameters[n])));
    }
    if (suspects & SUSPECT_RESULT) {
      const size = doubled(body, bitsOf(body, native));
      // Up to the smallest normal number, to which a result may have been rounded up.
      doubts.push(body.op2(Code.ULessThanEqual, T.Bool, size, module.u32(0x01000000)));
    }
    if (operation === "scaled") doubts.push(body.op2(Code.INotEqual, T.Bool, body.parameters[3], module.u32(0)));
    const doubtful = doubts.reduce((a, b) => body.op2(Code.LogicalOr, T.Bool, a, b));
    const exact = exactArithmetic(functions, operation);
    const before = body.block;
    const slow = module.bound++, merge = module.bound++;
    body.selectionMerge(merge);
    body.branchIf(doubtful, slow, merge);
    body.label(slow);
    const result = body.call(exact, T.F32, body.parameters);
    body.branch(merge);
    body.label(merge);
    body.returnValue(body.phi2(T.F32, result, slow, native, before));
  });
}

function writeNative(body: Body, operation: Arithmetic): number {
  const { parameters } = body;
  if (operation === "fma" || operation === "scaled") return body.glsl(Glsl.Fma, T.F32, parameters.slice(0, 3));
  const opcode = { add: Code.FAdd, sub: Code.FSub, mul: Code.FMul }[operation];
  const id = body.op2(opcode, T.F32, parameters[0], parameters[1]);
  body.module.decorate(id, Decoration.NoContraction);
  return id;
}

/** `(operands) -> F32`, exact for all operands. */
function exactArithmetic(functions: RuntimeFunctions, operation: Arithmetic): number {
  const scaled = operation === "scaled";
  if (operation === "fma" || scaled) {
    return functions.device.float64
      ? wideFma(functions, scaled)
      : softFma(functions, false, scaled ? "scaled" : "plain");
  }
  return functions.get(`${operation} exact`, T.F32, [T.F32, T.F32], (body) => {
    const { module } = body;
    const [a, b] = body.parameters;
    if (functions.device.float64) {
      // Products are exact in f64. Sums are rounded there to more than twice f32's bits, which changes no result (Figueroa, 1995); denormal ones are exact.
      const opcode = { add: Code.FAdd, sub: Code.FSub, mul: Code.FMul }[operation];
      const [x, y] = [a, b].map((value) => writeWide(functions, body, value));
      const id = body.op2(opcode, T.F64, x, y);
      module.decorate(id, Decoration.NoContraction);
      return body.returnValue(writeNarrow(functions, body, id));
    }
    const f = (bits: number) => module.constant(T.F32, bits);
    const operands = operation === "mul"
      ? [a, b, f(0x80000000)]
      : operation === "add"
      ? [a, f(0x3f800000), b]
      : [b, f(0xbf800000), a];
    body.returnValue(body.call(softFma(functions, false), T.F32, operands));
  }, true);
}

/**
 * `(F32, F32, F32) -> F32`: a * b + c, rounded once, through f64: a fifth of the instructions of {@linkcode softFma}, and drivers inline them at each place. The
 * product is exact there, and the sum rounded to odd. `scaled`: the whole times 2^d, d a U32 parameter.
 */
function wideFma(functions: RuntimeFunctions, scaled: boolean): number {
  const parameters = scaled ? [T.F32, T.F32, T.F32, T.U32] : [T.F32, T.F32, T.F32];
  return functions.get(scaled ? "scaled wide" : "fma wide", T.F32, parameters, (body) => {
    const [a, b, c] = body.parameters.slice(0, 3).map((value) => writeWide(functions, body, value));
    const product = body.op2(Code.FMul, T.F64, a, b);
    body.module.decorate(product, Decoration.NoContraction);
    const sum = writeOddSum(body, T.F64, product, c);
    const result = scaled ? writeScaled(body, sum, body.parameters[3]) : sum;
    body.returnValue(writeNarrow(functions, body, result));
  });
}

/** Writes a product whose result may be denormal, of operands that are not. */
function writeProduct(functions: RuntimeFunctions, body: Body, a: number, b: number): number {
  if (functions.denormals === "lost") {
    return body.call(guardedArithmetic(functions, "mul", SUSPECT_RESULT), T.F32, [a, b]);
  }
  return body.op2(Code.FMul, T.F32, a, b);
}

// --- functions with an error bound ---

/** Functions of one number. */
export type Approximate = "sqrt" | "rsq" | "log2" | "exp2" | "rcp";

/**
 * `(F32) -> F32`: the device's function, to which a denormal operand comes multiplied by a power of two, and which gives a denormal result divided by one.
 * The error is the device's (1 / x without f64: half a unit of the denormal's last place more).
 */
export function approximate(functions: RuntimeFunctions, name: Approximate): number {
  return functions.get(`${name} guarded`, T.F32, [T.F32], (body) => {
    const [x] = body.parameters;
    if (name === "exp2") return body.returnValue(writeExponential(functions, body, x));
    if (name === "rcp") return body.returnValue(writeReciprocal(functions, body, x));
    const { module } = body;
    const bits = bitsOf(body, x);
    const isSmall = isDenormal(body, bits);
    const whole = body.op1(Code.ConvertSToF, T.F32, signedFraction(body, bits));
    const f = (bits: number) => module.constant(T.F32, bits);
    // Roots: of an even power of two more, 2^150.
    const scaled = name === "log2" ? whole : body.op2(Code.FMul, T.F32, whole, f(0x40000000));
    const operand = body.select(T.F32, isSmall, scaled, x);
    const result = body.glsl1({ sqrt: Glsl.Sqrt, rsq: Glsl.InverseSqrt, log2: Glsl.Log2 }[name], T.F32, operand);
    const small = name === "log2"
      ? body.op2(Code.FSub, T.F32, result, f(0x43150000)) // 149
      : body.op2(Code.FMul, T.F32, result, f(name === "sqrt" ? 0x1a000000 : 0x65000000)); // 2^-75, 2^75
    body.returnValue(body.select(T.F32, isSmall, small, result));
  });
}

/** 2^x: below -126 by way of 2^(x + 24). */
function writeExponential(functions: RuntimeFunctions, body: Body, x: number): number {
  const { module } = body;
  const f = (bits: number) => module.constant(T.F32, bits);
  const isSmall = body.op2(Code.FOrdLessThan, T.Bool, x, f(0xc2fc0000)); // -126
  const raised = body.op2(Code.FAdd, T.F32, x, f(0x41c00000)); // exact for -150..-126
  module.decorate(raised, Decoration.NoContraction);
  const power = body.glsl1(Glsl.Exp2, T.F32, body.select(T.F32, isSmall, raised, x));
  const small = writeProduct(functions, body, power, f(0x33800000)); // 2^-24
  // Not as floats: a product and a choice must not become one instruction.
  return body.op1(
    Code.Bitcast,
    T.F32,
    body.select(T.U32, isSmall, bitsOf(body, small), bitsOf(body, power)),
  );
}

/** 1 / x: of a denormal, or with a denormal result (|x| above 2^126), in f64 or of a scaled operand. */
function writeReciprocal(functions: RuntimeFunctions, body: Body, x: number): number {
  const { module } = body;
  const f = (bits: number) => module.constant(T.F32, bits);
  const bits = bitsOf(body, x), one = f(0x3f800000);
  const isSmall = isDenormal(body, bits);
  const size = body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x7fffffff));
  const isLarge = body.op2(Code.ULessThan, T.Bool, module.u32(0x7e800000), size);
  const plain = body.op2(Code.FDiv, T.F32, one, x);
  return body.choose(T.F32, body.op2(Code.LogicalOr, T.Bool, isSmall, isLarge), () => {
    if (functions.device.float64) {
      const wide = writeWide(functions, body, x);
      const quotient = body.op2(Code.FDiv, T.F64, module.constant64(T.F64, 0, 0x3ff00000), wide);
      return writeNarrow(functions, body, quotient);
    }
    const whole = body.op1(Code.ConvertSToF, T.F32, signedFraction(body, bits));
    const lowered = body.op2(Code.FMul, T.F32, x, f(0x33800000)); // 2^-24
    const quotient = body.op2(Code.FDiv, T.F32, one, body.select(T.F32, isSmall, whole, lowered));
    const high = body.op2(Code.FMul, T.F32, quotient, f(0x65000000)); // 2^75
    const large = body.op2(Code.FMul, T.F32, high, f(0x64800000)); // 2^74
    const small = writeProduct(functions, body, quotient, f(0x33800000));
    const chosen = body.select(T.U32, isSmall, bitsOf(body, large), bitsOf(body, small));
    return body.op1(Code.Bitcast, T.F32, chosen);
  }, () => plain);
}
