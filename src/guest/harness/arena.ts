import { UsageError } from "../../errors.ts";
import { roundUpToPage } from "../memory/address.ts";
import { Permission } from "../memory/window.ts";
import type { ProgramMemory, UntouchedRange } from "../program.ts";

/** Zeros behind every block, which nothing may write. */
const GUARD_BYTES = 256;
/** Blocks start at multiples of this: code and image addresses need it. */
const BLOCK_ALIGNMENT = 256;
/** Largest arena, in bytes. */
const MAX_ARENA_BYTES = 1 << 30;

/** A growing window of guest memory that hands out blocks in order. */
export class GuestArena {
  readonly base: bigint;
  readonly #name: string;
  readonly #blocks: { offset: number; data: Uint8Array }[] = [];
  readonly #untouched: UntouchedRange[] = [];
  #used = 0;

  constructor(name: string, base: bigint) {
    this.#name = name;
    this.base = base;
  }

  /** Takes a block of `bytes` bytes, zero where `data` is shorter. `constant` blocks must not change. */
  take(what: string, bytes: number, data?: Uint8Array, constant = false): bigint {
    const offset = this.#used, address = this.base + BigInt(offset);
    const end = Math.ceil((offset + bytes) / BLOCK_ALIGNMENT) * BLOCK_ALIGNMENT + GUARD_BYTES;
    if (end > MAX_ARENA_BYTES) {
      throw new UsageError("harness.too-large", `${what}: ${bytes} bytes; a launch has room for ${MAX_ARENA_BYTES}`);
    }
    if (data !== undefined && data.length > 0) this.#blocks.push({ offset, data });
    if (constant) this.#untouched.push({ address, bytes, reason: `${what} must not change` });
    this.#untouched.push({
      address: address + BigInt(bytes),
      bytes: end - offset - bytes,
      reason: `nothing may be written behind ${what}`,
    });
    this.#used = end;
    return address;
  }

  /** The window, or nothing when no block was taken. */
  memory(): ProgramMemory[] {
    if (this.#used === 0) return [];
    return [{
      name: this.#name,
      base: this.base,
      bytes: roundUpToPage(this.#used),
      permissions: Permission.All,
      contents: this.#blocks,
    }];
  }

  /** What must hold its initial contents at the end. */
  get untouched(): readonly UntouchedRange[] {
    return this.#untouched;
  }
}

/** The bytes of any view. */
export function bytesOfView(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
