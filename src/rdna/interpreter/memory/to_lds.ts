import { type Instruction, Operand } from "../../instruction.ts";
import type { Wave } from "../machine/wave.ts";

/**
 * Byte address in LDS of the dword that a lane of a load-to-LDS instruction writes: M0[15:0], plus the instruction's offset, plus 4 bytes a lane (AMD RDNA2
 * ISA, section 8.1.10 "Memory buffer load to LDS").
 */
export function ldsDestination(w: Wave, i: Instruction, lane: number): number {
  return (w.sgpr[Operand.M0] & 0xffff) + i.imm + lane * 4;
}
