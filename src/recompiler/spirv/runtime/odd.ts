import type { Body } from "../body.ts";
import { Code, Decoration, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";

/**
 * Rounding to odd: an inexact result has its last bit set, so that rounding it once more to at least two bits less is like rounding the exact one
 * (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers
 * 57(4), 2008).
 */

/** Types and constants of a format. */
interface OddFormat {
  readonly float: T;
  readonly bits: T;
  readonly bool: T;
  /** Ids of float 0 and of the bits 0, 1, -1. */
  readonly constants: readonly [zero: number, none: number, one: number, minusOne: number];
}

/** f32, f64, or two f32. */
function formatOf(body: Body, type: T): OddFormat {
  const { module } = body;
  if (type === T.F64) {
    const minusOne = module.constant64(T.U64, 0xffffffff, 0xffffffff);
    const constants = [module.constant64(T.F64, 0, 0), module.u64(0), module.u64(1), minusOne] as const;
    return { float: type, bits: T.U64, bool: T.Bool, constants };
  }
  const constants = [module.constant(T.F32, 0), module.u32(0), module.u32(1), module.u32(0xffffffff)] as const;
  if (type === T.F32) return { float: type, bits: T.U32, bool: T.Bool, constants };
  const twice = (id: number, k: number) => body.op2(Code.CompositeConstruct, k === 0 ? T.F32x2 : T.V2, id, id);
  const [zero, none, one, minusOne] = constants.map(twice);
  return { float: type, bits: T.V2, bool: T.Bool2, constants: [zero, none, one, minusOne] };
}

/**
 * Writes a + b, rounded to odd, for f32, f64 or pairs of f32. Neither the sum nor what it loses may overflow or be denormal; an infinite sum stays.
 */
export function writeOddSum(body: Body, type: T, a: number, b: number): number {
  const { module } = body;
  const { float, bits: word, bool, constants: [zero, none, one, minusOne] } = formatOf(body, type);
  const exact: number[] = [];
  const arithmetic = (opcode: number, x: number, y: number) => {
    const id = body.op2(opcode, float, x, y);
    exact.push(id);
    return id;
  };
  const sum = arithmetic(Code.FAdd, a, b);
  // What the sum lost (two-sum; NaN when the sum is not finite).
  const part = arithmetic(Code.FSub, sum, a);
  const rest = arithmetic(Code.FSub, sum, part);
  const lost = arithmetic(Code.FAdd, arithmetic(Code.FSub, a, rest), arithmetic(Code.FSub, b, part));
  const above = body.op2(Code.FOrdLessThan, bool, zero, lost);
  const inexact = body.op2(Code.LogicalOr, bool, above, body.op2(Code.FOrdLessThan, bool, lost, zero));
  const bits = body.op1(Code.Bitcast, word, sum);
  const even = body.op2(Code.IEqual, bool, body.op2(Code.BitwiseAnd, word, bits, one), none);
  // Away from zero where the rest has the sum's sign.
  const inward = body.op2(Code.LogicalNotEqual, bool, above, body.op2(Code.FOrdLessThan, bool, zero, sum));
  const stepped = body.op2(Code.IAdd, word, bits, body.select(word, inward, minusOne, one));
  const adjust = body.op2(Code.LogicalAnd, bool, inexact, even);
  module.decorateAll(exact, Decoration.NoContraction);
  return body.op1(Code.Bitcast, float, body.select(word, adjust, stepped, bits));
}

/** a + b in f32, rounded to odd. */
export function oddSum(functions: RuntimeFunctions): number {
  return functions.get("oddSum", T.F32, [T.F32, T.F32], (body) => {
    body.returnValue(writeOddSum(body, T.F32, body.parameters[0], body.parameters[1]));
  });
}

/** (a * b + c) * 2^k in f32 with one rounding, through f64: the product is exact there, and the scaling by 2^k (|k| <= 64) is too. */
export function scaledMultiplyAdd(functions: RuntimeFunctions): number {
  return functions.get("scaledFma", T.F32, [T.F32, T.F32, T.F32, T.U32], (body) => {
    const { module } = body;
    const [a, b, c] = body.parameters.slice(0, 3).map((value) => body.op1(Code.FConvert, T.F64, value));
    const product = body.op2(Code.FMul, T.F64, a, b);
    module.decorate(product, Decoration.NoContraction);
    const sum = writeOddSum(body, T.F64, product, c);
    body.returnValue(body.op1(Code.FConvert, T.F32, writeScaled(body, sum, body.parameters[3])));
  });
}

/** Writes an f64 times 2^k, k a U32 as a signed number. */
export function writeScaled(body: Body, value: number, k: number): number {
  const { module } = body;
  const exponent = body.op2(Code.IAdd, T.U32, k, module.u32(1023));
  const high = body.op2(Code.ShiftLeftLogical, T.U32, exponent, module.u32(20));
  const factor = body.op1(Code.Bitcast, T.F64, body.op2(Code.CompositeConstruct, T.V2, module.u32(0), high));
  const scaled = body.op2(Code.FMul, T.F64, value, factor);
  module.decorate(scaled, Decoration.NoContraction);
  return scaled;
}

/** a * b + c in f32, rounded to odd, through f64. */
export function oddMultiplyAdd(functions: RuntimeFunctions): number {
  return functions.get("oddFma", T.F32, [T.F32, T.F32, T.F32], (body) => {
    const { module } = body;
    const [a, b, c] = body.parameters.map((value) => body.op1(Code.FConvert, T.F64, value));
    const product = body.op2(Code.FMul, T.F64, a, b);
    module.decorate(product, Decoration.NoContraction);
    const sum = writeOddSum(body, T.F64, product, c);
    // The nearest f32 number, or where that is even and not exact, its odd neighbour on the other side of the sum.
    const nearest = body.op1(Code.FConvert, T.F32, sum);
    const back = body.op1(Code.FConvert, T.F64, nearest);
    const inexact = body.op2(Code.FOrdNotEqual, T.Bool, back, sum);
    const bits = body.op1(Code.Bitcast, T.U32, nearest);
    const even = body.op2(
      Code.IEqual,
      T.Bool,
      body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(1)),
      module.u32(0),
    );
    const outward = body.op2(
      Code.FOrdLessThan,
      T.Bool,
      body.glsl1(Glsl.FAbs, T.F64, back),
      body.glsl1(Glsl.FAbs, T.F64, sum),
    );
    const step = body.select(T.U32, outward, module.u32(1), module.u32(0xffffffff));
    const adjust = body.op2(Code.LogicalAnd, T.Bool, inexact, even);
    const odd = body.select(T.U32, adjust, body.op2(Code.IAdd, T.U32, bits, step), bits);
    body.returnValue(body.op1(Code.Bitcast, T.F32, odd));
  });
}
