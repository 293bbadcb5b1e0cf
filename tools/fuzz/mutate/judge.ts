/** Runs the suite's instances with a corrupted table and says whether the suite would have failed. */
import { RefusedError } from "../../../src/errors.ts";
import { decode } from "../../../src/rdna/decode.ts";
import { OPCODES } from "../../../src/rdna/table.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { compareOutputs, refusedInstances, runBatch, runSide } from "../../../tests/fuzz/batch.ts";
import { cardsOf, GROUPS, randomSettings } from "../../../tests/fuzz/deck.ts";
import { type Batch, buildBatch } from "../../../tests/fuzz/frame.ts";
import type { PlannedBatch } from "../../../tests/fuzz/instructions.ts";
import { buildProgram } from "../../../tests/fuzz/programs/build.ts";
import { compareProgram } from "../../../tests/fuzz/programs/run.ts";
import { randomProgram } from "../../../tests/fuzz/programs/generate.ts";
import type { ProgramTree } from "../../../tests/fuzz/programs/tree.ts";
import { knownRefusals, newRefusals } from "../../../tests/fuzz/refusals.ts";
import type { SideMaker } from "../../../tests/fuzz/sides.ts";
import { Random } from "../../../tests/support/random.ts";
import { type Candidate, Candidates, recompileBatch } from "./candidates.ts";
import type { Mutant } from "./mutant.ts";
import { Packer, packs, type Trial } from "./packs.ts";

/** What became of a mutant. */
export interface Verdict {
  /**
   * `caught`: the suite fails. `survived`: it acted and nothing differed. `unexercised`: the deck can make it act, the suite does not. `void`: nothing that
   * the deck makes lets it act, or what is emitted is the same to the word wherever it does, so that it is no mutant at all.
   */
  outcome: "caught" | "survived" | "unexercised" | "void";
  /** How it was caught. */
  how: string;
  /** Programs that ran. */
  programs: number;
}

/** Program seeds of the suite (tests/fuzz/programs_test.ts), which judge what straight code lacks. */
const PROGRAM_SEEDS = 64;
/** Instances of other rounds that decide whether a mutant can act at all. */
const DRAWS = 48;
/** Mutants of the lift table that are open at the same time. */
export const TOGETHER = 200;

/** Judges mutants one after the other. */
export class Judge {
  readonly #candidates: Candidates;
  readonly #refusals = knownRefusals();
  readonly #device: RecompilerDevice;
  readonly #programs = new Programs();
  #nonce = 0;

  /** @param tick called now and then */
  constructor(private readonly sides: SideMaker, private readonly tick: () => void) {
    this.#device = sides.take("gfx1013").recompilerDevice;
    this.#candidates = new Candidates(this.#device);
  }

  /**
   * Judges mutants and tells of each verdict: those of the lift table together where they can be, the others one by one.
   *
   * @param done called when all that was judged together is told
   */
  judgeAll(
    mutants: readonly Mutant[],
    tell: (mutant: Mutant, verdict: Verdict) => void,
    done: () => void = () => {},
  ): void {
    this.#checkPlain();
    const together = mutants.filter(({ table, entry }) => table === "lift" && packs(entry));
    const alone = mutants.filter((mutant) => !together.includes(mutant));
    const some = Math.ceil(alone.length / Math.max(1, Math.ceil(together.length / TOGETHER)));
    // In turn, so that both tables have their share when time is up.
    for (let at = 0, next = 0; at < together.length || next < alone.length; at += TOGETHER, next += some) {
      if (at < together.length) this.#judgeLift(together.slice(at, at + TOGETHER), tell);
      done();
      for (const mutant of alone.slice(next, next + some)) {
        tell(mutant, this.judge(mutant));
        done();
      }
    }
  }

  /** Everything counts as caught where nothing works: without corruption there must be results, and they must be equal. */
  #checkPlain(): void {
    for (const name of ["v_add_f32", "s_add_u32", "global_load_dword", "ds_read_b32"]) {
      try {
        if (this.#candidates.ofOpcode(name).every((each) => this.#prepare(each) === null)) throw new Error("refused");
      } catch (error) {
        throw new Error(`${name} without any corruption: ${String(error).split("\n")[0]}`);
      }
    }
    const tree = randomProgram(new Random(1)), outcome = compareProgram(tree, this.sides.take(tree.settings.target));
    if (outcome.kind !== "equal") {
      throw new Error(`program 1 without any corruption: ${JSON.stringify(outcome).slice(0, 200)}`);
    }
  }

  #judgeLift(mutants: readonly Mutant[], tell: (mutant: Mutant, verdict: Verdict) => void): void {
    const packer = new Packer(this.sides, this.#refusals, this.tick);
    let open = mutants.map((mutant): Trial => ({
      mutant,
      places: this.#candidates.ofOpcode(mutant.entry).flatMap(({ plan, instances }) =>
        instances.map((instance) => ({ plan, instance }))
      ),
      caught: undefined,
      acted: false,
      tries: 0,
    }));
    while (open.length > 0) {
      packer.round(open, ({ settings }) => settings.ldsBytes > 0 ? 4 : 40);
      open = open.filter(({ mutant, places, caught, acted, tries }) => {
        if (caught === undefined && places.length > 0) return true;
        tell(
          mutant,
          caught !== undefined ? { outcome: "caught", how: caught, programs: tries } : this.#last(mutant, acted, tries),
        );
        return false;
      });
    }
  }

  /** Judges one mutant. */
  judge(mutant: Mutant): Verdict {
    const { table, entry } = mutant;
    const candidates = table === "lift" ? this.#candidates.ofOpcode(entry) : this.#candidates.ofOperation(entry);
    let programs = 0, acted = false;
    for (const candidate of candidates) {
      const prepared = this.#prepare(candidate);
      if (prepared === null) continue;
      programs++;
      this.tick();
      const result = this.#run(mutant, candidate, prepared);
      acted ||= result.acted;
      if (result.how !== undefined) return { outcome: "caught", how: result.how, programs };
    }
    return this.#last(mutant, acted, programs);
  }

  /** What becomes of a mutant that no instance caught: the suite's programs may catch it, and it may be none. */
  #last(mutant: Mutant, acted: boolean, programs: number): Verdict {
    const { table, entry } = mutant;
    for (let seed = 1; seed <= PROGRAM_SEEDS; seed++) {
      if (table === "lift" && !this.#programs.opcodes(seed).has(entry)) continue;
      programs++;
      this.tick();
      const result = this.#runProgram(mutant, seed);
      acted ||= result.acted;
      if (result.how !== undefined) return { outcome: "caught", how: result.how, programs };
    }
    if (table === "emit") {
      const seen = this.#candidates.ofOperation(entry);
      const same = seen.length > 0 && seen.every((each) => this.#emits(mutant, each) !== "differs");
      return same && acted
        ? { outcome: "void", how: "same words", programs }
        : { outcome: acted ? "survived" : "void", how: "", programs };
    }
    const can = this.#canAct(mutant);
    // What is emitted is the same to the word, wherever it is drawn: nobody can see such a corruption.
    if (can === "same words" && this.#emitsTheSame(mutant)) return { outcome: "void", how: can, programs };
    return { outcome: acted ? "survived" : can === "never" ? "void" : "unexercised", how: "", programs };
  }

  /** Runs the instances without corruption: what is refused goes, and all the rest must be equal. */
  #prepare(candidate: Candidate): NonNullable<Candidate["prepared"]> | null {
    if (candidate.prepared !== undefined) return candidate.prepared;
    const { instances, settings, seed } = candidate;
    const plain = { ...settings, nonce: 0 };
    const sides = this.sides.take(settings.target);
    const { ran, differences } = runBatch(instances, plain, seed, sides);
    if (differences.length > 0) throw new Error(`seed ${seed}: ${instances[0].name} differs without any corruption`);
    if (ran.length === 0) return candidate.prepared = null;
    const batch = buildBatch(ran, plain, new Random(seed));
    const expected = runSide(batch, sides.reference, sides.allocator);
    if (!(expected instanceof Uint32Array)) throw expected;
    return candidate.prepared = { instances: [...ran], expected };
  }

  #run(
    mutant: Mutant,
    { settings, seed }: Candidate,
    { instances, expected }: NonNullable<Candidate["prepared"]>,
  ): { acted: boolean; how?: string } {
    this.#nonce = this.#nonce % 0xffff + 1;
    const batch = buildBatch(instances, { ...settings, nonce: this.#nonce }, new Random(seed));
    let acted = false;
    const mend = mutant.install({ covers: (pc) => inRanges(batch, pc), acted: () => acted = true });
    try {
      const sides = this.sides.take(settings.target);
      const actual = runSide(batch, sides.device, sides.allocator);
      if (actual instanceof RefusedError) return { acted, how: this.#refusal(batch, actual) };
      const differences = compareOutputs(batch, actual, expected);
      return { acted, how: differences.length > 0 ? "results differ" : undefined };
    } catch (error) {
      // The executor may not be what it was.
      this.sides.forget();
      return { acted, how: `error: ${String(error).split("\n")[0]}` };
    } finally {
      mend();
    }
  }

  /** A refusal that the table of refusals lacks fails the suite. */
  #refusal(batch: Batch, error: RefusedError): string | undefined {
    const refused = [...refusedInstances(batch, error)].map(([{ name, form }, why]) => ({
      by: "recompiler" as const,
      name,
      form,
      why,
    }));
    if (refused.length > 0 && newRefusals(refused, this.#refusals).length === 0) return undefined;
    return `refused: ${error.summary}`;
  }

  #runProgram(mutant: Mutant, seed: number): { acted: boolean; how?: string } {
    let acted = false;
    const tree = this.#programs.tree(seed), frame = this.#programs.frame(seed);
    const covers = (pc: number) => mutant.table === "emit" || !frame.some(({ start, end }) => pc >= start && pc < end);
    const mend = mutant.install({ covers, acted: () => acted = true });
    try {
      this.sides.forget();
      const outcome = compareProgram(tree, this.sides.take(tree.settings.target));
      return { acted, how: outcome.kind === "equal" || outcome.kind === "refused" ? undefined : outcome.text };
    } catch (error) {
      return { acted, how: `error: ${String(error).split("\n")[0]}` };
    } finally {
      mend();
      this.sides.forget();
    }
  }

  /** Whether instances of other rounds make the mutant act, and whether that changes what is emitted. */
  #canAct(mutant: Mutant): "never" | "same words" | "differs" {
    const random = new Random(12345);
    let acted = false;
    for (let k = 0; k < DRAWS; k++) {
      const group = random.pick(GROUPS), settings = randomSettings(group, random);
      const cards = GROUPS.flatMap((name) => cardsOf(name, settings)).filter(({ opcode }) =>
        opcode.name === mutant.entry
      );
      if (cards.length === 0) continue;
      const instances = [random.pick(cards).make(settings, random)];
      const result = this.#emits(mutant, { instances, settings: { ...settings, ldsBytes: 16384 }, seed: k });
      if (result === "differs") return result;
      acted ||= result === "same words";
    }
    return acted ? "same words" : "never";
  }

  /** Whether the corruption changes nothing of what the suite's instances become. */
  #emitsTheSame(mutant: Mutant): boolean {
    return this.#candidates.ofOpcode(mutant.entry).every((each) => this.#emits(mutant, each) !== "differs");
  }

  /** Whether a mutant acts on a batch, and whether that changes its module. */
  #emits(mutant: Mutant, plan: PlannedBatch): "never" | "same words" | "differs" {
    let batch: Batch, acted = false;
    const words = () => {
      try {
        return recompileBatch(plan, this.#device, (next) => batch = next)?.join() ?? "";
      } catch (error) {
        // Images need descriptors, which only a run has: what they become is not known here.
        return mutant.entry.startsWith("image_") ? undefined : String(error);
      }
    };
    const mend = mutant.install({ covers: (pc) => inRanges(batch, pc), acted: () => acted = true });
    let wrong: string | undefined;
    try {
      wrong = words();
    } finally {
      mend();
    }
    if (!acted) return "never";
    return wrong !== undefined && wrong === words() ? "same words" : "differs";
  }
}

/** The suite's programs. */
class Programs {
  readonly #opcodes = new Map<number, Set<string>>();

  tree(seed: number): ProgramTree {
    return randomProgram(new Random(seed));
  }

  /** Byte ranges of what is no part of the program's statements. */
  frame(seed: number): { start: number; end: number }[] {
    return buildProgram(this.tree(seed)).frame;
  }

  /** Mnemonics in a program's statements. */
  opcodes(seed: number): ReadonlySet<string> {
    let names = this.#opcodes.get(seed);
    if (names === undefined) {
      this.#opcodes.set(seed, names = new Set());
      const tree = this.tree(seed), { code, frame } = buildProgram(tree);
      for (let pc = 0; pc < code.length * 4;) {
        const { op, size } = decode(code, pc, tree.settings.target);
        if (!frame.some(({ start, end }) => pc >= start && pc < end)) names.add(OPCODES[op].name);
        pc += size * 4;
      }
    }
    return names;
  }
}

function inRanges({ ranges }: Batch, pc: number): boolean {
  return ranges.some(({ start, end }) => pc >= start && pc < end);
}
