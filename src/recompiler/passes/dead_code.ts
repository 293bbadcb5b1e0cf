import { Ir } from "../ir/ir.ts";
import { Op, OPS, type Type } from "../ir/ops.ts";
import { IS_VALUE } from "./simplify/folder.ts";
import { scanPhis } from "./simplify/phi_scan.ts";

/**
 * Removes what has no influence on memory, barriers or the program's course: unused values (also phis that only feed each other), branches with
 * nothing left in their arms. Loops stay, since they may wait for something. Linear.
 *
 * @returns a new program without gaps; the given one is not changed
 */
export function deadCode(ir: Ir): Ir {
  return new Sweep(ir, markLive(ir)).run();
}

/** The same program with its constants in front, so that phis stand right behind their constructs. */
export function constantsFirst(ir: Ir): Ir {
  return new Sweep(ir, new Uint8Array(ir.length).fill(1)).run();
}

/** One byte per operation: whether it stays. */
function markLive(ir: Ir): Uint8Array {
  const live = new Uint8Array(ir.length);
  const work: number[] = [];
  // The If or Loop around each operation, or the one that it belongs to; 0 at the top.
  const around = new Int32Array(ir.length);
  const mark = (id: number) => {
    if (live[id] === 1) return;
    live[id] = 1;
    work.push(id);
  };
  const open: number[] = [0];
  let closed = 0;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    around[i] = open[open.length - 1];
    // EndIf and EndLoop belong to what they close, and the phis behind them too.
    if (op === Op.EndIf || op === Op.EndLoop) closed = open.pop()!;
    else if (op === Op.Phi || op === Op.BreakPhi) around[i] = closed;
    else if (op === Op.If || op === Op.Loop) open.push(i);
    if (OPS[op].effect || op === Op.Loop || op === Op.Break || op === Op.Continue || op === Op.End) mark(i);
  }
  while (work.length > 0) {
    const i = work.pop()!;
    if (around[i] !== 0) mark(around[i]);
    const row = ir.op[i] * 4;
    if (IS_VALUE[row] === 1) mark(ir.a[i]);
    if (IS_VALUE[row + 1] === 1 && ir.b[i] !== 0) mark(ir.b[i]);
    if (IS_VALUE[row + 2] === 1 && ir.c[i] !== 0) mark(ir.c[i]);
    if (IS_VALUE[row + 3] === 1 && ir.d[i] !== 0) mark(ir.d[i]);
    if (ir.op[i] === Op.ContPhi || ir.op[i] === Op.BreakPhi) {
      for (let k = 0; k < ir.b[i]; k++) mark(ir.pool[ir.a[i] + k]);
    }
  }
  return live;
}

/** Copies what is live. */
class Sweep {
  private readonly out: Ir;
  private readonly to: Int32Array;

  constructor(private readonly ir: Ir, private readonly live: Uint8Array) {
    this.out = new Ir(ir.length + 16);
    this.to = new Int32Array(ir.length);
  }

  run(): Ir {
    const { ir, live, out, to } = this;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Const && live[i] === 1) to[i] = this.out.copyConstant(this.ir, i);
    }
    const { end } = scanPhis(ir);
    // Else and EndIf follow their If.
    const keep = new Uint8Array(ir.length);
    const open: number[] = [];
    const loopPhis: number[] = [];
    for (let i = 1; i < ir.length; i++) {
      const op = ir.op[i];
      if (op === Op.If || op === Op.Loop) open.push(i);
      if (op === Op.Else || op === Op.LoopCont) keep[i] = live[open[open.length - 1]];
      else if (op === Op.EndIf || op === Op.EndLoop) keep[i] = live[open.pop()!];
      else keep[i] = live[i];
      if (keep[i] === 0 || op === Op.Const || op === Op.Nop) continue;
      if (op === Op.Else && this.isEmpty(i, end[open[open.length - 1]])) continue;
      if (op === Op.LoopPhi) loopPhis.push(i);
      out.currentPc = ir.pc[i];
      to[i] = this.copy(i);
    }
    for (const phi of loopPhis) out.b[to[phi]] = to[ir.b[phi]];
    return out;
  }

  private isEmpty(from: number, end: number): boolean {
    for (let i = from + 1; i < end; i++) if (this.live[i] === 1 && this.ir.op[i] !== Op.Const) return false;
    return true;
  }

  private copy(i: number): number {
    const { ir, out, to } = this;
    const op = ir.op[i], type = ir.type[i] as Type;
    if (op === Op.ContPhi || op === Op.BreakPhi) {
      const values = ir.pool.slice(ir.a[i], ir.a[i] + ir.b[i]).map((id) => to[id]);
      return out.append(op, type, out.pooled(values), values.length);
    }
    const row = op * 4;
    const value = (id: number, k: number) => IS_VALUE[row + k] === 1 ? to[id] : id;
    return out.append(op, type, value(ir.a[i], 0), value(ir.b[i], 1), value(ir.c[i], 2), value(ir.d[i], 3));
  }
}
