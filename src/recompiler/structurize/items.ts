/**
 * The acyclic view of a flow graph in which every loop is one thing.
 *
 * Its **items** are the nodes of the flow graph (item n is node n) and its loops (item `nodeCount + l` is loop l as seen from outside). A loop
 * item leads to the item of its header, and to wherever the loop may be left to within the enclosing loop. Since nothing inside a loop leads
 * out of it but through its item, one dominator tree over all items describes all loops at once.
 */
import { type Adjacency, adjacency, type FlowGraph, reversePostorder } from "../cfg/graph.ts";
import type { LoopForest } from "../cfg/loops.ts";
import { dominators } from "../cfg/dominators.ts";

/** See the module comment. Arrays are indexed by item unless told otherwise; unreachable items hold -1. */
export interface Items {
  readonly graph: FlowGraph;
  readonly forest: LoopForest;
  readonly exit: number;
  /** The item of loop l is `nodeCount + l`. */
  readonly nodeCount: number;
  readonly itemCount: number;
  /** By edge: the innermost loop that holds the edge's source and does not have to be left to reach its target; -1 for unreachable edges. */
  readonly edgeLoop: Int32Array;
  /** By edge: the item in `edgeLoop` that the edge comes from: its source, or the loop that holds the source. */
  readonly edgeSource: Int32Array;
  /** By edge: the item in `edgeLoop` that the edge leads to, or -1 if it leads back to that loop's header (next iteration). */
  readonly edgeTarget: Int32Array;
  /** Successors of each item, without repetitions for loop items. */
  readonly successors: Adjacency;
  /** Items in topological order, by program counter where there is a choice. The first is the root. */
  readonly order: Int32Array;
  /** Position in `order`. */
  readonly position: Int32Array;
  readonly idom: Int32Array;
  /** Number of edges that lead to the item (those of one loop item counted once). */
  readonly inCount: Int32Array;
  /** Depth in the dominator tree. */
  readonly depth: Int32Array;
  /** Children in the dominator tree, in topological order. */
  readonly children: Adjacency;
  /** Numbers of a walk over the dominator tree: the tree below item i is those j with `enter[i] <= enter[j] < leave[i]`. */
  readonly enter: Int32Array;
  readonly leave: Int32Array;
}

/** Builds the items of a graph whose loops are known. */
export function buildItems(graph: FlowGraph, forest: LoopForest, root: number, exit: number): Items {
  const nodeCount = graph.nodeCount;
  const itemCount = nodeCount + forest.loopCount;
  const edgeCount = graph.edgeTo.length;
  const edgeLoop = new Int32Array(edgeCount).fill(-1);
  const edgeSource = new Int32Array(edgeCount).fill(-1);
  const edgeTarget = new Int32Array(edgeCount).fill(-1);
  const from: number[] = [];
  const to: number[] = [];
  const loopFrom: number[][] = [];
  for (let l = 0; l < forest.loopCount; l++) {
    const header = forest.header[l];
    loopFrom.push(l === 0 ? [] : [header]);
  }
  for (let e = 0; e < edgeCount; e++) {
    const u = graph.edgeFrom[e];
    const v = graph.edgeTo[e];
    if (forest.loopOf[u] < 0) continue;
    const home = forest.loopOf[v];
    let loop = forest.loopOf[u];
    let source = u;
    let around = home;
    while (forest.depth[around] > forest.depth[loop]) around = forest.parent[around];
    while (around !== loop) {
      source = nodeCount + loop;
      loop = forest.parent[loop];
      if (forest.depth[around] > forest.depth[loop]) around = forest.parent[around];
    }
    edgeLoop[e] = loop;
    edgeSource[e] = source;
    if (v === forest.header[loop]) continue;
    const target = home === loop ? v : nodeCount + home;
    edgeTarget[e] = target;
    if (source < nodeCount) {
      from.push(source);
      to.push(target);
    } else {
      loopFrom[source - nodeCount].push(target);
    }
  }
  for (let l = 1; l < forest.loopCount; l++) {
    for (const target of new Set(loopFrom[l])) {
      from.push(nodeCount + l);
      to.push(target);
    }
  }
  const successors = adjacency(itemCount, from, to);
  sortByProgramOrder(successors, graph, forest, nodeCount, exit);
  // The search takes later program counters first, so that the reverse postorder puts them last.
  const order = reversePostorder(successors, root);
  const idom = dominators(successors, root);
  const inCount = new Int32Array(itemCount);
  for (let e = 0; e < to.length; e++) inCount[to[e]]++;
  return {
    graph,
    forest,
    exit,
    nodeCount,
    itemCount,
    edgeLoop,
    edgeSource,
    edgeTarget,
    successors,
    order,
    idom,
    inCount,
    ...dominatorTree(order, idom, itemCount),
  };
}

/** Orders each successor list from the latest to the earliest in the program; the exit counts as the latest of all. */
function sortByProgramOrder(
  list: Adjacency,
  graph: FlowGraph,
  forest: LoopForest,
  nodeCount: number,
  exit: number,
): void {
  const place = new Int32Array(nodeCount + forest.loopCount);
  for (let n = 0; n < nodeCount; n++) place[n] = n;
  // A dispatch node stands where its first entry stands.
  for (let n = exit + 2; n < nodeCount; n++) {
    for (let e = graph.firstEdge[n]; e < graph.firstEdge[n + 1]; e++) place[n] = Math.min(place[n], graph.edgeTo[e]);
  }
  place[exit] = nodeCount;
  for (let l = 0; l < forest.loopCount; l++) place[nodeCount + l] = place[forest.header[l]];
  const { offsets, targets } = list;
  for (let i = 0; i + 1 < offsets.length; i++) {
    const first = offsets[i];
    const length = offsets[i + 1] - first;
    if (length === 2) {
      const target = targets[first];
      if (place[target] < place[targets[first + 1]]) {
        targets[first] = targets[first + 1];
        targets[first + 1] = target;
      }
    } else if (length > 2) {
      targets.subarray(first, offsets[i + 1]).sort((a, b) => place[b] - place[a]);
    }
  }
}

function dominatorTree(order: Int32Array, idom: Int32Array, itemCount: number) {
  const position = new Int32Array(itemCount).fill(-1);
  const depth = new Int32Array(itemCount).fill(-1);
  const from = new Int32Array(order.length - 1);
  for (let i = 0; i < order.length; i++) {
    const item = order[i];
    position[item] = i;
    depth[item] = i === 0 ? 0 : depth[idom[item]] + 1;
    if (i > 0) from[i - 1] = idom[item];
  }
  const children = adjacency(itemCount, from, order.subarray(1));
  // Preorder numbers from subtree sizes: a child's number follows its parent's and those of the subtrees of its elder siblings.
  const size = new Int32Array(itemCount);
  for (let i = order.length - 1; i >= 0; i--) {
    const item = order[i];
    size[item]++;
    if (i > 0) size[idom[item]] += size[item];
  }
  const enter = new Int32Array(itemCount).fill(-1);
  const leave = new Int32Array(itemCount).fill(-1);
  enter[order[0]] = 0;
  for (let i = 0; i < order.length; i++) {
    const item = order[i];
    leave[item] = enter[item] + size[item];
    let next = enter[item] + 1;
    for (let c = children.offsets[item]; c < children.offsets[item + 1]; c++) {
      const child = children.targets[c];
      enter[child] = next;
      next += size[child];
    }
  }
  return { position, depth, children, enter, leave };
}
