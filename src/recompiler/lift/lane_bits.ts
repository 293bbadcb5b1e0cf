/** Questions about lanes of the wave by their number: constant lane sets, the activity of another lane, values that inactive lanes offer. */
import { Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";

/** Whether this lane's bit is set in a constant set of lanes; the known Bools themselves where all lanes of the wave agree. */
export function inLaneSet(l: Lifter, lanes: bigint): number {
  const { ir } = l;
  const low = Number(lanes & 0xffffffffn) | 0, high = Number((lanes >> 32n) & 0xffffffffn) | 0;
  if (low === 0 && (high === 0 || !l.wave64)) return l.false;
  if (low === -1 && (high === -1 || !l.wave64)) return l.true;
  const word = !l.wave64 || low === high ? l.u(low) : l.select(inUpperHalf(l, l.lane), l.u(high), l.u(low));
  return bitOf(l, word, ir.emit(Op.And, l.lane, l.u(31)));
}

/** Whether lane number `lane` (a value; only bits below the wave's size count) is active. */
export function isActive(l: Lifter, lane: number): number {
  const known = l.exec();
  if (known === l.true || known === l.false || lane === l.lane) return known;
  const low = l.scalar(Operand.Exec);
  const isUpper = l.wave64 ? l.ir.emit(Op.INe, l.ir.emit(Op.And, lane, l.u(32)), l.u(0)) : l.false;
  return bitOf(l, l.select(isUpper, l.wave64 ? l.scalar(Operand.ExecHi) : 0, low), l.ir.emit(Op.And, lane, l.u(31)));
}

/** What other lanes see of a value of this lane where inactive lanes offer 0. */
export function zeroWhereInactive(l: Lifter, value: number): number {
  return l.select(l.exec(), value, l.u(0));
}

/** Value `value` has in lane `lane` (a value of this lane). */
export function shuffle(l: Lifter, value: number, lane: number): number {
  return lane === l.lane ? value : l.ir.emit(Op.Shuffle, value, lane);
}

/** The lane's own number modulo a power of two, or its group of that many lanes. */
export function lanePart(l: Lifter, mask: number): number {
  return l.ir.emit(Op.And, l.lane, l.u(mask));
}

/** Lane `within` (0..31) of this lane's half of 32. */
export function inOwnHalf(l: Lifter, within: number): number {
  return l.wave64 ? l.ir.emit(Op.Or, within, lanePart(l, 32)) : within;
}

function inUpperHalf(l: Lifter, lane: number): number {
  return l.ir.emit(Op.ULt, l.u(31), lane);
}

function bitOf(l: Lifter, word: number, bit: number): number {
  const { ir } = l;
  return ir.emit(Op.INe, ir.emit(Op.And, ir.emit(Op.Shr, word, bit), l.u(1)), l.u(0));
}
