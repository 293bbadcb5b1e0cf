import type { Ir } from "../ir/ir.ts";
import { DeviceOrder, FenceKind, InputKind, MemoryWidth, Op } from "../ir/ops.ts";
import type { ResourcePlan } from "../resources/plan.ts";
import { MemoryPlaces } from "./memory_places.ts";
import { countUses, indexStructure, type StructureIndex } from "./structure.ts";

/**
 * Finds the fences and barriers of the guest that other workgroups count on, and marks them (operand b): they order guest memory for the whole device.
 *
 * On the console a wait is what orders accesses for others: a store is there for everybody when vscnt says so, a load or an atomic operation with a result
 * has been done when vmcnt or lgkmcnt says so, and what is loaded behind an invalidation of the caches is new (AMD RDNA2 ISA, "Manually Inserted Wait
 * States" and the counters of S_WAITCNT; LLVM, AMDGPUUsage, "Memory Model GFX10-GFX11": a release at agent scope waits for vmcnt, vscnt and lgkmcnt, an
 * acquire waits for the load and then does buffer_gl1_inv and buffer_gl0_inv). A host orders nothing that no memory barrier of Device scope stands between.
 *
 * - *Release*: a write, a wait for it, and then another write (which may be the flag that tells of the first), an atomic operation, or a load that sees
 *   other workgroups' data.
 * - *Acquire*: a load that sees other workgroups' data (GLC or DLC) or an atomic operation whose result is used, a wait for it, and then any access. A
 *   load of any other kind counts where caches that workgroups share are invalidated behind it.
 *
 * The wait may be one lane's and the access behind it another's, if a barrier is between them: then the barrier has Device scope itself, so that
 * whoever has stored makes it known, and whoever loads looks anew. Private memory (scratch) is nobody else's.
 *
 * @param ir marked in place
 * @param hazards fences that become barriers for the lockstep of waves
 */
export function markDeviceOrder(ir: Ir, hazards: ReadonlySet<number>, plan?: ResourcePlan): void {
  if (ir.op.subarray(0, ir.length).includes(Op.Fence)) new OrderWalk(ir, hazards, plan).run();
}

/**
 * The first operation from which on loads may come behind an acquire, and must not find what a host's cache holds: the first acquire, or the outermost loop
 * around it; the program's length when there is none.
 */
export function firstBehindAcquire(ir: Ir): number {
  let loops = 0, outermost = 0;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Loop && loops++ === 0) outermost = i;
    else if (op === Op.EndLoop) loops--;
    else if ((op === Op.Fence || op === Op.Barrier) && (ir.b[i] & DeviceOrder.Acquire) !== 0) {
      return loops > 0 ? outermost : i;
    }
  }
  return ir.length;
}

/** Whether a program tells other workgroups anything, or asks them: it has coherent loads, or fences or barriers that are marked. */
export function tellsOthers(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Load && (ir.c[i] & MemoryWidth.Coherent) !== 0) return true;
    if ((op === Op.Fence || op === Op.Barrier) && ir.b[i] !== 0) return true;
  }
  return false;
}

/**
 * What has been done that no wait is behind: bits of `Order.open`. Answers are what tells of others; silent ones are writes that a wait for results may be
 * for, too.
 */
const Done = { Write: 1, Answer: 2, Silent: 4, Read: 8 } as const;

/** What each kind of fence says to have come before it, of writes and of loads. */
const COVERS: Readonly<Record<number, { readonly writes: number; readonly reads: number }>> = {
  [FenceKind.Stores]: { writes: Done.Write | Done.Silent, reads: 0 },
  // Whether an atomic operation had a result that nobody uses is not known any more. Stores to GDS, which are marked as coherent, are waited for by lgkmcnt.
  [FenceKind.Results]: { writes: Done.Silent, reads: Done.Answer },
  [FenceKind.Caches]: { writes: Done.Write | Done.Silent, reads: Done.Answer },
  [FenceKind.SharedCaches]: { writes: Done.Write | Done.Silent, reads: Done.Answer | Done.Read },
};

/** What has happened on the way to a place. */
interface Order {
  /** Accesses that nobody has waited for, `Done` bits. */
  readonly open: number;
  /** The last fences, or the barriers behind those, that writes came before. */
  readonly writes: ReadonlySet<number>;
  /** The same of loads. */
  readonly reads: ReadonlySet<number>;
}

const NONE: ReadonlySet<number> = new Set();
const NOTHING: Order = { open: 0, writes: NONE, reads: NONE };

class OrderWalk {
  readonly #structure: StructureIndex;
  readonly #uses: Int32Array;
  readonly #isPrivate: (access: number) => boolean;
  #breaks: Order[] = [];
  #continues: Order[] = [];

  constructor(private readonly ir: Ir, private readonly hazards: ReadonlySet<number>, plan?: ResourcePlan) {
    this.#structure = indexStructure(ir);
    this.#uses = countUses(ir);
    const places = usesScratch(ir) ? new MemoryPlaces(ir, plan) : undefined;
    this.#isPrivate = (access) => places !== undefined && places.placeOf(access) === undefined;
  }

  run(): void {
    this.#walk(0, this.ir.length, NOTHING);
  }

  /** Walks [start, end); returns what has happened at its end, null when the end is not reached. */
  #walk(start: number, end: number, order: Order): Order | null {
    const { ir } = this, structure = this.#structure;
    for (let i = start; i < end; i++) {
      switch (ir.op[i]) {
        case Op.If: {
          const middle = structure.elseOf[i], close = structure.endOf[i];
          const a = this.#walk(i + 1, middle, order);
          const b = middle === close ? order : this.#walk(middle + 1, close, order);
          const both = join(a, b);
          if (both === null) return null;
          order = both;
          i = close;
          break;
        }
        case Op.Loop: {
          const after = this.#loop(i, order);
          if (after === null) return null;
          order = after;
          i = structure.endOf[i];
          break;
        }
        case Op.Break:
        case Op.Continue:
          (ir.op[i] === Op.Break ? this.#breaks : this.#continues).push(order);
          return null;
        case Op.Fence:
          order = this.#fence(i, order);
          break;
        case Op.Barrier:
          order = { ...order, writes: this.#passed(order.writes, i), reads: this.#passed(order.reads, i) };
          break;
        case Op.Load:
        case Op.Store:
        case Op.Atomic:
          if (!this.#isPrivate(i)) order = this.#access(i, order);
      }
    }
    return order;
  }

  #loop(loop: number, entry: Order): Order | null {
    const outer = [this.#breaks, this.#continues];
    let breaks: Order[];
    for (;;) {
      this.#breaks = breaks = [];
      this.#continues = [];
      const falls = this.#walk(loop + 1, this.#structure.contOf[loop], entry);
      const back = this.#continues.reduce<Order | null>(join, falls);
      const next = join(entry, back)!;
      if (isEqual(next, entry)) break;
      entry = next;
    }
    [this.#breaks, this.#continues] = outer;
    return breaks.reduce<Order | null>(join, null);
  }

  #access(i: number, order: Order): Order {
    const { ir } = this;
    const isLoad = ir.op[i] === Op.Load, isCoherent = isLoad && (ir.c[i] & MemoryWidth.Coherent) !== 0;
    this.#demand(order.reads, DeviceOrder.Acquire);
    if (!isLoad || isCoherent) this.#demand(order.writes, DeviceOrder.Release);
    let done: number;
    if (isLoad) done = isCoherent ? Done.Answer : Done.Read;
    else if (ir.op[i] === Op.Store) {
      done = (ir.d[i] & MemoryWidth.Coherent) !== 0 ? Done.Write | Done.Silent : Done.Write;
    } else done = Done.Write | (this.#uses[i] > 0 ? Done.Answer : Done.Silent);
    return (order.open & done) === done ? order : { ...order, open: order.open | done };
  }

  #demand(points: ReadonlySet<number>, what: number): void {
    for (const point of points) this.ir.b[point] |= what;
  }

  #fence(i: number, { open, writes, reads }: Order): Order {
    const covers = COVERS[this.ir.a[i]];
    return {
      open: open & ~(covers.writes | covers.reads),
      writes: covers.writes === 0 ? writes : this.#moved(writes, i, (open & covers.writes) !== 0),
      reads: covers.reads === 0 ? reads : this.#moved(reads, i, (open & covers.reads) !== 0),
    };
  }

  /**
   * Where what is behind `points` is behind now. A fence takes the place of those before it that nobody needs yet, but not of a barrier, which others have
   * come to.
   *
   * @param more there is more
   */
  #moved(points: ReadonlySet<number>, fence: number, more: boolean): ReadonlySet<number> {
    const stay = [...points].filter((point) => this.#isBarrier(point) || this.ir.b[point] !== 0);
    return more || stay.length < points.size ? new Set([...stay, fence]) : points;
  }

  /** The same at a barrier of the guest. */
  #passed(points: ReadonlySet<number>, barrier: number): ReadonlySet<number> {
    return [...points].every((point) => this.#isBarrier(point)) ? points : new Set([barrier]);
  }

  #isBarrier(point: number): boolean {
    return this.ir.op[point] === Op.Barrier || this.hazards.has(point);
  }
}

function usesScratch(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] === Op.Input && ir.a[i] === InputKind.ScratchOffset) return true;
  }
  return false;
}

function join(a: Order | null, b: Order | null): Order | null {
  if (a === null) return b;
  if (b === null || a === b) return a;
  return { open: a.open | b.open, writes: union(a.writes, b.writes), reads: union(a.reads, b.reads) };
}

function union(a: ReadonlySet<number>, b: ReadonlySet<number>): ReadonlySet<number> {
  if (b.size === 0 || a === b) return a;
  return a.size === 0 ? b : new Set([...a, ...b]);
}

/** Whether two are the same, of which the first has all that the second has. */
function isEqual(a: Order, b: Order): boolean {
  return a.open === b.open && a.writes.size === b.writes.size && a.reads.size === b.reads.size;
}
