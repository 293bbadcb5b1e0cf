/**
 * Hardware registers (AMD RDNA2 ISA, sections 3.1 and 12.2). Contents that are known here: FLAT_SCRATCH, SH_MEM_BASES, and of MODE FP_ROUND 3:0 and
 * FP_DENORM 7:4 from RSRC1.FLOAT_MODE, DX10_CLAMP 8, IEEE 9. Float operations are recompiled for these, so a program may write only what is there already.
 */
import { SH_MEM_BASES } from "../../rdna/apertures.ts";
import { HARDWARE_REGISTERS } from "../../rdna/hardware_registers.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { refuse } from "./refusal.ts";
import { Slot } from "./slots.ts";

const MODE = 1, SH_MEM_BASES_ID = 15, FLAT_SCRATCH_LOW = 20, FLAT_SCRATCH_HIGH = 21;
/** Bits of MODE that are known. */
const KNOWN_MODE = 0x3ff;

/** Adds the handlers of this class. */
export function defineHardwareRegisters(define: Define): void {
  define("s_getreg_b32", (l, i) => {
    const { id, offset, mask } = field(i);
    if (id === FLAT_SCRATCH_LOW || id === FLAT_SCRATCH_HIGH) {
      const word = l.asU(l.state.values[Slot.FlatScratch + id - FLAT_SCRATCH_LOW]);
      return l.setScalar(i.dst, l.ir.emit(Op.And, l.ir.emit(Op.Shr, word, l.u(offset)), l.u(mask)));
    }
    if (id === SH_MEM_BASES_ID) return l.setScalar(i.dst, l.u((SH_MEM_BASES >>> offset) & mask));
    if (id !== MODE) refuse(`the hardware register ${nameOf(id)} is read, whose contents are not known`);
    l.setScalar(i.dst, l.u((modeBits(l, offset, mask) >>> offset) & mask));
  });
  define("s_setreg_b32", (l, i) => setRegister(l, i, l.scalar(i.src0)));
  define("s_setreg_imm32_b32", (l, i) => setRegister(l, i, l.u(i.literal)));
  define("s_round_mode", (l, i) => requireMode(l, 0, 15, i.imm & 15));
  define("s_denorm_mode", (l, i) => requireMode(l, 4, 15, i.imm & 15));
}

/** Which bits of which register the immediate means. */
function field(i: Instruction): { id: number; offset: number; mask: number } {
  const size = ((i.imm >> 11) & 31) + 1;
  return { id: i.imm & 63, offset: (i.imm >> 6) & 31, mask: size === 32 ? -1 : (1 << size) - 1 };
}

function nameOf(id: number): string {
  return HARDWARE_REGISTERS[id] ?? `number ${id}`;
}

function setRegister(l: Lifter, i: Instruction, value: number): void {
  const { id, offset, mask } = field(i);
  if (id === FLAT_SCRATCH_LOW || id === FLAT_SCRATCH_HIGH) {
    return setFlatScratch(l, id - FLAT_SCRATCH_LOW, value, offset, mask);
  }
  if (id !== MODE) refuse(`the hardware register ${nameOf(id)} is written`);
  if (l.ir.op[value] !== Op.Const) refuse("MODE is set to a value that is not known when the program is recompiled");
  requireMode(l, offset, mask, l.ir.a[value] & mask);
}

function setFlatScratch(l: Lifter, word: number, value: number, offset: number, mask: number): void {
  const slot = Slot.FlatScratch + word;
  const keep = ~(mask << offset);
  const placed = l.ir.emit(Op.And, l.ir.emit(Op.Shl, value, l.u(offset)), l.u(~keep));
  l.state.set(
    slot,
    keep === 0 ? value : l.ir.emit(Op.Or, l.ir.emit(Op.And, l.asU(l.state.values[slot]), l.u(keep)), placed),
  );
}

/** MODE as it is when the program starts, and stays. */
function modeBits(l: Lifter, offset: number, mask: number): number {
  if (((mask << offset) & ~KNOWN_MODE) !== 0) refuse("bits of MODE beyond the float modes, DX10_CLAMP and IEEE");
  const { floatMode, dx10Clamp, ieee } = l.request;
  return (floatMode & 0xff) | (dx10Clamp ? 0x100 : 0) | (ieee ? 0x200 : 0);
}

function requireMode(l: Lifter, offset: number, mask: number, value: number): void {
  const now = (modeBits(l, offset, mask) >>> offset) & mask;
  if (value !== now) {
    refuse(`MODE is changed (bits from ${offset} on: from 0x${now.toString(16)} to 0x${(value >>> 0).toString(16)})`);
  }
}
