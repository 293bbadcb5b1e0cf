/** Where instructions come from: decoded on first use and kept, for one dispatch. */
import { GuestFaultError, hex } from "../../../errors.ts";
import { decode } from "../../decode.ts";
import type { Instruction } from "../../instruction.ts";
import type { Target } from "../../target.ts";

/** A run of machine code in guest memory. */
export interface CodeSegment {
  /** Guest address of the first word, signed 64-bit, a multiple of 4. */
  readonly base: number;
  /** The words. */
  readonly words: Uint32Array;
}

/** Finds the executable memory around an address (signed 64-bit); undefined where nothing can be executed. */
export type CodeFinder = (address: number) => CodeSegment | undefined;

/** Decoded instructions of a segment, by word. */
interface DecodedSegment extends CodeSegment {
  readonly decoded: (Instruction | undefined)[];
}

/** The code that a dispatch can reach. Program counters are byte offsets from the program's entry (negative before it). */
export class Code {
  readonly #segments: DecodedSegment[] = [];
  #current: DecodedSegment | undefined;

  /**
   * @param entry guest address of the first instruction, signed 64-bit
   * @param target the machine code's variant
   */
  constructor(readonly entry: number, readonly target: Target, private readonly find: CodeFinder) {}

  /** The instruction at a program counter. @throws InvalidInputError for words that are none, GuestFaultError where there is no code. */
  at(pc: number): Instruction {
    let segment = this.#current;
    let index = segment === undefined ? -1 : (this.entry + pc - segment.base) / 4;
    if (segment === undefined || !(index >= 0 && index < segment.words.length)) {
      segment = this.#current = this.#segmentOf(pc);
      index = (this.entry + pc - segment.base) / 4;
    }
    return segment.decoded[index] ?? this.#decode(segment, index);
  }

  /** Number of different instructions that were executed. */
  get instructions(): number {
    return this.#segments.reduce((sum, { decoded }) => sum + decoded.filter((each) => each !== undefined).length, 0);
  }

  /** The words of an instruction, for messages. */
  words(instruction: Instruction): number[] {
    const segment = this.#segmentOf(instruction.pc);
    const index = (this.entry + instruction.pc - segment.base) / 4;
    return [...segment.words.subarray(index, index + instruction.size)];
  }

  #decode(segment: DecodedSegment, index: number): Instruction {
    if (!Number.isInteger(index)) throw noCode(this.entry + index * 4, "a program counter is a multiple of 4");
    const instruction = decode(segment.words, index * 4, this.target);
    instruction.pc = segment.base + index * 4 - this.entry;
    return segment.decoded[index] = instruction;
  }

  #segmentOf(pc: number): DecodedSegment {
    const address = this.entry + pc;
    const inside = ({ base, words }: CodeSegment) => address >= base && address < base + words.length * 4;
    let segment = this.#segments.find(inside);
    if (segment !== undefined) return segment;
    const found = Number.isSafeInteger(address) ? this.find(address) : undefined;
    if (found === undefined || !inside(found)) throw noCode(address, "nothing there can be executed");
    segment = { ...found, decoded: [] };
    this.#segments.push(segment);
    return segment;
  }
}

function noCode(address: number, why: string): GuestFaultError {
  const guestAddress = BigInt.asUintN(64, BigInt(address));
  return new GuestFaultError("interpreter.no-code", `the program runs to ${hex(guestAddress)}: ${why}`, {
    guestAddress,
  });
}
