import type { Body } from "../body.ts";
import { Code, Decoration, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";

/**
 * Rounding to odd: an inexact result has its last bit set, so that rounding it once more to at least two bits less is like rounding the exact one
 * (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers
 * 57(4), 2008).
 */

/** Writes a + b, rounded to odd. Neither the sum nor what it loses may overflow or be denormal; an infinite sum stays. */
export function writeOddSum(body: Body, type: typeof T.F32 | typeof T.F64, a: number, b: number): number {
  const { module } = body;
  const bitsType = type === T.F64 ? T.U64 : T.U32;
  const one = type === T.F64 ? module.u64(1) : module.u32(1);
  const minusOne = type === T.F64 ? module.constant64(T.U64, 0xffffffff, 0xffffffff) : module.u32(0xffffffff);
  const zeroBits = type === T.F64 ? module.u64(0) : module.u32(0);
  const zero = type === T.F64 ? module.constant64(T.F64, 0, 0) : module.constant(T.F32, 0);
  const exact: number[] = [];
  const arithmetic = (opcode: number, x: number, y: number) => {
    const id = body.op2(opcode, type, x, y);
    exact.push(id);
    return id;
  };
  const sum = arithmetic(Code.FAdd, a, b);
  // What the sum lost (two-sum; NaN when the sum is not finite).
  const part = arithmetic(Code.FSub, sum, a);
  const rest = arithmetic(Code.FSub, sum, part);
  const lost = arithmetic(Code.FAdd, arithmetic(Code.FSub, a, rest), arithmetic(Code.FSub, b, part));
  const above = body.op2(Code.FOrdLessThan, T.Bool, zero, lost);
  const inexact = body.op2(Code.LogicalOr, T.Bool, above, body.op2(Code.FOrdLessThan, T.Bool, lost, zero));
  const bits = body.op1(Code.Bitcast, bitsType, sum);
  const even = body.op2(Code.IEqual, T.Bool, body.op2(Code.BitwiseAnd, bitsType, bits, one), zeroBits);
  // Away from zero where the rest has the sum's sign.
  const inward = body.op2(Code.LogicalNotEqual, T.Bool, above, body.op2(Code.FOrdLessThan, T.Bool, zero, sum));
  const stepped = body.op2(Code.IAdd, bitsType, bits, body.select(bitsType, inward, minusOne, one));
  const adjust = body.op2(Code.LogicalAnd, T.Bool, inexact, even);
  module.decorateAll(exact, Decoration.NoContraction);
  return body.op1(Code.Bitcast, type, body.select(bitsType, adjust, stepped, bits));
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
    const exponent = body.op2(Code.IAdd, T.U32, body.parameters[3], module.u32(1023));
    const high = body.op2(Code.ShiftLeftLogical, T.U32, exponent, module.u32(20));
    const factor = body.op1(
      Code.Bitcast,
      T.F64,
      body.op2(Code.CompositeConstruct, T.V2, module.u32(0), high),
    );
    const scaled = body.op2(Code.FMul, T.F64, sum, factor);
    module.decorate(scaled, Decoration.NoContraction);
    body.returnValue(body.op1(Code.FConvert, T.F32, scaled));
  });
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
