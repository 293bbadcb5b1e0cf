/**
 * DS instructions that move registers between lanes and touch no LDS (AMD RDNA2 ISA, section 12.12). Inactive lanes read as 0. All of them work
 * within 32 lanes: on gfx10 a wave of 64 runs them on its halves (LLVM, GCNSubtarget::supportsWaveWideBPermute).
 */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { inOwnHalf, lanePart, shuffle, zeroWhereInactive } from "./lane_bits.ts";

/** Adds the handlers of this class. */
export function defineLdsExchange(define: Define): void {
  define("ds_swizzle_b32", swizzle);
  define("ds_bpermute_b32", pull);
  define("ds_permute_b32", push);
}

/** Offsets from which on ds_swizzle_b32 rotates, and decomposes for a Fourier transform. */
const ROTATE = 0xc000, FFT = 0xe000, QUAD = 0x8000;

function swizzle(l: Lifter, i: Instruction): void {
  const value = l.asU(l.source(i.addr));
  l.setVector(i.dst, shuffle(l, zeroWhereInactive(l, value), swizzledLane(l, i.imm & 0xffff)));
}

/** The lane that this lane reads. */
function swizzledLane(l: Lifter, offset: number): number {
  const { ir } = l;
  const own = l.wave64 ? lanePart(l, 31) : l.lane;
  const mask = offset & 31;
  if (offset >= FFT) {
    // The lane's 5 bits reversed, shifted down by the number of bits in the mask, under which the lane keeps its own bits.
    const reversed = ir.emit(Op.Shr, ir.emit(Op.BitReverse, own), l.u(27));
    const shifted = ir.emit(Op.Shr, reversed, l.u(bitCount(mask)));
    return inOwnHalf(l, ir.emit(Op.Or, shifted, ir.emit(Op.And, own, l.u(mask))));
  }
  if (offset >= ROTATE) {
    const amount = (offset >> 5) & 31;
    const moved = ir.emit(Op.IAdd, own, l.u(offset & 0x400 ? -amount : amount));
    const kept = ir.emit(Op.And, own, l.u(mask));
    return inOwnHalf(l, ir.emit(Op.Or, kept, ir.emit(Op.And, moved, l.u(~mask & 31))));
  }
  if (offset >= QUAD) {
    const select = ir.emit(Op.Shr, l.u(offset & 0xff), ir.emit(Op.Shl, lanePart(l, 3), l.u(1)));
    return ir.emit(Op.Or, lanePart(l, ~3), ir.emit(Op.And, select, l.u(3)));
  }
  const or = (offset >> 5) & 31, xor = (offset >> 10) & 31;
  let lane = ir.emit(Op.And, own, l.u(mask));
  if (or !== 0) lane = ir.emit(Op.Or, lane, l.u(or));
  if (xor !== 0) lane = ir.emit(Op.Xor, lane, l.u(xor));
  return inOwnHalf(l, lane);
}

function bitCount(bits: number): number {
  let count = 0;
  for (; bits !== 0; bits &= bits - 1) count++;
  return count;
}

/** Lane number within 32 that the address register names, as a byte offset. */
function namedLane(l: Lifter, i: Instruction): number {
  const bytes = l.addConstant(l.asU(l.source(i.addr)), i.imm & 0xffff);
  return l.ir.emit(Op.UBfe, bytes, l.u(2), l.u(5));
}

/** ds_bpermute_b32: every lane says whose value it wants. */
function pull(l: Lifter, i: Instruction): void {
  const value = zeroWhereInactive(l, l.asU(l.source(i.data)));
  l.setVector(i.dst, shuffle(l, value, inOwnHalf(l, namedLane(l, i))));
}

/**
 * ds_permute_b32: every lane says who gets its value; of several the highest lane's value arrives, and lanes that get none read 0. Five ballots
 * tell each lane who has named it.
 */
function push(l: Lifter, i: Instruction): void {
  const { ir } = l;
  const active = l.exec();
  const target = namedLane(l, i);
  const own = l.wave64 ? lanePart(l, 31) : l.lane;
  let senders = ballotOfHalf(l, active);
  for (let bit = 0; bit < 5; bit++) {
    const test = (lane: number) => ir.emit(Op.INe, ir.emit(Op.And, ir.emit(Op.Shr, lane, l.u(bit)), l.u(1)), l.u(0));
    const named = ballotOfHalf(l, l.and(active, test(target)));
    // Lanes that agree with this lane's number in this bit.
    senders = ir.emit(Op.And, senders, ir.emit(Op.Xor, named, l.select(test(own), l.u(0), l.u(-1))));
  }
  const last = ir.emit(Op.FindUMsb, senders);
  const value = shuffle(l, l.asU(l.source(i.data)), inOwnHalf(l, ir.emit(Op.And, last, l.u(31))));
  l.setVector(i.dst, l.select(ir.emit(Op.IEq, senders, l.u(0)), l.u(0), value));
}

/** Ballot of this lane's half of the wave. */
function ballotOfHalf(l: Lifter, condition: number): number {
  const { ir } = l;
  const low = ir.emit(Op.BallotLo, condition);
  return l.wave64 ? l.select(ir.emit(Op.ULt, l.u(31), l.lane), ir.emit(Op.BallotHi, condition), low) : low;
}
