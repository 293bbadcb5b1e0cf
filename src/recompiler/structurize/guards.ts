/**
 * Which merges and loop exits need a guard variable.
 *
 * A merge item (segments.ts) runs unguarded exactly if all control that falls out of what comes before it is bound for it. Else a variable tells.
 * A variable belongs to a **place** (a merge item, the exit, an item that a loop leads to, the next iteration of a loop) and says "control is
 * bound for this place": it is cleared at the place's immediate dominator and set on the edges that lead to the place. Any number of tests may
 * share it:
 * - the place itself runs only if it is set;
 * - a merge item runs only if it is clear, where the place is the only other one that control may be bound for;
 * - after a loop it tells that the enclosing loop must be left too, or which of several places comes next.
 */
import { Condition } from "../cfg/types.ts";
import type { Items } from "./items.ts";
import { FAR, isMerge, isPlace, type Segments } from "./segments.ts";

/** What the emitter must know of guards. -1 stands for "none" in all arrays of variables. */
export interface Guards {
  readonly count: number;
  /** The first of the selector variables; those below belong to places, and are cleared before they are tested on every path. */
  readonly firstSelector: number;
  /** By item: the variable that every edge along which control falls to the item sets. */
  readonly setVar: Int32Array;
  /** By merge item: the variable that it is tested by, and whether it must be GuardSet or GuardClear. */
  readonly testVar: Int32Array;
  readonly testKind: Uint8Array;
  /**
   * By merge item: how many merge items, from this one on, exclude each other and are the only places that control can be bound for: they form
   * an if/else-if chain, whose last arm needs no test. 1 for an item of its own, 0 for one within a chain.
   */
  readonly chain: Uint8Array;
  /** By loop, bits: see {@linkcode LoopExit}. */
  readonly loopExits: Uint8Array;
  /** By loop: variable that tells after the loop that the enclosing loop must be left too. */
  readonly breakVar: Int32Array;
  /** By loop: variable that tells after the loop that the enclosing loop goes on with its next iteration. */
  readonly continueVar: Int32Array;
  /** By item that only one loop leads to: the variable that tells after the loop that control is bound for it. */
  readonly exitVar: Int32Array;
  /**
   * By node: for a dispatch node, the first of `selectorBits(number of out-edges)` variables that together hold the number (0, 1, ...) of the
   * out-edge to take, least bit first. Every edge to the dispatch node sets them all.
   */
  readonly selectorVar: Int32Array;
  /** Variables cleared at an item: after a block's instructions, before a loop. */
  readonly clearedAt: ReadonlyMap<number, number[]>;
  /** Variables cleared at the start of each iteration, by loop. */
  readonly clearedIn: ReadonlyMap<number, number[]>;
}

/** Where a loop may be left to, apart from items that only the loop leads to. */
export const LoopExit = {
  /** Out of the enclosing loop. */
  Break: 1,
  /** To the next iteration of the enclosing loop. */
  Continue: 2,
  /** To a merge item or to the program's end: control falls through. */
  Fall: 4,
} as const;

/** Longest if/else-if chain of merge items that is formed: it bounds the nesting and the search. */
const MAX_CHAIN = 16;

/** Number of bits that tell `count` choices apart. */
export function selectorBits(count: number): number {
  return 32 - Math.clz32(count - 1);
}

/** Decides all guards. */
export function findGuards(items: Items, segments: Segments): Guards {
  return new GuardFinder(items, segments).run();
}

class GuardFinder {
  private readonly setVar: Int32Array;
  private readonly testVar: Int32Array;
  private readonly testKind: Uint8Array;
  private readonly chain: Uint8Array;
  private readonly loopExits: Uint8Array;
  private readonly breakVar: Int32Array;
  private readonly continueVar: Int32Array;
  private readonly exitVar: Int32Array;
  private readonly selectorVar: Int32Array;
  private readonly clearedAt = new Map<number, number[]>();
  private readonly clearedIn = new Map<number, number[]>();
  /** Variable of each place: an item, or `itemCount + l` for the next iteration of loop l. */
  private readonly varOfPlace = new Map<number, number>();
  private count = 0;
  /** Merge items that can be tested by the variable of one other place, and that place. */
  private readonly either: { merge: number; other: number }[] = [];
  /** Scratch set: places that control may be bound for. */
  private readonly bound = new Set<number>();

  constructor(private readonly items: Items, private readonly segments: Segments) {
    const { itemCount, forest, graph } = items;
    this.setVar = new Int32Array(itemCount).fill(-1);
    this.testVar = new Int32Array(itemCount).fill(-1);
    this.testKind = new Uint8Array(itemCount);
    this.chain = new Uint8Array(itemCount);
    this.loopExits = new Uint8Array(forest.loopCount);
    this.breakVar = new Int32Array(forest.loopCount).fill(-1);
    this.continueVar = new Int32Array(forest.loopCount).fill(-1);
    this.exitVar = new Int32Array(itemCount).fill(-1);
    this.selectorVar = new Int32Array(graph.nodeCount).fill(-1);
  }

  run(): Guards {
    for (const item of this.items.order) this.guardMerges(item);
    const beyondLoop = this.collectLoopExits();
    this.guardBreaks(beyondLoop);
    this.chooseTests();
    this.guardLoopExits();
    const firstSelector = this.count;
    this.addSelectors();
    for (const [place, variable] of this.varOfPlace) {
      if (place < this.items.itemCount && isPlace(this.items, place)) this.setVar[place] = variable;
    }
    const { count, setVar, testVar, testKind, chain, loopExits, breakVar, continueVar, exitVar } = this;
    const { selectorVar, clearedAt, clearedIn } = this;
    return {
      count,
      firstSelector,
      setVar,
      testVar,
      testKind,
      chain,
      loopExits,
      breakVar,
      continueVar,
      exitVar,
      selectorVar,
      clearedAt,
      clearedIn,
    };
  }

  /** Finds out which of an item's merge items need a test. */
  private guardMerges(owner: number): void {
    const { items, segments, chain } = this;
    const { children, position } = items;
    const { farthest, nearest } = segments;
    const merges: number[] = [];
    for (let c = children.offsets[owner]; c < children.offsets[owner + 1]; c++) {
      if (isMerge(items, children.targets[c])) merges.push(children.targets[c]);
    }
    if (merges.length === 0) return;
    // How far control may be bound for that falls out of what comes before, and for which places (null: too many to tell).
    let reach = segments.farthest0[owner];
    let bound = this.boundFromStart(owner);
    for (let i = 0; i < merges.length;) {
      let length = 1;
      if (reach !== FAR && reach !== position[merges[i]]) {
        while (
          length < MAX_CHAIN && position[merges[i + length - 1]] < reach && nearest[merges[i + length - 1]] > reach
        ) length++;
        if (position[merges[i + length - 1]] !== reach) length = 1;
      }
      const last = i + length - 1;
      chain[merges[i]] = length;
      for (let k = i; k < last; k++) this.testPlace(merges[k]);
      if (reach !== position[merges[last]]) this.testSingle(merges[last], bound);
      for (let k = i; k <= last; k++) {
        reach = Math.max(reach, farthest[merges[k]]);
        bound?.delete(merges[k]);
        bound = this.addBound(bound, merges[k]);
      }
      i += length;
    }
  }

  /** The places that control may be bound for that falls out of segment 0. */
  private boundFromStart(owner: number): Set<number> | null {
    const { successors, children } = this.items;
    let bound: Set<number> | null = this.bound;
    bound.clear();
    for (let e = successors.offsets[owner]; e < successors.offsets[owner + 1]; e++) {
      if (isPlace(this.items, successors.targets[e])) bound.add(successors.targets[e]);
    }
    for (let c = children.offsets[owner]; c < children.offsets[owner + 1]; c++) {
      if (!isMerge(this.items, children.targets[c])) bound = this.addBound(bound, children.targets[c]);
    }
    return bound;
  }

  private addBound(bound: Set<number> | null, child: number): Set<number> | null {
    const { beyond } = this.segments;
    if (bound === null || beyond.isFull(child)) return null;
    for (const place of beyond.places(child)) bound.add(place);
    return bound;
  }

  /** A merge item that is not the only place that control may be bound for. */
  private testSingle(merge: number, bound: ReadonlySet<number> | null): void {
    if (bound === null || bound.size !== 2) {
      this.testPlace(merge);
      return;
    }
    for (const other of bound) if (other !== merge) this.either.push({ merge, other });
  }

  private testPlace(merge: number): void {
    this.testVar[merge] = this.variable(merge);
    this.testKind[merge] = Condition.GuardSet;
  }

  /** Where the merges of `either` could be tested by their own variable or by that of another place: prefers variables that serve several tests. */
  private chooseTests(): void {
    const { varOfPlace } = this;
    const uses = new Map<number, number>();
    for (const { merge, other } of this.either) {
      if (!varOfPlace.has(merge)) uses.set(other, (uses.get(other) ?? 0) + 1);
    }
    for (const { merge, other } of this.either) {
      if (varOfPlace.has(merge) || (!varOfPlace.has(other) && uses.get(other)! < 2)) {
        this.testPlace(merge);
      } else {
        this.testVar[merge] = this.variable(other);
        this.testKind[merge] = Condition.GuardClear;
      }
    }
  }

  /** Finds out where loops may be left to. Gives the one place beyond the enclosing loop by loop: -1 none, -2 several. */
  private collectLoopExits(): Int32Array {
    const { items, loopExits } = this;
    const { forest, graph, edgeLoop, edgeTarget, itemCount } = items;
    const beyondLoop = new Int32Array(forest.loopCount).fill(-1);
    for (let e = 0; e < edgeLoop.length; e++) {
      if (edgeLoop[e] < 0) continue;
      const target = edgeTarget[e];
      const place = target >= 0 ? target : itemCount + edgeLoop[e];
      for (let loop = forest.loopOf[graph.edgeFrom[e]]; loop !== edgeLoop[e]; loop = forest.parent[loop]) {
        if (forest.parent[loop] !== edgeLoop[e]) {
          loopExits[loop] |= LoopExit.Break;
          beyondLoop[loop] = beyondLoop[loop] === -1 || beyondLoop[loop] === place ? place : -2;
        } else if (target < 0) loopExits[loop] |= LoopExit.Continue;
        else if (isPlace(items, target)) loopExits[loop] |= LoopExit.Fall;
      }
    }
    return beyondLoop;
  }

  /** Gives variables to loops that may have to be left together with the enclosing loop. */
  private guardBreaks(beyondLoop: Int32Array): void {
    const { nodeCount, forest, itemCount } = this.items;
    for (let loop = 1; loop < forest.loopCount; loop++) {
      const exits = this.loopExits[loop];
      if (this.exitCount(loop) < 2) continue;
      if ((exits & LoopExit.Break) !== 0) {
        this.breakVar[loop] = beyondLoop[loop] === -2
          ? this.newVariable(this.clearedAt, nodeCount + loop)
          : this.variable(beyondLoop[loop]);
      }
      const continueIsLast = this.exitCount(loop) === 2 && (exits & LoopExit.Break) !== 0;
      if ((exits & LoopExit.Continue) !== 0 && !continueIsLast) {
        this.continueVar[loop] = this.variable(itemCount + forest.parent[loop]);
      }
    }
  }

  /** In how many ways control goes on after the loop. */
  private exitCount(loop: number): number {
    const exits = this.loopExits[loop];
    return exitItems(this.items, this.items.nodeCount + loop).length + (exits & 1) + ((exits >> 1) & 1) + (exits >> 2);
  }

  /** Lets each loop's end tell apart the items that only it leads to: all are tested, or all but one if control does not fall through. */
  private guardLoopExits(): void {
    const { nodeCount, forest } = this.items;
    for (let loop = 1; loop < forest.loopCount; loop++) {
      const singles = exitItems(this.items, nodeCount + loop);
      let untested = (this.loopExits[loop] & LoopExit.Fall) !== 0 ? 0 : 1;
      for (let i = singles.length - 1; i >= 0; i--) {
        // The latest one whose variable is not needed anyway goes without.
        if (untested > 0 && (i === 0 || !this.varOfPlace.has(singles[i]))) untested--;
        else this.exitVar[singles[i]] = this.variable(singles[i]);
      }
    }
  }

  /** Gives every dispatch node its variables. They need no clearing. */
  private addSelectors(): void {
    const { firstEdge, nodeCount } = this.items.graph;
    for (let dispatch = this.items.exit + 2; dispatch < nodeCount; dispatch++) {
      this.selectorVar[dispatch] = this.count;
      this.count += selectorBits(firstEdge[dispatch + 1] - firstEdge[dispatch]);
    }
  }

  private variable(place: number): number {
    let variable = this.varOfPlace.get(place);
    if (variable === undefined) {
      const { itemCount, idom, exit, order } = this.items;
      if (place >= itemCount) variable = this.newVariable(this.clearedIn, place - itemCount);
      // Control that is bound for the exit never comes back: clearing once, at the root, is enough and reaches every test.
      else variable = this.newVariable(this.clearedAt, place === exit ? order[0] : idom[place]);
      this.varOfPlace.set(place, variable);
    }
    return variable;
  }

  private newVariable(cleared: Map<number, number[]>, where: number): number {
    const list = cleared.get(where);
    if (list === undefined) cleared.set(where, [this.count]);
    else list.push(this.count);
    return this.count++;
  }
}

/** The items that only the given loop item leads to, apart from its header and the exit, in program order. */
export function exitItems(items: Items, loopItem: number): number[] {
  const { successors, forest, nodeCount } = items;
  const header = forest.header[loopItem - nodeCount];
  const result: number[] = [];
  // Successors are listed from the latest to the earliest in the program.
  for (let e = successors.offsets[loopItem + 1] - 1; e >= successors.offsets[loopItem]; e--) {
    const target = successors.targets[e];
    if (target !== header && !isPlace(items, target)) result.push(target);
  }
  return result;
}
