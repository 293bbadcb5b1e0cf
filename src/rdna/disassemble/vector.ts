import { Encoding, Extra, Flag, type Instruction, Operand } from "../instruction.ts";
import { type Opcode, Trait } from "../table.ts";
import type { DataType } from "../types.ts";
import type { DisassemblyContext } from "./context.ts";
import { type ConstantStyle, constantStyle, scalarText, sourceText, vectorText, widthOf } from "./operands.ts";

/** Suffix that tells the encoding of an opcode that exists in several. */
export function vectorSuffix(ins: Instruction, opcode: Opcode): string {
  if (ins.extra === Extra.Sdwa) return "_sdwa";
  if (ins.extra !== Extra.None) return "_dpp";
  if (opcode.numbers[Encoding.Vop3] === undefined || opcode.encoding === Encoding.Vop3) return "";
  if (opcode.dst.length === 0) return "";
  return ins.encoding === Encoding.Vop3 ? "_e64" : "_e32";
}

/** Operands and modifiers of VOP1, VOP2, VOPC, VOP3, in their plain, SDWA and DPP forms. */
export function vectorOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const parts: string[] = [];
  for (const type of opcode.dst) {
    if (type.kind === "mask") {
      // v_cmpx writes EXEC without naming it.
      if ((opcode.traits & Trait.WritesExec) === 0) parts.push(scalarText(ins.sdst, widthOf(type, context)));
    } else parts.push(opcode.scalarDst ? scalarText(ins.dst, type.dwords) : vectorText(ins.dst, type.dwords));
  }
  opcode.src.forEach((type, i) => parts.push(modifiedSource(ins, opcode, type, i, context)));
  return parts.join(", ") + modifiers(ins, opcode);
}

/** LLVM writes the K of v_madmk_f32 and its kin raw, and the exponent of v_ldexp_f16 as if it were a float. */
function styleOf(opcode: Opcode, type: DataType, i: number): ConstantStyle {
  if (opcode.traits & Trait.Literal && i === (/ak_f/.test(opcode.name) ? 2 : 1)) return "hex";
  if (i === 1 && opcode.name === "v_ldexp_f16") return "16f";
  return constantStyle(type);
}

function sourceCode(ins: Instruction, i: number): number {
  return i === 0 ? ins.src0 : i === 1 ? ins.src1 : ins.src2;
}

function modifiedSource(
  ins: Instruction,
  opcode: Opcode,
  type: DataType,
  i: number,
  context: DisassemblyContext,
): string {
  const code = sourceCode(ins, i);
  let text = sourceText(code, ins.literal, type, context, styleOf(opcode, type, i));
  if (ins.extra === Extra.Sdwa && ins.control >>> (i === 0 ? 19 : 27) & 1 && i < 2) text = `sext(${text})`;
  if (!takesModifiers(opcode, type)) return text;
  return withModifiers(text, code, ins.neg >>> i & 1, ins.abs >>> i & 1);
}

/** Writes |x| and -x; neg(1) where -1 would be another constant. */
function withModifiers(text: string, code: number, neg: number, abs: number): string {
  const constant = (code >= 128 && code <= 208) || (code >= 240 && code <= 248) || code === Operand.Literal;
  if (abs) return neg ? `-|${text}|` : `|${text}|`;
  if (!neg) return text;
  return constant ? `neg(${text})` : `-${text}`;
}

/** Negate and absolute value act on floats (and on the plain bits of v_cndmask_b32, v_mov_b32 in SDWA and DPP). */
function takesModifiers(opcode: Opcode, type: DataType): boolean {
  return type.kind === "f" || opcode.name === "v_cndmask_b32" || opcode.name === "v_mov_b32";
}

const OMOD = ["", " mul:2", " mul:4", " div:2"];

function modifiers(ins: Instruction, opcode: Opcode): string {
  let text = "";
  if (ins.opSel !== 0) {
    // v_permlane16_b32 uses the bits as FETCH_INACTIVE and BOUND_CTRL; elsewhere there is one per source and one for the destination.
    const permlane = opcode.name.startsWith("v_permlane");
    const bits: number[] = [];
    for (let i = 0; i < (permlane ? 2 : opcode.src.length); i++) bits.push(ins.opSel >>> i & 1);
    if (!permlane) bits.push(ins.opSel >>> 3 & 1);
    text += ` op_sel:[${bits.join(",")}]`;
  }
  if (ins.flags & Flag.Clamp) text += " clamp";
  text += OMOD[ins.omod];
  if (ins.extra === Extra.Sdwa) text += sdwaText(ins, opcode);
  else if (ins.extra === Extra.Dpp16) text += dppText(ins);
  else if (ins.extra === Extra.Dpp8) text += dpp8Text(ins);
  return text;
}

const SELECTS = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"];
const UNUSED = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];

function sdwaText(ins: Instruction, opcode: Opcode): string {
  const word = ins.control;
  let text = "";
  if (ins.encoding !== Encoding.Vopc) {
    text += ` dst_sel:${SELECTS[word >>> 8 & 7]} dst_unused:${UNUSED[word >>> 11 & 3]}`;
  }
  text += ` src0_sel:${SELECTS[word >>> 16 & 7]}`;
  if (opcode.src.length > 1) text += ` src1_sel:${SELECTS[word >>> 24 & 7]}`;
  return text;
}

function dppText(ins: Instruction): string {
  let text = ` ${dppControlText(ins.control)} row_mask:0x${(ins.masks >>> 4).toString(16)} bank_mask:0x${
    (ins.masks & 15).toString(16)
  }`;
  if (ins.flags & Flag.BoundCtrl) text += " bound_ctrl:1";
  if (ins.flags & Flag.FetchInactive) text += " fi:1";
  return text;
}

const ROW_CONTROLS: Readonly<Record<number, string>> = {
  0x10: "row_shl",
  0x11: "row_shr",
  0x12: "row_ror",
  0x15: "row_share",
  0x16: "row_xmask",
};

function dppControlText(control: number): string {
  if (control <= 0xff) return `quad_perm:[${control & 3},${control >>> 2 & 3},${control >>> 4 & 3},${control >>> 6}]`;
  if (control === 0x140) return "row_mirror";
  if (control === 0x141) return "row_half_mirror";
  return `${ROW_CONTROLS[control >>> 4]}:${control & 15}`;
}

function dpp8Text(ins: Instruction): string {
  const lanes = Array.from({ length: 8 }, (_, i) => ins.control >>> i * 3 & 7);
  return ` dpp8:[${lanes.join(",")}]` + (ins.flags & Flag.FetchInactive ? " fi:1" : "");
}

/** Operands and modifiers of VOP3P. */
export function packedOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const mix = opcode.words.has("mix");
  const parts = [vectorText(ins.dst, 1)];
  opcode.src.forEach((type, i) => {
    // LLVM takes a literal of a mixed-precision source for a half, whatever op_sel_hi says.
    let text = sourceText(sourceCode(ins, i), ins.literal, type, context, mix ? "16f" : constantStyle(type));
    if (mix) text = withModifiers(text, sourceCode(ins, i), ins.neg >>> i & 1, ins.abs >>> i & 1);
    parts.push(text);
  });
  const count = opcode.src.length;
  let text = parts.join(", ");
  const list = (bits: number) => `[${Array.from({ length: count }, (_, i) => bits >>> i & 1).join(",")}]`;
  const all = (1 << count) - 1;
  if ((ins.opSel & all) !== 0) text += ` op_sel:${list(ins.opSel)}`;
  if ((ins.opSelHi & all) !== (mix ? 0 : all)) text += ` op_sel_hi:${list(ins.opSelHi)}`;
  if (!mix) {
    if ((ins.neg & all) !== 0) text += ` neg_lo:${list(ins.neg)}`;
    if ((ins.abs & all) !== 0) text += ` neg_hi:${list(ins.abs)}`;
  }
  if (ins.flags & Flag.Clamp) text += " clamp";
  return text;
}

const PARAMETERS = ["p10", "p20", "p0"];
const CHANNELS = "xyzw";

/** Operands of the interpolation instructions, VINTRP and VOP3. */
export function interpOperands(ins: Instruction, opcode: Opcode, context: DisassemblyContext): string {
  const parts = [vectorText(ins.dst, 1)];
  if (opcode.src.length === 0) parts.push(PARAMETERS[ins.imm]);
  else parts.push(modifiedSource(ins, opcode, opcode.src[0], 0, context));
  parts.push(`attr${ins.dim}.${CHANNELS[ins.mode]}`);
  if (opcode.src.length > 1) parts.push(modifiedSource(ins, opcode, opcode.src[1], 1, context));
  let text = parts.join(", ");
  if (ins.flags & Flag.High) text += " high";
  if (ins.flags & Flag.Clamp) text += " clamp";
  return text + OMOD[ins.omod];
}
