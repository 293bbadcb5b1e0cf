import type { Body } from "../body.ts";
import { Code, Decoration } from "../codes.ts";
import { T } from "../module.ts";
import { fromHalf, toHalf } from "./float.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { writeOddSum } from "./odd.ts";

/**
 * f16 arithmetic through f32, for devices without exact f16. Sums and products of two f16 numbers have at most 22 significant bits or are so close
 * that rounding them to f32's 24 bits first changes nothing (24 >= 2 * 11 + 2; Figueroa, "When is double rounding innocuous?", 1995). A fused
 * multiply-add is rounded to odd in f32. No f32 denormal ever occurs: the smallest f16 product is 2^-48.
 */
type Compute = (body: Body, operands: readonly number[]) => number;

const add: Compute = (body, [a, b]) => exactly(body, Code.FAdd, a, b);
const multiply: Compute = (body, [a, b]) => exactly(body, Code.FMul, a, b);
const fused: Compute = (body, [a, b, c]) => writeOddSum(body, T.F32, exactly(body, Code.FMul, a, b), c);

const OPERATIONS = { add: [add, 2], multiply: [multiply, 2], fma: [fused, 3] } as const;

/** Name of an f16 operation. */
export type HalfOperation = keyof typeof OPERATIONS;

function exactly(body: Body, opcode: number, a: number, b: number): number {
  const id = body.op2(opcode, T.F32, a, b);
  body.module.decorate(id, Decoration.NoContraction);
  return id;
}

/** The function for the low halves of U32 operands (the result's upper half is 0), or for both halves. */
export function halfFunction(functions: RuntimeFunctions, operation: HalfOperation, both: boolean): number {
  const [compute, count] = OPERATIONS[operation];
  const parameters: T[] = new Array(count).fill(T.U32);
  return functions.get(`${operation} f16${both ? " x 2" : ""}`, T.U32, parameters, (body) => {
    const { module } = body;
    const half = (operands: readonly number[]) => {
      const wide = operands.map((bits) => body.call(fromHalf(functions), T.F32, [bits]));
      return body.call(toHalf(functions, false), T.U32, [compute(body, wide)]);
    };
    const low = half(body.parameters);
    if (!both) return body.returnValue(low);
    const upper = (bits: number) => body.op2(Code.ShiftRightLogical, T.U32, bits, module.u32(16));
    const high = half(body.parameters.map(upper));
    body.returnValue(
      body.op2(Code.BitwiseOr, T.U32, low, body.op2(Code.ShiftLeftLogical, T.U32, high, module.u32(16))),
    );
  });
}
