/**
 * Addresses of buffer instructions (AMD RDNA2 ISA, section 8.1.5 "Buffer addressing"; OOB_SELECT as in Mesa, ac_descriptors.c).
 *
 * address = base + SOFFSET + buffer offset; the buffer offset is index * STRIDE + offset, or interleaved with SWIZZLE_ENABLE; offset is the vector offset
 * plus the instruction's. SOFFSET is not range-checked (LLVM, llvm.amdgcn.raw.buffer.load). Each dword of a load or store is checked on its own; format
 * accesses and atomics are wholly in range or not at all.
 *
 * SWIZZLE_ENABLE matters only where there is an index: compilers (ACO) make descriptors of constant data whose upper base bits are all ones.
 */
import { Flag, type Instruction } from "../../instruction.ts";
import type { Wave } from "../machine/wave.ts";
import { scalar32 } from "../operands/scalar.ts";
import { BufferDescriptor, OutOfBounds } from "./descriptor.ts";
import { vectorRow } from "./transfer.ts";

/** The access of the current instruction; one object is reused. */
export class BufferAccess {
  readonly descriptor = new BufferDescriptor();
  #scalarOffset = 0;
  #hasIndex = false;
  #swizzled = false;
  #indexRow = -1;
  #offsetRow = -1;
  #immediate = 0;
  #index = 0;
  #offset = 0;

  /** Reads what is the same for all lanes. */
  begin(w: Wave, i: Instruction): this {
    const { descriptor } = this;
    descriptor.read(w, i.srsrc);
    this.#scalarOffset = scalar32(w, i, i.soffset) >>> 0;
    this.#hasIndex = (i.flags & Flag.Idxen) !== 0;
    this.#swizzled = descriptor.swizzle && (this.#hasIndex || descriptor.addTid);
    this.#indexRow = this.#hasIndex ? vectorRow(i.addr) : -1;
    this.#offsetRow = i.flags & Flag.Offen ? vectorRow(i.addr + (this.#hasIndex ? 1 : 0)) : -1;
    this.#immediate = i.imm;
    return this;
  }

  /** Goes to a lane. */
  lane(w: Wave, lane: number): void {
    const index = this.#indexRow < 0 ? 0 : w.vgpr[this.#indexRow + lane];
    this.#index = index + (this.descriptor.addTid ? lane : 0) >>> 0;
    this.#offset = (this.#offsetRow < 0 ? 0 : w.vgpr[this.#offsetRow + lane]) + this.#immediate >>> 0;
  }

  /** Bytes from the base to byte `at` of the lane's element: add to the descriptor's base. */
  delta(at: number): number {
    return this.#scalarOffset + this.#bufferOffset(at);
  }

  #bufferOffset(at: number): number {
    const offset = this.#offset + at >>> 0;
    const { stride, indexStride } = this.descriptor;
    if (!this.#swizzled) return this.#index * stride + offset;
    const group = Math.floor(this.#index / indexStride), inGroup = this.#index % indexStride;
    return (group * stride + offset - offset % 4) * indexStride + inGroup * 4 + offset % 4;
  }

  /** Whether consecutive dwords of an element lie side by side. */
  get isLinear(): boolean {
    return !this.#swizzled;
  }

  /** Whether the dword at byte `at` of the lane's element is in range. */
  inRange(at: number): boolean {
    const { outOfBounds, records, stride, addTid } = this.descriptor;
    const offset = this.#offset + at >>> 0;
    const indexed = this.#hasIndex || addTid;
    switch (outOfBounds) {
      case OutOfBounds.Structured:
        return (indexed ? this.#index < records : records !== 0) && offset < stride;
      case OutOfBounds.Index:
        return indexed ? this.#index < records : records !== 0;
      case OutOfBounds.Never:
        return records !== 0;
      default:
        return (this.#swizzled ? this.#bufferOffset(at) : offset) < records;
    }
  }

  /** Whether all dwords of an element of `bytes` bytes are in range. */
  isWhole(bytes: number): boolean {
    for (let at = 0; at < bytes; at += 4) if (!this.inRange(at)) return false;
    return true;
  }
}
