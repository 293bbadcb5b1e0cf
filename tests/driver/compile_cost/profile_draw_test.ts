import { assertEquals } from "@std/assert";
import { profileCreation, PROFILED_WORDS, resetProfile } from "../../../src/driver/compile_cost/profile_draw.ts";

function printed(value: string | undefined, words: number, address: bigint | undefined | (() => bigint | undefined)) {
  const before = Deno.env.get("APS5_PROFILE_DRAW"), lines: string[] = [];
  if (value === undefined) Deno.env.delete("APS5_PROFILE_DRAW");
  else Deno.env.set("APS5_PROFILE_DRAW", value);
  resetProfile();
  try {
    profileCreation({ words, ms: 1234.56, address }, (line) => lines.push(line));
  } finally {
    if (before === undefined) Deno.env.delete("APS5_PROFILE_DRAW");
    else Deno.env.set("APS5_PROFILE_DRAW", before);
    resetProfile();
  }
  return lines;
}

Deno.test("APS5_PROFILE_DRAW prints words, milliseconds and program address of pipelines over 100,000 words", () => {
  assertEquals(PROFILED_WORDS, 100_000);
  const line = "pipeline: 100001 words, 1234.6 ms, program 0xffff800012345600";
  assertEquals(printed("1", 100_001, 0xffff8000_12345600n), [line]);
  assertEquals(printed("1", 100_001, () => 0xffff8000_12345600n), [line]);
  assertEquals(printed("1", 100_001, undefined), ["pipeline: 100001 words, 1234.6 ms, program unknown"]);
});

Deno.test("smaller pipelines are not printed, nor any without the switch, and nobody looks for an address then", () => {
  const never = () => {
    throw new Error("looked for the address");
  };
  assertEquals(printed("1", 100_000, never), []);
  assertEquals(printed(undefined, 1_000_000, never), []);
  assertEquals(printed("0", 1_000_000, never), []);
});
