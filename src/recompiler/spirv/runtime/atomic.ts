import { AtomicKind } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Code, Decoration, Glsl, Semantics } from "../codes.ts";
import { T } from "../module.ts";
import { guardedArithmetic, SUSPECT_RESULT } from "./denormals.ts";
import { flushed } from "./float.ts";
import type { RuntimeFunctions } from "./functions.ts";

/** Kinds that are one SPIR-V instruction. */
const DIRECT: ReadonlyMap<number, number> = new Map([
  [AtomicKind.Swap, Code.AtomicExchange],
  [AtomicKind.Add, Code.AtomicIAdd],
  [AtomicKind.Sub, Code.AtomicISub],
  [AtomicKind.SMin, Code.AtomicSMin],
  [AtomicKind.UMin, Code.AtomicUMin],
  [AtomicKind.SMax, Code.AtomicSMax],
  [AtomicKind.UMax, Code.AtomicUMax],
  [AtomicKind.And, Code.AtomicAnd],
  [AtomicKind.Or, Code.AtomicOr],
  [AtomicKind.Xor, Code.AtomicXor],
]);

/** Whether an atomic kind is one instruction, so that it needs no function around it. */
export function isDirectAtomic(kind: number): boolean {
  const base = kind & AtomicKind.Mask;
  return DIRECT.has(base) || base === AtomicKind.CmpSwap;
}

/** Whether a kind computes with floats. */
export function isFloatAtomic(kind: number): boolean {
  switch (kind & AtomicKind.Mask) {
    case AtomicKind.FMin:
    case AtomicKind.FMax:
    case AtomicKind.FAdd:
    case AtomicKind.FCmpSwap:
      return true;
    default:
      return false;
  }
}

/** Type in memory of the operands of an atomic kind. */
export function atomicType(kind: number): T {
  return (kind & AtomicKind.Wide) !== 0 ? T.U64 : T.U32;
}

/**
 * Writes an atomic operation and returns the old value. `kind` as in the IR; operands have {@linkcode atomicType}, for kinds with two operands there are
 * two. What is no single instruction is a loop of compare-exchange: a lane repeats only when another one has succeeded in between.
 */
export function writeAtomic(
  body: Body,
  kind: number,
  pointer: number,
  scope: number,
  data: readonly number[],
  functions: RuntimeFunctions,
): number {
  const { module } = body;
  const type = atomicType(kind), base = kind & AtomicKind.Mask;
  const scopeId = module.u32(scope), relaxed = module.u32(Semantics.None);
  const direct = DIRECT.get(base);
  if (direct !== undefined) return body.ops(direct, type, [pointer, scopeId, relaxed, data[0]]);
  if (base === AtomicKind.CmpSwap) {
    return body.ops(Code.AtomicCompareExchange, type, [pointer, scopeId, relaxed, relaxed, data[0], data[1]]);
  }
  return exchangeLoop(
    body,
    type,
    pointer,
    scope,
    (old) => new Update(body, type, kind & AtomicKind.Flush, functions).fresh(base, old, data),
  );
}

/** What a 32-bit atomic operation makes of an old value. */
export function atomicValue(
  body: Body,
  kind: number,
  old: number,
  data: readonly number[],
  functions: RuntimeFunctions,
): number {
  const base = kind & AtomicKind.Mask;
  switch (base) {
    case AtomicKind.Swap:
      return data[0];
    case AtomicKind.CmpSwap:
      return body.select(T.U32, body.op2(Code.IEqual, T.Bool, old, data[1]), data[0], old);
    default: {
      const simple = SIMPLE.get(base);
      if (simple !== undefined) return body.op2(simple, T.U32, old, data[0]);
      const glsl = SIMPLE_GLSL.get(base);
      if (glsl !== undefined) return body.glsl(glsl, T.U32, [old, data[0]]);
      return new Update(body, T.U32, kind & AtomicKind.Flush, functions).fresh(base, old, data);
    }
  }
}

/** The operation in itself of kinds that are one atomic instruction. */
const SIMPLE: ReadonlyMap<number, number> = new Map([
  [AtomicKind.Add, Code.IAdd],
  [AtomicKind.Sub, Code.ISub],
  [AtomicKind.And, Code.BitwiseAnd],
  [AtomicKind.Or, Code.BitwiseOr],
  [AtomicKind.Xor, Code.BitwiseXor],
]);
const SIMPLE_GLSL: ReadonlyMap<number, number> = new Map([
  [AtomicKind.SMin, Glsl.SMin],
  [AtomicKind.UMin, Glsl.UMin],
  [AtomicKind.SMax, Glsl.SMax],
  [AtomicKind.UMax, Glsl.UMax],
]);

/** Replaces the value at `pointer` by what `update` makes of it, and returns the old value. */
export function exchangeLoop(
  body: Body,
  type: T,
  pointer: number,
  scope: number,
  update: (old: number) => number,
): number {
  const { module } = body;
  const scopeId = module.u32(scope), relaxed = module.u32(Semantics.None);
  const initial = body.ops(Code.AtomicLoad, type, [pointer, scopeId, relaxed]);
  const before = body.block;
  const header = module.bound++, next = module.bound++, merge = module.bound++;
  const expected = module.bound++, found = module.bound++;
  body.branch(header);
  body.label(header);
  body.words.put(Code.Phi, [module.type(type), expected, initial, before, found, next]);
  const fresh = update(expected);
  body.words.put(Code.AtomicCompareExchange, [
    module.type(type),
    found,
    pointer,
    scopeId,
    relaxed,
    relaxed,
    fresh,
    expected,
  ]);
  const done = body.op2(Code.IEqual, T.Bool, found, expected);
  body.words.put4(Code.LoopMerge, merge, next, 0);
  body.branchIf(done, merge, next);
  body.label(next);
  body.branch(header);
  body.label(merge);
  return expected;
}

/** The new value of the kinds that are no single instruction (semantics: the IR's AtomicKind). */
class Update {
  private readonly float: T;

  constructor(
    private readonly body: Body,
    private readonly type: T,
    /** FlushInputs, FlushResults. */
    private readonly flush: number,
    private readonly functions: RuntimeFunctions,
  ) {
    this.float = type === T.U64 ? T.F64 : T.F32;
  }

  fresh(base: number, old: number, [data, second]: readonly number[]): number {
    const { body, type } = this;
    const op = (opcode: number, a: number, b: number) => body.op2(opcode, type, a, b);
    const select = (condition: number, yes: number, no: number) => body.select(type, condition, yes, no);
    switch (base) {
      case AtomicKind.Inc:
        return select(this.reaches(old, data), this.number(0), op(Code.IAdd, old, this.number(1)));
      case AtomicKind.Dec: {
        const isZero = body.op2(Code.IEqual, T.Bool, old, this.number(0));
        const above = body.op2(Code.ULessThan, T.Bool, data, old);
        const wraps = body.op2(Code.LogicalOr, T.Bool, isZero, above);
        return select(wraps, data, op(Code.ISub, old, this.number(1)));
      }
      case AtomicKind.RSub:
        return op(Code.ISub, data, old);
      case AtomicKind.MaskOr:
        return op(Code.BitwiseOr, op(Code.BitwiseAnd, old, body.op1(Code.Not, type, data)), second);
      case AtomicKind.Wrap:
        return select(this.reaches(old, data), op(Code.ISub, old, data), op(Code.IAdd, old, second));
      case AtomicKind.SubClamp:
        return select(this.reaches(old, data), op(Code.ISub, old, data), this.number(0));
      case AtomicKind.FMin:
        return select(this.floatLess(data, old), data, old);
      case AtomicKind.FMax:
        return select(this.floatLess(old, data), data, old);
      case AtomicKind.FCmpSwap:
        return select(this.floatEqual(old, second), data, old);
      case AtomicKind.FAdd: {
        if (this.functions.denormals === "lost" && type === T.U32 && this.flush !== AtomicKind.Flush) {
          const add = guardedArithmetic(this.functions, "add", 3 | SUSPECT_RESULT);
          const sum = body.call(add, T.F32, [this.operand(old), this.operand(data)]);
          return body.op1(Code.Bitcast, type, this.result(sum));
        }
        const sum = body.op2(Code.FAdd, this.float, this.operand(old), this.operand(data));
        body.module.decorate(sum, Decoration.NoContraction);
        return body.op1(Code.Bitcast, type, this.result(sum));
      }
      default:
        throw new Error(`unknown atomic kind ${base}`);
    }
  }

  private number(value: number): number {
    const { module } = this.body;
    return this.type === T.U64 ? module.u64(value) : module.u32(value);
  }

  private reaches(a: number, b: number): number {
    return this.body.op2(Code.UGreaterThanEqual, T.Bool, a, b);
  }

  private result(value: number): number {
    return (this.flush & AtomicKind.FlushResults) !== 0 ? flushed(this.body, value) : value;
  }

  private operand(bits: number): number {
    const value = this.body.op1(Code.Bitcast, this.float, bits);
    return (this.flush & AtomicKind.FlushInputs) !== 0 ? flushed(this.body, value) : value;
  }

  /** a < b as floats, by integers: the device's own comparison may take denormals for zeros. */
  private floatLess(a: number, b: number): number {
    const { body, type } = this;
    // Negative numbers grow the other way: turn their bits below the sign over.
    const key = (bits: number) => {
      const signs = body.op2(Code.ShiftRightArithmetic, type, bits, body.module.u32(this.signBit));
      const flip = body.op2(Code.ShiftRightLogical, type, signs, body.module.u32(1));
      return body.op2(Code.BitwiseXor, type, bits, flip);
    };
    const less = body.op2(Code.SLessThan, T.Bool, key(a), key(b));
    const apart = body.op1(Code.LogicalNot, T.Bool, this.bothZero(a, b));
    return body.op2(Code.LogicalAnd, T.Bool, body.op2(Code.LogicalAnd, T.Bool, less, apart), this.ordered(a, b));
  }

  /** a == b as floats. */
  private floatEqual(a: number, b: number): number {
    const { body } = this;
    const same = body.op2(Code.IEqual, T.Bool, a, b);
    const equal = body.op2(Code.LogicalOr, T.Bool, same, this.bothZero(a, b));
    return body.op2(Code.LogicalAnd, T.Bool, equal, this.ordered(a, b));
  }

  private get signBit(): number {
    return this.type === T.U64 ? 63 : 31;
  }

  /** Bits without the sign, one place up. */
  private doubled(bits: number): number {
    return this.body.op2(Code.ShiftLeftLogical, this.type, bits, this.body.module.u32(1));
  }

  private bothZero(a: number, b: number): number {
    const { body, type } = this;
    return body.op2(Code.IEqual, T.Bool, this.doubled(body.op2(Code.BitwiseOr, type, a, b)), this.number(0));
  }

  /** Neither is a NaN. */
  private ordered(a: number, b: number): number {
    const { body, type } = this;
    const { module } = body;
    const infinity = type === T.U64 ? module.constant64(T.U64, 0, 0xffe00000) : module.u32(0xff000000);
    const number = (bits: number) => body.op2(Code.ULessThanEqual, T.Bool, this.doubled(bits), infinity);
    return body.op2(Code.LogicalAnd, T.Bool, number(a), number(b));
  }
}
