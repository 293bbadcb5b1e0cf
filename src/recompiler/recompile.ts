import type { AnyAgcError } from "../errors.ts";
import { buildCfg, type Cfg, dumpCfg } from "./cfg/cfg.ts";
import { dumpIr } from "./ir/dump.ts";
import type { Ir } from "./ir/ir.ts";
import { isGds } from "./lift/gds.ts";
import { lift } from "./lift/lift.ts";
import { dropAbsentLanes, keepOneThread } from "./passes/absent_lanes.ts";
import { checkAddedBarriers } from "./passes/added_barriers.ts";
import { dropUnseenChoices } from "./passes/demand.ts";
import { deadCode } from "./passes/dead_code.ts";
import { dropUnseenHalves } from "./passes/halves.ts";
import { checkGuestBarriers } from "./passes/guest_barriers.ts";
import { lockstepBarriers } from "./passes/lockstep.ts";
import { chooseRegions, type RegionReport } from "./passes/regions.ts";
import { reroll } from "./passes/reroll.ts";
import { LaneModeRefusal } from "./passes/pack/shape.ts";
import { keepTogether } from "./passes/together.ts";
import { simplify, simplifyUniformReads } from "./passes/simplify.ts";
import { packProgram, requirePackShape } from "./packed.ts";
import { type Artifact, type RecompileRequest, threadsOf } from "./request.ts";
import { failingAccesses } from "./spirv/access_word.ts";
import { emitCompute, type EmitOptions } from "./spirv/emit.ts";
import { exchangeCost, observesWave, packedIsCheaper } from "./spirv/lane_mode.ts";
import { takesMoreRounds } from "./spirv/loop_limit.ts";
import { TooManyResources } from "./spirv/resolved.ts";
import { checkGroup, groupLayout, knownRegisters } from "./stages/group.ts";
import { recompileStage } from "./stages/recompile_stage.ts";
import { dumpTree, structurize } from "./structurize/structurize.ts";

/** The passes in order; each can be dumped as text. `packed` makes what is emitted where the lane mode is packed, `final` where it is not. */
export const PASSES = ["cfg", "structurize", "lift", "simplify", "regions", "final", "packed"] as const;
/** Name of a pass. */
export type PassName = (typeof PASSES)[number];

/** Receives the text of each pass; `text` costs nothing until it is called. */
export type PassObserver = (pass: PassName, text: () => string) => void;

/**
 * Recompiles a compute program to SPIR-V.
 *
 * @param observe called after each pass.
 * @param watch told where the module's words are, and what the check of its barriers knows.
 * @throws RefusedError naming everything in the program that is not supported, with pc and guest address.
 * @throws InvalidInputError if the code is malformed. @throws NeedsImageDescriptors if `request.imageDescriptors` lacks some.
 */
export function recompile(
  request: RecompileRequest,
  observe?: PassObserver,
  watch: Pick<EmitOptions, "account" | "observeConvergence"> = {},
): Artifact {
  checkGroup(request);
  const refused: AnyAgcError[] = [];
  const cfg = buildCfg(request.code, { ...placeOf(request), refused });
  observe?.("cfg", () => dumpCfg(cfg));
  const tree = structurize(cfg);
  observe?.("structurize", () => dumpTree(tree, cfg));
  if (request.graphics !== undefined) {
    return {
      ...recompileStage(cfg, tree, { ...request, resolve: false }, refused, observe, dumpRegions),
      usesGds: cfg.instructions.some(isGds),
      codeWords: codeWords(cfg),
      instructionCount: cfg.instructions.length,
    };
  }
  let ir = lift(cfg, tree, request, refused);
  const plan = ir.resources;
  observe?.("lift", () => dumpIr(ir));
  ir = deadCode(simplifyUniformReads(deadCode(simplify(ir)), !request.partialThreads));
  const alone = keepOneThread(ir, request);
  if (alone) ir = deadCode(simplify(ir));
  observe?.("simplify", () => dumpIr(ir));
  const simplified = ir;
  const threads = threadsOf(request), oneWave = threads <= request.waveSize;
  const lanes = alone ? 1 : Math.ceil(threads / request.waveSize) * request.waveSize;
  const before = lockstepBarriers(ir, threads, lanes, plan);
  const regions = chooseRegions(ir, before, !oneWave, exchangeCost(request));
  ir = regions.ir;
  observe?.("regions", () => dumpRegions(regions.report) + dumpIr(ir));
  ir = deadCode(simplify(ir));
  if (dropAbsentLanes(ir, request)) ir = deadCode(simplify(ir));
  const together = keepTogether(ir, oneWave);
  if (together !== ir) ir = deadCode(simplify(together));
  const seen = dropUnseenChoices(ir, true);
  const halves = dropUnseenHalves(seen.ir);
  if (seen.changed || halves.changed) ir = deadCode(simplify(halves.ir, true));
  const packed = (reason: string, instead?: LaneModeRefusal): Artifact => {
    const shape = requirePackShape(request, instead);
    const program = packProgram(simplified, request, shape, lanes, plan);
    observe?.("packed", () => dumpIr(program.ir));
    return emitCompute(program.ir, request, { plan, ...watch, packed: { ...shape, reason } });
  };
  const apart = (): Artifact => {
    const loops = reroll(ir, (ir) => failingAccesses(ir, request));
    const rolled = request.device.endsLoops === true && takesMoreRounds(ir, loops) ? ir : loops;
    observe?.("final", () => dumpIr(rolled));
    const emit = (ir: Ir) => {
      checkGuestBarriers(ir, oneWave, request.codeAddress);
      checkAddedBarriers(ir, oneWave, request.codeAddress);
      return emitCompute(ir, request, { plan, ...watch });
    };
    // What is known of the conditions around exchanges and barriers may be less where they are in loops.
    return rolled === ir ? emit(ir) : unlessRefused(() => emit(rolled), () => emit(ir));
  };
  const inSomeMode = (): Artifact => {
    const asked = request.device.laneMode;
    if (asked === "packed" && observesWave(ir)) return packed("packed was asked for");
    if (asked !== undefined) return apart();
    const cheaper = packedIsCheaper(ir, simplified, request);
    if (cheaper !== undefined) return unlessRefused(() => packed(cheaper), apart);
    return unlessRefused(apart, (refusal) => packed(`spanned does not do it: ${refusal.summary}`, refusal));
  };
  let artifact: Artifact;
  try {
    artifact = inSomeMode();
  } catch (error) {
    if (!(error instanceof TooManyResources)) throw error;
    return recompile({ ...request, resolve: false }, observe, watch);
  }
  const usesGds = cfg.instructions.some(isGds);
  return {
    ...artifact,
    ...(request.group === undefined ? {} : { group: groupLayout(request, cfg.instructions) }),
    usesGds,
    codeWords: codeWords(cfg),
    instructionCount: cfg.instructions.length,
  };
}

/** The first artifact, or where a lane mode refuses the program the second; all other errors are thrown. */
function unlessRefused(first: () => Artifact, second: (refusal: LaneModeRefusal) => Artifact): Artifact {
  try {
    return first();
  } catch (error) {
    if (!(error instanceof LaneModeRefusal)) throw error;
    return second(error);
  }
}

/** Words of a request's code that belong to the program: up to the last that is reachable; all, without zeros at the end, of code that is malformed. */
export function programWords(request: RecompileRequest): number {
  const { code } = request;
  try {
    return codeWords(buildCfg(code, { ...placeOf(request), refused: [] }));
  } catch {
    return Math.max(1, code.findLastIndex((word) => word !== 0) + 1);
  }
}

function placeOf(request: RecompileRequest) {
  return { target: request.target, codeAddress: request.codeAddress, known: knownRegisters(request) };
}

function codeWords(cfg: Cfg): number {
  let end = 0;
  for (const instruction of cfg.instructions) end = Math.max(end, instruction.pc / 4 + instruction.size);
  for (let block = 0; block < cfg.blockCount; block++) end = Math.max(end, cfg.terminatorPc[block] / 4 + 1);
  return end;
}

function dumpRegions(report: readonly RegionReport[]): string {
  return report.map(({ pc, decision, reason }) =>
    `; branch at 0x${pc.toString(16)}: ${decision}${reason && ` (${reason})`}\n`
  )
    .join("");
}
