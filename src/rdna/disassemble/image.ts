import { IMAGE_DIMS, imageAddress, imageDataDwords } from "../image.ts";
import { Flag, type Instruction } from "../instruction.ts";
import type { Opcode } from "../table.ts";
import { scalarText, vectorText } from "./operands.ts";

/** Operands of MIMG. */
export function imageOperands(ins: Instruction, opcode: Opcode): string {
  const register = ins.data >= 0 ? ins.data : ins.dst;
  const parts = [vectorText(register, textDwords(ins, opcode))];
  const { total } = imageAddress(ins, opcode);
  if (ins.nsa === null) parts.push(vectorText(ins.addr, total));
  else parts.push(`[${[ins.addr, ...ins.nsa].slice(0, total).map((code) => vectorText(code, 1)).join(", ")}]`);
  const bvh = opcode.image === "bvh";
  parts.push(scalarText(ins.srsrc, bvh ? 4 : 8));
  if (ins.soffset >= 0) parts.push(scalarText(ins.soffset, 4));
  let text = parts.join(", ");
  if (!bvh && ins.mode !== 0) text += ` dmask:0x${ins.mode.toString(16)}`;
  if (!bvh) text += ` dim:SQ_RSRC_IMG_${IMAGE_DIMS[ins.dim].name}`;
  for (const [flag, name] of bvh ? BVH_FLAGS : FLAGS) if (ins.flags & flag) text += ` ${name}`;
  return text;
}

/** LLVM counts the status register of TFE, but not that of LWE alone; and it writes eight descriptor registers with R128 too. */
function textDwords(ins: Instruction, opcode: Opcode): number {
  const status = (ins.flags & Flag.Lwe) !== 0 && (ins.flags & Flag.Tfe) === 0 ? 1 : 0;
  return imageDataDwords(ins, opcode) - status;
}

const BVH_FLAGS: readonly (readonly [flag: number, name: string])[] = [[Flag.A16, "a16"]];

const FLAGS: readonly (readonly [flag: number, name: string])[] = [
  [Flag.Unorm, "unorm"],
  [Flag.Glc, "glc"],
  [Flag.Slc, "slc"],
  [Flag.Dlc, "dlc"],
  [Flag.R128, "r128"],
  [Flag.A16, "a16"],
  [Flag.Tfe, "tfe"],
  [Flag.Lwe, "lwe"],
  [Flag.D16, "d16"],
];
