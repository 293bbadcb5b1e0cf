/**
 * A plain evaluator of the recompiler's IR: runs the lanes of each wave in lockstep, the waves of a workgroup in turns between barriers.
 * Written to be obviously right, not fast. It shares no code with the passes or the emitter. It traps where a program breaks the IR's rules:
 * an exchange or a barrier that not all lanes reach, a scalar condition on which lanes disagree, a value used before it exists.
 */
import type { Ir } from "../../src/recompiler/ir/ir.ts";
import { InputKind, Op } from "../../src/recompiler/ir/ops.ts";
import { type EvalFault, EvalMemory, WorkgroupMemory } from "./ir_eval/memory.ts";
import { findStructure, type Structure } from "./ir_eval/structure.ts";
import type { LaneValue } from "./ir_eval/values.ts";
import { Wave, type Workgroup } from "./ir_eval/wave.ts";

export { type EvalFault, EvalMemory };

/** What a run needs. */
export interface EvalOptions {
  waveSize: 32 | 64;
  workgroupSize: readonly [number, number, number];
  workgroupId?: readonly [number, number, number];
  userData?: ArrayLike<number>;
  /** Thread limit of the whole dispatch in each axis; lanes beyond it are inactive. */
  threadLimit?: readonly [number, number, number];
  memory?: EvalMemory;
  ldsBytes?: number;
  /** Bytes from the start of scratch memory to that of a wave of the workgroup. */
  scratchOffset?: (wave: number) => number;
  /** Operations times waves before the run is given up; default 5 million. */
  maxSteps?: number;
}

/** What a run did. */
export interface EvalResult {
  faults: EvalFault[];
  lds: Uint8Array;
  /** Operations executed, summed over waves. */
  steps: number;
  /** Values of one operation (by id) in each lane of the workgroup, as last computed. */
  value(id: number, lane: number): LaneValue | undefined;
}

/** Runs one workgroup. @throws Error on a broken rule, a deadlock or too many steps. */
export function evaluateWorkgroup(ir: Ir, options: EvalOptions): EvalResult {
  const group = new Group(ir, options);
  group.run();
  return {
    faults: group.memory.faults,
    lds: group.memory.lds,
    steps: group.steps,
    value: (id, lane) => group.waves[Math.floor(lane / options.waveSize)].lanes.values[id]?.[lane % options.waveSize],
  };
}

class Group implements Workgroup {
  readonly structure: Structure;
  readonly waves: Wave[] = [];
  readonly votes = new Map<Wave, boolean>();
  readonly memory: WorkgroupMemory;
  steps = 0;
  readonly maxSteps: number;

  constructor(readonly ir: Ir, readonly options: EvalOptions) {
    this.structure = findStructure(ir);
    this.memory = new WorkgroupMemory(options.memory ?? new EvalMemory(), options.ldsBytes ?? 0);
    this.maxSteps = options.maxSteps ?? 5_000_000;
    const [x, y, z] = options.workgroupSize;
    // A program that tells lanes from threads runs on whole waves.
    const wholeWaves = asksForThread(ir);
    for (let first = 0; first < x * y * z; first += options.waveSize) {
      this.waves.push(
        new Wave(this, first, wholeWaves ? options.waveSize : Math.min(options.waveSize, x * y * z - first)),
      );
    }
  }

  run(): void {
    const running = this.waves.map((wave) => wave.start());
    for (;;) {
      const stops = running.map((wave) => wave.next());
      const waiting = stops.filter((stop) => !stop.done);
      if (waiting.length === 0) return;
      // Barriers of the guest only count: waves that have ended are not waited for, and any barrier goes with any.
      const places = new Set(waiting.map((stop) => stop.value as number));
      if ([...places].every((i) => this.ir.op[i] === Op.Barrier && this.ir.a[i] === 0)) continue;
      if (waiting.length !== stops.length) throw new Error("some waves wait at a barrier, others have ended");
      if (places.size !== 1) throw new Error(`waves wait at different barriers: operations ${[...places].join(", ")}`);
    }
  }
}

function asksForThread(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && ir.a[i] === InputKind.ThreadActive) return true;
  return false;
}
