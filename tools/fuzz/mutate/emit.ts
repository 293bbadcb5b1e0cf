/** Corruptions of the table of SPIR-V emitters: what the handler of an IR operation may get wrong. */
import { AtomicKind, MemoryWidth, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { Code } from "../../../src/recompiler/spirv/codes.ts";
import { HANDLERS } from "../../../src/recompiler/spirv/emit.ts";
import type { Emitter, Handler } from "../../../src/recompiler/spirv/emitter.ts";
import { T } from "../../../src/recompiler/spirv/module.ts";
import { equivalentEmit } from "./equivalents.ts";
import type { Mutant, Scope } from "./mutant.ts";

/** The table as what it is at run time. */
const TABLE = HANDLERS as Handler[];
/** The table before any corruption. */
const TABLE_AT_START: readonly Handler[] = [...TABLE];

/** Operations that the table does nothing for: their ids come from elsewhere. */
const PASSIVE: readonly number[] = [Op.Nop, Op.Const, Op.Undef, Op.Input];
/** Marks of the structure: they have neither operands nor results, and a module without one of them is none. */
const MARKS: readonly number[] = [Op.Else, Op.EndIf, Op.Loop, Op.LoopCont, Op.EndLoop, Op.End];

/** Operations without mutants. */
export const UNTOUCHED: ReadonlySet<number> = new Set([...PASSIVE, ...MARKS]);

/** All mutants of the table, in the order of the operations. */
export function emitMutants(): Mutant[] {
  return OPS.flatMap((row, op) => {
    if (UNTOUCHED.has(op)) return [];
    return [
      ...resultMutants(op),
      ...operandMutants(op),
      ...immediateMutants(op),
      ...activeMutants(op),
      ...(row.effect ? [mutant(op, "dropped", "nothing is emitted", (_, scope) => () => scope.acted())] : []),
      ...neighbourMutants(op),
    ];
  });
}

function mutant(op: number, kind: string, note: string, wrap: (handler: Handler, scope: Scope) => Handler): Mutant {
  return {
    table: "emit",
    entry: OPS[op].name,
    kind,
    note,
    equivalent: equivalentEmit(OPS[op].name, kind),
    install(scope) {
      const handler = TABLE[op];
      const wrong = wrap(handler, scope);
      TABLE[op] = (e, i) => scope.covers(e.ir.pc[i]) ? wrong(e, i) : handler(e, i);
      return () => TABLE[op] = handler;
    },
  };
}

/** Functions with an error bound: a flipped last bit is within it. */
const APPROXIMATE: readonly number[] = [Op.FExp2, Op.FLog2, Op.FRsq, Op.FSin, Op.FCos];

function resultMutants(op: number): Mutant[] {
  if (op === Op.If) {
    return [mutant(op, "result", "the condition is negated", (handler, scope) => (e, i) => {
      scope.acted();
      const { ids, ir } = e;
      const value = ir.a[i], id = e.use(value);
      ids[value] = e.body.op1(Code.LogicalNot, T.Bool, id);
      handler(e, i);
      ids[value] = id;
    })];
  }
  if (STORED.includes(op)) {
    return [mutant(op, "result", "the lowest bit of what is stored is flipped", (handler, scope) => (e, i) => {
      scope.acted();
      const { ids, ir, floatForm } = e;
      const value = ir.c[i], id = e.use(value), form = floatForm[value];
      if (form === 0) ids[value] = id;
      flip(e, value, 1);
      handler(e, i);
      ids[value] = id;
      floatForm[value] = form;
    })];
  }
  if (OPS[op].result === Type.Void) return [];
  const bit = APPROXIMATE.includes(op) ? 0x400000 : 1;
  const note = `bit 0x${bit.toString(16)} of the result is flipped`;
  return [mutant(op, "result", note, (handler, scope) => (e, i) => {
    handler(e, i);
    if (e.ids[i] === 0) return;
    scope.acted();
    flip(e, i, bit);
  })];
}

const STORED: readonly number[] = [Op.Store, Op.LdsStore];

/** Gives value `i` an id with a bit flipped. */
function flip(e: Emitter, i: number, bit: number): void {
  const { body, module, ids, floatForm } = e;
  const type = e.ir.type[i], id = ids[i];
  const asBits = (from: T, to: T, mask: number) =>
    body.op1(Code.Bitcast, from, body.op2(Code.BitwiseXor, to, body.op1(Code.Bitcast, to, id), mask));
  switch (type) {
    case Type.Bool:
      ids[i] = body.op1(Code.LogicalNot, T.Bool, id);
      break;
    case Type.U32:
    case Type.F32:
      ids[i] = type === Type.F32 || floatForm[i] !== 0
        ? asBits(T.F32, T.U32, module.u32(bit))
        : body.op2(Code.BitwiseXor, T.U32, id, module.u32(bit));
      break;
    case Type.U64:
      ids[i] = body.op2(Code.BitwiseXor, T.U64, id, module.constant64(T.U64, bit, 0));
      break;
    case Type.F64:
      ids[i] = asBits(T.F64, T.U64, module.constant64(T.U64, bit, 0));
      break;
    default: {
      const count = type - Type.V2 + 2, float = floatForm[i] !== 0;
      const part = float ? T.F32 : T.U32;
      const parts = Array.from({ length: count }, (_, k) => body.extract(part, id, k));
      const first = float ? body.op1(Code.Bitcast, T.U32, parts[0]) : parts[0];
      const wrong = body.op2(Code.BitwiseXor, T.U32, first, module.u32(bit));
      parts[0] = float ? body.op1(Code.Bitcast, T.F32, wrong) : wrong;
      ids[i] = body.ops(Code.CompositeConstruct, (float ? T.F32x2 + count - 2 : type) as T, parts);
    }
  }
}

/** A mutant that emits the operation with other operands. @param change returns whether it changed anything */
function changed(op: number, kind: string, note: string, change: (e: Emitter, i: number) => boolean): Mutant {
  return mutant(op, kind, note, (handler, scope) => (e, i) => {
    const { a, b, c, d } = e.ir;
    const before = [a[i], b[i], c[i], d[i]];
    const pool = [...e.ir.pool];
    if (change(e, i)) scope.acted();
    handler(e, i);
    [a[i], b[i], c[i], d[i]] = before;
    e.ir.pool = pool;
  });
}

/** Symmetric by definition (see ops.ts), although the table does not say so. */
const SYMMETRIC: readonly number[] = [Op.FMin, Op.FMax, Op.FMin64, Op.FMax64, Op.FAddOdd];

function operandMutants(op: number): Mutant[] {
  const row = OPS[op];
  if (op === Op.ContPhi || op === Op.BreakPhi) {
    return [changed(op, "operands", "the values of the edges are rotated", ({ ir }, i) => {
      const values = ir.pool.slice(ir.a[i], ir.a[i] + ir.b[i]);
      if (new Set(values).size < 2) return false;
      values.push(values.shift()!);
      values.forEach((value, k) => ir.pool[ir.a[i] + k] = value);
      return true;
    })];
  }
  const swap = (first: "a" | "b", second: "b" | "c"): Mutant =>
    changed(op, `operands ${first}${second}`, `operands ${first} and ${second} are exchanged`, ({ ir }, i) => {
      const x = ir[first][i], y = ir[second][i];
      if (x === y || ir.type[x] !== ir.type[y]) return false;
      [ir[first][i], ir[second][i]] = [y, x];
      return true;
    });
  const list: Mutant[] = [];
  // The initial value of a loop's phi is no value of its end, and the other way round.
  if (op === Op.LoopPhi || row.effect || op === Op.Load || op === Op.LdsLoad) return list;
  if (/^vv/.test(row.operands) && op !== Op.Select && !row.commutes && !SYMMETRIC.includes(op)) {
    if (![Op.FFma, Op.FFmaScaled, Op.FFmaScaled64, Op.ReadFirstLane].includes(op)) list.push(swap("a", "b"));
  }
  if (/^vvv/.test(row.operands)) list.push(swap("b", "c"));
  return list;
}

/** Numbers in operands. */
function immediateMutants(op: number): Mutant[] {
  switch (op) {
    case Op.Extract:
      return [changed(op, "immediate", "another component", ({ ir }, i) => (ir.b[i] ^= 1) >= 0)];
    case Op.HAdd:
    case Op.HMul:
    case Op.HFma: {
      const field = op === Op.HFma ? "d" : "c";
      return [changed(op, "immediate", "the low half only", ({ ir }, i) => {
        if (ir[field][i] !== 2) return false;
        ir[field][i] = 1;
        return true;
      })];
    }
    case Op.BitInsert:
      return [changed(op, "immediate", "another place", ({ ir }, i) => (ir.c[i] ^= 1) >= 0)];
    case Op.Load:
    case Op.LdsLoad:
      return [changed(op, "immediate", "the sign of narrow loads is negated", ({ ir }, i) => {
        if ((ir.c[i] & MemoryWidth.BytesMask) > 2) return false;
        ir.c[i] ^= MemoryWidth.Signed;
        return true;
      })];
    case Op.Store:
    case Op.LdsStore:
      return [changed(op, "immediate", "a byte instead of more", ({ ir }, i) => {
        const bytes = ir.d[i] & MemoryWidth.BytesMask;
        if (bytes === 1 || bytes > 4) return false;
        ir.d[i] = ir.d[i] & ~MemoryWidth.BytesMask | 1;
        return true;
      })];
    case Op.Atomic:
    case Op.LdsAtomic:
      return [
        changed(op, "immediate", "the other one of add/sub, smin/umin, smax/umax, and/or, xor/inc", ({ ir }, i) => {
          const kind = ir.d[i] & AtomicKind.Mask;
          if (kind < AtomicKind.Add || kind > AtomicKind.Inc) return false;
          ir.d[i] ^= 1;
          return true;
        }),
      ];
    default:
      return [];
  }
}

/** Accesses of lanes that are switched off, or out of bounds. */
function activeMutants(op: number): Mutant[] {
  if (!/^vv/.test(OPS[op].operands) || ![Op.Load, Op.LdsLoad, ...STORED, Op.Atomic, Op.LdsAtomic].includes(op)) {
    return [];
  }
  return [mutant(op, "active", "inactive lanes count as active", (handler, scope) => (e, i) => {
    const { ids, ir } = e;
    const active = ir.b[i], id = ids[active];
    if (ir.op[active] === Op.Const) return handler(e, i);
    scope.acted();
    ids[active] = e.module.constant(T.Bool, 1);
    handler(e, i);
    ids[active] = id;
  })];
}

/** The handler of the next operation that looks the same. */
function neighbourMutants(op: number): Mutant[] {
  const look = (k: number) => {
    const { result, operands, effect, exchange, structure } = OPS[k];
    return [result, operands, effect, exchange, structure].join();
  };
  const same = OPS.map((_, k) => k).filter((k) => !UNTOUCHED.has(k) && look(k) === look(op));
  const next = same[(same.indexOf(op) + 1) % same.length];
  if (next === op) return [];
  return [mutant(op, "neighbour", `acts as ${OPS[next].name}`, (_, scope) => {
    const other = TABLE[next];
    return (e, i) => {
      scope.acted();
      // A handler of several operations looks at the operation itself.
      if (other === TABLE_AT_START[op]) e.ir.op[i] = next;
      other(e, i);
      e.ir.op[i] = op;
    };
  })];
}
