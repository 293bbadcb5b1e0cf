import { Code, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";

/** f64 operations that no single SPIR-V instruction computes exactly. */

/** Minimum or maximum with -0 < +0; a NaN gives the other operand. */
export function minMax64(functions: RuntimeFunctions, max: boolean): number {
  return functions.get(`${max ? "max" : "min"} f64`, T.F64, [T.F64, T.F64], (body) => {
    const [a, b] = body.parameters;
    const chosen = body.glsl(max ? Glsl.NMax : Glsl.NMin, T.F64, [a, b]);
    // Operands that compare equal differ at most in the sign of zero.
    const equal = body.op2(Code.FOrdEqual, T.Bool, a, b);
    const bits = body.op2(
      max ? Code.BitwiseAnd : Code.BitwiseOr,
      T.U64,
      body.op1(Code.Bitcast, T.U64, a),
      body.op1(Code.Bitcast, T.U64, b),
    );
    body.returnValue(body.select(T.F64, equal, body.op1(Code.Bitcast, T.F64, bits), chosen));
  });
}

/** To an integer of 32 bits, toward zero, clamped; NaN gives 0. */
export function doubleToInteger(functions: RuntimeFunctions, signed: boolean): number {
  return functions.get(signed ? "d2s" : "d2u", T.U32, [T.F64], (body) => {
    const { module } = body;
    const [x] = body.parameters;
    const low = signed ? module.constant64(T.F64, 0, 0xc1e00000) : module.constant64(T.F64, 0, 0);
    // The largest integers themselves are f64 numbers: 2^31 - 1 and 2^32 - 1.
    const high = signed
      ? module.constant64(T.F64, 0xffc00000, 0x41dfffff)
      : module.constant64(T.F64, 0xffe00000, 0x41efffff);
    const inside = body.glsl(Glsl.NClamp, T.F64, [x, low, high]);
    const converted = body.op1(signed ? Code.ConvertFToS : Code.ConvertFToU, T.U32, inside);
    const ordered = body.op2(Code.FOrdEqual, T.Bool, x, x);
    body.returnValue(body.select(T.U32, ordered, converted, module.u32(0)));
  });
}
