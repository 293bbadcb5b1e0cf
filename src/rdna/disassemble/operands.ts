import { Operand } from "../instruction.ts";
import type { DataType } from "../types.ts";
import type { DisassemblyContext } from "./context.ts";
import { INLINE_F16, INLINE_F32, INLINE_F64 } from "../inline_constants.ts";

/** Names of the single scalar operand codes that are no numbered register (AMD RDNA2 ISA, "Scalar operand codes"; names as in LLVM). */
const SCALAR_NAMES: Readonly<Record<number, string>> = {
  106: "vcc_lo",
  107: "vcc_hi",
  124: "m0",
  125: "null",
  126: "exec_lo",
  127: "exec_hi",
  235: "src_shared_base",
  236: "src_shared_limit",
  237: "src_private_base",
  238: "src_private_limit",
  239: "src_pops_exiting_wave_id",
  251: "src_vccz",
  252: "src_execz",
  253: "src_scc",
  254: "src_lds_direct",
};

const TTMP0 = 108;

/** Text of a scalar register or special scalar source of `dwords` registers, for example "s5", "s[4:5]", "vcc". */
export function scalarText(code: number, dwords: number): string {
  if (dwords <= 1 || code >= 128 || code === Operand.Null) {
    const name = SCALAR_NAMES[code];
    if (name !== undefined) return name;
    return code < TTMP0 ? `s${code}` : `ttmp${code - TTMP0}`;
  }
  if (code === Operand.Vcc && dwords === 2) return "vcc";
  if (code === Operand.Exec && dwords === 2) return "exec";
  if (code >= TTMP0 && code < Operand.M0) return `ttmp[${code - TTMP0}:${code - TTMP0 + dwords - 1}]`;
  return `s[${code}:${code + dwords - 1}]`;
}

/** Text of vector register `code` (256 + number) of `dwords` registers. */
export function vectorText(code: number, dwords: number): string {
  const first = code - Operand.Vgpr0;
  return dwords <= 1 ? `v${first}` : `v[${first}:${first + dwords - 1}]`;
}

/** Registers that an operand of this type takes; a lane mask takes one or two. */
export function widthOf(type: DataType, context: DisassemblyContext): number {
  return type.kind === "mask" ? context.waveSize / 32 : type.dwords;
}

/** Texts of the inline float constants. */
const FLOAT_TEXTS = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"];
const FLOAT_TEXT_INVERSE_2PI_64 = "0.15915494309189532";
/** Upper words of the f64 constants whose lower word is 0. */
const FLOAT_HIGH_BITS_64 = INLINE_F64.slice(0, 8).map((bits) => Number(bits >> 32n));

/** How LLVM writes the constants of a source: it depends on the operand's type, and a literal with an inline constant's value looks like it. */
export type ConstantStyle = "16f" | "16i" | "32" | "64f" | "64i" | "packed-f" | "packed-i" | "hex";

/** Constant style of a source type. */
export function constantStyle(type: DataType): ConstantStyle {
  if (type.count === 2 && type.bits === 16) return type.kind === "f" ? "packed-f" : "packed-i";
  if (type.count === 1 && type.bits === 16) return type.kind === "f" ? "16f" : "16i";
  if (type.dwords >= 2) return type.kind === "f" ? "64f" : "64i";
  return "32";
}

function hexText(value: number): string {
  return "0x" + (value >>> 0).toString(16);
}

/** Text of the inline constant `code` (128..208, 240..248). */
function inlineText(code: number, style: ConstantStyle): string {
  if (code <= 192) return String(code - 128);
  if (code <= 208) return String(192 - code);
  const index = code - 240;
  if (style === "16i") return hexText(INLINE_F16[index]);
  if (index === 8 && (style === "64f" || style === "64i")) return FLOAT_TEXT_INVERSE_2PI_64;
  return FLOAT_TEXTS[index];
}

/** Text of a literal constant. */
export function literalText(literal: number, style: ConstantStyle): string {
  switch (style) {
    case "16f":
    case "16i": {
      const value = literal << 16 >> 16;
      if (value >= -16 && value <= 64) return String(value);
      const float = style === "16f" ? INLINE_F16.indexOf(literal & 0xffff) : -1;
      return float >= 0 ? FLOAT_TEXTS[float] : hexText(literal & 0xffff);
    }
    case "64f": {
      const float = FLOAT_HIGH_BITS_64.indexOf(literal);
      if (literal === 0) return "0";
      return float >= 0 ? FLOAT_TEXTS[float] : hexText(literal);
    }
    case "64i":
      return literal <= 64 ? String(literal) : hexText(literal);
    case "32": {
      const value = literal | 0;
      if (value >= -16 && value <= 64) return String(value);
      const float = INLINE_F32.indexOf(literal);
      return float >= 0 ? FLOAT_TEXTS[float] : hexText(literal);
    }
    case "packed-i":
    case "packed-f": {
      const value = literal | 0;
      if (value >= -16 && value <= 64) return String(value);
      const float = (style === "packed-i" ? INLINE_F32 : INLINE_F16).indexOf(literal);
      return float >= 0 ? FLOAT_TEXTS[float] : hexText(literal);
    }
    case "hex":
      return hexText(literal);
  }
}

/** Text of a source operand: register, constant or literal, without modifiers. */
export function sourceText(
  code: number,
  literal: number,
  type: DataType,
  context: DisassemblyContext,
  style: ConstantStyle = constantStyle(type),
): string {
  const dwords = widthOf(type, context);
  if (code >= Operand.Vgpr0) return vectorText(code, dwords);
  if (code === Operand.Literal) return literalText(literal, style);
  if ((code >= 128 && code <= 208) || (code >= 240 && code <= 248)) return inlineText(code, style);
  return scalarText(code, dwords);
}
