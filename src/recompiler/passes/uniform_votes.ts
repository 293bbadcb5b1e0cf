import type { Ir } from "../ir/ir.ts";
import { InputKind, Op } from "../ir/ops.ts";
import { indexStructure } from "./structure.ts";
import { someActive } from "./uniform_reads.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Finds votes of the wave whose answer every lane knows: scalar conditions that a compiler keeps as masks, by themselves or under a mask that has a lane.
 *
 * A condition made of loads counts as the wave's, as it does where a scalar branch tests it (see `agree` in spirv/exchange_plan.ts).
 */
export class UniformVotes {
  private readonly found = new Set<number>();
  private readonly uniform: Uint8Array;
  private readonly structure;

  /** @param wavesHaveThreads no wave is without threads */
  constructor(private readonly ir: Ir, private readonly wavesHaveThreads: boolean) {
    this.structure = indexStructure(ir);
    this.uniform = classifyUniformity(ir, false, this.structure).value;
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Any && this.known(ir.a[i], i)) this.found.add(i);
  }

  /** Whether there is a vote at all. */
  static wanted(ir: Ir): boolean {
    return ir.op.subarray(0, ir.length).includes(Op.Any);
  }

  /** Whether the vote can be replaced. */
  has(vote: number): boolean {
    return this.found.has(vote);
  }

  /** The vote's answer; parameters as in {@linkcode UniformReads.rewrite}. */
  rewrite(
    vote: number,
    use: (old: number) => number,
    make: (i: number, operands: number[]) => number,
    truth: number,
  ): number {
    const { ir } = this;
    const value = (i: number, depth: number): number => {
      if (this.uniform[i] !== Uniformity.Lane) return use(i);
      if (ir.op[i] !== Op.LAnd || depth === MAX_DEPTH) return truth;
      return make(i, [value(ir.a[i], depth + 1), value(ir.b[i], depth + 1)]);
    };
    return value(ir.a[vote], 0);
  }

  /** Whether a condition is the same in all lanes, apart from one mask that has a lane. */
  private known(condition: number, vote: number): boolean {
    const { ir } = this;
    const masks = new Set<number>();
    const collect = (i: number, depth: number): boolean => {
      if (this.uniform[i] !== Uniformity.Lane) return true;
      if (ir.op[i] === Op.LAnd && depth < MAX_DEPTH) return collect(ir.a[i], depth + 1) && collect(ir.b[i], depth + 1);
      masks.add(i);
      return masks.size < 2;
    };
    if (!collect(condition, 0)) return false;
    const [mask] = masks;
    return mask === undefined || this.isThreadMask(mask) || someActive(ir, this.structure, vote, mask);
  }

  private isThreadMask(i: number): boolean {
    return this.wavesHaveThreads && this.ir.op[i] === Op.Input && this.ir.a[i] === InputKind.ThreadActive;
  }
}

const MAX_DEPTH = 8;
