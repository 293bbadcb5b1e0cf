/** Vector instructions that look at other lanes, at the lane's number, or at registers that M0 names (AMD RDNA2 ISA, sections 12.8 and 12.10). */
import { type Instruction, Operand } from "../../instruction.ts";
import type { Define, Handler } from "../handler.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { refuse } from "../machine/refuse.ts";
import { RESULT, write32 } from "../operands/results.ts";
import { scalar32, setScalar32 } from "../operands/scalar.ts";
import { beginVector, fetch32, NARROW } from "../operands/vector.ts";
import { bitCount } from "./int_ops.ts";

/** Adds the handlers of this class. */
export function defineLanes(define: Define): void {
  // No operands, nothing to compute.
  for (const name of ["v_nop", "v_pipeflush", "v_clrexcp"]) define(name, () => {});
  define("v_readlane_b32", (w, i) => {
    const lane = scalar32(w, i, i.src1) & w.size - 1;
    setScalar32(w, i, i.dst, readLane(w, i, lane));
  });
  define("v_readfirstlane_b32", (w, i) => setScalar32(w, i, i.dst, readLane(w, i, w.firstLane())));
  // EXEC does not matter.
  define("v_writelane_b32", (w, i) => {
    const lane = scalar32(w, i, i.src1) & w.size - 1;
    w.vgpr[(i.dst - Operand.Vgpr0) * LANES + lane] = scalar32(w, i, i.src0);
  });
  define("v_mbcnt_lo_u32_b32", maskedBitCount(0));
  define("v_mbcnt_hi_u32_b32", maskedBitCount(32));
  define("v_permlane16_b32", permuteRows(0));
  define("v_permlanex16_b32", permuteRows(16));
  define("v_swap_b32", (w, i) => swap(w, i, i.src0 - Operand.Vgpr0, i.dst - Operand.Vgpr0));
  define("v_swaprel_b32", (w, i) => swap(w, i, i.src0 - Operand.Vgpr0 + low10(w), i.dst - Operand.Vgpr0 + high10(w)));
  define("v_movrels_b32", (w, i) => move(w, i, m0(w), 0));
  define("v_movreld_b32", (w, i) => move(w, i, 0, m0(w)));
  define("v_movrelsd_b32", (w, i) => move(w, i, m0(w), m0(w)));
  define("v_movrelsd_2_b32", (w, i) => move(w, i, low10(w), high10(w)));
}

function readLane(w: Wave, i: Instruction, lane: number): number {
  if (i.src0 === Operand.LdsDirect) {
    fetch32(w, i, 0);
    return NARROW[0][lane];
  }
  return w.vgpr[(i.src0 - Operand.Vgpr0) * LANES + lane];
}

/** Set bits of source 0 below the lane's own number, plus source 1; the mask covers lanes from `first` on. */
function maskedBitCount(first: number): Handler {
  return (w, i) => {
    beginVector(w, i);
    fetch32(w, i, 0);
    fetch32(w, i, 1);
    const [a, b] = NARROW;
    for (let lane = 0; lane < w.size; lane++) {
      const below = lane - first;
      const mask = below <= 0 ? 0 : below >= 32 ? -1 : (1 << below) - 1;
      RESULT[lane] = bitCount(a[lane] & mask) + b[lane] | 0;
    }
    write32(w, i);
  };
}

/**
 * v_permlane16_b32 and v_permlanex16_b32: in each row of 16, any lane reads any lane of its own row, or of the neighbour row (`flip` 16). op_sel bit 0
 * lets it read lanes outside EXEC; otherwise such a lane gives zero with op_sel bit 1 (bound_ctrl), and leaves the destination alone without.
 */
function permuteRows(flip: number): Handler {
  return (w, i) => {
    w.activateExec();
    const lo = scalar32(w, i, i.src1), hi = scalar32(w, i, i.src2);
    const fetchInactive = (i.opSel & 1) !== 0, zeroes = (i.opSel & 2) !== 0;
    const { vgpr } = w;
    const from = (i.src0 - Operand.Vgpr0) * LANES, to = (i.dst - Operand.Vgpr0) * LANES;
    for (let lane = 0; lane < w.size; lane++) {
      const n = lane & 15;
      const select = (n < 8 ? lo : hi) >>> (n & 7) * 4 & 15;
      const source = (lane & ~15 ^ flip) + select;
      const readable = fetchInactive || w.isEnabled(source);
      RESULT[lane] = readable ? vgpr[from + source] : zeroes ? 0 : vgpr[to + lane];
    }
    for (let lane = 0; lane < w.size; lane++) if (w.isActive(lane)) vgpr[to + lane] = RESULT[lane];
  };
}

function m0(w: Wave): number {
  return w.sgpr[Operand.M0];
}

function low10(w: Wave): number {
  return m0(w) & 0x3ff;
}

function high10(w: Wave): number {
  return m0(w) >>> 16 & 0x3ff;
}

/** Row of a register that M0 may have moved. What lies outside the register file is not documented. */
function row(w: Wave, i: Instruction, register: number): number {
  register |= 0;
  if (register < 0 || register > 255) refuse(w, i, `M0 addresses the vector register ${register}`);
  return register * LANES;
}

function swap(w: Wave, i: Instruction, a: number, b: number): void {
  w.activateExec();
  const first = row(w, i, a), second = row(w, i, b);
  const { vgpr } = w;
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    const value = vgpr[first + lane];
    vgpr[first + lane] = vgpr[second + lane];
    vgpr[second + lane] = value;
  }
}

/** A move whose source or destination register is relative. */
function move(w: Wave, i: Instruction, sourceOffset: number, destinationOffset: number): void {
  // The operands' own numbers are put back: decoded instructions are shared.
  const { src0, dst } = i;
  if (src0 >= Operand.Vgpr0) i.src0 = Operand.Vgpr0 + row(w, i, src0 - Operand.Vgpr0 + sourceOffset) / LANES;
  i.dst = Operand.Vgpr0 + row(w, i, dst - Operand.Vgpr0 + destinationOffset) / LANES;
  beginVector(w, i);
  fetch32(w, i, 0);
  RESULT.set(NARROW[0]);
  write32(w, i);
  i.src0 = src0;
  i.dst = dst;
}
