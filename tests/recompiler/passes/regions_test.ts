import { assert, assertEquals } from "@std/assert";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { ldsHazards } from "../../../src/recompiler/passes/lds_hazards.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { LANES, MaskProgram, VECTORS } from "./mask_programs.ts";

const WORDS = (VECTORS + 3) * LANES;

function run(ir: Ir): number[] {
  const memory = new EvalMemory();
  const words = memory.mapWords(0n, new Uint32Array(WORDS));
  const result = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [LANES, 1, 1], memory, ldsBytes: 4 * LANES });
  assertEquals(result.faults, []);
  return [...words];
}

function check(ir: Ir, chosen: Ir, seed: number): void {
  const expected = run(ir);
  let actual: number[];
  try {
    actual = run(chosen);
  } catch (error) {
    throw new Error(`seed ${seed}: ${error}`);
  }
  assertEquals(actual, expected, `seed ${seed}`);
}

Deno.test("lanes that go their own way compute what the wave in lockstep computes", () => {
  const counts = { lane: 0, flat: 0, wave: 0 };
  for (let seed = 1; seed <= 3000; seed++) {
    const ir = deadCode(new MaskProgram(new Random(seed), false).ir);
    const { ir: chosen, report } = chooseRegions(ir, new Set());
    for (const each of report) counts[each.decision]++;
    check(ir, chosen, seed);
  }
  assert(counts.lane > 5000, `many branches become lane branches: ${JSON.stringify(counts)}`);
  assert(counts.wave > 100, `scalar values that stay alive keep their vote: ${JSON.stringify(counts)}`);
});

Deno.test("LDS traffic keeps the lanes together and gets barriers in uniform control flow", () => {
  let barriers = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const ir = deadCode(new MaskProgram(new Random(seed), true).ir);
    const hazards = ldsHazards(ir, LANES);
    const { ir: chosen } = chooseRegions(ir, hazards);
    barriers += hazards.size;
    check(ir, chosen, seed);
  }
  assert(barriers > 1000, `the programs exchange through LDS (${barriers} barriers)`);
});
