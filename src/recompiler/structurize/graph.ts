import type { Cfg } from "../cfg/types.ts";
import { Terminator } from "../cfg/types.ts";
import { FlowGraph } from "../cfg/graph.ts";

/** The flow graph that is structured: nodes 0..blockCount-1 are the cfg's blocks, then the exit, the root, and dispatch nodes (cfg/loops.ts). */
export interface BlockGraph {
  readonly graph: FlowGraph;
  /** All ends of the program lead here. */
  readonly exit: number;
  /** Its only edge leads to the program's entry. */
  readonly root: number;
}

/**
 * Turns a cfg into a flow graph without the blocks that do nothing: an edge to a block that only jumps goes to where it jumps to, an edge to a
 * block that only ends the program goes to the exit. A conditional block whose two edges then lead to the same node has one edge.
 */
export function blockGraph(cfg: Cfg): BlockGraph {
  const { blockCount, successors, terminator } = cfg;
  const graph = new FlowGraph();
  const exit = blockCount;
  const root = blockCount + 1;
  const goal = skipEmptyBlocks(cfg, exit);
  for (let b = 0; b < blockCount; b++) {
    if (terminator[b] === Terminator.End) {
      graph.addNode([exit]);
      continue;
    }
    const taken = goal[successors[2 * b]];
    if (terminator[b] === Terminator.Jump) {
      graph.addNode([taken]);
    } else {
      const other = goal[successors[2 * b + 1]];
      graph.addNode(taken === other ? [taken] : [taken, other]);
    }
  }
  graph.addNode([]);
  graph.addNode([goal[0]]);
  return { graph, exit, root };
}

/** Where an edge to each block really leads. An endless loop of empty blocks is kept as one block. */
function skipEmptyBlocks(cfg: Cfg, exit: number): Int32Array {
  const { blockCount, blockStart, blockEnd, terminator, successors } = cfg;
  const goal = new Int32Array(blockCount).fill(-1);
  const walkOf = new Int32Array(blockCount).fill(-1);
  const path: number[] = [];
  for (let b = 0; b < blockCount; b++) {
    let at = b;
    path.length = 0;
    let result = -1;
    while (result < 0) {
      if (goal[at] >= 0) result = goal[at];
      else if (blockStart[at] !== blockEnd[at] || terminator[at] === Terminator.Cond || walkOf[at] === b) result = at;
      else if (terminator[at] === Terminator.End) result = exit;
      else {
        walkOf[at] = b;
        path.push(at);
        at = successors[2 * at];
      }
    }
    for (const p of path) goal[p] = result;
    goal[b] = result;
  }
  return goal;
}
