import { type Cfg, Terminator } from "./types.ts";
import { dominators } from "./dominators.ts";
import { adjacency, FlowGraph, reversePostorder } from "./graph.ts";
import { findLoops } from "./loops.ts";

/** Facts about a cfg's shape, by block. */
export interface CfgAnalysis {
  /** Blocks in reverse postorder from the entry. */
  readonly order: Int32Array;
  /** Immediate dominator; -1 for the entry. */
  readonly idom: Int32Array;
  /** Number of loops that contain the block. */
  readonly loopDepth: Int32Array;
  /** 1 for the blocks that a loop is entered at. A loop with several of them is irreducible. */
  readonly loopHeader: Uint8Array;
  /** Number of loops. */
  readonly loopCount: number;
  /** Number of loops that are irreducible. */
  readonly irreducibleCount: number;
}

/** Dominators and loops of a cfg. Near-linear in the number of blocks (times the nesting depth of loops). */
export function analyseCfg(cfg: Cfg): CfgAnalysis {
  const { blockCount, terminator, successors } = cfg;
  const from: number[] = [];
  const to: number[] = [];
  const graph = new FlowGraph();
  for (let b = 0; b < blockCount; b++) {
    const targets: number[] = [];
    if (terminator[b] !== Terminator.End) targets.push(successors[2 * b]);
    if (terminator[b] === Terminator.Cond) targets.push(successors[2 * b + 1]);
    graph.addNode(targets);
    for (const target of targets) {
      from.push(b);
      to.push(target);
    }
  }
  const list = adjacency(blockCount, from, to);
  const root = graph.addNode([0]);
  const forest = findLoops(graph, root);
  const loopDepth = new Int32Array(blockCount);
  const loopHeader = new Uint8Array(blockCount);
  for (let b = 0; b < blockCount; b++) loopDepth[b] = forest.depth[forest.loopOf[b]];
  for (let l = 1; l < forest.loopCount; l++) {
    const header = forest.header[l];
    if (header < blockCount) loopHeader[header] = 1;
    // The header of an irreducible loop is a dispatch node; its edges lead to the entries (or to the dispatch nodes of inner loops).
    else for (let e = graph.firstEdge[header]; e < graph.firstEdge[header + 1]; e++) loopHeader[entryOf(graph, e)] = 1;
  }
  return {
    order: reversePostorder(list, 0),
    idom: dominators(list, 0),
    loopDepth,
    loopHeader,
    loopCount: forest.loopCount - 1,
    irreducibleCount: forest.dispatchCount,
  };
}

/** The block that an edge led to before it was redirected to dispatch nodes. */
function entryOf(graph: FlowGraph, edge: number): number {
  while (graph.edgeSelector[edge] >= 0) edge = graph.edgeSelector[edge];
  return graph.edgeTo[edge];
}
