/** Runs program trees on both sides, and takes statements away from those that fail until nothing more can go. */
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { type AnyAgcError, RefusedError } from "../../../src/errors.ts";
import type { ComputeExecutor } from "../../../src/driver/executor.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import type { HostAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { Sides } from "../batch.ts";
import { buildProgram, type BuiltProgram } from "./build.ts";
import { partsOf, type ProgramTree, type Statement } from "./tree.ts";

/** What came of a program. */
export type Outcome =
  | { kind: "equal" }
  /** The recompiler or the interpreter refuses it. */
  | { kind: "refused"; by: "recompiler" | "interpreter"; why: string }
  | { kind: "differs"; text: string; expected: Uint32Array }
  /** SPIRV-Tools do not accept the module. */
  | { kind: "invalid"; text: string }
  /** One side stopped with an error that the program does not deserve. */
  | { kind: "error"; text: string };

/** Runs a tree on both sides, and has SPIRV-Tools look at every module that was made. */
export function compareProgram(tree: ProgramTree, sides: Sides): Outcome {
  const built = buildProgram(tree);
  const expected = outputOf(built, sides.reference, sides.allocator);
  if (expected instanceof RefusedError) return { kind: "refused", by: "interpreter", why: reason(expected) };
  if (expected instanceof Error) return { kind: "error", text: `interpreter: ${expected.message}` };
  const known = new Set(sides.device.modules?.().keys());
  const actual = outputOf(built, sides.device, sides.allocator);
  for (const [report, words] of sides.device.modules?.() ?? []) {
    if (known.has(report)) continue;
    const messages = openSpirvTools().validate(words).map(({ message }) => message);
    if (messages.length > 0) return { kind: "invalid", text: messages.join("; ") };
  }
  if (actual instanceof RefusedError) return { kind: "refused", by: "recompiler", why: reason(actual) };
  if (actual instanceof Error) return { kind: "error", text: `device: ${actual.message}` };
  for (let k = 0; k < expected.length; k++) {
    if (actual[k] === expected[k]) continue;
    const count = expected.filter((word, j) => word !== actual[j]).length;
    const text = `${count} of ${expected.length} words differ, first word ${k % 24} of thread ${Math.floor(k / 24)}: ` +
      `${actual[k].toString(16)} instead of ${expected[k].toString(16)}`;
    return { kind: "differs", text, expected };
  }
  return { kind: "equal" };
}

function reason(error: RefusedError): string {
  return `${error.code}: ${error.summary}`.replace(/\s+/g, " ").replace(/0x[0-9a-f]+/g, "0x..");
}

/** The results of one side, or its error. */
function outputOf(
  { program, output }: BuiltProgram,
  executor: ComputeExecutor,
  allocator: HostAllocator,
): Uint32Array | AnyAgcError {
  const memory = new GuestMemory(allocator);
  try {
    const { error } = runProgram(program, executor, memory);
    // What runs behind it would be given up, too.
    if (error?.code === "driver.timeout") throw error;
    if (error !== undefined) return error;
    return new Uint32Array(memory.read(output.address, output.bytes).slice().buffer);
  } finally {
    // A device that did not come to an end in time writes on.
    if (!executor.hung) memory.clear();
  }
}

/**
 * The smallest tree that still fails in the same way (`fails`), by taking statements away, and by putting what is inside of a statement in its place.
 *
 * @param tries programs to run at most
 */
export function minimize(tree: ProgramTree, fails: (tree: ProgramTree) => boolean, tries = 300): ProgramTree {
  let best = tree;
  for (let progress = true; progress && tries > 0;) {
    progress = false;
    for (const smaller of simpler(best)) {
      if (tries-- <= 0) break;
      if (!fails(smaller)) continue;
      best = smaller;
      progress = true;
      break;
    }
  }
  return best;
}

/** Trees with one thing less, the largest things first. */
function* simpler(tree: ProgramTree): Generator<ProgramTree> {
  for (const body of shorterLists(tree.body)) yield { ...tree, body };
  for (let k = 0; k < tree.subroutines.length; k++) {
    for (const body of shorterLists(tree.subroutines[k])) {
      yield { ...tree, subroutines: tree.subroutines.map((each, j) => j === k ? body : each) };
    }
  }
  const { settings } = tree;
  if (settings.limit !== undefined) yield { ...tree, settings: { ...settings, limit: undefined } };
  if (settings.groups > 1) yield { ...tree, settings: { ...settings, groups: 1, limit: undefined } };
}

function* shorterLists(list: Statement[]): Generator<Statement[]> {
  if (list.length > 3) {
    const half = list.length >> 1;
    yield list.slice(half);
    yield list.slice(0, half);
  }
  for (let k = 0; k < list.length; k++) {
    yield [...list.slice(0, k), ...list.slice(k + 1)];
    for (const part of partsOf(list[k])) yield [...list.slice(0, k), ...part, ...list.slice(k + 1)];
  }
  for (let k = 0; k < list.length; k++) {
    for (const statement of simplerStatements(list[k])) yield [...list.slice(0, k), statement, ...list.slice(k + 1)];
  }
}

function* simplerStatements(statement: Statement): Generator<Statement> {
  switch (statement.kind) {
    case "if":
    case "waveIf":
      for (const body of shorterLists(statement.body)) yield { ...statement, body };
      if (statement.otherwise !== null) {
        yield { ...statement, otherwise: null };
        for (const otherwise of shorterLists(statement.otherwise)) yield { ...statement, otherwise };
      }
      break;
    case "loop":
      if (statement.resume !== null) yield { ...statement, resume: null };
      if (statement.trips > 1) yield { ...statement, trips: statement.trips - 1 };
      for (const body of shorterLists(statement.body)) yield { ...statement, body };
      for (const rest of shorterLists(statement.rest)) yield { ...statement, rest };
      break;
    case "waveLoop":
      if (statement.leave !== null) yield { ...statement, leave: null };
      if (statement.trips > 1) yield { ...statement, trips: statement.trips - 1 };
      for (const body of shorterLists(statement.body)) yield { ...statement, body };
      break;
    case "waterfall":
      for (const body of shorterLists(statement.body)) yield { ...statement, body };
      break;
    case "ladder":
      for (let k = 0; k < statement.steps.length; k++) {
        for (const step of shorterLists(statement.steps[k])) {
          yield { ...statement, steps: statement.steps.map((each, j) => j === k ? step : each) };
        }
      }
      break;
  }
}
