import { type Adjacency, adjacency } from "./graph.ts";

/**
 * Immediate dominators of every node reachable from `entry`; -1 for `entry` itself and for unreachable nodes.
 *
 * Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph" (1979), the version with path compression only:
 * O(edges * log nodes) whatever the shape of the graph.
 */
export function dominators(successors: Adjacency, entry: number): Int32Array {
  const nodeCount = successors.offsets.length - 1;
  const { count, vertex, number, parent } = depthFirst(successors, entry);

  // Everything below works on depth-first numbers.
  const predecessors = numberedPredecessors(successors, count, vertex, number);
  const semi = new Int32Array(count);
  const label = new Int32Array(count);
  const ancestor = new Int32Array(count).fill(-1);
  const idom = new Int32Array(count).fill(-1);
  const bucketHead = new Int32Array(count).fill(-1);
  const bucketNext = new Int32Array(count).fill(-1);
  const path = new Int32Array(count);
  for (let i = 0; i < count; i++) semi[i] = label[i] = i;

  // The node of least semidominator on the forest path from v (inclusive) to its root (exclusive).
  const evaluate = (v: number): number => {
    if (ancestor[v] < 0) return label[v];
    let length = 0;
    for (let u = v; ancestor[ancestor[u]] >= 0; u = ancestor[u]) path[length++] = u;
    while (length > 0) {
      const u = path[--length];
      const a = ancestor[u];
      if (semi[label[a]] < semi[label[u]]) label[u] = label[a];
      ancestor[u] = ancestor[a];
    }
    return label[v];
  };

  for (let w = count - 1; w > 0; w--) {
    for (let e = predecessors.offsets[w]; e < predecessors.offsets[w + 1]; e++) {
      const s = semi[evaluate(predecessors.targets[e])];
      if (s < semi[w]) semi[w] = s;
    }
    bucketNext[w] = bucketHead[semi[w]];
    bucketHead[semi[w]] = w;
    const p = parent[w];
    ancestor[w] = p;
    for (let v = bucketHead[p]; v >= 0; v = bucketNext[v]) {
      const u = evaluate(v);
      idom[v] = semi[u] < semi[v] ? u : p;
    }
    bucketHead[p] = -1;
  }
  const result = new Int32Array(nodeCount).fill(-1);
  for (let w = 1; w < count; w++) {
    if (idom[w] !== semi[w]) idom[w] = idom[idom[w]];
    result[vertex[w]] = vertex[idom[w]];
  }
  return result;
}

/** Depth-first numbers: `vertex[i]` is the node numbered i, `number[v]` its number (-1 unreachable), `parent[i]` the number of its tree parent. */
function depthFirst(successors: Adjacency, entry: number) {
  const { offsets, targets } = successors;
  const nodeCount = offsets.length - 1;
  const number = new Int32Array(nodeCount).fill(-1);
  const vertex = new Int32Array(nodeCount);
  const parent = new Int32Array(nodeCount).fill(-1);
  const next = offsets.slice(0, nodeCount);
  const stack = new Int32Array(nodeCount);
  let depth = 0;
  let count = 0;
  number[entry] = count;
  vertex[count++] = entry;
  stack[depth++] = entry;
  while (depth > 0) {
    const node = stack[depth - 1];
    if (next[node] === offsets[node + 1]) {
      depth--;
      continue;
    }
    const target = targets[next[node]++];
    if (number[target] >= 0) continue;
    parent[count] = number[node];
    number[target] = count;
    vertex[count++] = target;
    stack[depth++] = target;
  }
  return { count, vertex, number, parent };
}

function numberedPredecessors(successors: Adjacency, count: number, vertex: Int32Array, number: Int32Array): Adjacency {
  const from: number[] = [];
  const to: number[] = [];
  for (let i = 0; i < count; i++) {
    const node = vertex[i];
    for (let e = successors.offsets[node]; e < successors.offsets[node + 1]; e++) {
      from.push(number[successors.targets[e]]);
      to.push(i);
    }
  }
  return adjacency(count, from, to);
}
