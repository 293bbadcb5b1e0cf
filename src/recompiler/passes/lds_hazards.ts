import type { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op } from "../ir/ops.ts";
import { indexStructure, type StructureIndex } from "./structure.ts";
import { threadMasks } from "./thread_masks.ts";

/**
 * Finds the LDS accesses that need a barrier before them to keep the lockstep of a wave.
 *
 * The lanes of a guest wave execute an instruction together, so a value that one lane writes to LDS is there for every lane's next read, and a read
 * comes before any lane's later write, without s_barrier; compilers count on it (a workgroup of one wave has its barriers removed). Invocations
 * of a host run apart. Two accesses conflict when one of them writes, unless both are atomic or every lane provably stays in its own bytes.
 *
 * @param threads of the workgroup
 * @param lanes of its waves: more than threads where the last wave has lanes without threads
 * @param before operations that get a barrier before them anyway
 * @returns operations before which a barrier is needed.
 */
export function ldsHazards(
  ir: Ir,
  threads: number,
  lanes = threads,
  before: ReadonlySet<number> = new Set(),
): Set<number> {
  const hazards = new Set<number>();
  if (!writesLds(ir)) return hazards;
  const count = lanes === threads || onlyThreadsAccess(ir) ? threads : lanes;
  if (count <= 1) return hazards;
  const structure = indexStructure(ir);
  const finder = new HazardFinder(ir, structure, hazards, count, before);
  finder.walk(0, ir.length, new Set());
  return hazards;
}

function writesLds(ir: Ir): boolean {
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.LdsStore || ir.op[i] === Op.LdsAtomic) return true;
  return false;
}

/** Whether lanes without threads never access LDS: nothing switches them on, as EXEC could. */
function onlyThreadsAccess(ir: Ir): boolean {
  const masks = threadMasks(ir);
  for (let i = 0; i < ir.length; i++) {
    const op = ir.op[i];
    if ((op === Op.LdsLoad || op === Op.LdsStore || op === Op.LdsAtomic) && masks[ir.b[i]] === 0) return false;
  }
  return true;
}

/** Accesses since the last barrier, by operation. */
type Pending = Set<number>;

class HazardFinder {
  private breaks: Pending[] = [];
  private continues: Pending[] = [];

  constructor(
    private readonly ir: Ir,
    private readonly structure: StructureIndex,
    private readonly hazards: Set<number>,
    private readonly threads: number,
    private readonly before: ReadonlySet<number>,
  ) {}

  /** Walks [start, end) with the pending accesses of its beginning; returns those of its end, null when the end is not reached. */
  walk(start: number, end: number, pending: Pending): Pending | null {
    const { ir, structure } = this;
    for (let i = start; i < end; i++) {
      const op = ir.op[i];
      if (this.before.has(i)) pending = new Set();
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
    return this.stride(ir.a[access], ir.b[access], 0) >= width;
  }

  /**
   * Bytes by which the address grows from lane to lane; 0 when unknown. What is added to it is the same for every lane each time: then lanes stay in
   * their own bytes from one iteration of a loop to the next as well.
   */
  private stride(value: number, active: number, depth: number): number {
    const { ir } = this;
    if (depth > DEPTH) return 0;
    const a = ir.a[value];
    const b = ir.b[value];
    switch (ir.op[value]) {
      case Op.Input:
        return a === InputKind.LocalIndex ? 1 : 0;
      case Op.Shl:
        return ir.op[b] === Op.Const && ir.a[b] < 24 ? this.stride(a, active, depth + 1) * 2 ** ir.a[b] : 0;
      case Op.IAdd:
        if (this.fixed(b, depth + 1)) return this.stride(a, active, depth + 1);
        return this.fixed(a, depth + 1) ? this.stride(b, active, depth + 1) : 0;
      case Op.Select:
        return a === active ? this.stride(b, active, depth + 1) : 0; // other lanes access nothing
      case Op.LoopPhi: {
        // Steps of whole workgroups keep a lane's bytes apart from those of all others, also beyond 2^32 when the step divides it.
        const first = this.stride(a, active, depth + 1), step = first * this.threads;
        return step > 0 && (step & step - 1) === 0 && this.advances(b, value, step, depth + 1) ? first : 0;
      }
      default:
        return 0;
    }
  }

  /** Whether a value is the loop's phi, or that and a multiple of `step`, on every path. */
  private advances(value: number, phi: number, step: number, depth: number): boolean {
    const { ir } = this;
    if (value === phi) return true;
    if (depth > DEPTH) return false;
    const a = ir.a[value], b = ir.b[value];
    const multiple = (at: number) => ir.op[at] === Op.Const && (ir.a[at] & step - 1) === 0;
    const next = (at: number) => this.advances(at, phi, step, depth + 1);
    switch (ir.op[value]) {
      case Op.IAdd:
        return multiple(b) ? next(a) : multiple(a) && next(b);
      case Op.Select:
        return next(b) && next(ir.c[value]);
      case Op.Phi:
        return next(a) && next(b);
      case Op.ContPhi:
        for (let k = 0; k < b; k++) if (!next(ir.pool[a + k])) return false;
        return true;
      default:
        return false;
    }
  }

  /** Whether a value is the same in all lanes of the workgroup and never changes: made of constants and what the dispatch gives. */
  private fixed(value: number, depth: number): boolean {
    const { ir } = this;
    const op = ir.op[value];
    if (op === Op.Const) return true;
    if (op === Op.Input) return FIXED_INPUTS.includes(ir.a[value]);
    if (depth > DEPTH || !FIXED_OPERATIONS.has(op)) return false;
    return this.fixed(ir.a[value], depth + 1) && this.fixed(ir.b[value], depth + 1);
  }
}

/** Inputs that are the same for all lanes of a workgroup. */
const FIXED_INPUTS: readonly number[] = [InputKind.UserData, InputKind.Resolved, InputKind.WorkgroupId];
/** Operations that are looked through at most. */
const DEPTH = 10;
const FIXED_OPERATIONS: ReadonlySet<number> = new Set([Op.IAdd, Op.ISub, Op.IMul, Op.Shl, Op.Shr, Op.And, Op.Or]);

function union(a: Pending | null, b: Pending | null): Pending | null {
  if (a === null) return b;
  if (b === null || a === b) return a;
  return new Set([...a, ...b]);
}
