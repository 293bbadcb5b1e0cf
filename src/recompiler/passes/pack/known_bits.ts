import type { Ir } from "../../ir/ir.ts";
import { InputKind, Op } from "../../ir/ops.ts";
import { type PackShape, slotOf } from "./shape.ts";

/** Bits of a U32 that are known: those of `mask`, with the values in `bits`. */
export interface KnownBits {
  readonly mask: number;
  readonly bits: number;
}

const NOTHING: KnownBits = { mask: 0, bits: 0 };
const DEPTH = 12;

/**
 * What is known of a lane number in the packed program before it runs: of the lane of slot k, its upper bits are k. Whoever makes a lane number of its
 * own by masks, shifts and exclusive ors, as DPP, swizzles and row permutations do, stays in a slot, or in one of a few.
 */
export class LaneBits {
  readonly #known = new Map<number, KnownBits>();

  constructor(private readonly ir: Ir, private readonly shape: PackShape) {}

  /** Known bits of a value. */
  of(value: number, depth = 0): KnownBits {
    const before = this.#known.get(value);
    if (before !== undefined) return before;
    if (depth > DEPTH) return NOTHING;
    const result = this.#find(value, depth + 1);
    this.#known.set(value, result);
    return result;
  }

  /** Slots that a lane number may be in, ascending. */
  slots(lane: number): number[] {
    const { width, slots } = this.shape, { mask, bits } = this.of(lane);
    const shift = Math.log2(width), list: number[] = [];
    for (let k = 0; k < slots; k++) {
      if (((k << shift ^ bits) & mask & (slots - 1) << shift) === 0) list.push(k);
    }
    return list;
  }

  #find(value: number, depth: number): KnownBits {
    const { ir } = this;
    const a = ir.a[value], b = ir.b[value];
    const left = () => this.of(a, depth), right = () => this.of(b, depth);
    switch (ir.op[value]) {
      case Op.Const:
        return { mask: -1, bits: a };
      case Op.Input:
        return a === InputKind.LaneId ? { mask: -this.shape.width, bits: slotOf(b) * this.shape.width } : NOTHING;
      case Op.And: {
        const x = left(), y = right();
        const ones = x.mask & x.bits & y.mask & y.bits, zeros = x.mask & ~x.bits | y.mask & ~y.bits;
        return { mask: ones | zeros, bits: ones };
      }
      case Op.Or: {
        const x = left(), y = right();
        const ones = x.mask & x.bits | y.mask & y.bits, zeros = x.mask & ~x.bits & y.mask & ~y.bits;
        return { mask: ones | zeros, bits: ones };
      }
      case Op.Xor: {
        const x = left(), y = right(), mask = x.mask & y.mask;
        return { mask, bits: (x.bits ^ y.bits) & mask };
      }
      case Op.Shl:
      case Op.Shr: {
        if (ir.op[b] !== Op.Const) return NOTHING;
        const { mask, bits } = left(), n = ir.a[b];
        if (ir.op[value] === Op.Shl) return { mask: mask << n | (1 << n) - 1, bits: bits << n };
        return { mask: ~(~mask >>> n), bits: (bits & mask) >>> n };
      }
      case Op.UBfe: {
        const c = ir.c[value];
        if (ir.op[c] !== Op.Const || ir.a[c] >= 32) return NOTHING;
        const field = (1 << ir.a[c]) - 1;
        if (ir.op[b] !== Op.Const) return { mask: ~field, bits: 0 };
        const { mask, bits } = left(), n = ir.a[b];
        return { mask: ~(field & ~mask >>> n), bits: (bits & mask) >>> n & field };
      }
      case Op.IAdd:
      case Op.ISub: {
        // Bits are known up to the first that is not.
        const x = left(), y = right(), unknown = ~(x.mask & y.mask);
        const low = (unknown & -unknown) - 1;
        const sum = ir.op[value] === Op.IAdd ? x.bits + y.bits : x.bits - y.bits;
        return unknown === 0 ? { mask: -1, bits: sum | 0 } : { mask: low, bits: sum & low };
      }
      case Op.Select: {
        const x = this.of(b, depth), y = this.of(ir.c[value], depth);
        const mask = x.mask & y.mask & ~(x.bits ^ y.bits);
        return { mask, bits: x.bits & mask };
      }
      default:
        return NOTHING;
    }
  }
}
