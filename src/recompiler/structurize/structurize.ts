/**
 * Turns the wave-level control flow graph into a structured tree.
 *
 * 1. graph.ts: blocks and edges without empty blocks; all ends lead to one exit.
 * 2. cfg/loops.ts: loops; an irreducible one gets a dispatch node; small code that only an exit of a loop leads to moves into it.
 * 3. items.ts: the acyclic view in which each loop is one item, and its dominator tree.
 * 4. segments.ts: where control goes that falls out of a piece of structured code.
 * 5. guards.ts: which places need a guard variable.
 * 6. emit.ts, tidy.ts: the tokens.
 *
 * Time and size are linear in the number of blocks (times the nesting depth of loops).
 */
import type { Cfg } from "../cfg/types.ts";
import { findLoops, type PullLimits } from "../cfg/loops.ts";
import { OPCODES, Trait } from "../../rdna/table.ts";
import { emitTokens } from "./emit.ts";
import { blockGraph } from "./graph.ts";
import { findGuards } from "./guards.ts";
import { buildItems } from "./items.ts";
import { measureSegments } from "./segments.ts";
import { tidy } from "./tidy.ts";
import type { Tree } from "./tree.ts";

/** How much code may move into a loop so that its exits join: see {@linkcode PullLimits}. */
const PULL_NODES = 8;
const PULL_INSTRUCTIONS = 64;

/**
 * The structured form of a program.
 *
 * @throws RefusedError when loops nest deeper than MAX_LOOP_DEPTH (cfg/loops.ts).
 */
export function structurize(cfg: Cfg): Tree {
  const { graph, exit, root } = blockGraph(cfg);
  const forest = findLoops(graph, root, pullLimits(cfg));
  const items = buildItems(graph, forest, root, exit);
  const segments = measureSegments(items);
  const guards = findGuards(items, segments);
  return tidy(emitTokens(cfg, items, segments, guards), guards);
}

/** Blocks by size. A barrier must not move into a loop: other waves of the workgroup may still be in it. */
function pullLimits(cfg: Cfg): PullLimits {
  const weight = new Int32Array(cfg.blockCount);
  for (let b = 0; b < cfg.blockCount; b++) {
    weight[b] = cfg.blockEnd[b] - cfg.blockStart[b];
    for (let i = cfg.blockStart[b]; i < cfg.blockEnd[b]; i++) {
      if ((OPCODES[cfg.instructions[i].op].traits & Trait.Barrier) !== 0) weight[b] = -1;
    }
  }
  return { weight, nodes: PULL_NODES, total: PULL_INSTRUCTIONS };
}

export { dumpTree } from "./dump.ts";
