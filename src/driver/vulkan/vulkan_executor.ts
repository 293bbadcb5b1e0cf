import { AnyAgcError, ExitCode, RefusedError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { HostBuffer } from "../../gpu/buffer.ts";
import { CommandQueue } from "../../gpu/command_queue.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../gpu/pipelines.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import type { Target } from "../../rdna/target.ts";
import { Context, Push } from "../../recompiler/abi.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";
import { assertNoLocksHeld } from "../../sync/held_locks.ts";
import { tracer } from "../../sync/tracer.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import type { DriverRoom } from "../pools/driver_room.ts";
import type { ShaderRegistry } from "../registry/shader_registry.ts";
import type { RequestDump } from "../request_dump.ts";
import { checkScratchRing } from "../scratch_ring.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import type { PipelineStore } from "../warm_start/pipeline_store.ts";
import { BATCH, type Batch, BATCHES, BatchRing } from "./batches.ts";
import { ContextBlocks } from "./context_blocks.ts";
import { changedProgram, checkPartialLanes, faultError, isTimeout, stillRuns, timedOut } from "./dispatch_errors.ts";
import { withGdsWindow } from "./gds_window.ts";
import { lockSoon } from "./lock_soon.ts";
import { LocalBuilds, type ProgramBuilds } from "./program_builds.ts";
import { type BuiltProgram, ProgramCache } from "./program_cache.ts";
import { Prepared, type Ranges, Resolver } from "./resolver.ts";
import { RoomBuilds } from "./room_builds.ts";
import { cannotShareCopies, type SharedGuest, sharedTable } from "./shared_guest.ts";
import { DeviceWindows } from "./windows.ts";

/** What an executor has in common with others in other isolates of the process. */
export interface SharedExecution {
  /** The room, which this isolate is a member of. It is closed after the executor. */
  readonly room: DriverRoom;
  /** Guest memory on the device. The executor is closed before that is given back. */
  readonly guest: SharedGuest;
  /** Index of its VkQueue in `GpuDevice.queues`; several executors may use the same one. */
  readonly queue: number;
  /** The guest's shaders, in this isolate; where there is none, all code is unregistered. */
  readonly registry?: ShaderRegistry;
}

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
  /** Others execute dispatches on the same device and memory at the same time. Artifacts and pipelines are the room's then, as is what is kept of them. */
  shared?: SharedExecution;
}

/** A dispatch that can be recorded: everything is there that may take time to come by. Valid until the next one is prepared. */
export interface PreparedDispatch {
  /** Its program. */
  readonly program: BuiltProgram;
}

/** The one prepared dispatch of an executor; nothing is allocated per dispatch. */
class Preparation implements PreparedDispatch {
  dispatch!: ComputeDispatch;
  program!: BuiltProgram;
  /** Workgroups. */
  x = 0;
  y = 0;
  z = 0;
  /** Place of the pin on the pipeline. */
  pin = 0;
  /** It has not been recorded yet. */
  pending = false;
}

/**
 * Executes dispatches on a Vulkan device.
 *
 * A dispatch is prepared first ({@linkcode VulkanExecutor.prepareDispatch}: program, pipeline, resources; may take long, and holds no lock), and
 * recorded then ({@linkcode VulkanExecutor.dispatchPrepared}: records and submits, with the GPU mutex where others use the device).
 */
export class VulkanExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch = true;
  /** The recompiler's view of the device. */
  readonly recompilerDevice: RecompilerDevice;
  onFinished?: () => void;
  readonly #device: GpuDevice;
  readonly #shared: SharedExecution | undefined;
  readonly #queue: CommandQueue;
  readonly #layout: bigint;
  /** Absent where guest memory is shared. */
  readonly #windows: DeviceWindows | undefined;
  readonly #contexts: ContextBlocks;
  readonly #builds: ProgramBuilds;
  readonly #programs: ProgramCache;
  readonly #resolver = new Resolver();
  readonly #inFlight: Ranges[] = [];
  readonly #prepared = new Preparation();
  /** Device address of GDS, once a program uses it; and its memory, if it is this executor's: it outlives dispatches. */
  #gdsAddress = 0n;
  #gds: HostBuffer | undefined;
  #memory: GuestMemory | null = null;
  #generation = -1;
  /** Entries of the window table. */
  #windowCount = 0;
  readonly #batches = new BatchRing();
  /** Pipeline that the command buffer has bound; 0 for none. */
  #bound = 0n;
  #deviceMs = 0;
  #hung = false;
  /** Pins of dispatches that did not finish in time, with the timeline values that say that they have finished after all. */
  #stuck: { readonly value: number; readonly pin: number }[] = [];
  #closed = false;

  /** @param device stays the caller's: close the executor before it is destroyed. */
  constructor(device: GpuDevice, options: VulkanExecutorOptions) {
    const { target, unalignedLoads = false, shared, store, shaders, dump, timeout } = options;
    const { capabilities } = device;
    if (shared !== undefined && options.backing === "mirrored") throw cannotShareCopies(capabilities.name);
    this.name = capabilities.name;
    this.#device = device;
    this.#shared = shared;
    if (shared === undefined) {
      const { float, endsLoops } = probeDevice(device);
      this.recompilerDevice = recompilerDevice(capabilities, float, endsLoops);
      this.#layout = createPipelineLayout(device);
      this.#windows = new DeviceWindows(device, options.backing ?? "automatic");
      this.#builds = new LocalBuilds(device, this.#layout, { store, shaders, dump });
    } else {
      // Probes would submit to a queue that others use.
      this.recompilerDevice = shared.room.recompilerDevice;
      this.#layout = shared.room.layout;
      // Other queues may wait for what is recorded: it is not held back by a recompile, nor by a compile of the driver's.
      this.#builds = new RoomBuilds(shared.room, dump, () => this.drain(), shared.registry);
    }
    this.#queue = new CommandQueue(device, { timestamps: 2, buffers: BATCHES, queue: shared?.queue, timeout });
    this.#contexts = new ContextBlocks(device, BATCH * BATCHES);
    const registry = shared?.registry;
    const programs = { target, unalignedLoads, device: this.recompilerDevice, capabilities, registry };
    this.#programs = new ProgramCache(this.#builds, programs);
  }

  get busy(): boolean {
    return this.#batches.count > 0;
  }

  /** The device did not finish in time, and may still be working on guest memory: that memory must stay mapped. */
  get hung(): boolean {
    this.#lookAfterStuck();
    return this.#hung;
  }

  /** Whether the device works on guest memory itself or on copies. */
  get backing(): "imported" | "mirrored" {
    return this.#windows?.kind ?? "imported";
  }

  /** The context blocks, for tests and tools. */
  get contexts(): ContextBlocks {
    return this.#contexts;
  }

  attach(memory: GuestMemory): void {
    this.drain();
    // What it still works on would be given back.
    if (this.hung) throw stillRuns(this.name);
    this.#memory = memory;
    this.#generation = memory.generation;
    const table = this.#windows?.update(memory) ?? sharedTable(this.#shared!.guest, memory);
    const all = this.#gdsAddress === 0n ? table : withGdsWindow(table, this.#gdsAddress);
    this.#windowCount = all.length;
    this.#contexts.setWindows(all);
    this.#resolver.setWindows(table, memory);
  }

  /** {@linkcode prepareDispatch} and {@linkcode dispatchPrepared}. */
  dispatch(dispatch: ComputeDispatch): void {
    this.dispatchPrepared(this.prepareDispatch(dispatch));
  }

  /**
   * Has what a dispatch will need made by the pools, if there are any, before its turn. Changes nothing else: memory may be different then.
   *
   * @param dispatch not zero in size; its memory and registers as they are known now
   */
  announce(dispatch: ComputeDispatch): void {
    if (this.#memory !== null) this.#programs.announce(dispatch, this.#memory, this.#windowCount);
  }

  /**
   * Makes a dispatch ready: program, pipeline, what the host computes for it, and room to record it. Everything that may take time is done
   * here, and no lock may be held.
   *
   * @returns valid until the next call; what it uses is pinned until it has run
   * @throws SyncError `sync.wait-with-lock`; what is wrong with the dispatch
   */
  prepareDispatch(dispatch: ComputeDispatch): PreparedDispatch {
    assertNoLocksHeld("prepare a dispatch");
    const prepared = this.#prepared;
    if (prepared.pending) {
      prepared.pending = false;
      this.#programs.unpin(prepared.pin);
    }
    const memory = this.#memory;
    if (memory === null) throw new Error("attach guest memory first");
    if (this.hung) throw timedOut(dispatch.program.address, dispatch, "earlier ones still run");
    if (memory.generation !== this.#generation) this.attach(memory);
    let program = this.#resolve(dispatch, memory);
    if (program.artifact.usesGds && this.#gdsAddress === 0n) {
      this.#gdsAddress = this.#shared?.guest.gds ?? (this.#gds = new HostBuffer(this.#device, GDS_BYTES)).deviceAddress;
      this.attach(memory);
      program = this.#resolve(dispatch, memory);
    }
    checkPartialLanes(program, dispatch);
    this.#count(dispatch, prepared);
    checkScratchRing(dispatch, prepared.x * prepared.y * prepared.z);
    this.#makeRoom();
    prepared.dispatch = dispatch;
    prepared.program = program;
    prepared.pin = this.#programs.pin(program);
    prepared.pending = true;
    return prepared;
  }

  /**
   * Records a prepared dispatch, and submits when enough are recorded. Waits for nothing and creates nothing: with others on the device it
   * holds the GPU mutex.
   *
   * @param prepared from the last {@linkcode prepareDispatch}
   */
  dispatchPrepared(prepared: PreparedDispatch): void {
    if (prepared !== this.#prepared || !this.#prepared.pending) {
      throw new Error("a dispatch is prepared right before it is recorded, and recorded once");
    }
    this.#record(this.#prepared);
    if (this.#batches.last!.count < BATCH) return;
    // A mirrored device needs the copies of one batch to be downloaded before those of the next are uploaded.
    if (this.backing === "mirrored") this.drain();
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

  /** Destroys everything that is its own, unless the device hangs and may still use it. May be called again. */
  close(): void {
    if (this.#closed || this.hung) return;
    try {
      this.#queue.wait(this.#queue.submitted);
    } catch (error) {
      // Nothing may be destroyed then.
      if (isTimeout(error)) return this.#hang();
      this.#destroy(); // a lost device uses nothing any more
      throw error;
    }
    this.#destroy();
  }

  #destroy(): void {
    this.#closed = true;
    try {
      this.#queue.destroy();
    } finally {
      if (this.#prepared.pending) this.#programs.unpin(this.#prepared.pin);
      this.#prepared.pending = false;
      this.#batches.clear((pin) => this.#programs.unpin(pin));
      for (const { pin } of this.#stuck.splice(0)) this.#programs.unpin(pin);
      this.#programs.destroy();
      this.#contexts.destroy();
      this.#gds?.destroy();
      this.#windows?.destroy();
      if (this.#shared === undefined) destroyPipelineLayout(this.#device, this.#layout);
    }
  }

  #record({ dispatch, program, x, y, z, pin }: Preparation): void {
    const follows = this.busy;
    const batch = this.#recording();
    const context = batch.firstContext + batch.count;
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
    const mutex = this.#shared?.room.gpu, { handle } = program.pipeline;
    if (mutex !== undefined) lockSoon(mutex);
    try {
      // Dispatches take effect in order. The barrier also orders after earlier submissions: a queue is one sequence.
      if (follows) queue.barrier();
      if (handle !== this.#bound) queue.bindPipeline(this.#bound = handle);
      queue.pushConstants(this.#layout, Push.Bytes);
      queue.dispatch(x, y, z);
    } finally {
      mutex?.unlock();
    }
    program.report.dispatches++;
    this.#prepared.pending = false;
    batch.add(program, dispatch, context, follows, pin);
  }

  /** The program of a dispatch, with what it needs from the host computed. */
  #resolve(dispatch: ComputeDispatch, memory: GuestMemory): BuiltProgram {
    const program = this.#load(dispatch, memory, true);
    if (program.resolved === undefined) return program;
    let ready = this.#resolveNow(program, dispatch);
    if (ready === Prepared.Busy) {
      const error = this.#drain();
      if (error !== undefined) throw error;
      ready = this.#resolveNow(program, dispatch);
    }
    return ready === Prepared.Ready ? program : this.#load(dispatch, memory, false);
  }

  #resolveNow(program: BuiltProgram, dispatch: ComputeDispatch): Prepared {
    const batches = this.#batches, inFlight = this.#inFlight;
    inFlight.length = batches.count;
    for (let k = 0; k < batches.count; k++) inFlight[k] = batches.at(k).writes;
    return this.#resolver.prepare(program.resolved!, dispatch.userData, inFlight);
  }

  #load(dispatch: ComputeDispatch, memory: GuestMemory, resolve: boolean): BuiltProgram {
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

  /** Waits until another batch can be recorded, if the next dispatch begins one. */
  #makeRoom(): void {
    const batches = this.#batches;
    if (batches.count < BATCHES || batches.last!.value === 0) return;
    const oldest = batches.at(0);
    this.#wait(oldest.value);
    batches.shift();
    const error = this.#finish(oldest);
    if (error !== undefined) {
      this.#drain(); // what the later ones report is a consequence
      throw error;
    }
  }

  /** The batch that is being recorded; begins one when there is none. */
  #recording(): Batch {
    const last = this.#batches.last;
    if (last !== undefined && last.value === 0) return last;
    this.#windows?.upload();
    this.#queue.begin();
    this.#queue.timestamp();
    this.#bound = 0n;
    return this.#batches.begin();
  }

  /** Waits for everything. Returns the first thing that is wrong, in the order of the dispatches. */
  #drain(): AnyAgcError | undefined {
    const batches = this.#batches;
    if (batches.count === 0) return undefined;
    this.#submit();
    this.#wait(batches.last!.value);
    this.#windows?.download();
    let first: AnyAgcError | undefined;
    while (batches.count > 0) {
      const error = this.#finish(batches.shift());
      first ??= error;
    }
    return first;
  }

  #submit(): void {
    const last = this.#batches.last;
    if (last === undefined || last.value !== 0) return;
    if (tracer !== undefined) last.submittedMs = performance.now();
    this.#queue.timestamp();
    const mutex = this.#shared?.room.gpu;
    mutex?.lock();
    try {
      last.value = this.#queue.submit();
    } finally {
      mutex?.unlock();
    }
  }

  #wait(value: number): void {
    assertNoLocksHeld("wait for the GPU");
    try {
      this.#queue.wait(value);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { program, dispatch } = this.#batches.at(0).at(0);
      this.#hang();
      throw timedOut(program.address, dispatch, error.message);
    }
  }

  /** The device may work on for ever: what it uses stays. */
  #hang(): void {
    this.#hung = true;
    this.#batches.forget((value, pin) => this.#stuck.push({ value, pin }));
  }

  /** Gives back the pins of dispatches that have finished after all. */
  #lookAfterStuck(): void {
    if (!this.#hung || this.#closed) return;
    const completed = this.#queue.completed();
    this.#stuck = this.#stuck.filter(({ value, pin }) => {
      if (value <= completed) this.#programs.unpin(pin);
      return value > completed;
    });
    this.#hung = completed < this.#queue.submitted;
  }

  /** Looks at what a finished batch leaves behind. Returns the first thing that is wrong. */
  #finish(batch: Batch): AnyAgcError | undefined {
    const times = this.#queue.timestamps?.read(batch.value);
    if (times !== undefined && times.length === 2) this.#deviceMs += times[1] / 1e6;
    if (tracer !== undefined && batch.submittedMs !== 0) {
      // Its end is when this isolate has noticed it; how long the device worked is what the device says.
      const detail = times?.length === 2 ? `${(times[1] / 1e6).toFixed(3)} ms on the device` : undefined;
      tracer.span("gpu", `batch of ${batch.count}`, batch.submittedMs, performance.now(), detail);
      batch.submittedMs = 0;
    }
    let first: AnyAgcError | undefined;
    const seen = new Set<BuiltProgram>();
    for (let k = 0; k < batch.count; k++) {
      const { program, dispatch, userData, context, follows, pin } = batch.at(k);
      this.#programs.unpin(pin);
      const fault = this.#contexts.takeFault(context);
      if (fault !== null) first ??= faultError(program, fault, dispatch.place);
      if (!follows || (seen.has(program) && program.images === "")) continue;
      seen.add(program);
      if (!this.#programs.isCurrent(program, userData, this.#memory!)) {
        first ??= changedProgram(program, dispatch.place);
      }
    }
    this.onFinished?.();
    return first;
  }

  /** The workgroups of a dispatch. */
  #count(dispatch: ComputeDispatch, to: Preparation): void {
    const { program, partialThreads, x, y, z } = dispatch;
    const limit = this.#device.capabilities.limits.workgroupCount;
    to.x = partialThreads ? Math.ceil(x / program.numThreadsX) : x;
    to.y = partialThreads ? Math.ceil(y / program.numThreadsY) : y;
    to.z = partialThreads ? Math.ceil(z / program.numThreadsZ) : z;
    if (to.x <= limit[0] && to.y <= limit[1] && to.z <= limit[2]) return;
    throw new RefusedError(
      "driver.workgroup-count",
      `a dispatch of ${to.x} x ${to.y} x ${to.z} workgroups; ${this.name} takes at most ${limit.join(" x ")}`,
      { ...dispatch.place, guestAddress: program.address },
    );
  }
}
