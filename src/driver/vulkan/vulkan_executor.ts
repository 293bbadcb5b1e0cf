import { AnyAgcError, type ErrorPlace, ExitCode, GuestFaultError, hex, RefusedError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { HostBuffer } from "../../gpu/buffer.ts";
import { CommandQueue } from "../../gpu/command_queue.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../gpu/pipelines.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import type { Target } from "../../rdna/target.ts";
import { Context, GDS_BYTES, Push } from "../../recompiler/abi.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import type { RequestDump } from "../request_dump.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import type { PipelineStore } from "../warm_start/pipeline_store.ts";
import { withGdsWindow } from "./gds_window.ts";
import { ContextBlocks } from "./context_blocks.ts";
import { changedProgram, checkPartialLanes, faultError } from "./dispatch_errors.ts";
import { type LoadedProgram, ProgramCache } from "./program_cache.ts";
import { checkScratchRing } from "../scratch_ring.ts";
import { Prepared, Ranges, Resolver } from "./resolver.ts";
import { DeviceWindows } from "./windows.ts";

/** Options of {@linkcode VulkanExecutor}. */
export interface VulkanExecutorOptions {
  /** Instruction set of the guest's code. */
  target: Target;
  /** How guest memory reaches the device; `automatic` by default. */
  backing?: BackingKind;
  /** Loads work at addresses that are no multiple of 4, as on the console: longer programs. Otherwise they are refused when they happen. */
  unalignedLoads?: boolean;
  /** Milliseconds that a batch of dispatches may take; a minute by default. */
  timeout?: number;
  /** Pipelines that are kept between runs; stays the caller's. */
  store?: PipelineStore;
  /** Artifacts that are kept between runs; the caller flushes it. */
  shaders?: ShaderCache;
  /** Gets every request to the recompiler. */
  dump?: RequestDump;
}

/** Dispatches that are recorded before a command buffer is submitted. */
const BATCH = 64;
/** Batches that are recorded or in flight at most; their context blocks are all different. */
const BATCHES = 4;

const NO_USER_DATA = new Uint32Array(0);

/** A dispatch that was recorded, until it is known to have finished well. */
interface Recorded {
  program: LoadedProgram;
  place: ErrorPlace;
  /** The dispatch's, where the program needs it to find its images. */
  userData: Uint32Array;
  /** Index of its context block. */
  context: number;
  /** Earlier dispatches may not have finished when its code was looked at. */
  follows: boolean;
}

/** The dispatches of a command buffer. */
interface Batch {
  /** Timeline value of the submission; 0 while it is recorded. */
  value: number;
  /** First of its context blocks. */
  firstContext: number;
  dispatches: Recorded[];
  /** Guest memory that they write. */
  writes: Ranges;
}

/** Executes dispatches on a Vulkan device. */
export class VulkanExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch = true;
  /** The recompiler's view of the device. */
  readonly recompilerDevice: RecompilerDevice;
  readonly #device: GpuDevice;
  readonly #queue: CommandQueue;
  readonly #layout: bigint;
  readonly #windows: DeviceWindows;
  readonly #contexts: ContextBlocks;
  readonly #programs: ProgramCache;
  readonly #resolver = new Resolver();
  readonly #inFlight: Ranges[] = [];
  /** GDS, once a program uses it: it outlives dispatches. */
  #gds: HostBuffer | undefined;
  #memory: GuestMemory | null = null;
  #generation = -1;
  /** Entries of the window table. */
  #windowCount = 0;
  /** Oldest first; only the last one may be recording. */
  readonly #batches: Batch[] = [];
  #nextContext = 0;
  #deviceMs = 0;
  #hung = false;
  #closed = false;

  /** @param device stays the caller's: close the executor before it is destroyed. */
  constructor(device: GpuDevice, options: VulkanExecutorOptions) {
    this.name = device.capabilities.name;
    this.#device = device;
    const { float, endsLoops } = probeDevice(device);
    this.recompilerDevice = recompilerDevice(device.capabilities, float, endsLoops);
    this.#layout = createPipelineLayout(device);
    this.#queue = new CommandQueue(device, { timestamps: 2, buffers: BATCHES, timeout: options.timeout });
    this.#windows = new DeviceWindows(device, options.backing ?? "automatic");
    this.#contexts = new ContextBlocks(device, BATCH * BATCHES);
    const { target, unalignedLoads = false, store, shaders, dump } = options;
    const programs = { target, unalignedLoads, device: this.recompilerDevice, store, shaders, dump };
    this.#programs = new ProgramCache(device, this.#layout, programs);
  }

  get busy(): boolean {
    return this.#batches.length > 0;
  }

  /** The device did not finish in time, and may still be working on guest memory: that memory must stay mapped. */
  get hung(): boolean {
    return this.#hung;
  }

  /** Whether the device works on guest memory itself or on copies. */
  get backing(): "imported" | "mirrored" {
    return this.#windows.kind;
  }

  /** The context blocks, for tests and tools. */
  get contexts(): ContextBlocks {
    return this.#contexts;
  }

  attach(memory: GuestMemory): void {
    this.drain();
    this.#memory = memory;
    this.#generation = memory.generation;
    const table = this.#windows.update(memory);
    const all = this.#gds === undefined ? table : withGdsWindow(table, this.#gds.deviceAddress);
    this.#windowCount = all.length;
    this.#contexts.setWindows(all);
    this.#resolver.setWindows(table, memory);
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory;
    if (memory === null) throw new Error("attach guest memory first");
    if (memory.generation !== this.#generation) this.attach(memory);
    let program = this.#resolve(dispatch, memory);
    if (program.artifact.usesGds && this.#gds === undefined) {
      this.#gds = new HostBuffer(this.#device, GDS_BYTES);
      this.attach(memory);
      program = this.#resolve(dispatch, memory);
    }
    checkPartialLanes(program, dispatch);
    const [x, y, z] = this.#groups(dispatch);
    checkScratchRing(dispatch, x * y * z);
    const follows = this.busy;
    const batch = this.#recording();
    const context = batch.firstContext + batch.dispatches.length;
    const queue = this.#queue, { push } = queue;
    push[Push.Context / 4] = this.#contexts.addressLow[context];
    push[Push.Context / 4 + 1] = this.#contexts.addressHigh[context];
    push[Push.ThreadLimit / 4] = dispatch.x;
    push[Push.ThreadLimit / 4 + 1] = dispatch.y;
    push[Push.ThreadLimit / 4 + 2] = dispatch.z;
    push[Push.ScratchWaveBytes / 4] = dispatch.program.scratchWaveBytes;
    push.set(dispatch.userData, Push.UserData / 4);
    if (program.resolved !== undefined) {
      const zero = this.#contexts.addressHigh[context] * 0x1_0000_0000 + this.#contexts.addressLow[context] +
        Context.Zero;
      this.#resolver.write(program.resolved, this.#contexts.words, this.#contexts.resolvedAt(context), zero);
      batch.writes.addAll(this.#resolver.writes);
    } else if (program.artifact.writesElsewhere) batch.writes.everything = true;
    // Dispatches take effect in order. The barrier also orders after earlier submissions: a queue is one sequence.
    if (follows) queue.barrier();
    queue.bindPipeline(program.pipeline.handle);
    queue.pushConstants(this.#layout, Push.Bytes);
    queue.dispatch(x, y, z);
    program.report.dispatches++;
    const userData = program.images === "" ? NO_USER_DATA : dispatch.userData.slice();
    batch.dispatches.push({ program, place: dispatch.place, userData, context, follows });
    if (batch.dispatches.length < BATCH) return;
    // A mirrored device needs the copies of one batch to be downloaded before those of the next are uploaded.
    if (this.#windows.kind === "mirrored") this.drain();
    else this.#submit();
  }

  drain(): void {
    const error = this.#drain();
    if (error !== undefined) throw error;
  }

  programs(): ProgramReport[] {
    return this.#programs.reports();
  }

  modules(): ReadonlyMap<ProgramReport, Uint32Array> {
    return this.#programs.modules();
  }

  deviceMs(): number | undefined {
    return this.#queue.timestamps === undefined ? undefined : this.#deviceMs;
  }

  /** Destroys everything, unless the device hangs and may still use it. May be called again. */
  close(): void {
    if (this.#hung) this.#hung = this.#queue.completed() < this.#queue.submitted;
    if (this.#hung || this.#closed) return;
    this.#closed = true;
    try {
      this.#queue.destroy(); // waits
    } finally {
      this.#programs.destroy();
      this.#contexts.destroy();
      this.#gds?.destroy();
      this.#windows.destroy();
      destroyPipelineLayout(this.#device, this.#layout);
    }
  }

  /** The program of a dispatch, with what it needs from the host computed. */
  #resolve(dispatch: ComputeDispatch, memory: GuestMemory): LoadedProgram {
    const program = this.#load(dispatch, memory, true);
    if (program.resolved === undefined) return program;
    const prepare = () => {
      this.#inFlight.length = 0;
      for (const { writes } of this.#batches) this.#inFlight.push(writes);
      return this.#resolver.prepare(program.resolved!, dispatch.userData, this.#inFlight);
    };
    let prepared = prepare();
    if (prepared === Prepared.Busy) {
      const error = this.#drain();
      if (error !== undefined) throw error;
      prepared = prepare();
    }
    return prepared === Prepared.Ready ? program : this.#load(dispatch, memory, false);
  }

  #load(dispatch: ComputeDispatch, memory: GuestMemory, resolve: boolean): LoadedProgram {
    try {
      return this.#programs.load(dispatch, memory, this.#windowCount, resolve);
    } catch (error) {
      // Work in flight may be about to write what was found to be wrong, or may have gone wrong before.
      if (!(error instanceof AnyAgcError) || error.exitCode !== ExitCode.Guest || !this.busy) throw error;
      const earlier = this.#drain();
      if (earlier === undefined) return this.#programs.load(dispatch, memory, this.#windowCount, resolve);
      earlier.cause = error;
      throw earlier;
    }
  }

  /** The batch that is being recorded; begins one when there is none. */
  #recording(): Batch {
    const last = this.#batches.at(-1);
    if (last !== undefined && last.value === 0) return last;
    if (this.#batches.length === BATCHES) {
      const oldest = this.#batches[0];
      this.#wait(oldest.value);
      this.#batches.shift();
      const error = this.#finish(oldest);
      if (error !== undefined) {
        this.#drain(); // what the later ones report is a consequence
        throw error;
      }
    }
    this.#windows.upload();
    this.#queue.begin();
    this.#queue.timestamp();
    const batch: Batch = { value: 0, firstContext: this.#nextContext, dispatches: [], writes: new Ranges() };
    this.#nextContext = (this.#nextContext + BATCH) % (BATCH * BATCHES);
    this.#batches.push(batch);
    return batch;
  }

  /** Waits for everything. Returns the first thing that is wrong, in the order of the dispatches. */
  #drain(): AnyAgcError | undefined {
    if (this.#batches.length === 0) return undefined;
    this.#submit();
    this.#wait(this.#batches.at(-1)!.value);
    this.#windows.download();
    let first: AnyAgcError | undefined;
    for (const batch of this.#batches.splice(0)) {
      const error = this.#finish(batch);
      first ??= error;
    }
    return first;
  }

  #submit(): void {
    const last = this.#batches.at(-1);
    if (last === undefined || last.value !== 0) return;
    this.#queue.timestamp();
    last.value = this.#queue.submit();
  }

  #wait(value: number): void {
    try {
      this.#queue.wait(value);
    } catch (error) {
      if (!(error instanceof AnyAgcError) || error.code !== "gpu.timeout") throw error;
      const { program, place } = this.#batches[0].dispatches[0];
      this.#hung = true;
      this.#batches.length = 0;
      throw new GuestFaultError(
        "driver.timeout",
        `dispatches from the one of ${hex(program.address)} on do not come to an end (${error.message})`,
        { ...place, guestAddress: program.address },
      );
    }
  }

  /** Looks at what a finished batch leaves behind. Returns the first thing that is wrong. */
  #finish({ value, dispatches }: Batch): AnyAgcError | undefined {
    const times = this.#queue.timestamps?.read(value);
    if (times !== undefined && times.length === 2) this.#deviceMs += times[1] / 1e6;
    let first: AnyAgcError | undefined;
    const seen = new Set<LoadedProgram>();
    for (const { program, place, userData, context, follows } of dispatches) {
      const fault = this.#contexts.takeFault(context);
      if (fault !== null) first ??= faultError(program, fault, place);
      if (!follows || (seen.has(program) && program.images === "")) continue;
      seen.add(program);
      if (!this.#programs.isCurrent(program, userData, this.#memory!)) first ??= changedProgram(program, place);
    }
    return first;
  }

  #groups(dispatch: ComputeDispatch): [number, number, number] {
    const { program, partialThreads, x, y, z } = dispatch;
    const groups: [number, number, number] = partialThreads
      ? [
        Math.ceil(x / program.numThreadsX),
        Math.ceil(y / program.numThreadsY),
        Math.ceil(z / program.numThreadsZ),
      ]
      : [x, y, z];
    const limit = this.#device.capabilities.limits.workgroupCount;
    if (groups.some((count, axis) => count > limit[axis])) {
      throw new RefusedError(
        "driver.workgroup-count",
        `a dispatch of ${groups.join(" x ")} workgroups; ${this.name} takes at most ${limit.join(" x ")}`,
        { ...dispatch.place, guestAddress: program.address },
      );
    }
    return groups;
  }
}
