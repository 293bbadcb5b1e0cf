import { Encoding, type Instruction, Operand } from "../instruction.ts";
import { OPCODES, SourceClass } from "../table.ts";
import { noInstruction } from "./fail.ts";

/**
 * Which 9-bit source codes exist (AMD RDNA2 ISA, section 3, "Scalar and vector operand codes"): bit 0 for scalar instructions, bit 1 for
 * vector instructions. Codes 233, 234, 249 and 250 announce DPP8, DPP16 and SDWA words and are no operands.
 */
const SOURCE_EXISTS = new Uint8Array(512);
for (let code = 0; code < 512; code++) {
  const scalar = code <= 208 || (code >= 235 && code <= 248) || (code >= 251 && code <= 253) || code === 255;
  SOURCE_EXISTS[code] = (scalar ? 3 : 0) | (code === Operand.LdsDirect || code >= 256 ? 2 : 0);
}

/** Checks a source of a scalar instruction; `dwords` is its width. Returns the code. */
export function scalarSource(words: Uint32Array, at: number, code: number, dwords: number): number {
  if ((SOURCE_EXISTS[code] & 1) === 0) noInstruction(words, at, `scalar source ${code} is reserved`);
  if (dwords > 1 && code < 128) checkScalarTuple(words, at, code, dwords);
  return code;
}

/** Checks a source of a vector instruction; `dwords` is its width. Returns the code. */
export function vectorSource(words: Uint32Array, at: number, code: number, dwords: number): number {
  if ((SOURCE_EXISTS[code] & 2) === 0) noInstruction(words, at, `source ${code} is reserved`);
  if (dwords > 1) {
    if (code < 128) checkScalarTuple(words, at, code, dwords);
    else if (code + dwords > 512) noInstruction(words, at, `a source of ${dwords} registers starts at v${code - 256}`);
  }
  return code;
}

/** Op ids with a source that may be less than the encoding admits. */
const RESTRICTED = Uint8Array.from(
  OPCODES,
  (opcode) => opcode.srcClass.some((kind) => kind !== SourceClass.Any) ? 1 : 0,
);

/** Checks the sources of `out` against what its opcode admits. */
export function checkSourceClasses(words: Uint32Array, at: number, out: Instruction): void {
  if (RESTRICTED[out.op] === 0) return;
  const { name, srcClass } = OPCODES[out.op];
  srcClass.forEach((kind, i) => {
    const code = i === 0 ? out.src0 : i === 1 ? out.src1 : out.src2;
    if (kind === SourceClass.Vector && code < Operand.Vgpr0 && code !== Operand.LdsDirect) {
      noInstruction(words, at, `source ${i} of ${name} is no vector register`);
    }
    if (kind >= SourceClass.Scalar && code >= Operand.Vgpr0) {
      noInstruction(words, at, `source ${i} of ${name} is no scalar`);
    }
    if (kind === SourceClass.ScalarRegister && code > 127) {
      noInstruction(words, at, `source ${i} of ${name} is no scalar register`);
    }
  });
}

/** Sources (bits) to which negate and absolute value apply: floats, and the plain bits of v_mov_b32 and v_cndmask_b32. */
const MODIFIABLE = Uint8Array.from(OPCODES, (opcode) => {
  const plain = opcode.name === "v_mov_b32" || opcode.name === "v_cndmask_b32";
  return opcode.src.reduce(
    (bits, type, i) => bits | (type.kind === "f" || (plain && type.kind === "b") ? 1 << i : 0),
    0,
  );
});
const SOURCE_BITS = Uint8Array.from(OPCODES, (opcode) => (1 << opcode.src.length) - 1);

/** Opcodes whose encoding has modifier fields that do not act on every source: packed, half-selecting, and with a float source beside others. */
const TOLERANT = Uint8Array.from(
  OPCODES,
  (opcode) =>
    opcode.encoding === Encoding.Vop3p || opcode.words.has("opsel") || opcode.src.some((type) => type.kind === "f")
      ? 1
      : 0,
);

/**
 * Drops modifiers where they do not act. An opcode without any float source has no such fields: set bits are refused. VOP3P keeps the bits of
 * all its sources.
 */
export function checkModifiers(words: Uint32Array, at: number, out: Instruction): void {
  const used = SOURCE_BITS[out.op];
  const acting = out.encoding === Encoding.Vop3p ? used : MODIFIABLE[out.op];
  if (((out.neg | out.abs) & used & ~acting) !== 0 && TOLERANT[out.op] === 0) {
    noInstruction(words, at, `${OPCODES[out.op].name} takes no negate or absolute value`);
  }
  out.neg &= acting;
  out.abs &= acting;
}

/** Checks a vector register tuple and returns its operand code (256 + number). */
export function vectorTuple(words: Uint32Array, at: number, register: number, dwords: number): number {
  if (register + dwords > 256) noInstruction(words, at, `an operand of ${dwords} registers starts at v${register}`);
  return Operand.Vgpr0 + register;
}

/** Checks a scalar register tuple (a destination, or the data of a scalar memory access) and returns its number. */
export function scalarTuple(words: Uint32Array, at: number, register: number, dwords: number): number {
  if (dwords > 1) checkScalarTuple(words, at, register, dwords);
  return register;
}

/**
 * Pairs start at an even register, larger tuples at a multiple of four (AMD RDNA2 ISA, section 3.6, "SGPR alignment"), and a tuple lies in one
 * of the ranges SGPR, VCC, TTMP, NULL, EXEC.
 */
function checkScalarTuple(words: Uint32Array, at: number, register: number, dwords: number): void {
  const alignment = dwords === 2 ? 2 : 4;
  // NULL (125) stands for a tuple of any size.
  if (register === Operand.Null) return;
  if (register % alignment !== 0) {
    noInstruction(words, at, `an operand of ${dwords} scalar registers starts at ${register}`);
  }
  const last = register + dwords - 1;
  const fits = last <= 105 || (dwords === 2 && (register === Operand.Vcc || register === Operand.Exec)) ||
    (register >= 108 && last <= 123);
  if (!fits) noInstruction(words, at, `an operand of ${dwords} scalar registers starts at ${register}`);
}
