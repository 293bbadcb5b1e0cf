/** Runs the queues of a guest program at the same time, each in an isolate of its own. */
import {
  type DriverRoomOptions,
  openDriverRoom,
  type OwnedDriverRoom,
} from "../../../../src/driver/pools/driver_room.ts";
import { GuestSharing } from "../../../../src/driver/vulkan/shared_guest.ts";
import type { GpuDevice } from "../../../../src/gpu/device.ts";
import { mapProgram } from "../../../../src/guest/map_program.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../../src/guest/program.ts";
import { decodeError } from "../../../../src/sync/error_data.ts";
import type { QueueAnswer, QueueTask } from "./worker.ts";

/** What a run left. */
export interface SharedRun {
  /** What each queue threw, by its number. */
  readonly errors: Map<number, unknown>;
  readonly answers: Map<number, QueueAnswer>;
  words(at: { address: bigint; bytes: number }): Uint32Array<ArrayBuffer>;
}

/** What happens while a run is under way. */
export interface SharedRunHooks {
  /** Flags for the queue whose creations are held up. */
  readonly hold?: { readonly queue: number; readonly flags: Int32Array<SharedArrayBuffer> };
  /** A queue is done. */
  done?(queue: number): void;
}

/** Runs them in a room; see {@linkcode inRoom}. */
export async function runShared(
  room: OwnedDriverRoom,
  device: GpuDevice,
  program: Program,
  { hold, done }: SharedRunHooks = {},
): Promise<SharedRun> {
  const memory = new GuestMemory(new MmapAllocator());
  mapProgram(program, memory);
  const sharing = new GuestSharing(device, memory);
  const queues = [...new Set(program.submissions.map(({ queue }) => queue))];
  const gate = new Int32Array(new SharedArrayBuffer(8));
  gate[1] = queues.length;
  const answers = await Promise.all(queues.map((queue, k) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    const submissions = program.submissions.filter((each) => each.queue === queue).map(({ words }) => words);
    const data = { room: room.handle, guest: sharing.guest, target: program.target, unalignedLoads: false, queue: k };
    const held = hold?.queue === queue ? hold.flags : undefined;
    const task: QueueTask = { data, windows: memory.describe(), queue, submissions, gate, hold: held };
    return new Promise<QueueAnswer>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<QueueAnswer>) => {
        done?.(queue);
        resolve(data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`queue ${queue}: ${event.message}`));
      };
      worker.postMessage(task);
    });
  }));
  sharing.close();
  const kept = new Map(program.memory.map(({ base, bytes }) => [base, memory.read(base, bytes, 0).slice()]));
  memory.clear();
  return {
    answers: new Map(queues.map((queue, k) => [queue, answers[k]])),
    errors: new Map(
      queues.flatMap((queue, k) => answers[k].error === undefined ? [] : [[queue, decodeError(answers[k].error!)]]),
    ),
    words({ address, bytes }) {
      const [base, all] = [...kept].find(([base, { length }]) => address >= base && address < base + BigInt(length))!;
      return new Uint32Array(all.slice(Number(address - base), Number(address - base) + bytes).buffer);
    },
  };
}

/** Runs `body` with a room that is closed afterwards; its pools have a worker each. */
export async function inRoom(
  device: GpuDevice,
  body: (room: OwnedDriverRoom) => void | Promise<void>,
  options: DriverRoomOptions = {},
): Promise<void> {
  const room = openDriverRoom(device, { workers: [1, 1, 1], arenaBytes: 64 << 20, ...options });
  try {
    await body(room);
  } finally {
    await room.close();
  }
}
