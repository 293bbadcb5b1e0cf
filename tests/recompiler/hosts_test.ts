/**
 * Random programs (tests/fuzz/programs) on hosts with subgroups of 8, 16, 32 and 64 lanes, none of which may differ from the interpreter. The modules are
 * evaluated (tests/support/spirv_eval): invocations go in random order, and a barrier that not everybody comes to is an error, where a device may hang,
 * or hide it.
 */
import { assert, assertEquals } from "@std/assert";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { randomProgram } from "../fuzz/programs/generate.ts";
import { compareProgram } from "../fuzz/programs/run.ts";
import { Random } from "../support/random.ts";
import { EvaluatedExecutor } from "../support/spirv_eval/executor.ts";

const WIDTHS = [8, 16, 32, 64] as const;
/** Programs, and rounds of the interpreter that none of them comes near to. */
const PROGRAMS = 24, INSTRUCTIONS = 1_000_000;

Deno.test("random programs do on hosts of 8, 16, 32 and 64 lanes what they do in the interpreter, in every mode and wave", () => {
  const cells = new Map<string, number>(), wrong: string[] = [];
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const tree = randomProgram(new Random(seed));
    const { target, waveSize } = tree.settings;
    for (const width of WIDTHS) {
      // Every second program is spanned even where it could be native.
      const laneMode = seed % 2 === 0 ? "spanned" : undefined;
      const device = new EvaluatedExecutor({ target, subgroupSize: width, seed, device: { laneMode } });
      const reference = new SoftwareExecutor({ target, instructionLimit: INSTRUCTIONS });
      const outcome = compareProgram(tree, { device, reference, allocator: new ArrayAllocator() });
      const [artifact] = device.artifacts;
      if (outcome.kind === "equal") {
        const cell = `${artifact.laneMode}, wave${waveSize}, ${width} lanes`;
        cells.set(cell, (cells.get(cell) ?? 0) + 1);
      } else if (outcome.kind !== "refused") {
        wrong.push(`seed ${seed}, ${width} lanes: ${outcome.kind}: ${outcome.text}`);
      }
    }
  }
  console.log([...cells].sort().map(([cell, count]) => `${cell}: ${count} programs`).join("\n"));
  assertEquals(wrong, []);
  for (const wave of [32, 64]) {
    for (const width of WIDTHS) {
      for (const mode of wave === width ? ["native", "spanned"] : ["spanned"]) {
        const cell = `${mode}, wave${wave}, ${width} lanes`;
        assert((cells.get(cell) ?? 0) > 0, `no program ran as ${cell}`);
      }
    }
  }
});
