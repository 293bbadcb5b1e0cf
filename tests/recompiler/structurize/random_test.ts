import { assert, assertEquals } from "@std/assert";
import { structurize } from "../../../src/recompiler/structurize/structurize.ts";
import { analyseCfg } from "../../../src/recompiler/cfg/cfg.ts";
import { type BlockSpec, looseGraph, makeCfg, programGraph, Random, shuffled, wildGraph } from "./graphs.ts";
import { checkTree, walkCfg, walkTree } from "./walk.ts";

/** Decision streams per graph, and blocks per trace. */
const WALKS = 6;
const LIMIT = 250;

interface Tally {
  graphs: number;
  blocks: number;
  tokens: number;
  guards: number;
  irreducible: number;
  walks: number;
  ended: number;
}

/** Structures `count` random graphs and compares the traces of graph and tree. */
function compare(count: number, make: (random: Random, size: number) => BlockSpec[], sizeLimit = 40): Tally {
  const tally: Tally = { graphs: count, blocks: 0, tokens: 0, guards: 0, irreducible: 0, walks: 0, ended: 0 };
  for (let seed = 0; seed < count; seed++) {
    const random = new Random(seed * 13 + 5);
    const blocks = make(random, 2 + random.below(sizeLimit));
    const cfg = makeCfg(blocks);
    const what = () =>
      `seed ${seed}: ${blocks.map(({ to, size }, b) => `${b}${size === 0 ? "*" : ""}:${to}`).join(" ")}`;
    let tree;
    try {
      tree = structurize(cfg);
      checkTree(cfg, tree);
    } catch (error) {
      throw new Error(what(), { cause: error });
    }
    const { order, irreducibleCount } = analyseCfg(cfg);
    tally.blocks += order.length;
    tally.tokens += tree.length;
    tally.guards += tree.guardCount;
    if (irreducibleCount > 0) tally.irreducible++;
    for (let walk = 0; walk < WALKS; walk++) {
      const expected = walkCfg(cfg, seed + 1000 * walk, LIMIT);
      assertEquals(walkTree(cfg, tree, seed + 1000 * walk, LIMIT), expected, what());
      tally.walks++;
      if (expected.ended) tally.ended++;
    }
  }
  console.log(
    `    ${tally.graphs} graphs (${tally.irreducible} irreducible), ${tally.blocks} blocks: ${
      (tally.tokens / tally.blocks).toFixed(2)
    } tokens and ${
      (tally.guards / tally.blocks).toFixed(3)
    } guards per block, ${tally.ended} of ${tally.walks} walks ended`,
  );
  return tally;
}

Deno.test("structured programs keep their traces: no irreducible loop, hardly any guard", () => {
  const tally = compare(1500, (random, size) => programGraph(random, size >> 2, { jumps: 0, gotos: 0 }));
  assertEquals(tally.irreducible, 0);
  assert(tally.guards < 0.06 * tally.blocks);
  assert(tally.ended > 0.5 * tally.walks);
});

Deno.test("programs with breaks and continues out of several loops and early returns keep their traces", () => {
  const tally = compare(1500, (random, size) => programGraph(random, size >> 2, { jumps: 20, gotos: 0 }));
  assertEquals(tally.irreducible, 0);
  assert(tally.guards < 0.08 * tally.blocks);
});

Deno.test("programs with forward gotos in any block order keep their traces", () => {
  const tally = compare(
    1500,
    (random, size) => shuffled(random, programGraph(random, size >> 2, { jumps: 15, gotos: 20 })),
  );
  assertEquals(tally.irreducible, 0);
  assert(tally.guards < 0.1 * tally.blocks);
});

Deno.test("acyclic graphs keep their traces", () => {
  const tally = compare(1500, (random, size) => looseGraph(random, size, 0));
  assertEquals(tally.irreducible, 0);
  assertEquals(tally.ended, tally.walks);
});

Deno.test("graphs with edges back to anywhere keep their traces, irreducible or not", () => {
  assert(compare(1500, (random, size) => looseGraph(random, size, 12)).irreducible > 200);
});

Deno.test("graphs at random keep their traces", () => {
  assert(compare(1500, (random, size) => wildGraph(random, size)).irreducible > 500);
  assert(compare(100, (random, size) => wildGraph(random, size), 300).irreducible > 80);
});
