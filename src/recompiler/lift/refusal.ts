import { type AnyAgcError, hex, InvalidInputError, RefusedError } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { OPCODES } from "../../rdna/table.ts";
import type { RecompileRequest } from "../request.ts";

/** Thrown by a handler to give up one instruction; the lift notes it and goes on, so that one error names everything that is refused. */
export class Refusal extends Error {
  override name = "Refusal";
}

/** Gives up the current instruction. @param why completes "refused: v_foo_b32, ...". */
export function refuse(why: string): never {
  throw new Refusal(why);
}

/** One refused instruction. */
export interface RefusedInstruction {
  mnemonic: string;
  pc: number;
  why: string;
  words: number[];
}

/** Notes what is refused in a program. */
export class RefusalList {
  readonly items: RefusedInstruction[] = [];

  constructor(private readonly request: RecompileRequest) {}

  /** Adds an instruction. */
  add(instruction: Instruction, why: string): void {
    const { pc, size, op } = instruction;
    // Inlined code comes by several times.
    if (this.items.some((item) => item.pc === pc && item.why === why)) return;
    const words = [...this.request.code.subarray(pc / 4, pc / 4 + size)];
    this.items.push({ mnemonic: OPCODES[op].name, pc, why, words });
  }

  /**
   * Throws one error for everything noted, if anything was.
   *
   * @param before what was refused of the program's control flow
   */
  throwIfAny(before: readonly AnyAgcError[]): void {
    throwRefusals([...before, ...this.items.map((item) => this.errorOf(item))], this.request);
  }

  private errorOf({ mnemonic, pc, why, words }: RefusedInstruction): RefusedError {
    return new RefusedError("recompiler.unsupported-instruction", `${mnemonic}: ${why}`, { pc, words });
  }
}

/** Throws one error for all refusals of a program, in the order of their places, if there are any. One alone is thrown as it is. */
export function throwRefusals(refusals: readonly AnyAgcError[], request: RecompileRequest): void {
  if (refusals.length === 0) return;
  const sorted = [...refusals].sort((a, b) => (a.place.pc ?? 0) - (b.place.pc ?? 0));
  const placed = sorted.map(({ place }) => {
    const pc = place.pc ?? 0;
    const words = place.words ?? [...request.code.subarray(pc / 4, pc / 4 + 1)];
    return { pc, words, guestAddress: BigInt.asUintN(64, request.codeAddress + BigInt(pc)) };
  });
  if (sorted.length === 1) {
    const [{ code, summary }] = sorted;
    const message = code === "recompiler.unsupported-instruction" ? `the program uses ${summary}` : summary;
    if (sorted[0] instanceof InvalidInputError) throw new InvalidInputError(code, message, placed[0]);
    throw new RefusedError(code, message, placed[0]);
  }
  const lines = sorted.map(({ summary }, k) => {
    const { pc, guestAddress, words } = placed[k];
    // What is refused comes first in most summaries, up to a colon or the first word.
    const [, name, why] = /^(?!not |the |an? )([^ :]+):? (.*)$/s.exec(summary) ?? [, "the word", summary];
    return `${name} at pc ${hex(pc)} (guest address ${hex(guestAddress)}, words ${
      words.map((w) => hex(w, 8)).join(" ")
    }): ${why}`;
  });
  const message = `the program uses ${lines.length} instructions that are refused:\n  ${lines.join("\n  ")}\nfirst one`;
  const codes = new Set(sorted.map(({ code }) => code));
  throw new RefusedError(codes.size === 1 ? sorted[0].code : "recompiler.unsupported-instruction", message, placed[0]);
}
