/** Address registers of image instructions (AMD RDNA2 ISA, section 8.2.4): their order, packing and meaning. */
import { Flag, type Instruction } from "../../../rdna/instruction.ts";
import { IMAGE_DIMS } from "../../../rdna/image.ts";
import { OPCODES } from "../../../rdna/table.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { wideFloat } from "../formats/bits.ts";

/** The address of an image instruction: values of the components that it has, 0 for the others. */
export interface ImageAddress {
  /** U32: texel offset, packed: 6 signed bits each at bits 0, 8 and 16. */
  offset: number;
  /** U32 with f32 bits each. */
  bias: number;
  reference: number;
  /** Derivatives by x, then by y, up to three components each: U32 with f32 bits. */
  derivatives: number[][];
  /** U32: f32 bits for samples, integers for loads, stores and atomics. */
  coordinates: number[];
  /** LOD (f32 bits) or mip level (an integer). */
  lod: number;
  /** U32 with f32 bits. */
  lodClamp: number;
}

/** Reads the components of an instruction, one register after the other. */
export function imageAddress(l: Lifter, i: Instruction, isFloat: boolean): ImageAddress {
  const { words } = OPCODES[i.op];
  const reader = new Reader(l, i);
  const a16 = (i.flags & Flag.A16) !== 0;
  const address: ImageAddress = {
    offset: 0,
    bias: 0,
    reference: 0,
    derivatives: [],
    coordinates: [],
    lod: 0,
    lodClamp: 0,
  };
  if (words.has("o")) address.offset = reader.register();
  if (words.has("b")) {
    const bits = reader.register();
    address.bias = a16 ? wideFloat(l, l.ir.emit(Op.And, bits, l.u(0xffff))) : bits;
  }
  if (words.has("c")) address.reference = reader.register();
  if (words.has("d") || words.has("cd")) {
    const packed = words.has("g16");
    for (let axis = 0; axis < 2; axis++) {
      // Each axis starts in a register of its own.
      reader.align();
      const count = IMAGE_DIMS[i.dim].derivative;
      address.derivatives.push(Array.from({ length: count }, () => reader.component(packed, true)));
    }
  }
  reader.align();
  const { coordinates } = IMAGE_DIMS[i.dim];
  for (let c = 0; c < coordinates; c++) address.coordinates.push(reader.component(a16, isFloat));
  if (words.has("cl")) address.lodClamp = reader.component(a16, true);
  if (words.has("l")) address.lod = reader.component(a16, true);
  if (words.has("mip")) address.lod = reader.component(a16, false);
  return address;
}

class Reader {
  private next = 0;
  /** Halves of the current register that were used. */
  private half = 0;
  private packed = 0;

  constructor(private readonly l: Lifter, private readonly i: Instruction) {}

  register(): number {
    const { l, i } = this;
    const k = this.next++;
    const operand = i.nsa === null ? i.addr + k : k === 0 ? i.addr : i.nsa[k - 1];
    return l.asU(l.source(operand));
  }

  align(): void {
    this.half = 0;
  }

  /** A 32-bit component, or the next half of a register: as f32 bits, or an unsigned integer. */
  component(narrow: boolean, isFloat: boolean): number {
    if (!narrow) return this.register();
    const { l } = this;
    if (this.half === 0) this.packed = this.register();
    const bits = l.ir.emit(Op.UBfe, this.packed, l.u(this.half * 16), l.u(16));
    this.half ^= 1;
    return isFloat ? wideFloat(l, bits) : bits;
  }
}
