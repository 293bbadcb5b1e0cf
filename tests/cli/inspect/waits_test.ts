import { assertEquals } from "@std/assert";
import { valueThatEnds } from "../../../src/cli/inspect/waits.ts";
import type { WaitDescription } from "../../../src/pm4/packets/definition.ts";

const ALL = 0xffff_ffffn;

Deno.test("a wait is ended by a value for which it holds, and bits outside of its mask stay", () => {
  const cases: [WaitDescription["compare"], bigint, bigint, bigint, bigint | undefined][] = [
    ["==", 7n, ALL, 0n, 7n],
    ["==", 0x20n, 0xf0n, 0xab0fn, 0xab2fn],
    ["!=", 7n, ALL, 7n, 8n],
    ["!=", 0n, 0x100n, 0x1001n & 0xffn, 0x101n],
    [">=", 9n, ALL, 0n, 9n],
    [">", 9n, ALL, 0n, 10n],
    [">", 0x10n, 0x30n, 0x1n, 0x21n],
    ["<=", 9n, ALL, 10n, 9n],
    ["<", 9n, ALL, 10n, 8n],
    // What can never be.
    ["<", 0n, ALL, 0n, undefined],
    [">", ALL, ALL, 0n, undefined],
    ["==", 1n, 0xf0n, 0n, undefined],
    ["!=", 0n, 0n, 5n, undefined],
  ];
  for (const [compare, reference, mask, present, expected] of cases) {
    const wait = { compare, reference, mask, present } as WaitDescription;
    assertEquals(valueThatEnds(wait), expected, `${compare} ${reference} of ${mask}`);
  }
});
