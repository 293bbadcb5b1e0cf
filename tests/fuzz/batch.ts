/** Runs batches: drops what either side refuses, executes the rest on both, compares. */
import { RefusedError } from "../../src/errors.ts";
import type { ComputeExecutor } from "../../src/driver/executor.ts";
import { runProgram } from "../../src/driver/run_program.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { HostAllocator } from "../../src/guest/memory/allocator.ts";
import { Random } from "../support/random.ts";
import { type Batch, type BatchSettings, buildBatch, type Compare, type Instance, THREADS } from "./frame.ts";

/** The two sides. */
export interface Sides {
  /** The recompiler on a device. */
  device: ComputeExecutor;
  /** The reference. */
  reference: ComputeExecutor;
  allocator: HostAllocator;
}

/** A refused instance. */
export interface Refused {
  by: "recompiler" | "interpreter";
  name: string;
  form: string;
  why: string;
}

/** A difference between the two sides. */
export interface Difference {
  settings: BatchSettings;
  instance: Instance;
  /** Number of the check in the instance; -1 for its memory. */
  check: number;
  /** First differing thread of the dispatch. */
  thread: number;
  actual: number[];
  expected: number[];
  /** Threads that differ. */
  count: number;
}

/** What a batch gave. */
export interface BatchResult {
  batch: Batch | undefined;
  /** Instances that ran, times threads. */
  cases: number;
  /** Instances that ran. */
  ran: readonly Instance[];
  refused: Refused[];
  differences: Difference[];
}

/** Runs instances on both sides. @param seed of the operands */
export function runBatch(
  instances: readonly Instance[],
  settings: BatchSettings,
  seed: number,
  sides: Sides,
): BatchResult {
  const refused: Refused[] = [];
  let rest = [...instances];
  while (rest.length > 0) {
    const batch = buildBatch(rest, settings, new Random(seed));
    const actual = runSide(batch, sides.device, sides.allocator);
    if (actual instanceof RefusedError) {
      rest = drop(batch, rest, actual, "recompiler", refused);
      continue;
    }
    const expected = runSide(batch, sides.reference, sides.allocator);
    if (expected instanceof RefusedError) {
      rest = drop(batch, rest, expected, "interpreter", refused);
      continue;
    }
    const cases = rest.length * settings.groups * THREADS;
    return { batch, cases, ran: rest, refused, differences: compareOutputs(batch, actual, expected) };
  }
  return { batch: undefined, cases: 0, ran: [], refused, differences: [] };
}

/** Runs a batch on one side: its output, or why it was refused. Other errors are thrown. */
export function runSide(batch: Batch, executor: ComputeExecutor, allocator: HostAllocator): Uint32Array | RefusedError {
  const memory = new GuestMemory(allocator);
  try {
    const { error } = runProgram(batch.program, executor, memory);
    if (error instanceof RefusedError) return error;
    if (error !== undefined) throw error;
    return new Uint32Array(memory.read(batch.output.address, batch.output.bytes).slice().buffer);
  } finally {
    // A device that did not come to an end in time writes on.
    if (!executor.hung) memory.clear();
  }
}

/** The instances that an error does not name. The lift names all of its refusals in one error, others come one by one. */
function drop(
  batch: Batch,
  instances: Instance[],
  error: RefusedError,
  by: Refused["by"],
  refused: Refused[],
): Instance[] {
  const named = refusedInstances(batch, error);
  if (named.size === 0) throw error;
  for (const [{ name, form }, why] of named) refused.push({ by, name, form, why });
  return instances.filter((instance) => !named.has(instance));
}

/** The instances of a batch that an error names, each with the reason. */
export function refusedInstances(batch: Batch, error: RefusedError): Map<Instance, string> {
  const found = new Map<number, string>();
  for (const [, pc, why] of error.message.matchAll(/at pc 0x([0-9a-f]+) \([^)]*\): (.*)$/gm)) {
    found.set(parseInt(pc, 16), why);
  }
  if (found.size === 0 && error.place.pc !== undefined) found.set(error.place.pc, error.summary);
  const named = new Map<Instance, string>();
  for (const [pc, why] of found) {
    const k = batch.ranges.findIndex(({ start, end }) => pc >= start && pc < end);
    if (k >= 0) named.set(batch.instances[k], reason(why));
  }
  return named;
}

/** The reason without what changes from run to run. */
function reason(text: string): string {
  return text.replace(/\s+/g, " ").replace(/0x[0-9a-f]+/g, "0x..").replace(/^the program uses \S+: /, "");
}

/** The instances whose results differ. */
export function compareOutputs(batch: Batch, actual: Uint32Array, expected: Uint32Array): Difference[] {
  const { instances, places, regions, stride, settings } = batch;
  const differences: Difference[] = [];
  const threads = settings.groups * THREADS;
  instances.forEach((instance, k) => {
    const look = (check: number, same: Compare, first: number, step: number, words: number) => {
      let thread = -1, count = 0;
      for (let t = 0; t < threads; t++) {
        if (same(actual, expected, first + t * step, words)) continue;
        if (thread < 0) thread = t;
        count++;
      }
      if (thread < 0) return;
      const part = (data: Uint32Array) => [...data.subarray(first + thread * step, first + thread * step + words)];
      differences.push({ settings, instance, check, thread, actual: part(actual), expected: part(expected), count });
    };
    instance.checks.forEach((check, c) => look(c, check.compare, places[k][c].at, stride, places[k][c].words));
    const { memory } = instance;
    if (memory !== undefined) look(-1, memory.compare, regions[k], memory.bytes / 4, memory.bytes / 4);
  });
  return differences;
}
