/**
 * The guard of the container's memory: as often as it is asked, it tells the compile budget how many bytes of SPIR-V may be in the driver's
 * compiler before the process would pass its memory limit (`JobBoard.setHeadroom`). A budgeted compile that would pass it waits, and then
 * runs alone; the budget's byte limit stays the contract. A dispatch that needs its pipeline now asks neither.
 *
 * @module
 */
import type { JobBoard } from "../../sync/job_board.ts";
import type { CompileMeter } from "./compile_meter.ts";
import { learnedCost } from "./learned_cost.ts";
import { type MemoryState, readMemory } from "./memory_limits.ts";
import { type MemoryProbe, procMemory } from "./peak_memory.ts";

/** This part of the limit is left to everybody else. */
const RESERVE = 1 / 16;
/** Memory is looked at at most so often, in milliseconds, whoever asks. */
const INTERVAL_MS = 50;

/** What the headroom is computed from; all in bytes. */
export interface HeadroomFacts {
  /** Of memory: the limit, and what is left of it. */
  readonly limit: number;
  readonly free: number;
  /** Of memory for a byte of SPIR-V. */
  readonly cost: number;
  /** Of SPIR-V: with a hold; and in the compiler, with a hold or without. */
  readonly held: number;
  readonly compiling: number;
  /** Of memory: how much the process has grown since nothing compiled. */
  readonly grown: number;
}

/**
 * Bytes of SPIR-V that may be held in all. What compiles now will still take what it has not taken yet: its cost, less what the process has
 * grown by since.
 */
export function headroom({ limit, free, cost, held, compiling, grown }: HeadroomFacts): number {
  const outstanding = Math.max(0, Math.max(held, compiling) * cost - Math.max(0, grown));
  return held + Math.max(0, Math.floor((free - limit * RESERVE - outstanding) / cost));
}

/** How a guard sees the machine; tests put their own in. */
export interface GuardOptions {
  readonly read?: () => MemoryState | undefined;
  readonly memory?: MemoryProbe;
  readonly intervalMs?: number;
}

/** See the module. Every isolate may have one; one of them looks at a time. */
export class MemoryGuard {
  readonly #board: JobBoard;
  readonly #meter: CompileMeter;
  readonly #read: () => MemoryState | undefined;
  readonly #memory: MemoryProbe;
  readonly #intervalMs: number;

  constructor(board: JobBoard, meter: CompileMeter, options: GuardOptions = {}) {
    this.#board = board;
    this.#meter = meter;
    this.#read = options.read ?? readMemory;
    this.#memory = options.memory ?? procMemory;
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
  }

  /**
   * Looks at the memory, unless somebody has a moment ago. To be called before a budgeted job is taken, and now and then. Holds no lock
   * while it reads.
   */
  refresh(): void {
    if (!this.#meter.isDue(this.#intervalMs)) return;
    const held = this.#board.heldBytes, state = this.#read();
    if (state === undefined) return;
    const compiling = this.#meter.compiling, resident = this.#memory.resident();
    if (compiling === 0 || this.#meter.idleResident === 0) this.#meter.idleResident = resident;
    const { limit, free } = state, { memory: cost } = learnedCost(this.#meter.samples());
    const grown = resident - this.#meter.idleResident;
    this.#board.setHeadroom(headroom({ limit, free, cost, held, compiling, grown }));
  }
}
