/**
 * The isolate of one queue in bench/dispatch.ts: dispatches a known program with other user data each time, and measures; or measures what
 * the driver's calls of a dispatch take by themselves.
 */
import { DriverSink } from "../src/driver/driver_sink.ts";
import type { ComputeExecutor } from "../src/driver/executor.ts";
import { openVulkanQueue, type VulkanQueueData } from "../src/driver/vulkan/queue_executor.ts";
import { CommandQueue } from "../src/gpu/command_queue.ts";
import type { GpuDevice } from "../src/gpu/device.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../src/gpu/pipelines.ts";
import { lockSoon } from "../src/driver/vulkan/lock_soon.ts";
import { GuestMemory } from "../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../src/guest/memory/mmap_allocator.ts";
import type { WindowDescription } from "../src/guest/memory/window.ts";
import { QueueExecutor } from "../src/pm4/execute.ts";
import { Push } from "../src/recompiler/abi.ts";
import { recompile } from "../src/recompiler/recompile.ts";
import type { RecompilerDevice } from "../src/recompiler/request.ts";
import type { GpuMutex } from "../src/sync/gpu_mutex.ts";
import { dispatchDirect, rawBuffer, setComputeProgram, setComputeRegisters } from "../tools/shaders/packets.ts";
import { chain } from "./programs/chains.ts";
import { chainRequest } from "./programs/request.ts";

export const CODE = 0x2_0000_0000n, CODE_BYTES = 1 << 20, DATA = 0x3_0000_0000n, DATA_BYTES = 1 << 20;

/** Dispatches that are measured together: fewer than a batch, so that none of them submits; and all between two waits for the device. */
const GROUP = 48, BETWEEN = 64;
/** Different user data. */
const PLACES = 64;

/** What it gets. */
export interface DispatchTask {
  /** Compute queue. */
  readonly queue: number;
  /** Counts queues. */
  readonly place: number;
  readonly data: VulkanQueueData;
  readonly windows: readonly WindowDescription[];
  /** Queues that have come so far; how many there are. */
  readonly gate: Int32Array<SharedArrayBuffer>;
  readonly groups: number;
  readonly what: "dispatches" | "calls" | "calls, locked";
}

/** Writes the program's code: f32 operations between loads and stores by two V#. */
export function writeProgram(memory: GuestMemory, operations: number): void {
  memory.write(CODE, new Uint8Array(chain("queue", operations).buffer));
}

/**
 * Microseconds of a dispatch, from SET_SH_REG of its user data to the recorded command: means over `GROUP` dispatches.
 *
 * @param place chooses the queue's part of the data
 */
export function measure(
  queue: number,
  place: number,
  executor: ComputeExecutor,
  memory: GuestMemory,
  groups: number,
  begin: () => void = () => {},
): number[] {
  const sink = new DriverSink(memory, executor), pm4 = new QueueExecutor(queue, sink), times: number[] = [];
  sink.queue = queue;
  const data = DATA + BigInt(place * DATA_BYTES / 4);
  const userData = (k: number) => {
    const at = data + BigInt(k % PLACES * 0x1000);
    return [...rawBuffer(at, 0x800), ...rawBuffer(at + 0x800n, 0x800)];
  };
  const state = [
    ...setComputeRegisters(0x204, 0, 0, 0),
    ...setComputeRegisters(0x207, 32, 1, 1),
    ...setComputeProgram(CODE),
    ...setComputeRegisters(0x212, 0, 8 << 1),
  ];
  const words: number[] = [];
  for (let k = 0; k < BETWEEN; k++) {
    words.push(...setComputeRegisters(0x240, ...userData(k)), ...dispatchDirect([1, 1, 1], 32));
  }
  const submission = { queue, words: Uint32Array.from([...state, ...words]) };
  for (let group = -20; group < groups; group++) {
    if (group === 0) begin();
    pm4.submit(submission);
    for (let step = 0; step < 5; step++) pm4.step(); // the submission itself, and the state
    // The first one begins the command buffer.
    const before = 8;
    for (let step = 0; step < before * 2; step++) pm4.step();
    const start = performance.now();
    for (let step = 0; step < GROUP * 2; step++) pm4.step();
    const end = performance.now();
    pm4.run();
    sink.settle();
    if (group >= 0) times.push((end - start) * 1000 / GROUP);
  }
  return times;
}

/**
 * Microseconds of a dispatch's three calls of the driver, the barrier, the push constants and the dispatch, of a program that does nothing: what is
 * left when all else costs nothing.
 *
 * @param mutex taken as for a dispatch
 */
export function measureCalls(
  device: GpuDevice,
  recompiler: RecompilerDevice,
  place: number,
  mutex: GpuMutex | undefined,
  groups: number,
  begin: () => void = () => {},
): number[] {
  const queue = new CommandQueue(device, { queue: place % device.queues.length }),
    layout = createPipelineLayout(device);
  const { spirv } = recompile(chainRequest(Uint32Array.of(0xbf81_0000), 0, recompiler)); // s_endpgm
  const pipeline = createComputePipeline(device, { spirv, layout }), times: number[] = [];
  for (let group = -20; group < groups; group++) {
    if (group === 0) begin();
    queue.begin();
    queue.bindPipeline(pipeline.handle);
    let start = 0;
    for (let k = 0; k < BETWEEN; k++) {
      if (k === BETWEEN - GROUP) start = performance.now();
      queue.push[Push.UserData / 4] = k;
      if (mutex !== undefined) lockSoon(mutex);
      queue.barrier();
      queue.pushConstants(layout, Push.Bytes);
      queue.dispatch(1, 1, 1);
      mutex?.unlock();
    }
    const end = performance.now();
    mutex?.lock();
    const value = queue.submit();
    mutex?.unlock();
    queue.wait(value);
    if (group >= 0) times.push((end - start) * 1000 / GROUP);
  }
  queue.destroy();
  destroyPipeline(device, pipeline);
  destroyPipelineLayout(device, layout);
  return times;
}

const scope = globalThis as unknown as { postMessage(times: number[]): void; close(): void };

// The module is also loaded for its functions.
if (typeof (globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope !== "undefined") {
  globalThis.addEventListener("message", (event) => {
    const { queue, place, data, windows, gate, groups, what } = (event as MessageEvent<DispatchTask>).data;
    const memory = new GuestMemory(new MmapAllocator());
    for (const window of windows) memory.attach(window);
    const { self, room, executor } = openVulkanQueue(data, memory);
    const together = () => {
      if (Atomics.add(gate, 0, 1) + 1 === gate[1]) Atomics.notify(gate, 0);
      for (let seen; (seen = Atomics.load(gate, 0)) < gate[1];) Atomics.wait(gate, 0, seen);
    };
    const mutex = what === "calls, locked" ? room.gpu : undefined;
    const times = what === "dispatches"
      ? measure(queue, place, executor, memory, groups, together)
      : measureCalls(room.device, room.recompilerDevice, place, mutex, groups, together);
    executor.close();
    memory.clear();
    self.registry.leave(self);
    scope.postMessage(times);
    scope.close();
  });
}
