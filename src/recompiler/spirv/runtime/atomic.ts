import { AtomicKind } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Code, Decoration, Semantics } from "../codes.ts";
import { T } from "../module.ts";

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

/** Whether an atomic kind (without the Wide bit) is one instruction, so that it needs no function around it. */
export function isDirectAtomic(kind: number): boolean {
  return DIRECT.has(kind) || kind === AtomicKind.CmpSwap;
}

/** Whether a kind computes with floats (32-bit only). */
export function isFloatAtomic(kind: number): boolean {
  return kind === AtomicKind.FMin || kind === AtomicKind.FMax || kind === AtomicKind.FAdd;
}

/**
 * Writes an atomic operation on U32 or U64 and returns the old value. `data` holds the operand, for compare-swap then the compare value.
 * Increments, decrements and floats are loops of compare-exchange: a lane repeats only when another one has succeeded in between.
 *
 * Semantics of AMD's RDNA2 ISA document (memory instructions): Inc: old >= data ? 0 : old + 1; Dec: old == 0 || old > data ? data : old - 1;
 * FMin: data < old ? data : old; FMax: data > old ? data : old.
 */
export function writeAtomic(
  body: Body,
  kind: number,
  type: T,
  pointer: number,
  scope: number,
  data: readonly number[],
): number {
  const { module } = body;
  const scopeId = module.u32(scope), relaxed = module.u32(Semantics.None);
  const direct = DIRECT.get(kind);
  if (direct !== undefined) return body.ops(direct, type, [pointer, scopeId, relaxed, data[0]]);
  if (kind === AtomicKind.CmpSwap) {
    return body.ops(Code.AtomicCompareExchange, type, [pointer, scopeId, relaxed, relaxed, data[0], data[1]]);
  }
  const initial = body.ops(Code.AtomicLoad, type, [pointer, scopeId, relaxed]);
  const before = body.block;
  const [header, next, merge, expected, found] = [
    module.bound++,
    module.bound++,
    module.bound++,
    module.bound++,
    module.bound++,
  ];
  body.branch(header);
  body.label(header);
  body.words.put(Code.Phi, [module.type(type), expected, initial, before, found, next]);
  const fresh = freshValue(body, kind, type, expected, data[0]);
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

function freshValue(body: Body, kind: number, type: T, old: number, data: number): number {
  const { module } = body;
  const number = (value: number) => type === T.U64 ? module.u64(value) : module.u32(value);
  switch (kind) {
    case AtomicKind.Inc: {
      const wraps = body.op2(Code.UGreaterThanEqual, T.Bool, old, data);
      return body.select(type, wraps, number(0), body.op2(Code.IAdd, type, old, number(1)));
    }
    case AtomicKind.Dec: {
      const isZero = body.op2(Code.IEqual, T.Bool, old, number(0));
      const above = body.op2(Code.ULessThan, T.Bool, data, old);
      const wraps = body.op2(Code.LogicalOr, T.Bool, isZero, above);
      return body.select(type, wraps, data, body.op2(Code.ISub, type, old, number(1)));
    }
    case AtomicKind.FMin:
    case AtomicKind.FMax: {
      const a = body.op1(Code.Bitcast, T.F32, data), b = body.op1(Code.Bitcast, T.F32, old);
      const compare = kind === AtomicKind.FMin ? Code.FOrdLessThan : Code.FOrdGreaterThan;
      return body.select(type, body.op2(compare, T.Bool, a, b), data, old);
    }
    case AtomicKind.FAdd: {
      const a = body.op1(Code.Bitcast, T.F32, data), b = body.op1(Code.Bitcast, T.F32, old);
      const sum = body.op2(Code.FAdd, T.F32, b, a);
      module.decorate(sum, Decoration.NoContraction);
      return body.op1(Code.Bitcast, T.U32, sum);
    }
    default:
      throw new Error(`unknown atomic kind ${kind}`);
  }
}
