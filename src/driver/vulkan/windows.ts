import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { type MemoryWindow, Permission, type WindowTableEntry } from "../../guest/memory/window.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { backGuestMemory, type BackingKind, type GuestBacking } from "../../gpu/guest_backing.ts";

/** The windows of guest memory on a device. */
export class DeviceWindows {
  readonly #device: GpuDevice;
  readonly #kind: BackingKind;
  readonly #backings = new Map<MemoryWindow, GuestBacking[]>();

  constructor(device: GpuDevice, kind: BackingKind) {
    this.#device = device;
    this.#kind = kind;
  }

  /** `imported` when the device works on guest memory itself, `mirrored` when it works on copies. */
  get kind(): "imported" | "mirrored" {
    for (const [first] of this.#backings.values()) return first.kind;
    return this.#kind === "mirrored" ? "mirrored" : "imported";
  }

  /** Backs new windows, drops those that are gone, and returns the table for shaders. No work may be in flight. */
  update(memory: GuestMemory): WindowTableEntry[] {
    const present = new Set(memory.windows);
    for (const [window, pieces] of this.#backings) {
      if (present.has(window)) continue;
      for (const piece of pieces) piece.destroy();
      this.#backings.delete(window);
    }
    const table: WindowTableEntry[] = [];
    for (const window of memory.windows) {
      let pieces = this.#backings.get(window);
      if (pieces === undefined) {
        pieces = backGuestMemory(this.#device, window.hostPointer, window.byteLength, this.#kind);
        this.#backings.set(window, pieces);
        window.deviceAddress = pieces[0].deviceAddress;
      }
      let base = window.base;
      for (const piece of pieces) {
        const end = base + BigInt(piece.byteLength);
        table.push({
          base,
          end,
          delta: BigInt.asUintN(64, piece.deviceAddress - base),
          permissions: window.permissions,
        });
        base = end;
      }
    }
    return table;
  }

  /** Makes everything that the host wrote visible to work submitted afterwards. */
  upload(): void {
    for (const pieces of this.#backings.values()) for (const piece of pieces) piece.upload(0, piece.byteLength);
  }

  /** Makes everything that finished work wrote visible to the host. */
  download(): void {
    for (const [window, pieces] of this.#backings) {
      if ((window.permissions & Permission.Write) === 0) continue;
      for (const piece of pieces) piece.download(0, piece.byteLength);
    }
  }

  destroy(): void {
    for (const pieces of this.#backings.values()) for (const piece of pieces) piece.destroy();
    this.#backings.clear();
  }
}
