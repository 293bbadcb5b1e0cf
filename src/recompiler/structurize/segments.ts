/**
 * Where control goes that falls out of a piece of structured code.
 *
 * The structured code of an item `a` is a sequence of segments: segment 0 is `a` itself with its terminator, in whose arms those successors nest
 * that only `a` leads to; then follow the **merge items** that `a` immediately dominates, in topological order. Control that leaves a segment
 * towards a later place, a merge item or the exit, just falls through what lies between. (Break and Continue do not fall, and are of no concern
 * here.) The owner of a place is its immediate dominator, in whose sequence it stands.
 */
import type { Items } from "./items.ts";

/** See the module comment. All by item. */
export interface Segments {
  /** Position of the farthest place of the owner's sequence that control falls to out of the item's segment; `FAR`: beyond the sequence; -1: none. */
  readonly farthest: Int32Array;
  /** The same for the nearest place; `FAR`: none. */
  readonly nearest: Int32Array;
  /** The farthest place that control falls to out of segment 0 of the item's own sequence. */
  readonly farthest0: Int32Array;
  /** Places that control falls to out of all that the item dominates. */
  readonly beyond: PlaceSets;
  /** One of {@linkcode Leaves}. */
  readonly leaves: Uint8Array;
}

/** How control may leave the code of an item and of all that it dominates. */
export const Leaves = {
  /** Not at all, or by Break. */
  Break: 0,
  /** By Break or Continue. */
  Continue: 1,
  /** It may fall out. */
  Fall: 2,
} as const;

/** A position beyond all others. */
export const FAR = 0x7fffffff;

/** Whether the item is reached by several edges, and so follows after its dominator's arms instead of nesting in one. */
export function isMerge(items: Items, item: number): boolean {
  return items.inCount[item] > 1 && item !== items.exit;
}

/** Whether control falls to the item when an edge leads to it. */
export function isPlace(items: Items, item: number): boolean {
  return items.inCount[item] > 1 || item === items.exit;
}

/** Small sets of places, one per item. A set that grows beyond its capacity is full: what it holds is not known any more. */
class PlaceSets {
  private static readonly CAPACITY = 4;
  private readonly slots: Int32Array;
  private readonly sizes: Uint8Array;

  constructor(count: number) {
    this.slots = new Int32Array(count * PlaceSets.CAPACITY);
    this.sizes = new Uint8Array(count);
  }

  /** Number of places; more than the capacity for a full set. */
  size(set: number): number {
    return this.sizes[set];
  }

  isFull(set: number): boolean {
    return this.sizes[set] > PlaceSets.CAPACITY;
  }

  /** The places of a set that is not full. */
  places(set: number): Int32Array {
    const first = set * PlaceSets.CAPACITY;
    return this.slots.subarray(first, first + this.sizes[set]);
  }

  add(set: number, place: number): void {
    const size = this.sizes[set];
    if (size > PlaceSets.CAPACITY) return;
    const first = set * PlaceSets.CAPACITY;
    for (let i = first; i < first + size; i++) if (this.slots[i] === place) return;
    if (size < PlaceSets.CAPACITY) this.slots[first + size] = place;
    this.sizes[set]++;
  }

  /** Makes the set a full one. */
  fill(set: number): void {
    this.sizes[set] = PlaceSets.CAPACITY + 1;
  }
}

/** Measures all segments. Linear but for a binary search per edge. */
export function measureSegments(items: Items): Segments {
  const { itemCount, successors, order, idom, position, exit } = items;
  const farthest = new Int32Array(itemCount).fill(-1);
  const nearest = new Int32Array(itemCount).fill(FAR);
  const farthest0 = new Int32Array(itemCount).fill(-1);
  const beyond = new PlaceSets(itemCount);
  const leaves = markContinues(items);
  for (let i = order.length - 1; i >= 0; i--) {
    const item = order[i];
    for (let e = successors.offsets[item]; e < successors.offsets[item + 1]; e++) {
      const target = successors.targets[e];
      if (!isPlace(items, target)) continue;
      const owner = target === exit ? -1 : idom[target];
      if (owner !== item) {
        farthest0[item] = FAR;
        beyond.add(item, target);
      }
      if (owner < 0) continue;
      const segment = item === owner ? owner : childAbove(items, owner, item);
      if (segment === owner || !isMerge(items, segment)) {
        farthest0[owner] = Math.max(farthest0[owner], position[target]);
      } else {
        farthest[segment] = Math.max(farthest[segment], position[target]);
        nearest[segment] = Math.min(nearest[segment], position[target]);
      }
    }
    // All that the item dominates lies behind it in the order, and so has been added already.
    if (beyond.size(item) > 0) leaves[item] = Leaves.Fall;
    if (i === 0) break;
    const owner = idom[item];
    if (leaves[item] === Leaves.Continue && !isHeaderOf(items, item, owner)) leaves[owner] = Leaves.Continue;
    if (passBeyond(items, beyond, item, owner)) {
      if (isMerge(items, item)) farthest[item] = FAR;
      else farthest0[owner] = FAR;
    }
  }
  return { farthest, nearest, farthest0, beyond, leaves };
}

/** Marks the items with an edge back to the header of the loop that they are in. */
function markContinues(items: Items): Uint8Array {
  const { edgeLoop, edgeSource, edgeTarget } = items;
  const leaves = new Uint8Array(items.itemCount);
  for (let e = 0; e < edgeLoop.length; e++) {
    if (edgeLoop[e] >= 0 && edgeTarget[e] < 0) leaves[edgeSource[e]] = Leaves.Continue;
  }
  return leaves;
}

function isHeaderOf(items: Items, item: number, loopItem: number): boolean {
  const { nodeCount, forest } = items;
  return loopItem >= nodeCount && forest.header[loopItem - nodeCount] === item;
}

/** The child of `owner` in the dominator tree that dominates `item`. */
function childAbove(items: Items, owner: number, item: number): number {
  const { children, enter } = items;
  let low = children.offsets[owner];
  let high = children.offsets[owner + 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (enter[children.targets[middle]] <= enter[item]) low = middle;
    else high = middle;
  }
  return children.targets[low];
}

/** Adds to the owner's set what control falls to out of its child, except the places in the owner's own sequence. Tells whether there was any. */
function passBeyond(items: Items, beyond: PlaceSets, child: number, owner: number): boolean {
  if (beyond.isFull(child)) {
    beyond.fill(owner);
    return true;
  }
  let any = false;
  for (const place of beyond.places(child)) {
    if (place !== items.exit && items.idom[place] === owner) continue;
    beyond.add(owner, place);
    any = true;
  }
  return any;
}
