/**
 * DPP: source 0 of a vector instruction comes from another lane of the same group of 8 or 16 (AMD RDNA2 ISA, sections "DPP16" and "DPP8").
 *
 * | BOUND_CTRL | FI | source lane outside of its row | source lane inactive | else |
 * |---|---|---|---|---|
 * | 0 | 0 | the lane is not written | the lane is not written | normal |
 * | 0 | 1 | the lane is not written | normal | normal |
 * | 1 | 0 | source is 0 | source is 0 | normal |
 * | 1 | 1 | source is 0 | normal | normal |
 *
 * (The table: AMD RDNA3 ISA, section 7.7, which spells out what the RDNA2 document says of BC and FI.) Row and bank masks take lanes out of the
 * destination only. DPP8 has FI alone and reads 0 from inactive lanes. Comparisons give 0 for lanes that are not written.
 */
import { Extra, Flag, type Instruction } from "../../rdna/instruction.ts";
import type { Opcode } from "../../rdna/table.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Handler } from "./dispatch.ts";
import { inLaneSet, isActive, lanePart, shuffle, zeroWhereInactive } from "./lane_bits.ts";
import { refuse } from "./refusal.ts";

/** Source 0 of a DPP instruction, and the lanes that it may write (a Bool). */
interface DppOperand {
  readonly value: number;
  readonly enabled: number;
}

/** Lets a handler of a vector instruction have its first source from other lanes: `l.dpp` is what `rawSource` gives for source 0. */
export function withDpp(opcode: Opcode, handler: Handler): Handler {
  if (!opcode.dpp) return handler;
  // A carry-out of lanes that are not written: what becomes of its bits is not documented.
  const hasCarry = opcode.dst.length === 2;
  return (l, i) => {
    if (i.extra !== Extra.Dpp16 && i.extra !== Extra.Dpp8) return handler(l, i);
    const { value, enabled } = i.extra === Extra.Dpp16 ? dpp16(l, i) : dpp8(l, i);
    if (hasCarry && enabled !== l.true) {
      refuse("DPP that leaves lanes unwritten, with a carry-out: the carries of those lanes are not documented");
    }
    l.dpp = value;
    l.enabled = enabled;
    try {
      handler(l, i);
    } finally {
      l.dpp = 0;
      l.enabled = l.true;
    }
  };
}

function dpp8(l: Lifter, i: Instruction): DppOperand {
  const { ir } = l;
  const value = l.asU(l.source(i.src0));
  const offered = i.flags & Flag.FetchInactive ? value : zeroWhereInactive(l, value);
  const selects = Array.from({ length: 8 }, (_, k) => (i.control >> (3 * k)) & 7);
  return { value: shuffle(l, offered, groupLane(l, selects, 3, i.control & 0xffffff, ir)), enabled: l.true };
}

function dpp16(l: Lifter, i: Instruction): DppOperand {
  const fetchInactive = (i.flags & Flag.FetchInactive) !== 0;
  const zeroBound = (i.flags & Flag.BoundCtrl) !== 0;
  const value = l.asU(l.source(i.src0));
  const from = sourceLane(l, i.control);
  const inRow = inLaneSet(l, lanesWithSource(i.control));
  const written = inLaneSet(l, writtenLanes(i.masks));
  if (zeroBound) {
    const offered = fetchInactive ? value : zeroWhereInactive(l, value);
    return { value: l.select(inRow, shuffle(l, offered, from), l.u(0)), enabled: written };
  }
  const valid = fetchInactive ? inRow : l.and(inRow, isActive(l, from));
  return { value: shuffle(l, value, from), enabled: l.and(written, valid) };
}

/** First values of the runs of DPP16 controls with 16 members. */
const ROW_SHL = 0x100, ROW_SHR = 0x110, ROW_ROR = 0x120, ROW_SHARE = 0x150, ROW_XMASK = 0x160;
const ROW_MIRROR = 0x140, ROW_HALF_MIRROR = 0x141;

/** Number of the lane that this lane reads; anything in lanes that have no source. */
function sourceLane(l: Lifter, control: number): number {
  const { ir } = l;
  const n = control & 15;
  const inRow = (id: number) => ir.emit(Op.Or, lanePart(l, ~15), id);
  if (control < ROW_SHL) {
    const selects = [0, 1, 2, 3].map((k) => (control >> (2 * k)) & 3);
    return groupLane(l, selects, 2, control, ir);
  }
  if (control === ROW_MIRROR) return ir.emit(Op.Xor, l.lane, l.u(15));
  if (control === ROW_HALF_MIRROR) return ir.emit(Op.Xor, l.lane, l.u(7));
  switch (control & ~15) {
    case ROW_SHL:
      return ir.emit(Op.IAdd, l.lane, l.u(n));
    case ROW_SHR:
      return ir.emit(Op.IAdd, l.lane, l.u(-n));
    case ROW_ROR:
      return inRow(ir.emit(Op.And, ir.emit(Op.IAdd, l.lane, l.u(-n)), l.u(15)));
    case ROW_SHARE:
      return inRow(l.u(n));
    case ROW_XMASK:
      return n === 0 ? l.lane : ir.emit(Op.Xor, l.lane, l.u(n));
    default:
      return refuse(`DPP control 0x${control.toString(16)}`);
  }
}

/** Lane of a permutation within groups of 4 or 8; `packed` holds the selects, `bits` each. */
function groupLane(l: Lifter, selects: readonly number[], bits: number, packed: number, ir: Lifter["ir"]): number {
  const last = selects.length - 1;
  if (selects.every((select, k) => select === (k ^ selects[0]))) {
    return selects[0] === 0 ? l.lane : ir.emit(Op.Xor, l.lane, l.u(selects[0]));
  }
  const base = lanePart(l, ~last);
  if (selects.every((select) => select === selects[0])) return ir.emit(Op.Or, base, l.u(selects[0]));
  const at = ir.emit(Op.IMul, lanePart(l, last), l.u(bits));
  const select = ir.emit(Op.And, ir.emit(Op.Shr, l.u(packed), at), l.u(last));
  return ir.emit(Op.Or, base, select);
}

/** Lanes whose source lane lies in their row. */
function lanesWithSource(control: number): bigint {
  const n = control & 15;
  switch (control & ~15) {
    case ROW_SHL:
      return everyRow((k) => k + n <= 15);
    case ROW_SHR:
      return everyRow((k) => k >= n);
    default:
      return everyRow(() => true);
  }
}

function everyRow(test: (lane: number) => boolean): bigint {
  let lanes = 0n;
  for (let lane = 0; lane < 64; lane++) if (test(lane & 15)) lanes |= 1n << BigInt(lane);
  return lanes;
}

/** Lanes that row mask (bits 7:4, rows of 16 lanes) and bank mask (bits 3:0, banks of 4 lanes in each row) admit. */
function writtenLanes(masks: number): bigint {
  let lanes = 0n;
  for (let lane = 0; lane < 64; lane++) {
    if ((masks >> (4 + (lane >> 4))) & (masks >> ((lane >> 2) & 3)) & 1) lanes |= 1n << BigInt(lane);
  }
  return lanes;
}
