/**
 * Guest memory for executors in several isolates of one process: imported by the device once, by the isolate that owns it. The others get the
 * table of device addresses as plain data.
 *
 * @module
 */
import { hex, HostError } from "../../errors.ts";
import { HostBuffer } from "../../gpu/buffer.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { WindowTableEntry } from "../../guest/memory/window.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import { DeviceWindows } from "./windows.ts";

/** What the device reaches, as plain data: can be posted to a worker. */
export interface SharedGuest {
  /** Pieces of guest memory, by rising base; `delta` leads to the device address. */
  readonly table: readonly WindowTableEntry[];
  /** Device address of GDS, which all queues share. */
  readonly gds: bigint;
}

/** Makes guest memory reachable for all isolates; the isolate that owns the memory has one. */
export class GuestSharing {
  /** What executors in other isolates need. */
  readonly guest: SharedGuest;
  readonly #windows: DeviceWindows;
  readonly #gds: HostBuffer;

  /**
   * Imports all windows that are mapped now.
   *
   * @param device stays the caller's, as the memory does
   * @throws HostError `driver.shared-mirrored` when the device cannot work on host memory itself: copies that each isolate keeps equal by
   * itself would overwrite each other's work. Such a device runs its queues in turns, in one isolate.
   */
  constructor(device: GpuDevice, memory: GuestMemory) {
    if (!canShareGuest(device)) throw cannotShareCopies(device.capabilities.name);
    this.#windows = new DeviceWindows(device, "imported");
    try {
      const table = this.#windows.update(memory);
      this.#gds = new HostBuffer(device, GDS_BYTES);
      this.guest = { table, gds: this.#gds.deviceAddress };
    } catch (error) {
      this.#windows.destroy();
      throw error;
    }
  }

  /** Gives the imports back. The device must not be using them any more, nor any executor. */
  close(): void {
    this.#gds.destroy();
    this.#windows.destroy();
  }
}

/** Why queues of a device that works on copies of guest memory cannot run at the same time. */
export function cannotShareCopies(name: string): HostError {
  return new HostError(
    "driver.shared-mirrored",
    `the device "${name}" works on copies of guest memory (it cannot import host memory by VK_EXT_external_memory_host, or was asked not to), ` +
      "and copies cannot be shared by several isolates: its queues run in turns, in one isolate",
  );
}

/** Whether several isolates can work on the same guest memory on this device. */
function canShareGuest({ capabilities: { limits } }: GpuDevice): boolean {
  return limits.hostImportAlignment > 0;
}

/**
 * The window table of an isolate's view of shared memory, with the permissions that the windows have now.
 *
 * @throws HostError `driver.window-not-shared` for a window that was mapped after the memory was shared
 */
export function sharedTable({ table }: SharedGuest, memory: GuestMemory): WindowTableEntry[] {
  return memory.windows.flatMap(({ name, base, end, permissions }) => {
    const pieces = table.filter((piece) => piece.base >= base && piece.end <= end);
    if (pieces[0]?.base !== base || pieces.at(-1)!.end !== end) {
      throw new HostError(
        "driver.window-not-shared",
        `window ${name} at ${hex(base)} was mapped after guest memory was shared with other isolates`,
        { guestAddress: base },
      );
    }
    return pieces.map((piece) => ({ ...piece, permissions }));
  });
}
