import { assert, assertEquals } from "@std/assert";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify } from "../../../src/recompiler/passes/simplify.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { countOps, OUTPUT, OUTPUT_WORDS, randomIr, SCRATCH, Unreachable } from "./random_ir.ts";

const LANES = 8;

function results(ir: Ir): number[] {
  const memory = new EvalMemory();
  const output = memory.mapWords(BigInt(OUTPUT), new Uint32Array(LANES * OUTPUT_WORDS));
  const scratch = memory.mapWords(BigInt(SCRATCH), Array.from({ length: 64 }, (_, i) => i * 0x01010101 >>> 0));
  evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [LANES, 1, 1], userData: [5], memory });
  return [...output, ...scratch];
}

/** Every NaN counts as one: which payload an operation gives is not defined. */
function generate(seed: number): Ir | null {
  try {
    return randomIr(new Random(seed), 20 + (seed % 5) * 30);
  } catch (error) {
    if (error instanceof Unreachable) return null;
    throw error;
  }
}

Deno.test("random programs give the same results after each pass and after all of them twice", () => {
  let programs = 0, loops = 0, removed = 0;
  for (let seed = 1; seed <= 1500; seed++) {
    const ir = generate(seed);
    if (ir === null) continue;
    validateIrVerbosely(ir);
    const expected = results(ir);
    const simple = simplify(ir);
    const swept = deadCode(ir);
    const both = deadCode(simplify(deadCode(simple)));
    for (const [name, result] of [["simplify", simple], ["deadCode", swept], ["both twice", both]] as const) {
      try {
        validateIrVerbosely(result);
        assertEquals(results(result), expected);
      } catch (error) {
        throw new Error(`seed ${seed}, ${name}: ${(error as Error).message}`);
      }
    }
    programs++;
    loops += countOps(ir, "Loop");
    removed += ir.length - both.length;
  }
  assert(
    programs > 1000 && loops > 500 && removed > 5000,
    `too little was tried: ${programs} programs, ${loops} loops, ${removed} removed`,
  );
});
