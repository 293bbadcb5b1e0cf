/** What the IR's f64, f16 and round-to-odd operations compute. F64 values are bigints, f16 halves of an unsigned number. */
import {
  add,
  bitsOf,
  DOUBLE,
  type Exact,
  exact,
  fma,
  type Format,
  HALF,
  isNanBits,
  multiply,
  numberOf,
  round,
  SINGLE,
} from "../exact_float.ts";

const one64 = (f: (a: number) => number) => ([a]: bigint[]) => bitsOf(f(numberOf(a, DOUBLE)), DOUBLE);
const toSingle = (bits: number) => exact(BigInt(bits), SINGLE);

function minMax64(a: bigint, b: bigint, max: boolean): bigint {
  if (isNanBits(a, DOUBLE)) return b;
  if (isNanBits(b, DOUBLE)) return a;
  const x = numberOf(a, DOUBLE), y = numberOf(b, DOUBLE);
  return bitsOf(max ? Math.max(x, y) : Math.min(x, y), DOUBLE);
}

function roundEven(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 52 || value === 0) return value;
  const down = Math.floor(value), distance = value - down;
  const result = distance < 0.5 || (distance === 0.5 && down % 2 === 0) ? down : down + 1;
  return result === 0 && value < 0 ? -0 : result;
}

function clamped(value: number, low: number, high: number): number {
  return Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), low), high) >>> 0;
}

/** What nobody may look at: the upper half of a result whose low half alone counts. */
const JUNK = 0xdead0000;

function halves(compute: (operands: bigint[]) => bigint, operands: number[], count: number): number {
  const half = (k: number) => Number(compute(operands.map((bits) => BigInt(bits >>> (k * 16) & 0xffff))));
  return (count === 2 ? half(0) | half(1) << 16 : half(0) | JUNK) >>> 0;
}

function sum(a: bigint, b: bigint, f: Format): bigint {
  return round(add(exact(a, f), exact(b, f)), f);
}

/** A number as an f32 one, rounded to odd: the nearest, or where that is even and not exact, its odd neighbour on the other side. */
function toOdd(value: Exact): number {
  const nearest = round(value, SINGLE);
  const back = exact(nearest, SINGLE);
  if (value.kind !== "finite") return Number(nearest);
  // The largest number is odd.
  if (back.kind !== "finite") return Number(nearest - 1n);
  const error = add(value, { ...back, negative: !back.negative, mantissa: -back.mantissa });
  if (error.mantissa === 0n || (nearest & 1n) === 1n) return Number(nearest);
  return Number(error.negative === value.negative ? nearest + 1n : nearest - 1n);
}

const signed = (bits: number) => bits | 0;

/** One function per operation name; operands in order, immediates as numbers. */
export const WIDE_OPERATIONS: Record<string, (operands: never[]) => number | bigint> = {
  FAddOdd: ([a, b]: number[]) => toOdd(add(toSingle(a), toSingle(b))),
  FFmaOdd: ([a, b, c]: number[]) => toOdd(add(multiply(toSingle(a), toSingle(b)), toSingle(c))),
  FFmaScaled: ([a, b, c, n]: number[]) => Number(fma(BigInt(a), BigInt(b), BigInt(c), SINGLE, signed(n))),
  HAdd: ([a, b, count]: number[]) => halves(([x, y]) => sum(x, y, HALF), [a, b], count),
  HMul: ([a, b, count]: number[]) =>
    halves(([x, y]) => round(multiply(exact(x, HALF), exact(y, HALF)), HALF), [a, b], count),
  HFma: ([a, b, c, count]: number[]) => halves(([x, y, z]) => fma(x, y, z, HALF), [a, b, c], count),
  DotParts: ([a, b, c, form]: number[]) => {
    const bits = form & 0xff;
    let sum = BigInt(c);
    for (let at = 0; at < 32; at += bits) {
      const [x, y] = [a, b].map((word) => {
        const part = BigInt(word >>> 0) >> BigInt(at);
        return form & 0x100 ? BigInt.asIntN(bits, part) : BigInt.asUintN(bits, part);
      });
      sum += x * y;
    }
    return Number(BigInt.asUintN(32, sum));
  },
  BitInsert: ([a, b, offset, count]: number[]) => {
    const mask = (2n ** BigInt(count) - 1n) << BigInt(offset);
    return Number((BigInt(a) & ~mask) | (BigInt(b) << BigInt(offset) & mask));
  },
  FAdd64: ([a, b]: bigint[]) => sum(a, b, DOUBLE),
  FMul64: ([a, b]: bigint[]) => round(multiply(exact(a, DOUBLE), exact(b, DOUBLE)), DOUBLE),
  FFma64: ([a, b, c]: bigint[]) => fma(a, b, c, DOUBLE),
  FFmaScaled64: ([a, b, c, n]: never[]) => fma(a, b, c, DOUBLE, signed(n)),
  FMin64: ([a, b]: bigint[]) => minMax64(a, b, false),
  FMax64: ([a, b]: bigint[]) => minMax64(a, b, true),
  FNeg64: ([a]: bigint[]) => a ^ 1n << 63n,
  FAbs64: ([a]: bigint[]) => a & ~(1n << 63n),
  FFloor64: one64(Math.floor),
  FCeil64: one64(Math.ceil),
  FTrunc64: one64(Math.trunc),
  FRndne64: one64(roundEven),
  FRcp64: one64((a) => 1 / a),
  FRsq64: one64((a) => 1 / Math.sqrt(a)),
  FSqrt64: one64(Math.sqrt),
  CvtF2D: ([a]: number[]) => round(toSingle(a), DOUBLE),
  CvtD2F: ([a]: bigint[]) => Number(round(exact(a, DOUBLE), SINGLE)),
  CvtU2D: ([a]: number[]) => bitsOf(a, DOUBLE),
  CvtS2D: ([a]: number[]) => bitsOf(signed(a), DOUBLE),
  CvtD2U: ([a]: bigint[]) => clamped(numberOf(a, DOUBLE), 0, 0xffffffff),
  CvtD2S: ([a]: bigint[]) => clamped(numberOf(a, DOUBLE), -0x80000000, 0x7fffffff),
};
