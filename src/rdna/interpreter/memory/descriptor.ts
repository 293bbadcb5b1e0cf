/** The buffer descriptor, V# (AMD RDNA2 ISA, section 8.1.4 "Buffer resource"; field names of Mesa, ac_descriptors.c). */
import type { Wave } from "../machine/wave.ts";

/** OOB_SELECT: what counts as out of range. */
export const OutOfBounds = {
  /** index >= NUM_RECORDS or offset >= STRIDE. */
  Structured: 0,
  /** index >= NUM_RECORDS. */
  Index: 1,
  /** NUM_RECORDS is 0. */
  Never: 2,
  /** offset >= NUM_RECORDS. */
  Raw: 3,
} as const;

/** A decoded V#. One object is reused for all instructions. */
export class BufferDescriptor {
  /** Base address: 48 bits, sign-extended, as high and low word. */
  baseHi = 0;
  baseLo = 0;
  /** Bytes from record to record. */
  stride = 0;
  /** Records are interleaved. */
  swizzle = false;
  /** NUM_RECORDS. */
  records = 0;
  /** Selectors of the four components, 3 bits each. */
  dstSel = 0;
  /** Unified format. */
  format = 0;
  /** Lanes whose records are interleaved: 8, 16, 32 or 64. */
  indexStride = 8;
  /** The lane's number is added to the index. */
  addTid = false;
  /** One of {@linkcode OutOfBounds}. */
  outOfBounds = 0;

  /** Reads the descriptor from four scalar registers. */
  read(w: Wave, register: number): this {
    const { sgpr } = w;
    const word1 = sgpr[register + 1], word3 = sgpr[register + 3];
    this.baseLo = sgpr[register];
    this.baseHi = word1 << 16 >> 16;
    this.stride = word1 >>> 16 & 0x3fff;
    this.swizzle = word1 >>> 31 !== 0;
    this.records = sgpr[register + 2];
    this.dstSel = word3 & 0xfff;
    this.format = word3 >>> 12 & 0x7f;
    this.indexStride = 8 << (word3 >>> 21 & 3);
    this.addTid = (word3 >>> 23 & 1) !== 0;
    this.outOfBounds = word3 >>> 28 & 3;
    return this;
  }
}
