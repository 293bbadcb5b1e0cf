/**
 * Random programs (tests/fuzz/programs: loops that lanes leave one by one, by breaks and continues from inside of conditions, nested) on hosts with subgroups of 8, 16, 32 and 64 lanes, none of which may differ from the interpreter. The modules are
 * evaluated (tests/support/spirv_eval): invocations go in random order, and a barrier that not everybody comes to is an error, where a device may hang,
 * or hide it.
 */
import { assert, assertEquals } from "@std/assert";
import type { ProgramReport } from "../../src/driver/executor.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { randomProgram } from "../fuzz/programs/generate.ts";
import { compareProgram } from "../fuzz/programs/run.ts";
import { SideMaker } from "../fuzz/sides.ts";
import { Random } from "../support/random.ts";
import { EvaluatedExecutor } from "../support/spirv_eval/executor.ts";
import { deviceTest } from "../support/vulkan.ts";
import { withWaveMode } from "./waves/frame.ts";

const WIDTHS = [8, 16, 32, 64] as const;
/** Programs, and rounds of the interpreter that none of them comes near to. */
const PROGRAMS = 24, DEVICE_PROGRAMS = 6, INSTRUCTIONS = 1_000_000;

/** Modes that are possible for a wave on a host. */
function modesOf(wave: number, width: number): readonly ("native" | "spanned" | "packed")[] {
  if (width === wave) return ["native", "spanned", "packed"];
  return width < wave ? ["spanned", "packed"] : ["spanned"];
}

/** A third of the programs is packed, a third is spanned even where it could be native. */
function askedFor(seed: number, width: number, wave: number): "spanned" | "packed" | undefined {
  if (seed % 3 === 0) return "spanned";
  return seed % 3 === 1 && modesOf(wave, width).includes("packed") ? "packed" : undefined;
}

Deno.test("random programs do on hosts of 8, 16, 32 and 64 lanes what they do in the interpreter, in every mode and wave", () => {
  const cells = new Map<string, number>(), wrong: string[] = [];
  for (let seed = 1; seed <= PROGRAMS; seed++) {
    const tree = randomProgram(new Random(seed));
    const { target, waveSize } = tree.settings;
    for (const width of WIDTHS) {
      const laneMode = askedFor(seed, width, waveSize);
      const device = new EvaluatedExecutor({ target, subgroupSize: width, seed, races: true, device: { laneMode } });
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
      for (const mode of modesOf(wave, width)) {
        const cell = `${mode}, wave${wave}, ${width} lanes`;
        assert((cells.get(cell) ?? 0) > 0, `no program ran as ${cell}`);
      }
    }
  }
});

deviceTest(
  "packed random programs reconverge on the device as in the interpreter after divergent breaks, continues and nested loops",
  (device) => {
    const { canRequireSize, minimumSize } = device.capabilities.subgroup;
    const reports = new Set<ProgramReport>(), wrong: string[] = [];
    withWaveMode("packed", () => {
      using sides = new SideMaker(device, INSTRUCTIONS);
      for (let seed = 101; seed < 101 + DEVICE_PROGRAMS; seed++) {
        const tree = randomProgram(new Random(seed)), { target, waveSize } = tree.settings;
        if (!canRequireSize || minimumSize > waveSize) continue;
        const side = sides.take(target), outcome = compareProgram(tree, side);
        if (outcome.kind !== "equal") {
          wrong.push(`seed ${seed}: ${outcome.kind}: ${outcome.kind === "refused" ? outcome.why : outcome.text}`);
        }
        for (const report of side.device.programs()) reports.add(report);
      }
    });
    const packed = [...reports].filter(({ laneMode }) => laneMode === "packed").length;
    console.log(`${packed} of ${reports.size} programs are packed`);
    assertEquals(wrong, []);
    if (canRequireSize && minimumSize <= 32) assert(packed >= DEVICE_PROGRAMS / 2, `${packed} programs were packed`);
  },
  { validation: false },
);
