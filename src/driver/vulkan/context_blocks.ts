import { Context, FaultReason, WindowEntry } from "../../recompiler/abi.ts";
import { readFaultRecord } from "../../recompiler/fault_record.ts";
import type { WindowTableEntry } from "../../guest/memory/window.ts";
import { HostBuffer } from "../../gpu/buffer.ts";
import type { GpuDevice } from "../../gpu/device.ts";

/** Why an access went to an address that is none. */
export type NowhereReason = "buffer-descriptor" | "buffer-format" | "scratch-crossing" | "cube-edge" | "sample-number";

/** A failing access that a program recorded. */
export interface RecordedFault {
  reason: "unmapped" | "permission" | "overflow" | "unaligned" | "elsewhere" | "loop-limit" | NowhereReason;
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
  [FaultReason.Elsewhere, "elsewhere"],
  [FaultReason.LoopLimit, "loop-limit"],
  [FaultReason.BufferDescriptor, "buffer-descriptor"],
  [FaultReason.BufferFormat, "buffer-format"],
  [FaultReason.ScratchCrossing, "scratch-crossing"],
  [FaultReason.CubeEdge, "cube-edge"],
  [FaultReason.SampleNumber, "sample-number"],
]);

/** Blocks start at multiples of this many bytes: the zero and sink areas are cache lines of their own. */
const BLOCK_ALIGNMENT = 256;

/**
 * The context blocks that recompiled programs get (recompiler/abi.ts): fault record, zero and sink areas, window table. A dispatch in flight has one for
 * itself, so that a fault tells which dispatch it is from.
 */
export class ContextBlocks {
  /** Lower and upper 32 bits of the blocks' device addresses. */
  readonly addressLow: Uint32Array;
  readonly addressHigh: Uint32Array;
  readonly #device: GpuDevice;
  readonly #count: number;
  #buffer: HostBuffer | undefined;
  #view = new DataView(new ArrayBuffer(0));
  #words = new Uint32Array(0);
  #stride = 0;

  /** @param count number of blocks */
  constructor(device: GpuDevice, count: number) {
    this.#device = device;
    this.#count = count;
    this.addressLow = new Uint32Array(count);
    this.addressHigh = new Uint32Array(count);
  }

  /** Puts a new window table into all blocks and forgets their faults. No work may be in flight. Addresses change. */
  setWindows(windows: readonly WindowTableEntry[]): void {
    // The table always has room for one entry: programs read the first one without looking at the count.
    const stride = roundUp(Context.Windows + Math.max(1, windows.length) * WindowEntry.Bytes, BLOCK_ALIGNMENT);
    if (this.#buffer === undefined || stride !== this.#stride) {
      this.destroy();
      this.#stride = stride;
      this.#buffer = new HostBuffer(this.#device, this.#count * stride);
      this.#view = new DataView(this.#buffer.buffer);
      this.#words = new Uint32Array(this.#buffer.buffer);
    }
    for (let i = 0; i < this.#count; i++) {
      const address = this.#buffer.deviceAddress + BigInt(i * stride);
      this.addressLow[i] = Number(address & 0xffff_ffffn);
      this.addressHigh[i] = Number(address >> 32n);
      this.#fill(i, windows);
    }
  }

  /** The fault that a block's dispatch recorded since the last call, if there was one. */
  takeFault(index: number): RecordedFault | null {
    const view = this.#view, at = index * this.#stride + Context.Fault;
    const record = readFaultRecord(view, index * this.#stride);
    if (record === null) return null;
    const reason = REASONS.get(record.reason);
    if (reason === undefined) throw new Error("the fault record on the device is damaged");
    const fault: RecordedFault = { reason, address: record.address, bytes: record.bytes, pc: record.pc };
    for (let i = 0; i < Context.WindowCount; i += 4) view.setUint32(at + i, 0, true);
    return fault;
  }

  /** Memory of all blocks. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** Index in `words` of a block's resolved area. */
  resolvedAt(index: number): number {
    return (index * this.#stride + Context.Resolved) / 4;
  }

  /** A copy of a block's bytes, for tests and tools. */
  read(index: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#view.buffer.slice(index * this.#stride, (index + 1) * this.#stride) as ArrayBuffer);
  }

  destroy(): void {
    this.#buffer?.destroy();
    this.#buffer = undefined;
  }

  #fill(index: number, windows: readonly WindowTableEntry[]): void {
    const view = this.#view, at = index * this.#stride;
    this.#words.fill(0, at / 4, (at + this.#stride) / 4);
    view.setUint32(at + Context.WindowCount, windows.length, true);
    windows.forEach((window, i) => {
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
