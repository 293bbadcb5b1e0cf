import { FaultReason, FaultRecord, WindowEntry } from "../../recompiler/abi.ts";
import { Context } from "../../recompiler/abi.ts";
import type { WindowTableEntry } from "../../guest/memory/window.ts";
import { HostBuffer } from "../../gpu/buffer.ts";
import type { GpuDevice } from "../../gpu/device.ts";

/** A failing access that a program recorded. */
export interface RecordedFault {
  reason: "unmapped" | "permission" | "overflow" | "unaligned" | "unknown";
  /** Guest address. */
  address: bigint;
  bytes: number;
  /** Byte offset of the instruction in its program. */
  pc: number;
}

const REASONS = new Map<number, RecordedFault["reason"]>([
  [FaultReason.Unmapped, "unmapped"],
  [FaultReason.Permission, "permission"],
  [FaultReason.Overflow, "overflow"],
  [FaultReason.Unaligned, "unaligned"],
]);

/** Blocks per buffer. */
const BLOCKS = 64;

/**
 * The context blocks of programs (recompiler/abi.ts): fault record, zero and sink areas, window table. Each program has its own, so that a fault
 * names its program.
 */
export class ContextBlocks {
  readonly #device: GpuDevice;
  readonly #buffers: HostBuffer[] = [];
  readonly #views: DataView[] = [];
  #stride = 0;
  #count = 0;
  #windows: readonly WindowTableEntry[] = [];

  constructor(device: GpuDevice) {
    this.#device = device;
  }

  /** Puts a new window table into all blocks. No work may be in flight. Block addresses change: get them again. */
  setWindows(windows: readonly WindowTableEntry[]): void {
    this.#windows = windows;
    const stride = roundUp(Context.Windows + windows.length * WindowEntry.Bytes, 256);
    if (stride !== this.#stride) {
      this.#stride = stride;
      for (const buffer of this.#buffers) buffer.destroy();
      this.#buffers.length = 0;
      this.#views.length = 0;
      this.#reserve();
    }
    for (let i = 0; i < this.#count; i++) this.#fill(i);
  }

  /** Adds a block and returns its index. */
  add(): number {
    const index = this.#count++;
    this.#reserve();
    this.#fill(index);
    return index;
  }

  /** Device address of a block. */
  address(index: number): bigint {
    return this.#buffers[Math.floor(index / BLOCKS)].deviceAddress + BigInt((index % BLOCKS) * this.#stride);
  }

  /** The fault of a program since the last call, if there was one. */
  takeFault(index: number): RecordedFault | null {
    const [view, at] = this.#at(index);
    const field = (offset: number) => view.getUint32(at + Context.Fault + offset, true);
    if (field(FaultRecord.State) === 0) return null;
    const fault: RecordedFault = {
      reason: REASONS.get(field(FaultRecord.Reason)) ?? "unknown",
      address: view.getBigUint64(at + Context.Fault + FaultRecord.Address, true),
      bytes: field(FaultRecord.Bytes),
      pc: field(FaultRecord.Pc),
    };
    for (let i = 0; i < 32; i += 4) view.setUint32(at + Context.Fault + i, 0, true);
    return fault;
  }

  destroy(): void {
    for (const buffer of this.#buffers) buffer.destroy();
    this.#buffers.length = 0;
  }

  #reserve(): void {
    while (this.#buffers.length * BLOCKS < this.#count) {
      const buffer = new HostBuffer(this.#device, BLOCKS * this.#stride);
      this.#buffers.push(buffer);
      this.#views.push(new DataView(buffer.buffer));
    }
  }

  #at(index: number): [DataView, number] {
    return [this.#views[Math.floor(index / BLOCKS)], (index % BLOCKS) * this.#stride];
  }

  #fill(index: number): void {
    const [view, at] = this.#at(index);
    for (let i = 0; i < Context.Windows; i += 4) view.setUint32(at + i, 0, true);
    view.setUint32(at + Context.WindowCount, this.#windows.length, true);
    this.#windows.forEach((window, i) => {
      const entry = at + Context.Windows + i * WindowEntry.Bytes;
      view.setBigUint64(entry + WindowEntry.Begin, window.base, true);
      view.setBigUint64(entry + WindowEntry.End, window.end, true);
      view.setBigUint64(entry + WindowEntry.Delta, window.delta, true);
      view.setUint32(entry + WindowEntry.Access, window.permissions, true);
    });
  }
}

function roundUp(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
