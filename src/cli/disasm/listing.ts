/**
 * Machine code as a listing: byte offset, words, text, and where branches lead.
 *
 * @module
 */
import { AnyAgcError, hex } from "../../errors.ts";
import { decode } from "../../rdna/decode.ts";
import { disassemble } from "../../rdna/disassemble.ts";
import type { Target } from "../../rdna/target.ts";
import { branchTarget, Flow, flow } from "../../recompiler/cfg/scan.ts";

/** One line of a listing. */
export interface ListedInstruction {
  /** Byte offset from the start of the program. */
  pc: number;
  words: number[];
  /** LLVM's assembler syntax; `.long` for a word that is no instruction. */
  text: string;
  /** Byte offset that a branch leads to. */
  target?: number;
  /** Why a word is no instruction. */
  problem?: string;
}

/** Machine code and what its text depends on. */
export interface Listable {
  code: Uint32Array;
  target: Target;
  waveSize: 32 | 64;
}

/** Lists `words` words from the start on (all without it). Words that are no instruction are listed as data, one by one. */
export function listCode({ code, target, waveSize }: Listable, words = code.length): ListedInstruction[] {
  const lines: ListedInstruction[] = [];
  for (let at = 0; at < words;) {
    const line = listOne(code, at, target, waveSize);
    lines.push(line);
    at += line.words.length;
  }
  return lines;
}

function listOne(code: Uint32Array, at: number, target: Target, waveSize: 32 | 64): ListedInstruction {
  const pc = at * 4;
  try {
    const instruction = decode(code, pc, target);
    const words = Array.from(code.subarray(at, at + instruction.size));
    const text = disassemble(instruction, { target, waveSize });
    const branches = flow(instruction) === Flow.Branch || flow(instruction) === Flow.CondBranch;
    return { pc, words, text, ...(branches ? { target: branchTarget(instruction) * 4 } : {}) };
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    return { pc, words: [code[at]], text: `.long ${hex(code[at], 8)}`, problem: error.message };
  }
}

/**
 * Words of a program that begins at word 0 of `code`, for code without a known length: up to the first end, or jump away, that no earlier
 * branch leads past. All of `code` when there is none.
 */
export function programWords(code: Uint32Array, target: Target): number {
  let furthest = 0;
  for (let at = 0; at < code.length;) {
    let size: number, kind: Flow;
    try {
      const instruction = decode(code, at * 4, target);
      size = instruction.size;
      kind = flow(instruction);
      if (kind === Flow.Branch || kind === Flow.CondBranch) furthest = Math.max(furthest, branchTarget(instruction));
    } catch (error) {
      if (error instanceof AnyAgcError) return at;
      throw error;
    }
    at += size;
    if ((kind === Flow.End || kind === Flow.Branch || kind === Flow.SetPc) && furthest < at) return at;
  }
  return code.length;
}

/** The lines of a listing for people. */
export function listingText(lines: readonly ListedInstruction[]): string[] {
  const targets = new Set(lines.flatMap((line) => line.target ?? []));
  const widest = Math.min(27, Math.max(8, ...lines.map((line) => line.words.length * 9 - 1)));
  return lines.map(({ pc, words, text, target, problem }) => {
    const mark = targets.has(pc) ? ">" : " ";
    const bytes = words.map((word) => word.toString(16).padStart(8, "0")).join(" ").padEnd(widest);
    const note = target !== undefined ? `  ; to ${hex(target, 4)}` : problem !== undefined ? `  ; ${problem}` : "";
    return `${mark}${hex(pc, 4)}: ${bytes}  ${text}${note}`;
  });
}
