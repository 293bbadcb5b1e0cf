import { assert, assertEquals } from "@std/assert";
import { structurize } from "../../../src/recompiler/structurize/structurize.ts";
import { type BlockSpec, looseGraph, makeCfg, programGraph, Random, wildGraph } from "./graphs.ts";
import { walkCfg, walkTree } from "./walk.ts";

/** Structures the graph, compares one walk of at most `limit` blocks, and gives tokens per block. */
function tokensPerBlock(blocks: BlockSpec[], limit: number, seed = 1): number {
  const cfg = makeCfg(blocks);
  const tree = structurize(cfg);
  const expected = walkCfg(cfg, seed, limit);
  const actual = walkTree(cfg, tree, seed, limit);
  assertEquals(actual.ended, expected.ended);
  assertEquals(actual.blocks.length, expected.blocks.length);
  for (let i = 0; i < expected.blocks.length; i++) if (actual.blocks[i] !== expected.blocks[i]) throw new Error(`${i}`);
  return tree.length / cfg.blockCount;
}

const SIZE = 100_000;

function each(make: (block: number, last: number) => number[], count = SIZE): BlockSpec[] {
  return Array.from({ length: count }, (_, b) => ({ to: b === count - 1 ? [] : make(b, count - 1) }));
}

Deno.test("100,000 blocks of ifs in a row", () => {
  const blocks = each((b, last) => b % 2 === 0 && b + 2 <= last ? [b + 2, b + 1] : [b + 1]);
  assert(tokensPerBlock(blocks, SIZE) <= 2.1);
});

Deno.test("100,000 blocks of ifs nested in one another", () => {
  const blocks = each((b, last) => b < last / 2 - 1 ? [b + 1, last - b] : [b + 1]);
  assert(tokensPerBlock(blocks, SIZE) <= 2.1);
});

Deno.test("100,000 blocks each of which may leave to the end", () => {
  assert(tokensPerBlock(each((b, last) => b + 1 === last ? [last] : [last, b + 1]), SIZE) <= 3.1);
});

Deno.test("100,000 loops in a row", () => {
  assert(tokensPerBlock(each((b) => [b, b + 1]), SIZE) <= 6.1);
});

Deno.test("100,000 blocks each of which leads to the next two", () => {
  assert(tokensPerBlock(each((b, last) => b + 2 <= last ? [b + 1, b + 2] : [b + 1]), SIZE) <= 9.1);
});

Deno.test("100,000 blocks that all exclude each other: a switch", () => {
  // Block 2i decides between case 2i + 1 and the next decision; all cases lead to the end.
  assert(tokensPerBlock(each((b, last) => b % 2 === 1 || b + 2 > last ? [last] : [b + 1, b + 2]), SIZE) <= 3.1);
});

Deno.test("programs grow linearly: tokens per block do not depend on the size", () => {
  for (const shape of [{ jumps: 0, gotos: 0 }, { jumps: 10, gotos: 5 }]) {
    for (const statements of [100, 1_000, 10_000, 30_000]) {
      const blocks = programGraph(new Random(statements), statements, shape);
      assert(tokensPerBlock(blocks, 20_000) <= 3.5, `${statements} statements`);
    }
  }
});

Deno.test("acyclic graphs grow linearly, graphs at random as far as they are structured", () => {
  for (const size of [1_000, 10_000, 100_000]) {
    assert(tokensPerBlock(looseGraph(new Random(size), size, 0), 20_000) <= 4);
    assert(tokensPerBlock(looseGraph(new Random(size), size, 5), 20_000) <= 4);
    // Nearly all blocks are entries of one dispatch loop, each edge to which sets log2(entries) selectors.
    assert(tokensPerBlock(wildGraph(new Random(size), size), 20_000) <= 3 + Math.log2(size));
  }
});
