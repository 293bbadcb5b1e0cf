import { type AnyAgcError, InvalidInputError } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import type { Target } from "../../rdna/target.ts";
import { inlineCalls, type Place, placeKey } from "./calls.ts";
import { type Cfg, Terminator } from "./types.ts";
import { branchCondition, branchTarget, CodeScan, Flow, flow } from "./scan.ts";

/** What {@linkcode buildCfg} needs to know beside the code. */
export interface CfgOptions {
  /** Which GPU the code is for. */
  target: Target;
  /** Guest address of `code[0]`. */
  codeAddress: bigint;
  /** Byte offset of the first instruction that is executed; 0 by default. */
  entry?: number;
  /** Scalar registers that are known when the program starts, by number: jumps may depend on them. */
  known?: ReadonlyMap<number, number>;
  /**
   * Takes what is refused of the program's control flow and what is no instruction, once for each place; the paths end there, so that the rest of the
   * program can be looked at. Without it the first such thing is thrown.
   */
  refused?: AnyAgcError[];
}

/**
 * Decodes what a program can reach and cuts it into basic blocks.
 *
 * @param code The program; constants may follow the code.
 * @throws InvalidInputError when control leaves the program, reaches s_code_end or enters the middle of an instruction, and what `decode` throws.
 * @throws RefusedError for programs over 4 MiB, jumps to addresses that are not known, recursion, s_trap, debugger branches, s_rfe_b64 and
 * s_subvector_loop_*. All errors name the pc.
 */
export function buildCfg(code: Uint32Array, options: CfgOptions): Cfg {
  const { target, codeAddress, entry = 0, known, refused } = options;
  if (entry % 4 !== 0) {
    throw new InvalidInputError("recompiler.entry", "the entry is no multiple of 4 bytes", { pc: entry });
  }
  const scan = new CodeScan(code, target, refused);
  scan.reach(entry / 4, null);
  const places = scan.indirect ? inlineCalls(scan, entry / 4, codeAddress, known) : null;
  return assemble(scan, places === null ? directKeys(scan, entry / 4) : inlinedKeys(places), places, codeAddress);
}

/** The block starts of a program without indirect jumps; the entry first, then in program order. */
function directKeys(scan: CodeScan, entry: number): number[] {
  const keys = [entry];
  for (let word = 0; word < scan.leader.length; word++) if (scan.leader[word] === 1 && word !== entry) keys.push(word);
  return keys;
}

/** The keys of all blocks in all contexts; the entry (which is the first) first, then by context and program order. */
function inlinedKeys(places: ReadonlyMap<number, Place>): number[] {
  const [first, ...rest] = places.keys();
  return [first, ...rest.sort((a, b) => a - b)];
}

function assemble(
  scan: CodeScan,
  keys: readonly number[],
  places: ReadonlyMap<number, Place> | null,
  codeAddress: bigint,
): Cfg {
  const blockCount = keys.length;
  const blockOf = new Map<number, number>();
  keys.forEach((key, block) => blockOf.set(key, block));
  const instructions: Instruction[] = [];
  const blockStart = new Int32Array(blockCount);
  const blockEnd = new Int32Array(blockCount);
  const blockPc = new Int32Array(blockCount);
  const terminatorPc = new Int32Array(blockCount);
  const terminator = new Uint8Array(blockCount).fill(Terminator.Jump);
  const condition = new Uint8Array(blockCount);
  const successors = new Int32Array(2 * blockCount).fill(-1);
  const words = scan.code.length;
  for (let b = 0; b < blockCount; b++) {
    const context = Math.floor(keys[b] / words);
    const block = (word: number) => blockOf.get(placeKey(scan, context, word))!;
    let word = keys[b] % words;
    blockPc[b] = word * 4;
    blockStart[b] = instructions.length;
    while (true) {
      const instruction = scan.at[word];
      if (instruction === null) {
        // No instruction, which was noted.
        terminatorPc[b] = word * 4;
        terminator[b] = Terminator.End;
        break;
      }
      const next = word + instruction.size;
      const kind = flow(instruction);
      terminatorPc[b] = word * 4;
      if (kind === Flow.Next) {
        instructions.push(instruction);
        word = next;
        if (scan.leader[word] === 0) continue;
        terminatorPc[b] = word * 4;
        successors[2 * b] = block(word);
      } else if (kind === Flow.End || kind === Flow.Refused) {
        terminator[b] = Terminator.End;
      } else if (kind === Flow.Branch) {
        successors[2 * b] = block(branchTarget(instruction));
      } else if (kind === Flow.CondBranch) {
        successors[2 * b] = block(branchTarget(instruction));
        if (branchTarget(instruction) !== next) {
          terminator[b] = Terminator.Cond;
          condition[b] = branchCondition(instruction);
          successors[2 * b + 1] = block(next);
        }
      } else {
        const { target } = places!.get(keys[b])!;
        if (target === null) {
          terminator[b] = Terminator.End;
          break;
        }
        successors[2 * b] = blockOf.get(placeKey(scan, target.context, target.word))!;
        if (kind === Flow.Call) instructions.push(instruction);
      }
      break;
    }
    blockEnd[b] = instructions.length;
  }
  return {
    codeAddress,
    instructions,
    blockCount,
    blockStart,
    blockEnd,
    blockPc,
    terminatorPc,
    terminator,
    condition,
    successors,
  };
}
