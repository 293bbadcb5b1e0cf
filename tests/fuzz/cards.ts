/** Runs chosen cards of the deck, each several times: for tests of one class of instructions. */
import { assert, assertEquals } from "@std/assert";
import { Random } from "../support/random.ts";
import { deviceTest } from "../support/vulkan.ts";
import { runBatch } from "./batch.ts";
import { type Card, cardsOf, type GroupName, randomSettings } from "./deck.ts";
import { instructionText } from "./instructions.ts";
import { SideMaker } from "./sides.ts";

/** What a test of a class does. */
export interface CardTest {
  name: string;
  group: GroupName;
  accepts: (card: Card) => boolean;
  batches: number;
  /** Instances of a batch; less cost for long modules. */
  size?: number;
  /** Mnemonics that must have run. */
  mnemonics: number;
  /** Refusals that may happen, by text. */
  refusals?: readonly string[];
}

/** Registers a test: recompiled code on the device against the interpreter, with random operands of fixed seeds. */
export function cardTest(test: CardTest): void {
  const { group, accepts, batches, size = 12, refusals = [] } = test;
  deviceTest(test.name, (device) => {
    using sides = new SideMaker(device);
    const differences: string[] = [], refused = new Set<string>(), ran = new Set<string>();
    for (let seed = 1; seed <= batches; seed++) {
      const random = new Random(seed);
      const settings = { ...randomSettings(group, random), groups: 4 };
      const cards = cardsOf(group, settings).filter(accepts);
      // Every card has its turn.
      const chosen = Array.from({ length: size }, (_, k) => cards[(seed * size + k) % cards.length]);
      const instances = chosen.map((card) => card.make(settings, random));
      const result = runBatch(instances, settings, seed, sides.take(settings.target));
      for (const { name } of result.ran) ran.add(name);
      for (const { name, why } of result.refused) {
        if (!refusals.some((text) => why.includes(text))) refused.add(`${name}: ${why}`);
      }
      for (const { instance, thread, actual, expected } of result.differences) {
        differences.push(
          `seed ${seed}: ${instructionText(instance, settings)} (${instance.form}), thread ${thread}: ` +
            `${actual.map((w) => w.toString(16))} instead of ${expected.map((w) => w.toString(16))}`,
        );
      }
    }
    assertEquals(differences, []);
    assertEquals([...refused], []);
    assert(ran.size >= test.mnemonics, `${ran.size} mnemonics ran, ${test.mnemonics} wanted`);
  }, { validation: false });
}
