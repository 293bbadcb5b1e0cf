/** Random machine code with known opcodes and plausible fields, for comparison with an oracle. */

import { Encoding } from "../../src/rdna/instruction.ts";
import { type Opcode, OPCODES, SourceClass } from "../../src/rdna/table.ts";
import { type Target, TARGETS } from "../../src/rdna/target.ts";

/** A small deterministic generator (xorshift32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  /** 32 random bits. */
  bits(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  /** Integer in 0..bound-1. */
  below(bound: number): number {
    return this.bits() % bound;
  }

  /** 1 in `n` times 1, else 0. */
  rarely(n: number): number {
    return this.below(n) === 0 ? 1 : 0;
  }
}

/** A scalar or constant source code that exists. */
function scalarCode(random: Random, wide: boolean): number {
  const kind = random.below(10);
  const even = (code: number) => wide ? code & ~1 : code;
  if (kind < 4) return even(random.below(104));
  if (kind === 4) return even(106 + random.below(2));
  if (kind === 5) return even(126 + random.below(2));
  if (kind === 6) return 128 + random.below(81);
  if (kind === 7) return 240 + random.below(9);
  if (kind === 8) return 255;
  return wide ? 125 : [124, 125, 253, 251, 252, 235, 236, 237, 238, 239][random.below(10)];
}

function vectorCode(random: Random, dwords: number): number {
  return random.below(257 - dwords);
}

function sourceCode(random: Random, dwords: number): number {
  if (random.below(3) > 0) return 256 + vectorCode(random, Math.max(dwords, 1));
  return scalarCode(random, dwords > 1);
}

/** One random encoding of `opcode` in `encoding`. Fields that the opcode does not use are 0, as LLVM demands. */
export function randomEncoding(opcode: Opcode, encoding: Encoding, random: Random, waveSize: 32 | 64): number[] {
  const number = opcode.numbers[encoding]!;
  const src = opcode.src.map((type) => type.kind === "mask" ? waveSize / 32 : type.dwords);
  const dst = opcode.dst.map((type) => type.kind === "mask" ? waveSize / 32 : type.dwords);
  const scalarRegister = (dwords: number) => random.below(Math.floor(100 / dwords)) * dwords;
  const literal = () => random.below(2) === 0 ? random.bits() : random.below(256) - 64 >>> 0;
  const withLiteral = (words: number[], ...codes: number[]) => codes.includes(255) ? [...words, literal()] : words;
  switch (encoding) {
    case Encoding.Sop2: {
      const [a, b] = [scalarCode(random, src[0] > 1), scalarCode(random, src[1] > 1)];
      return withLiteral([(2 << 30 | number << 23 | scalarRegister(dst[0]) << 16 | b << 8 | a) >>> 0], a, b);
    }
    case Encoding.Sop1: {
      const register = opcode.srcClass[0] === SourceClass.ScalarRegister;
      const a = src.length === 0 ? 0 : register ? random.below(52) * 2 : scalarCode(random, src[0] > 1);
      const d = dst.length > 0 ? scalarRegister(dst[0]) : 0;
      return withLiteral([(0x17d << 23 | d << 16 | number << 8 | a) >>> 0], a);
    }
    case Encoding.Sopc: {
      const [a, b] = [scalarCode(random, src[0] > 1), scalarCode(random, src[1] > 1)];
      return withLiteral([(0x17e << 23 | number << 16 | b << 8 | a) >>> 0], a, b);
    }
    case Encoding.Sopk: {
      const register = opcode.dst.length > 0
        ? scalarRegister(dst[0])
        : src.length > 1 && !opcode.words.has("literal")
        ? random.below(100)
        : 0;
      const words = [(0xb << 28 | number << 23 | register << 16 | random.below(65536)) >>> 0];
      return opcode.words.has("literal") ? [...words, literal()] : words;
    }
    case Encoding.Sopp:
      return [(0x17f << 23 | number << 16 | (src.length > 0 ? random.below(65536) : 0)) >>> 0];
    case Encoding.Smem:
      return randomSmem(opcode, number, random, scalarRegister);
    case Encoding.Vop1:
    case Encoding.Vop2:
    case Encoding.Vopc:
      return randomVop(opcode, encoding, number, src, random, literal);
    case Encoding.Vop3:
    case Encoding.Vop3p:
      return randomVop3(opcode, encoding, number, src, dst, random, literal, waveSize);
    case Encoding.Vintrp:
      return [
        (0x32 << 26 | random.below(256) << 18 | number << 16 | random.below(64) << 10 | random.below(4) << 8 |
          (src.length > 0 ? random.below(256) : random.below(3))) >>> 0,
      ];
    default:
      return randomMemory(opcode, encoding, number, random);
  }
}

function randomSmem(
  opcode: Opcode,
  number: number,
  random: Random,
  scalarRegister: (dwords: number) => number,
): number[] {
  const address = opcode.src[0]?.kind === "addr";
  const dwords = Math.max(opcode.src[1]?.dwords ?? 0, opcode.dst[0]?.dwords ?? 0);
  const atomic = opcode.words.has("atomic");
  const data = dwords > 0
    ? scalarRegister(Math.min(dwords, 4) === 3 ? 4 : dwords >= 4 ? 4 : dwords)
    : opcode.name.startsWith("s_atc")
    ? random.below(8)
    : 0;
  const base = address ? opcode.words.has("buffer") ? random.below(24) * 2 : random.below(48) : 0;
  const cached = address && !opcode.words.has("cache");
  const glc = cached ? random.below(2) : 0;
  const dlc = cached && !atomic ? random.rarely(4) : 0;
  const fit = dwords > 4 ? data % 80 & ~3 : data;
  const low = 0x3d << 26 | number << 18 | glc << 16 | dlc << 14 | fit << 6 | base;
  const high = address
    ? (random.below(3) > 0 ? 0x7d : random.below(100)) << 25 | random.bits() >>> 11 >>> random.below(20)
    : 0;
  return [low >>> 0, high >>> 0];
}

function randomVop(
  opcode: Opcode,
  encoding: Encoding,
  number: number,
  src: number[],
  random: Random,
  literal: () => number,
): number[] {
  const dwords = opcode.dst.find((type) => type.kind !== "mask")?.dwords ?? 0;
  const d = dwords === 0 ? 0 : opcode.scalarDst ? random.below(100) : vectorCode(random, dwords);
  const b = src.length > 1 ? vectorCode(random, Math.max(src[1], 1)) : 0;
  const base = encoding === Encoding.Vop1
    ? 0x3f << 25 | d << 17 | number << 9
    : encoding === Encoding.Vop2
    ? number << 25 | d << 17 | b << 9
    : 0x3e << 25 | number << 17 | b << 9;
  const form = random.below(4);
  if (form === 1 && opcode.sdwa) return [(base | 0xf9) >>> 0, randomSdwa(opcode, encoding, random)];
  if (form === 2 && opcode.dpp && encoding !== Encoding.Vopc) {
    if (random.below(2) === 0) return [(base | 0xe9 + random.below(2)) >>> 0, random.bits()];
    return [(base | 0xfa) >>> 0, randomDpp(opcode, random)];
  }
  let a = src.length > 0 ? sourceCode(random, src[0]) : 0;
  if (opcode.srcClass[0] === SourceClass.Vector) a = 256 + random.below(256);
  const words = [(base | a) >>> 0];
  return a === 255 || opcode.words.has("literal") ? [...words, literal()] : words;
}

function randomSdwa(opcode: Opcode, encoding: Encoding, random: Random): number {
  const two = opcode.src.length > 1;
  const float = opcode.src[0].kind === "f";
  const modifier = (shift: number) => float ? random.below(4) << shift + 1 : random.rarely(2) << shift;
  const scalar = random.rarely(3);
  let word = (scalar ? random.below(100) : random.below(256)) | scalar << 23 | random.below(7) << 16 | modifier(19);
  if (two) word |= random.below(7) << 24 | modifier(27);
  if (encoding === Encoding.Vopc) {
    if (opcode.name.startsWith("v_cmp_") && random.below(2) === 0) word |= 1 << 15 | random.below(50) * 2 << 8;
  } else {
    word |= random.below(7) << 8 | random.below(3) << 11 | random.rarely(4) << 13;
    if (opcode.dst[0].kind === "f") word |= random.below(4) << 14;
  }
  return word >>> 0;
}

function randomDpp(opcode: Opcode, random: Random): number {
  const controls = [
    random.below(256),
    0x101 + random.below(15),
    0x111 + random.below(15),
    0x121 + random.below(15),
    0x140,
    0x141,
    0x150 + random.below(32),
  ];
  const float = opcode.src[0].kind === "f" ? random.below(4) : 0;
  const second = opcode.src.length > 1 && opcode.src[1].kind === "f" ? random.below(4) : 0;
  return (random.below(256) | controls[random.below(7)] << 8 | random.below(2) << 18 | random.below(2) << 19 |
    float << 20 | second << 22 |
    random.below(256) << 24) >>> 0;
}

function randomVop3(
  opcode: Opcode,
  encoding: Encoding,
  number: number,
  src: number[],
  dst: number[],
  random: Random,
  literal: () => number,
  waveSize: 32 | 64,
): number[] {
  const compare = encoding === Encoding.Vop3 && number < 0x100;
  const interp = opcode.words.has("interp");
  const masks = opcode.dst.findIndex((type) => type.kind === "mask");
  const vectorDwords = opcode.dst.find((type) => type.kind !== "mask")?.dwords ?? 0;
  const pairs = waveSize / 32;
  const mask = () => random.below(50) * pairs;
  let d = vectorDwords === 0 ? 0 : opcode.scalarDst ? random.below(100) : vectorCode(random, vectorDwords);
  if (compare) d = opcode.name.startsWith("v_cmpx_") ? 0x7e : mask();
  const codes = src.map((dwords, i) => {
    if (opcode.src[i].kind === "mask") return mask();
    if (opcode.srcClass[i] === SourceClass.Vector) return 256 + vectorCode(random, dwords);
    return opcode.srcClass[i] === SourceClass.Scalar ? scalarCode(random, false) : sourceCode(random, dwords);
  });
  let low = (encoding === Encoding.Vop3 ? 0x35 << 26 : 0x33 << 26) | number << 16 | d;
  let high = 0;
  if (interp) {
    codes.length = 0;
    high = random.below(256) | (src.length > 0 ? 256 + random.below(256) : random.below(3)) << 9;
    if (src.length > 1) high |= 256 + random.below(256) << 18;
    if (opcode.name.includes("f16")) high |= random.below(2) << 8;
  }
  codes.forEach((code, i) => high |= code << 9 * i);
  if (masks >= 0 && !compare) low |= mask() << 8;
  const floats = opcode.src.map((type, i) => type.kind === "f" ? 1 << i : 0).reduce((a, b) => a | b, 0) <<
    (interp ? 1 : 0);
  if (encoding === Encoding.Vop3p) {
    low |= random.below(8) << 11 & (src.length > 2 ? 0x3800 : 0x1800) | random.rarely(4) << 15 | random.below(2) << 14;
    high |= random.below(4) << 27;
    if (opcode.src[0].kind === "f") {
      low |= random.below(1 << src.length) << 8;
      high |= random.below(1 << src.length) << 29;
    }
    if (src.length < 3) low |= 1 << 14;
  } else {
    if (opcode.words.has("opsel") && !WITHOUT_OP_SEL_IN_LLVM.test(opcode.name)) {
      low |= random.below(opcode.name.startsWith("v_perm") ? 4 : 16) << 11;
    }
    if (dst.length < 2 || compare) low |= random.below(8) << 8 & floats << 8;
    high |= random.below(8) << 29 & floats << 29;
    if (opcode.dst[0]?.kind === "f" && opcode.src[0]?.kind === "f") high |= random.below(4) << 27;
    if (floats !== 0 || opcode.dst[0]?.kind === "f") low |= random.rarely(3) << 15;
  }
  const words = [low >>> 0, high >>> 0];
  return codes.includes(255) ? [...words, literal()] : words;
}

function randomMemory(opcode: Opcode, encoding: Encoding, number: number, random: Random): number[] {
  const data = opcode.src.filter((type) => type.kind !== "addr");
  const d = (type: { dwords: number } | undefined) => type === undefined ? 0 : vectorCode(random, type.dwords);
  const address = opcode.src[0]?.kind === "addr";
  switch (encoding) {
    case Encoding.Ds: {
      const low = 0x36 << 26 | number << 18 | random.rarely(8) << 17 | (random.below(2) ? random.below(65536) : 0);
      return [
        low >>> 0,
        (d(opcode.dst[0]) << 24 | d(data[1]) << 16 | d(data[0]) << 8 | (address ? random.below(256) : 0)) >>> 0,
      ];
    }
    case Encoding.Flat: {
      const offset = opcode.segment === 0 ? 0 : random.below(4096);
      const low = 0x37 << 26 | number << 18 | random.rarely(4) << 17 | random.below(2) << 16 | opcode.segment << 14 |
        random.rarely(4) << 12 | offset;
      const saddr = opcode.segment === 0 || random.below(2) ? 0x7d : random.below(50) * 2;
      const offScratch = opcode.segment === 1 && saddr !== 0x7d;
      const returns = opcode.dst.length > 0 && (!opcode.words.has("atomic") || low >>> 16 & 1);
      const v = returns ? d(opcode.dst[0]) : 0;
      return [
        low >>> 0,
        (v << 24 | saddr << 16 | d(data[0]) << 8 | (address && !offScratch ? random.below(255) : 0)) >>> 0,
      ];
    }
    case Encoding.Mubuf:
    case Encoding.Mtbuf: {
      if (opcode.words.has("cache")) return [(0x38 << 26 | number << 18) >>> 0, 0];
      const bits = random.bits();
      const typed = encoding === Encoding.Mtbuf;
      const low = typed
        ? 0x3a << 26 | (number & 7) << 16 | random.below(128) << 19 | bits & 0xffff
        : 0x38 << 26 | number << 18 | bits & 0xffff;
      const indexed = (low >>> 12 & 1) + (low >>> 13 & 1);
      const tfe = opcode.words.has("load") ? random.rarely(6) : 0;
      const type = data[0] ?? opcode.dst[0];
      const v = vectorCode(random, type.dwords + tfe);
      const soffset = random.below(3) ? random.below(104) : 128 + random.below(65);
      const high = soffset << 24 | tfe << 23 | random.rarely(4) << 22 | (typed ? number >> 3 << 21 : 0) |
        random.below(25) << 16 | v << 8 |
        (indexed > 0 ? random.below(254) : 0);
      return [low >>> 0, high >>> 0];
    }
    case Encoding.Mimg:
      return randomImage(opcode, number, random);
    case Encoding.Exp: {
      const target = random.below(64);
      const words = [
        (0x3e << 26 | random.below(2) << 12 | random.below(2) << 11 | target << 4 | random.below(16)) >>> 0,
        random.bits(),
      ];
      if (random.rarely(4)) {
        // Compressed exports enable components in pairs, and use two registers.
        words[0] = (words[0] & ~15 | 1 << 10 | [0, 3, 12, 15][random.below(4)]) >>> 0;
        words[1] &= 0xffff;
      }
      return words;
    }
    default:
      throw new Error(`no random code for encoding ${encoding}`);
  }
}

function randomImage(opcode: Opcode, number: number, random: Random): number[] {
  const sampled = opcode.image === "sample" || opcode.image === "gather";
  // Three words hold addresses enough for every opcode.
  const nsa = random.rarely(3) * 3;
  const bits = random.bits();
  const dmask = opcode.image === "gather"
    ? 1 << random.below(4)
    : opcode.image === "atomic"
    ? opcode.name.endsWith("cmpswap") ? 3 : [1, 3][random.below(2)]
    : random.below(15) + 1;
  const tfe = opcode.image === "load" || sampled ? random.rarely(5) : 0;
  let low = 0x3c << 26 | (number & 0x7f) << 18 | number >> 7 | nsa << 1 |
    random.below(sampled || opcode.words.has("mip") ? 6 : 8) << 3 |
    dmask << 8 | bits & 0x3000 | tfe << 16;
  let high = (sampled ? random.below(25) << 21 : 0) | random.below(24) << 16 | random.below(240) << 8 |
    random.below(240) | random.rarely(4) << 30;
  if ((sampled && tfe === 0) || opcode.image === "load" || opcode.image === "store") high |= random.rarely(5) << 31;
  if (opcode.image === "bvh") {
    low = 0x3c << 26 | (number & 0x7f) << 18 | number >> 7 | nsa << 1 | 15 << 8 | 1 << 12 | 1 << 15;
  }
  const words = [low >>> 0, high >>> 0];
  for (let i = 0; i < nsa; i++) words.push(random.bits());
  return words;
}

/** Every opcode of the target in each of its encodings. */
export function encodingsOf(target: Target): { opcode: Opcode; encoding: Encoding }[] {
  const bit = TARGETS.indexOf(target);
  return OPCODES.filter((opcode) => opcode.targets >> bit & 1).flatMap((opcode) =>
    Object.keys(opcode.numbers).map((encoding) => ({ opcode, encoding: Number(encoding) as Encoding }))
  );
}

/**
 * 16-bit operations of VOP3 whose op_sel LLVM neither prints nor takes on gfx10. The hardware has it: Mesa's ACO, whose code is tested on it, uses it there
 * (aco_ir.cpp, can_use_opsel); tests/fuzz draws it.
 */
const WITHOUT_OP_SEL_IN_LLVM = /^v_(mul_lo_u16|lshlrev_b16|lshrrev_b16|ashrrev_i16|max_[ui]16|min_[ui]16)$/;
