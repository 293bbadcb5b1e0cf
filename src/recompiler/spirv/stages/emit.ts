import type { Ir } from "../../ir/ir.ts";
import { InputKind, Op } from "../../ir/ops.ts";
import { throwRefusals } from "../../lift/refusal.ts";
import type { Artifact, GraphicsArtifact, RecompileRequest } from "../../request.ts";
import { StagePush } from "../../abi.ts";
import { Decoration, Mode } from "../codes.ts";
import { ENDS_BLOCK, HANDLERS, writesElsewhere } from "../emit.ts";
import { Emitter } from "../emitter.ts";
import { gatherFacts } from "../facts.ts";
import { declareFloatModes } from "../float.ts";
import { writePrologue } from "../inputs.ts";
import { emitOperation } from "../refusals.ts";
import { scanUsage } from "../usage.ts";
import { prepareStageExchange } from "./exchange.ts";
import type { StageInputs } from "./inputs.ts";
import { parametersOf } from "./interpolation.ts";

/** Execution models. */
const VERTEX = 0, FRAGMENT = 4;

/**
 * Emits a pixel or vertex program as a SPIR-V module (version 1.5; entry point "main"; push constants and context block as in abi.ts, `StagePush`).
 *
 * @throws RefusedError naming the operation and its pc for what the device cannot do, or the stage has no form for
 */
export function emitStage(ir: Ir, request: RecompileRequest): Artifact {
  const { graphics } = request, pixel = graphics?.stage === "pixel";
  const usage = scanUsage(ir);
  const e = new Emitter(ir, request, usage, gatherFacts(ir, request.waveSize, request.workgroupSize, true));
  const { module } = e;
  module.pushBase = pixel ? StagePush.Pixel : StagePush.Vertex;
  refuseOperations(e);
  const { mode, reason } = prepareStageExchange(e);
  declareFloatModes(e);
  if (pixel) {
    module.mode(Mode.OriginUpperLeft);
    if (graphics.depth.beforeShader) module.mode(Mode.EarlyFragmentTests);
    else refuseEarlyTests(e);
  }
  writePrologue(e);
  const { op, length } = ir;
  for (let i = 1; i < length; i++) {
    if (ENDS_BLOCK[op[i]] !== 0) e.faults.leaveBlock();
    emitOperation(e, HANDLERS[op[i]], i);
  }
  throwRefusals(e.refusals, request);
  e.body.finish();
  module.decorateAll(e.exact, Decoration.NoContraction);
  return {
    spirv: module.finishStage(pixel ? FRAGMENT : VERTEX),
    laneMode: mode,
    laneModeReason: reason,
    workgroupSize: request.workgroupSize,
    waveSize: request.waveSize,
    writesElsewhere: writesElsewhere(ir),
    sharedBytes: 0,
    codeWords: request.code.length,
    instructionCount: new Set(ir.pc.subarray(1, ir.length)).size,
    insertedBarriers: 0,
    graphics: interfaceOf(e),
  };
}

/** What the host must know of a stage's interface. */
function interfaceOf(e: Emitter): GraphicsArtifact {
  const { ir, request: { graphics } } = e;
  const targets: number[] = [];
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Export) targets.push(ir.c[i]);
  return {
    stage: graphics!.stage,
    exports: targets,
    parameters: graphics?.stage === "pixel" ? [...parametersOf(e).keys()].sort((a, b) => a - b) : [],
    discards: e.discards,
    perSample: graphics?.stage === "pixel" && (graphics.perSample || (e.inputs as StageInputs).readsSample),
  };
}

/** Operations that have no form in graphics stages. */
function refuseOperations(e: Emitter): void {
  const { ir } = e;
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.LdsLoad || op === Op.LdsStore || op === Op.LdsAtomic) {
      throw e.refuse(i, "stage-lds", "LDS in a graphics stage, which the host's stage does not have");
    }
    if (op === Op.Input && ir.a[i] === InputKind.ScratchOffset && e.usage.uses[i] > 0) {
      throw e.refuse(i, "stage-scratch", "scratch memory in a graphics stage: its waves have no numbers here");
    }
  }
}

/** A program that writes memory, and whose pixels may be tested before it runs or after it, as the hardware likes. */
function refuseEarlyTests(e: Emitter): void {
  const { ir, request: { graphics } } = e;
  if (graphics?.stage !== "pixel" || graphics.depth.order === 0) return;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Store && ir.op[i] !== Op.Atomic) continue;
    throw e.refuse(
      i,
      "early-tests",
      `the program writes memory, and Z_ORDER is ${graphics.depth.order}: whether pixels that fail their tests write is not determined`,
    );
  }
}
