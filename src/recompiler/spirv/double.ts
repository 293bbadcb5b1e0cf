import { unary } from "./arithmetic.ts";
import { callOnIntegers } from "./float.ts";
import { Code, Glsl } from "./codes.ts";
import type { Emitter, Handler, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import { guardedArithmetic, SUSPECT_RESULT, toNarrow, toWide } from "./runtime/denormals.ts";
import * as runtime from "./runtime/double.ts";
import { flushDenormal } from "./runtime/float.ts";
import { oddMultiplyAdd, scaledMultiplyAdd } from "./runtime/odd.ts";
import { softFma } from "./runtime/soft_fma.ts";

/** f64 operations. They need shaderFloat64. */

/** Refuses what the device has no type for. */
function needsFloat64(handler: Handler): Handler {
  return (e, i) => {
    if (!e.request.device.float64) throw e.refuse(i, "float64", "this device has no f64 (shaderFloat64)");
    handler(e, i);
  };
}

/** Additions and multiplications. */
function exact(opcode: number): Handler {
  return (e, i) => {
    const { ir } = e;
    e.ids[i] = e.body.op2(opcode, T.F64, e.use(ir.a[i]), e.use(ir.b[i]));
    e.exact.push(e.ids[i]);
  };
}

function glsl(instruction: number): Handler {
  return (e, i) => {
    e.ids[i] = e.body.glsl1(instruction, T.F64, e.use(e.ir.a[i]));
  };
}

function call(find: (e: Emitter) => number, result: T, operands: 1 | 2 | 3 | 4): Handler {
  return (e, i) => {
    const { ir } = e;
    const values = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]].slice(0, operands);
    e.ids[i] = e.body.call(find(e), result, values.map((value) => e.use(value)));
  };
}

function fma(e: Emitter, i: number): void {
  const { ir, body } = e;
  const operands = [e.use(ir.a[i]), e.use(ir.b[i]), e.use(ir.c[i])];
  e.ids[i] = e.request.device.fusesFma64
    ? body.glsl(Glsl.Fma, T.F64, operands)
    : body.call(softFma(e.functions, true), T.F64, operands);
}

const one = (e: Emitter) => e.module.constant64(T.F64, 0, 0x3ff00000);

function reciprocal(e: Emitter, i: number): void {
  e.ids[i] = e.body.op2(Code.FDiv, T.F64, one(e), e.use(e.ir.a[i]));
}

function inverseRoot(e: Emitter, i: number): void {
  const root = e.body.glsl1(Glsl.Sqrt, T.F64, e.use(e.ir.a[i]));
  e.ids[i] = e.body.op2(Code.FDiv, T.F64, one(e), root);
}

const scaledFma = call(
  (e) => {
    if (e.functions.denormals !== "kept") return guardedArithmetic(e.functions, "scaled", 7 | SUSPECT_RESULT);
    return e.request.device.float64 ? scaledMultiplyAdd(e.functions) : softFma(e.functions, false, "scaled");
  },
  T.F32,
  4,
);

const NEED_TYPE: HandlerTable = {
  FAdd64: exact(Code.FAdd),
  FMul64: exact(Code.FMul),
  FFma64: fma,
  FFmaScaled64: call((e) => softFma(e.functions, true, "scaled"), T.F64, 4),
  FMin64: call((e) => runtime.minMax64(e.functions, false), T.F64, 2),
  FMax64: call((e) => runtime.minMax64(e.functions, true), T.F64, 2),
  FNeg64: unary(Code.FNegate),
  FAbs64: glsl(Glsl.FAbs),
  FFloor64: glsl(Glsl.Floor),
  FCeil64: glsl(Glsl.Ceil),
  FTrunc64: glsl(Glsl.Trunc),
  FRndne64: glsl(Glsl.RoundEven),
  FRcp64: reciprocal,
  FRsq64: inverseRoot,
  FSqrt64: glsl(Glsl.Sqrt),
  CvtF2D: (e, i) => {
    if (e.guards && e.mayBeDenormal(e.ir.a[i])) e.ids[i] = e.body.call(toWide(e.functions), T.F64, [e.use(e.ir.a[i])]);
    else unary(Code.FConvert)(e, i);
  },
  CvtD2F: (e, i) => {
    if (e.guards) e.ids[i] = e.body.call(toNarrow(e.functions), T.F32, [e.use(e.ir.a[i])]);
    else unary(Code.FConvert)(e, i);
  },
  CvtU2D: unary(Code.ConvertUToF),
  CvtS2D: unary(Code.ConvertSToF),
  CvtD2U: call((e) => runtime.doubleToInteger(e.functions, false), T.U32, 1),
  CvtD2S: call((e) => runtime.doubleToInteger(e.functions, true), T.U32, 1),
};

/** Handlers of this file, by name of the operation. */
export const DOUBLE: HandlerTable = {
  ...Object.fromEntries(Object.entries(NEED_TYPE).map(([name, handler]) => [name, needsFloat64(handler)])),
  FFmaOdd: (e, i) => {
    const { ir, functions } = e;
    const operands = [e.use(ir.a[i]), e.use(ir.b[i]), e.use(ir.c[i])];
    e.ids[i] = e.request.device.float64 && !e.guards
      ? e.body.call(oddMultiplyAdd(functions), T.F32, operands)
      : callOnIntegers(e, softFma(functions, false, "odd"), operands);
  },
  FFmaScaled: (e, i) => {
    scaledFma(e, i);
    // It is exact; the module's other results are flushed by the device.
    if (e.flushes) e.ids[i] = e.body.call(flushDenormal(e.functions), T.F32, [e.ids[i]]);
  },
};
