import { Encoding, Flag, type Instruction, Operand } from "../instruction.ts";
import { type OpcodeIndex, OPCODES } from "../table.ts";
import type { Target } from "../target.ts";
import { noInstruction, truncated } from "./fail.ts";
import { findOpcode } from "./find_opcode.ts";
import { checkSourceClasses, scalarSource, scalarTuple } from "./operands.ts";

/** Number of registers of scalar destination, first and second source, by op id. */
const DST_DWORDS = Uint8Array.from(OPCODES, (opcode) => opcode.dst[0]?.dwords ?? 0);
const SRC0_DWORDS = Uint8Array.from(OPCODES, (opcode) => opcode.src[0]?.dwords ?? 0);
const SRC1_DWORDS = Uint8Array.from(OPCODES, (opcode) => opcode.src[1]?.dwords ?? 0);
/** SOPK: whether the register field is a source (s_cmpk_*, s_setreg_*, s_waitcnt_*). */
const SOPK_SOURCE = Uint8Array.from(
  OPCODES,
  (opcode) => opcode.encoding === Encoding.Sopk && opcode.src.length === 2 ? 1 : 0,
);
const HAS_LITERAL = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("literal") ? 1 : 0);
const IS_BUFFER = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("buffer") ? 1 : 0);
/** SMEM: 1 load or other result, 2 store, 4 atomic, 8 takes an address. */
const SMEM_SHAPE = Uint8Array.from(
  OPCODES,
  (opcode) =>
    (opcode.dst.length > 0 && !opcode.words.has("atomic") ? 1 : 0) | (opcode.words.has("store") ? 2 : 0) |
    (opcode.words.has("atomic") ? 4 : 0) | (opcode.src[0]?.kind === "addr" ? 8 : 0),
);
const ATC_PROBE = Uint8Array.from(OPCODES, (opcode) => opcode.name.startsWith("s_atc_probe") ? 1 : 0);

/** Reads the literal constant that follows a one-word instruction whose source is 255. */
function literal(words: Uint32Array, at: number, out: Instruction): void {
  if (at + 1 >= words.length) truncated(words, at);
  out.literal = words[at + 1];
  out.size = 2;
}

/** SOP1, SOP2, SOPC, SOPK, SOPP: the words that start with binary 10 (AMD RDNA2 ISA, section 12.1 to 12.5). */
export function decodeScalar(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  const prefix = word >>> 23;
  if (prefix === 0x17f) return decodeSopp(words, at, word, index, target, out);
  if (prefix === 0x17d) {
    const number = word >>> 8 & 0xff;
    const op = findOpcode(words, at, Encoding.Sop1, number, index, target, out);
    if (DST_DWORDS[op] > 0) out.dst = scalarTuple(words, at, word >>> 16 & 0x7f, DST_DWORDS[op]);
    if (SRC0_DWORDS[op] > 0) out.src0 = scalarSource(words, at, word & 0xff, SRC0_DWORDS[op]);
    checkSourceClasses(words, at, out);
    if (out.src0 === Operand.Literal) literal(words, at, out);
    return;
  }
  if (prefix === 0x17e) {
    const number = word >>> 16 & 0x7f;
    const op = findOpcode(words, at, Encoding.Sopc, number, index, target, out);
    decodeTwoSources(words, at, word, op, out);
    return;
  }
  if (word >>> 28 === 0xb) return decodeSopk(words, at, word, index, target, out);
  const number = word >>> 23 & 0x7f;
  const op = findOpcode(words, at, Encoding.Sop2, number, index, target, out);
  out.dst = scalarTuple(words, at, word >>> 16 & 0x7f, DST_DWORDS[op]);
  decodeTwoSources(words, at, word, op, out);
}

function decodeTwoSources(words: Uint32Array, at: number, word: number, op: number, out: Instruction): void {
  out.src0 = scalarSource(words, at, word & 0xff, SRC0_DWORDS[op]);
  out.src1 = scalarSource(words, at, word >>> 8 & 0xff, SRC1_DWORDS[op]);
  if (out.src0 === Operand.Literal || out.src1 === Operand.Literal) literal(words, at, out);
}

function decodeSopp(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  const number = word >>> 16 & 0x7f;
  findOpcode(words, at, Encoding.Sopp, number, index, target, out);
  out.imm = word << 16 >> 16;
}

function decodeSopk(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  const number = word >>> 23 & 0x1f;
  const op = findOpcode(words, at, Encoding.Sopk, number, index, target, out);
  out.imm = word << 16 >> 16;
  const register = word >>> 16 & 0x7f;
  if (DST_DWORDS[op] > 0) out.dst = scalarTuple(words, at, register, DST_DWORDS[op]);
  else if (HAS_LITERAL[op] === 1) {
    out.src0 = Operand.Literal;
    literal(words, at, out);
  } else if (SOPK_SOURCE[op] === 1) out.src0 = register;
}

/** SMEM (AMD RDNA2 ISA, section 12.6). */
export function decodeSmem(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const high = words[at + 1];
  const number = word >>> 18 & 0xff;
  const op = findOpcode(words, at, Encoding.Smem, number, index, target, out, 2);
  if (word >>> 14 & 1) out.flags |= Flag.Dlc;
  if (word >>> 16 & 1) out.flags |= Flag.Glc;
  const shape = SMEM_SHAPE[op];
  const register = word >>> 6 & 0x7f;
  if (shape & 7 && register >= Operand.M0 && register !== Operand.Null) {
    noInstruction(words, at, "the data of a scalar memory access are in M0 or EXEC");
  }
  if (shape & 1) out.dst = scalarTuple(words, at, register, DST_DWORDS[op]);
  if (shape & 6) out.data = scalarTuple(words, at, register, SRC1_DWORDS[op]);
  if (shape & 4 && out.flags & Flag.Glc) out.dst = scalarTuple(words, at, register, DST_DWORDS[op]);
  if (ATC_PROBE[op] === 1) out.mode = register;
  if (shape & 8) {
    out.srsrc = scalarTuple(words, at, (word & 0x3f) * 2, IS_BUFFER[op] === 1 ? 4 : 2);
    out.imm = high << 11 >> 11;
    const offset = high >>> 25;
    if (offset !== Operand.Null) {
      out.soffset = offset;
      out.flags |= Flag.SgprOffset;
    }
  }
}
