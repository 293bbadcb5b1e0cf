import { Encoding, Extra, Flag, type Instruction, Operand } from "../instruction.ts";
import { type OpcodeIndex, OPCODES } from "../table.ts";
import type { Target } from "../target.ts";
import { noInstruction, truncated } from "./fail.ts";
import { findOpcode } from "./find_opcode.ts";
import { checkModifiers, checkSourceClasses, vectorSource, vectorTuple } from "./operands.ts";

const SDWA = 249;
const DPP16 = 250;
const DPP8 = 233;
const DPP8_FETCH_INACTIVE = 234;

/** Number of sources (lane masks included), and of registers of each operand, by op id. A lane mask counts as one register. */
const SOURCES = Uint8Array.from(OPCODES, (opcode) => opcode.src.length);
const SRC_DWORDS = [0, 1, 2].map((i) => Uint8Array.from(OPCODES, (opcode) => opcode.src[i]?.dwords ?? 0));
const DST_DWORDS = Uint8Array.from(OPCODES, (opcode) => opcode.dst.find((type) => type.kind !== "mask")?.dwords ?? 0);
const HAS_SDST = Uint8Array.from(OPCODES, (opcode) => opcode.dst.some((type) => type.kind === "mask") ? 1 : 0);
const SCALAR_DST = Uint8Array.from(OPCODES, (opcode) => opcode.scalarDst ? 1 : 0);
/** Third source of the 32-bit encodings: 0 none, 1 VCC, 2 literal (D = S0 * S1 + K), 3 literal in the middle (D = S0 * K + S1). */
const THIRD = Uint8Array.from(OPCODES, (opcode) => {
  if (opcode.encoding !== Encoding.Vop2 || opcode.src.length < 3) return 0;
  if (opcode.src[2].kind === "mask") return 1;
  return /ak_f/.test(opcode.name) ? 2 : 3;
});
const HAS_SDWA = Uint8Array.from(OPCODES, (opcode) => opcode.sdwa ? 1 : 0);
const HAS_DPP = Uint8Array.from(OPCODES, (opcode) => opcode.dpp ? 1 : 0);
const HAS_32 = Uint8Array.from(OPCODES, (opcode) => opcode.encoding !== Encoding.Vop3 ? 1 : 0);
const WRITES_EXEC = Uint8Array.from(
  OPCODES,
  (opcode) => opcode.words.has("wexec") || opcode.name.startsWith("v_cmpx_") ? 1 : 0,
);
/** Bits of op_sel that count: one per source and the destination's (bit 3); v_permlane16_b32 has two of another meaning. */
const OP_SEL_BITS = Uint8Array.from(OPCODES, (opcode) => {
  if (!opcode.words.has("opsel")) return 0;
  return opcode.words.has("lanes") ? 3 : 8 | (1 << opcode.src.length) - 1;
});
const IS_INTERP = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("interp") ? 1 : 0);

/** VOP1, VOP2, VOPC: the words whose top bit is 0 (AMD RDNA2 ISA, sections 12.7 to 12.9). */
export function decodeVop(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  let number = word >>> 25;
  let encoding: Encoding = Encoding.Vop2;
  if (number === 0x3f) {
    encoding = Encoding.Vop1;
    number = word >>> 9 & 0xff;
  } else if (number === 0x3e) {
    encoding = Encoding.Vopc;
    number = word >>> 17 & 0xff;
  }
  const op = findOpcode(words, at, encoding, number, index, target, out);
  if (encoding === Encoding.Vopc) out.sdst = WRITES_EXEC[op] === 1 ? Operand.Exec : Operand.Vcc;
  else if (DST_DWORDS[op] > 0) {
    const register = word >>> 17 & 0xff;
    if (SCALAR_DST[op] === 0) out.dst = vectorTuple(words, at, register, DST_DWORDS[op]);
    else if (register < 128) out.dst = register;
    else noInstruction(words, at, `scalar destination ${register} does not exist`);
    if (HAS_SDST[op] === 1) out.sdst = Operand.Vcc;
  }
  const sources = SOURCES[op];
  if (sources === 0) return;
  const code = word & 0x1ff;
  if (code === SDWA) return decodeSdwa(words, at, word, op, out);
  if (code === DPP16 || code === DPP8 || code === DPP8_FETCH_INACTIVE) return decodeDpp(words, at, word, op, code, out);
  out.src0 = vectorSource(words, at, code, SRC_DWORDS[0][op]);
  if (sources > 1) out.src1 = vectorTuple(words, at, word >>> 9 & 0xff, SRC_DWORDS[1][op]);
  checkSourceClasses(words, at, out);
  const third = THIRD[op];
  if (third === 1) out.src2 = Operand.Vcc;
  else if (third === 2) out.src2 = Operand.Literal;
  else if (third === 3) {
    out.src2 = out.src1;
    out.src1 = Operand.Literal;
  }
  if (code === Operand.Literal || third >= 2) {
    if (at + 1 >= words.length) truncated(words, at);
    out.literal = words[at + 1];
    out.size = 2;
  }
}

/** The SDWA word (AMD RDNA2 ISA, section 13, "SDWA"): sources and destination are parts of a register. */
function decodeSdwa(words: Uint32Array, at: number, word: number, op: number, out: Instruction): void {
  if (HAS_SDWA[op] === 0) noInstruction(words, at, `${OPCODES[op].name} has no SDWA form`);
  if (at + 1 >= words.length) truncated(words, at);
  const extra = words[at + 1];
  out.extra = Extra.Sdwa;
  out.control = extra;
  out.size = 2;
  out.src0 = sdwaSource(words, at, extra & 0xff, extra >>> 23 & 1);
  out.neg = extra >>> 20 & 1;
  out.abs = extra >>> 21 & 1;
  if (SOURCES[op] > 1) {
    out.src1 = sdwaSource(words, at, word >>> 9 & 0xff, extra >>> 31);
    out.neg |= (extra >>> 28 & 1) << 1;
    out.abs |= (extra >>> 29 & 1) << 1;
  }
  if (THIRD[op] === 1) out.src2 = Operand.Vcc;
  checkModifiers(words, at, out);
  checkSdwaSelect(words, at, extra >>> 16 & 7);
  if (SOURCES[op] > 1) checkSdwaSelect(words, at, extra >>> 24 & 7);
  if (out.encoding === Encoding.Vopc) {
    if (extra >>> 15 & 1 && WRITES_EXEC[op] === 0) out.sdst = extra >>> 8 & 0x7f;
    return;
  }
  checkSdwaSelect(words, at, extra >>> 8 & 7);
  if ((extra >>> 11 & 3) === 3) noInstruction(words, at, "SDWA dst_unused 3 is reserved");
  if (extra >>> 13 & 1) out.flags |= Flag.Clamp;
  out.omod = extra >>> 14 & 3;
}

function sdwaSource(words: Uint32Array, at: number, code: number, scalar: number): number {
  if (scalar === 0) return Operand.Vgpr0 + code;
  if (code === Operand.Literal) noInstruction(words, at, "a literal constant cannot be an SDWA source");
  return vectorSource(words, at, code, 1);
}

function checkSdwaSelect(words: Uint32Array, at: number, select: number): void {
  if (select === 7) noInstruction(words, at, "SDWA select 7 is reserved");
}

/** The DPP16 and DPP8 words (AMD RDNA2 ISA, section 13, "DPP"): source 0 comes from another lane. */
function decodeDpp(words: Uint32Array, at: number, word: number, op: number, code: number, out: Instruction): void {
  if (HAS_DPP[op] === 0) noInstruction(words, at, `${OPCODES[op].name} has no DPP form`);
  if (at + 1 >= words.length) truncated(words, at);
  const extra = words[at + 1];
  out.size = 2;
  out.src0 = Operand.Vgpr0 + (extra & 0xff);
  if (SOURCES[op] > 1) out.src1 = Operand.Vgpr0 + (word >>> 9 & 0xff);
  if (THIRD[op] === 1) out.src2 = Operand.Vcc;
  if (code !== DPP16) {
    out.extra = Extra.Dpp8;
    out.control = extra >>> 8;
    if (code === DPP8_FETCH_INACTIVE) out.flags |= Flag.FetchInactive;
    return;
  }
  out.extra = Extra.Dpp16;
  out.control = extra >>> 8 & 0x1ff;
  out.masks = extra >>> 24;
  if (!dppControlExists(out.control)) noInstruction(words, at, `DPP control 0x${out.control.toString(16)} is reserved`);
  if (extra >>> 18 & 1) out.flags |= Flag.FetchInactive;
  if (extra >>> 19 & 1) out.flags |= Flag.BoundCtrl;
  out.neg = extra >>> 20 & 1;
  out.abs = extra >>> 21 & 1;
  if (SOURCES[op] > 1) {
    out.neg |= (extra >>> 22 & 1) << 1;
    out.abs |= (extra >>> 23 & 1) << 1;
  }
  checkModifiers(words, at, out);
}

/** quad_perm, row_shl / row_shr / row_ror by 1..15, row_mirror, row_half_mirror, row_share, row_xmask. */
function dppControlExists(control: number): boolean {
  return control <= 0xff || (control > 0x100 && control <= 0x12f && (control & 15) !== 0) || control === 0x140 ||
    control === 0x141 ||
    (control >= 0x150 && control <= 0x16f);
}

/** VOP3, with the VOP3B variant that names a scalar destination (AMD RDNA2 ISA, section 12.10). */
export function decodeVop3(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const high = words[at + 1];
  const number = word >>> 16 & 0x3ff;
  const op = findOpcode(words, at, Encoding.Vop3, number, index, target, out, 2);
  if (HAS_32[op] === 1) out.flags |= Flag.E64;
  if (word >>> 15 & 1) out.flags |= Flag.Clamp;
  const register = word & 0xff;
  if (number < 0x100) out.sdst = WRITES_EXEC[op] === 1 ? Operand.Exec : compareDestination(words, at, register);
  else if (DST_DWORDS[op] > 0) {
    if (SCALAR_DST[op] === 0) out.dst = vectorTuple(words, at, register, DST_DWORDS[op]);
    else if (register < 128) out.dst = register;
    else noInstruction(words, at, `scalar destination ${register} does not exist`);
  }
  if (number >= 0x100 && HAS_SDST[op] === 1) out.sdst = word >>> 8 & 0x7f;
  else {
    out.abs = word >>> 8 & 7;
    out.opSel = word >>> 11 & OP_SEL_BITS[op];
  }
  out.omod = high >>> 27 & 3;
  out.neg = high >>> 29;
  if (IS_INTERP[op] === 1) return decodeVop3Interp(words, at, high, op, out);
  decodeThreeSources(words, at, high, op, out);
}

function compareDestination(words: Uint32Array, at: number, register: number): number {
  if (register > 127) noInstruction(words, at, `scalar destination ${register} does not exist`);
  return register;
}

/** Interpolation in VOP3: the first source field holds the attribute, the vector registers stand in the second and third. */
function decodeVop3Interp(words: Uint32Array, at: number, high: number, op: number, out: Instruction): void {
  out.dim = high & 0x3f;
  out.mode = high >>> 6 & 3;
  if (high >>> 8 & 1) out.flags |= Flag.High;
  const sources = SOURCES[op];
  if (sources === 0) out.imm = interpParameter(words, at, high >>> 9 & 0x1ff);
  if (sources > 0) out.src0 = high >>> 9 & 0x1ff;
  if (sources > 1) out.src1 = high >>> 18 & 0x1ff;
  checkSourceClasses(words, at, out);
  out.neg >>= 1;
  out.abs >>= 1;
  checkModifiers(words, at, out);
}

function decodeThreeSources(words: Uint32Array, at: number, high: number, op: number, out: Instruction): void {
  const sources = SOURCES[op];
  if (sources > 0) out.src0 = vectorSource(words, at, high & 0x1ff, SRC_DWORDS[0][op]);
  if (sources > 1) out.src1 = vectorSource(words, at, high >>> 9 & 0x1ff, SRC_DWORDS[1][op]);
  if (sources > 2) out.src2 = vectorSource(words, at, high >>> 18 & 0x1ff, SRC_DWORDS[2][op]);
  checkSourceClasses(words, at, out);
  checkModifiers(words, at, out);
  if (out.src0 === Operand.Literal || out.src1 === Operand.Literal || out.src2 === Operand.Literal) {
    if (at + 2 >= words.length) truncated(words, at);
    out.literal = words[at + 2];
    out.size = 3;
  }
}

/** VOP3P (AMD RDNA2 ISA, section 12.11). */
export function decodeVop3p(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const high = words[at + 1];
  const number = word >>> 16 & 0x7f;
  const op = findOpcode(words, at, Encoding.Vop3p, number, index, target, out, 2);
  if (word >>> 15 & 1) out.flags |= Flag.Clamp;
  out.dst = Operand.Vgpr0 + (word & 0xff);
  out.abs = word >>> 8 & 7;
  out.opSel = word >>> 11 & 7;
  out.opSelHi = high >>> 27 & 3 | (word >>> 14 & 1) << 2;
  out.neg = high >>> 29;
  decodeThreeSources(words, at, high, op, out);
}

/** Parameter of v_interp_mov_f32: 0 P10, 1 P20, 2 P0. */
function interpParameter(words: Uint32Array, at: number, parameter: number): number {
  if (parameter > 2) noInstruction(words, at, `interpolation parameter ${parameter} does not exist`);
  return parameter;
}

/** VINTRP (AMD RDNA2 ISA, section 12.17). */
export function decodeVintrp(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  const number = word >>> 16 & 3;
  const op = findOpcode(words, at, Encoding.Vintrp, number, index, target, out);
  out.dst = Operand.Vgpr0 + (word >>> 18 & 0xff);
  out.dim = word >>> 10 & 0x3f;
  out.mode = word >>> 8 & 3;
  if (SOURCES[op] > 0) out.src0 = Operand.Vgpr0 + (word & 0xff);
  else out.imm = interpParameter(words, at, word & 0xff);
}
