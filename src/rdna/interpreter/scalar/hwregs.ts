/** Hardware registers (AMD RDNA2 ISA, section 12.2 "S_GETREG_B32": numbers; section 3 "Kernel state"). */
import { HARDWARE_REGISTERS } from "../../hardware_registers.ts";
import type { Instruction } from "../../instruction.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";

const Register = { Mode: 1, ShMemBases: 15, FlatScratchLo: 20, FlatScratchHi: 21, ShaderCycles: 29 } as const;

/** Names for messages; number 4 is HW_ID on older GPUs. */
const NAMES: Readonly<Record<number, string>> = { ...HARDWARE_REGISTERS, 4: "HW_ID" };

function name(register: number): string {
  return NAMES[register] ?? `number ${register}`;
}

function read(w: Wave, i: Instruction, register: number): number {
  switch (register) {
    case Register.Mode:
      return w.mode.bits;
    case Register.FlatScratchLo:
    case Register.FlatScratchHi:
      return w.flatScratch[register - Register.FlatScratchLo];
    case Register.ShMemBases: {
      const { shared, private: scratch } = w.group.context.apertures;
      return shared & 0xffff0000 | scratch >>> 16;
    }
    case Register.ShaderCycles:
      return Number(w.group.context.clock() & 0xf_ffffn);
    default:
      return refuse(w, i, `reads the hardware register ${name(register)}`);
  }
}

function write(w: Wave, i: Instruction, register: number, value: number): void {
  switch (register) {
    case Register.Mode:
      w.mode.set(value);
      break;
    case Register.FlatScratchLo:
    case Register.FlatScratchHi:
      w.flatScratch[register - Register.FlatScratchLo] = value;
      break;
    default:
      refuse(w, i, `writes the hardware register ${name(register)}`);
  }
}

/** The field of a hardware register that a 16-bit immediate names: register 5:0, offset 10:6, size less one 15:11. */
export function readField(w: Wave, i: Instruction): number {
  const value = read(w, i, i.imm & 0x3f);
  return value >>> (i.imm >>> 6 & 31) & fieldMask(i.imm);
}

/** Writes such a field. */
export function writeField(w: Wave, i: Instruction, value: number): void {
  const register = i.imm & 0x3f, offset = i.imm >>> 6 & 31;
  const mask = fieldMask(i.imm) << offset;
  write(w, i, register, read(w, i, register) & ~mask | value << offset & mask);
}

function fieldMask(imm: number): number {
  const size = (imm >>> 11 & 31) + 1;
  return size === 32 ? -1 : (1 << size) - 1;
}
