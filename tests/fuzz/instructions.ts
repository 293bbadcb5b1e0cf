/** The instruction fuzzer: rounds over all cards of a group, differences narrowed down to one instruction, refusals counted. */
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { Encoding } from "../../src/rdna/instruction.ts";
import { Trait } from "../../src/rdna/table.ts";
import { type Target, TARGETS } from "../../src/rdna/target.ts";
import { Random } from "../support/random.ts";
import { type Difference, type Refused, runBatch, runSide, type Sides } from "./batch.ts";
import { BATCH_SIZE, type Card, cardsOf, type GroupName, randomSettings } from "./deck.ts";
import { type BatchSettings, buildBatch, type Instance, type Spotlight } from "./frame.ts";
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

/** A batch of a round before it is built. */
export interface PlannedBatch {
  instances: Instance[];
  settings: BatchSettings;
  /** Of the operands. */
  seed: number;
}

/** Cards that the same settings suit. */
interface Suit {
  targets: Target[];
  waveSizes: (32 | 64)[];
  cards: Card[];
}

/** The cards of a group by the settings that suit them, less those that cannot have what `fixed` asks for. */
function suits(
  group: GroupName,
  fixed: Partial<BatchSettings>,
  without: readonly Spotlight[],
  only: (card: Card) => boolean,
): Suit[] {
  const wanted = [fixed.spotlight ?? []].flat();
  const targets = TARGETS.filter((target) => fixed.target === undefined || fixed.target === target);
  const waveSizes = ([64, 32] as const).filter((size) => fixed.waveSize === undefined || fixed.waveSize === size);
  const found = new Map<string, { card: Card; targets: Set<Target>; waveSizes: Set<32 | 64> }>();
  for (const target of targets) {
    for (const waveSize of waveSizes) {
      for (const card of cardsOf(group, { ...randomSettings(group, new Random(1)), ...fixed, target, waveSize })) {
        if (wanted.length > 0 && !wanted.some((each) => card.spotlights.includes(each))) continue;
        if (!only(card)) continue;
        if (without.some((each) => card.spotlights.includes(each))) continue;
        const key = `${card.opcode.id} ${card.form}`;
        let entry = found.get(key);
        if (entry === undefined) found.set(key, entry = { card, targets: new Set(), waveSizes: new Set() });
        entry.targets.add(target);
        entry.waveSizes.add(waveSize);
      }
    }
  }
  const result = new Map<string, Suit>();
  for (const { card, targets, waveSizes } of found.values()) {
    const key = `${[...targets]} ${[...waveSizes]}`;
    let suit = result.get(key);
    if (suit === undefined) result.set(key, suit = { targets: [...targets], waveSizes: [...waveSizes], cards: [] });
    suit.cards.push(card);
  }
  return [...result.values()];
}

/**
 * The batches of a round: every card of a group once, in an order that depends on the round, with both targets and both wave sizes in turn.
 *
 * @param round seed of everything
 * @param fixed settings that the caller chooses; with a spotlight, only cards that can have it
 * @param without cards that can have one of these are left out
 * @param only cards that are drawn
 */
export function* planRound(
  group: GroupName,
  round: number,
  fixed: Partial<BatchSettings> = {},
  without: readonly Spotlight[] = [],
  only: (card: Card) => boolean = () => true,
): Generator<PlannedBatch, void, void> {
  let index = 0;
  for (const { targets, waveSizes, cards } of suits(group, fixed, without, only)) {
    shuffle(cards, new Random(round));
    for (let start = 0; start < cards.length; start += BATCH_SIZE[group], index++) {
      const seed = round * 100_003 + index;
      const random = new Random(seed);
      const settings: BatchSettings = {
        ...randomSettings(group, random),
        target: targets[(round + index) % targets.length],
        waveSize: waveSizes[(round + (index >> 1)) % waveSizes.length],
        ...fixed,
      };
      const chosen = cards.slice(start, start + BATCH_SIZE[group]);
      yield { instances: chosen.map((card) => card.make(settings, random)), settings, seed };
    }
  }
}

/** Runs a batch on both sides and adds what came of it to the report. */
export function fuzzBatch(
  { instances, settings, seed }: PlannedBatch,
  sidesOf: (settings: BatchSettings) => Sides,
  report: InstructionReport,
): void {
  const sides = sidesOf(settings);
  const result = runBatch(instances, settings, seed, sides);
  report.batches++;
  report.cases += result.cases;
  for (const { name } of result.ran) report.ran.set(name, (report.ran.get(name) ?? 0) + 1);
  report.refused.push(...result.refused);
  for (const difference of result.differences) report.failures.push(failure(difference, seed, sides));
}

/** A part of what the test suite runs: a round over cards of a group. */
export interface SuitePart {
  group: GroupName;
  /** Seed. */
  round: number;
  what: string;
  /** Settings that are the same in all batches. */
  fixed: Partial<BatchSettings>;
  /** Cards that can have one of these are left to other parts. */
  without: readonly Spotlight[];
  /** Cards that the part draws. */
  only(card: Card): boolean;
}

const part = (
  group: GroupName,
  round: number,
  what: string,
  fixed: Partial<BatchSettings> = {},
  without: readonly Spotlight[] = [],
  only: (card: Card) => boolean = () => true,
): SuitePart => ({ group, round, what, fixed, without, only });

/** Output modifiers work where denormals are flushed and IEEE is off. */
const OMOD = { spotlight: "omod", floatMode: 0x00, ieee: false } as const;

function isCompareCard({ opcode, form }: Card): boolean {
  return (opcode.traits & Trait.Compare) !== 0 && opcode.encoding === Encoding.Vopc && !form.startsWith("dpp");
}

function isWideCard({ form, opcode: { encoding } }: Card): boolean {
  return form === "e64" && (encoding === Encoding.Vop3 || encoding === Encoding.Vop3p);
}

function isDoubleCard({ opcode: { name } }: Card): boolean {
  return /^ds_(cmpst|wrap|mskor|read2|write2)/.test(name);
}

function isUpdateCard({ opcode, form }: Card): boolean {
  return (opcode.traits & (Trait.Atomic | Trait.Store)) !== 0 && form !== "scratch" && form !== "private";
}

function isScalarCard({ form }: Card): boolean {
  return form === "scalar" || form === "control";
}

/** What the test suite runs, with fixed seeds: each form of each instruction, and each modifier wherever it can be. */
export const SUITE: readonly SuitePart[] = [
  part("alu", 1, "arithmetic without modifiers", {}, ["signs", "clamp", "opsel"]),
  part("alu", 2, "negated and absolute sources", { spotlight: "signs" }),
  part("alu", 3, "clamped results", { spotlight: "clamp" }),
  part("alu", 4, "output modifiers", OMOD),
  part("alu", 5, "halves that op_sel names", { spotlight: "opsel" }),
  part("alu", 12, "scalar arithmetic again", {}, [], isScalarCard),
  part("alu", 13, "scalar arithmetic a third time", {}, [], isScalarCard),
  part("alu", 14, "halves that op_sel names, again", { spotlight: "opsel" }),
  part("alu", 16, "comparisons", {}, [], isCompareCard),
  part("alu", 17, "instructions that are VOP3 only, of some lanes", { spotlight: "exec" }, [], isWideCard),
  part("alu", 21, "instructions that are VOP3 only, of some lanes, again", { spotlight: "exec" }, [], isWideCard),
  part("alu", 18, "parts of registers", {}, [], (card) => card.form === "sdwa" && !isCompareCard(card)),
  part("lanes", 6, "DPP8 and lane exchange", {}, ["rows"]),
  part("lanes", 7, "DPP16 with rows and banks left out", { spotlight: "rows" }),
  part("lanes", 22, "DPP16 with rows and banks left out, again", { spotlight: "rows" }),
  part("lanes", 15, "DPP16 beyond the edges of rows", { spotlight: "edges" }),
  part("memory", 8, "memory accesses of some lanes only, with offsets", { spotlight: ["exec", "offset"] }, ["image"]),
  part("memory", 9, "memory accesses with offsets", { spotlight: ["offset", "exec"] }, ["image"]),
  part("memory", 19, "stores and atomics", { spotlight: ["offset", "exec"] }, ["image"], isUpdateCard),
  part("memory", 11, "images", { spotlight: ["image", "exec"] }, ["offset"]),
  part("lds", 10, "LDS", { spotlight: ["exec", "offset"] }),
  part("lds", 20, "LDS: two places or two operands", { spotlight: ["offset", "exec"] }, [], isDoubleCard),
];

/** Workgroups of the suite's batches: more of them are more operands, which cost little; compiling is what costs. */
const GROUPS_OF: Readonly<Record<GroupName, number>> = { alu: 12, lanes: 8, memory: 4, lds: 4 };

/** The batches of a part of the test suite. */
export function suiteBatches({ group, round, fixed, without, only }: SuitePart): PlannedBatch[] {
  return [...planRound(group, round, { groups: GROUPS_OF[group], ...fixed }, without, only)];
}

/** Runs a part of the test suite. */
export function suiteRound(
  part: SuitePart,
  sidesOf: (settings: BatchSettings) => Sides,
): InstructionReport {
  const report = emptyReport();
  for (const batch of suiteBatches(part)) fuzzBatch(batch, sidesOf, report);
  return report;
}

function shuffle(cards: Card[], random: Random): void {
  for (let k = cards.length - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [cards[k], cards[other]] = [cards[other], cards[k]];
  }
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
