import { assertEquals, assertThrows } from "@std/assert";
import { type AnyAgcError, RefusedError } from "../../../src/errors.ts";
import { Condition, CONDITION_NAMES } from "../../../src/recompiler/cfg/cfg.ts";
import { MAX_LOOP_DEPTH } from "../../../src/recompiler/cfg/loops.ts";
import { dumpTree, structurize } from "../../../src/recompiler/structurize/structurize.ts";
import type { Tree } from "../../../src/recompiler/structurize/tree.ts";
import { type BlockSpec, makeCfg } from "./graphs.ts";
import { checkTree, walkCfg, walkTree } from "./walk.ts";

/** The tree on one line: `0` is block 0, `if scc1 { } else { }` tests the block before it, `if g0 { }` a guard, `g0=1` sets one. */
function shape(tree: Tree): string {
  const words: string[] = [];
  for (let i = 0; i < tree.length; i++) {
    const a = tree.a[i];
    const b = tree.b[i];
    const condition = b >= Condition.GuardClear ? CONDITION_NAMES[b].replace("guard", `g${a}`) : CONDITION_NAMES[b];
    words.push(
      [
        `${a}`,
        `if ${condition} {`,
        "} else {",
        "}",
        a === 1 ? "loop {" : "forever {",
        "}",
        "break",
        "continue",
        `g${a}=${b}`,
        "return",
      ][tree.token[i]],
    );
  }
  return words.join(" ");
}

/**
 * Structures the graph, checks that the tree is well formed and visits the same blocks as the graph for many decisions, and gives its shape.
 * A graph is one entry per block: its targets (condition scc1: the first is taken when SCC is 1), or a whole description.
 */
function structured(...blocks: (number[] | BlockSpec)[]): string {
  const cfg = makeCfg(blocks.map((block) => Array.isArray(block) ? { to: block } : block));
  const tree = structurize(cfg);
  checkTree(cfg, tree);
  for (let seed = 0; seed < 64; seed++) assertEquals(walkTree(cfg, tree, seed, 100), walkCfg(cfg, seed, 100));
  return shape(tree);
}

Deno.test("a chain of blocks is a sequence", () => {
  assertEquals(structured([1], [2], []), "0 1 2 return");
});

Deno.test("the exec-mask idiom is exactly one if, without guard and without else", () => {
  // s_and_saveexec; s_cbranch_execz 2; region 1; 2: s_or exec
  assertEquals(
    structured({ to: [2, 1], condition: Condition.Execz }, [2], []),
    "0 if execnz { 1 } 2 return",
  );
});

Deno.test("if and else nest in the arms, the earlier block of the program first", () => {
  assertEquals(structured([2, 1], [3], [3], []), "0 if scc0 { 1 } else { 2 } 3 return");
});

Deno.test("nested ifs nest", () => {
  assertEquals(structured([4, 1], [3, 2], [3], [4], []), "0 if scc0 { 1 if scc0 { 2 } 3 } 4 return");
  // Both ifs end at the same place.
  assertEquals(structured([3, 1], [3, 2], [3], []), "0 if scc0 { 1 if scc0 { 2 } } 3 return");
});

Deno.test("a && b without else needs no guard", () => {
  assertEquals(structured([1, 3], [2, 3], [3], []), "0 if scc1 { 1 if scc1 { 2 } } 3 return");
});

Deno.test("a && b with else needs one guard", () => {
  // 0: a, 1: b, 2: then, 3: else
  assertEquals(
    structured([1, 3], [2, 3], [4], [4], []),
    "0 g0=0 if scc1 { 1 if scc1 { 2 } else { g0=1 } } else { g0=1 } if g0 { 3 } 4 return",
  );
});

Deno.test("(a || b) && (c || d) with else needs one guard: what is not bound for the else is bound for what comes next", () => {
  // 0: a, 1: b, 2: c, 3: d, 4: then, 5: else
  assertEquals(
    structured([2, 1], [2, 5], [4, 3], [4, 5], [6], [6], []),
    "0 g0=0 if scc0 { 1 if scc0 { g0=1 } } if !g0 { 2 if scc0 { 3 if scc0 { g0=1 } } if !g0 { 4 } } " +
      "if g0 { 5 } 6 return",
  );
});

Deno.test("two alternatives that several edges lead to are an if and an else on one guard", () => {
  assertEquals(
    structured([1, 2], [3, 4], [3, 4], [5], [5], []),
    "0 g0=0 if scc1 { 1 if scc1 { g0=1 } } else { 2 if scc1 { g0=1 } } if g0 { 3 } else { 4 } 5 return",
  );
});

Deno.test("a switch chain needs no guard, and one guard per case that falls into the next", () => {
  assertEquals(
    structured([1, 2], [6], [3, 4], [6], [5, 6], [6], []),
    "0 if scc1 { 1 } else { 2 if scc1 { 3 } else { 4 if scc1 { 5 } } } 6 return",
  );
  // Case 1 falls into case 3.
  assertEquals(
    structured([1, 2], [3], [3, 4], [5], [5], []),
    "0 g0=0 if scc1 { 1 g0=1 } else { 2 if scc1 { g0=1 } else { 4 } } if g0 { 3 } 5 return",
  );
});

Deno.test("loops tested at the top, at the bottom and in the middle need no guard", () => {
  assertEquals(structured([1], [2, 3], [1], []), "0 loop { 1 if scc0 { break } 2 } 3 return");
  assertEquals(structured([1], [1, 2], []), "0 loop { 1 if scc0 { break } } 2 return");
  assertEquals(structured([1], [2, 3], [1, 3], []), "0 loop { 1 if scc0 { break } 2 if scc0 { break } } 3 return");
  // The entry itself is the loop.
  assertEquals(structured([0, 1], []), "loop { 0 if scc0 { break } } 1 return");
});

Deno.test("break and continue in nested ifs need no guard", () => {
  // 1: header, 2 and 3: nested ifs, 4: break's code is the exit, 5: latch
  assertEquals(
    structured([1], [2, 5], [3, 5], [6, 4], [5], [1], []),
    "0 loop { 1 if scc1 { 2 if scc1 { 3 if scc1 { break } 4 } } 5 } 6 return",
  );
  assertEquals(
    structured([1], [2, 5], [1, 3], [1, 4], [5], [1, 6], []),
    "0 loop { 1 if scc1 { 2 if scc1 { continue } 3 if scc1 { continue } 4 } 5 if scc0 { break } } 6 return",
  );
});

Deno.test("a Continue with nothing behind it is left out", () => {
  assertEquals(structured([1], [1, 2], [3, 1], []), "0 loop { 1 if scc0 { 2 if scc1 { break } } } 3 return");
});

Deno.test("small code that only one exit of a loop leads to moves into the loop", () => {
  // `if (found) { 3; break; }`: block 3 lies behind the loop's natural end.
  assertEquals(
    structured([1], [3, 2], [1, 4], [4], []),
    "0 loop { 1 if scc1 { 3 break } 2 if scc0 { break } } 4 return",
  );
});

Deno.test("large code, and code with a barrier, stays outside: one guard", () => {
  const expected = "0 g0=0 loop { 1 if scc1 { g0=1 break } 2 if scc0 { break } } if g0 { 3 } 4 return";
  assertEquals(structured([1], [3, 2], [1, 4], { to: [4], size: 100 }, []), expected);
  assertEquals(structured([1], [3, 2], [1, 4], { to: [4], name: "s_barrier" }, []), expected);
});

Deno.test("two exits to large code are an if and an else on one guard", () => {
  assertEquals(
    structured([1], [3, 2], [1, 4], { to: [5], size: 100 }, { to: [5], size: 100 }, []),
    "0 g0=0 loop { 1 if scc1 { g0=1 break } 2 if scc0 { break } } if g0 { 3 } else { 4 } 5 return",
  );
});

Deno.test("a break out of two loops takes one guard", () => {
  // 1: outer header, 2: inner header, 3: inner body, 4: outer latch, 5: after
  assertEquals(
    structured([1], [2, 5], [3, 4], [5, 2], [1], []),
    "0 g0=0 loop { 1 if scc0 { break } loop { 2 if scc0 { break } 3 if scc1 { g0=1 break } } if g0 { break } 4 } 5 return",
  );
});

Deno.test("a continue of the outer loop takes one guard, cleared in each iteration", () => {
  // 3 goes on with the outer loop at once, 4 is the rest of the outer body.
  assertEquals(
    structured([1], [2, 5], [3, 4], [1, 2], { to: [1], size: 100 }, []),
    "0 loop { g0=0 1 if scc0 { break } loop { 2 if scc0 { break } 3 if scc1 { g0=1 break } } if g0 { continue } 4 } 5 return",
  );
});

Deno.test("an early return out of three loops takes one guard", () => {
  const text = structured(
    [1],
    [2, 7],
    [3, 6],
    [4, 5],
    [8, 3],
    { to: [2], size: 100 },
    { to: [1], size: 100 },
    { to: [], size: 100 },
    { to: [], size: 100 },
  );
  assertEquals(
    text,
    "0 g0=0 loop { 1 if scc0 { break } loop { 2 if scc0 { break } loop { 3 if scc0 { break } 4 if scc1 { g0=1 break } } " +
      "if g0 { break } 5 } if g0 { break } 6 } if g0 { 8 } else { 7 } return",
  );
});

Deno.test("an early return at the top level nests the rest, without guard", () => {
  assertEquals(structured([1, 2], [], [3, 4], [], []), "0 if scc1 { 1 } else { 2 if scc1 { 3 } else { 4 } } return");
});

Deno.test("early returns in ifs that follow each other share one guard", () => {
  // Three times: if (c) { if (d) return; x } y
  assertEquals(
    structured([1, 3], [10, 2], [3], [4, 6], [10, 5], [6], [7, 9], [10, 8], [9], [10], { to: [], size: 0 }),
    "g0=0 0 if scc1 { 1 if scc0 { 2 } else { g0=1 } } if !g0 { 3 if scc1 { 4 if scc0 { 5 } else { g0=1 } } " +
      "if !g0 { 6 if scc1 { 7 if scc0 { 8 } else { g0=1 } } if !g0 { 9 } } } return",
  );
});

Deno.test("an early return in a nested if guards what follows the outer if", () => {
  assertEquals(
    structured([1, 3], [2, 4], [], [5], [5], []),
    "0 g0=0 if scc1 { 1 if scc1 { 2 } else { 4 g0=1 } } else { 3 g0=1 } if g0 { 5 } return",
  );
});

Deno.test("blocks that only end the program are the natural end", () => {
  assertEquals(structured([1, 2], { to: [], size: 0 }, [3], { to: [], size: 0 }), "0 if scc0 { 2 } return");
});

Deno.test("blocks that only jump vanish, also at a loop's end and in front of it", () => {
  assertEquals(
    structured([1], { to: [2], size: 0 }, [3, 4], { to: [2], size: 0 }, { to: [5], size: 0 }, []),
    "0 loop { 2 if scc0 { break } } 5 return",
  );
});

Deno.test("a condition both ways of which lead to the same place through empty blocks is no if", () => {
  assertEquals(structured([1, 2], { to: [3], size: 0 }, { to: [3], size: 0 }, []), "0 3 return");
});

Deno.test("endless loops are marked", () => {
  assertEquals(structured([1], [1]), "0 forever { 1 } return");
  assertEquals(structured([1], { to: [1], size: 0 }), "0 forever { 1 } return");
  assertEquals(structured([1], { to: [2], size: 0 }, { to: [1], size: 0 }), "0 forever { 1 } return");
  assertEquals(structured([1, 3], [2, 1], [1], []), "0 if scc1 { forever { 1 if scc1 { 2 } } } else { 3 } return");
});

Deno.test("an irreducible loop with two entries becomes one dispatch loop with one selector", () => {
  // 0 leads to both 1 and 2, which lead to each other.
  assertEquals(
    structured([1, 2], [2], [1, 3], []),
    "0 if scc0 { g0=1 } else { g0=0 } loop { if !g0 { 1 g0=1 } else { 2 if scc0 { break } g0=0 } } 3 return",
  );
});

Deno.test("an irreducible loop with five entries has three selector variables", () => {
  // 0 to 3 choose where to enter the ring 4 to 8.
  const text = structured([1, 4], [2, 5], [3, 6], [7, 8], [5], [6], [7], [8], [4, 9], []);
  const guards = new Set(text.match(/g\d+(?==)/g));
  assertEquals(guards.size, 3);
  assertEquals(text.split("loop {").length, 2);
});

Deno.test("unreachable blocks do not appear", () => {
  assertEquals(structured([2], [2], []), "0 2 return");
});

Deno.test("loops nested too deep are refused by name", () => {
  // Loop i is entered at block i, and block n + i leads back to it.
  const nest = (n: number): BlockSpec[] => {
    const blocks: BlockSpec[] = [];
    for (let i = 0; i < n; i++) blocks.push({ to: [i + 1] });
    for (let i = n - 1; i >= 0; i--) blocks.push({ to: [i, blocks.length + 1] });
    blocks.push({ to: [] });
    return blocks;
  };
  assertEquals(structurize(makeCfg(nest(MAX_LOOP_DEPTH))).guardCount, 0);
  const error = assertThrows(() => structurize(makeCfg(nest(MAX_LOOP_DEPTH + 1))), RefusedError) as AnyAgcError;
  assertEquals(error.code, "recompiler.loop-nesting");
});

Deno.test("the dump shows the nesting", () => {
  const cfg = makeCfg([{ to: [1, 3] }, { to: [2, 3] }, { to: [4] }, { to: [4] }, { to: [] }]);
  assertEquals(
    dumpTree(structurize(cfg), cfg),
    `tree: 17 tokens, 1 guards, depth 2
b0 (pc 0x0, 1)
g0 = 0
if scc1 of b0
  b1 (pc 0x0, 1)
  if scc1 of b1
    b2 (pc 0x0, 1)
  else
    g0 = 1
  end
else
  g0 = 1
end
if g0
  b3 (pc 0x0, 1)
end
b4 (pc 0x0, 1)
return
`,
  );
});
