/** Hand-made and random control flow graphs for the tests of the structurizer. */
import { type Cfg, Condition, Terminator } from "../../../src/recompiler/cfg/types.ts";
import { Instruction } from "../../../src/rdna/instruction.ts";
import { opcodeId } from "../../../src/rdna/table.ts";

/** A block: `to` holds no target (end), one (jump) or two (taken when the condition holds, taken when not). */
export interface BlockSpec {
  to: number[];
  /** Condition of two targets; scc1 by default. */
  condition?: Condition;
  /** Number of straight-line instructions; 1 by default. */
  size?: number;
  /** Mnemonic of the instructions; s_nop by default. */
  name?: string;
}

/** Makes a cfg of block descriptions. Block 0 is the entry. */
export function makeCfg(blocks: readonly BlockSpec[]): Cfg {
  const blockCount = blocks.length;
  const instructions: Instruction[] = [];
  const cfg = {
    codeAddress: 0n,
    instructions,
    blockCount,
    blockStart: new Int32Array(blockCount),
    blockEnd: new Int32Array(blockCount),
    blockPc: new Int32Array(blockCount),
    terminatorPc: new Int32Array(blockCount),
    terminator: new Uint8Array(blockCount),
    condition: new Uint8Array(blockCount),
    successors: new Int32Array(2 * blockCount).fill(-1),
  };
  blocks.forEach(({ to, condition = Condition.Scc1, size = 1, name = "s_nop" }, b) => {
    cfg.blockStart[b] = instructions.length;
    for (let i = 0; i < size; i++) {
      const instruction = new Instruction();
      instruction.op = opcodeId(name);
      instructions.push(instruction);
    }
    cfg.blockEnd[b] = instructions.length;
    cfg.terminator[b] = [Terminator.End, Terminator.Jump, Terminator.Cond][to.length];
    cfg.condition[b] = condition;
    to.forEach((target, i) => cfg.successors[2 * b + i] = target);
  });
  return cfg;
}

/** Pseudo-random numbers (xorshift32): the same sequence for the same seed on every machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1;
    for (let i = 0; i < 4; i++) this.bits();
  }

  bits(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return this.state = x >>> 0;
  }

  /** An integer in 0..limit-1. */
  below(limit: number): number {
    return this.bits() % limit;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
}

/** A few ends per graph, however large it is: else all but the first blocks of a large graph would be unreachable. */
function isEnd(random: Random, blockCount: number): boolean {
  return random.below(Math.max(12, blockCount)) < 1 + random.below(2);
}

/** Any graph at all: most are irreducible, some never end. */
export function wildGraph(random: Random, blockCount: number): BlockSpec[] {
  return Array.from({ length: blockCount }, () => {
    const kind = random.below(10);
    const target = () => random.below(blockCount);
    const to = isEnd(random, blockCount) ? [] : kind < 4 ? [target()] : [target(), target()];
    return { to, size: random.below(4) === 0 ? 0 : 1, condition: random.below(6) as Condition };
  });
}

/**
 * Mostly forward edges to near blocks, with some edges back: few loops, often irreducible ones, many merges. In a large graph every branch has the
 * next block as one of its targets: else hardly any block would be reachable.
 */
export function looseGraph(random: Random, blockCount: number, backPercent: number): BlockSpec[] {
  return Array.from({ length: blockCount }, (_, b) => {
    const target = () => {
      if (b > 0 && random.chance(backPercent)) return Math.max(0, b - random.below(8));
      return Math.min(blockCount - 1, b + 1 + random.below(random.chance(20) ? 12 : 3));
    };
    const kind = random.below(12);
    const to = b === blockCount - 1 || isEnd(random, blockCount) ? [] : kind < 4 ? [target()] : [target(), target()];
    if (blockCount > 1000 && to.length > 0) to[to.length - 1] = b + 1;
    return { to, size: random.below(4) === 0 ? 0 : 1, condition: random.below(6) as Condition };
  });
}

/** What a random structured program may contain. */
export interface ProgramShape {
  /** Percent of statements that leave loops other than the innermost, or the program. */
  jumps: number;
  /** Percent of statements that are `goto`s to a label further down in an enclosing statement list. */
  gotos: number;
}

/**
 * A random program of nested statements, lowered to blocks as a compiler would: if, if/else, short-circuit conditions, switch chains, loops tested
 * at the top, in the middle or at the bottom, break and continue out of several loops, early return. Always reducible.
 */
export function programGraph(random: Random, statements: number, shape: ProgramShape): BlockSpec[] {
  return new ProgramMaker(random, statements, shape).make();
}

class ProgramMaker {
  private readonly blocks: BlockSpec[] = [{ to: [] }];
  private current = 0;
  /** Of the enclosing loops: block to continue and to break to. */
  private readonly loops: { next: number; after: number }[] = [];
  /** Labels further down. */
  private readonly labels: number[] = [];

  constructor(private readonly random: Random, private budget: number, private readonly shape: ProgramShape) {}

  make(): BlockSpec[] {
    while (this.budget > 0) this.list(0);
    // The current block, which ends nowhere, ends the program.
    return this.blocks;
  }

  private block(): number {
    return this.blocks.push({ to: [], size: this.random.chance(15) ? 0 : 1 }) - 1;
  }

  private condition(): Condition {
    return this.random.below(6) as Condition;
  }

  /** Ends the current block with a jump, and goes on in `next`. */
  private jump(target: number, next: number): void {
    this.blocks[this.current].to = [target];
    this.current = next;
  }

  private branch(taken: number, other: number, next: number): void {
    const swap = this.random.chance(50);
    this.blocks[this.current].to = swap ? [other, taken] : [taken, other];
    this.blocks[this.current].condition = this.condition();
    this.current = next;
  }

  private list(depth: number): void {
    const count = 1 + this.random.below(4);
    for (let i = 0; i < count && this.budget > 0; i++) this.statement(depth);
  }

  private body(depth: number, after: number): void {
    this.labels.push(after);
    this.list(depth + 1);
    this.labels.pop();
    this.jump(after, after);
  }

  private statement(depth: number): void {
    this.budget--;
    const { random, shape } = this;
    if (random.chance(shape.jumps) && depth > 0) return this.leave();
    if (random.chance(shape.gotos) && this.labels.length > 0) {
      const label = this.labels[random.below(this.labels.length)];
      const next = this.block();
      return random.chance(20) ? this.jump(label, this.block()) : this.branch(label, next, next);
    }
    if (depth > 12) return this.jump(this.current, this.straight());
    switch (random.below(8)) {
      case 0:
        return this.jump(this.current, this.straight());
      case 1:
      case 2:
        return this.ifThen(depth);
      case 3:
        return this.ifElse(depth);
      case 4:
        return this.shortCircuit(depth);
      case 5:
        return this.switchChain(depth);
      default:
        return this.loop(depth);
    }
  }

  /** A new block that the current one leads to. */
  private straight(): number {
    const next = this.block();
    this.jump(next, next);
    return next;
  }

  private leave(): void {
    const { random, loops } = this;
    const next = this.block();
    let target: number;
    if (loops.length === 0 || random.chance(25)) {
      target = this.blocks.push({ to: [], size: random.below(2) }) - 1;
    } else {
      const loop = loops[random.below(loops.length)];
      target = random.chance(60) ? loop.after : loop.next;
    }
    if (random.chance(70)) this.branch(target, next, next);
    else this.jump(target, next);
  }

  private ifThen(depth: number): void {
    const then = this.block();
    const after = this.block();
    this.branch(then, after, then);
    this.body(depth, after);
  }

  private ifElse(depth: number): void {
    const then = this.block();
    const otherwise = this.block();
    const after = this.block();
    this.branch(then, otherwise, then);
    this.body(depth, after);
    this.current = otherwise;
    this.body(depth, after);
  }

  private shortCircuit(depth: number): void {
    const then = this.block();
    const otherwise = this.block();
    const after = this.block();
    const tests = 2 + this.random.below(3);
    for (let i = 1; i < tests; i++) {
      const next = this.block();
      this.branch(this.random.chance(50) ? then : otherwise, next, next);
    }
    this.branch(then, otherwise, then);
    this.body(depth, after);
    this.current = otherwise;
    this.body(depth, after);
  }

  private switchChain(depth: number): void {
    const after = this.block();
    const cases = 2 + this.random.below(4);
    let fall = -1;
    for (let i = 0; i < cases; i++) {
      const arm = fall >= 0 ? fall : this.block();
      const next = this.block();
      this.branch(arm, next, arm);
      fall = this.random.chance(20) ? this.block() : -1;
      this.body(depth, fall >= 0 ? fall : after);
      this.current = next;
    }
    this.jump(fall >= 0 ? fall : after, after);
    if (fall >= 0) {
      this.current = fall;
      this.jump(after, after);
    }
  }

  private loop(depth: number): void {
    const { random } = this;
    const head = this.block();
    const next = random.chance(50) ? head : this.block();
    const after = this.block();
    this.jump(head, head);
    this.loops.push({ next, after });
    const kind = random.below(3);
    if (kind === 0) {
      const inner = this.block();
      this.branch(inner, after, inner);
    }
    this.labels.push(next === head ? this.blocks.length - 1 : next);
    if (next === head) this.labels.pop();
    this.list(depth + 1);
    if (next !== head) this.labels.pop();
    if (kind === 1) {
      const rest = this.block();
      this.branch(rest, after, rest);
      this.list(depth + 1);
    }
    this.jump(next, next);
    if (next !== head) {
      if (kind === 2) this.branch(head, after, after);
      else this.jump(head, after);
    }
    this.loops.pop();
    this.current = after;
  }
}

/** Renumbers the blocks at random; the entry stays block 0. */
export function shuffled(random: Random, blocks: readonly BlockSpec[]): BlockSpec[] {
  const place = blocks.map((_, b) => b);
  for (let i = place.length - 1; i > 1; i--) {
    const j = 1 + random.below(i);
    [place[i], place[j]] = [place[j], place[i]];
  }
  const result: BlockSpec[] = new Array(blocks.length);
  blocks.forEach((block, b) => result[place[b]] = { ...block, to: block.to.map((target) => place[target]) });
  return result;
}
