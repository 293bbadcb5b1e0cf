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
import { Operand } from "../../src/rdna/instruction.ts";
import { float32 } from "../fuzz/compare.ts";
import { opcodeOf, v, vop, vop3 } from "../fuzz/encode.ts";
import { DESTINATION, type Instance, VECTORS } from "../fuzz/frame.ts";
import { Preparation } from "../fuzz/instances/operands.ts";
import { randomSmallF32 } from "../fuzz/values.ts";
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

/** A round over all f32 instructions, and those with f32 parts; `modes` by batch in turn. */
function f32Round(host: Host, modes: readonly number[], round: number, denormals = true) {
  const report = emptyReport();
  let index = 0;
  for (const plan of planRound("alu", round, { groups: 1, denormals })) {
    plan.settings.floatMode = modes[index++ % modes.length];
    plan.instances = plan.instances.filter(({ name }) => /f32|_mix/.test(name));
    if (plan.instances.length === 0) continue;
    fuzzBatch(plan, ({ target }) => ({
      device: evaluator(target, host),
      reference: new SoftwareExecutor({ target, instructionLimit: 10_000_000 }),
      allocator: new ArrayAllocator(),
    }), report);
  }
  return report;
}

const ROUNDS: readonly (readonly [string, Host, readonly number[]])[] = [
  ["NVIDIA, denormals kept", NVIDIA, [0xf0]],
  ["NVIDIA, denormals flushed on one side or on both", NVIDIA, [0x00, 0x10, 0x20, 0xc0]],
  ["the poor host, all modes", POOR, [0xf0, 0x00, 0x30, 0x20, 0x10]],
];

ROUNDS.forEach(([what, host, modes], n) =>
  Deno.test(`f32 instructions with denormal operands and results give the interpreter's results: ${what}`, () => {
    const { failures, cases, ran, refused } = f32Round(host, modes, n + 1);
    assertEquals(failures.map(({ seed, text }) => `seed ${seed}: ${text}`), []);
    assert(cases > 10_000 && ran.size > 90, `${cases} cases of ${ran.size} instructions`);
    assertEquals(refused.filter(({ why }) => /keeps f32|f32 denormals/.test(why)), []);
  })
);

Deno.test("a host that flushes, and of which the recompiler thinks that it does not, is found out", () => {
  const host: Host = { ...NVIDIA, device: { ...NVIDIA.device, keepsDenormals32: true } };
  const { failures } = f32Round(host, [0xf0], 1);
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

/** f32 operations with one exact result, by their number of sources. */
const EXACT: readonly (readonly [name: string, sources: number])[] = [
  ...["v_add_f32", "v_sub_f32", "v_mul_f32", "v_mul_f32", "v_min_f32", "v_max_f32", "v_add_f32", "v_mul_legacy_f32"]
    .map((name) => [name, 2] as const),
  ...["v_fma_f32", "v_fma_f32", "v_min3_f32", "v_max3_f32", "v_med3_f32"].map((name) => [name, 3] as const),
  ...["v_floor_f32", "v_ceil_f32", "v_trunc_f32", "v_rndne_f32", "v_fract_f32", "v_frexp_mant_f32"]
    .map((name) => [name, 1] as const),
];

/** Instructions one after the other on each other's results, comparisons and selections among them; all results are compared. */
function chain(random: Random, length: number): Instance {
  const words: number[][] = [];
  const vector = () =>
    v(random.chance(0.5) ? random.pick(VECTORS.float) : DESTINATION.vector + random.below(DESTINATION.count));
  const source = () => random.chance(0.7) ? vector() : 240 + random.below(9);
  while (words.length < length) {
    const dst = v(DESTINATION.vector + random.below(DESTINATION.count));
    if (random.chance(0.15)) {
      const compare = opcodeOf(`v_cmp_${random.pick(["lt", "eq", "le", "gt", "lg", "ge", "nlt", "neq"])}_f32`);
      words.push(vop3(compare, { dst: -1, sdst: Operand.Vcc, src: [source(), source()], neg: random.below(4) }));
      words.push(vop(opcodeOf("v_cndmask_b32"), dst, source(), vector()));
      continue;
    }
    const [name, count] = random.pick(EXACT);
    const src = Array.from({ length: count }, source), literal = randomSmallF32(random), modified = 2 ** count;
    if (random.chance(0.2)) src[random.below(count)] = Operand.Literal;
    const neg = random.below(modified), abs = random.below(modified) & random.below(8);
    words.push(vop3(opcodeOf(name), { dst, src, literal, neg, abs, clamp: random.chance(0.1) }));
  }
  const prepare = new Preparation(random, 64);
  prepare.destinations();
  return {
    name: "chain",
    form: `${length} instructions`,
    before: (code) => prepare.emit(code),
    words,
    checks: Array.from({ length: DESTINATION.count }, (_, k) => ({
      sources: [{ kind: "vector", register: DESTINATION.vector + k }],
      compare: float32,
    })),
    lanes: false,
  };
}

Deno.test("instructions on each other's results: what is known of a value never leaves out a guard that it needs", () => {
  const report = emptyReport();
  const settings = { waveSize: 64, groups: 1, ieee: false, ldsBytes: 0, denormals: true } as const;
  for (let seed = 1; seed <= CHAINS; seed++) {
    const random = new Random(seed), floatMode = random.pick([0xf0, 0xf0, 0x30, 0x10, 0x20, 0x00]);
    const host = HOSTS[seed & 1][1], target = random.pick(["gfx1013", "gfx1030"] as const);
    const instances = [1, 2, 3].map((k) => chain(random, 8 * k));
    const plan = { instances, settings: { ...settings, target, floatMode, dx10Clamp: random.chance(0.5) }, seed };
    fuzzBatch(plan, ({ target }) => ({
      device: evaluator(target, host),
      reference: new SoftwareExecutor({ target, instructionLimit: 10_000_000 }),
      allocator: new ArrayAllocator(),
    }), report);
  }
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
