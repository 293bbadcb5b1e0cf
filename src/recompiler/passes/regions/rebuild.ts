import { Ir } from "../../ir/ir.ts";
import { IfKind, Op, OPS, type Type } from "../../ir/ops.ts";
import { countUses, type StructureIndex } from "../structure.ts";
import type { Decision, WaveIf } from "./walker.ts";

/** Truths of Bool operands: key operation * 4 + operand, or `-1 - If` for the `b` of a wave branch. */
export type Known = Map<number, boolean>;

/** Copies the stream with the decisions carried out, known truths put in, and barriers added. */
export function rebuild(
  ir: Ir,
  structure: StructureIndex,
  decisions: ReadonlyMap<number, Decision>,
  branches: ReadonlyMap<number, WaveIf>,
  known: Known,
  barrierBefore: ReadonlySet<number>,
): Ir {
  const out = new Ir(ir.length + 64);
  const map = new Int32Array(ir.length);
  const pendingBack: number[] = [];
  /** Conditions of the flat regions around the current operation (new ids). */
  const flatConditions: number[] = [];
  const flatEnds = new Map<number, boolean>();
  const operand = (index: number, slot: number, value: number): number => {
    const truth = known.get(index * 4 + slot);
    return truth === undefined ? map[value] : out.constB(truth);
  };
  const unused = unusedVotes(ir, decisions);
  // Constants first: they may be used from anywhere.
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const) map[i] = out.copyConstant(ir, i);
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Const || unused.has(i)) continue;
    out.currentPc = ir.pc[i];
    if (barrierBefore.has(i)) out.emit(Op.Barrier, 1, op === Op.Fence ? ir.b[i] : 0);
    if (op === Op.Fence && (barrierBefore.has(i) || ir.b[i] === 0)) continue;
    if (op === Op.If && decisions.get(i) === "flat") {
      const parts = branches.get(i)!;
      const truth = known.get(-1 - i);
      flatConditions.push(truth === undefined ? map[parts.b] : out.constB(truth));
      flatEnds.set(parts.active[1], true);
      flatEnds.set(structure.endOf[i], parts.activeIsThen);
      if (!parts.activeIsThen) i = parts.active[0] - 1;
      continue;
    }
    if ((op === Op.Else || op === Op.EndIf) && flatEnds.has(i)) {
      const close = op === Op.Else ? structure.endOf[i] : i;
      const activeIsThen = flatEnds.get(close)!;
      flatConditions.pop();
      i = close;
      while (i + 1 < ir.length && ir.op[i + 1] === Op.Phi) {
        i++;
        map[i] = operand(i, activeIsThen ? 0 : 1, activeIsThen ? ir.a[i] : ir.b[i]);
      }
      continue;
    }
    if (op === Op.If && decisions.get(i) === "lane") {
      const parts = branches.get(i)!;
      const truth = known.get(-1 - i);
      let condition = truth === undefined ? map[parts.b] : out.constB(truth);
      if (!parts.activeIsThen) condition = out.emit(Op.LNot, condition);
      map[i] = out.emit(Op.If, condition, IfKind.Lane);
      continue;
    }
    if (op === Op.If && decisions.get(i) === "group") {
      const parts = branches.get(i)!;
      const truth = known.get(-1 - i);
      let condition = out.emit(Op.AnyGroup, truth === undefined ? map[parts.b] : out.constB(truth));
      if (!parts.activeIsThen) condition = out.emit(Op.LNot, condition);
      map[i] = out.emit(Op.If, condition, IfKind.Wave);
      continue;
    }
    const kinds = OPS[op].operands;
    if (op === Op.LoopPhi) {
      map[i] = out.append(op, ir.type[i] as Type, operand(i, 0, ir.a[i]), 0);
      pendingBack.push(i);
      continue;
    }
    if (kinds[0] === "p") {
      const values: number[] = [];
      for (let k = 0; k < ir.b[i]; k++) {
        values.push(k < 4 ? operand(i, k, ir.pool[ir.a[i] + k]) : map[ir.pool[ir.a[i] + k]]);
      }
      map[i] = out.append(op, ir.type[i] as Type, out.pooled(values), values.length);
      continue;
    }
    const a = kinds[0] === "v" ? operand(i, 0, ir.a[i]) : ir.a[i];
    let b = kinds[1] === "v" ? operand(i, 1, ir.b[i]) : ir.b[i];
    const c = kinds[2] === "v" ? operand(i, 2, ir.c[i]) : ir.c[i];
    const d = kinds[3] === "v" ? operand(i, 3, ir.d[i]) : ir.d[i];
    if (op === Op.Load && flatConditions.length > 0) {
      // The hardware would have skipped a scalar load here: a lane that is off must not fault on its address.
      for (const condition of flatConditions) b = out.emit(Op.LAnd, b, condition);
    }
    map[i] = out.append(op, ir.type[i] as Type, a, b, c, d);
  }
  for (const phi of pendingBack) {
    const truth = known.get(phi * 4 + 1);
    const back = truth === undefined ? map[ir.b[phi]] : out.constB(truth);
    out.b[map[phi]] = back; // not in one: a constant that is appended may make the array another one
  }
  return out;
}

/** The Any and LNot operations that only served conditions of branches which no longer vote. */
function unusedVotes(ir: Ir, decisions: ReadonlyMap<number, Decision>): Set<number> {
  const uses = countUses(ir);
  const unused = new Set<number>();
  for (const [index, decision] of decisions) {
    if (decision === "wave") continue;
    for (let i = ir.a[index]; --uses[i] === 0 && (ir.op[i] === Op.LNot || ir.op[i] === Op.Any); i = ir.a[i]) {
      unused.add(i);
      if (ir.op[i] === Op.Any) break;
    }
  }
  return unused;
}
