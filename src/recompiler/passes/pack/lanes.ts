import type { Ir } from "../../ir/ir.ts";
import { Op, type Type } from "../../ir/ops.ts";
import { LaneBits } from "./known_bits.ts";
import type { PackShape } from "./shape.ts";

/**
 * Exchanges between the lanes of a wave, as operations of the packed program: there `Any`, `BallotLo`, `BallotHi`, `ReadLane` and `Shuffle` mean those of the
 * host subgroup, lane numbers are below its width, and every invocation has a value for each of its slots.
 */
export class PackedLanes {
  readonly #bits: LaneBits;
  readonly #shift: number;

  constructor(private readonly ir: Ir, private readonly shape: PackShape, private readonly waveSize: number) {
    this.#bits = new LaneBits(ir, shape);
    this.#shift = Math.log2(shape.width);
  }

  /** Whether a Bool is true in any lane. @param values by slot */
  any(values: readonly number[]): number {
    return this.ir.emit(Op.Any, this.some(values));
  }

  /** Whether a Bool is true in any slot. @param values by slot */
  some(values: readonly number[]): number {
    return values.reduce((all, value) => this.ir.emit(Op.LOr, all, value));
  }

  /** Bits of lanes 0..31 (half 0) or 32..63 (half 1). */
  ballot(values: readonly number[], half: 0 | 1): number {
    const { ir, shape: { width } } = this;
    if (half === 1 && this.waveSize === 32) return ir.constU(0);
    if (width === 64) return ir.emit(half === 0 ? Op.BallotLo : Op.BallotHi, values[0]);
    const perHalf = 32 / width;
    let word = 0;
    for (let k = 0; k < perHalf; k++) {
      let bits = ir.emit(Op.BallotLo, values[half * perHalf + k]);
      if (k > 0) bits = ir.emit(Op.Shl, bits, ir.constU(k * width));
      word = k === 0 ? bits : ir.emit(Op.Or, word, bits);
    }
    return word;
  }

  /** The value in a lane whose number is the same for all lanes; only its low bits count. */
  read(values: readonly number[], lane: number): number {
    const { ir, shape: { width } } = this;
    if (ir.op[lane] === Op.Const) {
      const number = ir.a[lane] & (this.waveSize - 1);
      return ir.emit(Op.ReadLane, values[number >>> this.#shift], ir.constU(number & (width - 1)));
    }
    const slots = this.#bits.slots(lane), slot = this.#slotOf(lane);
    let value = values[slots[0]];
    for (const k of slots.slice(1)) value = this.#select(ir.emit(Op.IEq, slot, ir.constU(k)), values[k], value);
    return ir.emit(Op.ReadLane, value, this.#inSubgroup(lane));
  }

  /** The value in the lowest lane that is active, in lane 0 when there is none. */
  readFirst(values: readonly number[], active: readonly number[]): number {
    const { ir, shape: { width, slots } } = this;
    const zero = ir.constU(0);
    if (width === 64) {
      const low = ir.emit(Op.BallotLo, active[0]), high = ir.emit(Op.BallotHi, active[0]);
      const inHigh = ir.emit(Op.IAdd, ir.emit(Op.FindLsb, high), ir.constU(32));
      const lane = this.#select(
        ir.emit(Op.INe, low, zero),
        ir.emit(Op.FindLsb, low),
        this.#select(ir.emit(Op.INe, high, zero), inHigh, zero),
      );
      return ir.emit(Op.ReadLane, values[0], lane);
    }
    let value = values[0], bits = ir.constU(1);
    for (let k = slots - 1; k >= 0; k--) {
      const ballot = ir.emit(Op.BallotLo, active[k]), some = ir.emit(Op.INe, ballot, zero);
      value = this.#select(some, values[k], value);
      bits = this.#select(some, ballot, bits);
    }
    return ir.emit(Op.ReadLane, value, ir.emit(Op.FindLsb, bits));
  }

  /** The values of the lanes that each lane names. @param lanes by slot */
  shuffle(values: readonly number[], lanes: readonly number[]): number[] {
    const { ir } = this;
    return lanes.map((lane) => {
      const slots = this.#bits.slots(lane), slot = slots.length > 1 ? this.#slotOf(lane) : 0;
      const from = this.#inSubgroup(lane);
      let value = 0;
      for (const k of slots) {
        const own = ir.emit(Op.Shuffle, values[k], from);
        value = value === 0 ? own : this.#select(ir.emit(Op.IEq, slot, ir.constU(k)), own, value);
      }
      return value;
    });
  }

  /** Number of a lane in its subgroup. */
  #inSubgroup(lane: number): number {
    return this.ir.emit(Op.And, lane, this.ir.constU(this.shape.width - 1));
  }

  #slotOf(lane: number): number {
    const { ir, shape: { slots } } = this;
    return ir.emit(Op.And, ir.emit(Op.Shr, lane, ir.constU(this.#shift)), ir.constU(slots - 1));
  }

  #select(condition: number, yes: number, no: number): number {
    return this.ir.append(Op.Select, this.ir.type[yes] as Type, condition, yes, no);
  }
}
