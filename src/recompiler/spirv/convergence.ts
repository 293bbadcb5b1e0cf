import { Uniformity } from "../passes/uniformity.ts";
import { Code } from "./codes.ts";

/** What the emitter knows of the conditions and barriers that it wrote. */
export class Convergence {
  /** {@linkcode Uniformity} of conditions, by id. What is not here is a lane's own. */
  readonly conditions = new Map<number, number>();
  /**
   * {@linkcode Uniformity} that each barrier needs of the control flow around it, in the module's order: the workgroup's, but for those of a subgroup.
   */
  readonly needs: number[] = [];

  /** A condition was emitted. */
  condition(id: number, uniformity: number): void {
    this.conditions.set(id, Math.min(uniformity, this.conditions.get(id) ?? Uniformity.Workgroup));
  }
}

/** An open construct, and how uniform the decision is to be in it. */
interface Construct {
  readonly merge: number;
  /** Label of the continue target; 0 for selections. */
  readonly continueTarget: number;
  uniformity: number;
}

/**
 * Checks the words of a function that the emitter wrote: every barrier and subgroup operation stands only in constructs whose conditions (for a loop: those of all ways to leave
 * it or its rounds) are uniform enough. A misplaced barrier makes GPUs hang, or not, and passes every validator; this check looks at what was written,
 * and trusts nothing but the classes of conditions.
 *
 * Blocks must stand in structured order, a construct's before its merge block: as the emitter writes them.
 *
 * @param words instructions, of one function
 * @returns what is wrong, in words; empty when nothing is.
 */
export function checkConvergence(words: Uint32Array, { conditions, needs }: Convergence): string[] {
  const problems: string[] = [];
  const open: Construct[] = [];
  const barriers: { word: number; inside: readonly Construct[] }[] = [];
  const exchanges: typeof barriers = [];
  let selection = 0, loop: [merge: number, continueTarget: number] | undefined;
  const classOf = (condition: number) => conditions.get(condition) ?? Uniformity.Lane;

  /** Lanes go to a label: out of a loop or to its next round, if it is one of a loop's. */
  const leave = (label: number, own: number) => {
    let least = own;
    for (let k = open.length - 1; k >= 0; k--) {
      const construct = open[k];
      if (construct.continueTarget !== 0 && (construct.merge === label || construct.continueTarget === label)) {
        construct.uniformity = Math.min(construct.uniformity, least);
        return true;
      }
      least = Math.min(least, construct.uniformity);
    }
    return false;
  };

  for (let at = 0; at < words.length;) {
    const size = words[at] >>> 16;
    if (size === 0) return [`word ${at}: an instruction without words`];
    switch (words[at] & 0xffff) {
      case Code.Label:
        while (open.length > 0 && open[open.length - 1].merge === words[at + 1]) open.pop();
        break;
      case Code.SelectionMerge:
        selection = words[at + 1];
        break;
      case Code.LoopMerge:
        loop = [words[at + 1], words[at + 2]];
        break;
      case Code.Branch:
        if (loop !== undefined) {
          open.push({ merge: loop[0], continueTarget: loop[1], uniformity: Uniformity.Workgroup });
        } else leave(words[at + 1], Uniformity.Workgroup);
        loop = undefined;
        break;
      case Code.BranchConditional: {
        const uniformity = classOf(words[at + 1]);
        if (loop !== undefined) {
          open.push({ merge: loop[0], continueTarget: loop[1], uniformity: Uniformity.Workgroup });
        }
        if (selection !== 0) open.push({ merge: selection, continueTarget: 0, uniformity });
        else {
          const first = leave(words[at + 2], uniformity), second = leave(words[at + 3], uniformity);
          if (!first && !second) {
            problems.push(`word ${at}: a conditional jump that neither begins a construct nor leaves a loop`);
          }
        }
        selection = 0;
        loop = undefined;
        break;
      }
      case Code.ControlBarrier:
        barriers.push({ word: at, inside: [...open] });
        break;
      case Code.GroupNonUniformBallot:
      case Code.GroupNonUniformBroadcast:
      case Code.GroupNonUniformShuffle:
        exchanges.push({ word: at, inside: [...open] });
        break;
    }
    at += size;
  }
  if (barriers.length !== needs.length) problems.push(`${barriers.length} barriers, and ${needs.length} are known of`);
  barriers.forEach((barrier, n) => judge("barrier", barrier, needs[n] ?? Uniformity.Workgroup));
  // What a subgroup exchanges, the wave that it is exchanges.
  for (const exchange of exchanges) judge("subgroup operation", exchange, Uniformity.Wave);
  return problems;

  function judge(what: string, { word, inside }: typeof barriers[number], need: number): void {
    const least = inside.reduce(
      (uniformity, each) => Math.min(uniformity, each.uniformity),
      Uniformity.Workgroup as number,
    );
    if (least >= need) return;
    problems.push(
      `word ${word}: a ${what} that the whole ${NAMES[need]} must come to, where each ${NAMES[least]} decides`,
    );
  }
}

const NAMES: readonly string[] = ["lane", "wave", "workgroup"];
