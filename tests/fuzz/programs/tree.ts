/**
 * Random programs as trees of statements, before they are machine code: small enough to be minimized by taking statements away.
 *
 * Registers: s[0:1] inputs, s[2:3] outputs, s4 workgroup, s5..s10 scratch; s16..s27 data; s32.. masks and counters by depth (see emit.ts); s60.. calls. v0
 * thread id, v1 thread number, v2 scratch, v3 output offset; v4..v11 data; v12..v15 scratch.
 */
import type { Target } from "../../../src/rdna/target.ts";

/** First vector data register, and how many there are. */
export const V0 = 4, VECTORS = 8;
/** First scalar data register, and how many there are. */
export const S0 = 16, SCALARS = 12;

/** How exec-mask control flow is written. */
export type MaskStyle = "llvm" | "aco" | "plain";

/** A statement. `words` are whole instructions without branches. */
export type Statement =
  /** Straight code. */
  | { kind: "code"; words: number[] }
  /** Lanes that meet a condition (left in VCC by `condition`), and perhaps the others. `skip`: a branch around the body when no lane is left. */
  | {
    kind: "if";
    style: MaskStyle;
    skip: boolean;
    condition: number[];
    body: Statement[];
    otherwise: Statement[] | null;
  }
  /** A branch of the whole wave on SCC, or on whether VCC is zero, left by `condition`. */
  | {
    kind: "waveIf";
    on: "scc" | "vcc";
    whenSet: boolean;
    condition: number[];
    body: Statement[];
    otherwise: Statement[] | null;
  }
  /**
   * A loop that lanes leave one by one when they meet the condition (VCC), all of them after `trips` rounds. `resume`: lanes that meet another condition in
   * the middle skip the rest of the round.
   */
  | {
    kind: "loop";
    trips: number;
    body: Statement[];
    condition: number[];
    rest: Statement[];
    resume: { condition: number[]; body: Statement[] } | null;
    style: MaskStyle;
  }
  /** In a loop, perhaps deep in its conditions: lanes that meet the condition leave it, or (`again`) skip the rest of the round. */
  | { kind: "leave"; again: boolean; condition: number[] }
  /** A loop of the whole wave, `trips` rounds; a scalar condition (SCC) may end it earlier. */
  | { kind: "waveLoop"; trips: number; body: Statement[]; leave: { condition: number[]; rest: Statement[] } | null }
  /** In a loop of the whole wave, perhaps deep in its branches: the wave begins the next round when the condition (SCC) is met. */
  | { kind: "next"; condition: number[] }
  /** For each value of a vector register: the lanes that hold it execute the body, with the value in a scalar register. */
  | { kind: "waterfall"; vector: number; scalar: number; body: Statement[] }
  /** LDS: lanes write their words and read those of others, with or without barriers. */
  | { kind: "exchange"; barrier: boolean; store: number; load: number; distance: number }
  /** The lane's own LDS words, or an atomic on common ones. */
  | { kind: "lds"; words: number[] }
  /** A call of a subroutine. */
  | { kind: "call"; callee: number; short: boolean }
  /** Branches to one of several blocks by a scalar value, through a chain of comparisons that jump forward into each other's code. */
  | { kind: "ladder"; scalar: number; steps: Statement[][] };

/** How a program is dispatched. */
export interface ProgramSettings {
  target: Target;
  waveSize: 32 | 64;
  /** Threads of a workgroup, in x. */
  threads: number;
  groups: number;
  /** Threads of the dispatch when it is given in threads; else all of all groups. */
  limit: number | undefined;
  floatMode: number;
  ieee: boolean;
  dx10Clamp: boolean;
  /** Seed of the inputs. */
  inputs: number;
}

/** A whole program. */
export interface ProgramTree {
  settings: ProgramSettings;
  body: Statement[];
  subroutines: Statement[][];
}

/** The lists of statements inside a statement. */
export function partsOf(statement: Statement): Statement[][] {
  switch (statement.kind) {
    case "if":
    case "waveIf":
      return statement.otherwise === null ? [statement.body] : [statement.body, statement.otherwise];
    case "loop":
      return statement.resume === null
        ? [statement.body, statement.rest]
        : [statement.body, statement.resume.body, statement.rest];
    case "waveLoop":
      return statement.leave === null ? [statement.body] : [statement.body, statement.leave.rest];
    case "waterfall":
      return [statement.body];
    case "ladder":
      return statement.steps;
    default:
      return [];
  }
}

/** Whether lanes leave a round of the innermost loop around a list in it. */
export function leavesRound(list: readonly Statement[], again: boolean): boolean {
  return list.some((each) => {
    if (each.kind === "leave") return each.again === again;
    const own = each.kind === "loop" || each.kind === "waveLoop" || each.kind === "waterfall";
    return !own && partsOf(each).some((part) => leavesRound(part, again));
  });
}

/** Number of statements of a list, inner ones included. */
export function countStatements(list: readonly Statement[]): number {
  return list.reduce(
    (sum, each) => sum + 1 + partsOf(each).reduce((inner, part) => inner + countStatements(part), 0),
    0,
  );
}
