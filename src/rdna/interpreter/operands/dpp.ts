/** DPP: source 0 of a vector instruction comes from another lane (AMD RDNA2 ISA, section 13, "DPP8" and "DPP16"). */
import { Extra, Flag, type Instruction } from "../../instruction.ts";
import type { Wave } from "../machine/wave.ts";

/** The lane that each lane of the current DPP instruction reads, or -1 for zero. */
export const DPP_LANE = new Int8Array(64);

const ROW_SHL = 0x100, ROW_SHR = 0x110, ROW_ROR = 0x120, ROW_SHARE = 0x150;
const ROW_MIRROR = 0x140, ROW_HALF_MIRROR = 0x141;

/** Lane in a row of 16 that lane `n` of it reads; outside 0..15 where there is none. */
function laneInRow(control: number, n: number): number {
  if (control < 0x100) return n & ~3 | control >>> (n & 3) * 2 & 3;
  const amount = control & 15;
  switch (control & 0x1f0) {
    case ROW_SHL:
      return n + amount;
    case ROW_SHR:
      return n - amount;
    case ROW_ROR:
      return n - amount & 15;
    case ROW_SHARE:
      return amount;
    case ROW_MIRROR:
      // Mirrors are alone in their group of codes.
      return control === ROW_MIRROR ? 15 - n : control === ROW_HALF_MIRROR ? n ^ 7 : -1;
    default: // row_xmask
      return n ^ amount;
  }
}

/**
 * Finds the source lane of every lane and takes the lanes out of the active ones that the instruction does not write: those that the row and bank masks
 * exclude, and with bound_ctrl off those whose source lane does not exist or is not in EXEC. With bound_ctrl on these read zero; with fetch-inactive a
 * lane outside EXEC is read like any other. DPP8 has no bound_ctrl: what it cannot read is zero (LLVM, "Syntax of AMDGPU Instruction Modifiers", fi).
 */
export function prepareDpp(w: Wave, i: Instruction): void {
  const fetchInactive = (i.flags & Flag.FetchInactive) !== 0;
  const isDpp8 = i.extra === Extra.Dpp8;
  const zeroes = isDpp8 || (i.flags & Flag.BoundCtrl) !== 0;
  const rowMask = i.masks >>> 4, bankMask = i.masks & 15;
  let lo = 0, hi = 0;
  for (let lane = 0; lane < w.size; lane++) {
    const row = lane & ~15;
    const n = isDpp8 ? lane & 8 | i.control >>> (lane & 7) * 3 & 7 : laneInRow(i.control, lane & 15);
    const readable = n >= 0 && n < 16 && (fetchInactive || w.isEnabled(row | n));
    DPP_LANE[lane] = readable ? row | n : -1;
    const written = (readable || zeroes) &&
      (isDpp8 || ((rowMask >>> (lane >>> 4) & 1) !== 0 && (bankMask >>> (lane >>> 2 & 3) & 1) !== 0));
    if (!written) continue;
    if (lane < 32) lo |= 1 << lane;
    else hi |= 1 << (lane - 32);
  }
  w.activeLo &= lo;
  w.activeHi &= hi;
}
