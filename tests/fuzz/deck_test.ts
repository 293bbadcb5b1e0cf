/** What the deck of the instruction fuzzer holds. */
import { assert, assertEquals } from "@std/assert";
import { OPCODES } from "../../src/rdna/table.ts";
import { TARGETS } from "../../src/rdna/target.ts";
import { Random } from "../support/random.ts";
import { cardsOf, GROUPS, randomSettings } from "./deck.ts";
import { SUITE, suiteBatches } from "./instructions.ts";
import { UNDRAWN, whyUndrawn } from "./undrawn.ts";

/** Mnemonics of all cards, for both targets and wave sizes. */
function drawn(): Set<string> {
  const names = new Set<string>();
  for (const target of TARGETS) {
    for (const waveSize of [32, 64] as const) {
      for (const group of GROUPS) {
        const settings = { ...randomSettings(group, new Random(1)), target, waveSize };
        for (const { opcode } of cardsOf(group, settings)) names.add(opcode.name);
      }
    }
  }
  return names;
}

Deno.test("every opcode of the table is drawn, or there is a reason why not", () => {
  const names = drawn();
  const missing = OPCODES.filter(({ name }) => !names.has(name) && whyUndrawn(name) === undefined);
  assertEquals(missing.map(({ name }) => name), []);
});

Deno.test("what has a reason not to be drawn is not drawn, and exists", () => {
  const names = drawn(), all = new Set(OPCODES.map(({ name }) => name));
  assertEquals(UNDRAWN.filter((name) => names.has(name) || !all.has(name)), []);
});

Deno.test("the test suite runs every opcode that the deck holds, on both targets and in both wave sizes", () => {
  const wanted = drawn(), seen = new Set<string>();
  const settings = new Set<string>();
  for (const part of SUITE) {
    for (const { instances, settings: { target, waveSize } } of suiteBatches(part)) {
      settings.add(`${part.group} ${target} ${waveSize}`);
      for (const { name } of instances) seen.add(name);
    }
  }
  assertEquals([...wanted].filter((name) => !seen.has(name)), []);
  assertEquals(settings.size, GROUPS.length * TARGETS.length * 2);
});

Deno.test("instances of one seed are the same instances", () => {
  const [part] = SUITE;
  const words = () => suiteBatches(part).flatMap(({ instances }) => instances.flatMap((each) => each.words.flat()));
  assertEquals(words(), words());
  assert(words().length > 500);
});
