/**
 * Judges mutants of the lift table many at a time: a batch holds instances of different opcodes (or one several times), each corrupted by a mutant of its
 * own. Instances do not see each other's results, so the one that differs names the mutant that is caught.
 */
import { AnyAgcError, RefusedError } from "../../../src/errors.ts";
import { opcodeId, OPCODES, Trait } from "../../../src/rdna/table.ts";
import { Refusal } from "../../../src/recompiler/lift/refusal.ts";
import { compareOutputs, refusedInstances, runSide } from "../../../tests/fuzz/batch.ts";
import { buildBatch, type Instance } from "../../../tests/fuzz/frame.ts";
import type { PlannedBatch } from "../../../tests/fuzz/instructions.ts";
import { newRefusals, type RefusalTable } from "../../../tests/fuzz/refusals.ts";
import type { SideMaker } from "../../../tests/fuzz/sides.ts";
import { Random } from "../../../tests/support/random.ts";
import type { Mutant } from "./mutant.ts";

/** An instance of the suite, and the batch that it comes from. */
export interface Place {
  plan: PlannedBatch;
  instance: Instance;
}

/** A mutant that is being judged. */
export interface Trial {
  readonly mutant: Mutant;
  /** Instances that have not been tried. */
  readonly places: Place[];
  /** How it was caught. */
  caught: string | undefined;
  acted: boolean;
  tries: number;
}

/** One instance with its corruption. */
interface Slot {
  trial: Trial;
  instance: Instance;
}

/** Whether an opcode's instances may share a batch: corrupted, these could change registers of the others. */
export function packs(name: string): boolean {
  const { traits } = OPCODES[opcodeId(name)];
  return (traits & (Trait.Indirect | Trait.Swap)) === 0;
}

/** Runs batches of corrupted instances. */
export class Packer {
  #nonce = 0;

  /** @param tick called for each program */
  constructor(
    private readonly sides: SideMaker,
    private readonly refusals: RefusalTable,
    private readonly tick: () => void,
  ) {}

  /** Tries one more instance of each trial that is not decided. @param size of a batch, by plan */
  round(trials: readonly Trial[], size: (plan: PlannedBatch) => number): void {
    const byPlan = new Map<PlannedBatch, Slot[]>();
    for (const trial of trials) {
      const place = trial.places.shift();
      if (place === undefined) continue;
      const list = byPlan.get(place.plan) ?? [];
      // A copy, so that each is found by itself.
      list.push({ trial, instance: { ...place.instance } });
      byPlan.set(place.plan, list);
    }
    for (const [plan, slots] of byPlan) {
      for (let at = 0; at < slots.length; at += size(plan)) this.#try(plan, slots.slice(at, at + size(plan)));
    }
  }

  #try(plan: PlannedBatch, slots: Slot[]): void {
    for (const { trial } of slots) trial.tries++;
    let rest = slots;
    while (rest.length > 0) {
      const out = this.#run(plan, rest);
      if (out === undefined) return;
      rest = rest.filter((slot) => !out.has(slot.instance));
    }
  }

  /** Runs a batch; returns the instances that must go before it can run, or undefined when all is judged. */
  #run(plan: PlannedBatch, slots: Slot[]): Set<Instance> | undefined {
    this.tick();
    this.#nonce = this.#nonce % 0xffff + 1;
    const batch = buildBatch(
      slots.map(({ instance }) => instance),
      { ...plan.settings, nonce: this.#nonce },
      new Random(plan.seed),
    );
    const slotAt = (pc: number) => slots[batch.ranges.findIndex(({ start, end }) => pc >= start && pc < end)];
    const slotOf = (instance: Instance) => slots.find((slot) => slot.instance === instance)!;
    const mends = slots.map(({ trial, instance }) => {
      const range = batch.ranges[batch.instances.indexOf(instance)];
      return trial.mutant.install({
        covers: (pc) => pc >= range.start && pc < range.end,
        acted: () => trial.acted = true,
        failed: (error) => {
          if (error instanceof Refusal) return false;
          trial.caught ??= `error: ${String(error).split("\n")[0]}`;
          return true;
        },
      });
    });
    try {
      const { device, reference, allocator } = this.sides.take(plan.settings.target);
      const expected = runSide(batch, reference, allocator);
      if (expected instanceof RefusedError) return new Set(refusedInstances(batch, expected).keys());
      const actual = runSide(batch, device, allocator);
      if (actual instanceof RefusedError) {
        const named = refusedInstances(batch, actual);
        if (named.size === 0) throw actual;
        for (const [instance, why] of named) {
          const { name, form } = instance;
          const known = newRefusals([{ by: "recompiler", name, form, why }], this.refusals).length === 0;
          if (!known) slotOf(instance).trial.caught ??= `refused: ${why}`;
        }
        return new Set(named.keys());
      }
      for (const { instance } of compareOutputs(batch, actual, expected)) {
        slotOf(instance).trial.caught ??= "results differ";
      }
      return undefined;
    } catch (error) {
      this.sides.forget();
      const how = `error: ${String(error).split("\n")[0]}`;
      const pc = error instanceof AnyAgcError ? error.place.pc : undefined;
      const slot = slots.length === 1 ? slots[0] : pc === undefined ? undefined : slotAt(pc);
      if (slot === undefined) {
        mends.reverse().forEach((mend) => mend());
        mends.length = 0;
        return this.#halves(plan, slots);
      }
      slot.trial.caught ??= how;
      return new Set([slot.instance]);
    } finally {
      mends.reverse().forEach((mend) => mend());
    }
  }

  /** An error that names nobody: who it is shows when there are fewer. */
  #halves(plan: PlannedBatch, slots: Slot[]): undefined {
    const half = slots.length >> 1;
    for (const part of [slots.slice(0, half), slots.slice(half)]) {
      let rest = part;
      while (rest.length > 0) {
        const out = this.#run(plan, rest);
        if (out === undefined) break;
        rest = rest.filter((slot) => !out.has(slot.instance));
      }
    }
    return undefined;
  }
}
