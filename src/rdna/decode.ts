import { InvalidInputError } from "../errors.ts";
import { noInstruction, truncated } from "./decode/fail.ts";
import { decodeDs, decodeExp, decodeFlat, decodeMimg, decodeMtbuf, decodeMubuf } from "./decode/memory.ts";
import { decodeScalar, decodeSmem } from "./decode/scalar.ts";
import { decodeVintrp, decodeVop, decodeVop3, decodeVop3p } from "./decode/vector.ts";
import { Encoding, Extra, Instruction } from "./instruction.ts";
import { opcodeIndex } from "./table.ts";
import type { Target } from "./target.ts";

/**
 * Decodes the instruction at byte offset `pcBytes` of a program.
 *
 * Fields that an opcode does not use are ignored (compilers leave 0x80 in an unused src2); register numbers and codes that are used must exist.
 *
 * @param words The program, as 32-bit words in guest (little-endian) order.
 * @param pcBytes Byte offset of the instruction, a multiple of 4.
 * @param target The GPU variant: it decides what the numbers mean that gfx10.1 and gfx10.3 use differently.
 * @param out Instruction to overwrite and return; a new one without it.
 * @throws InvalidInputError `rdna.no-instruction` for words that are no instruction of the target, `rdna.truncated` where the program ends
 * inside the instruction, `rdna.misaligned` for an offset that is no multiple of 4. Each has the pc and the words.
 */
export function decode(
  words: Uint32Array,
  pcBytes: number,
  target: Target,
  out: Instruction = new Instruction(),
): Instruction {
  if (pcBytes % 4 !== 0) {
    throw new InvalidInputError("rdna.misaligned", "an instruction starts at a multiple of 4 bytes", { pc: pcBytes });
  }
  const at = pcBytes / 4;
  if (at < 0 || at >= words.length) truncated(words, at);
  const word = words[at];
  const index = opcodeIndex(target);
  reset(out);
  out.pc = pcBytes;
  if (word >>> 31 === 0) decodeVop(words, at, word, index, target, out);
  else if (word >>> 30 === 2) decodeScalar(words, at, word, index, target, out);
  else {
    switch (word >>> 26) {
      case 0x32:
        decodeVintrp(words, at, word, index, target, out);
        break;
      case 0x33:
        decodeVop3p(words, at, word, index, target, out);
        break;
      case 0x35:
        decodeVop3(words, at, word, index, target, out);
        break;
      case 0x36:
        decodeDs(words, at, word, index, target, out);
        break;
      case 0x37:
        decodeFlat(words, at, word, index, target, out);
        break;
      case 0x38:
        decodeMubuf(words, at, word, index, target, out);
        break;
      case 0x3a:
        decodeMtbuf(words, at, word, index, target, out);
        break;
      case 0x3c:
        decodeMimg(words, at, word, index, target, out);
        break;
      case 0x3d:
        decodeSmem(words, at, word, index, target, out);
        break;
      case 0x3e:
        decodeExp(words, at, word, index, out);
        break;
      default:
        noInstruction(words, at, `the prefix 0x${(word >>> 26).toString(16)} (bits 31:26) is no encoding`);
    }
  }
  return out;
}

function reset(out: Instruction): void {
  out.size = 1;
  out.op = 0;
  out.encoding = Encoding.Sopp;
  out.dst = -1;
  out.sdst = -1;
  out.src0 = -1;
  out.src1 = -1;
  out.src2 = -1;
  out.src3 = -1;
  out.literal = 0;
  out.imm = 0;
  out.flags = 0;
  out.neg = 0;
  out.abs = 0;
  out.omod = 0;
  out.opSel = 0;
  out.opSelHi = 0;
  out.extra = Extra.None;
  out.control = 0;
  out.masks = 0xff;
  out.addr = -1;
  out.data = -1;
  out.data1 = -1;
  out.srsrc = -1;
  out.soffset = -1;
  out.mode = 0;
  out.dim = 0;
  out.nsa = null;
}
