/** Memory of a workgroup: guest memory in windows, and LDS. Every access is seen by all lanes at once. */
import { AtomicKind, MemoryWidth } from "../../../src/recompiler/ir/ops.ts";
import * as scalar from "./scalar.ts";
import { fromBytes, type LaneValue, toBytes, zeros } from "./values.ts";

/** A failing guest memory access. */
export interface EvalFault {
  address: bigint;
  bytes: number;
  pc: number;
  write: boolean;
}

/** Guest memory: windows of bytes. */
export class EvalMemory {
  private readonly windows: { base: bigint; bytes: Uint8Array }[] = [];

  /** Maps `bytes` at a guest address (the array is used, not copied). */
  map(base: bigint, bytes: Uint8Array): void {
    this.windows.push({ base: BigInt.asUintN(64, base), bytes });
  }

  /** Maps the bytes of 32-bit words and returns the same words as a view. */
  mapWords(base: bigint, words: Uint32Array | readonly number[]): Uint32Array {
    const copy = Uint32Array.from(words);
    this.map(base, new Uint8Array(copy.buffer));
    return copy;
  }

  /** A memory with the same windows and contents, for itself. */
  copy(): EvalMemory {
    const result = new EvalMemory();
    for (const { base, bytes } of this.windows) result.map(base, bytes.slice());
    return result;
  }

  /** Takes over the contents of another memory's windows. */
  take(other: EvalMemory): void {
    for (const { base, bytes } of this.windows) bytes.set(other.at(base, bytes.length)!);
  }

  /** All bytes, window after window. */
  contents(): [bigint, number[]][] {
    return this.windows.map(({ base, bytes }) => [base, [...bytes]]);
  }

  /** Bytes at an address, or undefined when any of them is unmapped. */
  at(address: bigint, bytes: number): Uint8Array | undefined {
    for (const window of this.windows) {
      const offset = address - window.base;
      if (offset >= 0n && offset + BigInt(bytes) <= BigInt(window.bytes.length)) {
        return window.bytes.subarray(Number(offset), Number(offset) + bytes);
      }
    }
    return undefined;
  }
}

/** What a workgroup sees of memory. */
export class WorkgroupMemory {
  readonly faults: EvalFault[] = [];
  readonly lds: Uint8Array;

  constructor(private readonly guest: EvalMemory, ldsBytes: number) {
    this.lds = new Uint8Array(ldsBytes);
  }

  /** A load of guest memory: zeros, and a fault, where the address is unmapped. */
  load(address: bigint, width: number, pc: number): LaneValue {
    const bytes = width & MemoryWidth.BytesMask;
    return fromBytes(this.guestBytes(address, bytes, pc, false) ?? new Uint8Array(bytes), width);
  }

  /** A store to guest memory. */
  store(address: bigint, value: LaneValue, width: number, pc: number): void {
    const target = this.guestBytes(address, width & MemoryWidth.BytesMask, pc, true);
    if (target !== undefined) toBytes(target, value);
  }

  /** An atomic operation on guest memory (AtomicKind); gives what was there before. */
  atomic(address: bigint, kind: number, data: LaneValue, pc: number): LaneValue {
    const target = this.guestBytes(address, atomicBytes(kind), pc, true);
    return target === undefined ? zeros(atomicBytes(kind)) : exchange(target, kind, data);
  }

  /** A load of LDS: dwords out of range are 0. */
  ldsLoad(address: number, width: number): LaneValue {
    const bytes = width & MemoryWidth.BytesMask;
    const copy = new Uint8Array(bytes);
    const step = Math.min(bytes, 4);
    for (let k = 0; k < bytes; k += step) copy.set(this.ldsBytes(address + k, step) ?? new Uint8Array(step), k);
    return fromBytes(copy, width);
  }

  /** A store to LDS: dwords out of range are left out. */
  ldsStore(address: number, value: LaneValue, width: number): void {
    const bytes = width & MemoryWidth.BytesMask;
    const step = Math.min(bytes, 4);
    const parts = typeof value === "number" ? [value] : value as number[];
    for (let k = 0; k < bytes; k += step) {
      const target = this.ldsBytes(address + k, step);
      if (target !== undefined) toBytes(target, parts[k / step]);
    }
  }

  /** An atomic operation on LDS. */
  ldsAtomic(address: number, kind: number, data: LaneValue): LaneValue {
    const target = this.ldsBytes(address, atomicBytes(kind));
    return target === undefined ? zeros(atomicBytes(kind)) : exchange(target, kind, data);
  }

  private guestBytes(address: bigint, bytes: number, pc: number, write: boolean): Uint8Array | undefined {
    const found = this.guest.at(address, bytes);
    if (found === undefined) this.faults.push({ address, bytes, pc, write });
    return found;
  }

  private ldsBytes(address: number, bytes: number): Uint8Array | undefined {
    return address + bytes <= this.lds.length ? this.lds.subarray(address, address + bytes) : undefined;
  }
}

/** Bytes that an atomic operation is on. */
export function atomicBytes(kind: number): 4 | 8 {
  return (kind & AtomicKind.Wide) !== 0 ? 8 : 4;
}

/** Does an atomic operation on its bytes; gives what they were. */
function exchange(memory: Uint8Array, kind: number, data: LaneValue): LaneValue {
  const wide = memory.length === 8;
  const words = new Uint32Array(memory.slice().buffer);
  const old = wide ? scalar.join(words[0], words[1]) : BigInt(words[0]);
  const parts = typeof data === "number" ? [data] : data as number[];
  const operand = wide ? scalar.join(parts[0], parts[1]) : BigInt(parts[0]);
  const compare = wide ? scalar.join(parts[2] ?? 0, parts[3] ?? 0) : BigInt(parts[1] ?? 0);
  const fresh = scalar.atomic(kind, wide ? 64 : 32, old, operand, compare);
  toBytes(memory, wide ? [Number(fresh & 0xffffffffn), Number(fresh >> 32n)] : Number(fresh));
  return wide ? [words[0], words[1]] : words[0];
}
