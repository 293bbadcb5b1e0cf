import type { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op } from "../ir/ops.ts";
import { indexStructure, type StructureIndex } from "./structure.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Finds the LDS accesses that need a barrier before them to keep the lockstep of a wave.
 *
 * The lanes of a guest wave execute an instruction together, so a value that one lane writes to LDS is there for every lane's next read, and a read
 * comes before any lane's later write, without s_barrier; compilers count on it (a workgroup of one wave has its barriers removed). Invocations
 * of a host run apart. Two accesses conflict when one of them writes, unless both are atomic or every lane provably stays in its own bytes.
 *
 * @returns operations before which a barrier is needed.
 */
export function ldsHazards(ir: Ir, threads: number): Set<number> {
  const hazards = new Set<number>();
  if (threads <= 1 || !writesLds(ir)) return hazards;
  const structure = indexStructure(ir);
  const finder = new HazardFinder(ir, structure, hazards);
  finder.walk(0, ir.length, new Set());
  return hazards;
}

function writesLds(ir: Ir): boolean {
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.LdsStore || ir.op[i] === Op.LdsAtomic) return true;
  return false;
}

/** Accesses since the last barrier, by operation. */
type Pending = Set<number>;

class HazardFinder {
  private readonly uniform: Uint8Array;
  private breaks: Pending[] = [];
  private continues: Pending[] = [];

  constructor(
    private readonly ir: Ir,
    private readonly structure: StructureIndex,
    private readonly hazards: Set<number>,
  ) {
    this.uniform = classifyUniformity(ir, false, structure).value;
  }

  /** Walks [start, end) with the pending accesses of its beginning; returns those of its end, null when the end is not reached. */
  walk(start: number, end: number, pending: Pending): Pending | null {
    const { ir, structure } = this;
    for (let i = start; i < end; i++) {
      const op = ir.op[i];
      if (op === Op.If) {
        const middle = structure.elseOf[i];
        const close = structure.endOf[i];
        const a = this.walk(i + 1, middle, new Set(pending));
        const b = middle === close ? pending : this.walk(middle + 1, close, new Set(pending));
        const joined = union(a, b);
        if (joined === null) return null;
        pending = joined;
        i = close;
      } else if (op === Op.Loop) {
        const after = this.walkLoop(i, pending);
        if (after === null) return null;
        pending = after;
        i = structure.endOf[i];
      } else if (op === Op.Break || op === Op.Continue) {
        (op === Op.Break ? this.breaks : this.continues).push(pending);
        return null;
      } else if (op === Op.Barrier) {
        pending = new Set();
      } else if (op === Op.LdsLoad || op === Op.LdsStore || op === Op.LdsAtomic) {
        if (this.hazards.has(i) || this.conflictsWithAny(i, pending)) {
          this.hazards.add(i);
          pending = new Set();
        }
        pending.add(i);
      }
    }
    return pending;
  }

  private walkLoop(loop: number, pending: Pending): Pending | null {
    const [outerBreaks, outerContinues] = [this.breaks, this.continues];
    let entry = pending;
    let breaks: Pending[] = [];
    // Accesses of one iteration meet those of the next: two rounds see every pair.
    for (let round = 0; round < 2; round++) {
      this.breaks = breaks = [];
      this.continues = [];
      const falls = this.walk(loop + 1, this.structure.contOf[loop], new Set(entry));
      const back = this.continues.reduce<Pending | null>(union, falls);
      if (back === null) break;
      entry = union(entry, back)!;
    }
    [this.breaks, this.continues] = [outerBreaks, outerContinues];
    return breaks.reduce<Pending | null>(union, null);
  }

  private conflictsWithAny(i: number, pending: Pending): boolean {
    const { ir } = this;
    for (const j of pending) {
      const reads = (k: number) => ir.op[k] === Op.LdsLoad;
      const atomic = (k: number) => ir.op[k] === Op.LdsAtomic;
      if ((reads(i) && reads(j)) || (atomic(i) && atomic(j))) continue;
      if (!atomic(i) && !atomic(j) && ir.a[i] === ir.a[j] && this.ownBytes(i) && this.ownBytes(j)) continue;
      return true;
    }
    return false;
  }

  /** Whether different lanes of the workgroup provably access different bytes. */
  private ownBytes(access: number): boolean {
    const { ir } = this;
    const width = (ir.op[access] === Op.LdsLoad ? ir.c[access] : ir.d[access]) & MemoryWidth.BytesMask;
    return Math.abs(this.stride(ir.a[access], 0)) >= width;
  }

  /** Bytes by which the address grows from lane to lane; 0 when unknown. */
  private stride(value: number, depth: number): number {
    const { ir } = this;
    if (depth > 8) return 0;
    const a = ir.a[value];
    const b = ir.b[value];
    switch (ir.op[value]) {
      case Op.Input:
        return a === InputKind.LocalIndex ? 1 : 0;
      case Op.Shl:
        return ir.op[b] === Op.Const && ir.a[b] < 24 ? this.stride(a, depth + 1) * 2 ** ir.a[b] : 0;
      case Op.IAdd:
        if (this.uniform[b] === Uniformity.Workgroup) return this.stride(a, depth + 1);
        return this.uniform[a] === Uniformity.Workgroup ? this.stride(b, depth + 1) : 0;
      default:
        return 0;
    }
  }
}

function union(a: Pending | null, b: Pending | null): Pending | null {
  if (a === null) return b;
  if (b === null || a === b) return a;
  return new Set([...a, ...b]);
}
