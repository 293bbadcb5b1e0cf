/**
 * f32 denormals on hosts that flush them, whatever the program's MODE says: NVIDIA, where RoundingModeRTE makes sums and products keep them, and a host where
 * nothing helps, without f64 and fused multiply-add. The modules are evaluated (tests/support/spirv_eval), and may not differ from the interpreter.
 */
import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { Target } from "../../src/rdna/target.ts";
import type { Sides } from "../fuzz/batch.ts";
import { chainRound, f32Round } from "../fuzz/f32_denormals.ts";
import type { BatchSettings } from "../fuzz/frame.ts";
import { emptyReport, fuzzBatch, planRound } from "../fuzz/instructions.ts";
import { randomProgram } from "../fuzz/programs/generate.ts";
import { compareProgram } from "../fuzz/programs/run.ts";
import { projectFile } from "../cli/support.ts";
import { Random } from "../support/random.ts";
import { EvaluatedExecutor, type EvaluatedOptions, flushingDevice } from "../support/spirv_eval/executor.ts";

/** Batches of chains. */
const CHAINS = 24;

type Host = Pick<EvaluatedOptions, "device" | "flushesUnasked">;

const NVIDIA = flushingDevice("all but sums");
const POOR: Host = {
  ...flushingDevice("all"),
  device: { ...flushingDevice("all").device, float64: false, fusesFma32: false },
};
const HOSTS: readonly (readonly [string, Host])[] = [["NVIDIA", NVIDIA], ["the poor host", POOR]];

function evaluator(target: Target, host: Host, seed = 1): EvaluatedExecutor {
  return new EvaluatedExecutor({ target, subgroupSize: 32, seed, ...host });
}

/** The two sides for a host. */
function sidesOf(host: Host): (settings: BatchSettings) => Sides {
  return ({ target }) => ({
    device: evaluator(target, host),
    reference: new SoftwareExecutor({ target, instructionLimit: 10_000_000 }),
    allocator: new ArrayAllocator(),
  });
}

const ROUNDS: readonly (readonly [string, Host, readonly number[]])[] = [
  ["NVIDIA, denormals kept", NVIDIA, [0xf0]],
  ["NVIDIA, denormals flushed on one side or on both", NVIDIA, [0x00, 0x10, 0x20, 0xc0]],
  ["the poor host, all modes", POOR, [0xf0, 0x00, 0x30, 0x20, 0x10]],
];

ROUNDS.forEach(([what, host, modes], n) =>
  Deno.test(`f32 instructions with denormal operands and results give the interpreter's results: ${what}`, () => {
    const { failures, cases, ran, refused } = f32Round(n + 1, modes, sidesOf(host));
    assertEquals(failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
    assert(cases > 10_000 && ran.size > 90, `${cases} cases of ${ran.size} instructions`);
    assertEquals(refused.filter(({ why }) => /keeps f32|f32 denormals/.test(why)), []);
  })
);

Deno.test("additions of floats in LDS see denormals as MODE says, which may be other than the module's float instructions do", () => {
  for (const [what, host] of HOSTS) {
    const report = emptyReport();
    [0xf0, 0x10, 0x20, 0x00].forEach((floatMode, n) => {
      for (const plan of planRound("lds", n + 1, { groups: 2, floatMode, denormals: true })) {
        plan.instances = plan.instances.filter(({ name }) => /^ds_add_(rtn_|src2_)?f32$/.test(name));
        if (plan.instances.length > 0) fuzzBatch(plan, sidesOf(host), report);
      }
    });
    assertEquals([what, report.failures, report.refused], [what, [], []]);
    assert(report.cases >= 4 * 2 * 2 * 64, `${report.cases} cases`);
  }
});

Deno.test("a host that flushes, and of which the recompiler thinks that it does not, is found out", () => {
  const host: Host = { ...NVIDIA, device: { ...NVIDIA.device, keepsDenormals32: true } };
  const { failures } = f32Round(1, [0xf0], sidesOf(host));
  const names = new Set(failures.map(({ text }) => text.split("_").slice(0, 3).join("_")));
  assert(failures.length > 30 && names.size > 10, [...names].join());
});

Deno.test("random programs do on hosts that flush denormals what they do in the interpreter", () => {
  const wrong: string[] = [];
  let equal = 0;
  for (let seed = 1; seed <= 16; seed++) {
    const tree = randomProgram(new Random(seed));
    tree.settings.floatMode = [0xf0, 0xc0, 0x00, 0x30][seed >> 1 & 3];
    const { target } = tree.settings, [what, host] = HOSTS[seed & 1];
    const reference = new SoftwareExecutor({ target, instructionLimit: 1_000_000 });
    const device = evaluator(target, host, seed);
    const outcome = compareProgram(tree, { device, reference, allocator: new ArrayAllocator() });
    if (outcome.kind === "equal") equal++;
    else if (outcome.kind !== "refused") wrong.push(`seed ${seed}, ${what}: ${outcome.kind}: ${outcome.text}`);
  }
  assertEquals(wrong, []);
  assert(equal > 10, `${equal} programs`);
});

Deno.test("instructions on each other's results: what is known of a value never leaves out a guard that it needs", () => {
  const report = chainRound(
    CHAINS,
    [0xf0, 0xf0, 0x30, 0x10, 0x20, 0x00],
    (settings, batch) => sidesOf(HOSTS[batch & 1][1])(settings),
  );
  assertEquals(report.failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
  assertEquals([report.refused, report.cases], [[], CHAINS * 3 * 64]);
});

const DISPATCH = 0xc0031502, PICTURE = { address: 0x2_0010_0000n, bytes: 640 * 360 * 4 };

/** The pixels of the first 12 x 3 thread groups of shaders/julia. */
function juliaPixels(executor: EvaluatedExecutor | SoftwareExecutor): Uint8Array {
  const loaded = loadFile(projectFile("shaders/julia/program.json"));
  assert(loaded.kind === "program");
  const words = loaded.program.submissions[1].words, at = words.indexOf(DISPATCH);
  words[at + 1] = 12;
  words[at + 2] = 3;
  const memory = new GuestMemory(new ArrayAllocator());
  const { error } = runProgram(loaded.program, executor, memory);
  if (error !== undefined) throw error;
  return memory.read(PICTURE.address, PICTURE.bytes).slice();
}

Deno.test("the sample program runs on hosts that flush denormals, and its loop needs no guard", () => {
  const expected = juliaPixels(new SoftwareExecutor({ target: "gfx1013" }));
  assertEquals(expected.filter((byte) => byte !== 0).length, 12 * 3 * 64 * 4);
  const [plain, ...guarded] = [{}, NVIDIA, POOR].map((host) => {
    const executor = evaluator("gfx1013", host);
    assertEquals(juliaPixels(executor), expected);
    return executor.artifacts[0].spirv.length;
  });
  // Everything in the loop is a multiple of 2^-92.
  assert(guarded[0] < plain * 1.1, `${guarded} words, ${plain} where denormals are kept`);
});
