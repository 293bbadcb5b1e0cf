import { assertEquals } from "@std/assert";
import { didYouMean, editDistance, nearest } from "../../src/cli/nearest.ts";

Deno.test("the edit distance counts inserted, deleted, replaced and swapped letters", () => {
  for (
    const [a, b, expected] of [
      ["", "", 0],
      ["abc", "abc", 0],
      ["", "abc", 3],
      ["abc", "ab", 1],
      ["abc", "axc", 1],
      ["abc", "acb", 1],
      ["kitten", "sitting", 3],
      ["ca", "abc", 3],
    ] as const
  ) {
    assertEquals(editDistance(a, b), expected, `${a} ${b}`);
    assertEquals(editDistance(b, a), expected, `${b} ${a}`);
  }
});

Deno.test("the nearest name is one that the word begins, or one few edits away", () => {
  const names = ["run", "recompile", "disasm", "doctor"];
  assertEquals(nearest("rn", names), "run");
  assertEquals(nearest("recomp", names), "recompile");
  assertEquals(nearest("DISASM", names), "disasm");
  assertEquals(nearest("docter", names), "doctor");
  assertEquals(nearest("x", names), undefined);
  assertEquals(nearest("something", names), undefined);
  assertEquals(didYouMean("docter", names, "--"), " (did you mean --doctor?)");
  assertEquals(didYouMean("something", names), "");
});
