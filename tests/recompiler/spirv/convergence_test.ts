/**
 * The check of barriers and subgroup operations (src/recompiler/spirv/convergence.ts) is given modules of random programs as they are, which it must take, and
 * with one of those moved to where not everybody comes by, which it must refuse.
 */
import { assert, assertEquals } from "@std/assert";
import { recompileRequest } from "../../../src/driver/compute_dispatch.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../../../src/driver/executor.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import { RefusedError } from "../../../src/errors.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Uniformity } from "../../../src/recompiler/passes/uniformity.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { Artifact, RecompilerDevice } from "../../../src/recompiler/request.ts";
import { Code } from "../../../src/recompiler/spirv/codes.ts";
import { checkConvergence, Convergence } from "../../../src/recompiler/spirv/convergence.ts";
import { buildProgram } from "../../fuzz/programs/build.ts";
import { randomProgram } from "../../fuzz/programs/generate.ts";
import { Random } from "../../support/random.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";

/** A function as instructions, with what is known of its barriers. */
interface Module {
  laneMode: Artifact["laneMode"];
  instructions: number[][];
  convergence: Convergence;
}

/** Recompiles what is dispatched, and executes nothing. */
class Recompiling implements ComputeExecutor {
  readonly name = "recompiler";
  readonly scratch = true;
  readonly busy = false;
  found: Module | undefined;
  #memory: GuestMemory | undefined;

  constructor(private readonly laneMode: RecompilerDevice["laneMode"], private readonly width: number) {}

  attach(memory: GuestMemory): void {
    this.#memory = memory;
  }

  dispatch({ program, waveSize, partialThreads }: ComputeDispatch): void {
    const window = this.#memory!.require(program.address, 4, 0);
    const device = { ...evaluatedDevice(this.width), laneMode: this.laneMode };
    let found: Omit<Module, "laneMode"> | undefined;
    const request = recompileRequest(program, window.words, "gfx1030", waveSize, partialThreads, device);
    const { laneMode } = recompile(request, undefined, {
      observeConvergence: (words, convergence) => found = { instructions: split(words), convergence },
    });
    if (found !== undefined) this.found = { ...found, laneMode };
  }

  drain(): void {}
  programs(): ProgramReport[] {
    return [];
  }
  deviceMs(): undefined {}
  close(): void {}
}

/** Modules of random programs that have barriers or subgroup operations: each third of them packed, for subgroups of 8, 16 or 32 lanes, each third spanned. */
function* modules(count: number): Generator<Module> {
  for (let seed = 1; count > 0; seed++) {
    const asked = (["packed", "spanned", undefined] as const)[seed % 3];
    const width = asked === "packed" ? [8, 16, 32][seed % 9 / 3] : 32;
    const tree = randomProgram(new Random(seed)), executor = new Recompiling(asked, width);
    tree.settings.target = "gfx1030";
    const { error } = runProgram(buildProgram(tree).program, executor, new GuestMemory(new ArrayAllocator()));
    if (error !== undefined && !(error instanceof RefusedError)) throw error;
    if (executor.found === undefined || places(executor.found, SYNCHRONISING).length === 0) continue;
    count--;
    yield executor.found;
  }
}

function split(words: Uint32Array): number[][] {
  const list: number[][] = [];
  for (let at = 0; at < words.length; at += words[at] >>> 16) {
    list.push(Array.from(words.subarray(at, at + (words[at] >>> 16))));
  }
  return list;
}

/** Instructions that subgroups or workgroups must come to as a whole. */
const SYNCHRONISING: readonly number[] = [
  Code.ControlBarrier,
  Code.GroupNonUniformBallot,
  Code.GroupNonUniformBroadcast,
  Code.GroupNonUniformShuffle,
];

/** Where instructions of some kinds stand. */
function places({ instructions }: Pick<Module, "instructions">, codes: readonly number[]): number[] {
  return instructions.map((each, k) => codes.includes(opcode(each)) ? k : -1).filter((k) => k >= 0);
}

const opcode = (instruction: readonly number[]) => instruction[0] & 0xffff;
const check = ({ instructions, convergence }: Module) =>
  checkConvergence(Uint32Array.from(instructions.flat()), convergence);

/** Instructions behind which a barrier would be inside of a construct that single lanes decide to enter: each arm of such a selection. */
function divergentPlaces({ instructions, convergence }: Module): number[] {
  const places: number[] = [];
  instructions.forEach((instruction, at) => {
    const before = instructions[at - 1];
    if (opcode(instruction) !== Code.BranchConditional || opcode(before) !== Code.SelectionMerge) return;
    if ((convergence.conditions.get(instruction[1]) ?? Uniformity.Lane) !== Uniformity.Lane) return;
    for (const label of new Set(instruction.slice(2, 4))) {
      if (label === before[1]) continue; // the merge block, where all are together again
      const arm = instructions.findIndex((each) => opcode(each) === Code.Label && each[1] === label);
      places.push(instructions.findIndex((each, k) => k > arm && opcode(each) !== Code.Phi) - 1);
    }
  });
  return places;
}

/** The module with a barrier or subgroup operation moved behind another instruction. */
function moved({ instructions, convergence, laneMode }: Module, from: number, place: number): Module {
  const list = instructions.filter((_, k) => k !== from);
  const to = place - (from <= place ? 1 : 0);
  list.splice(to + 1, 0, instructions[from]);
  const copy = new Convergence();
  for (const [id, uniformity] of convergence.conditions) copy.condition(id, uniformity);
  copy.needs.push(...convergence.needs);
  if (opcode(instructions[from]) === Code.ControlBarrier) {
    const barriersBefore = (all: number[][], end: number) =>
      all.slice(0, end).filter((each) => opcode(each) === Code.ControlBarrier).length;
    const [need] = copy.needs.splice(barriersBefore(instructions, from), 1);
    copy.needs.splice(barriersBefore(list, to + 1), 0, need);
  }
  return { instructions: list, convergence: copy, laneMode };
}

Deno.test("600 good modules are taken, and every one of 200 with a barrier or subgroup operation moved under a lane's own condition is refused", () => {
  const good = new Map<string, number>(), refused = new Map<string, number>(), taken: string[] = [];
  const count = (map: Map<string, number>, mode: string) => map.set(mode, (map.get(mode) ?? 0) + 1);
  const random = new Random(4);
  for (const module of modules(600)) {
    assertEquals(check(module), [], `module ${[...good].join()}`);
    count(good, module.laneMode);
    const into = divergentPlaces(module);
    if (into.length === 0) continue;
    const mutant = moved(module, random.pick(places(module, SYNCHRONISING)), random.pick(into));
    if (check(mutant).some((problem) => /a (barrier|subgroup operation) that the whole/.test(problem))) {
      count(refused, module.laneMode);
    } else taken.push(`${module.laneMode}: ${[...good].join()}`);
  }
  const sum = (map: Map<string, number>) => [...map.values()].reduce((all, n) => all + n, 0);
  console.log(
    `good modules taken: ${[...good].join("; ")}; mutants refused: ${[...refused].join("; ")}, taken: ${taken.length}`,
  );
  assertEquals(taken, []);
  assert(sum(good) >= 500 && sum(refused) >= 200, `${sum(good)} good, ${sum(refused)} refused`);
  for (const mode of ["native", "spanned", "packed"]) {
    assert(
      (good.get(mode) ?? 0) >= 50 && (refused.get(mode) ?? 0) >= 20,
      `${mode}: ${good.get(mode)}, ${refused.get(mode)}`,
    );
  }
});

/** Words of a loop with a barrier, that is left on condition 1. */
function loop(before: number[][], behind: number[][]): Uint32Array {
  const word = (code: number, ...operands: number[]) => [(operands.length + 1) << 16 | code, ...operands];
  return Uint32Array.from([
    word(Code.Label, 10),
    word(Code.Branch, 11),
    word(Code.Label, 11),
    word(Code.LoopMerge, 14, 13, 0),
    word(Code.Branch, 12),
    word(Code.Label, 12),
    ...before,
    word(Code.BranchConditional, 1, 14, 15),
    word(Code.Label, 15),
    ...behind,
    word(Code.Branch, 13),
    word(Code.Label, 13),
    word(Code.Branch, 11),
    word(Code.Label, 14),
    word(Code.Return),
  ].flat());
}

const BARRIER = [4 << 16 | Code.ControlBarrier, 2, 2, 3];

for (const [name, before, behind] of [["before", [BARRIER], []], ["behind", [], [BARRIER]]] as const) {
  for (const uniformity of [Uniformity.Lane, Uniformity.Wave, Uniformity.Workgroup]) {
    for (const need of [Uniformity.Wave, Uniformity.Workgroup]) {
      const good = uniformity >= need;
      Deno.test(`a barrier ${name} the way out of a loop, condition of class ${uniformity}, need of class ${need}: ${good ? "taken" : "refused"}`, () => {
        const convergence = new Convergence();
        convergence.condition(1, uniformity);
        convergence.needs.push(need);
        assertEquals(checkConvergence(loop([...before], [...behind]), convergence).length, good ? 0 : 1);
      });
    }
  }
}

Deno.test("a barrier that nobody knows of is refused, and so is one that is missing", () => {
  const convergence = new Convergence();
  convergence.condition(1, Uniformity.Workgroup);
  assertEquals(checkConvergence(loop([BARRIER], []), convergence), ["1 barriers, and 0 are known of"]);
  convergence.needs.push(Uniformity.Workgroup);
  assertEquals(checkConvergence(loop([], []), convergence), ["0 barriers, and 1 are known of"]);
});
