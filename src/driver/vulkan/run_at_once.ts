/**
 * Runs the queues of a program at the same time on a Vulkan device: what `queues/run_queues.ts` needs, from a room.
 *
 * @module
 */
import { readFrame } from "../../guest/frame.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../guest/memory/mmap_allocator.ts";
import type { Program } from "../../guest/program.ts";
import type { ProgramRun, StartHooks } from "../device.ts";
import type { OwnedDriverRoom } from "../pools/driver_room.ts";
import { Pool } from "../pools/room.ts";
import { computeRecords, registerRecords } from "../registry/program_shaders.ts";
import { ShaderRegistry } from "../registry/shader_registry.ts";
import { runQueues, type RunQueuesOptions } from "../queues/run_queues.ts";
import type { RunResult } from "../run_program.ts";
import type { VulkanQueueData } from "./queue_executor.ts";
import { ResolveAhead } from "./resolve_ahead.ts";
import { windowRoom } from "./program_cache.ts";
import { GuestSharing, type SharedGuest } from "./shared_guest.ts";

/** What a run needs beside the hooks. */
export interface RunAtOnceOptions
  extends Pick<RunQueuesOptions, "startWorker" | "keepWorker" | "waitTimeoutMs" | "recheckMs"> {
  /** See `RecompileRequest.unalignedLoads`. */
  readonly unalignedLoads: boolean;
  /** Milliseconds that a batch of dispatches may take. */
  readonly timeout?: number;
  /** Called if the device hangs: then nothing may be destroyed that it may use. */
  readonly onHung: () => void;
}

/** Memory cannot be shared between isolates on this device, though its capabilities say so: the queues run in turns. */
export class CannotShare extends Error {
  override name = "CannotShare";
}

/**
 * Runs a program.
 *
 * @param room stays the caller's
 * @throws CannotShare before anything ran; HostError; what hooks throw
 */
export async function runAtOnce(
  room: OwnedDriverRoom,
  program: Program,
  { onDispatches, onTimeline, keepModule, timeline }: StartHooks,
  { unalignedLoads, timeout, onHung, ...options }: RunAtOnceOptions,
): Promise<ProgramRun> {
  const memory = new GuestMemory(new MmapAllocator());
  const { target } = program;
  let sharing: GuestSharing | undefined, ahead: ResolveAhead | undefined, registry: ShaderRegistry | undefined;
  let hung = false;
  // A device that hangs may still write to the memory: then it is never given back.
  const release = () => {
    if (!hung) memory.clear();
  };
  let result: RunResult;
  try {
    result = await runQueues(program, memory, {
      ...options,
      self: room.room.self,
      kind: "vulkan",
      attach(memory) {
        try {
          sharing = new GuestSharing(room.device, memory);
        } catch (cause) {
          throw new CannotShare("guest memory cannot be imported", { cause });
        }
        registry = openRegistry(room, program, memory, sharing.guest, unalignedLoads);
        ahead = new ResolveAhead(room, sharing.guest, memory, { target, unalignedLoads, registry });
        const data: VulkanQueueData = {
          room: room.handle,
          registry: registry?.handle,
          guest: sharing.guest,
          target,
          unalignedLoads,
          queue: 0,
          timeout,
        };
        return { kind: "vulkan", data };
      },
      announce: (submission) => ahead!.submitted(submission),
      snapshot: () => registry?.snapshot(),
      timeline,
      onTimeline,
      keepModule,
      onDispatches,
      onHung() {
        hung = true;
        onHung();
      },
    });
  } catch (error) {
    if (!hung) sharing?.close();
    release();
    throw error;
  }
  if (!hung) sharing!.close();
  return {
    result,
    memory,
    frame: () => program.frame === undefined ? undefined : readFrame(memory, program.frame),
    close: release,
  };
}

/** A registry with the shaders of the program's file; undefined where it has none: then all code is unregistered. */
function openRegistry(
  room: OwnedDriverRoom,
  program: Program,
  memory: GuestMemory,
  { table }: SharedGuest,
  unalignedLoads: boolean,
): ShaderRegistry | undefined {
  const records = computeRecords(program);
  if (records.length === 0) return undefined;
  const registry = ShaderRegistry.create(room.room, {
    // What the executors will ask for is what is prepared.
    host: {
      target: program.target,
      device: room.recompilerDevice,
      options: { windows: windowRoom(table.length), unalignedLoads, resolve: true },
    },
    memory,
    services: room.services,
    queued: () => room.want(Pool.Preparation),
    log: room.say,
    capacity: Math.max(MIN_CAPACITY, ENTRIES * records.length),
  });
  registerRecords(registry, records, room.say);
  return registry;
}

/** Entries of a registry: at least, and for each record of the file. */
const MIN_CAPACITY = 1024, ENTRIES = 4;
