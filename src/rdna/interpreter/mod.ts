/**
 * The reference interpreter: executes compute programs of the RDNA2 family instruction by instruction, over guest memory, in plain TypeScript. It is
 * simple first and fast second; the recompiler's results are compared with it, and programs run with it where there is no Vulkan.
 *
 * - {@linkcode runDispatch} runs a dispatch: workgroups one after the other, the waves of a workgroup in turns.
 * - {@linkcode runStageWave} runs one wave of a graphics stage, of which the caller says what is in its registers, and gives what it exports;
 *   {@linkcode runStageGroup} the waves of a merged stage's group.
 * - Integers, IEEE arithmetic (all rounding and denormal modes of MODE), conversions and memory are exact. What the hardware does not document to the bit
 *   is defined in one place each, with the tolerance that a comparison must allow: transcendental functions and division seeds in float/special.ts,
 *   normalized and float formats in memory/formats.ts, texture filtering in image/sample.ts, NaN bits in float/f32.ts.
 * - What is not implemented throws a RefusedError that names the instruction, its pc and its words: traps, ray intersection, ordered count, global
 *   wave synchronisation, interpolation of 16-bit parameters.
 *
 * @module
 */
export { type Dispatch, type DispatchResult, type MachineOptions, runDispatch } from "./machine/dispatch.ts";
export type { CodeFinder, CodeSegment } from "./machine/code.ts";
export { Access, type Fault, FAULT_NAMES, FaultReason, type MemorySpace } from "./machine/memory.ts";
export { type Window, WindowSpace } from "./machine/window_space.ts";
export type { Apertures, Message } from "./machine/workgroup.ts";
export type { Export } from "./stage/exports.ts";
export {
  runStageGroup,
  runStageWave,
  type StageGroupLaunch,
  type StageGroupResult,
  type StageLaunch,
  type StageResult,
  type StageWave,
  type WaveRegisters,
} from "./stage/run_stage_wave.ts";
export { LANES, type Wave, WaveState } from "./machine/wave.ts";
