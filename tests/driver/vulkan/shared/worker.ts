/** A guest queue in an isolate of its own, for tests: executes its submissions with an executor that shares everything with others. */
import { DriverSink } from "../../../../src/driver/driver_sink.ts";
import { openVulkanQueue, type VulkanQueueData } from "../../../../src/driver/vulkan/queue_executor.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import type { WindowDescription } from "../../../../src/guest/memory/window.ts";
import { QueueExecutor } from "../../../../src/pm4/execute.ts";
import { encodeError } from "../../../../src/sync/error_data.ts";
import { countCreations, holdUp } from "../../pools/pipelines/support.ts";

/** What it gets. */
export interface QueueTask {
  readonly data: VulkanQueueData;
  readonly windows: readonly WindowDescription[];
  readonly queue: number;
  /** A submission each. */
  readonly submissions: readonly Uint32Array[];
  /** All queues begin when all have come so far: a count, and how many there are. */
  readonly gate: Int32Array<SharedArrayBuffer>;
  /** Flags (pools/pipelines/support.ts) of a creation that is held up; all its creations are, where there are any. */
  readonly hold?: Int32Array<SharedArrayBuffer>;
}

/** What it answers. */
export interface QueueAnswer {
  readonly error: Uint8Array<ArrayBuffer> | undefined;
  readonly dispatches: number;
  readonly programs: number;
}

const scope = globalThis as unknown as { postMessage(answer: QueueAnswer): void };

globalThis.addEventListener("message", (event) => {
  const { data, windows, queue, submissions, gate, hold } = (event as MessageEvent<QueueTask>).data;
  const memory = new GuestMemory(new MmapAllocator());
  for (const window of windows) memory.attach(window);
  const { self, room, executor, close } = openVulkanQueue(data, memory);
  if (hold !== undefined) countCreations(room.device, hold, () => holdUp(hold));
  const sink = new DriverSink(memory, executor);
  sink.queue = queue;
  const pm4 = new QueueExecutor(queue, sink);
  if (Atomics.add(gate, 0, 1) + 1 === gate[1]) Atomics.notify(gate, 0);
  for (let seen; (seen = Atomics.load(gate, 0)) < gate[1];) Atomics.wait(gate, 0, seen, 10_000);
  let error: Uint8Array<ArrayBuffer> | undefined;
  try {
    for (const words of submissions) {
      pm4.submit({ queue, words });
      pm4.run();
    }
    sink.settle();
  } catch (thrown) {
    error = encodeError(thrown);
  }
  const programs = executor.programs().length;
  close();
  memory.clear();
  self.registry.leave(self);
  scope.postMessage({ error, dispatches: sink.dispatches, programs });
  globalThis.close();
});
