import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";
import { throwRefusals } from "../lift/refusal.ts";
import { bufferOf, type ResourcePlan } from "../resources/plan.ts";
import type { PackShape } from "../passes/pack/shape.ts";
import type { Artifact, RecompileRequest } from "../request.ts";
import { ARITHMETIC } from "./arithmetic.ts";
import { Capability, Decoration } from "./codes.ts";
import { checkConvergence, Convergence } from "./convergence.ts";
import { Emitter, type Handler, type HandlerTable } from "./emitter.ts";
import { planExchanges } from "./exchange_plan.ts";
import { DOUBLE } from "./double.ts";
import { chooseLaneMode, firstExchange, hasWholeWaves, type LaneModeChoice } from "./lane_mode.ts";
import { NativeExchange } from "./native_wave.ts";
import { PackedExchange } from "./packed_wave.ts";
import { declareFloatModes, FLOAT } from "./float.ts";
import { gatherFacts } from "./facts.ts";
import { HALF } from "./half.ts";
import { threads, writePrologue } from "./inputs.ts";
import { ldsDwords, MEMORY, needsWideLds } from "./memory.ts";
import { emitOperation } from "./refusals.ts";
import { STAGES } from "./stages/handlers.ts";
import { STRUCTURE } from "./structure.ts";
import { scanUsage } from "./usage.ts";
import { type ExchangeState, LaneExchange, WAVE } from "./wave.ts";

/** Choices that a caller may make. */
export interface EmitOptions {
  /** How guest lanes map to invocations; without it, laneless unless the program observes the wave. */
  laneMode?: Artifact["laneMode"];
  /** The program is packed (passes/pack), in this shape and for this reason. */
  packed?: PackShape & { reason: string };
  /** What the lift wants to have from the host. */
  plan?: ResourcePlan;
  /** Told where the module's words are. */
  account?: (account: WordAccount) => void;
  /** Given the entry point's words and what the check of its barriers knows, for tests of that check. */
  observeConvergence?: (words: Uint32Array, convergence: Convergence) => void;
}

/** Where the words of a module are. */
export interface WordAccount {
  /** The program. */
  readonly ir: Ir;
  /** Words of each operation in the entry point, the notes of its faults included. */
  readonly operations: Uint32Array;
  /** What the entry point does before its first operation. */
  readonly prologue: number;
  /** The other functions. */
  readonly functions: number;
  /** Capabilities, decorations, types, constants, variables. */
  readonly globals: number;
}

const nothing: Handler = () => {};

/** Constants, inputs and undefined values get their ids elsewhere (emitter.ts, inputs.ts). */
const PASSIVE: HandlerTable = { Nop: nothing, Const: nothing, Undef: nothing, Input: nothing };

const TABLE: HandlerTable = {
  ...PASSIVE,
  ...STRUCTURE,
  ...ARITHMETIC,
  ...FLOAT,
  ...DOUBLE,
  ...HALF,
  ...MEMORY,
  ...WAVE,
  ...STAGES,
};

/** Handler of each operation, by its number. */
export const HANDLERS: readonly Handler[] = OPS.map(({ name }) => {
  const handler = TABLE[name];
  if (handler === undefined) throw new Error(`the emitter has no handler for ${name}`);
  return handler;
});

/**
 * Emits a program as a SPIR-V module (version 1.5; entry point "main"; push constants and context block as in abi.ts).
 *
 * @returns the artifact; `instructionCount`, `codeWords` and `insertedBarriers` are what the IR alone tells, and are the caller's to refine.
 * @throws RefusedError naming the operation and its pc for what the device or the lane mode cannot do.
 */
export function emitCompute(ir: Ir, request: RecompileRequest, options: EmitOptions = {}): Artifact {
  const usage = scanUsage(ir);
  const first = firstExchange(ir), lacking = first >= 0 && hasWholeWaves(ir, request);
  const { packed } = options;
  let choice: LaneModeChoice;
  if (packed !== undefined) choice = { mode: "packed", reason: packed.reason };
  else if (options.laneMode !== undefined) choice = { mode: options.laneMode, reason: "asked for" };
  else choice = chooseLaneMode(ir, request, first, lacking);
  const native = choice.mode === "native", wholeWaves = lacking || native || packed !== undefined;
  const facts = gatherFacts(ir, request.waveSize, request.workgroupSize, wholeWaves);
  const e = new Emitter(ir, request, usage, facts, options.plan);
  e.wholeWaves = wholeWaves;
  e.native = native;
  e.packed = packed;
  if (packed !== undefined) e.module.capability(Capability.GroupNonUniform);
  if (first >= 0 && choice.mode === "laneless") {
    throw e.refuse(first, "lane-exchange", "the program observes the wave, which a laneless module cannot");
  }
  declareFloatModes(e);
  checkLds(e);
  e.functions.wideLds = needsWideLds(e);
  writePrologue(e);
  if (first >= 0 || usage.present[Op.Barrier] !== 0) prepareExchange(e, first >= 0);
  const prologue = e.body.words.length;
  const operations = options.account === undefined ? undefined : new Uint32Array(ir.length);
  if (e.exchange === undefined) emitAll(e, operations);
  else emitWithExchange(e, e.exchange, operations);
  throwRefusals(e.refusals, request);
  e.body.finish();
  if (e.convergence !== undefined) verifyConvergence(e, e.convergence, options);
  e.module.decorateAll(e.exact, Decoration.NoContraction);
  const sharedBytes =
    (e.functions.variables.has("lds") ? ldsDwords(e) * 4 + (e.functions.wideLds ? ldsDwords(e) % 2 * 4 : 0) : 0) +
    (e.exchange?.sharedBytes ?? 0);
  checkShared(e, sharedBytes, first);
  const localSize = e.wholeWaves ? [threads(e) / (packed?.slots ?? 1), 1, 1] as const : request.workgroupSize;
  const spirv = e.module.finish(localSize);
  if (operations !== undefined) {
    const functions = e.module.functionWords - e.body.words.length;
    options.account!({ ir, operations, prologue, functions, globals: spirv.length - e.module.functionWords });
  }
  return {
    spirv,
    laneMode: choice.mode,
    laneModeReason: choice.reason,
    ...(native || packed !== undefined ? { subgroupSize: packed?.width ?? request.waveSize } : {}),
    workgroupSize: localSize,
    waveSize: request.waveSize,
    resources: e.resolved?.resources(),
    writesElsewhere: writesElsewhere(ir),
    sharedBytes,
    codeWords: request.code.length,
    instructionCount: countPlaces(ir),
    insertedBarriers: insertedBarriers(ir),
  };
}

/** 1 for operations that end a block. */
export const ENDS_BLOCK = Uint8Array.from(
  OPS,
  ({ name }) => ["If", "Else", "EndIf", "Loop", "Break", "Continue", "LoopCont", "EndLoop"].includes(name) ? 1 : 0,
);

function emitAll(e: Emitter, account?: Uint32Array): void {
  const { op, length } = e.ir;
  for (let i = 1; i < length; i++) {
    const before = e.body.words.length;
    if (ENDS_BLOCK[op[i]] !== 0) e.faults.leaveBlock();
    emitOperation(e, HANDLERS[op[i]], i);
    if (account !== undefined) account[i] = e.body.words.length - before;
  }
}

/** Like {@linkcode emitAll}, keeping track of what the exchange knows of its slots where control flow parts and meets. */
function emitWithExchange(e: Emitter, exchange: LaneExchange, account?: Uint32Array): void {
  const { op, length } = e.ir;
  const open: { state: ExchangeState; holds: boolean }[] = [];
  for (let i = 1; i < length; i++) {
    const before = e.body.words.length;
    if (ENDS_BLOCK[op[i]] !== 0) e.faults.leaveBlock();
    emitOperation(e, HANDLERS[op[i]], i);
    if (account !== undefined) account[i] = e.body.words.length - before;
    switch (op[i]) {
      case Op.Loop:
        // A loop with exchanges comes back to its start with slots in any state.
        open.push({ state: exchange.save(), holds: exchange.plan.holds[i] !== 0 });
        if (exchange.plan.holds[i] !== 0) exchange.forget();
        break;
      case Op.If:
        open.push({ state: exchange.save(), holds: exchange.plan.holds[i] !== 0 });
        break;
      case Op.Else:
        exchange.restore(open[open.length - 1].state);
        break;
      case Op.EndIf:
      case Op.EndLoop: {
        const { state, holds } = open.pop()!;
        if (holds) exchange.forget();
        else exchange.restore(state);
        break;
      }
      case Op.LoopCont:
        if (open[open.length - 1].holds) exchange.forget();
        break;
    }
  }
}

function prepareExchange(e: Emitter, exchanges: boolean): void {
  const { ir, request } = e;
  const plan = planExchanges(ir, threads(e) <= request.waveSize, e.packed !== undefined);
  if (plan.badExchange >= 0) {
    throw e.refuseMode(
      plan.badExchange,
      "lane-exchange",
      "an exchange between lanes in control flow that the workgroup does not share",
    );
  }
  e.convergence = new Convergence();
  e.conditions = plan.condition;
  if (!exchanges) return;
  if (e.packed !== undefined) e.exchange = new PackedExchange(e, plan);
  else e.exchange = e.native ? new NativeExchange(e, plan) : new LaneExchange(e, plan);
}

/** Looks at every barrier that was written. What is found is a mistake of a pass or of the emitter, and not of the guest. */
function verifyConvergence(e: Emitter, convergence: Convergence, { observeConvergence }: EmitOptions): void {
  const words = e.body.words.data.subarray(0, e.body.words.length);
  observeConvergence?.(words, convergence);
  const problems = checkConvergence(words, convergence);
  if (problems.length > 0) throw new Error(`the recompiled module is wrong: ${problems.join("; ")}`);
}

function checkLds(e: Emitter): void {
  const { request: { ldsBytes, device }, usage } = e;
  const first = [Op.LdsLoad, Op.LdsStore, Op.LdsAtomic].map((op) => usage.first[op]).find((at) => at >= 0);
  if (first !== undefined && ldsDwords(e) * 4 > device.sharedMemoryBytes) {
    throw e.refuse(first, "lds-size", `${ldsBytes} bytes of LDS; this device has ${device.sharedMemoryBytes}`);
  }
}

function checkShared(e: Emitter, bytes: number, firstExchange: number): void {
  const { sharedMemoryBytes } = e.request.device;
  if (bytes <= sharedMemoryBytes) return;
  throw e.refuseMode(
    firstExchange,
    "lds-size",
    `LDS and exchange slots take ${bytes} bytes; this device has ${sharedMemoryBytes}`,
  );
}

/** Whether there is a store or an atomic operation of no resolved buffer. */
export function writesElsewhere(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) {
    if ((ir.op[i] === Op.Store || ir.op[i] === Op.Atomic) && bufferOf(ir.d[i]) < 0) return true;
  }
  return false;
}

/** Different program counters of the operations. */
function countPlaces({ pc, length }: Ir): number {
  let last = 0;
  for (let i = 1; i < length; i++) if (pc[i] > last) last = pc[i];
  const seen = new Uint8Array(last / 4 + 1);
  let count = 0;
  for (let i = 1; i < length; i++) {
    count += 1 - seen[pc[i] >>> 2];
    seen[pc[i] >>> 2] = 1;
  }
  return count;
}

function insertedBarriers(ir: Ir): number {
  let count = 0;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Barrier && ir.a[i] !== 0) count++;
  return count;
}
