/**
 * Encodes single instructions from named fields: the inverse of src/rdna/decode.ts, written from the same tables of the ISA documents (AMD RDNA2 ISA,
 * section 13 "Microcode formats"). Operand codes are those of {@linkcode Operand}: 0..127 scalar registers, 128.. constants, 256.. vector registers.
 */
import { Encoding, Operand } from "../../src/rdna/instruction.ts";
import { type Opcode, opcodeId, OPCODES } from "../../src/rdna/table.ts";

/** The opcode of a mnemonic. */
export function opcodeOf(name: string): Opcode {
  return OPCODES[opcodeId(name)];
}

function numberOf(opcode: Opcode, encoding: Encoding): number {
  const number = opcode.numbers[encoding];
  if (number === undefined) throw new Error(`${opcode.name} has no number in encoding ${encoding}`);
  return number;
}

/** Operand code of a vector register. */
export function v(register: number): number {
  return Operand.Vgpr0 + register;
}

/** Operand code of an inline integer, -16..64. */
export function int(value: number): number {
  if (value < -16 || value > 64) throw new Error(`${value} is no inline integer`);
  return value >= 0 ? 128 + value : 192 - value;
}

/** The 8-bit field of a vector register. */
function reg(code: number): number {
  if (code < Operand.Vgpr0 || code > 511) throw new Error(`operand ${code} is no vector register`);
  return code - Operand.Vgpr0;
}

/** The words followed by the literal if an operand asks for it. */
function withLiteral(words: number[], literal: number, ...codes: number[]): number[] {
  return codes.includes(Operand.Literal) ? [...words, literal >>> 0] : words;
}

/** SOP2. */
export function sop2(opcode: Opcode, dst: number, a: number, b: number, literal = 0): number[] {
  const word = 2 << 30 | numberOf(opcode, Encoding.Sop2) << 23 | dst << 16 | b << 8 | a;
  return withLiteral([word >>> 0], literal, a, b);
}

/** SOP1; `dst` and `a` are 0 where the opcode has none. */
export function sop1(opcode: Opcode, dst: number, a: number, literal = 0): number[] {
  return withLiteral([(0x17d << 23 | dst << 16 | numberOf(opcode, Encoding.Sop1) << 8 | a) >>> 0], literal, a);
}

/** SOPC. */
export function sopc(opcode: Opcode, a: number, b: number, literal = 0): number[] {
  return withLiteral([(0x17e << 23 | numberOf(opcode, Encoding.Sopc) << 16 | b << 8 | a) >>> 0], literal, a, b);
}

/** SOPK; `literal` only for the opcodes that carry one. */
export function sopk(opcode: Opcode, register: number, immediate: number, literal?: number): number[] {
  const word = (0xb << 28 | numberOf(opcode, Encoding.Sopk) << 23 | register << 16 | immediate & 0xffff) >>> 0;
  return literal === undefined ? [word] : [word, literal >>> 0];
}

/** SOPP. */
export function sopp(opcode: Opcode, immediate: number): number[] {
  return [(0x17f << 23 | numberOf(opcode, Encoding.Sopp) << 16 | immediate & 0xffff) >>> 0];
}

/** SMEM. `data` is the destination or the stored register, `base` the first scalar register of the address or of the V#. */
export interface SmemFields {
  data: number;
  base: number;
  /** Signed 21 bits. */
  offset?: number;
  /** Scalar register; none when left out. */
  soffset?: number;
  glc?: boolean;
}

/** SMEM. */
export function smem(opcode: Opcode, { data, base, offset = 0, soffset = Operand.Null, glc }: SmemFields): number[] {
  const low = 0x3d << 26 | numberOf(opcode, Encoding.Smem) << 18 | (glc ? 1 << 16 : 0) | data << 6 | base >> 1;
  return [low >>> 0, (soffset << 25 | offset & 0x1fffff) >>> 0];
}

/** The first word of VOP1, VOP2 and VOPC with source 0 as given (also the codes that announce SDWA and DPP). */
function vopWord(opcode: Opcode, dst: number, a: number, b: number): number {
  const d = dst < 0 ? 0 : dst >= Operand.Vgpr0 ? reg(dst) : dst;
  const second = b < 0 ? 0 : reg(b);
  switch (opcode.encoding) {
    case Encoding.Vop1:
      return (0x3f << 25 | d << 17 | numberOf(opcode, Encoding.Vop1) << 9 | a) >>> 0;
    case Encoding.Vop2:
      return (numberOf(opcode, Encoding.Vop2) << 25 | d << 17 | second << 9 | a) >>> 0;
    case Encoding.Vopc:
      return (0x3e << 25 | numberOf(opcode, Encoding.Vopc) << 17 | second << 9 | a) >>> 0;
    default:
      throw new Error(`${opcode.name} has no 32-bit encoding`);
  }
}

/** VOP1, VOP2 or VOPC; -1 for operands that the opcode lacks. */
export function vop(opcode: Opcode, dst: number, a: number, b = -1, literal = 0): number[] {
  const word = vopWord(opcode, dst, a < 0 ? 0 : a, b);
  return a === Operand.Literal || opcode.words.has("literal") ? [word, literal >>> 0] : [word];
}

/** Fields of the SDWA word. Sources are vector registers or scalar operands. */
export interface SdwaFields {
  /** 0..3 bytes, 4..5 words, 6 dword; + 8 sign extension. */
  select: readonly [number, number];
  neg: number;
  abs: number;
  /** 0..6. */
  dstSelect: number;
  /** 0 pad, 1 sign extension, 2 preserve. */
  dstUnused: number;
  clamp: boolean;
  omod: number;
  /** VOPC: scalar destination, -1 for VCC. */
  sdst: number;
}

/** VOP1, VOP2 or VOPC with an SDWA word. */
export function sdwa(opcode: Opcode, dst: number, a: number, b: number, f: SdwaFields): number[] {
  const isVector = (code: number) => code >= Operand.Vgpr0;
  let extra = (isVector(a) ? reg(a) : a | 1 << 23) | f.select[0] << 16 | (f.neg & 1) << 20 | (f.abs & 1) << 21;
  // Source 1 stands in the first word; its bit 31 says that it is a scalar operand.
  const second = b < 0 || isVector(b) ? b : v(b);
  if (b >= 0) {
    extra |= f.select[1] << 24 | (f.neg >> 1 & 1) << 28 | (f.abs >> 1 & 1) << 29 | (isVector(b) ? 0 : 1 << 31);
  }
  if (opcode.encoding === Encoding.Vopc) extra |= f.sdst < 0 ? 0 : 1 << 15 | f.sdst << 8;
  else extra |= f.dstSelect << 8 | f.dstUnused << 11 | (f.clamp ? 1 << 13 : 0) | f.omod << 14;
  return [vopWord(opcode, dst, 0xf9, second), extra >>> 0];
}

/** Fields of the DPP16 word. */
export interface Dpp16Fields {
  control: number;
  rowMask: number;
  bankMask: number;
  boundCtrl: boolean;
  fetchInactive: boolean;
  neg: number;
  abs: number;
}

/** VOP1, VOP2 or VOPC with a DPP16 word. */
export function dpp16(opcode: Opcode, dst: number, a: number, b: number, f: Dpp16Fields): number[] {
  const extra = reg(a) | f.control << 8 | (f.fetchInactive ? 1 << 18 : 0) | (f.boundCtrl ? 1 << 19 : 0) |
    (f.neg & 1) << 20 | (f.abs & 1) << 21 | (f.neg >> 1 & 1) << 22 | (f.abs >> 1 & 1) << 23 |
    f.bankMask << 24 | f.rowMask << 28;
  return [vopWord(opcode, dst, 0xfa, b), extra >>> 0];
}

/** VOP1, VOP2 or VOPC with a DPP8 word; `selectors` holds 3 bits per lane of eight. */
export function dpp8(
  opcode: Opcode,
  dst: number,
  a: number,
  b: number,
  selectors: number,
  fetchInactive: boolean,
): number[] {
  return [vopWord(opcode, dst, fetchInactive ? 0xea : 0xe9, b), (reg(a) | selectors << 8) >>> 0];
}

/** Fields of VOP3. */
export interface Vop3Fields {
  /** Vector register or, for opcodes with a scalar destination, its number; -1 for none. */
  dst: number;
  /** Lane mask destination of VOP3B and comparisons; -1 for none. */
  sdst?: number;
  src: readonly number[];
  neg?: number;
  abs?: number;
  omod?: number;
  clamp?: boolean;
  opSel?: number;
  literal?: number;
}

/** VOP3. */
export function vop3(opcode: Opcode, f: Vop3Fields): number[] {
  const number = numberOf(opcode, Encoding.Vop3);
  const compare = number < 0x100;
  let low = 0x35 << 26 | number << 16;
  if (compare) low |= f.sdst ?? 0;
  else if (f.dst >= 0) low |= f.dst >= Operand.Vgpr0 ? reg(f.dst) : f.dst;
  if (!compare && f.sdst !== undefined && f.sdst >= 0) low |= f.sdst << 8;
  else low |= (f.abs ?? 0) << 8 | (f.opSel ?? 0) << 11;
  if (f.clamp) low |= 1 << 15;
  let high = (f.omod ?? 0) << 27 | (f.neg ?? 0) << 29;
  f.src.forEach((code, i) => high |= code << 9 * i);
  return withLiteral([low >>> 0, high >>> 0], f.literal ?? 0, ...f.src);
}

/** Fields of VOP3P. */
export interface Vop3pFields {
  dst: number;
  src: readonly number[];
  negLo?: number;
  negHi?: number;
  opSel?: number;
  opSelHi?: number;
  clamp?: boolean;
  literal?: number;
}

/** VOP3P. */
export function vop3p(opcode: Opcode, f: Vop3pFields): number[] {
  const opSelHi = f.opSelHi ?? 7;
  const low = 0x33 << 26 | numberOf(opcode, Encoding.Vop3p) << 16 | reg(f.dst) | (f.negHi ?? 0) << 8 |
    (f.opSel ?? 0) << 11 | (opSelHi >> 2 & 1) << 14 | (f.clamp ? 1 << 15 : 0);
  let high = (opSelHi & 3) << 27 | (f.negLo ?? 0) << 29;
  f.src.forEach((code, i) => high |= code << 9 * i);
  return withLiteral([low >>> 0, high >>> 0], f.literal ?? 0, ...f.src);
}

/** Fields of DS; vector registers, -1 for none. */
export interface DsFields {
  dst?: number;
  addr?: number;
  data?: number;
  data1?: number;
  /** 16 bits: the offset, or two of 8 bits. */
  offset?: number;
  gds?: boolean;
}

/** DS. */
export function ds(opcode: Opcode, f: DsFields): number[] {
  const field = (code: number | undefined) => code === undefined || code < 0 ? 0 : reg(code);
  const low = 0x36 << 26 | numberOf(opcode, Encoding.Ds) << 18 | (f.gds ? 1 << 17 : 0) | (f.offset ?? 0) & 0xffff;
  return [low >>> 0, (field(f.dst) << 24 | field(f.data1) << 16 | field(f.data) << 8 | field(f.addr)) >>> 0];
}

/** Fields of FLAT, SCRATCH and GLOBAL. */
export interface FlatFields {
  dst?: number;
  addr?: number;
  data?: number;
  /** First scalar register of the base; none when left out. */
  saddr?: number;
  /** Signed 12 bits. */
  offset?: number;
  glc?: boolean;
}

/** FLAT, SCRATCH, GLOBAL: the segment is the opcode's. */
export function flat(opcode: Opcode, f: FlatFields): number[] {
  const field = (code: number | undefined) => code === undefined || code < 0 ? 0 : reg(code);
  const low = 0x37 << 26 | numberOf(opcode, Encoding.Flat) << 18 | (f.glc ? 1 << 16 : 0) | opcode.segment << 14 |
    (f.offset ?? 0) & 0xfff;
  return [low >>> 0, (field(f.dst) << 24 | (f.saddr ?? 0x7d) << 16 | field(f.data) << 8 | field(f.addr)) >>> 0];
}

/** Fields of MUBUF and MTBUF. */
export interface BufferFields {
  /** Destination or stored register. */
  data: number;
  addr?: number;
  /** First scalar register of the V#. */
  srsrc: number;
  soffset?: number;
  /** 12 bits. */
  offset?: number;
  offen?: boolean;
  idxen?: boolean;
  glc?: boolean;
  /** MTBUF: unified format. */
  format?: number;
}

/** MUBUF and MTBUF. */
export function buffer(opcode: Opcode, f: BufferFields): number[] {
  const typed = opcode.encoding === Encoding.Mtbuf;
  const number = numberOf(opcode, opcode.encoding);
  const flags = (f.offen ? 1 << 12 : 0) | (f.idxen ? 1 << 13 : 0) | (f.glc ? 1 << 14 : 0) | (f.offset ?? 0) & 0xfff;
  const low = typed
    ? 0x3a << 26 | (f.format ?? 0) << 19 | (number & 7) << 16 | flags
    : 0x38 << 26 | number << 18 | flags;
  const address = f.addr === undefined || f.addr < 0 ? 0 : reg(f.addr);
  const high = (f.soffset ?? 128) << 24 | (typed ? number >> 3 << 21 : 0) | f.srsrc >> 2 << 16 | reg(f.data) << 8 |
    address;
  return [low >>> 0, high >>> 0];
}
