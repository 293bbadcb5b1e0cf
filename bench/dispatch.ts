/**
 * What a dispatch of a known program costs the host: from the packet that sets its user data, which are different each time, to the recorded
 * command. Validation of the stream, submission and the device's work are not in it. Rows without operations are the driver's three calls of a
 * dispatch alone (barrier, push constants, dispatch; not locked, and with the GPU mutex held as for a dispatch): no dispatch can take less.
 *
 *     deno run -A bench/dispatch.ts [--quick] [--json]
 */
import { openDriverRoom } from "../src/driver/pools/driver_room.ts";
import { GuestSharing } from "../src/driver/vulkan/shared_guest.ts";
import { VulkanExecutor } from "../src/driver/vulkan/vulkan_executor.ts";
import { GpuDevice } from "../src/gpu/device.ts";
import { GuestMemory } from "../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../src/guest/memory/mmap_allocator.ts";
import { CODE, CODE_BYTES, DATA, DATA_BYTES, type DispatchTask, measure, writeProgram } from "./dispatch_worker.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

/** f32 operations of the programs; each dispatch compares the code with what it was recompiled from. */
const OPERATIONS = [16, 256, 2048];
const FULL = { operations: OPERATIONS, groups: 200 }, QUICK = { operations: [16], groups: 20 };
/** Microseconds that the median should stay below. */
const TARGET = 10;

interface Row {
  operations: number;
  queues: number;
  isolates: "one" | "each its own" | "calls alone" | "calls alone, locked";
  /** Microseconds of a dispatch. */
  medianUs: number;
  p95Us: number;
  minUs: number;
}

/** The table. */
export const TABLE: BenchTable = {
  name: "dispatch",
  summary: "a dispatch of a known program, from its packets to the recorded command, on one queue and on four",
  run,
};

const HEAD = [
  "| f32 operations | queues | isolates | median us | 95 % | least |",
  "| --- | --- | --- | --- | --- | --- |",
];

async function run({ quick, progress, said }: BenchContext): Promise<BenchResult> {
  const { operations, groups } = quick ? QUICK : FULL, rows: Row[] = [];
  const device = GpuDevice.create({ queues: 4 });
  try {
    const add = (row: Row) => {
      rows.push(row);
      said?.(lineOf(row));
    };
    HEAD.forEach((line) => said?.(line));
    for (const queues of [1, 4]) {
      add(row(0, queues, "calls alone", await together(device, 0, queues, groups, "calls")));
      if (queues === 1) continue;
      add(row(0, queues, "calls alone, locked", await together(device, 0, queues, groups, "calls, locked")));
    }
    for (const [index, count] of operations.entries()) {
      progress(index, operations.length);
      add(row(count, 1, "one", alone(device, count, groups)));
      for (const queues of [1, 4]) {
        add(row(count, queues, "each its own", await together(device, count, queues, groups, "dispatches")));
      }
    }
  } finally {
    device.destroy();
  }
  const { name } = device.capabilities;
  return {
    data: {
      schema: "anyagc.bench.dispatch/2",
      device: name,
      queues: device.queues.length,
      targetUs: TARGET,
      groups,
      rows,
    },
    lines: [
      `${name}, ${navigator.hardwareConcurrency} hardware threads; microseconds of a dispatch (target: median at most ${TARGET})`,
      "",
      ...HEAD,
      ...rows.map(lineOf),
    ],
  };
}

/** Everything in this isolate. */
function alone(device: GpuDevice, operations: number, groups: number): number[] {
  const memory = guestMemory(operations);
  const executor = new VulkanExecutor(device, { target: "gfx1013" });
  try {
    executor.attach(memory);
    return measure(0x20, 0, executor, memory, groups);
  } finally {
    executor.close();
    if (!executor.hung) memory.clear();
  }
}

/** Queues in isolates of their own, at the same time. */
async function together(
  device: GpuDevice,
  operations: number,
  queues: number,
  groups: number,
  what: DispatchTask["what"],
): Promise<number[]> {
  const memory = guestMemory(operations), room = openDriverRoom(device, { workers: [1, 1, 1] });
  const sharing = new GuestSharing(device, memory), { guest } = sharing;
  const gate = new Int32Array(new SharedArrayBuffer(8));
  gate[1] = queues;
  const times = await Promise.all(Array.from({ length: queues }, (_, place) => {
    const worker = new Worker(new URL("./dispatch_worker.ts", import.meta.url), { type: "module" });
    const data = { room: room.handle, guest, target: "gfx1013", unalignedLoads: false, queue: place } as const;
    const task: DispatchTask = { queue: 0x20 + 8 * place, place, data, windows: memory.describe(), gate, groups, what };
    return new Promise<number[]>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<number[]>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      worker.postMessage(task);
    });
  }));
  sharing.close();
  await room.close();
  memory.clear();
  return times.flat();
}

function guestMemory(operations: number): GuestMemory {
  const memory = new GuestMemory(new MmapAllocator());
  memory.map(CODE, CODE_BYTES);
  memory.map(DATA, DATA_BYTES);
  writeProgram(memory, operations);
  return memory;
}

function row(operations: number, queues: number, isolates: Row["isolates"], times: readonly number[]): Row {
  const sorted = times.toSorted((a, b) => a - b), at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)];
  return { operations, queues, isolates, medianUs: at(0.5), p95Us: at(0.95), minUs: sorted[0] };
}

function lineOf({ operations, queues, isolates, medianUs, p95Us, minUs }: Row): string {
  const times = [medianUs, p95Us, minUs].map((us) => us.toFixed(2));
  return `| ${[operations || "", queues, isolates, ...times].join(" | ")} |`;
}

if (import.meta.main) await runAsScript(TABLE);
