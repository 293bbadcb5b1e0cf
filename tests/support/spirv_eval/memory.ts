/**
 * Device memory of the evaluator: buffers at device addresses.
 *
 * @module
 */
import type { SpirvType, Value } from "./parse.ts";

/** A buffer. */
export interface DeviceBuffer {
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

/** Buffers by address. What is outside of all of them is an error, as the validation layer and a real device would have it. */
export class DeviceMemory {
  readonly #buffers: { address: bigint; end: bigint; view: DataView }[] = [];

  /** Makes a buffer reachable. */
  add({ address, bytes }: DeviceBuffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#buffers.push({ address, end: address + BigInt(bytes.byteLength), view });
  }

  /** Forgets all buffers. */
  clear(): void {
    this.#buffers.length = 0;
  }

  /** The view and the offset of a range. */
  at(address: bigint, bytes: number, alignment: number): { view: DataView; offset: number } {
    if (address % BigInt(alignment) !== 0n) {
      throw new Error(`address 0x${address.toString(16)} is no multiple of ${alignment}, as the access says`);
    }
    for (const { address: base, end, view } of this.#buffers) {
      if (address >= base && address + BigInt(bytes) <= end) return { view, offset: Number(address - base) };
    }
    throw new Error(`${bytes} bytes at device address 0x${address.toString(16)} are in no buffer`);
  }

  /** Reads a value. @param _by local index of the invocation @param _atomic it is an atomic load */
  load(address: bigint, type: SpirvType, alignment: number, _by = 0, _atomic = false): Value {
    const { view, offset } = this.at(address, byteSize(type), alignment);
    return read(view, offset, type);
  }

  /** Writes a value. */
  store(address: bigint, type: SpirvType, value: Value, alignment: number, _by = 0): void {
    const { view, offset } = this.at(address, byteSize(type), alignment);
    write(view, offset, type, value);
  }

  /** An atomic operation; returns the old value. */
  update(address: bigint, type: SpirvType, change: (old: Value) => Value): Value {
    const { view, offset } = this.at(address, byteSize(type), byteSize(type));
    const old = read(view, offset, type);
    write(view, offset, type, change(old));
    return old;
  }

  /** A memory barrier of Device scope, of these invocations. Here, all is in order anyway. */
  fence(_invocations: readonly number[]): void {}
}

/** Bytes of a type in a buffer. */
export function byteSize(type: SpirvType): number {
  switch (type.kind) {
    case "int":
    case "float":
      return type.bits / 8;
    case "vector":
      return type.count * byteSize(type.element);
    case "array":
      return type.count * type.stride;
    case "struct":
      return Math.max(...type.members.map((member, i) => type.offsets[i] + byteSize(member)));
    case "pointer":
      return 8;
    default:
      throw new Error(`a ${type.kind} has no size in memory`);
  }
}

/** Reads a value out of bytes. */
export function read(view: DataView, at: number, type: SpirvType): Value {
  switch (type.kind) {
    case "int":
    case "float":
      return type.bits === 64
        ? view.getBigUint64(at, true)
        : type.bits === 32
        ? view.getUint32(at, true)
        : type.bits === 16
        ? view.getUint16(at, true)
        : view.getUint8(at);
    case "vector": {
      const size = byteSize(type.element);
      return Array.from({ length: type.count }, (_, i) => read(view, at + i * size, type.element));
    }
    case "array":
      return Array.from({ length: type.count }, (_, i) => read(view, at + i * type.stride, type.element));
    case "struct":
      return type.members.map((member, i) => read(view, at + type.offsets[i], member));
    case "pointer":
      return view.getBigUint64(at, true);
    default:
      throw new Error(`a ${type.kind} cannot be loaded`);
  }
}

/** Writes a value into bytes. */
export function write(view: DataView, at: number, type: SpirvType, value: Value): void {
  if (type.kind === "int" || type.kind === "float") {
    if (type.bits === 64) view.setBigUint64(at, value as bigint, true);
    else if (type.bits === 32) view.setUint32(at, value as number, true);
    else if (type.bits === 16) view.setUint16(at, value as number, true);
    else view.setUint8(at, value as number);
  } else if (type.kind === "vector") {
    const size = byteSize(type.element);
    (value as Value[]).forEach((each, i) => write(view, at + i * size, type.element, each));
  } else throw new Error(`a ${type.kind} cannot be stored`);
}
