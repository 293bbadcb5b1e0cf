/**
 * The executor of one guest queue in an isolate of its own, on the device and the memory of the main isolate.
 *
 * @module
 */
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Target } from "../../rdna/target.ts";
import type { Isolate } from "../../sync/isolates.ts";
import { attachDriverRoom, type DriverRoom, type DriverRoomHandle } from "../pools/driver_room.ts";
import { openRequestDump } from "../request_dump.ts";
import type { PreparationServices } from "../pools/preparation.ts";
import { Pool } from "../pools/room.ts";
import { type RegistryHandle, ShaderRegistry } from "../registry/shader_registry.ts";
import type { SharedGuest } from "./shared_guest.ts";
import { VulkanExecutor } from "./vulkan_executor.ts";

/** What the isolate gets: plain data. */
export interface VulkanQueueData {
  readonly room: DriverRoomHandle;
  readonly guest: SharedGuest;
  /** The guest's shaders, where some are registered. */
  readonly registry?: RegistryHandle;
  readonly target: Target;
  /** See `RecompileRequest.unalignedLoads`. */
  readonly unalignedLoads: boolean;
  /** Counts the guest's queues: which VkQueue it uses, as many as there are. */
  readonly queue: number;
  /** Milliseconds that a batch of dispatches may take. */
  readonly timeout?: number;
}

/** An executor with its isolate as a member of the room. */
export interface VulkanQueue {
  /** Leaves its registry after the executor was closed. */
  readonly self: Isolate;
  /** The room, as this isolate has it. */
  readonly room: DriverRoom;
  /** Has been attached to the memory. */
  readonly executor: VulkanExecutor;
  /** Whether the device may still be working on guest memory. */
  hung(): boolean;
  /** What was wrong with files, and what was found of shaders, for people. */
  notes(): string[];
  /** Closes the executor, and says which shaders it used. */
  close(): void;
}

/**
 * Opens it; where that fails, the isolate is no member of the room, and has nothing of the device.
 *
 * @param memory attached to the main isolate's windows
 * @param services what this isolate does beside when it recompiles
 */
export function openVulkanQueue(
  data: VulkanQueueData,
  memory: GuestMemory,
  services: PreparationServices = {},
): VulkanQueue {
  const room = attachDriverRoom(data.room, services);
  try {
    return openIn(room, data, memory);
  } catch (error) {
    room.leave();
    throw error;
  }
}

function openIn(room: DriverRoom, data: VulkanQueueData, memory: GuestMemory): VulkanQueue {
  const { target, unalignedLoads, guest, timeout } = data;
  const queue = data.queue % room.device.queues.length, lines: string[] = [];
  const registry = data.registry &&
    ShaderRegistry.attach(room.room, data.registry, {
      memory,
      services: room.services,
      queued: () => room.want(Pool.Preparation),
      log: (line) => void lines.push(line),
    });
  const executor = new VulkanExecutor(room.device, {
    target,
    unalignedLoads,
    timeout,
    dump: openRequestDump(),
    shared: { room, guest, queue, registry },
  });
  try {
    executor.attach(memory);
  } catch (error) {
    executor.close();
    throw error;
  }
  return {
    self: room.room.self,
    room,
    executor,
    hung: () => executor.hung,
    notes: () => [...lines, ...room.notes],
    close() {
      executor.close();
      room.keepShaders();
    },
  };
}
