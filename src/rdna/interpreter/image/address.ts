/** Address registers of image instructions (AMD RDNA2 ISA, section 8.2.4): their order, packing and meaning. */
import { Flag, type Instruction } from "../../instruction.ts";
import { IMAGE_DIMS } from "../../image.ts";
import { OPCODES } from "../../table.ts";
import { f16Value, f32Value } from "../float/bits.ts";
import { vectorRow } from "../memory/transfer.ts";
import type { Wave } from "../machine/wave.ts";

/** Dimensions, by the DIM field. */
export const Dim = { D1: 0, D2: 1, D3: 2, Cube: 3, D1Array: 4, D2Array: 5, D2Msaa: 6, D2MsaaArray: 7 } as const;

/** The address of one lane. Registers are read one after the other, in the order of the components. */
export class ImageAddress {
  /** Texel offset, packed: 6 signed bits each at bits 0, 8 and 16. */
  offset = 0;
  bias = 0;
  /** Reference of a depth comparison. */
  reference = 0;
  /** Derivatives by x, then by y: up to three components each. */
  readonly derivatives = new Float64Array(6);
  /** Coordinates: floats for samples, integers (signed 32-bit) for loads, stores and atomics. */
  readonly coordinates = new Float64Array(4);
  /** LOD (or mip level), or LOD clamp, whichever the opcode has. */
  lod = 0;
  lodClamp = 0;
  #next = 0;

  /** Reads the address of a lane. */
  read(w: Wave, i: Instruction, lane: number, isFloat: boolean): void {
    const { words } = OPCODES[i.op];
    this.#next = 0;
    const a16 = (i.flags & Flag.A16) !== 0;
    if (words.has("o")) this.offset = this.#register(w, i, lane);
    if (words.has("b")) {
      const bits = this.#register(w, i, lane);
      this.bias = a16 ? f16Value(bits & 0xffff) : f32Value(bits);
    }
    if (words.has("c")) this.reference = f32Value(this.#register(w, i, lane));
    if (words.has("d") || words.has("cd")) this.#readDerivatives(w, i, lane, words.has("g16"));
    const { coordinates } = IMAGE_DIMS[i.dim];
    this.#half = 0;
    for (let c = 0; c < coordinates; c++) this.coordinates[c] = this.#component(w, i, lane, a16, isFloat);
    if (words.has("cl")) this.lodClamp = this.#component(w, i, lane, a16, true);
    if (words.has("l")) this.lod = this.#component(w, i, lane, a16, true);
    if (words.has("mip")) this.lod = this.#component(w, i, lane, a16, false);
  }

  /** Halves of the current register that were used. */
  #half = 0;
  #packed = 0;

  #register(w: Wave, i: Instruction, lane: number): number {
    const k = this.#next++;
    const operand = i.nsa === null ? i.addr + k : k === 0 ? i.addr : i.nsa[k - 1];
    return w.vgpr[vectorRow(operand) + lane];
  }

  /** A 32-bit component, or with A16 the next half of a register. */
  #component(w: Wave, i: Instruction, lane: number, a16: boolean, isFloat: boolean): number {
    if (!a16) {
      const bits = this.#register(w, i, lane);
      return isFloat ? f32Value(bits) : bits;
    }
    const bits = this.#nextHalf(w, i, lane);
    // 16-bit integer coordinates are unsigned.
    return isFloat ? f16Value(bits) : bits;
  }

  #nextHalf(w: Wave, i: Instruction, lane: number): number {
    if (this.#half === 0) this.#packed = this.#register(w, i, lane);
    const bits = this.#packed >>> this.#half * 16 & 0xffff;
    this.#half ^= 1;
    return bits;
  }

  #readDerivatives(w: Wave, i: Instruction, lane: number, packed: boolean): void {
    const components = IMAGE_DIMS[i.dim].derivative;
    for (let axis = 0; axis < 2; axis++) {
      // Each axis starts in a register of its own.
      this.#half = 0;
      for (let c = 0; c < components; c++) {
        this.derivatives[axis * 3 + c] = packed
          ? f16Value(this.#nextHalf(w, i, lane))
          : f32Value(this.#register(w, i, lane));
      }
    }
  }
}

/** A texel offset's component: 6 signed bits. */
export function texelOffset(packed: number, axis: number): number {
  return packed << 26 - axis * 8 >> 26;
}
