import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import type { StructureIndex } from "./structure.ts";

/**
 * Finds the LDS loads that nobody disturbs: on no path does a write of LDS share the time between two barriers with them. All lanes that load the same
 * address there get the same value, in whatever order the waves come by.
 *
 * It is enough to look along paths, provided that the whole workgroup comes to the loads and to the barriers: then a lane that writes in that time has
 * the load on its own path as well.
 *
 * @param ends whether a barrier counts: whether the whole workgroup comes to it
 * @returns 1 at each such load
 */
export function quietLdsLoads(
  ir: Ir,
  structure: StructureIndex,
  ends: (barrier: number) => boolean,
): Uint8Array<ArrayBuffer> {
  const quiet = new Uint8Array(ir.length);
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.LdsLoad) quiet[i] = 1;
  if (quiet.includes(1)) new PhaseWalk(ir, structure, quiet, ends).walk(0, ir.length, CALM);
  return quiet;
}

/** What has happened since the last barrier. */
interface Phase {
  readonly written: boolean;
  readonly loads: ReadonlySet<number>;
}

const CALM: Phase = { written: false, loads: new Set() };

class PhaseWalk {
  private breaks: Phase[] = [];
  private continues: Phase[] = [];

  constructor(
    private readonly ir: Ir,
    private readonly structure: StructureIndex,
    private readonly quiet: Uint8Array,
    private readonly ends: (barrier: number) => boolean,
  ) {}

  /** Walks [start, end); returns the phase at its end, null when the end is not reached. */
  walk(start: number, end: number, entry: Phase): Phase | null {
    const { ir, structure, quiet } = this;
    let phase = entry;
    for (let i = start; i < end; i++) {
      switch (ir.op[i]) {
        case Op.If: {
          const middle = structure.elseOf[i], close = structure.endOf[i];
          const a = this.walk(i + 1, middle, phase);
          const b = middle === close ? phase : this.walk(middle + 1, close, phase);
          const both = join(a, b);
          if (both === null) return null;
          phase = both;
          i = close;
          break;
        }
        case Op.Loop: {
          const after = this.walkLoop(i, phase);
          if (after === null) return null;
          phase = after;
          i = structure.endOf[i];
          break;
        }
        case Op.Break:
        case Op.Continue:
          (ir.op[i] === Op.Break ? this.breaks : this.continues).push(phase);
          return null;
        case Op.Barrier:
          if (this.ends(i)) phase = CALM;
          break;
        case Op.LdsStore:
        case Op.LdsAtomic:
          for (const load of phase.loads) quiet[load] = 0;
          phase = { written: true, loads: phase.loads };
          break;
        case Op.LdsLoad:
          if (phase.written) quiet[i] = 0;
          if (!phase.loads.has(i)) phase = { written: phase.written, loads: new Set([...phase.loads, i]) };
          break;
      }
    }
    return phase;
  }

  private walkLoop(loop: number, entry: Phase): Phase | null {
    const [outerBreaks, outerContinues] = [this.breaks, this.continues];
    let breaks: Phase[] = [];
    // What one iteration leaves meets the next: two rounds see every pair.
    for (let round = 0; round < 2; round++) {
      this.breaks = breaks = [];
      this.continues = [];
      const falls = this.walk(loop + 1, this.structure.contOf[loop], entry);
      const back = this.continues.reduce<Phase | null>(join, falls);
      if (back === null) break;
      entry = join(entry, back)!;
    }
    [this.breaks, this.continues] = [outerBreaks, outerContinues];
    return breaks.reduce<Phase | null>(join, null);
  }
}

function join(a: Phase | null, b: Phase | null): Phase | null {
  if (a === null) return b;
  if (b === null || a === b) return a;
  return { written: a.written || b.written, loads: new Set([...a.loads, ...b.loads]) };
}
