/**
 * The wave-level control flow graph of one program: what a wave (not a lane) may execute, block by block.
 *
 * Everything is a flat array indexed by block number, because programs may have 100,000 blocks and every later pass walks them.
 * Block 0 is the entry. Blocks are numbered in the order of their program counters (clones of called code come after their callers').
 */
import type { Instruction } from "../../rdna/instruction.ts";

/** How a block ends. */
export const Terminator = {
  /** One successor: `s_branch`, a resolved `s_setpc_b64`/call/return, or the next block simply follows. */
  Jump: 0,
  /** Two successors, chosen by {@linkcode Cfg.condition}. */
  Cond: 1,
  /** `s_endpgm`: the wave ends. */
  End: 2,
} as const;
/** One of the values of {@linkcode Terminator}. */
export type Terminator = typeof Terminator[keyof typeof Terminator];

/**
 * What a conditional branch tests (AMD RDNA2 ISA, "SOPP instructions": s_cbranch_*). A kind and its opposite differ in bit 0 only, see
 * {@linkcode inverted}. The two guard kinds appear only in the structured tree: they test a guard variable, not a register.
 */
export const Condition = {
  Scc0: 0,
  Scc1: 1,
  Vccz: 2,
  Vccnz: 3,
  Execz: 4,
  Execnz: 5,
  GuardClear: 6,
  GuardSet: 7,
} as const;
/** One of the values of {@linkcode Condition}. */
export type Condition = typeof Condition[keyof typeof Condition];

/** Lower-case names of the condition kinds, by value. */
export const CONDITION_NAMES: readonly string[] = [
  "scc0",
  "scc1",
  "vccz",
  "vccnz",
  "execz",
  "execnz",
  "!guard",
  "guard",
];

/** The condition that holds exactly when `kind` does not. */
export function inverted(kind: Condition): Condition {
  return (kind ^ 1) as Condition;
}

/** A program as basic blocks. `Int32Array`s of length `blockCount` unless told otherwise. */
export interface Cfg {
  /** Guest address of the program's first word (what `s_getpc_b64` is based on). */
  readonly codeAddress: bigint;
  /** All instructions of all blocks, block after block. Cloned blocks (inlined calls) share the `Instruction` objects. */
  readonly instructions: readonly Instruction[];
  readonly blockCount: number;
  /** Index in `instructions` of the block's first instruction. */
  readonly blockStart: Int32Array;
  /**
   * Index in `instructions` one past the block's last straight-line instruction. The terminating branch or `s_endpgm` is not in the range.
   * A resolved `s_swappc_b64` / `s_call_b64` is (as the last one): all that is left of it is the write of the return address to `dst`.
   */
  readonly blockEnd: Int32Array;
  /** Byte offset (from the program's start) of the block's first instruction, its terminator included. */
  readonly blockPc: Int32Array;
  /** Byte offset of the terminating instruction; for a block that just falls into the next one, of the next block. */
  readonly terminatorPc: Int32Array;
  /** {@linkcode Terminator} by block. */
  readonly terminator: Uint8Array;
  /** {@linkcode Condition} by block; meaningful for {@linkcode Terminator.Cond} only. */
  readonly condition: Uint8Array;
  /** Two per block: `[2b]` jump target, or target when the condition holds; `[2b + 1]` target when it does not; -1 where absent. */
  readonly successors: Int32Array;
}
