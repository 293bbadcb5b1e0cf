/**
 * Which merges and loop exits need a guard variable.
 *
 * The structured code of an item `a` is a sequence of segments: segment 0 is `a` itself with its terminator, in whose arms those successors nest
 * that only `a` leads to; then follow the **merge items** that `a` immediately dominates, in topological order. Control that leaves a segment
 * towards a later place just falls through what lies between. So a merge item runs unguarded exactly if all control that falls out of the
 * segments before it is bound for it; else a guard ("control is bound for this item") is set on the edges that lead to it.
 *
 * One variable per place that control can be bound for is enough for all tests of it: the guard of the item, and those after the loops that are
 * left on the way there. It is cleared at the place's immediate dominator.
 */
import type { Items } from "./items.ts";

/** What the emitter must know of guards. -1 stands for "none" in all arrays of variables. */
export interface Guards {
  readonly count: number;
  /** By merge item: the variable that must be set for it to run. */
  readonly ofItem: Int32Array;
  /**
   * By merge item: how many merge items, from this one on, exclude each other and are the only places that control can be bound for: they form
   * an if/else-if chain, whose last arm needs no test. 1 for an item of its own, 0 for one within a chain.
   */
  readonly chain: Uint8Array;
  /** By loop: variable that tells after the loop that the enclosing loop must be left too. */
  readonly breakVar: Int32Array;
  /** By loop: variable that tells after the loop that the enclosing loop goes on with its next iteration. */
  readonly continueVar: Int32Array;
  /** By loop, bits: see {@linkcode LoopExit}. */
  readonly loopExits: Uint8Array;
  /** By item that only one loop leads to: the variable that tells after the loop that control is bound for it. */
  readonly exitVar: Int32Array;
  /** By out-edge of a dispatch node: the variable that selects it. */
  readonly selectorVar: Int32Array;
  /** Variables cleared at an item: after a block's instructions, before a loop. */
  readonly clearedAt: ReadonlyMap<number, number[]>;
  /** Variables cleared at the start of each iteration, by loop. */
  readonly clearedIn: ReadonlyMap<number, number[]>;
  /** By item: 1 if control can fall out of the code of the item and of all that it dominates. */
  readonly falls: Uint8Array;
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
const FAR = 0x7fffffff;

/** Whether the item is reached by several edges, and so follows after its dominator's arms instead of nesting in one. */
export function isMerge(items: Items, item: number): boolean {
  return items.inCount[item] > 1 && item !== items.exit;
}

/** Decides all guards. */
export function findGuards(items: Items): Guards {
  return new GuardFinder(items).run();
}

class GuardFinder {
  private readonly ofItem: Int32Array;
  private readonly chain: Uint8Array;
  private readonly breakVar: Int32Array;
  private readonly continueVar: Int32Array;
  private readonly loopExits: Uint8Array;
  private readonly exitVar: Int32Array;
  private readonly selectorVar: Int32Array;
  private readonly clearedAt = new Map<number, number[]>();
  private readonly clearedIn = new Map<number, number[]>();
  private readonly varOfKey = new Map<number, number>();
  private count = 0;

  /** Least depth of the owner of a place that an edge of the item leads to, for the item alone and for all that it dominates. */
  private readonly lowest: Int32Array;
  /** By item: farthest and nearest merge item of its owner's sequence that its segment leads to, as positions. */
  private readonly farthest: Int32Array;
  private readonly nearest: Int32Array;
  /** The same for segment 0 of the item. */
  private readonly farthest0: Int32Array;

  constructor(private readonly items: Items) {
    const { itemCount, forest, graph } = items;
    this.ofItem = new Int32Array(itemCount).fill(-1);
    this.chain = new Uint8Array(itemCount);
    this.breakVar = new Int32Array(forest.loopCount).fill(-1);
    this.continueVar = new Int32Array(forest.loopCount).fill(-1);
    this.loopExits = new Uint8Array(forest.loopCount);
    this.exitVar = new Int32Array(itemCount).fill(-1);
    this.selectorVar = new Int32Array(graph.edgeTo.length).fill(-1);
    this.lowest = new Int32Array(itemCount).fill(FAR);
    this.farthest = new Int32Array(itemCount).fill(-1);
    this.nearest = new Int32Array(itemCount).fill(FAR);
    this.farthest0 = new Int32Array(itemCount).fill(-1);
  }

  run(): Guards {
    this.measureEdges();
    const falls = this.measureSegments();
    for (const item of this.items.order) this.guardMerges(item);
    this.guardLoopExits();
    this.addSelectors();
    const { count, ofItem, chain, breakVar, continueVar, loopExits, exitVar, selectorVar, clearedAt, clearedIn } = this;
    return {
      count,
      ofItem,
      chain,
      breakVar,
      continueVar,
      loopExits,
      exitVar,
      selectorVar,
      clearedAt,
      clearedIn,
      falls,
    };
  }

  /** For every edge that control falls along (to a merge item or to the exit): which segments it leaves. */
  private measureEdges(): void {
    const { items, lowest, farthest, nearest, farthest0 } = this;
    const { successors, order, idom, depth, position, exit } = items;
    for (const source of order) {
      for (let e = successors.offsets[source]; e < successors.offsets[source + 1]; e++) {
        const target = successors.targets[e];
        if (target === exit) {
          lowest[source] = -1;
          farthest0[source] = FAR;
        } else if (isMerge(items, target)) {
          const owner = idom[target];
          const at = position[target];
          lowest[source] = Math.min(lowest[source], depth[owner]);
          if (source !== owner) farthest0[source] = FAR;
          const segment = source === owner ? owner : this.childAbove(owner, source);
          if (segment === owner || !isMerge(items, segment)) {
            farthest0[owner] = Math.max(farthest0[owner], at);
          } else {
            farthest[segment] = Math.max(farthest[segment], at);
            nearest[segment] = Math.min(nearest[segment], at);
          }
        }
      }
    }
  }

  /** The child of `owner` in the dominator tree that dominates `item`. */
  private childAbove(owner: number, item: number): number {
    const { children, enter } = this.items;
    let low = children.offsets[owner];
    let high = children.offsets[owner + 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (enter[children.targets[middle]] <= enter[item]) low = middle;
      else high = middle;
    }
    return children.targets[low];
  }

  /** Sums up over the dominator tree: a segment that control leaves beyond its owner's whole sequence counts as infinitely far. */
  private measureSegments(): Uint8Array {
    const { items, lowest, farthest, farthest0 } = this;
    const { order, idom, depth } = items;
    const falls = new Uint8Array(items.itemCount);
    for (let i = order.length - 1; i >= 0; i--) {
      const item = order[i];
      // All that the item dominates has been added: later in topological order.
      if (lowest[item] < depth[item]) falls[item] = 1;
      if (i === 0) break;
      const owner = idom[item];
      if (lowest[item] < depth[owner]) {
        if (isMerge(items, item)) farthest[item] = FAR;
        else farthest0[owner] = FAR;
      }
      lowest[owner] = Math.min(lowest[owner], lowest[item]);
    }
    return falls;
  }

  private guardMerges(owner: number): void {
    const { items, farthest, nearest, chain } = this;
    const { children, position } = items;
    const merges: number[] = [];
    for (let c = children.offsets[owner]; c < children.offsets[owner + 1]; c++) {
      if (isMerge(items, children.targets[c])) merges.push(children.targets[c]);
    }
    if (merges.length === 0) return;
    // How far control may be bound for that falls out of what comes before.
    let reach = this.farthest0[owner];
    for (let i = 0; i < merges.length;) {
      let length = 1;
      if (reach !== FAR && reach !== position[merges[i]]) {
        while (
          length < MAX_CHAIN && position[merges[i + length - 1]] < reach && nearest[merges[i + length - 1]] > reach
        ) length++;
        if (position[merges[i + length - 1]] !== reach) length = 1;
      }
      const tested = reach === position[merges[i + length - 1]] ? length - 1 : length;
      for (let k = 0; k < tested; k++) this.ofItem[merges[i + k]] = this.variable(merges[i + k]);
      chain[merges[i]] = length;
      for (let k = 0; k < length; k++) reach = Math.max(reach, farthest[merges[i + k]]);
      i += length;
    }
  }
  /** Decides how each loop's end tells its exits apart: all but one of the places it may be left to are tested. */
  private guardLoopExits(): void {
    const { items, loopExits } = this;
    const { forest, graph, edgeLoop, edgeTarget, nodeCount, itemCount, exit } = items;
    // Where control is bound for that leaves several loops at once, by the inner loop: -1 nowhere, -2 several places.
    const beyond = new Int32Array(forest.loopCount).fill(-1);
    for (let e = 0; e < edgeLoop.length; e++) {
      if (edgeLoop[e] < 0) continue;
      const target = edgeTarget[e];
      const key = target >= 0 ? target : itemCount + edgeLoop[e];
      for (let loop = forest.loopOf[graph.edgeFrom[e]]; loop !== edgeLoop[e]; loop = forest.parent[loop]) {
        if (forest.parent[loop] !== edgeLoop[e]) {
          loopExits[loop] |= LoopExit.Break;
          beyond[loop] = beyond[loop] === -1 || beyond[loop] === key ? key : -2;
        } else if (target < 0) loopExits[loop] |= LoopExit.Continue;
        else if (target === exit || isMerge(items, target)) loopExits[loop] |= LoopExit.Fall;
      }
    }
    for (let loop = 1; loop < forest.loopCount; loop++) {
      const item = nodeCount + loop;
      const singles = exitItems(items, item);
      const exits = loopExits[loop];
      // The last place is not tested; control that falls through, or else an item, is the cheapest to leave for last.
      let tests = singles.length + (exits & 1) + ((exits >> 1) & 1) + ((exits >> 2) & 1) - 1;
      if ((exits & LoopExit.Break) !== 0 && tests-- > 0) {
        this.breakVar[loop] = beyond[loop] === -2
          ? this.newVariable(this.clearedAt, item)
          : this.variable(beyond[loop]);
      }
      if ((exits & LoopExit.Continue) !== 0 && tests-- > 0) {
        this.continueVar[loop] = this.variable(itemCount + forest.parent[loop]);
      }
      for (const single of singles) if (tests-- > 0) this.exitVar[single] = this.variable(single);
    }
  }

  /** Gives every out-edge of a dispatch node but the last a variable that selects it. */
  private addSelectors(): void {
    const { forest, graph, idom, nodeCount, exit } = this.items;
    for (let dispatch = exit + 2; dispatch < nodeCount; dispatch++) {
      const owner = idom[nodeCount + forest.loopOf[dispatch]];
      for (let e = graph.firstEdge[dispatch]; e + 1 < graph.firstEdge[dispatch + 1]; e++) {
        this.selectorVar[e] = this.newVariable(this.clearedAt, owner);
      }
    }
  }

  /** The variable "control is bound for `key`": an item, or `itemCount + l` for the next iteration of loop l. */
  private variable(key: number): number {
    let variable = this.varOfKey.get(key);
    if (variable === undefined) {
      const { itemCount, idom } = this.items;
      variable = key < itemCount
        ? this.newVariable(this.clearedAt, idom[key])
        : this.newVariable(this.clearedIn, key - itemCount);
      this.varOfKey.set(key, variable);
    }
    return variable;
  }

  private newVariable(cleared: Map<number, number[]>, place: number): number {
    const list = cleared.get(place);
    if (list === undefined) cleared.set(place, [this.count]);
    else list.push(this.count);
    return this.count++;
  }
}

/** The items that only the given loop item leads to, apart from its header and the exit. */
export function exitItems(items: Items, loopItem: number): number[] {
  const { successors, forest, nodeCount, inCount, exit } = items;
  const header = forest.header[loopItem - nodeCount];
  const result: number[] = [];
  // Successors are listed from the latest to the earliest in the program.
  for (let e = successors.offsets[loopItem + 1] - 1; e >= successors.offsets[loopItem]; e--) {
    const target = successors.targets[e];
    if (target !== header && target !== exit && inCount[target] === 1) result.push(target);
  }
  return result;
}
