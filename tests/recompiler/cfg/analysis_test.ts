import { assert, assertEquals } from "@std/assert";
import { analyseCfg, type Cfg } from "../../../src/recompiler/cfg/cfg.ts";
import { dominators } from "../../../src/recompiler/cfg/dominators.ts";
import { adjacency, reversePostorder } from "../../../src/recompiler/cfg/graph.ts";
import { type BlockSpec, looseGraph, makeCfg, programGraph, Random, wildGraph } from "../structurize/graphs.ts";

/** Random graphs of all kinds. */
function graphs(count: number): BlockSpec[][] {
  const result: BlockSpec[][] = [];
  for (let seed = 0; seed < count; seed++) {
    const random = new Random(seed);
    const size = 2 + random.below(24);
    result.push(
      wildGraph(random, size),
      looseGraph(random, size, 10),
      looseGraph(random, size, 0),
      programGraph(random, 1 + random.below(4), { jumps: 15, gotos: 15 }),
    );
  }
  return result;
}

/** Blocks that can be reached from the entry without passing through `without`. */
function reachable(cfg: Cfg, without = -1): Set<number> {
  const seen = new Set<number>();
  const work = without === 0 ? [] : [0];
  while (work.length > 0) {
    const block = work.pop()!;
    if (seen.has(block)) continue;
    seen.add(block);
    for (const target of targets(cfg, block)) if (target !== without) work.push(target);
  }
  return seen;
}

function targets(cfg: Cfg, block: number): number[] {
  return [...cfg.successors.subarray(2 * block, 2 * block + 2)].filter((target) => target >= 0);
}

/** By block: all blocks that dominate it, from the definition; undefined for unreachable blocks. */
function dominatorSets(cfg: Cfg): (Set<number> | undefined)[] {
  const all = reachable(cfg);
  const result: (Set<number> | undefined)[] = Array.from(
    { length: cfg.blockCount },
    (_, b) => all.has(b) ? new Set([b]) : undefined,
  );
  for (const d of all) {
    const rest = reachable(cfg, d);
    for (const b of all) if (!rest.has(b)) result[b]!.add(d);
  }
  return result;
}

Deno.test("immediate dominators agree with the definition", () => {
  let checked = 0;
  for (const blocks of graphs(300)) {
    const cfg = makeCfg(blocks);
    const sets = dominatorSets(cfg);
    const { idom } = analyseCfg(cfg);
    for (let b = 0; b < cfg.blockCount; b++) {
      if (b === 0 || sets[b] === undefined) {
        assertEquals(idom[b], -1);
        continue;
      }
      // The immediate one is the strict dominator that all others dominate.
      const strict = [...sets[b]!].filter((d) => d !== b);
      const nearest = strict.find((d) => strict.every((other) => sets[d]!.has(other)));
      assertEquals(idom[b], nearest);
      checked++;
    }
  }
  assert(checked > 7000, `only ${checked} blocks checked`);
});

Deno.test("the reverse postorder holds each reachable block once and is topological but for edges back", () => {
  for (const blocks of graphs(100)) {
    const cfg = makeCfg(blocks);
    const { order } = analyseCfg(cfg);
    assertEquals([...order].sort((a, b) => a - b), [...reachable(cfg)].sort((a, b) => a - b));
    assertEquals(order[0], 0);
    const position = new Map([...order].map((block, i) => [block, i]));
    // An edge that goes back in the order closes a cycle.
    for (const block of order) {
      for (const target of targets(cfg, block)) {
        if (position.get(target)! > position.get(block)!) continue;
        const from = makeCfg(blocks.map((spec, b) => b === 0 ? { to: [target] } : spec));
        assert(target === 0 || block === 0 || reachable(from).has(block), `${block} -> ${target}`);
      }
    }
  }
});

Deno.test("loops agree with natural loops, and irreducibility with the dominator criterion", () => {
  let reducible = 0;
  let irreducible = 0;
  for (const blocks of graphs(400)) {
    const cfg = makeCfg(blocks);
    const sets = dominatorSets(cfg);
    const { loopDepth, loopHeader, loopCount, irreducibleCount } = analyseCfg(cfg);
    // Natural loops: all that reaches a back edge's source without passing the header. Those of one header are one loop.
    const bodies = new Map<number, Set<number>>();
    const forward: [number, number][] = [];
    for (let b = 0; b < cfg.blockCount; b++) {
      if (sets[b] === undefined) continue;
      for (const target of targets(cfg, b)) {
        if (!sets[b]!.has(target)) {
          forward.push([b, target]);
          continue;
        }
        const body = bodies.get(target) ?? new Set([target]);
        bodies.set(target, body);
        const work = [b];
        while (work.length > 0) {
          const block = work.pop()!;
          if (body.has(block)) continue;
          body.add(block);
          for (let p = 0; p < cfg.blockCount; p++) if (sets[p] && targets(cfg, p).includes(block)) work.push(p);
        }
      }
    }
    if (hasCycle(cfg.blockCount, forward)) {
      assert(irreducibleCount > 0);
      irreducible++;
      continue;
    }
    assertEquals(irreducibleCount, 0);
    reducible++;
    assertEquals(loopCount, bodies.size);
    for (let b = 0; b < cfg.blockCount; b++) {
      if (sets[b] === undefined) continue;
      assertEquals(loopHeader[b] === 1, bodies.has(b));
      assertEquals(loopDepth[b], [...bodies.values()].filter((body) => body.has(b)).length);
    }
  }
  assert(reducible > 1000 && irreducible > 120, `${reducible} reducible, ${irreducible} irreducible`);
});

/** Removes blocks without incoming edges until none is left, or only cycles. */
function hasCycle(count: number, edges: readonly [number, number][]): boolean {
  const incoming = new Array(count).fill(0);
  for (const [, to] of edges) incoming[to]++;
  const work = incoming.flatMap((n, b) => n === 0 ? [b] : []);
  let removed = 0;
  while (work.length > 0) {
    const block = work.pop()!;
    removed++;
    for (const [from, to] of edges) if (from === block && --incoming[to] === 0) work.push(to);
  }
  return removed < count;
}

Deno.test("dominators of a ladder of 200,000 nodes need no stack and no quadratic walk", () => {
  // Node n leads to n + 1 and to the last node: the last node's dominator is found far up.
  const count = 200_000;
  const from: number[] = [];
  const to: number[] = [];
  for (let n = 0; n + 1 < count; n++) {
    from.push(n, n);
    to.push(n + 1, count - 1);
  }
  const graph = adjacency(count, from, to);
  const idom = dominators(graph, 0);
  assertEquals(idom[count - 1], 0);
  assertEquals(idom[count - 2], count - 3);
  assertEquals(reversePostorder(graph, 0).length, count);
});

Deno.test("entries of irreducible loops are marked, also of nested ones", () => {
  // 1 and 2 are the entries of the outer loop; within it 3 and 4 of an inner one.
  const cfg = makeCfg([{ to: [1, 2] }, { to: [3, 4] }, { to: [1] }, { to: [4, 2] }, { to: [3, 5] }, { to: [] }]);
  const { loopHeader, irreducibleCount, loopCount, loopDepth } = analyseCfg(cfg);
  assertEquals([...loopHeader], [0, 1, 1, 1, 1, 0]);
  assertEquals([loopCount, irreducibleCount], [2, 2]);
  assertEquals([...loopDepth], [0, 1, 1, 2, 2, 0]);
});
