import type { Body } from "../body.ts";
import { Code, Glsl } from "../codes.ts";
import { T } from "../module.ts";
import { writeRaised } from "./f32_bits.ts";
import type { RuntimeFunctions } from "./functions.ts";

/** What the algorithm must know of a format. */
interface Format {
  readonly type: T;
  /** Bits of the fraction. */
  readonly fraction: number;
  /** Largest exponent field: infinity and NaN. */
  readonly top: number;
  readonly bias: number;
  /** 64-bit words that hold product and addend, least significant first; at least 2 * fraction + 5 bits. */
  readonly words: 1 | 2;
}

const F32: Format = { type: T.F32, fraction: 23, top: 255, bias: 127, words: 1 };
const F64: Format = { type: T.F64, fraction: 52, top: 2047, bias: 1023, words: 2 };

/** An unsigned integer of one or two 64-bit words, least significant first; ids of U64 values. */
type Wide = readonly number[];

/**
 * (a * b + c) * 2^k with one rounding to nearest even, denormals included, on integers: for devices whose Fma rounds twice, or not at all as
 * MODE asks. k is a signed U32 parameter of the scaled variant, else 0.
 *
 * Product and addend are brought to a common exponent in `words` * 64 bits. What a right shift drops is kept as a last bit ("sticky"), which
 * is enough: operands cancel by more than one place only when their exponents are so close that nothing was dropped.
 */
export function softFma(functions: RuntimeFunctions, wide: boolean, variant: Variant = "plain"): number {
  const format = wide ? F64 : F32;
  const parameters: T[] = [format.type, format.type, format.type];
  if (variant === "scaled") parameters.push(T.U32);
  return functions.get(
    `soft fma ${wide ? 64 : 32} ${variant}`,
    format.type,
    parameters,
    (body) => new SoftFma(body, format, variant, functions.denormals !== "kept").write(),
  );
}

/** `scaled`: the result is scaled by 2^k. `odd`: rounded to odd instead of to nearest even. */
type Variant = "plain" | "scaled" | "odd";

/** A number taken apart: mantissa with the implicit bit at `fraction` (0 for zero), exponent as its field would be without denormals. */
interface Parts {
  readonly bits: number;
  readonly mantissa: number;
  readonly exponent: number;
  readonly isZero: number;
  readonly isSpecial: number;
}

class SoftFma {
  /** @param losesDenormals f32 instructions take denormals for zeros */
  constructor(
    private readonly body: Body,
    private readonly format: Format,
    private readonly variant: Variant,
    private readonly losesDenormals: boolean,
  ) {}

  write(): void {
    const { body, format } = this;
    const { fraction, bias, words, type } = format;
    const [a, b, c] = body.parameters.slice(0, 3).map((value) => this.parts(value));
    const width = words * 64;
    // Bit width - 2 is the highest that product or addend can have.
    const productShift = width - 2 - (2 * fraction + 1), addendShift = width - 2 - fraction;
    const product = this.product(a.mantissa, b.mantissa, productShift);
    const addend = this.shiftLeft(this.extend(c.mantissa), addendShift);
    // Exponents of the lowest bits.
    const productUnit = this.sub(this.add(a.exponent, b.exponent), this.u(2 * (bias + fraction) + productShift));
    const addendUnit = this.sub(c.exponent, this.u(bias + fraction + addendShift));
    const productZero = this.or(a.isZero, b.isZero);
    // A zero never decides about the exponent.
    let distance = this.sub(productUnit, addendUnit);
    distance = this.selectU(productZero, this.u(-width), this.selectU(c.isZero, this.u(width), distance));
    const productLeads = this.op(Code.SLessThanEqual, T.Bool, this.u(0), distance);
    const unit = this.selectU(productLeads, productUnit, addendUnit);
    const magnitude = this.selectU(productLeads, distance, this.sub(this.u(0), distance));
    const amount = body.glsl(Glsl.UMin, T.U32, [magnitude, this.u(width - 1)]);
    const larger = this.selectWide(productLeads, product, addend);
    const smaller = this.shiftRightSticky(this.selectWide(productLeads, addend, product), amount);

    const productSign = this.isNegative(this.op(Code.BitwiseXor, T.U64, a.bits, b.bits));
    const addendSign = this.isNegative(c.bits);
    const differ = this.op(Code.LogicalNotEqual, T.Bool, productSign, addendSign);
    const difference = this.subtract(larger, smaller);
    const negative = this.op(Code.LogicalAnd, T.Bool, differ, this.isNegative(difference[words - 1]));
    const size = this.selectWide(
      differ,
      this.selectWide(negative, this.negate(difference), difference),
      this.addWide(larger, smaller),
    );
    const leadingSign = body.select(T.Bool, productLeads, productSign, addendSign);
    const sign = this.op(Code.LogicalNotEqual, T.Bool, leadingSign, negative);
    const finite = this.round(size, unit, sign);

    // NaN, infinities, and sums of zeros: float arithmetic is exact there. The product of finite numbers must not overflow on its way to infinity.
    const allZero = this.op(Code.LogicalAnd, T.Bool, productZero, c.isZero);
    const factorSpecial = this.or(a.isSpecial, b.isSpecial);
    const special = this.or(this.or(factorSpecial, c.isSpecial), allZero);
    // An infinity times a denormal is no NaN.
    const [x, y] = body.parameters.slice(0, 2).map((value) =>
      this.losesDenormals && type === T.F32 ? writeRaised(body, value) : value
    );
    const floatProduct = this.op(Code.FMul, type, x, y);
    const ignoreProduct = this.op(
      Code.LogicalAnd,
      T.Bool,
      c.isSpecial,
      body.op1(Code.LogicalNot, T.Bool, factorSpecial),
    );
    const term = body.select(type, ignoreProduct, body.parameters[2], floatProduct);
    const sum = this.op(Code.FAdd, type, term, body.parameters[2]);
    body.returnValue(body.select(type, special, sum, finite));
  }

  private parts(value: number): Parts {
    const { body, format: { type, fraction, top } } = this;
    const bits = type === T.F64
      ? body.op1(Code.Bitcast, T.U64, value)
      : body.op1(Code.UConvert, T.U64, body.op1(Code.Bitcast, T.U32, value));
    const high = type === T.F64
      ? body.op1(Code.UConvert, T.U32, this.shr(bits, 32))
      : body.op1(Code.Bitcast, T.U32, value);
    const field = body.op3(Code.BitFieldUExtract, T.U32, high, this.u(fraction % 32), this.u(type === T.F64 ? 11 : 8));
    const rest = this.op(Code.BitwiseAnd, T.U64, bits, this.u64(2 ** fraction - 1));
    const isSmall = this.op(Code.IEqual, T.Bool, field, this.u(0));
    const missing = this.sub(this.u(fraction), this.highestBit(rest));
    const normal = this.op(Code.BitwiseOr, T.U64, rest, this.u64(2 ** fraction));
    const mantissa = body.select(T.U64, isSmall, this.op(Code.ShiftLeftLogical, T.U64, rest, missing), normal);
    return {
      bits: type === T.F64 ? bits : this.op(Code.ShiftLeftLogical, T.U64, bits, this.u(32)),
      mantissa,
      exponent: this.selectU(isSmall, this.sub(this.u(1), missing), field),
      isZero: this.op(Code.IEqual, T.Bool, mantissa, this.u64(0)),
      isSpecial: this.op(Code.IEqual, T.Bool, field, this.u(top)),
    };
  }

  /** Number of the highest set bit of a U64; -1 for 0. */
  private highestBit(value: number): number {
    const { body } = this;
    const low = body.glsl1(Glsl.FindUMsb, T.U32, body.op1(Code.UConvert, T.U32, value));
    const high = body.op1(Code.UConvert, T.U32, this.shr(value, 32));
    const highBit = this.add(body.glsl1(Glsl.FindUMsb, T.U32, high), this.u(32));
    return this.selectU(this.op(Code.IEqual, T.Bool, high, this.u(0)), low, highBit);
  }

  /** Product of two mantissas, shifted left. */
  private product(a: number, b: number, shift: number): Wide {
    const { body, format: { words } } = this;
    const multiply = (x: number, y: number) => this.op(Code.IMul, T.U64, x, y);
    if (words === 1) return this.shiftLeft([multiply(a, b)], shift);
    const mask = this.u64(0xffffffff);
    const [aLow, bLow] = [a, b].map((x) => this.op(Code.BitwiseAnd, T.U64, x, mask));
    const [aHigh, bHigh] = [a, b].map((x) => this.shr(x, 32));
    const lowest = multiply(aLow, bLow);
    const cross = body.op2(Code.IAdd, T.U64, multiply(aLow, bHigh), multiply(aHigh, bLow));
    const middle = body.op2(Code.IAdd, T.U64, cross, this.shr(lowest, 32));
    const low = this.op(
      Code.BitwiseOr,
      T.U64,
      this.op(Code.BitwiseAnd, T.U64, lowest, mask),
      this.op(Code.ShiftLeftLogical, T.U64, middle, this.u(32)),
    );
    const high = body.op2(Code.IAdd, T.U64, multiply(aHigh, bHigh), this.shr(middle, 32));
    return this.shiftLeft([low, high], shift);
  }

  private extend(value: number): Wide {
    return this.format.words === 1 ? [value] : [value, this.u64(0)];
  }

  /** Shift by a constant that drops nothing. */
  private shiftLeft(value: Wide, amount: number): Wide {
    const left = (x: number, n: number) => this.op(Code.ShiftLeftLogical, T.U64, x, this.u(n));
    if (value.length === 1) return [left(value[0], amount)];
    if (amount >= 64) return [this.u64(0), left(value[0], amount - 64)];
    return [
      left(value[0], amount),
      this.op(Code.BitwiseOr, T.U64, left(value[1], amount), this.shr(value[0], 64 - amount)),
    ];
  }

  /** Shift by less than the width; dropped bits set the last one. */
  private shiftRightSticky(value: Wide, amount: number): Wide {
    if (value.length === 1) return [this.shiftWordSticky(value[0], amount)];
    const { body } = this;
    const zero = this.u64(0);
    const far = this.op(Code.ULessThan, T.Bool, this.u(63), amount);
    const near = this.op(Code.BitwiseAnd, T.U32, amount, this.u(63));
    const low = body.select(T.U64, far, value[1], value[0]), high = body.select(T.U64, far, zero, value[1]);
    const back = this.sub(this.u(63), near);
    // Two steps, since a shift by 64 is undefined.
    const carried = this.op(
      Code.ShiftLeftLogical,
      T.U64,
      this.op(Code.ShiftLeftLogical, T.U64, high, this.u(1)),
      back,
    );
    const shifted = this.op(Code.ShiftRightLogical, T.U64, low, near);
    const droppedWord = this.op(Code.LogicalAnd, T.Bool, far, this.notZero(value[0]));
    const dropped = this.or(droppedWord, this.differsShifted(shifted, near, low));
    const result = this.op(Code.BitwiseOr, T.U64, shifted, carried);
    return [this.withSticky(result, dropped), this.op(Code.ShiftRightLogical, T.U64, high, near)];
  }

  private shiftWordSticky(value: number, amount: number): number {
    const shifted = this.op(Code.ShiftRightLogical, T.U64, value, amount);
    return this.withSticky(shifted, this.differsShifted(shifted, amount, value));
  }

  /** Whether shifting right has dropped set bits of `original`. */
  private differsShifted(shifted: number, amount: number, original: number): number {
    return this.op(Code.INotEqual, T.Bool, this.op(Code.ShiftLeftLogical, T.U64, shifted, amount), original);
  }

  private withSticky(value: number, dropped: number): number {
    return this.op(Code.BitwiseOr, T.U64, value, this.body.select(T.U64, dropped, this.u64(1), this.u64(0)));
  }

  private addWide(a: Wide, b: Wide): Wide {
    const low = this.op(Code.IAdd, T.U64, a[0], b[0]);
    if (a.length === 1) return [low];
    const carry = this.op(Code.ULessThan, T.Bool, low, a[0]);
    return [low, this.op(Code.IAdd, T.U64, this.op(Code.IAdd, T.U64, a[1], b[1]), this.one(carry))];
  }

  private subtract(a: Wide, b: Wide): Wide {
    const low = this.op(Code.ISub, T.U64, a[0], b[0]);
    if (a.length === 1) return [low];
    const borrow = this.op(Code.ULessThan, T.Bool, a[0], b[0]);
    return [low, this.op(Code.ISub, T.U64, this.op(Code.ISub, T.U64, a[1], b[1]), this.one(borrow))];
  }

  private negate(value: Wide): Wide {
    return this.subtract(value.map(() => this.u64(0)), value);
  }

  /** Bits of size * 2^unit, rounded, as a float. */
  private round(size: Wide, unit: number, sign: number): number {
    const { body, format: { fraction, bias, top, words, type } } = this;
    const [normalized, leading] = this.normalize(size);
    let exponent = this.sub(this.add(unit, this.u(words * 64 - 1 + bias)), leading);
    if (this.variant === "scaled") exponent = this.add(exponent, body.parameters[3]);
    // A denormal result has fewer places.
    const below = body.glsl(Glsl.SMax, T.U32, [this.sub(this.u(1), exponent), this.u(0)]);
    const word = this.shiftWordSticky(normalized, body.glsl(Glsl.SMin, T.U32, [below, this.u(63)]));
    const clamped = body.glsl(Glsl.SMin, T.U32, [body.glsl(Glsl.SMax, T.U32, [exponent, this.u(1)]), this.u(top)]);
    const drop = 63 - fraction;
    const kept = this.shr(word, drop);
    const rest = this.op(Code.BitwiseAnd, T.U64, word, this.u64(2 ** drop - 1));
    const mantissa = this.variant === "odd"
      ? this.withSticky(kept, this.notZero(rest))
      : this.op(Code.IAdd, T.U64, kept, this.one(this.roundsUp(kept, rest, drop)));
    // The implicit bit adds one to the exponent field, and so does a carry out of the mantissa.
    const field = body.op1(Code.UConvert, T.U64, this.sub(clamped, this.u(1)));
    const placed = this.op(Code.ShiftLeftLogical, T.U64, field, this.u(fraction));
    const unsigned = this.op(Code.IAdd, T.U64, placed, mantissa);
    const infinity = this.u64(top * 2 ** fraction);
    // Rounding to odd never leaves the finite numbers, of which the largest is odd.
    const limit = this.variant === "odd" ? this.u64(top * 2 ** fraction - 1) : infinity;
    const bounded = body.select(T.U64, this.op(Code.ULessThan, T.Bool, unsigned, infinity), unsigned, limit);
    const isZero = body.op1(Code.LogicalNot, T.Bool, this.notZero(normalized));
    const size64 = body.select(T.U64, isZero, this.u64(0), bounded);
    // An exact zero from operands that cancel is positive.
    const signed = this.op(Code.LogicalAnd, T.Bool, sign, this.notZero(normalized));
    if (type === T.F64) {
      const signBit = body.select(T.U64, signed, this.body.module.constant64(T.U64, 0, 0x80000000), this.u64(0));
      return body.op1(Code.Bitcast, T.F64, this.op(Code.BitwiseOr, T.U64, size64, signBit));
    }
    const signBit = this.selectU(signed, this.u(0x80000000), this.u(0));
    return body.op1(
      Code.Bitcast,
      T.F32,
      this.op(Code.BitwiseOr, T.U32, body.op1(Code.UConvert, T.U32, size64), signBit),
    );
  }

  /** To nearest even: `rest` are the `drop` bits below the last place. */
  private roundsUp(kept: number, rest: number, drop: number): number {
    const odd = this.op(Code.BitwiseAnd, T.U64, kept, this.u64(1));
    return this.op(Code.ULessThan, T.Bool, this.u64(2 ** (drop - 1)), this.op(Code.BitwiseOr, T.U64, rest, odd));
  }

  /** The upper word after a shift that brings the highest set bit to the top, with a sticky last bit, and how far it was; 0 for 0. */
  private normalize(size: Wide): readonly [word: number, leading: number] {
    const { body } = this;
    let high = size[size.length - 1];
    let low = size.length === 2 ? size[0] : 0;
    let skipped = this.u(0);
    if (low !== 0) {
      const empty = this.op(Code.IEqual, T.Bool, high, this.u64(0));
      skipped = this.selectU(empty, this.u(64), skipped);
      const original = high;
      high = body.select(T.U64, empty, low, original);
      low = body.select(T.U64, empty, this.u64(0), low);
    }
    const zeros = body.glsl(Glsl.UMin, T.U32, [this.sub(this.u(63), this.highestBit(high)), this.u(63)]);
    let word = this.op(Code.ShiftLeftLogical, T.U64, high, zeros);
    if (low !== 0) {
      const carried = this.op(Code.ShiftRightLogical, T.U64, this.shr(low, 1), this.sub(this.u(63), zeros));
      word = this.op(Code.BitwiseOr, T.U64, word, carried);
      word = this.withSticky(word, this.notZero(this.op(Code.ShiftLeftLogical, T.U64, low, zeros)));
    }
    return [word, this.add(skipped, zeros)];
  }

  // --- shorthands ---

  private u(value: number): number {
    return this.body.module.u32(value);
  }

  private u64(value: number): number {
    return this.body.module.u64(value);
  }

  private op(opcode: number, type: T, a: number, b: number): number {
    return this.body.op2(opcode, type, a, b);
  }

  private add(a: number, b: number): number {
    return this.body.op2(Code.IAdd, T.U32, a, b);
  }

  private sub(a: number, b: number): number {
    return this.body.op2(Code.ISub, T.U32, a, b);
  }

  private shr(value: number, amount: number): number {
    return this.body.op2(Code.ShiftRightLogical, T.U64, value, this.u(amount));
  }

  private or(a: number, b: number): number {
    return this.body.op2(Code.LogicalOr, T.Bool, a, b);
  }

  private selectU(condition: number, yes: number, no: number): number {
    return this.body.select(T.U32, condition, yes, no);
  }

  private selectWide(condition: number, yes: Wide, no: Wide): Wide {
    return yes.map((word, i) => this.body.select(T.U64, condition, word, no[i]));
  }

  private one(condition: number): number {
    return this.body.select(T.U64, condition, this.u64(1), this.u64(0));
  }

  private notZero(value: number): number {
    return this.body.op2(Code.INotEqual, T.Bool, value, this.u64(0));
  }

  /** Whether the top bit of a U64 is set. */
  private isNegative(value: number): number {
    return this.body.op2(Code.SLessThan, T.Bool, value, this.u64(0));
  }
}
