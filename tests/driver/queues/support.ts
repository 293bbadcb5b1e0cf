/** Runs programs both ways with the interpreter: queues in turns, and each in an isolate of its own. */
import { runQueues, type RunQueuesOptions } from "../../../src/driver/queues/run_queues.ts";
import { runProgram, type RunResult } from "../../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../../src/driver/software/software_executor.ts";
import { softwareSource } from "../../../src/driver/software/queue_executor.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../src/guest/program.ts";
import { IsolateRegistry } from "../../../src/sync/isolates.ts";
import { sweepUntil } from "../../sync/support/isolate.ts";

/** What must be equal whoever comes first. */
export function steady({ labels, waits: _, timings: __, error, programs, ...rest }: RunResult) {
  const byQueue = Map.groupBy(labels, ({ queue }) => queue);
  return {
    ...rest,
    labels: rest.queues.map((queue) => byQueue.get(queue) ?? []),
    error: error?.toData(),
    cause: (error?.cause as { code?: string } | undefined)?.code,
    programs: programs.map(({ recompileMs: _, createMs: __, ...report }) => report)
      .sort((a, b) => Number(a.address - b.address) || a.workgroupSize[0] - b.workgroupSize[0]),
  };
}

/** A run, with a copy of what memory held behind it. */
export interface SoftwareRun {
  readonly result: RunResult;
  /** Bytes of each window, by its base. */
  readonly memory: ReadonlyMap<bigint, Uint8Array>;
  /** A word of memory. */
  word(address: bigint): number;
}

function ended(result: RunResult, memory: GuestMemory): SoftwareRun {
  const copies = new Map(memory.windows.map(({ base, byteLength }) => [base, memory.read(base, byteLength, 0)]));
  const windows = [...copies];
  memory.clear();
  return {
    result,
    memory: copies,
    word(address) {
      const [base, bytes] = windows.find(([base, bytes]) => address >= base && address < base + BigInt(bytes.length))!;
      return new DataView(bytes.buffer).getUint32(Number(address - base), true);
    },
  };
}

/** In turns. */
export function runInTurns(program: Program): SoftwareRun {
  const memory = new GuestMemory(new ArrayAllocator());
  return ended(runProgram(program, new SoftwareExecutor({ target: program.target }), memory), memory);
}

/** So long that nothing but a notification ends a wait. */
export const NO_RECHECK = 600_000;

/** Workers that earlier runs left: starting one costs more than most programs. */
export class KeptWorkers implements Disposable {
  readonly #workers: Worker[] = [];

  /** For `RunQueuesOptions`. */
  readonly options = {
    startWorker: () =>
      this.#workers.pop() ?? new Worker(new URL("../../../src/workers/queue.ts", import.meta.url), { type: "module" }),
    keepWorker: (worker: Worker) => void this.#workers.push(worker),
  };

  /** Starts the first one alone: Deno checks the types of its modules then, and several at once would all do so. */
  async warm(): Promise<void> {
    const worker = this.options.startWorker();
    await new Promise<void>((resolve) => {
      worker.onmessage = () => resolve();
      worker.postMessage({ type: "end", stays: true });
    });
    this.options.keepWorker(worker);
  }

  /** Workers that are kept now. */
  get count(): number {
    return this.#workers.length;
  }

  [Symbol.dispose](): void {
    for (const worker of this.#workers) worker.terminate();
  }
}

/** Each queue in an isolate. Behind it none of them is a member any more. */
export async function runAtOnce(program: Program, options: Partial<RunQueuesOptions> = {}): Promise<SoftwareRun> {
  const registry = IsolateRegistry.create(64);
  const memory = new GuestMemory(new MmapAllocator());
  const self = registry.enter();
  try {
    const result = await runQueues(program, memory, {
      self,
      kind: "software",
      recheckMs: NO_RECHECK,
      attach: () => softwareSource(registry, program.target),
      ...options,
    });
    return ended(result, memory);
  } finally {
    memory.clear();
    await sweepUntil(registry, 1); // main's own
  }
}
