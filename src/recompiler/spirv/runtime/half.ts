import type { RecompilerDevice } from "../../request.ts";
import type { Body } from "../body.ts";
import { Code, Decoration, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import { fromHalf, toHalf } from "./float.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { writeOddSum } from "./odd.ts";

/**
 * f16 arithmetic on pairs: one instruction where the device computes it exactly (probed), else through f32. Sums and products of two f16 numbers have at most 22 significant bits or are so close
 * that rounding them to f32's 24 bits first changes nothing (24 >= 2 * 11 + 2; Figueroa, "When is double rounding innocuous?", 1995). A fused
 * multiply-add is rounded to odd in f32. No f32 denormal ever occurs: the smallest f16 product is 2^-48.
 */
type Compute = (body: Body, operands: readonly number[]) => number;

const add: Compute = (body, [a, b]) => exactly(body, Code.FAdd, a, b);
const multiply: Compute = (body, [a, b]) => exactly(body, Code.FMul, a, b);
const fused: Compute = (body, [a, b, c]) => writeOddSum(body, T.F32x2, exactly(body, Code.FMul, a, b), c);

const OPERATIONS = { add: [add, 2], multiply: [multiply, 2], fma: [fused, 3] } as const;

/** Name of an f16 operation. */
export type HalfOperation = keyof typeof OPERATIONS;

function exactly(body: Body, opcode: number, a: number, b: number): number {
  const id = body.op2(opcode, T.F32x2, a, b);
  body.module.decorate(id, Decoration.NoContraction);
  return id;
}

/** Whether the device computes an operation exactly in f16. */
export function isNativeHalf(
  { exactHalf, float16, fusesFma16 }: RecompilerDevice,
  operation: HalfOperation,
): boolean {
  return float16 && exactHalf === true && (operation !== "fma" || fusesFma16 === true);
}

/** The function for both halves of U32 operands. */
export function halfFunction(functions: RuntimeFunctions, operation: HalfOperation): number {
  const [compute, count] = OPERATIONS[operation];
  const parameters: T[] = new Array(count).fill(T.U32);
  return functions.get(`${operation} f16`, T.U32, parameters, (body) => {
    if (isNativeHalf(functions.device, operation)) {
      const pairs = body.parameters.map((bits) => body.op1(Code.Bitcast, T.F16x2, bits));
      let result: number;
      if (operation === "fma") result = body.glsl(Glsl.Fma, T.F16x2, pairs);
      else {
        result = body.op2(operation === "add" ? Code.FAdd : Code.FMul, T.F16x2, pairs[0], pairs[1]);
        body.module.decorate(result, Decoration.NoContraction);
      }
      body.returnValue(body.op1(Code.Bitcast, T.U32, result));
      return;
    }
    const operands = body.parameters.map((bits) => unpack(functions, body, bits));
    body.returnValue(pack(functions, body, compute(body, operands)));
  });
}

function unpack(functions: RuntimeFunctions, body: Body, bits: number): number {
  if (functions.device.exactHalfPack) return body.glsl1(Glsl.UnpackHalf2x16, T.F32x2, bits);
  const high = body.op2(Code.ShiftRightLogical, T.U32, bits, body.module.u32(16));
  const parts = [bits, high].map((half) => body.call(fromHalf(functions), T.F32, [half]));
  return body.op2(Code.CompositeConstruct, T.F32x2, parts[0], parts[1]);
}

function pack(functions: RuntimeFunctions, body: Body, pair: number): number {
  if (functions.device.exactHalfPack) return body.glsl1(Glsl.PackHalf2x16, T.U32, pair);
  const [low, high] = [0, 1].map((k) => body.call(toHalf(functions, false), T.U32, [body.extract(T.F32, pair, k)]));
  const shifted = body.op2(Code.ShiftLeftLogical, T.U32, high, body.module.u32(16));
  return body.op2(Code.BitwiseOr, T.U32, low, shifted);
}
