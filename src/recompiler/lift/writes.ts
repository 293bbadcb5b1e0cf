/** Which register slots an instruction may change: what loops need to know before their body is lifted. Derived from the opcode table. */
import { imageDataDwords } from "../../rdna/image.ts";
import { Encoding, Flag, type Instruction, Operand } from "../../rdna/instruction.ts";
import { OPCODES, Trait } from "../../rdna/table.ts";
import { SGPR_COUNT, Slot } from "./slots.ts";
import { exportIndex } from "./stages/exports.ts";

const DST_DWORDS = Uint8Array.from(OPCODES, (o) => o.dst.find((type) => type.kind !== "mask")?.dwords ?? 0);
const TRAITS = Int32Array.from(OPCODES, (o) => o.traits);
/** Destinations are relative to M0. */
const INDIRECT_DST = Uint8Array.from(OPCODES, ({ name }) => /_(movreld|movrelsd|swaprel)/.test(name) ? 1 : 0);
const SETREG = Uint8Array.from(OPCODES, ({ name }) => name.startsWith("s_setreg_") ? 1 : 0);
/** Numbers of the hardware registers FLAT_SCRATCH_LO and HI. */
const FLAT_SCRATCH_IDS = [20, 21];

/** Marks in `slots` (one byte each) what `instruction` may write. Too much is allowed, too little is not. */
export function markWrites(instruction: Instruction, wave64: boolean, slots: Uint8Array): void {
  const traits = TRAITS[instruction.op];
  if (traits & Trait.WritesScc) slots[Slot.Scc] = 1;
  if (traits & Trait.WritesExec) {
    markScalar(Operand.Exec, slots);
    if (wave64) markScalar(Operand.ExecHi, slots);
  }
  if (instruction.sdst >= 0) {
    markScalar(instruction.sdst, slots);
    if (wave64) markScalar(instruction.sdst + 1, slots);
  }
  if (instruction.dst >= 0) markRange(instruction.dst, destinationDwords(instruction), slots);
  if (traits & Trait.Swap) markRange(instruction.src0, 1, slots);
  if (SETREG[instruction.op] === 1 && FLAT_SCRATCH_IDS.includes(instruction.imm & 63)) {
    slots[Slot.FlatScratch] = slots[Slot.FlatScratch + 1] = 1;
  }
  if (instruction.encoding === Encoding.Exp) markExport(instruction, slots);
  if (INDIRECT_DST[instruction.op] === 1) markIndirect(instruction, (traits & Trait.Swap) !== 0, slots);
}

function markExport({ dim }: Instruction, slots: Uint8Array): void {
  slots[Slot.Valid] = slots[Slot.Done] = 1;
  const index = exportIndex(dim);
  if (index < 0 || index >= Slot.Valid - Slot.Exported0) return;
  slots[Slot.Exported0 + index] = 1;
  for (let k = 0; k < 4; k++) slots[Slot.Export0 + index * 4 + k] = 1;
}

/** An instruction that addresses registers through M0 may write any register from the one that it names on. */
function markIndirect(instruction: Instruction, swaps: boolean, slots: Uint8Array): void {
  const first = swaps ? Math.min(instruction.dst, instruction.src0) : instruction.dst;
  const end = first >= Slot.Vgpr0 ? Slot.Vgpr0 + 256 : SGPR_COUNT;
  markRange(first, end - first, slots);
}

/** Registers that the first destination covers. */
function destinationDwords(instruction: Instruction): number {
  if (instruction.encoding === Encoding.Mimg) return imageDataDwords(instruction);
  return DST_DWORDS[instruction.op] + (instruction.flags & Flag.Tfe ? 1 : 0);
}

function markRange(first: number, count: number, slots: Uint8Array): void {
  for (let i = 0; i < count; i++) {
    if (first + i >= Slot.Vgpr0) slots[first + i] = 1;
    else markScalar(first + i, slots);
  }
}

function markScalar(register: number, slots: Uint8Array): void {
  if (register >= 128 || register === Operand.Null) return;
  slots[register] = 1;
  slots[Slot.Shadow0 + register] = 1;
}
