import type { Body } from "../body.ts";
import { Code } from "../codes.ts";
import { T } from "../module.ts";

/** f32 values looked at as integers. */

/** Bits of an f32 value. */
export function bitsOf(body: Body, value: number): number {
  return body.op1(Code.Bitcast, T.U32, value);
}

/** |x| in units that sort like numbers, twice its bits. */
export function doubled(body: Body, bits: number): number {
  return body.op2(Code.ShiftLeftLogical, T.U32, bits, body.module.u32(1));
}

/** Whether bits are a denormal; zeros are none. */
export function isDenormal(body: Body, bits: number): number {
  const { module } = body;
  const below = body.op2(Code.ISub, T.U32, doubled(body, bits), module.u32(1));
  return body.op2(Code.ULessThan, T.Bool, below, module.u32(0x00ffffff));
}

/** The fraction of bits, with their sign, as a signed number: what a denormal is in units of 2^-149. */
export function signedFraction(body: Body, bits: number): number {
  const { module } = body;
  const fraction = body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x7fffff));
  const negative = body.op2(Code.SLessThan, T.Bool, bits, module.u32(0));
  return body.select(T.U32, negative, body.op2(Code.ISub, T.U32, module.u32(0), fraction), fraction);
}

/** Code that makes the smallest normal number of its sign of a denormal. */
export function writeRaised(body: Body, value: number): number {
  const { module } = body;
  const bits = bitsOf(body, value);
  const sign = body.op2(Code.BitwiseAnd, T.U32, bits, module.u32(0x80000000));
  const smallest = body.op2(Code.BitwiseOr, T.U32, sign, module.u32(0x00800000));
  return body.op1(Code.Bitcast, T.F32, body.select(T.U32, isDenormal(body, bits), smallest, bits));
}
