import { Encoding, Flag, type Instruction } from "../instruction.ts";
import { type Opcode, Trait } from "../table.ts";
import type { DisassemblyContext } from "./context.ts";
import { swizzleText } from "./control.ts";
import { bufferFormatText } from "./format.ts";
import { scalarText, sourceText, vectorText } from "./operands.ts";
import { dataType } from "../types.ts";

/** Types of the data operands: the sources without the address. */
function dataTypes(opcode: Opcode) {
  return opcode.src.filter((type) => type.kind !== "addr");
}

/** Operands of DS. */
export function dsOperands(ins: Instruction, opcode: Opcode): string {
  const parts: string[] = [];
  const data = dataTypes(opcode);
  if (ins.dst >= 0) parts.push(vectorText(ins.dst, opcode.dst[0].dwords));
  if (ins.addr >= 0) parts.push(vectorText(ins.addr, 1));
  if (ins.data >= 0) parts.push(vectorText(ins.data, data[0].dwords));
  if (ins.data1 >= 0) parts.push(vectorText(ins.data1, data[1].dwords));
  let text = parts.join(", ");
  if (opcode.traits & Trait.Two) {
    if (ins.imm & 0xff) text += ` offset0:${ins.imm & 0xff}`;
    if (ins.imm >>> 8) text += ` offset1:${ins.imm >>> 8}`;
  } else if (ins.imm !== 0) text += ` offset:${opcode.name === "ds_swizzle_b32" ? swizzleText(ins.imm) : ins.imm}`;
  if (ins.flags & Flag.Gds) text += " gds";
  return text;
}

function cacheFlags(ins: Instruction): string {
  return (ins.flags & Flag.Glc ? " glc" : "") + (ins.flags & Flag.Slc ? " slc" : "") +
    (ins.flags & Flag.Dlc ? " dlc" : "");
}

/** Operands of FLAT, SCRATCH, GLOBAL. */
export function flatOperands(ins: Instruction, opcode: Opcode): string {
  const parts: string[] = [];
  const data = dataTypes(opcode);
  const address = ins.addr >= 0 ? vectorText(ins.addr, opcode.segment !== 1 && ins.srsrc < 0 ? 2 : 1) : "off";
  const hasAddress = opcode.src[0]?.kind === "addr";
  if (ins.dst >= 0) parts.push(vectorText(ins.dst, opcode.dst[0].dwords));
  if (hasAddress) parts.push(address);
  if (ins.data >= 0) parts.push(vectorText(ins.data, data[0].dwords));
  if (opcode.segment !== 0) parts.push(ins.srsrc < 0 ? "off" : scalarText(ins.srsrc, opcode.segment === 2 ? 2 : 1));
  let text = parts.join(", ");
  if (ins.imm !== 0) text += ` offset:${ins.imm}`;
  text += cacheFlags(ins);
  if (ins.flags & Flag.Lds) text += " lds";
  return text;
}

const SCALAR_OFFSET = dataType("b32");

/** Operands of MUBUF and MTBUF. */
export function bufferOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  if (opcode.traits & Trait.Cache) return "";
  const parts: string[] = [];
  const register = ins.data >= 0 ? ins.data : ins.dst;
  const type = dataTypes(opcode)[0] ?? opcode.dst[0];
  const tfe = ins.flags & Flag.Tfe ? 1 : 0;
  if (register >= 0) parts.push(vectorText(register, type.dwords + tfe));
  const indexed = (ins.flags & Flag.Idxen ? 1 : 0) + (ins.flags & Flag.Offen ? 1 : 0);
  parts.push(ins.addr >= 0 ? vectorText(ins.addr, indexed) : "off");
  parts.push(scalarText(ins.srsrc, 4));
  parts.push(sourceText(ins.soffset, 0, SCALAR_OFFSET, context));
  let text = parts.join(", ");
  if (ins.encoding === Encoding.Mtbuf) text += bufferFormatText(ins.mode);
  if (ins.flags & Flag.Idxen) text += " idxen";
  if (ins.flags & Flag.Offen) text += " offen";
  if (ins.imm !== 0) text += ` offset:${ins.imm}`;
  text += cacheFlags(ins);
  if (tfe) text += " tfe";
  if (ins.flags & Flag.Lds) text += " lds";
  return text;
}

const EXPORT_TARGETS: Readonly<Record<number, string>> = { 8: "mrtz", 9: "null", 20: "prim" };

function exportTarget(target: number): string {
  if (target < 8) return `mrt${target}`;
  if (target >= 12 && target <= 16) return `pos${target - 12}`;
  if (target >= 32) return `param${target - 32}`;
  return EXPORT_TARGETS[target] ?? `invalid_target_${target}`;
}

/** Operands of EXP. */
export function exportOperands(ins: Instruction): string {
  const compressed = (ins.flags & Flag.Compr) !== 0;
  const sources = compressed ? [ins.src0, ins.src0, ins.src1, ins.src1] : [ins.src0, ins.src1, ins.src2, ins.src3];
  const parts = sources.map((code, i) => ins.mode >>> i & 1 ? vectorText(code, 1) : "off");
  let text = `${exportTarget(ins.dim)} ${parts.join(", ")}`;
  if (ins.flags & Flag.Done) text += " done";
  if (compressed) text += " compr";
  if (ins.flags & Flag.ValidMask) text += " vm";
  return text;
}
