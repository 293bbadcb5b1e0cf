import { imageAddress, imageDataDwords } from "../image.ts";
import { Encoding, Flag, type Instruction, Operand } from "../instruction.ts";
import { type OpcodeIndex, OPCODES } from "../table.ts";
import type { Target } from "../target.ts";
import { noInstruction, truncated } from "./fail.ts";
import { findOpcode } from "./find_opcode.ts";
import { scalarSource, scalarTuple, vectorTuple } from "./operands.ts";

const DST_DWORDS = Uint8Array.from(OPCODES, (opcode) => opcode.dst[0]?.dwords ?? 0);
/** Whether the opcode takes an address, and the registers of its first and second datum. */
const HAS_ADDR = Uint8Array.from(OPCODES, (opcode) => opcode.src[0]?.kind === "addr" ? 1 : 0);
const DATA_DWORDS = Uint8Array.from(
  OPCODES,
  (opcode) => opcode.src.filter((type) => type.kind !== "addr")[0]?.dwords ?? 0,
);
const DATA1_DWORDS = Uint8Array.from(
  OPCODES,
  (opcode) => opcode.src.filter((type) => type.kind !== "addr")[1]?.dwords ?? 0,
);
const IS_ATOMIC = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("atomic") || opcode.image === "atomic" ? 1 : 0);
const IS_LOAD = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("load") ? 1 : 0);
/** Loads of at most 32 bits per lane, which can go to LDS instead of registers (AMD RDNA2 ISA, section 8.1.10). */
const HAS_LDS = Uint8Array.from(OPCODES, (opcode) => {
  if (!opcode.words.has("load") || opcode.dst[0]?.dwords !== 1) return 0;
  return opcode.words.has("d16") || opcode.words.has("d16hi") || opcode.words.has("wave") ? 0 : 1;
});
const IS_CACHE = Uint8Array.from(OPCODES, (opcode) => opcode.words.has("cache") ? 1 : 0);
const IS_BVH = Uint8Array.from(OPCODES, (opcode) => opcode.image === "bvh" ? 1 : 0);
/** MIMG: 1 has a sampler, 2 returns data always, 4 stores or updates. */
const IMAGE_SHAPE = Uint8Array.from(OPCODES, (opcode) => {
  switch (opcode.image) {
    case "sample":
    case "gather":
      return 3;
    case "load":
    case "resinfo":
    case "bvh":
      return 2;
    case "store":
    case "atomic":
      return 4;
    default:
      return 0;
  }
});

/** DS (AMD RDNA2 ISA, section 12.12). */
export function decodeDs(
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
  const op = findOpcode(words, at, Encoding.Ds, number, index, target, out, 2);
  out.imm = word & 0xffff;
  if (word >>> 17 & 1) out.flags |= Flag.Gds;
  if (HAS_ADDR[op] === 1) out.addr = Operand.Vgpr0 + (high & 0xff);
  if (DATA_DWORDS[op] > 0) out.data = vectorTuple(words, at, high >>> 8 & 0xff, DATA_DWORDS[op]);
  if (DATA1_DWORDS[op] > 0) out.data1 = vectorTuple(words, at, high >>> 16 & 0xff, DATA1_DWORDS[op]);
  if (DST_DWORDS[op] > 0) out.dst = vectorTuple(words, at, high >>> 24, DST_DWORDS[op]);
}

/** Code of SADDR for "no scalar base"; gfx10.3 scratch takes 127 as "neither base nor vector address". */
const SADDR_OFF = 0x7d;
const SADDR_NO_ADDRESS = 0x7f;

/** FLAT, SCRATCH, GLOBAL (AMD RDNA2 ISA, section 12.15). */
export function decodeFlat(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const high = words[at + 1];
  const number = word >>> 18 & 0x7f;
  const segment = word >>> 14 & 3;
  if (segment === 3) noInstruction(words, at, "FLAT segment 3 is reserved");
  const op = findOpcode(words, at, Encoding.Flat, segment * 128 + number, index, target, out, 2);
  out.mode = segment;
  out.imm = word << 20 >> 20;
  if (word >>> 12 & 1) out.flags |= Flag.Dlc;
  if (word >>> 16 & 1) out.flags |= Flag.Glc;
  if (word >>> 17 & 1) out.flags |= Flag.Slc;
  const saddr = high >>> 16 & 0x7f;
  const lds = word >>> 13 & 1;
  if (lds === 1) {
    if (segment === 0 || HAS_LDS[op] === 0) noInstruction(words, at, `${OPCODES[op].name} has no LDS form`);
    out.flags |= Flag.Lds;
  }
  let hasVector = HAS_ADDR[op] === 1;
  if (segment === 1) {
    if (saddr === SADDR_NO_ADDRESS && target === "gfx1030") hasVector = false;
    else if (saddr !== SADDR_OFF && saddr !== SADDR_NO_ADDRESS) {
      out.srsrc = saddr;
      hasVector = false;
    }
  } else if (segment === 2 && saddr !== SADDR_OFF && saddr !== SADDR_NO_ADDRESS) {
    out.srsrc = scalarTuple(words, at, saddr, 2);
  }
  if (hasVector) {
    // A 64-bit address without scalar base, a 32-bit offset with it; scratch addresses are 32-bit.
    const dwords = segment !== 1 && out.srsrc < 0 ? 2 : 1;
    out.addr = vectorTuple(words, at, high & 0xff, dwords);
  }
  if (DATA_DWORDS[op] > 0) out.data = vectorTuple(words, at, high >>> 8 & 0xff, DATA_DWORDS[op]);
  const returns = IS_ATOMIC[op] === 1 ? (out.flags & Flag.Glc) !== 0 : lds === 0;
  if (returns && DST_DWORDS[op] > 0) out.dst = vectorTuple(words, at, high >>> 24, DST_DWORDS[op]);
}

/** MUBUF (AMD RDNA2 ISA, section 12.13). */
export function decodeMubuf(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const number = word >>> 18 & 0xff;
  const op = findOpcode(words, at, Encoding.Mubuf, number, index, target, out);
  if (word >>> 16 & 1) {
    if (HAS_LDS[op] === 0) noInstruction(words, at, `${OPCODES[op].name} has no LDS form`);
    out.flags |= Flag.Lds;
  }
  decodeBufferFields(words, at, word, op, out);
}

/** MTBUF (AMD RDNA2 ISA, section 12.14). */
export function decodeMtbuf(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  if (at + 1 >= words.length) truncated(words, at);
  const number = word >>> 16 & 7 | (words[at + 1] >>> 21 & 1) << 3;
  const op = findOpcode(words, at, Encoding.Mtbuf, number, index, target, out);
  out.mode = word >>> 19 & 0x7f;
  decodeBufferFields(words, at, word, op, out);
}

function decodeBufferFields(words: Uint32Array, at: number, word: number, op: number, out: Instruction): void {
  const high = words[at + 1];
  out.size = 2;
  if (IS_CACHE[op] === 1) return;
  out.imm = word & 0xfff;
  if (word >>> 12 & 1) out.flags |= Flag.Offen;
  if (word >>> 13 & 1) out.flags |= Flag.Idxen;
  if (word >>> 14 & 1) out.flags |= Flag.Glc;
  if (word >>> 15 & 1) out.flags |= Flag.Dlc;
  if (high >>> 22 & 1) out.flags |= Flag.Slc;
  const tfe = high >>> 23 & 1;
  if (tfe === 1) out.flags |= Flag.Tfe;
  const addresses = (word >>> 12 & 1) + (word >>> 13 & 1);
  if (addresses > 0) out.addr = vectorTuple(words, at, high & 0xff, addresses);
  out.srsrc = scalarTuple(words, at, (high >>> 16 & 0x1f) * 4, 4);
  out.soffset = scalarSource(words, at, high >>> 24, 1);
  if (out.soffset === Operand.Literal) noInstruction(words, at, "a literal constant cannot be a buffer offset");
  const register = high >>> 8 & 0xff;
  if (DATA_DWORDS[op] > 0) out.data = vectorTuple(words, at, register, DATA_DWORDS[op]);
  const returns = IS_ATOMIC[op] === 1 ? (out.flags & Flag.Glc) !== 0 : (out.flags & Flag.Lds) === 0;
  if (returns && DST_DWORDS[op] > 0) {
    out.dst = vectorTuple(words, at, register, DST_DWORDS[op] + (IS_LOAD[op] === 1 ? tfe : 0));
  }
}

/** MIMG (AMD RDNA2 ISA, section 12.16); up to three more words hold non-sequential addresses. */
export function decodeMimg(
  words: Uint32Array,
  at: number,
  word: number,
  index: OpcodeIndex,
  target: Target,
  out: Instruction,
): void {
  const nsa = word >>> 1 & 3;
  if (at + 1 + nsa >= words.length) truncated(words, at);
  const high = words[at + 1];
  const number = word >>> 18 & 0x7f | (word & 1) << 7;
  const op = findOpcode(words, at, Encoding.Mimg, number, index, target, out, 2 + nsa);
  out.dim = word >>> 3 & 7;
  out.mode = word >>> 8 & 15;
  if (word >>> 7 & 1) out.flags |= Flag.Dlc;
  if (word >>> 12 & 1) out.flags |= Flag.Unorm;
  if (word >>> 13 & 1) out.flags |= Flag.Glc;
  if (word >>> 15 & 1) out.flags |= Flag.R128;
  if (word >>> 16 & 1) out.flags |= Flag.Tfe;
  if (word >>> 17 & 1) out.flags |= Flag.Lwe;
  if (word >>> 25 & 1) out.flags |= Flag.Slc;
  if (high >>> 30 & 1) out.flags |= Flag.A16;
  if (high >>> 31) out.flags |= Flag.D16;
  const shape = IMAGE_SHAPE[op];
  out.addr = Operand.Vgpr0 + (high & 0xff);
  const register = vectorTuple(words, at, high >>> 8 & 0xff, imageDataDwords(out));
  if (shape & 2) out.dst = register;
  if (shape & 4) out.data = register;
  if (IS_ATOMIC[op] === 1 && out.flags & Flag.Glc) out.dst = register;
  const resourceDwords = IS_BVH[op] === 1 || out.flags & Flag.R128 ? 4 : 8;
  out.srsrc = scalarTuple(words, at, (high >>> 16 & 0x1f) * 4, resourceDwords);
  if (shape & 1) out.soffset = scalarTuple(words, at, (high >>> 21 & 0x1f) * 4, 4);
  const { total } = imageAddress(out);
  if (nsa === 0) vectorTuple(words, at, high & 0xff, total);
  else {
    out.flags |= Flag.Nsa;
    const addresses: number[] = [];
    for (let i = 0; i < nsa * 4; i++) addresses.push(Operand.Vgpr0 + (words[at + 2 + (i >> 2)] >>> (i & 3) * 8 & 0xff));
    out.nsa = addresses;
    if (total > 1 + addresses.length) {
      noInstruction(words, at, `${OPCODES[op].name} needs ${total} addresses, and ${1 + addresses.length} are given`);
    }
  }
}

/** EXP (AMD RDNA2 ISA, section 12.18). */
export function decodeExp(words: Uint32Array, at: number, word: number, index: OpcodeIndex, out: Instruction): void {
  if (at + 1 >= words.length) truncated(words, at);
  const high = words[at + 1];
  out.op = index[Encoding.Exp][0];
  out.encoding = Encoding.Exp;
  out.size = 2;
  out.mode = word & 15;
  out.dim = word >>> 4 & 0x3f;
  if (word >>> 10 & 1) out.flags |= Flag.Compr;
  if (word >>> 11 & 1) out.flags |= Flag.Done;
  if (word >>> 12 & 1) out.flags |= Flag.ValidMask;
  out.src0 = Operand.Vgpr0 + (high & 0xff);
  out.src1 = Operand.Vgpr0 + (high >>> 8 & 0xff);
  out.src2 = Operand.Vgpr0 + (high >>> 16 & 0xff);
  out.src3 = Operand.Vgpr0 + (high >>> 24);
}
