import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";

/** Where the constructs of an IR stream begin and end; all arrays are indexed by operation. */
export interface StructureIndex {
  /** If -> index of its Else, or of its EndIf when there is none. */
  readonly elseOf: Int32Array;
  /** If and Else -> index of the EndIf; Loop -> index of its EndLoop. */
  readonly endOf: Int32Array;
  /** EndIf -> its If; EndLoop -> its Loop. */
  readonly openingOf: Int32Array;
  /** Loop -> index of its LoopCont. */
  readonly contOf: Int32Array;
  /** Innermost Loop around an operation (the Loop operation itself belongs outside), -1 when there is none. */
  readonly loopOf: Int32Array;
  /** Innermost If or Loop around an operation, -1 when there is none. */
  readonly parentOf: Int32Array;
  /** Break -> its number among the loop's Breaks; Continue -> its number among the loop's Continues. */
  readonly edgeOf: Int32Array;
  /** Loop -> number of its Continues; the falling end of the body is the edge after them. */
  readonly continueCount: Int32Array;
}

/** Indexes the control structure of `ir` in one scan. */
export function indexStructure(ir: Ir): StructureIndex {
  const n = ir.length;
  const make = () => new Int32Array(n).fill(-1);
  const index: StructureIndex = {
    elseOf: make(),
    endOf: make(),
    openingOf: make(),
    contOf: make(),
    loopOf: make(),
    parentOf: make(),
    edgeOf: make(),
    continueCount: new Int32Array(n),
  };
  const open: number[] = [];
  const loops: number[] = [];
  const breaks = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    const op = ir.op[i];
    if (op === Op.EndIf) {
      const start = open.pop()!;
      if (index.elseOf[start] < 0) index.elseOf[start] = i;
      else index.endOf[index.elseOf[start]] = i;
      index.endOf[start] = i;
      index.openingOf[i] = start;
    } else if (op === Op.EndLoop) {
      const start = open.pop()!;
      loops.pop();
      index.endOf[start] = i;
      index.openingOf[i] = start;
    }
    index.parentOf[i] = open.length > 0 ? open[open.length - 1] : -1;
    const loop = loops.length > 0 ? loops[loops.length - 1] : -1;
    index.loopOf[i] = loop;
    if (op === Op.If) open.push(i);
    else if (op === Op.Else) index.elseOf[open[open.length - 1]] = i;
    else if (op === Op.Loop) {
      open.push(i);
      loops.push(i);
    } else if (op === Op.LoopCont) index.contOf[loop] = i;
    else if (op === Op.Break) index.edgeOf[i] = breaks[loop]++;
    else if (op === Op.Continue) index.edgeOf[i] = index.continueCount[loop]++;
  }
  return index;
}

/** Number of uses of each value as an operand. */
export function countUses(ir: Ir): Int32Array {
  const uses = new Int32Array(ir.length);
  for (let i = 0; i < ir.length; i++) {
    const kinds = OPS[ir.op[i]].operands;
    if (kinds[0] === "p") {
      for (let k = 0; k < ir.b[i]; k++) uses[ir.pool[ir.a[i] + k]]++;
      continue;
    }
    if (kinds[0] === "v") uses[ir.a[i]]++;
    if (kinds[1] === "v") uses[ir.b[i]]++;
    if (kinds[2] === "v") uses[ir.c[i]]++;
    if (kinds[3] === "v") uses[ir.d[i]]++;
  }
  return uses;
}
