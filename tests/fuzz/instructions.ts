/** The instruction fuzzer: rounds over all cards of a group, differences narrowed down to one instruction, refusals counted. */
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { Random } from "../support/random.ts";
import { type Difference, type Refused, runBatch, runSide, type Sides } from "./batch.ts";
import { BATCH_SIZE, type Card, cardsOf, type GroupName, randomSettings } from "./deck.ts";
import { type BatchSettings, buildBatch, type Instance } from "./frame.ts";
import { programJson } from "./save.ts";

/** A difference, alone. */
export interface InstructionFailure {
  seed: number;
  /** The instruction, the settings and both results, for people. */
  text: string;
  /** A program with this instruction alone, as a file for `anyagc run`. */
  program: string;
}

/** What a run of the fuzzer found. */
export interface InstructionReport {
  batches: number;
  /** Instances that ran, times threads. */
  cases: number;
  /** Instances that ran, by mnemonic. */
  ran: Map<string, number>;
  refused: Refused[];
  failures: InstructionFailure[];
}

/** An empty report. */
export function emptyReport(): InstructionReport {
  return { batches: 0, cases: 0, ran: new Map(), refused: [], failures: [] };
}

/** Number of batches of a round over all cards of a group. */
export function roundLength(group: GroupName, settings: BatchSettings): number {
  return Math.ceil(cardsOf(group, settings).length / BATCH_SIZE[group]);
}

/**
 * Runs one batch of a round: the cards of a group in an order that depends on the round, a slice of them in this batch.
 *
 * @param round seed of the order and, with `index`, of everything else
 * @param fixed settings that the caller chooses
 */
export function fuzzBatch(
  group: GroupName,
  round: number,
  index: number,
  fixed: Partial<BatchSettings>,
  sidesOf: (settings: BatchSettings) => Sides,
  report: InstructionReport,
): void {
  const seed = round * 100_003 + index;
  const random = new Random(seed);
  const settings = { ...randomSettings(group, random), ...fixed };
  const cards = shuffled(cardsOf(group, settings), new Random(round));
  const size = BATCH_SIZE[group], start = index * size % cards.length;
  const chosen = cards.slice(start, start + size);
  const sides = sidesOf(settings);
  const result = runBatch(chosen.map((card) => card.make(settings, random)), settings, seed, sides);
  report.batches++;
  report.cases += result.cases;
  for (const { name } of result.ran) report.ran.set(name, (report.ran.get(name) ?? 0) + 1);
  report.refused.push(...result.refused);
  for (const difference of result.differences) report.failures.push(failure(difference, seed, sides));
}

/** What the test suite runs: shares of one round of each group with fixed seeds. */
export const SUITE: readonly { group: GroupName; share: number; what: string }[] = [
  { group: "alu", share: 1, what: "scalar and vector arithmetic in all forms" },
  { group: "lanes", share: 0.5, what: "DPP and lane exchange" },
  { group: "memory", share: 1, what: "memory, buffers and scalar memory" },
  { group: "lds", share: 0.4, what: "LDS" },
];

/** Runs the part of the test suite that concerns a group. */
export function suiteRound(
  { group, share }: (typeof SUITE)[number],
  sidesOf: (settings: BatchSettings) => Sides,
): InstructionReport {
  const report = emptyReport();
  const target = "gfx1013", groups = 4, round = 1;
  const length = roundLength(group, { ...randomSettings(group, new Random(1)), target, waveSize: 64 });
  for (let index = 0; index < Math.ceil(length * share); index++) {
    fuzzBatch(group, round, index, { target, groups, waveSize: index % 2 === 0 ? 64 : 32 }, sidesOf, report);
  }
  return report;
}

function shuffled(cards: Card[], random: Random): Card[] {
  for (let k = cards.length - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [cards[k], cards[other]] = [cards[other], cards[k]];
  }
  return cards;
}

/** The instruction alone in a program, if it fails there too; else in the words of the batch. */
function failure(difference: Difference, seed: number, sides: Sides): InstructionFailure {
  const { settings, instance } = difference;
  const alone = runBatch([instance], settings, seed, sides);
  const found = alone.differences[0] ?? difference;
  const batch = buildBatch([instance], settings, new Random(seed));
  const reference = runSide(batch, sides.reference, sides.allocator);
  const expected = reference instanceof Uint32Array
    ? [{ address: batch.output.address, words: reference, reason: "the reference interpreter's results" }]
    : [];
  const text = describe(found, alone.differences.length > 0);
  return { seed, text, program: programJson(batch.program, [text], expected) };
}

/** The instruction with everything that decided its result. */
function describe({ settings, instance, check, thread, actual, expected, count }: Difference, alone: boolean): string {
  const { target, waveSize, floatMode, ieee, dx10Clamp } = settings;
  const words = (list: readonly number[]) => list.map((word) => word.toString(16).padStart(8, "0")).join(" ");
  const where = check < 0 ? "its memory" : `result ${check}`;
  return `${instructionText(instance, settings)} [${
    instance.words.map(words).join("; ")
  }] on ${target}, wave${waveSize}, ` +
    `FLOAT_MODE 0x${
      floatMode.toString(16)
    }, IEEE ${+ieee}, DX10_CLAMP ${+dx10Clamp}: ${where} differs in ${count} threads, ` +
    `first in ${thread}: ${words(actual)} instead of ${words(expected)}${alone ? "" : " (not when it is alone)"}`;
}

/** The instance's instructions as text. */
export function instructionText({ words }: Instance, { target, waveSize }: BatchSettings): string {
  return words.flatMap((list) => {
    const code = Uint32Array.from(list), lines: string[] = [];
    for (let pc = 0; pc < code.length * 4;) {
      const instruction = decode(code, pc, target);
      lines.push(disassemble(instruction, { target, waveSize }));
      pc += instruction.size * 4;
    }
    return lines;
  }).join("; ");
}
