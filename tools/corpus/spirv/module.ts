import { InvalidInputError, UsageError } from "../../../src/errors.ts";
import { HEADER_WORDS, MAGIC } from "./numbers.ts";

/** A SPIR-V module: its words, checked only as far as walking them needs. */
export class SpirvModule {
  /** All words, little-endian. */
  readonly words: Uint32Array;
  /** Where it came from, for messages. */
  readonly file: string;

  /**
   * @param words the module
   * @param file named in errors
   * @throws {InvalidInputError} `spirv.no-module` without the magic number, `spirv.instruction` when an instruction does not fit
   */
  constructor(words: Uint32Array, file = "module") {
    this.words = words;
    this.file = file;
    if (words.length < HEADER_WORDS || words[0] !== MAGIC) {
      throw new InvalidInputError("spirv.no-module", "this is no little-endian SPIR-V module", { file, fileOffset: 0 });
    }
    for (let at = HEADER_WORDS; at < words.length; at += words[at] >>> 16) {
      const length = words[at] >>> 16;
      if (length === 0 || at + length > words.length) {
        this.fail(at, "spirv.instruction", `an instruction of ${length} words, ${words.length - at} are left`);
      }
    }
  }

  /** Version as in the header: 0x00010500 is 1.5. */
  get version(): number {
    return this.words[1];
  }

  /** All ids are below it. */
  get bound(): number {
    return this.words[3];
  }

  /** Opcode of the instruction at a word. */
  opcode(at: number): number {
    return this.words[at] & 0xffff;
  }

  /** Words of the instruction at a word. */
  length(at: number): number {
    return this.words[at] >>> 16;
  }

  /** Word index of each instruction, in order. */
  *instructions(): Generator<number> {
    const { words } = this;
    for (let at = HEADER_WORDS; at < words.length; at += words[at] >>> 16) yield at;
  }

  /** Operand `index` (1 is the first word after the opcode) of the instruction at a word. */
  operand(at: number, index: number): number {
    if (index >= this.length(at)) this.fail(at, "spirv.operand", `opcode ${this.opcode(at)} has no operand ${index}`);
    return this.words[at + index];
  }

  /** Operands from `index` to the end of the instruction. */
  operands(at: number, index: number): Uint32Array {
    return this.words.subarray(at + index, at + this.length(at));
  }

  /** Literal string that starts at operand `index`; and the operand behind it. */
  text(at: number, index: number): { text: string; next: number } {
    const words = this.operands(at, index);
    const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    const end = bytes.indexOf(0);
    if (end < 0) this.fail(at, "spirv.string", "a string without an end");
    return { text: new TextDecoder().decode(bytes.subarray(0, end)), next: index + (end >>> 2) + 1 };
  }

  /** Throws an error that names the file and the offset of the instruction. */
  fail(at: number, code: string, message: string): never {
    throw new InvalidInputError(code, message, { file: this.file, fileOffset: at * 4 });
  }
}

/**
 * Reads a file as a module.
 *
 * @throws {UsageError} `usage.file` when it cannot be read
 */
export function readModule(file: string): SpirvModule {
  let bytes: Uint8Array;
  try {
    bytes = Deno.readFileSync(file);
  } catch (error) {
    throw new UsageError("usage.file", `the file cannot be read: ${error instanceof Error ? error.message : error}`, {
      file,
    });
  }
  return moduleOf(bytes, file);
}

/** The module in these bytes; a copy is made when they are not aligned. */
export function moduleOf(bytes: Uint8Array, file: string): SpirvModule {
  if (bytes.length % 4 !== 0) {
    throw new InvalidInputError("spirv.size", `${bytes.length} bytes are no whole number of words`, {
      file,
      fileOffset: bytes.length,
    });
  }
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new SpirvModule(new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4), file);
}
