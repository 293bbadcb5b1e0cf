/**
 * The structured form of a program: nested `if`s and endless loops with break and continue, as SPIR-V wants it.
 *
 * The tree is stored as the flat sequence of its tokens, in the order in which code is emitted (like a token stream with matched brackets):
 *
 *     Block 0
 *     If scc1 of block 0      -> then arm follows
 *       Block 1
 *     Else
 *       Block 2
 *     EndIf
 *     Loop
 *       Block 3
 *       If execz of block 3
 *         Break
 *       EndIf
 *     EndLoop
 *     Return
 *
 * so every pass is one plain `for` loop with its own stack, however deep the nesting is.
 */

/** Token kinds. `a`, `b` are the token's operands (see {@linkcode Tree}). */
export const Token = {
  /** The straight-line instructions of cfg block `a`, without its terminator. Each block appears at most once. */
  Block: 0,
  /**
   * Opens an `if`; the then arm follows. `b` is the `Condition` (cfg.ts): for register conditions `a` is the cfg block whose terminator
   * decides (its Block token comes before, and nothing that changes the tested register lies between: only SetGuard tokens do);
   * for GuardSet / GuardClear `a` is the guard variable. The then arm is never empty; there is an Else only when the else arm is not empty.
   */
  If: 1,
  /** Ends the then arm of the innermost open If and starts its else arm. */
  Else: 2,
  /** Closes the innermost open If. */
  EndIf: 3,
  /** Opens an endless loop. Reaching its EndLoop starts the next iteration. `a` is 1 if a Break leaves it, 0 if it never ends. */
  Loop: 4,
  EndLoop: 5,
  /** Leaves the innermost loop: goes on after its EndLoop. Nothing follows it in its arm. */
  Break: 6,
  /** Starts the next iteration of the innermost loop. Nothing follows it in its arm. */
  Continue: 7,
  /** Sets guard variable `a` to `b` (0 or 1). Guards are one bit per wave. */
  SetGuard: 8,
  /** The end of the program: always the last token, exactly once, at nesting depth 0. */
  Return: 9,
} as const;
/** One of the values of {@linkcode Token}. */
export type Token = typeof Token[keyof typeof Token];

/** A structured program: see the module comment. All arrays have length `length`. */
export interface Tree {
  readonly length: number;
  /** {@linkcode Token} kinds. */
  readonly token: Uint8Array;
  /** First operand; 0 where a token has none. */
  readonly a: Int32Array;
  /** Second operand; 0 where a token has none. */
  readonly b: Int32Array;
  /**
   * Index of the matching token: If -> its Else, or its EndIf when there is no Else; Else -> EndIf; EndIf -> If; Loop -> EndLoop;
   * EndLoop -> Loop; Break and Continue -> the Loop they belong to; -1 for the others.
   */
  readonly match: Int32Array;
  /** Number of guard variables; their values before the first SetGuard are never read. */
  readonly guardCount: number;
  /** Deepest nesting of If and Loop. */
  readonly maxDepth: number;
}
