import type { DisassemblyContext } from "./disassemble/context.ts";
import { imageOperands } from "./disassemble/image.ts";
import { bufferOperands, dsOperands, exportOperands, flatOperands } from "./disassemble/memory.ts";
import { scalarOperands, smemOperands, sopkOperands, soppOperands } from "./disassemble/scalar.ts";
import { interpOperands, packedOperands, vectorOperands, vectorSuffix } from "./disassemble/vector.ts";
import { Encoding, type Instruction } from "./instruction.ts";
import { type Opcode, OPCODES, Trait } from "./table.ts";

export type { DisassemblyContext } from "./disassemble/context.ts";

/**
 * Text of an instruction in LLVM's assembler syntax, for example "v_add_f32_e64 v5, |v1|, s2 clamp". Branch targets are written as LLVM
 * does without symbols: the 16-bit immediate, unsigned, in words from the next instruction. Differences from LLVM 19: s_version is a plain number,
 * image atomics with TFE show their real registers, and forms that LLVM lacks (VOPC with DPP) are written like their neighbours.
 */
export function disassemble(ins: Instruction, context: DisassemblyContext): string {
  const opcode = OPCODES[ins.op];
  const operands = operandText(ins, opcode, context);
  const name = opcode.name + suffix(ins, opcode);
  if (operands === "") return name;
  // Modifiers bring their own space; an opcode without operands may have modifiers only.
  return operands.startsWith(" ") ? name + operands : `${name} ${operands}`;
}

function suffix(ins: Instruction, opcode: Opcode): string {
  switch (ins.encoding) {
    case Encoding.Vop1:
    case Encoding.Vop2:
    case Encoding.Vopc:
    case Encoding.Vop3:
    case Encoding.Vintrp:
      return vectorSuffix(ins, opcode);
    default:
      return "";
  }
}

function operandText(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  switch (ins.encoding) {
    case Encoding.Sop1:
    case Encoding.Sop2:
    case Encoding.Sopc:
      return scalarOperands(ins, opcode, context);
    case Encoding.Sopk:
      return sopkOperands(ins, opcode, context);
    case Encoding.Sopp:
      return soppOperands(ins, opcode, context);
    case Encoding.Smem:
      return smemOperands(ins, opcode);
    case Encoding.Vop1:
    case Encoding.Vop2:
    case Encoding.Vopc:
      return vectorOperands(ins, opcode, context);
    case Encoding.Vop3:
      return opcode.traits & Trait.Interp ? interpOperands(ins, opcode, context) : vectorOperands(ins, opcode, context);
    case Encoding.Vop3p:
      return packedOperands(ins, opcode, context);
    case Encoding.Vintrp:
      return interpOperands(ins, opcode, context);
    case Encoding.Ds:
      return dsOperands(ins, opcode);
    case Encoding.Flat:
      return flatOperands(ins, opcode);
    case Encoding.Mubuf:
    case Encoding.Mtbuf:
      return bufferOperands(ins, opcode, context);
    case Encoding.Mimg:
      return imageOperands(ins, opcode);
    case Encoding.Exp:
      return exportOperands(ins);
  }
}
