/**
 * One order for programs that differ only in how their instructions were scheduled: rounds of an unrolled loop often do.
 */
import { Ir } from "../../ir/ir.ts";
import { Op, OPS, Type } from "../../ir/ops.ts";
import { IS_VALUE } from "../simplify/folder.ts";
import { operandsOf } from "./relate.ts";

/** Levels of operands that say which operand of two comes first. */
const LEVELS = 4;
const COMMUTES = Uint8Array.from(OPS, ({ commutes }) => commutes ? 1 : 0);
/** What stays where it is; all else is done right before it is first needed. */
const STAYS = Uint8Array.from(
  OPS,
  ({ name, structure, effect, exchange }) =>
    structure || effect || exchange || name.endsWith("Phi") || name === "Load" || name === "LdsLoad" ? 1 : 0,
);

/**
 * The same program in an order that does not depend on the one it has: whatever has no effect and reads no memory stands right before its first user. An If with an empty
 * first arm and a negated condition becomes one without Else.
 */
export function canonicalOrder(ir: Ir): Ir {
  return new Writer(withoutEmptyArms(sortedOperands(ir)), ir).run();
}

/** A copy of the arrays that may be changed. */
function copyOf(ir: Ir): Ir {
  const copy = new Ir(1);
  copy.length = ir.length;
  [copy.op, copy.type, copy.pc] = [ir.op.slice(), ir.type, ir.pc];
  [copy.a, copy.b, copy.c, copy.d] = [ir.a.slice(), ir.b.slice(), ir.c, ir.d];
  copy.pool = ir.pool;
  return copy;
}

/** Operands that may be exchanged in an order that hangs on what they are, and not on where. */
function sortedOperands(ir: Ir): Ir {
  const copy = copyOf(ir), n = ir.length;
  let hash = new Int32Array(n), next = new Int32Array(n);
  const slots: number[] = [];
  for (let level = 0; level < LEVELS; level++) {
    for (let i = 1; i < n; i++) {
      const op = ir.op[i], kinds = OPS[op].operands;
      let h = Math.imul(op * 16 + ir.type[i] + 1, 0x9e3779b1);
      if (op !== Op.Const) {
        if (kinds[1] === "i") h = Math.imul(h ^ ir.b[i], 0xc2b2ae35);
        if (kinds[2] === "i") h = Math.imul(h ^ ir.c[i], 0x27d4eb2f);
        if (kinds[3] === "i") h = Math.imul(h ^ ir.d[i], 0x165667b1);
        if (level > 0 && STAYS[op] === 0 || op === Op.Load || op === Op.LdsLoad) {
          slots.length = 0;
          operandsOf(ir, i, slots);
          for (let k = 0; k < slots.length; k++) {
            const value = hash[slots[k]];
            // The sum of both does not say which is first.
            if (COMMUTES[op] === 1 && k < 2) h = (h + Math.imul(value ^ (value >>> 13), 0x85ebca6b)) | 0;
            else h = Math.imul(h ^ value, 0x85ebca6b) ^ (h >>> 13);
          }
        }
      }
      next[i] = h ^ (h >>> 16);
    }
    [hash, next] = [next, hash];
  }
  for (let i = 1; i < n; i++) {
    if (COMMUTES[ir.op[i]] === 0) continue;
    const a = ir.a[i], b = ir.b[i];
    // Constants stay on the right.
    if (ir.op[a] === Op.Const || ir.op[b] === Op.Const || hash[a] <= hash[b]) continue;
    [copy.a[i], copy.b[i]] = [b, a];
  }
  return copy;
}

/** Changes `if (!c) {} else {...}` to `if (c) {...}`, in place. */
function withoutEmptyArms(ir: Ir): Ir {
  const open: { at: number; swapped: boolean }[] = [];
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.If) open.push({ at: i, swapped: false });
    else if (op === Op.Else) {
      const top = open[open.length - 1];
      let before = i - 1;
      while (ir.op[before] === Op.Const || ir.op[before] === Op.Nop) before--;
      if (before !== top.at || ir.op[ir.a[top.at]] !== Op.LNot) continue;
      ir.a[top.at] = ir.a[ir.a[top.at]];
      ir.op[i] = Op.Nop;
      top.swapped = true;
    } else if (op === Op.EndIf) {
      if (!open.pop()!.swapped) continue;
      for (let phi = i + 1; ir.op[phi] === Op.Phi || ir.op[phi] === Op.Const; phi++) {
        if (ir.op[phi] === Op.Phi) [ir.a[phi], ir.b[phi]] = [ir.b[phi], ir.a[phi]];
      }
    } else if (op === Op.Loop || op === Op.EndLoop) continue;
  }
  return ir;
}

/** Places operations last to first, and writes them down the other way round. */
class Writer {
  /** Users of each value that have not been placed. */
  private readonly waiting: Int32Array;
  /** Stretch of the stream between two places of control structure. */
  private readonly block: Int32Array;
  /** The same, or an earlier one where a value may be made as well. */
  private readonly home: Int32Array;
  /** Values whose users are all in later blocks, in the order in which that was found out. */
  private readonly ready: number[][] = [];
  /** The order, last to first. */
  private readonly order: number[] = [];

  constructor(private readonly ir: Ir, private readonly from: Ir) {
    this.waiting = new Int32Array(ir.length);
    this.block = new Int32Array(ir.length);
    this.home = new Int32Array(ir.length);
  }

  run(): Ir {
    const { ir, waiting, block, home, order } = this;
    const slots: number[] = [], loops: number[] = [], opening = new Int32Array(ir.length);
    const ifs: number[] = [];
    let number = 0, closed = 0;
    for (let i = 1; i < ir.length; i++) {
      const op = ir.op[i];
      if (OPS[op].structure) {
        number++;
        if (op === Op.If) ifs.push(i);
        closed = op === Op.EndIf ? ifs.pop()! : 0;
      }
      block[i] = number;
      home[i] = closed !== 0 && this.isEarlier(i, closed) ? block[closed] - 1 : number;
      if (op === Op.Loop) loops.push(i);
      else if (op === Op.EndLoop) opening[i] = loops.pop()!;
      else if (op === Op.LoopPhi) waiting[ir.b[i]]++;
    }
    for (let i = ir.length - 1; i > 0; i--) {
      // What nobody uses is left out.
      if (STAYS[ir.op[i]] === 0 && waiting[i] === 0) continue;
      slots.length = 0;
      operandsOf(ir, i, slots);
      const count = ir.op[i] === Op.LoopPhi ? 1 : slots.length;
      for (let k = 0; k < count; k++) waiting[slots[k]]++;
    }
    for (let k = 0; k <= number; k++) this.ready.push([]);
    // Inputs are there from the start, wherever they stand.
    const inputs: number[] = [];
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && waiting[i] > 0) inputs.push(i);
    for (let i = ir.length - 1, current = -1; i > 0; i--) {
      if (block[i] !== current) {
        current = block[i];
        for (const value of this.ready[current]) this.place(value, current);
      }
      const op = ir.op[i];
      if (STAYS[op] === 0) continue;
      this.place(i, current);
      // What goes round a loop is used at its end.
      if (op !== Op.EndLoop) continue;
      for (let phi = opening[i] + 1; ir.op[phi] === Op.LoopPhi || ir.op[phi] === Op.Const; phi++) {
        if (ir.op[phi] === Op.LoopPhi && ir.b[phi] !== 0) this.used(ir.b[phi], current);
      }
    }
    return this.write(inputs.concat(order.reverse()));
  }

  /**
   * Whether a Bool behind an If could as well be computed before it. Masks of nested rounds are put together on the way out; what goes into them belongs to the
   * rounds.
   */
  private isEarlier(i: number, start: number): boolean {
    const { ir, block, home } = this;
    if (ir.type[i] !== Type.Bool || STAYS[ir.op[i]] === 1) return false;
    const slots: number[] = [];
    operandsOf(ir, i, slots);
    return slots.every((value) =>
      ir.op[value] === Op.Const || ir.op[value] === Op.Input || value < start || home[value] < block[start]
    );
  }

  /** Places an operation, and before it what is needed nowhere else. */
  private place(first: number, current: number): void {
    const { ir, order, stack } = this;
    stack.push(first);
    const slots: number[] = [];
    while (stack.length > 0) {
      const i = stack.pop()!;
      order.push(i);
      slots.length = 0;
      operandsOf(ir, i, slots);
      const count = ir.op[i] === Op.LoopPhi ? 1 : slots.length;
      for (let k = 0; k < count; k++) this.used(slots[k], current, stack);
    }
  }

  private readonly stack: number[] = [];

  private used(value: number, current: number, stack?: number[]): void {
    const op = this.ir.op[value];
    if (--this.waiting[value] !== 0 || STAYS[op] === 1 || op === Op.Const || op === Op.Input) return;
    if (this.home[value] !== current) this.ready[this.home[value]].push(value);
    else if (stack !== undefined) stack.push(value);
    else this.place(value, current);
  }

  private write(order: readonly number[]): Ir {
    const { ir } = this;
    const out = new Ir(ir.length), to = new Int32Array(ir.length);
    out.resources = this.from.resources;
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const) to[i] = out.copyConstant(ir, i);
    const phis: number[] = [];
    for (const i of order) {
      const op = ir.op[i], type = ir.type[i] as Type;
      out.currentPc = ir.pc[i];
      if (op === Op.ContPhi || op === Op.BreakPhi) {
        const values = ir.pool.slice(ir.a[i], ir.a[i] + ir.b[i]).map((value) => to[value]);
        to[i] = out.append(op, type, out.pooled(values), values.length);
        continue;
      }
      if (op === Op.LoopPhi) phis.push(i);
      const value = (id: number, k: number) => IS_VALUE[op * 4 + k] === 1 ? to[id] : id;
      to[i] = out.append(op, type, value(ir.a[i], 0), value(ir.b[i], 1), value(ir.c[i], 2), value(ir.d[i], 3));
    }
    for (const phi of phis) out.b[to[phi]] = to[ir.b[phi]];
    return out;
  }
}
