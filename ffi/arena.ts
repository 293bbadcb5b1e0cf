import { AnyAgcError, hex } from "../src/errors.ts";
import { addressOf, cString } from "./libc.ts";

const MINIMUM_BYTES = 4096;

/**
 * Native memory for the structs, strings and arrays that go to C: one ArrayBuffer with a known address. Allocation moves a mark;
 * {@linkcode Arena.scope} gives memory back in last-in, first-out order. Offsets are numbers, addresses are bigint, since FFI parameters
 * of 64 bits must be bigint to stay on the fast path.
 *
 * What is used for every dispatch is allocated once and rewritten in place: no allocation and no bigint arithmetic per call.
 */
export class Arena {
  /** Address of the first byte. */
  readonly base: bigint;
  /** Size in bytes. */
  readonly byteLength: number;
  /** Whole arena, for multi-byte fields (Vulkan structs are little-endian here, as is every supported host). */
  readonly view: DataView<ArrayBuffer>;
  /** Whole arena as bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whole arena as 32-bit words. */
  readonly words: Uint32Array<ArrayBuffer>;
  #mark = 0;

  /**
   * Allocates the memory.
   *
   * @param byteLength size in bytes; at least a page, since smaller buffers may live on the moving heap
   */
  constructor(byteLength = 64 * 1024) {
    const buffer = new ArrayBuffer(Math.max(MINIMUM_BYTES, Math.ceil(byteLength / 16) * 16));
    this.base = addressOf(buffer);
    this.byteLength = buffer.byteLength;
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    this.words = new Uint32Array(buffer);
  }

  /** Bytes that are allocated now. */
  get used(): number {
    return this.#mark;
  }

  /**
   * Allocates zeroed bytes and returns their offset.
   *
   * @param alignment a power of two, at most 16
   * @throws {AnyAgcError} `arena.full`
   */
  allocate(byteLength: number, alignment = 8): number {
    const offset = (this.#mark + alignment - 1) & -alignment;
    const end = offset + byteLength;
    if (end > this.byteLength) {
      throw new AnyAgcError(
        "arena.full",
        `an arena of ${hex(this.byteLength)} bytes cannot hold ${hex(byteLength)} bytes more`,
      );
    }
    this.bytes.fill(0, offset, end);
    this.#mark = end;
    return offset;
  }

  /** Address of an offset. */
  address(offset: number): bigint {
    return this.base + BigInt(offset);
  }

  /** Offset of an address that lies in this arena. */
  offset(address: bigint): number {
    return Number(address - this.base);
  }

  /** Runs `body`, then frees everything that was allocated in it. `body` must not be asynchronous. */
  scope<T>(body: () => T): T {
    const mark = this.#mark;
    try {
      return body();
    } finally {
      this.#mark = mark;
    }
  }

  /** Stores the text as a C string; returns its address. */
  string(text: string): bigint {
    return this.copyBytes(cString(text), 1);
  }

  /** Stores an array of C strings and the array of pointers to them; returns the address of the pointers, or 0 for none. */
  strings(texts: readonly string[]): bigint {
    return this.u64s(texts.map((text) => this.string(text)));
  }

  /** Copies 32-bit words; returns their address, or 0 for none. */
  u32s(values: ArrayLike<number>): bigint {
    if (values.length === 0) return 0n;
    const offset = this.allocate(values.length * 4, 4);
    this.words.set(values, offset >>> 2);
    return this.address(offset);
  }

  /** Copies 64-bit values (handles, addresses, sizes); returns their address, or 0 for none. */
  u64s(values: readonly bigint[]): bigint {
    if (values.length === 0) return 0n;
    const offset = this.allocate(values.length * 8, 8);
    for (let i = 0; i < values.length; i++) this.view.setBigUint64(offset + i * 8, values[i], true);
    return this.address(offset);
  }

  /** Copies bytes; returns their address, or 0 for none. */
  copyBytes(bytes: Uint8Array, alignment = 8): bigint {
    if (bytes.length === 0) return 0n;
    const offset = this.allocate(bytes.length, alignment);
    this.bytes.set(bytes, offset);
    return this.address(offset);
  }

  /** 32-bit value at an offset. */
  getU32(offset: number): number {
    return this.view.getUint32(offset, true);
  }

  /** Stores a 32-bit value at an offset. */
  setU32(offset: number, value: number): void {
    this.view.setUint32(offset, value, true);
  }

  /** 64-bit value at an offset. */
  getU64(offset: number): bigint {
    return this.view.getBigUint64(offset, true);
  }

  /** Stores a 64-bit value at an offset. */
  setU64(offset: number, value: bigint): void {
    this.view.setBigUint64(offset, value, true);
  }

  /** Text of a fixed-size character array (`char name[256]`) at an offset. */
  getText(offset: number, byteLength: number): string {
    const field = this.bytes.subarray(offset, offset + byteLength);
    const end = field.indexOf(0);
    return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
  }
}
