import { Access, FaultReason, type MemorySpace } from "./memory.ts";

/** A contiguous piece of an address space. */
export interface Window {
  /** First guest address, signed 64-bit. */
  readonly base: number;
  readonly view: DataView;
  /** Bits of {@linkcode Access} that are allowed. */
  readonly access: number;
}

/** Bytes of the largest access. */
const LARGEST = 16;

/** An address space of windows in host memory. Windows do not overlap. */
export class WindowSpace implements MemorySpace {
  view: DataView = new DataView(new ArrayBuffer(0));
  offset = 0;
  readonly #windows: Window[] = [];
  #last: Window | undefined;
  /** Collects a range that several windows share. */
  readonly #pieces = new DataView(new ArrayBuffer(LARGEST));
  /** Range whose pieces wait to be written back; no bytes when there is none. */
  #pendingAddress = 0;
  #pendingBytes = 0;

  /** Adds a window; `base` is a sign-extended 48-bit address, as a signed or unsigned value. */
  add(base: bigint, bytes: Uint8Array, access: number = Access.Read | Access.Write | Access.Execute): this {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#windows.push({ base: Number(BigInt.asIntN(64, base)), view, access });
    return this;
  }

  /** The window that holds an address. */
  find(address: number): Window | undefined {
    if (this.#last !== undefined && holds(this.#last, address)) return this.#last;
    return this.#last = this.#windows.find((window) => holds(window, address));
  }

  locate(address: number, bytes: number, access: number): number {
    const window = this.find(address);
    if (window === undefined) return FaultReason.Unmapped;
    const offset = address - window.base;
    if (offset + bytes > window.view.byteLength) return this.#collect(address, bytes, access);
    if ((window.access & access) !== access) return FaultReason.Permission;
    this.view = window.view;
    this.offset = offset;
    return FaultReason.None;
  }

  settle(): void {
    for (let k = 0; k < this.#pendingBytes; k++) {
      const { view, base } = this.find(this.#pendingAddress + k)!;
      view.setUint8(this.#pendingAddress + k - base, this.#pieces.getUint8(k));
    }
    this.#pendingBytes = 0;
  }

  /** A range that leaves its window: every byte must lie in a window that allows the access. */
  #collect(address: number, bytes: number, access: number): number {
    let allowed = true;
    for (let k = 0; k < bytes; k++) {
      const window = this.find(address + k);
      if (window === undefined) return FaultReason.Unmapped;
      allowed &&= (window.access & access) === access;
      this.#pieces.setUint8(k, window.view.getUint8(address + k - window.base));
    }
    if (!allowed) return FaultReason.Permission;
    if (access & Access.Write) {
      this.#pendingAddress = address;
      this.#pendingBytes = bytes;
    }
    this.view = this.#pieces;
    this.offset = 0;
    return FaultReason.None;
  }
}

function holds({ base, view }: Window, address: number): boolean {
  return address >= base && address < base + view.byteLength;
}
