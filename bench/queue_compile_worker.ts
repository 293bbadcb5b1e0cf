/** The isolate of one queue in bench/queue_compile.ts: makes programs, executes submissions, and puts down creations and holds of the mutex. */
import { DriverSink } from "../src/driver/driver_sink.ts";
import { openVulkanQueue, type VulkanQueueData } from "../src/driver/vulkan/queue_executor.ts";
import type { VulkanExecutor } from "../src/driver/vulkan/vulkan_executor.ts";
import { GuestMemory } from "../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../src/guest/memory/mmap_allocator.ts";
import type { WindowDescription } from "../src/guest/memory/window.ts";
import type { GpuDevice } from "../src/gpu/device.ts";
import { QueueExecutor } from "../src/pm4/execute.ts";
import type { GpuMutex } from "../src/sync/gpu_mutex.ts";
import {
  dispatchDirect,
  rawBuffer,
  setComputeProgram,
  setComputeRegisters,
  writeData,
} from "../tools/shaders/packets.ts";
import { chain } from "./programs/chains.ts";

/** Guest queues, by place. */
export const QUEUES = [0x20, 0x28] as const;
/** Bytes for the code of one program. */
const CODE_BYTES = 1 << 20;
const CODE = 0x2_0000_0000n, DATA = 0x3_0000_0000n;
/** Windows: for each queue a new program and a known one; for each queue input, output and label. */
export const MEMORY = [
  { base: CODE, bytes: 2 * QUEUES.length * CODE_BYTES },
  { base: DATA, bytes: QUEUES.length * 0x4000 },
] as const;
/** Operations of the program that is known. */
const KNOWN = 64, KNOWN_LITERAL = 0x3f80_1234;

/** The first message. */
export interface CompileStart {
  readonly queue: number;
  readonly place: number;
  readonly data: VulkanQueueData;
  readonly windows: readonly WindowDescription[];
  /** A lock over creation and recording, as the GPU mutex once was: 0 free, 1 taken, 2 taken and wanted. */
  readonly fixture: Int32Array<SharedArrayBuffer>;
  /** Queues that are ready, and whether the probes are over. */
  readonly gate: Int32Array<SharedArrayBuffer>;
}

/** Later messages. */
export type CompileTask =
  | { readonly type: "end" }
  | (
    & { readonly operations: number; readonly literal: number; readonly fixture: boolean }
    & (
      | { readonly type: "pair" | "create" }
      | { readonly type: "probe"; readonly probes: number; readonly intervalMs: number }
    )
  );

/** Something that took time, in milliseconds of the process's clock. */
export interface TraceSpan {
  readonly name: "create" | "hold";
  readonly start: number;
  readonly end: number;
}

/** What came of a task. */
export interface CompileAnswer {
  readonly begin: number;
  readonly end: number;
  /** Of the module. */
  readonly words: number;
  /** Milliseconds of each probe, from its submission to its label. */
  readonly waits: readonly number[];
  readonly spans: readonly TraceSpan[];
}

const now = () => performance.timeOrigin + performance.now();

/** One queue; see the module. */
class CompileQueue {
  readonly #start: CompileStart;
  readonly #memory = new GuestMemory(new MmapAllocator());
  readonly #opened;
  readonly #pm4: QueueExecutor;
  #spans: TraceSpan[] = [];
  #fixture = false;
  #label = 0;

  constructor(start: CompileStart) {
    this.#start = start;
    for (const window of start.windows) this.#memory.attach(window);
    this.#opened = openVulkanQueue(start.data, this.#memory);
    const { executor, room } = this.#opened;
    this.#watch(executor, room.device, room.gpu);
    const sink = new DriverSink(this.#memory, executor);
    sink.queue = start.queue;
    this.#pm4 = new QueueExecutor(start.queue, sink);
    this.#code(1, KNOWN, KNOWN_LITERAL);
    this.#submit(1);
  }

  do(task: Exclude<CompileTask, { type: "end" }>): CompileAnswer {
    const { gate } = this.#start, { operations, literal, type } = task;
    this.#fixture = task.fixture;
    this.#spans = [];
    const waits: number[] = [];
    this.#code(0, operations, literal);
    if (type === "pair") Atomics.store(gate, 1, 0);
    else if (type === "probe") Atomics.store(gate, 1, 0);
    this.#meet();
    const begin = now();
    switch (task.type) {
      case "pair":
        this.#submit(0);
        break;
      case "create":
        // One new program after the other, as long as there are probes.
        for (let k = 1; Atomics.load(gate, 1) === 0; k++) {
          this.#submit(0);
          this.#code(0, operations, literal + k);
        }
        break;
      case "probe":
        // Submitted at fixed times: what is held up waits, and what comes behind it, too.
        for (let k = 1; k <= task.probes; k++) {
          const submitted = begin + k * task.intervalMs;
          for (let early; (early = submitted - now()) > 0;) Atomics.wait(gate, 1, 0, early);
          this.#submit(1);
          waits.push(now() - submitted);
        }
        Atomics.store(gate, 1, 1);
    }
    const end = now(), { words } = this.#opened.executor.programs().at(-1)!;
    return { begin, end, words, waits, spans: this.#spans };
  }

  close(): void {
    const { executor, self } = this.#opened;
    executor.close();
    this.#memory.clear();
    self.registry.leave(self);
  }

  /** Writes a program of the queue's: 0 the new one, 1 the known one. */
  #code(which: number, operations: number, literal: number): void {
    const words = chain("queue", operations, literal);
    this.#memory.write(this.#codeAt(which), new Uint8Array(words.buffer));
  }

  #codeAt(which: number): bigint {
    return CODE + BigInt((this.#start.place * 2 + which) * CODE_BYTES);
  }

  /** Executes a submission that dispatches a program, and then writes a label. */
  #submit(which: number): void {
    const { place, queue } = this.#start, data = DATA + BigInt(place * 0x4000), label = data + 0x3000n;
    const words = [
      ...setComputeRegisters(0x204, 0, 0, 0),
      ...setComputeRegisters(0x207, 32, 1, 1),
      ...setComputeProgram(this.#codeAt(which)),
      ...setComputeRegisters(0x212, 0, 8 << 1),
      ...setComputeRegisters(0x240, ...rawBuffer(data, 0x1000), ...rawBuffer(data + 0x1000n, 0x1000)),
      ...dispatchDirect([1, 1, 1], 32),
      ...writeData(label, ++this.#label),
    ];
    this.#pm4.submit({ queue, words: Uint32Array.from(words) });
    this.#pm4.run();
    if (this.#memory.readU32(label) !== this.#label) throw new Error("the label was not written");
  }

  /** Waits until both queues are here. */
  #meet(): void {
    const { gate } = this.#start;
    if (Atomics.add(gate, 0, 1) + 1 === QUEUES.length) Atomics.notify(gate, 0);
    for (let seen; (seen = Atomics.load(gate, 0)) < QUEUES.length;) Atomics.wait(gate, 0, seen);
  }

  /** Puts down creations and holds, and makes the fixture of it where a task asks for that. */
  #watch(executor: VulkanExecutor, { vulkan }: GpuDevice, gpu: GpuMutex): void {
    const { fixture } = this.#start;
    let since = NaN, dispatching = false, holding = 0;
    const take = () => {
      if (!this.#fixture || !Number.isNaN(since)) return;
      while (Atomics.compareExchange(fixture, 0, 0, 1) !== 0) {
        if (Atomics.compareExchange(fixture, 0, 1, 2) !== 0) Atomics.wait(fixture, 0, 2, 50);
      }
      since = now();
    };
    const give = () => {
      if (Number.isNaN(since)) return;
      this.#spans.push({ name: "hold", start: since, end: now() });
      since = NaN;
      if (Atomics.exchange(fixture, 0, 0) === 2) Atomics.notify(fixture, 0);
    };
    const create = vulkan.vkCreateComputePipelines, lock = gpu.lock.bind(gpu), unlock = gpu.unlock.bind(gpu);
    const dispatch = executor.dispatch.bind(executor);
    Object.assign(vulkan, {
      vkCreateComputePipelines: (...args: Parameters<typeof create>) => {
        take();
        const start = now(), result = create(...args);
        this.#spans.push({ name: "create", start, end: now() });
        return result;
      },
    });
    Object.assign(gpu, {
      lock: () => {
        take();
        lock();
        holding = now();
      },
      unlock: () => {
        unlock();
        this.#spans.push({ name: "hold", start: holding, end: now() });
        if (!dispatching) give();
      },
    });
    Object.assign(executor, {
      dispatch: (...args: Parameters<typeof dispatch>) => {
        dispatching = true;
        try {
          dispatch(...args);
        } finally {
          dispatching = false;
          give();
        }
      },
    });
  }
}

const scope = globalThis as unknown as { postMessage(answer: CompileAnswer): void; close(): void };

// The module is also loaded for its types and addresses.
if (typeof (globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope !== "undefined") {
  let queue: CompileQueue | undefined;
  globalThis.addEventListener("message", (event) => {
    const { data } = event as MessageEvent<CompileStart | CompileTask>;
    if (!("type" in data)) queue = new CompileQueue(data);
    else if (data.type !== "end") scope.postMessage(queue!.do(data));
    else {
      queue?.close();
      scope.postMessage({ begin: 0, end: 0, words: 0, waits: [], spans: [] });
      scope.close();
    }
  });
}
