/**
 * Compiled programs that observe the wave, in every lane mode of every host: sums and counters that LLVM and ACO make without barriers where a workgroup is one
 * wave (corpus/llvm k.w64.reduce, corpus/aco atomics.w64: the wave passes data through LDS in lockstep), and ACO's subgroup operations. Expected: what the
 * reference interpreter gives.
 */
import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import type { ComputeExecutor } from "../../src/driver/executor.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { type Launch, launch } from "../../src/guest/harness.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { RecompilerDevice } from "../../src/recompiler/request.ts";
import { withWaveMode } from "../recompiler/waves/frame.ts";
import { allows, deviceHost, evaluatedHost } from "../recompiler/waves/table.ts";
import { assertWords, corpusShader } from "../support/compare.ts";
import { corpusTest } from "../support/corpus.ts";
import { integerWords } from "../support/inputs.ts";
import { corpusDeviceTest, runGuestWell } from "../support/run.ts";
import { EvaluatedExecutor } from "../support/spirv_eval/executor.ts";

const THREADS = 64, GROUPS = 3;
const buffer = (data: Uint32Array<ArrayBuffer>) => ({ kind: "buffer" as const, data });

/** A program with its output buffer. */
interface Case {
  readonly name: string;
  readonly folder: string;
  readonly waveSize: 32 | 64;
  make(): Launch;
  /** Key of the output in the program's resources. */
  readonly output: string;
}

const CASES: readonly Case[] = [32, 64].flatMap((wave): Case[] => {
  const waveSize = wave as 32 | 64, a = () => integerWords(THREADS * GROUPS, 17);
  return [
    {
      name: `k.w${wave}.reduce`,
      folder: "llvm",
      waveSize,
      output: "1",
      make: () =>
        launch({
          shader: corpusShader("llvm", `k.w${wave}.reduce.json`),
          grid: [GROUPS, 1, 1],
          workgroupSize: [THREADS, 1, 1],
          resources: { "0": buffer(a()), "1": buffer(new Uint32Array(GROUPS + 3).fill(0xdead_beef)) },
        }),
    },
    ...(["atomics", "subgroup"] as const).map((name): Case => ({
      name: `${name}.w${wave}`,
      folder: "aco",
      waveSize,
      output: "0.1",
      make: () =>
        launch({
          shader: corpusShader("aco", `${name}.w${wave}.comp.json`),
          grid: [GROUPS, 1, 1],
          resources: {
            "0.0": buffer(a()),
            "0.1": buffer(
              name === "atomics"
                ? Uint32Array.of(5, 0, 0x100, 0x1234, 7, 0xffff_ffff, 0xdead_beef)
                : new Uint32Array(THREADS * GROUPS * 8).fill(0xdead_beef),
            ),
          },
        }),
    })),
  ];
});

const ASKED = ["native", "spanned", "packed"] as const satisfies RecompilerDevice["laneMode"][];

/** Output of an executor in memory of its own. */
function outputOf({ program, resources }: Launch, output: string, executor: ComputeExecutor): Uint32Array {
  const memory = new GuestMemory(new ArrayAllocator());
  const { error } = runProgram(program, executor, memory);
  if (error !== undefined) throw error;
  const { address, bytes } = resources.get(output)!;
  return new Uint32Array(memory.read(address, bytes).slice().buffer);
}

function interpreted(c: Case): Uint32Array {
  const made = c.make();
  return outputOf(made, c.output, new SoftwareExecutor({ target: made.program.target, instructionLimit: 10_000_000 }));
}

for (const c of CASES) {
  corpusTest(
    `${c.name} gives the interpreter's words in every mode on hosts of 8, 16, 32 and 64 lanes`,
    c.folder,
    () => {
      const expected = interpreted(c), ran: string[] = [];
      for (const width of [8, 16, 32, 64] as const) {
        for (const laneMode of ASKED) {
          if (!allows(evaluatedHost(width), laneMode, c.waveSize)) continue;
          const made = c.make();
          const executor = new EvaluatedExecutor({
            target: made.program.target,
            subgroupSize: width,
            seed: width,
            device: { laneMode },
          });
          assertWords(outputOf(made, c.output, executor), expected, `${laneMode}, ${width} lanes`);
          const [artifact] = executor.artifacts;
          // Barriers that were added are all that k.reduce has of the wave: laneless, unless it is packed.
          if (artifact.laneMode === laneMode) ran.push(`${laneMode} ${width}`);
          else {assert(
              artifact.laneMode === "laneless" && laneMode !== "packed",
              `${artifact.laneMode}, not ${laneMode}`,
            );}
        }
      }
      const packed = [8, 16, 32, 64].filter((width) => width <= c.waveSize).map((width) => `packed ${width}`);
      const observed = c.name.includes(".w64") || c.name.startsWith("subgroup");
      if (observed) assertEquals(ran.filter((text) => text.startsWith("packed")), packed);
    },
  );

  corpusDeviceTest(
    `${c.name} gives the interpreter's words in every mode that the device allows`,
    c.folder,
    (device) => {
      const expected = interpreted(c);
      for (const laneMode of ASKED) {
        if (!allows(deviceHost(device), laneMode, c.waveSize)) continue;
        const made = c.make();
        using run = withWaveMode(laneMode, () => runGuestWell(device, made.program));
        assertWords(run.words(made.resources.get(c.output)!), expected, laneMode);
        const [program] = run.result.programs;
        assert([laneMode, "laneless"].includes(program.laneMode as "packed"), `${program.laneMode}, not ${laneMode}`);
      }
    },
  );
}
