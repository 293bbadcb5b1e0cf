import type { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op, OPS } from "../ir/ops.ts";
import { quietLdsLoads } from "./lds_phases.ts";
import { SUBGROUP_BARRIER } from "./pack/shape.ts";
import { indexStructure, type StructureIndex } from "./structure.ts";

/** How far a value is known to be the same: only in its lane, in its wave, or in its workgroup. */
export const Uniformity = { Lane: 0, Wave: 1, Workgroup: 2 } as const;

/** Uniformity of every value, and of the control flow at every operation. */
export interface UniformityResult {
  /** {@linkcode Uniformity} of each value. */
  readonly value: Uint8Array;
  /** Uniformity of the decision to come to an operation: the least of the conditions and loop exits around it. */
  readonly flow: Uint8Array;
  /** Uniformity of the decisions to leave a loop, or an iteration of it, by the number of the Loop. */
  readonly exit: Uint8Array;
}

/**
 * Classifies all values. A value is at most as uniform as its operands and, for a phi, as the conditions that choose its operand. A load is as uniform
 * as its address: programs cannot count on seeing their own stores through it without a barrier, which splits no wave. One that sees other workgroups' data
 * is each lane's own: they may write between the loads of two lanes. A load from LDS is as uniform as its address where nobody writes LDS meanwhile
 * (lds_phases.ts).
 *
 * @param wavePerWorkgroup whether the workgroup is one wave, so that wave-uniform is workgroup-uniform.
 * @param loadsVary trust no load: another workgroup may write between the loads of two lanes.
 */
export function classifyUniformity(
  ir: Ir,
  wavePerWorkgroup: boolean,
  structure = indexStructure(ir),
  loadsVary = false,
): UniformityResult {
  const wave = wavePerWorkgroup ? Uniformity.Workgroup : Uniformity.Wave;
  const shared = new Uint8Array(ir.length), ofWave = (barrier: number) => ir.a[barrier] === SUBGROUP_BARRIER;
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.Barrier || ir.op[i] === Op.LdsLoad) shared[i] = 1;
  // Barriers and LDS loads are first thought to be where the whole workgroup comes by. What follows from that must confirm it.
  for (;;) {
    const quiet = quietLdsLoads(
      ir,
      structure,
      (barrier) => shared[barrier] === 1 && (wavePerWorkgroup || !ofWave(barrier)),
    );
    for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.LdsLoad) quiet[i] &= shared[i];
    const result = classifyWith(ir, structure, wave, loadsVary, quiet);
    let confirmed = true;
    for (let i = 0; i < ir.length; i++) {
      if (shared[i] === 0 || result.flow[i] === Uniformity.Workgroup) continue;
      shared[i] = 0;
      confirmed &&= ir.op[i] === Op.LdsLoad && quiet[i] === 0;
    }
    if (confirmed) return result;
  }
}

function classifyWith(
  ir: Ir,
  structure: StructureIndex,
  wave: number,
  loadsVary: boolean,
  quiet: Uint8Array,
): UniformityResult {
  const n = ir.length;
  const value = new Uint8Array(n).fill(Uniformity.Workgroup);
  const flow = new Uint8Array(n).fill(Uniformity.Workgroup);
  const exit = new Uint8Array(n).fill(Uniformity.Workgroup);
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < n; i++) {
      const next = Math.min(value[i], classify(ir, structure, value, exit, wave, i, loadsVary, quiet));
      if (next !== value[i]) {
        value[i] = next;
        changed = true;
      }
      if (ir.op[i] === Op.Break || ir.op[i] === Op.Continue) {
        const loop = structure.loopOf[i];
        let least = exit[loop];
        for (let p = structure.parentOf[i]; p !== loop; p = structure.parentOf[p]) {
          least = Math.min(least, ir.op[p] === Op.If ? value[ir.a[p]] : exit[p]);
        }
        if (least !== exit[loop]) {
          exit[loop] = least;
          changed = true;
        }
      }
    }
  }
  for (let i = 0; i < n; i++) {
    const p = structure.parentOf[i];
    if (p >= 0) flow[i] = Math.min(flow[p], ir.op[p] === Op.If ? value[ir.a[p]] : exit[p]);
  }
  return { value, flow, exit };
}

function classify(
  ir: Ir,
  structure: StructureIndex,
  value: Uint8Array,
  exit: Uint8Array,
  wave: number,
  i: number,
  loadsVary: boolean,
  quiet: Uint8Array,
): number {
  const op = ir.op[i];
  switch (op) {
    case Op.Load:
      if (loadsVary || (ir.c[i] & MemoryWidth.Coherent) !== 0) return Uniformity.Lane;
      break;
    case Op.Input:
      return inputUniformity(ir.a[i], wave);
    case Op.AnyGroup:
      return Uniformity.Workgroup;
    case Op.Any:
    case Op.ReadFirstLane:
      // The value of some lane of the wave.
      return value[ir.a[i]] === Uniformity.Workgroup ? Uniformity.Workgroup : wave;
    case Op.BallotLo:
    case Op.BallotHi:
      return wave;
    case Op.ReadLane:
      return value[ir.a[i]] === Uniformity.Workgroup ? Uniformity.Workgroup : wave;
    case Op.LdsLoad:
      if (quiet[i] === 0) return Uniformity.Lane;
      break;
    case Op.LdsAtomic:
    case Op.Atomic:
      return Uniformity.Lane;
    case Op.Phi: {
      if (ir.a[i] === ir.b[i]) return value[ir.a[i]];
      let end = i;
      while (ir.op[end] === Op.Phi) end--;
      return Math.min(value[ir.a[i]], value[ir.b[i]], value[ir.a[structure.openingOf[end]]]);
    }
    case Op.ContPhi:
    case Op.BreakPhi: {
      let at = i;
      while (ir.op[at] === op) at--;
      const loop = op === Op.ContPhi ? structure.loopOf[at] : structure.openingOf[at];
      if (op === Op.BreakPhi && leavesInvariant(ir, i, loop)) return value[ir.pool[ir.a[i]]];
      let least: number = exit[loop];
      for (let k = 0; k < ir.b[i]; k++) least = Math.min(least, value[ir.pool[ir.a[i] + k]]);
      return least;
    }
  }
  const kinds = OPS[op].operands;
  let least: number = Uniformity.Workgroup;
  if (kinds[0] === "v") least = Math.min(least, value[ir.a[i]]);
  if (kinds[1] === "v") least = Math.min(least, value[ir.b[i]]);
  if (kinds[2] === "v") least = Math.min(least, value[ir.c[i]]);
  if (kinds[3] === "v") least = Math.min(least, value[ir.d[i]]);
  return least;
}

/** Whether a BreakPhi is one value that no iteration changes: then it does not matter when a lane leaves. */
function leavesInvariant(ir: Ir, phi: number, loop: number): boolean {
  const first = ir.pool[ir.a[phi]];
  for (let k = 1; k < ir.b[phi]; k++) if (ir.pool[ir.a[phi] + k] !== first) return false;
  return invariant(ir, first, loop, 8);
}

function invariant(ir: Ir, value: number, loop: number, depth: number): boolean {
  const op = ir.op[value];
  if (value < loop || op === Op.Const) return true;
  const { operands, effect, exchange, name } = OPS[op];
  if (depth === 0 || effect || exchange || !/^v+$/.test(operands) || /Phi|Load|Any/.test(name)) return false;
  return [ir.a[value], ir.b[value], ir.c[value], ir.d[value]].every((each, k) =>
    k >= operands.length || invariant(ir, each, loop, depth - 1)
  );
}

function inputUniformity(kind: number, wave: number): number {
  if (kind === InputKind.UserData || kind === InputKind.Resolved || kind === InputKind.WorkgroupId) {
    return Uniformity.Workgroup;
  }
  if (kind === InputKind.PrimitiveMask || kind === InputKind.MergedWave || kind === InputKind.FirstWave) return wave;
  return kind === InputKind.WaveId || kind === InputKind.ScratchOffset ? wave : Uniformity.Lane;
}
