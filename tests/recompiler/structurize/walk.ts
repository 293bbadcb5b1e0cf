/**
 * Two tiny walkers: one follows the edges of a cfg, one the tokens of its structured tree. Both take the same decisions (a hash of the block and
 * of how often it was visited), so they must visit the same blocks in the same order.
 */
import { type Cfg, Condition, Terminator } from "../../../src/recompiler/cfg/types.ts";
import { Token, type Tree } from "../../../src/recompiler/structurize/tree.ts";

/** The blocks that were visited, and whether the program ended. */
export interface Trace {
  blocks: number[];
  ended: boolean;
}

/** Whether the n-th visit of the block finds its branch's condition true. */
function decision(seed: number, block: number, visit: number): boolean {
  let h = Math.imul(seed ^ Math.imul(block + 1, 0x85ebca6b) ^ Math.imul(visit + 1, 0xc2b2ae35), 0x27d4eb2f);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return ((h >>> 13) & 1) === 1;
}

/** Blocks that neither compute nor decide may be skipped by the structured form, so they are in no trace. */
function counts(cfg: Cfg, block: number): boolean {
  return cfg.blockStart[block] !== cfg.blockEnd[block] || cfg.terminator[block] === Terminator.Cond;
}

/** Follows the cfg. */
export function walkCfg(cfg: Cfg, seed: number, limit: number): Trace {
  const visits = new Int32Array(cfg.blockCount);
  const blocks: number[] = [];
  let at = 0;
  for (let step = 0; step < 20 * limit && blocks.length < limit; step++) {
    if (counts(cfg, at)) blocks.push(at);
    if (cfg.terminator[at] === Terminator.End) return { blocks, ended: true };
    const other = cfg.terminator[at] === Terminator.Cond && !decision(seed, at, visits[at]++);
    at = cfg.successors[2 * at + (other ? 1 : 0)];
  }
  return { blocks, ended: false };
}

/** Follows the tree. */
export function walkTree(cfg: Cfg, tree: Tree, seed: number, limit: number): Trace {
  const visits = new Int32Array(cfg.blockCount);
  const guards = new Int8Array(tree.guardCount).fill(-1);
  const blocks: number[] = [];
  let at = 0;
  for (let step = 0; step < 2000 * limit && blocks.length < limit; step++) {
    const a = tree.a[at];
    const b = tree.b[at];
    const match = tree.match[at];
    switch (tree.token[at] as Token) {
      case Token.Block:
        if (counts(cfg, a)) blocks.push(a);
        at++;
        break;
      case Token.If: {
        let holds: boolean;
        if (b === Condition.GuardSet || b === Condition.GuardClear) {
          if (guards[a] < 0) throw new Error(`token ${at} reads guard ${a} before it is set`);
          holds = guards[a] === (b === Condition.GuardSet ? 1 : 0);
        } else {
          if ((b ^ cfg.condition[a]) > 1) throw new Error(`token ${at} tests another register than block ${a}`);
          holds = decision(seed, a, visits[a]++) === (b === cfg.condition[a]);
        }
        at = holds ? at + 1 : match + 1;
        break;
      }
      case Token.Else:
        at = match + 1;
        break;
      case Token.Loop:
      case Token.EndIf:
        at++;
        break;
      case Token.EndLoop:
        at = match + 1;
        break;
      case Token.Break:
        at = tree.match[match] + 1;
        break;
      case Token.Continue:
        at = match + 1;
        break;
      case Token.SetGuard:
        guards[a] = b;
        at++;
        break;
      case Token.Return:
        return { blocks, ended: true };
    }
  }
  return { blocks, ended: false };
}

/** Throws unless the tree obeys what tree.ts promises. */
export function checkTree(cfg: Cfg, tree: Tree): void {
  const fail = (index: number, what: string): never => {
    throw new Error(`token ${index}: ${what}`);
  };
  const seen = new Uint8Array(cfg.blockCount);
  /** Of the open brackets: the latest token (If, Else or Loop), and the If or Loop. */
  const open: number[] = [];
  const opener: number[] = [];
  const loops: number[] = [];
  const breaks = new Set<number>();
  let maxDepth = 0;
  /** Block whose condition may be tested here. */
  let decided = -1;
  for (let i = 0; i < tree.length; i++) {
    const token = tree.token[i] as Token;
    const a = tree.a[i];
    const b = tree.b[i];
    const match = tree.match[i];
    const before = i === 0 ? -1 : tree.token[i - 1];
    const closes = token === Token.EndIf || token === Token.EndLoop;
    if ((before === Token.Break || before === Token.Continue) && !closes) fail(i, "follows a Break or Continue");
    if ((closes || token === Token.Else) && before === Token.If) fail(i, "ends an empty then arm");
    if (closes && before === Token.Else) fail(i, "ends an empty else arm");
    if (token === Token.Block) {
      if (seen[a]++ > 0) fail(i, `block ${a} again`);
      decided = a;
    } else if (token === Token.If) {
      if (b < Condition.GuardClear && decided !== a) fail(i, `tests block ${a}, but follows block ${decided}`);
      if (b >= Condition.GuardClear && a >= tree.guardCount) fail(i, "unknown guard");
      open.push(i);
      opener.push(i);
    } else if (token === Token.Loop) {
      open.push(i);
      opener.push(i);
      loops.push(i);
    } else if (token === Token.Else) {
      const top = open.pop()!;
      if (tree.token[top] !== Token.If || tree.match[top] !== i) fail(i, "Else without its If");
      if (before === Token.Break || before === Token.Continue) fail(i, "needless Else");
      open.push(i);
    } else if (closes) {
      const top = open.pop()!;
      if (tree.match[top] !== i) fail(i, "unmatched end");
      if (match !== opener.pop()) fail(i, "wrong match");
      if ((token === Token.EndLoop) !== (tree.token[match] === Token.Loop)) fail(i, "closes the wrong kind");
      if (token === Token.EndLoop) {
        if ((tree.a[match] === 1) !== breaks.has(match)) fail(i, "wrong mark of a loop that ends");
        loops.pop();
      }
    } else if (token === Token.Break || token === Token.Continue) {
      if (match !== loops.at(-1)) fail(i, "not of the innermost loop");
      if (token === Token.Break) breaks.add(match);
    } else if (token === Token.SetGuard) {
      if (a < 0 || a >= tree.guardCount || b < 0 || b > 1) fail(i, "bad guard");
    } else if (token === Token.Return && (i !== tree.length - 1 || open.length > 0)) {
      fail(i, "Return is not at the end");
    }
    if (token !== Token.Block && token !== Token.SetGuard) decided = -1;
    maxDepth = Math.max(maxDepth, open.length);
  }
  if (tree.token[tree.length - 1] !== Token.Return) fail(tree.length - 1, "no Return at the end");
  if (maxDepth !== tree.maxDepth) fail(0, "wrong maxDepth");
}
