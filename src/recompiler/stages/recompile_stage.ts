import type { AnyAgcError } from "../../errors.ts";
import type { Cfg } from "../cfg/cfg.ts";
import { dumpIr } from "../ir/dump.ts";
import type { Ir } from "../ir/ir.ts";
import { lift } from "../lift/lift.ts";
import { deadCode } from "../passes/dead_code.ts";
import { dropUnseenChoices } from "../passes/demand.ts";
import { dropUnseenHalves } from "../passes/halves.ts";
import { chooseRegions, type RegionReport } from "../passes/regions.ts";
import { simplify, simplifyUniformReads } from "../passes/simplify.ts";
import type { PassObserver } from "../recompile.ts";
import type { Artifact, RecompileRequest } from "../request.ts";
import { emitStage } from "../spirv/stages/emit.ts";
import type { Tree } from "../structurize/tree.ts";
import { takeCentroids } from "./centroid.ts";
import { computeAttributes } from "./computed_barycentrics.ts";
import { checkHelperWrites, treatHelpersAsPixels } from "./helpers.ts";
import { checkVertexOnly, keepVertices } from "./merged_wave.ts";
import { findQuadShuffles } from "./quads.ts";

/** Times that choices nobody sees are looked for. */
const DEMAND_ROUNDS = 4;

/**
 * The passes of a pixel or vertex program, from its structured form on.
 *
 * @throws RefusedError naming what is not supported
 */
export function recompileStage(
  cfg: Cfg,
  tree: Tree,
  request: RecompileRequest,
  refused: readonly AnyAgcError[],
  observe: PassObserver | undefined,
  dumpRegions: (report: readonly RegionReport[]) => string,
): Artifact {
  const { graphics, waveSize } = request;
  let ir: Ir = lift(cfg, tree, request, refused);
  observe?.("lift", () => dumpIr(ir));
  const isMerged = graphics?.stage === "vertex" && graphics.form === "ngg";
  ir = deadCode(simplify(ir));
  if (isMerged) keepVertices(ir, request);
  findQuadShuffles(ir, waveSize);
  ir = deadCode(simplifyUniformReads(deadCode(simplify(ir)), true));
  if (graphics?.stage === "pixel") checkHelperWrites(ir, request);
  observe?.("simplify", () => dumpIr(ir));
  const regions = chooseRegions(ir, new Set());
  ir = deadCode(simplify(regions.ir));
  observe?.("regions", () => dumpRegions(regions.report) + dumpIr(ir));
  if (treatHelpersAsPixels(ir)) ir = deadCode(simplify(ir));
  if (graphics?.stage === "pixel") {
    takeCentroids(ir);
    ir = deadCode(ir);
  }
  // What nobody looks at keeps other things looked at, until it is gone.
  for (let round = 0; round < DEMAND_ROUNDS; round++) {
    const seen = dropUnseenChoices(ir, true), halves = dropUnseenHalves(seen.ir);
    if (!seen.changed && !halves.changed) break;
    ir = deadCode(simplify(halves.ir));
  }
  if (isMerged) checkVertexOnly(ir, request);
  if (graphics?.stage === "pixel") {
    const computed = computeAttributes(ir, request);
    if (computed !== ir) ir = deadCode(simplify(computed));
  }
  observe?.("final", () => dumpIr(ir));
  return emitStage(ir, request);
}
