import type { Picture } from "../guest/frame.ts";
import type { Program } from "../guest/program.ts";
import type { ComputeExecutor, ProgramReport } from "./executor.ts";
import type { SharedTraceHandle } from "./recording/shared_trace.ts";
import type { Timeline } from "./recording/timeline.ts";
import type { RunResult } from "./run_program.ts";
import type { ReplayResult } from "./warm_start/pipeline_store.ts";
import { SoftwareDevice } from "./software/software_device.ts";
import { openVulkanDevice } from "./open_vulkan_device.ts";

/** Options of {@linkcode openDevice}. */
export interface OpenOptions {
  /**
   * Part of a Vulkan device's name, `cpu` for one that runs on the CPU, or `software` for the reference interpreter, which needs no Vulkan. When left out:
   * the switch ANYPS5_GPU, then the first usable Vulkan device, then the interpreter.
   */
  name?: string;
  /** Load the Vulkan validation layer; its messages go to a file (`anyagc run --validate` prints them). */
  validation?: boolean;
  /** How guest memory reaches the device: imported where it can, by default. */
  memory?: "automatic" | "imported" | "mirrored";
}

/** Guest memory to look at. Addresses are sign-extended 48-bit guest addresses as unsigned 64-bit values; a range that is not mapped throws GuestFaultError. */
export interface RunMemory {
  /** A copy of a range. */
  read(address: bigint, bytes: number): Uint8Array;
  /** A little-endian 32-bit word; the address is a multiple of 4. */
  readU32(address: bigint): number;
  /** A little-endian 64-bit word; the address is a multiple of 8. */
  readU64(address: bigint): bigint;
}

/** What a device is, for people. */
export interface DeviceDescription {
  /** Name that the driver gives. */
  readonly name: string;
  /** Kind of device: `software` runs on the CPU, `interpreter` is the reference interpreter. */
  readonly type: "discrete" | "integrated" | "virtual" | "software" | "other" | "interpreter";
  /** Vulkan version, for example 1.3.230; empty for the interpreter. */
  readonly apiVersion: string;
  /** Name of the driver. */
  readonly driver: string;
  /** Why it is this device and no better one. */
  readonly note?: string;
}

/** A program that has run, with its memory. */
export interface ProgramRun {
  /** What happened. */
  readonly result: RunResult;
  /** The guest's memory after the run; valid until `close`. */
  readonly memory: RunMemory;
  /** The program's picture, if it has one. */
  frame(): Picture | undefined;
  /** Gives the memory back. */
  close(): void;
}

/** A device that runs guest programs; from {@linkcode openDevice}. */
export interface Device extends Disposable {
  /** Name of the device. */
  readonly name: string;
  /** What the device is. */
  readonly description: DeviceDescription;
  /**
   * Runs a program from its initial memory to its end. What the guest does wrong is in the result, not thrown.
   *
   * @throws HostError if the host cannot do it.
   */
  run(program: Program): ProgramRun;
  /**
   * The same without blocking. Where a program uses several queues and the device can work on guest memory itself, each queue gets an isolate
   * (a worker) of its own, and they run at the same time; the result is that of {@linkcode run}. What depends on who comes first may differ: which waits
   * had to wait, and the order of labels that queues write without waiting for each other. One run at a time.
   *
   * @throws HostError (rejects) if the host cannot do it.
   */
  start(program: Program): Promise<ProgramRun>;
  /** Destroys the device. Memory of its runs stays until they are closed. */
  close(): void;
}

/** Makes an executor that uses another one. Its owner closes it; the device closes its own. */
export type WrapExecutor = (executor: ComputeExecutor) => ComputeExecutor;

/** What somebody wants to know of a run while it happens. */
export interface RunHooks {
  /** Called again when the run starts anew. */
  wrap?: WrapExecutor;
  /** What the queues do is put down here. */
  timeline?: Timeline;
}

/** {@linkcode RunHooks} for a run that does not block. `wrap` is used where queues run in turns, the others where each has an isolate. */
export interface StartHooks extends RunHooks {
  /** Called now and then with the dispatches so far. What it throws stops the run, and comes out of it. */
  onDispatches?: (count: number) => void;
  /** Called when something was added to the timeline. */
  onTimeline?: () => void;
  /** With a timeline: gets the modules of the programs that ran. */
  keepModule?: (report: ProgramReport, words: Uint32Array) => void;
}

/** What is known of a run when it is prepared. */
export interface NextRun {
  /** It will be one of {@linkcode WrappableDevice.start}. */
  readonly starts?: boolean;
  /** With a timeline. */
  readonly records?: boolean;
}

/** What earlier runs of a program left, and what became of it. */
export interface PreparedRun {
  /** Pipelines that were created before the run. */
  readonly replay: ReplayResult;
  /** Of them, those that the run asked for. */
  readonly used: number;
  /** Pipelines that the run had to wait for. */
  readonly built: number;
  /** Bytes of the driver's cache that earlier runs left. */
  readonly cacheBytes: number;
  /** What was wrong with the files, for people; they are there to do without. */
  readonly notes: readonly string[];
}

/** A device inside AnyAGC: an executor can be put around its own, for comparisons (src/driver/verify) and reports (src/driver/recording). */
export interface WrappableDevice extends Device {
  /** Has the isolates of later programs put down what takes them time. Absent on devices that have no isolates with shared structures. */
  traceTo?(trace: SharedTraceHandle): void;
  /**
   * Creates the pipelines that earlier runs of a program recorded; the next {@linkcode run} of that program uses them, and records what is new.
   * Undefined where nothing is kept. Absent on devices without pipelines.
   *
   * @param progress pipelines done, and all; what it throws ends the preparation
   * @param next what kind of run is to come
   */
  prepare?(
    program: Program,
    progress?: (done: number, total: number) => void,
    next?: NextRun,
  ): Promise<PreparedRun | undefined>;
  run(program: Program, hooks?: RunHooks): ProgramRun;
  start(program: Program, hooks?: StartHooks): Promise<ProgramRun>;
}

/**
 * Opens a device.
 *
 * @throws HostError saying what is missing and how to get it, when a device was asked for by name and is not there.
 */
export function openDevice(options: OpenOptions = {}): Device {
  return openWrappableDevice(options);
}

/** {@linkcode openDevice}, for use inside AnyAGC. */
export function openWrappableDevice(options: OpenOptions = {}): WrappableDevice {
  const { device, note } = openVulkanDevice(options);
  return device ?? new SoftwareDevice(note);
}
