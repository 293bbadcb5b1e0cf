/** Chains of f32 instructions, and rounds over all f32 instructions, most of whose operands are denormal or make denormals. */
import { Operand } from "../../src/rdna/instruction.ts";
import { Random } from "../support/random.ts";
import type { Sides } from "./batch.ts";
import { float32 } from "./compare.ts";
import { opcodeOf, v, vop, vop3 } from "./encode.ts";
import { type BatchSettings, DESTINATION, type Instance, VECTORS } from "./frame.ts";
import { Preparation } from "./instances/operands.ts";
import { emptyReport, fuzzBatch, type InstructionReport, planRound } from "./instructions.ts";
import { randomSmallF32 } from "./values.ts";

/** f32 operations with one exact result, by their number of sources. */
const EXACT: readonly (readonly [name: string, sources: number])[] = [
  ...["v_add_f32", "v_sub_f32", "v_mul_f32", "v_mul_f32", "v_min_f32", "v_max_f32", "v_add_f32", "v_mul_legacy_f32"]
    .map((name) => [name, 2] as const),
  ...["v_fma_f32", "v_fma_f32", "v_min3_f32", "v_max3_f32", "v_med3_f32"].map((name) => [name, 3] as const),
  ...["v_floor_f32", "v_ceil_f32", "v_trunc_f32", "v_rndne_f32", "v_fract_f32", "v_frexp_mant_f32"]
    .map((name) => [name, 1] as const),
];

/** Instructions one after the other on each other's results, comparisons and selections among them; all results are compared. */
export function chain(random: Random, length: number): Instance {
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

/** Runs `batches` batches of chains. @param modes FLOAT_MODE of a batch is one of these */
export function chainRound(
  batches: number,
  modes: readonly number[],
  sidesOf: (settings: BatchSettings, batch: number) => Sides,
): InstructionReport {
  const report = emptyReport();
  const settings = { waveSize: 64, groups: 1, ieee: false, ldsBytes: 0, denormals: true } as const;
  for (let seed = 1; seed <= batches; seed++) {
    const random = new Random(seed), floatMode = random.pick(modes);
    const target = random.pick(["gfx1013", "gfx1030"] as const);
    const instances = [1, 2, 3].map((k) => chain(random, 8 * k));
    const plan = { instances, settings: { ...settings, target, floatMode, dx10Clamp: random.chance(0.5) }, seed };
    fuzzBatch(plan, (settings) => sidesOf(settings, seed), report);
  }
  return report;
}

/** A round over all instructions on f32, and those with f32 parts. @param modes FLOAT_MODE by batch, in turn */
export function f32Round(
  round: number,
  modes: readonly number[],
  sidesOf: (settings: BatchSettings) => Sides,
  accepts: (name: string) => boolean = () => true,
): InstructionReport {
  const report = emptyReport();
  let index = 0;
  for (const plan of planRound("alu", round, { groups: 1, denormals: true })) {
    plan.settings.floatMode = modes[index++ % modes.length];
    plan.instances = plan.instances.filter(({ name }) => /f32|_mix/.test(name) && accepts(name));
    if (plan.instances.length > 0) fuzzBatch(plan, sidesOf, report);
  }
  return report;
}
