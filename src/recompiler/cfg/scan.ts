import { type AnyAgcError, InvalidInputError, RefusedError } from "../../errors.ts";
import { decode } from "../../rdna/decode.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { opcodeId, OPCODES, Trait } from "../../rdna/table.ts";
import type { Target } from "../../rdna/target.ts";
import { FLOW_REASONS } from "./refused_flow.ts";
import { Condition } from "./types.ts";

/** What an instruction does to the flow of control. */
export const Flow = {
  /** Goes on with the next instruction. */
  Next: 0,
  Branch: 1,
  CondBranch: 2,
  End: 3,
  /** s_setpc_b64: a jump or a return. */
  SetPc: 4,
  /** s_swappc_b64, s_call_b64. */
  Call: 5,
  /** Anything else that may change the program counter: not recompiled. */
  Refused: 6,
} as const;
/** One of the values of {@linkcode Flow}. */
export type Flow = typeof Flow[keyof typeof Flow];

/** Flow by opcode (AMD RDNA2 ISA, sections 12.2, 12.3, 12.5), and the condition of conditional branches. */
const flowOf = new Uint8Array(OPCODES.length);
const conditionOf = new Uint8Array(OPCODES.length);
for (const { id, traits } of OPCODES) if ((traits & (Trait.Branch | Trait.End)) !== 0) flowOf[id] = Flow.Refused;
flowOf[opcodeId("s_trap")] = Flow.Refused;
flowOf[opcodeId("s_branch")] = Flow.Branch;
for (const name of ["s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"]) flowOf[opcodeId(name)] = Flow.End;
flowOf[opcodeId("s_setpc_b64")] = Flow.SetPc;
for (const name of ["s_swappc_b64", "s_call_b64"]) flowOf[opcodeId(name)] = Flow.Call;
const conditions: readonly [string, Condition][] = [
  ["scc0", Condition.Scc0],
  ["scc1", Condition.Scc1],
  ["vccz", Condition.Vccz],
  ["vccnz", Condition.Vccnz],
  ["execz", Condition.Execz],
  ["execnz", Condition.Execnz],
];
for (const [name, condition] of conditions) {
  flowOf[opcodeId(`s_cbranch_${name}`)] = Flow.CondBranch;
  conditionOf[opcodeId(`s_cbranch_${name}`)] = condition;
}
const codeEnd = opcodeId("s_code_end");

/** What `instruction` does to the flow of control. */
export function flow(instruction: Instruction): Flow {
  return flowOf[instruction.op] as Flow;
}

/** The condition under which a conditional branch is taken. */
export function branchCondition(instruction: Instruction): Condition {
  return conditionOf[instruction.op] as Condition;
}

/** Word index that a branch or `s_call_b64` leads to: the next instruction plus the signed immediate, in words. */
export function branchTarget(instruction: Instruction): number {
  return instruction.pc / 4 + instruction.size + instruction.imm;
}

/**
 * Largest program that is recompiled, in bytes. How much of memory a program may be that nobody has registered is the driver's rule, and less. What
 * bounds it here: the fault record holds a pc below 16 MiB, and a module may have 4,194,303 ids (SPIR-V, universal limits).
 */
export const MAX_PROGRAM_BYTES = 4 << 20;

/** Codes of errors behind which the rest of the program can still be looked at. */
const COLLECTED: ReadonlySet<string> = new Set([
  "rdna.no-instruction",
  "recompiler.control-flow",
  "recompiler.indirect-jump",
  "recompiler.recursion",
]);

/**
 * The reachable part of a program, instruction by instruction. Word indices are relative to the program's start. What is not reached is never
 * decoded: constants follow the code.
 */
export class CodeScan {
  /** Instruction that starts at each word; null where none does. */
  readonly at: (Instruction | null)[];
  /** 1 where a basic block starts. */
  readonly leader: Uint8Array;
  /** Whether an `s_setpc_b64`, `s_swappc_b64` or `s_call_b64` was reached. */
  indirect = false;
  /** Counts the block starts that were found within code that had been reached before. */
  splits = 0;
  /** First word of the instruction that covers each word, -1 where none was reached. */
  private readonly cover: Int32Array;
  private readonly work: number[] = [];
  /** What led to each word of `work`. */
  private readonly workBy: (Instruction | null)[] = [];

  /** @param refused takes what is refused or no instruction, and the path ends there; without it the first such thing is thrown */
  constructor(readonly code: Uint32Array, private readonly target: Target, private readonly refused?: AnyAgcError[]) {
    if (code.length * 4 > MAX_PROGRAM_BYTES) {
      throw new RefusedError(
        "recompiler.program-size",
        `the program has ${code.length * 4} bytes; at most ${MAX_PROGRAM_BYTES} are recompiled`,
      );
    }
    this.at = new Array(code.length).fill(null);
    this.leader = new Uint8Array(code.length);
    this.cover = new Int32Array(code.length).fill(-1);
  }

  /** Reaches everything that direct branches lead to from word `start`, which `by` (null: the program's start) jumps to. */
  reach(start: number, by: Instruction | null): void {
    this.enter(start, by);
    while (this.work.length > 0) this.walk(this.work.pop()!, this.workBy.pop()!);
  }

  /** Marks a block start, and queues it unless it was reached before. */
  private enter(word: number, by: Instruction | null): void {
    if (word < 0 || word >= this.code.length) {
      const name = by === null ? "the entry" : OPCODES[by.op].name;
      throw new InvalidInputError(
        "recompiler.branch-outside",
        `${name} leads to byte offset ${word * 4}, outside of the program's ${this.code.length * 4} bytes`,
        { pc: by?.pc ?? word * 4 },
      );
    }
    if (this.cover[word] >= 0 && this.cover[word] !== word) this.overlap(word, this.cover[word], by);
    if (this.leader[word] === 1 && this.at[word] !== null) return;
    this.leader[word] = 1;
    if (this.at[word] !== null) {
      this.splits++;
      return;
    }
    this.work.push(word);
    this.workBy.push(by);
  }

  private walk(start: number, by: Instruction | null): void {
    const { code, at } = this;
    let word = start;
    let previous = by;
    while (true) {
      if (word >= code.length) {
        throw new InvalidInputError("recompiler.no-end", "the program runs past its last word without s_endpgm", {
          pc: previous?.pc,
        });
      }
      if (at[word] !== null) return;
      if (this.cover[word] >= 0) this.overlap(word, this.cover[word], previous);
      const instruction = this.decoded(word);
      if (instruction === null) return;
      const end = word + instruction.size;
      for (let i = word + 1; i < end; i++) if (this.cover[i] >= 0) this.overlap(i, word, previous);
      at[word] = instruction;
      this.cover.fill(word, word, end);
      switch (flow(instruction)) {
        case Flow.Next:
          break;
        case Flow.Branch:
          this.enter(branchTarget(instruction), instruction);
          return;
        case Flow.CondBranch:
          this.enter(branchTarget(instruction), instruction);
          if (end < code.length) this.enter(end, instruction);
          break;
        case Flow.End:
          return;
        case Flow.SetPc:
        case Flow.Call:
          this.indirect = true;
          return;
        case Flow.Refused:
          this.note(() => refuse(instruction));
          return;
      }
      previous = instruction;
      word = end;
    }
  }

  /** The instruction at a word, or null where there is none and that was noted. */
  private decoded(word: number): Instruction | null {
    return this.note(() => decode(this.code, word * 4, this.target)) ?? null;
  }

  /** Does something; what it refuses is noted, if refusals are collected. */
  note<Result>(what: () => Result): Result | undefined {
    if (this.refused === undefined) return what();
    try {
      return what();
    } catch (error) {
      if (!(error instanceof RefusedError) && !(error instanceof InvalidInputError)) throw error;
      if (!COLLECTED.has(error.code)) throw error;
      if (this.refused.every(({ place: { pc } }) => pc !== error.place.pc)) this.refused.push(error);
      return undefined;
    }
  }

  private overlap(word: number, owner: number, by: Instruction | null): never {
    const name = by === null ? "the entry" : OPCODES[by.op].name;
    throw new InvalidInputError(
      "recompiler.overlapping-code",
      `${name} leads to byte offset ${word * 4}, which lies within the instruction at byte offset ${owner * 4}`,
      { pc: by?.pc ?? word * 4 },
    );
  }
}

function refuse(instruction: Instruction): never {
  const { op, pc } = instruction;
  if (op === codeEnd) {
    throw new InvalidInputError("recompiler.code-end", "control reaches s_code_end, which marks the end of all code", {
      pc,
    });
  }
  throw new RefusedError(
    "recompiler.control-flow",
    `${OPCODES[op].name} is not recompiled: ${FLOW_REASONS[OPCODES[op].name]}`,
    {
      pc,
    },
  );
}
