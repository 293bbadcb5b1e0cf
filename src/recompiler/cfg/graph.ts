/**
 * Directed graphs in flat form, for the analyses of this folder. Everything is iterative: a chain of 100,000 nodes must not overflow the stack.
 */

/** Successor (or predecessor) lists of nodes 0..n-1: those of node `v` are `targets[offsets[v] .. offsets[v + 1])`. */
export interface Adjacency {
  readonly offsets: Int32Array;
  readonly targets: Int32Array;
}

/** Builds the lists from parallel edge arrays; edges keep their order within a list. */
export function adjacency(nodeCount: number, from: ArrayLike<number>, to: ArrayLike<number>): Adjacency {
  const offsets = new Int32Array(nodeCount + 1);
  for (let e = 0; e < from.length; e++) offsets[from[e] + 1]++;
  for (let v = 0; v < nodeCount; v++) offsets[v + 1] += offsets[v];
  const next = offsets.slice(0, nodeCount);
  const targets = new Int32Array(from.length);
  for (let e = 0; e < from.length; e++) targets[next[from[e]]++] = to[e];
  return { offsets, targets };
}

/**
 * Nodes reachable from `entry` in reverse postorder of a depth-first search that takes successors in list order. Hence of two unrelated
 * successors the one listed last comes first. In a graph without cycles this is a topological order.
 */
export function reversePostorder(successors: Adjacency, entry: number): Int32Array {
  const { offsets, targets } = successors;
  const nodeCount = offsets.length - 1;
  const next = offsets.slice(0, nodeCount);
  const seen = new Uint8Array(nodeCount);
  const order = new Int32Array(nodeCount);
  const stack = new Int32Array(nodeCount);
  let depth = 0;
  let at = nodeCount;
  stack[depth++] = entry;
  seen[entry] = 1;
  while (depth > 0) {
    const node = stack[depth - 1];
    if (next[node] < offsets[node + 1]) {
      const target = targets[next[node]++];
      if (seen[target] === 0) {
        seen[target] = 1;
        stack[depth++] = target;
      }
    } else {
      order[--at] = node;
      depth--;
    }
  }
  return order.slice(at);
}

/**
 * A control flow graph under construction: nodes with ordered out-edges, where an edge may be redirected later. Edges of a node have
 * consecutive numbers: `firstEdge[n] .. firstEdge[n + 1]`.
 */
export class FlowGraph {
  readonly firstEdge: number[] = [0];
  readonly edgeFrom: number[] = [];
  readonly edgeTo: number[] = [];
  /**
   * For an edge that was redirected to a dispatch node (see loops.ts): the number of the dispatch node's out-edge that leads to the original
   * target. -1 otherwise.
   */
  readonly edgeSelector: number[] = [];

  /** Number of nodes. */
  get nodeCount(): number {
    return this.firstEdge.length - 1;
  }

  /** Adds a node with edges to `targets` (which may be nodes that do not exist yet); gives its number. */
  addNode(targets: readonly number[]): number {
    const node = this.nodeCount;
    for (const target of targets) {
      this.edgeFrom.push(node);
      this.edgeTo.push(target);
      this.edgeSelector.push(-1);
    }
    this.firstEdge.push(this.edgeTo.length);
    return node;
  }
}
