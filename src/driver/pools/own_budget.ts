/**
 * The compile budget, the meter and the memory guard of an isolate that has no room, as it runs queues in turns: the same as a room's
 * (driver_room.ts), in a registry of its own. They are made when something is to be compiled for the first time, which takes some milliseconds, or at once
 * if somebody wants a trace.
 *
 * @module
 */
import { Arena } from "../../sync/arena.ts";
import { type Isolate, IsolateRegistry } from "../../sync/isolates.ts";
import { JobBoard } from "../../sync/job_board.ts";
import { compileLimitBytes } from "../compile_cost/compile_limit.ts";
import { CompileMeter } from "../compile_cost/compile_meter.ts";
import type { CostFile } from "../compile_cost/cost_file.ts";
import { LEAST_BYTES } from "../compile_cost/learned_cost.ts";
import { type GuardOptions, MemoryGuard } from "../compile_cost/memory_guard.ts";
import type { SharedTraceHandle } from "../recording/shared_trace.ts";
import { traceAs } from "./room.ts";

/** Blobs are not used. */
const ARENA_BYTES = 1 << 16;
/** Holds at a time, at most. */
const HOLDS = 256;

/** How it is opened. */
export interface OwnBudgetOptions {
  /** Limit in bytes; APS5_BACKGROUND_COMPILE_KIB by default. */
  readonly compileBytes?: number;
  /** What compiles cost in earlier runs on this device; gets what this one learned. */
  readonly costs?: CostFile;
  /** Where this isolate puts down what took time, if somebody asked. */
  readonly trace?: SharedTraceHandle;
  /** How its guard sees the machine; for tests. */
  readonly guard?: GuardOptions;
}

/** See the module. */
export class OwnBudget implements Pick<CompileMeter, "compile" | "compileAsync" | "beside"> {
  /** What was wrong with the file of costs, for people. */
  readonly notes: string[] = [];
  readonly #options: OwnBudgetOptions;
  readonly #limitBytes: number;
  #opened: { self: Isolate; board: JobBoard; meter: CompileMeter; guard: MemoryGuard } | undefined;
  /** What the file of costs knows already. */
  #kept = 0;

  /** @throws UsageError if the limit's switch has no sense */
  constructor(options: OwnBudgetOptions = {}) {
    this.#options = options;
    this.#limitBytes = options.compileBytes ?? compileLimitBytes();
    if (options.trace !== undefined) this.#open();
  }

  /** A hold for a compile of so many bytes, if it fits now. Nobody waits in a line: there is only this isolate. */
  tryHold(bytes: number): number | undefined {
    const { guard, board } = this.#open();
    guard.refresh();
    return board.hold(bytes, 0);
  }

  /** Gives a hold back. */
  release(hold: number): void {
    this.#opened!.board.releaseHold(hold);
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#opened?.board.heldBytes ?? 0;
  }

  compile<T>(bytes: number, create: () => T, compiled?: (result: T) => boolean): T {
    // From so little nothing is learned.
    if (this.#opened === undefined && bytes < LEAST_BYTES) return create();
    return this.#open().meter.compile(bytes, create, compiled);
  }

  compileAsync<T>(bytes: number, create: () => Promise<T>, compiled?: (result: T) => boolean): Promise<T> {
    return this.#open().meter.compileAsync(bytes, create, compiled);
  }

  beside<T>(work: () => T): T {
    return this.#opened === undefined ? work() : this.#opened.meter.beside(work);
  }

  /** Keeps what was learned. */
  save(): void {
    const meter = this.#opened?.meter;
    if (meter === undefined || meter.learned === this.#kept) return;
    this.#kept = meter.learned;
    this.#options.costs?.write(meter.samples());
  }

  /** Nothing is held or compiled any more. */
  close(): void {
    this.save();
    if (this.#opened === undefined) return;
    const { self } = this.#opened;
    this.#opened = undefined;
    if (this.#options.trace !== undefined) traceAs("main", undefined, self);
    self.registry.leave(self);
  }

  #open() {
    if (this.#opened !== undefined) return this.#opened;
    const { costs, trace, guard } = this.#options, known = costs?.read();
    if (known?.note !== undefined) this.notes.push(known.note);
    const self = IsolateRegistry.create(1).enter(), arena = Arena.create(self, { bytes: ARENA_BYTES });
    const board = JobBoard.create(self, arena, { pools: [{ workers: 1 }], limitBytes: this.#limitBytes, jobs: HOLDS });
    const meter = CompileMeter.create(self, known?.samples);
    this.#kept = meter.learned;
    if (trace !== undefined) traceAs("main", trace, self);
    return this.#opened = { self, board, meter, guard: new MemoryGuard(board, meter, guard) };
  }
}
