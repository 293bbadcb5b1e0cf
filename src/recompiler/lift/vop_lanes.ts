/** Instructions that look at other lanes or at the lane's number (AMD RDNA2 ISA, sections 12.8 and 12.10). Permutes and DPP are not implemented. */
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { intSource, writeInt } from "./operands.ts";

/** Adds the handlers of this class. */
export function defineLanes(define: Define): void {
  const laneNumber = (l: Lifter, id: number) => l.ir.emit(Op.And, id, l.u(l.wave64 ? 63 : 31));
  define("v_readlane_b32", (l, i) => {
    const value = l.asU(l.source(i.src0));
    l.setScalar(i.dst, l.ir.emit(Op.ReadLane, value, laneNumber(l, l.scalar(i.src1))));
  });
  define("v_readfirstlane_b32", (l, i) => {
    l.setScalar(i.dst, l.ir.emit(Op.ReadFirstLane, l.asU(l.source(i.src0)), l.exec()));
  });
  // EXEC does not matter.
  define("v_writelane_b32", (l, i) => {
    const here = l.ir.emit(Op.IEq, l.lane, laneNumber(l, l.scalar(i.src1)));
    l.state.set(i.dst, l.select(here, l.scalar(i.src0), l.source(i.dst)));
  });
  // Set bits of S0 below this lane's own, plus S1; the masks cover lanes 0..31 and 32..63.
  define("v_mbcnt_lo_u32_b32", (l, i) => {
    const { ir } = l;
    const below = ir.emit(Op.ISub, ir.emit(Op.Shl, l.u(1), ir.emit(Op.And, l.lane, l.u(31))), l.u(1));
    const mask = l.wave64 ? l.select(ir.emit(Op.ULt, l.u(31), l.lane), l.u(-1), below) : below;
    writeInt(l, i, countBelow(l, intSource(l, i, 0), mask, intSource(l, i, 1)));
  });
  define("v_mbcnt_hi_u32_b32", (l, i) => {
    const { ir } = l;
    if (!l.wave64) return writeInt(l, i, intSource(l, i, 1));
    const below = ir.emit(Op.ISub, ir.emit(Op.Shl, l.u(1), ir.emit(Op.And, l.lane, l.u(31))), l.u(1));
    const mask = l.select(ir.emit(Op.ULt, l.u(31), l.lane), below, l.u(0));
    writeInt(l, i, countBelow(l, intSource(l, i, 0), mask, intSource(l, i, 1)));
  });
}

function countBelow(l: Lifter, bits: number, mask: number, addend: number): number {
  return l.ir.emit(Op.IAdd, l.ir.emit(Op.BitCount, l.ir.emit(Op.And, bits, mask)), addend);
}
