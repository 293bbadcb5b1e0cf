import { Flag, type Instruction } from "../instruction.ts";
import type { Opcode } from "../table.ts";
import type { DisassemblyContext } from "./context.ts";
import { dependencyText, hardwareRegisterText, messageText, waitText } from "./control.ts";
import type { DataType } from "../types.ts";
import { type ConstantStyle, literalText, scalarText, sourceText } from "./operands.ts";

/** Operands of SOP1, SOP2 and SOPC. */
export function scalarOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const parts: string[] = [];
  if (opcode.dst.length > 0) parts.push(scalarText(ins.dst, opcode.dst[0].dwords));
  if (opcode.src.length > 0) {
    parts.push(sourceText(ins.src0, ins.literal, opcode.src[0], context, scalarStyle(opcode.src[0])));
  }
  if (opcode.src.length > 1) {
    parts.push(sourceText(ins.src1, ins.literal, opcode.src[1], context, scalarStyle(opcode.src[1])));
  }
  return parts.join(", ");
}

/** Scalar sources have 32 or 64 bits, even where only the low part counts. */
function scalarStyle(type: DataType): ConstantStyle {
  return type.dwords === 2 ? "64i" : "32";
}

/** An unsigned immediate: decimal where it has the value of an inline constant, else hexadecimal. */
function immediateText(value: number): string {
  return value <= 64 ? String(value) : hexText(value);
}

function hexText(value: number): string {
  return value < 0 ? "-0x" + (-value).toString(16) : "0x" + value.toString(16);
}

/** Operands of SOPK. */
export function sopkOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const imm = ins.imm & 0xffff;
  switch (opcode.name) {
    case "s_version":
      return immediateText(imm);
    case "s_getreg_b32":
      return `${scalarText(ins.dst, 1)}, ${hardwareRegisterText(imm, context)}`;
    case "s_setreg_b32":
      return `${hardwareRegisterText(imm, context)}, ${scalarText(ins.src0, 1)}`;
    case "s_setreg_imm32_b32":
      return `${hardwareRegisterText(imm, context)}, ${literalText(ins.literal, "32")}`;
  }
  const register = opcode.dst.length > 0 ? scalarText(ins.dst, opcode.dst[0].dwords) : scalarText(ins.src0, 1);
  return `${register}, ${opcode.words.has("branch") ? imm : hexText(imm)}`;
}

/** SOPP opcodes whose immediate is written in hexadecimal even when it is small. */
const HEX_IMMEDIATE = new Set(["s_inst_prefetch", "s_clause", "s_round_mode", "s_ttracedata_imm"]);

/** Operands of SOPP. */
export function soppOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const imm = ins.imm & 0xffff;
  switch (opcode.name) {
    case "s_waitcnt":
      return waitText(imm);
    case "s_waitcnt_depctr":
      return dependencyText(imm, context);
    case "s_sendmsg":
    case "s_sendmsghalt":
      return messageText(imm);
    case "s_endpgm":
      return imm === 0 ? "" : String(imm);
  }
  if (opcode.src.length === 0) return "";
  if (opcode.words.has("branch")) return String(imm);
  if (HEX_IMMEDIATE.has(opcode.name)) return hexText(imm);
  return immediateText(imm);
}

/** Operands of SMEM. */
export function smemOperands(ins: Instruction, opcode: Opcode): string {
  const parts: string[] = [];
  if (opcode.name.startsWith("s_atc_probe")) parts.push(immediateText(ins.mode));
  else if (opcode.src.length > 1) parts.push(scalarText(ins.data, opcode.src[1].dwords));
  else if (opcode.dst.length > 0) parts.push(scalarText(ins.dst, opcode.dst[0].dwords));
  if (ins.srsrc >= 0) {
    parts.push(scalarText(ins.srsrc, opcode.words.has("buffer") ? 4 : 2));
    parts.push(offsetText(ins));
  }
  let text = parts.join(", ");
  if (opcode.src.length > 0 && !opcode.words.has("cache")) {
    if (ins.flags & Flag.Glc) text += " glc";
    if (ins.flags & Flag.Dlc) text += " dlc";
  }
  return text;
}

function offsetText(ins: Instruction): string {
  if ((ins.flags & Flag.SgprOffset) === 0) return ins.imm === 0 ? "null" : hexText(ins.imm);
  const register = scalarText(ins.soffset, 1);
  return ins.imm === 0 ? register : `${register} offset:${hexText(ins.imm)}`;
}
