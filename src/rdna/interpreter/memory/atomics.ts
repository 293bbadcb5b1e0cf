/** What atomics do to a value in memory (AMD RDNA2 ISA, sections 12.6, 12.12, 12.13, 12.15), shared by all memory instruction classes. */
import { f32Value, f64Value } from "../float/bits.ts";

/** New value of a dword: old value, data, and for compare-and-swap the value it is compared with; all int32 patterns. */
export type Atomic32 = (old: number, data: number, compare: number) => number;
/** The same for 64 bits, unsigned. */
export type Atomic64 = (old: bigint, data: bigint, compare: bigint) => bigint;

const signed = (a: bigint) => BigInt.asIntN(64, a);
const wrap = (a: bigint) => BigInt.asUintN(64, a);

/** By operation: the names of buffer and flat instructions. */
export const ATOMICS32: Readonly<Record<string, Atomic32>> = {
  swap: (_old, data) => data,
  cmpswap: (old, data, compare) => old === compare ? data : old,
  add: (old, data) => old + data | 0,
  sub: (old, data) => old - data | 0,
  rsub: (old, data) => data - old | 0,
  csub: (old, data) => (old >>> 0) < (data >>> 0) ? 0 : old - data | 0,
  smin: (old, data) => Math.min(old, data),
  umin: (old, data) => (data >>> 0) < (old >>> 0) ? data : old,
  smax: (old, data) => Math.max(old, data),
  umax: (old, data) => (data >>> 0) > (old >>> 0) ? data : old,
  and: (old, data) => old & data,
  or: (old, data) => old | data,
  xor: (old, data) => old ^ data,
  inc: (old, data) => (old >>> 0) >= (data >>> 0) ? 0 : old + 1 | 0,
  dec: (old, data) => old === 0 || (old >>> 0) > (data >>> 0) ? data : old - 1 | 0,
  fcmpswap: (old, data, compare) => f32Value(old) === f32Value(compare) ? data : old,
  fmin: (old, data) => f32Value(data) < f32Value(old) ? data : old,
  fmax: (old, data) => f32Value(data) > f32Value(old) ? data : old,
};

/** The same for 64 bits. */
export const ATOMICS64: Readonly<Record<string, Atomic64>> = {
  swap: (_old, data) => data,
  cmpswap: (old, data, compare) => old === compare ? data : old,
  add: (old, data) => wrap(old + data),
  sub: (old, data) => wrap(old - data),
  rsub: (old, data) => wrap(data - old),
  smin: (old, data) => signed(data) < signed(old) ? data : old,
  umin: (old, data) => data < old ? data : old,
  smax: (old, data) => signed(data) > signed(old) ? data : old,
  umax: (old, data) => data > old ? data : old,
  and: (old, data) => old & data,
  or: (old, data) => old | data,
  xor: (old, data) => old ^ data,
  inc: (old, data) => old >= data ? 0n : old + 1n,
  dec: (old, data) => old === 0n || old > data ? data : old - 1n,
  fcmpswap: (old, data, compare) => f64Value(old) === f64Value(compare) ? data : old,
  fmin: (old, data) => f64Value(data) < f64Value(old) ? data : old,
  fmax: (old, data) => f64Value(data) > f64Value(old) ? data : old,
};

/** Operation of an opcode: "buffer_atomic_add_x2" is "add". */
export function atomicName(mnemonic: string): string {
  return mnemonic.replace(/^(s_buffer|s|buffer|flat|global|image)_atomic_/, "").replace(/_x2$/, "");
}
