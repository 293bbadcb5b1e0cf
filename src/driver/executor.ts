import type { ErrorPlace } from "../errors.ts";
import type { GuestMemory } from "../guest/memory/guest_memory.ts";
import type { ComputeProgram } from "../pm4/compute_program.ts";

/** A dispatch as the driver hands it to whatever executes it. */
export interface ComputeDispatch {
  program: ComputeProgram;
  /** COMPUTE_USER_DATA_0..15; copied by whoever keeps it. */
  userData: Uint32Array;
  waveSize: 32 | 64;
  /** x, y, z count threads. */
  partialThreads: boolean;
  /** Groups, or threads with `partialThreads`; none is zero. */
  x: number;
  y: number;
  z: number;
  /** For errors. */
  place: ErrorPlace;
  /** The guest's shaders as its submission sees them: see `ShaderRegistry.snapshot`. */
  snapshot?: number;
}

/** What a program became, for the run's report. */
export interface ProgramReport {
  /** Guest address. */
  address: bigint;
  /** Guest instructions. */
  instructions: number;
  /** Words of the recompiled module. */
  words: number;
  /** Lanes of a guest wave. */
  waveSize: number;
  /** How guest lanes map to invocations. */
  laneMode: string;
  /** Why that mode. */
  laneModeReason: string;
  /** Invocations of a workgroup. */
  workgroupSize: readonly [number, number, number];
  /** Milliseconds. */
  recompileMs: number;
  /** Milliseconds of pipeline creation in the driver. */
  createMs: number;
  /** Dispatches of it. */
  dispatches: number;
}

/** Executes compute dispatches over guest memory: a Vulkan device, or (later) the interpreter. */
export interface ComputeExecutor {
  /** Name for people. */
  readonly name: string;
  /** Makes the windows of guest memory reachable; called again when windows changed (never with work in flight). */
  attach(memory: GuestMemory): void;
  /** Whether dispatches may not have finished yet. */
  readonly busy: boolean;
  /** The device did not finish in time and may work on, on guest memory itself: who has the memory must leave it mapped. */
  readonly hung?: boolean;
  /** Whether programs that use scratch memory can be executed; they are refused without. */
  readonly scratch?: boolean;
  /** Queues a dispatch; its effects are in memory after `drain`. Dispatches take effect in order. */
  dispatch(dispatch: ComputeDispatch): void;
  /** Waits until everything has finished and guest memory is up to date. @throws GuestFaultError if a program faulted. */
  drain(): void;
  /** Set by its user: called when dispatches have finished and what they wrote is in memory, also before anybody drains. */
  onFinished?: () => void;
  /** Programs seen so far. */
  programs(): ProgramReport[];
  /** What recompiled programs became, as SPIR-V, by their reports; nothing for an executor that does not recompile. Valid until `close`. */
  modules?(): ReadonlyMap<ProgramReport, Uint32Array>;
  /** Milliseconds that dispatches took on the device, where it can tell. */
  deviceMs(): number | undefined;
  close(): void;
}
