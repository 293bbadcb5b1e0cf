import type { Ir } from "../../ir/ir.ts";
import { InputKind, MemoryWidth, Op } from "../../ir/ops.ts";
import { VALUE_OPERANDS } from "../../spirv/usage.ts";

/** Inputs that differ from lane to lane. */
const LANE_INPUTS: readonly number[] = [
  InputKind.LocalId,
  InputKind.LocalIndex,
  InputKind.LaneId,
  InputKind.ThreadActive,
];

/**
 * Finds the values that may differ from lane to lane of a wave, and the accesses that do something else in each; all others need to be computed once per invocation only. The program is as it was before
 * the regions pass: all control flow is the wave's.
 *
 * A load of one address for all lanes is one value, as it is on the console, where an instruction loads for all lanes at once.
 *
 * @returns 1 at each of them
 */
export function findVarying(ir: Ir): Uint8Array {
  const varying = new Uint8Array(ir.length);
  for (let changed = true, loops = false; changed;) {
    changed = false;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.LoopPhi) loops = true;
      if (varying[i] !== 0 || !varies(ir, varying, i)) continue;
      varying[i] = 1;
      changed = true;
    }
    if (!loops) break;
  }
  return varying;
}

function varies(ir: Ir, varying: Uint8Array, i: number): boolean {
  const a = ir.a[i], b = ir.b[i];
  switch (ir.op[i]) {
    case Op.Input:
      return LANE_INPUTS.includes(a);
    case Op.Atomic:
    case Op.LdsAtomic:
      return true;
    case Op.Any:
    case Op.AnyGroup:
    case Op.BallotLo:
    case Op.BallotHi:
    case Op.ReadLane:
    case Op.ReadFirstLane:
      return false;
    case Op.Shuffle:
      return varying[a] !== 0 && varying[b] !== 0;
  }
  const operands = VALUE_OPERANDS[ir.op[i]];
  if ((operands & 1) !== 0 && varying[a] !== 0) return true;
  if ((operands & 2) !== 0 && varying[b] !== 0) return true;
  if ((operands & 4) !== 0 && varying[ir.c[i]] !== 0) return true;
  if ((operands & 8) !== 0 && varying[ir.d[i]] !== 0) return true;
  if ((operands & 16) !== 0) { for (let k = 0; k < b; k++) if (varying[ir.pool[a + k]] !== 0) return true; }
  return false;
}

/**
 * Finds the loads, of one address for the whole wave, that decide where the wave goes or whose lane is read: where others may write that memory between the
 * loads of two invocations, one of them must load for all; so must it where the program wants one value of a coherent load. (What varies from lane to lane comes into such a decision through an exchange only.)
 *
 * @returns 1 at each of them
 */
export function decidingLoads(ir: Ir, varying: Uint8Array): Uint8Array {
  const deciding = new Uint8Array(ir.length), seen = new Uint8Array(ir.length);
  const work: number[] = [];
  const look = (value: number) => {
    if (value === 0 || seen[value] !== 0) return;
    seen[value] = 1;
    work.push(value);
  };
  const lookIfCoherent = (value: number) => {
    const load = ir.op[value] === Op.Load ? value : ir.op[value] === Op.Extract ? ir.a[value] : 0;
    if (ir.op[load] === Op.Load && (ir.c[load] & MemoryWidth.Coherent) !== 0) look(load);
  };
  let writes = false;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Store || op === Op.Atomic) writes = true;
    else if (op === Op.If) look(ir.a[i]);
    else if (op === Op.ReadLane && varying[ir.a[i]] !== 0) look(ir.b[i]);
    // The exchange that says so is gone where no lane differs.
    else if (op === Op.ReadFirstLane && varying[ir.a[i]] === 0) lookIfCoherent(ir.a[i]);
  }
  while (work.length > 0) {
    const i = work.pop()!, op = ir.op[i], a = ir.a[i], b = ir.b[i];
    if (varying[i] !== 0) continue;
    switch (op) {
      case Op.Load:
        if (writes || (ir.c[i] & MemoryWidth.Coherent) !== 0) {
          deciding[i] = 1;
          continue;
        }
        break;
      case Op.LdsLoad:
        deciding[i] = 1;
        continue;
      case Op.Any:
      case Op.BallotLo:
      case Op.BallotHi:
      case Op.ReadFirstLane:
      case Op.ReadLane:
      case Op.Shuffle:
        // Made by an exchange, unless all lanes have the same.
        if (varying[a] === 0) look(a);
        else if (op === Op.Shuffle) look(b);
        continue;
    }
    const operands = VALUE_OPERANDS[op];
    if ((operands & 1) !== 0) look(a);
    if ((operands & 2) !== 0) look(b);
    if ((operands & 4) !== 0) look(ir.c[i]);
    if ((operands & 8) !== 0) look(ir.d[i]);
    if ((operands & 16) !== 0) { for (let k = 0; k < b; k++) look(ir.pool[a + k]); }
  }
  return deciding;
}
