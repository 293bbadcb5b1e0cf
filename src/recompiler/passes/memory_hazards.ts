import type { Ir } from "../ir/ir.ts";
import { FenceKind, Op } from "../ir/ops.ts";
import type { ResourcePlan } from "../resources/plan.ts";
import { markDeviceOrder } from "./device_order.ts";
import { MemoryPlaces, type Place } from "./memory_places.ts";
import { indexStructure, type StructureIndex } from "./structure.ts";

/**
 * Finds where a barrier is needed to keep the lockstep of a wave in guest memory outside of LDS: what one lane stores, the others find there afterwards, and
 * what they have loaded before is what was there before, without s_barrier.
 *
 * - A *fence* (Op.Fence) says that the program counts on it, with whatever memory: behind accesses, and before accesses of which one or the other is a
 *   write, it becomes a barrier. One that only waits for stores says nothing of loads, and one that only waits for results, which are needed for the
 *   values themselves, says nothing.
 * - Without a fence, accesses conflict when they are made of the same pointer or descriptor, one of them writes (and not both are atomic), and lanes do not provably
 *   stay in their own bytes.
 *
 * Fences that are not needed, neither as barriers nor for other workgroups (device_order.ts), are taken out of the program.
 *
 * @param ir changed in place
 * @param lanes of the workgroup that do something
 * @param plan what the host resolves
 * @returns operations before which a barrier is needed: fences and accesses.
 */
export function memoryHazards(ir: Ir, lanes: number, plan?: ResourcePlan): Set<number> {
  const hazards = new Set<number>();
  if (lanes > 1) new MemoryWalk(ir, hazards, lanes, plan).run();
  markDeviceOrder(ir, hazards, plan);
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] === Op.Fence && ir.b[i] === 0 && !hazards.has(i)) ir.op[i] = Op.Nop;
  }
  return hazards;
}

/** What an access does, of those that are alike. */
interface Access {
  readonly number: number;
  readonly kind: "read" | "write" | "atomic";
  readonly place: Place;
  /** Whether there is an access with which it could conflict without a fence. */
  readonly counts: boolean;
}

/** What has happened since the last barrier. */
interface Phase {
  /** Accesses since the last fence that may conflict without one. */
  readonly free: ReadonlySet<number>;
  readonly reads: boolean;
  readonly writes: boolean;
  /** Fences behind accesses. */
  readonly fencedReads: ReadonlySet<number>;
  readonly fencedWrites: ReadonlySet<number>;
}

const NONE: ReadonlySet<number> = new Set();
const CALM: Phase = { free: NONE, reads: false, writes: false, fencedReads: NONE, fencedWrites: NONE };

class MemoryWalk {
  readonly #structure: StructureIndex;
  readonly #accesses: Access[] = [];
  /** Number of each operation's access, plus 1. */
  readonly #accessOf: Int32Array;
  readonly #conflicts = new Map<number, boolean>();
  #breaks: Phase[] = [];
  #continues: Phase[] = [];
  #changed = false;

  constructor(
    private readonly ir: Ir,
    private readonly hazards: Set<number>,
    private readonly lanes: number,
    private readonly plan: ResourcePlan | undefined,
  ) {
    this.#structure = indexStructure(ir);
    this.#accessOf = new Int32Array(ir.length);
  }

  run(): void {
    if (!this.#collect()) return;
    do {
      this.#changed = false;
      this.#walk(0, this.ir.length, CALM);
    } while (this.#changed);
  }

  /** Looks at all accesses. @returns whether there can be a conflict at all */
  #collect(): boolean {
    const { ir } = this;
    const found: { i: number; kind: Access["kind"] }[] = [];
    let writes = false;
    for (let i = 1; i < ir.length; i++) {
      const kind = KINDS.get(ir.op[i]);
      if (kind === undefined) continue;
      found.push({ i, kind });
      writes ||= kind !== "read";
    }
    if (!writes || found.length < 2) return false;
    const places = new MemoryPlaces(ir, this.plan), known = new Map<string, number>();
    const all = found.flatMap(({ i, kind }) => {
      const place = places.placeOf(i);
      return place === undefined ? [] : [{ i, kind, place }];
    });
    const written = new Set<string>(), touched = new Set<string>();
    let anyWritten = false, anyTouched = false;
    for (const { kind, place: { roots } } of all) {
      for (const root of roots) (kind === "read" ? touched : written).add(root);
      if (roots.length > 0) continue;
      if (kind === "read") anyTouched = true;
      else anyWritten = true;
    }
    for (const { i, kind, place } of all) {
      const { roots, base, first, bytes, stride } = place;
      const counts = roots.length === 0 || anyWritten || roots.some((root) => written.has(root)) ||
        kind !== "read" && (anyTouched || roots.some((root) => touched.has(root)));
      const key = `${kind} ${counts ? roots : "-"} ${counts && stride > 0 ? [base, first, bytes, stride] : ""}`;
      let number = known.get(key);
      if (number === undefined) {
        known.set(key, number = this.#accesses.length);
        this.#accesses.push({ number, kind, place, counts });
      }
      this.#accessOf[i] = number + 1;
    }
    return true;
  }

  /** Walks [start, end); returns the phase at its end, null when the end is not reached. */
  #walk(start: number, end: number, entry: Phase): Phase | null {
    const { ir, hazards } = this;
    const structure = this.#structure;
    let phase = entry;
    for (let i = start; i < end; i++) {
      switch (ir.op[i]) {
        case Op.If: {
          const middle = structure.elseOf[i], close = structure.endOf[i];
          const a = this.#walk(i + 1, middle, phase);
          const b = middle === close ? phase : this.#walk(middle + 1, close, phase);
          const both = join(a, b);
          if (both === null) return null;
          phase = both;
          i = close;
          break;
        }
        case Op.Loop: {
          const after = this.#walkLoop(i, phase);
          if (after === null) return null;
          phase = after;
          i = structure.endOf[i];
          break;
        }
        case Op.Break:
        case Op.Continue:
          (ir.op[i] === Op.Break ? this.#breaks : this.#continues).push(phase);
          return null;
        case Op.Barrier:
          phase = CALM;
          break;
        case Op.Fence:
          if (hazards.has(i)) phase = CALM;
          else if (ir.a[i] === FenceKind.Stores) phase = this.#waited(phase, i);
          else if (ir.a[i] !== FenceKind.Results) phase = fenced(phase, i);
          break;
        default:
          if (this.#accessOf[i] !== 0) phase = this.#access(i, this.#accesses[this.#accessOf[i] - 1], phase);
      }
    }
    return phase;
  }

  #walkLoop(loop: number, entry: Phase): Phase | null {
    const [outerBreaks, outerContinues] = [this.#breaks, this.#continues];
    let breaks: Phase[] = [];
    // What one iteration leaves meets the next: two rounds see every pair.
    for (let round = 0; round < 2; round++) {
      this.#breaks = breaks = [];
      this.#continues = [];
      const falls = this.#walk(loop + 1, this.#structure.contOf[loop], entry);
      const back = this.#continues.reduce<Phase | null>(join, falls);
      if (back === null) break;
      entry = join(entry, back)!;
    }
    [this.#breaks, this.#continues] = [outerBreaks, outerContinues];
    return breaks.reduce<Phase | null>(join, null);
  }

  #access(i: number, access: Access, phase: Phase): Phase {
    const { hazards } = this;
    const isRead = access.kind === "read";
    if (hazards.has(i)) phase = CALM;
    const demand = (fences: ReadonlySet<number>) => {
      for (const fence of fences) {
        if (hazards.has(fence)) continue;
        hazards.add(fence);
        this.#changed = true;
      }
    };
    demand(phase.fencedWrites);
    if (!isRead) demand(phase.fencedReads);
    if (access.counts && [...phase.free].some((other) => this.#conflict(other, access.number))) {
      hazards.add(i);
      this.#changed = true;
      phase = CALM;
    }
    const free = access.counts && !phase.free.has(access.number) ? new Set([...phase.free, access.number]) : phase.free;
    if (free === phase.free && (isRead ? phase.reads : phase.writes)) return phase;
    return { ...phase, free, reads: phase.reads || isRead, writes: phase.writes || !isRead };
  }

  /** A wait for stores: they are behind a fence now, and loads are not. */
  #waited(phase: Phase, fence: number): Phase {
    if (!phase.writes && phase.fencedWrites.size === 0) return phase;
    const free = new Set([...phase.free].filter((number) => this.#accesses[number].kind === "read"));
    return { ...phase, free, writes: false, fencedWrites: new Set([fence]) };
  }

  #conflict(one: number, other: number): boolean {
    const key = one * this.#accesses.length + other;
    let known = this.#conflicts.get(key);
    if (known === undefined) {
      this.#conflicts.set(key, known = mayConflict(this.#accesses[one], this.#accesses[other], this.lanes));
    }
    return known;
  }
}

const KINDS: ReadonlyMap<number, Access["kind"]> = new Map([
  [Op.Load, "read"],
  [Op.Store, "write"],
  [Op.Atomic, "atomic"],
]);

/** Whether two accesses of different lanes may be to the same bytes, and the order of them matters. */
function mayConflict(one: Access, other: Access, lanes: number): boolean {
  if (one.kind === other.kind) return false;
  const { roots, base, first, bytes, stride } = one.place, place = other.place;
  if (roots.length > 0 && place.roots.length > 0 && !roots.some((root) => place.roots.includes(root))) return false;
  if (base !== place.base || stride === 0) return true;
  // Lanes that are k apart meet where stride * k is between these bounds.
  const from = place.first - first - bytes, to = place.first + place.bytes - first;
  for (let k = Math.floor(from / stride) + 1; k * stride < to; k++) if (k !== 0 && Math.abs(k) < lanes) return true;
  return false;
}

/** A fence: what came before it is behind it now. */
function fenced(phase: Phase, fence: number): Phase {
  const reads = phase.reads || phase.fencedReads.size > 0, writes = phase.writes || phase.fencedWrites.size > 0;
  if (!reads && !writes) return phase;
  const here = new Set([fence]);
  return { ...CALM, fencedReads: reads ? here : NONE, fencedWrites: writes ? here : NONE };
}

function join(a: Phase | null, b: Phase | null): Phase | null {
  if (a === null) return b;
  if (b === null || a === b) return a;
  return {
    free: union(a.free, b.free),
    reads: a.reads || b.reads,
    writes: a.writes || b.writes,
    fencedReads: union(a.fencedReads, b.fencedReads),
    fencedWrites: union(a.fencedWrites, b.fencedWrites),
  };
}

function union(a: ReadonlySet<number>, b: ReadonlySet<number>): ReadonlySet<number> {
  if (b.size === 0 || a === b) return a;
  return a.size === 0 ? b : new Set([...a, ...b]);
}
