/**
 * A room on a Vulkan device: the shared structures, the pools, and what every isolate needs to make pipelines for the one device of the
 * process. The main isolate opens it ({@linkcode openDriverRoom}); queue workers and pool workers attach ({@linkcode attachDriverRoom}).
 *
 * @module
 */
import { HostError } from "../../errors.ts";
import { GpuDevice, type SharedDevice } from "../../gpu/device.ts";
import type { PipelineCache } from "../../gpu/pipeline_cache.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../gpu/pipelines.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";
import { failureNotes, Journal, type JournalOptions, journalPath } from "../../storage/journal.ts";
import { ShaderCache, type ShaderCacheHandle } from "../shader_cache/shader_cache.ts";
import { waitForWorkAsync } from "../../sync/waits.ts";
import type { GpuMutex } from "../../sync/gpu_mutex.ts";
import { setTracer } from "../../sync/tracer.ts";
import { compileLimitBytes } from "../compile_cost/compile_limit.ts";
import type { CostFile } from "../compile_cost/cost_file.ts";
import { MemoryGuard } from "../compile_cost/memory_guard.ts";
import type { SharedTraceHandle } from "../recording/shared_trace.ts";
import type { PreparationServices } from "./preparation.ts";
import { attachRoom, createRoom, Pool, type Room, type RoomHandle } from "./room.ts";
import { defaultPoolWorkers, prebuildThreads } from "./room_slots.ts";
import { W, WORDS } from "./room_words.ts";
import { type Creation, VulkanPipelineDriver } from "./vulkan_driver.ts";
import { WorkerPool, type WorkerPoolOptions } from "./worker_pool.ts";

/** Where pipelines are recorded for the next run. */
export interface JournalPlace {
  readonly folder: string;
  readonly name: string;
  readonly identity: Uint8Array;
  readonly options?: JournalOptions;
}

/** What a worker needs to attach; plain data. */
export interface DriverRoomHandle {
  readonly room: RoomHandle;
  readonly device: SharedDevice;
  readonly recompilerDevice: RecompilerDevice;
  /** VkPipelineLayout of all compute programs. */
  readonly layout: bigint;
  /** VkPipelineCache, or 0. */
  readonly cache: bigint;
  readonly journal: JournalPlace | undefined;
  /** Where recompiled programs are kept between runs. */
  readonly shaders: ShaderCacheHandle | undefined;
  /** Words of {@linkcode W}. */
  readonly words: SharedArrayBuffer;
}

/** How a room is opened. */
export interface DriverRoomOptions {
  /** The recompiler's view of the device; probed when left out, which submits to the device's first queue. */
  readonly recompilerDevice?: RecompilerDevice;
  /** Stays the caller's, and is saved as pipelines are created. */
  readonly cache?: PipelineCache;
  readonly journal?: JournalPlace;
  /** Where recompiled programs are kept between runs (`ShaderCache.handle`): every isolate looks there, and one writer writes. */
  readonly shaders?: ShaderCacheHandle;
  /** What an isolate that recompiles does beside; of this isolate. */
  readonly services?: PreparationServices;
  /** Workers of the pools, by `Pool`. By default half the hardware threads each, at least one; the prebuild pool by APS5_PREBUILD_THREADS. */
  readonly workers?: readonly [preparation: number, prebuild: number, replay: number];
  /** What is different in the pools' workers, by `Pool`; for tests. */
  readonly pools?: Readonly<Record<number, Partial<Pick<WorkerPoolOptions, "module" | "restarts" | "sweepMs">>>>;
  /** Limit of the compile budget in bytes; APS5_BACKGROUND_COMPILE_KIB by default. */
  readonly compileBytes?: number;
  /** Bytes for blobs; 4 GiB by default, taken only when written. */
  readonly arenaBytes?: number;
  /** What compiles cost in earlier runs on this device; gets what this one learned. */
  readonly costs?: CostFile;
  /** Where all isolates put down what took time, if somebody asked: of a `SharedTrace` with `ROOM_SLOTS` lanes. */
  readonly trace?: SharedTraceHandle;
}

/** As soon as the driver has compiled so long for what is not in the cache's file, it is written. */
const SAVE_AFTER_MS = 2000;
const ARENA_BYTES = 2 ** 32;
/** How often the main isolate has memory looked at while something compiles with a hold, in milliseconds. */
const GUARD_MS = 250;
/** How often main looks for something to do though nobody rang, in milliseconds. */
const WATCH_MS = 1000;
/** How often teardown looks whether the last creation has ended. */
const TEARDOWN_MS = 5;
/** How long it waits for those who pin a pipeline. */
const PATIENCE_MS = 2000;

/** Workers of the pools, by `Pool`. */
const WORKERS: readonly { readonly name: string; readonly module: URL }[] = [
  { name: "preparation", module: new URL("../../workers/preparation.ts", import.meta.url) },
  { name: "prebuild", module: new URL("../../workers/prebuild.ts", import.meta.url) },
  { name: "replay", module: new URL("../../workers/replay.ts", import.meta.url) },
  { name: "shader writer", module: new URL("../../workers/shader_writer.ts", import.meta.url) },
];

/** See the module; in any isolate. */
export class DriverRoom {
  readonly room: Room;
  readonly device: GpuDevice;
  readonly recompilerDevice: RecompilerDevice;
  /** VkPipelineLayout of all compute programs. */
  readonly layout: bigint;
  /** Creates pipelines. */
  readonly driver: VulkanPipelineDriver;
  /** What a worker needs to attach. */
  readonly handle: DriverRoomHandle;
  readonly services: PreparationServices;
  /** Keeps compiles within the container's memory: asked by who is about to take a budgeted job. */
  readonly guard: MemoryGuard;
  readonly #words: Int32Array<SharedArrayBuffer>;
  /** Opened with the first record. */
  #journal: Journal | undefined;
  readonly #shaders: ShaderCache | undefined;

  /** Used by {@linkcode openDriverRoom} and {@linkcode attachDriverRoom}. */
  constructor(room: Room, device: GpuDevice, handle: DriverRoomHandle, services: PreparationServices) {
    this.room = room;
    this.device = device;
    this.handle = handle;
    this.recompilerDevice = handle.recompilerDevice;
    this.layout = handle.layout;
    this.#words = new Int32Array(handle.words);
    const shaders = this.#shaders = handle.shaders && new ShaderCache(handle.shaders.folder, handle.shaders);
    shaders?.attachWriter(room);
    // The caller's own beside the files, each for itself.
    this.services = shaders === undefined ? services : {
      ...services,
      find: (request) => services.find?.(request) ?? shaders.find(request),
      keep: (request, artifact) => {
        services.keep?.(request, artifact);
        shaders.add(request, artifact);
        this.want(Pool.Writer);
      },
    };
    this.driver = new VulkanPipelineDriver(device, handle.cache, (creation) => this.#created(creation), room.costs);
    this.guard = new MemoryGuard(room.board, room.costs);
  }

  /** The lock for guest memory, recording and submission. */
  get gpu(): GpuMutex {
    return this.room.gpu;
  }

  /** The driver can tell whether its cache has a pipeline. */
  get cacheCanTell(): boolean {
    return this.driver.cached !== undefined;
  }

  /** There is work for a pool: the main isolate starts its workers, if it has not. */
  want(pool: number): void {
    const bit = 1 << pool, words = this.#words;
    if ((words[W.Wanted] & bit) !== 0 || (Atomics.or(words, W.Wanted, bit) & bit) !== 0) return;
    this.#ring();
  }

  /**
   * Pipelines that all isolates created, how many of them the driver had in its cache by its own word, and milliseconds of all; and how many
   * were to be made ahead of use and could not be.
   */
  creations(): { created: number; hits: number; ms: number; aheadFailed: number } {
    const words = this.#words;
    return {
      created: words[W.Created],
      hits: words[W.Hits],
      ms: words[W.CreatedMs],
      aheadFailed: words[W.AheadFailed],
    };
  }

  /** Says which shaders this isolate used, and writes what the writer took no more. */
  keepShaders(): void {
    this.#shaders?.flush();
  }

  /** A dispatch asks for a pipeline, by its reference. */
  ask(reference: number): void {
    const { pipelines } = this.room;
    Atomics.store(this.#words, W.Asked + pipelines.entryOf(reference), pipelines.generationOf(reference));
  }

  /** Whether a dispatch of any isolate asked for it. */
  isAskedFor(reference: number): boolean {
    const { pipelines } = this.room;
    return Atomics.load(this.#words, W.Asked + pipelines.entryOf(reference)) === pipelines.generationOf(reference);
  }

  /** How often all pipelines were destroyed: what was announced before has to be announced again. */
  get cleared(): number {
    return Atomics.load(this.#words, W.Cleared);
  }

  /** Something that was to be made ahead of use could not be; whoever needs it says why. */
  failedAhead(): void {
    Atomics.add(this.#words, W.AheadFailed, 1);
  }

  /** What went wrong with this isolate's files, for people. */
  get notes(): string[] {
    return [...this.#shaders?.notes ?? [], ...this.#journal?.notes ?? []];
  }

  /** A worker's end: it stops being a member. The device is not touched. */
  leave(): void {
    this.keepShaders();
    this.device.destroy(); // what was loaded by this isolate
    this.room.registry.leave(this.room.self);
  }

  /** Whoever creates a pipeline records it, at once: so it is there for the next run, however this one ends. */
  #created({ ms, hit, record }: Creation): void {
    const words = this.#words, whole = Math.round(ms);
    Atomics.add(words, W.Created, 1);
    Atomics.add(words, W.CreatedMs, whole);
    if (hit) Atomics.add(words, W.Hits, 1);
    const { journal } = this.handle;
    if (record !== undefined && journal !== undefined) {
      this.#journal ??= new Journal(journal.folder, journal.name, journal.identity, journal.options);
      const before = this.#journal.failures;
      this.#journal.append(record);
      Atomics.add(words, W.Unrecorded, this.#journal.failures - before);
    }
    const unsaved = Math.max(1, whole);
    if (!hit && Atomics.add(words, W.UnsavedMs, unsaved) + unsaved >= SAVE_AFTER_MS) this.#ring();
  }

  #ring(): void {
    Atomics.add(this.#words, W.Bell, 1);
    Atomics.notify(this.#words, W.Bell);
  }
}

/** The main isolate's: supervises the pools. */
export class OwnedDriverRoom extends DriverRoom {
  readonly #cache: PipelineCache | undefined;
  readonly #workers: readonly number[];
  readonly #poolOptions: NonNullable<DriverRoomOptions["pools"]>;
  readonly #pools: (WorkerPool | undefined)[] = WORKERS.map(() => undefined);
  readonly #watching: Promise<void>;
  readonly #costs: CostFile | undefined;
  /** What the file knows already. */
  readonly #learnedBefore: number;
  /** What was wrong with the file of costs, for people. */
  readonly costNotes: string[] = [];
  /** What the pools' workers said, for people. */
  readonly lines: string[] = [];
  readonly #guarding: ReturnType<typeof setInterval>;
  #closed = false;

  /** Used by {@linkcode openDriverRoom}. */
  constructor(
    room: Room,
    device: GpuDevice,
    handle: DriverRoomHandle,
    options: DriverRoomOptions,
    workers: readonly number[],
  ) {
    super(room, device, handle, options.services ?? {});
    this.#cache = options.cache;
    this.#workers = workers;
    this.#poolOptions = options.pools ?? {};
    this.#costs = options.costs;
    this.#learnedBefore = room.costs.learned;
    this.guard.refresh();
    this.#guarding = setInterval(() => this.#guardMemory(), GUARD_MS);
    Deno.unrefTimer(this.#guarding);
    this.#watching = this.#watch();
  }

  /** What went wrong with this isolate's files, and with the journal in all isolates, for people. */
  override get notes(): string[] {
    const { journal, words } = this.handle, failures = Atomics.load(new Int32Array(words), W.Unrecorded);
    return [
      ...super.notes,
      ...journal === undefined ? [] : failureNotes(journalPath(journal.folder, journal.name), failures),
    ];
  }

  /** Keeps a line for the report; it is there once, however often it is said. */
  readonly say = (line: string): void => {
    if (!this.lines.includes(line)) this.lines.push(line);
  };

  /** Starts a pool's workers, if they are not there. Pools start by themselves when something is announced for them. */
  start(pool: number): WorkerPool {
    return this.#pools[pool] ??= new WorkerPool(this.room, {
      ...WORKERS[pool],
      pool,
      workers: this.#workers[pool] ?? 1,
      driver: this.handle,
      onLog: this.say,
      ...this.#poolOptions[pool],
    });
  }

  /**
   * Waits until a pool has nothing queued and nothing running; its workers are started if something is.
   *
   * @returns false after the time
   * @throws HostError `driver.pool` if its workers are gone for good, and jobs are left
   */
  async drained(pool: number, timeoutMs = Infinity): Promise<boolean> {
    if (this.room.board.drain(pool, 0)) return true;
    const workers = this.start(pool), done = await workers.drained(timeoutMs);
    if (!done && workers.failure !== undefined) throw workers.failure;
    return done;
  }

  /**
   * For another device, or before teardown: no creation begins any more, those in flight end, and all pipelines are destroyed once nobody
   * pins them. The device must not be using them.
   *
   * @param reopen new ones may be created afterwards
   * @param patienceMs for those who pin
   * @throws HostError `driver.pipelines-in-use` when some stay pinned; with `reopen`, new ones may be created all the same
   */
  async clearPipelines(reopen: boolean, patienceMs = PATIENCE_MS): Promise<void> {
    const { pipelines, registry } = this.room;
    const pause = () => new Promise((resolve) => setTimeout(resolve, TEARDOWN_MS));
    pipelines.close();
    while (!pipelines.waitForBuilds(0)) {
      registry.sweep(); // who creates may have died
      await pause();
    }
    const end = performance.now() + patienceMs;
    let rest = 0;
    do {
      rest = pipelines.clear((pipeline) => this.driver.destroy(pipeline));
      if (rest === 0) break;
      registry.sweep(); // so may who pins
      await pause();
    } while (performance.now() < end);
    Atomics.add(new Int32Array(this.handle.words), W.Cleared, 1);
    if (reopen) pipelines.reopen();
    if (rest === 0) return;
    throw new HostError("driver.pipelines-in-use", `${rest} pipelines are still used: their device cannot be given up`);
  }

  /**
   * Ends the pools, waits for builds in flight, and destroys the pipelines. Other members must have left; the device must not be using the
   * pipelines. The device stays.
   *
   * @param hung the device may still be using pipelines: they stay
   */
  async close(hung = false): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const words = new Int32Array(this.handle.words);
    Atomics.store(words, W.Closing, 1);
    Atomics.add(words, W.Bell, 1);
    Atomics.notify(words, W.Bell);
    await this.#watching;
    clearInterval(this.#guarding);
    this.keepShaders();
    if ((Atomics.load(words, W.Wanted) & (1 << Pool.Writer)) !== 0) {
      // What was recompiled is for the next run.
      await this.start(Pool.Writer).drained();
    }
    this.room.board.stop("cancel");
    await Promise.all(this.#pools.map((pool) => pool?.stopped(Infinity)));
    this.room.registry.sweep();
    try {
      if (!hung) {
        await this.clearPipelines(false);
        destroyPipelineLayout(this.device, this.layout);
      }
    } finally {
      this.#saveCache();
      this.#saying("what compiles cost", () => {
        if (this.room.costs.learned !== this.#learnedBefore) this.#costs?.write(this.room.costs.samples());
      });
      setTracer(undefined);
      this.room.registry.leave(this.room.self);
    }
  }

  /** Writes what the pipeline cache's file does not have yet. */
  #saveCache(): void {
    const ms = Atomics.exchange(new Int32Array(this.handle.words), W.UnsavedMs, 0);
    this.#saying("the pipeline cache", () => {
      if (ms > 0) this.#cache?.created(ms, false);
      this.#cache?.save();
    });
  }

  /** Does what nothing depends on: what it throws is a line for the report. */
  #saying(what: string, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.say(`${what} could not be kept: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Workers that sleep until a compile fits do not look at memory themselves. */
  #guardMemory(): void {
    const { board } = this.room;
    if (board.heldBytes > 0) this.guard.refresh();
  }

  /** What needs the main isolate: starting workers, and writing the pipeline cache. */
  async #watch(): Promise<void> {
    const words = new Int32Array(this.handle.words);
    for (;;) {
      const seen = Atomics.load(words, W.Bell);
      if (Atomics.load(words, W.Closing) !== 0) return;
      const wanted = Atomics.load(words, W.Wanted);
      for (let pool = 0; pool < this.#pools.length; pool++) if ((wanted & (1 << pool)) !== 0) this.start(pool);
      // Nobody is told of what this loop throws, and without it no pool would be started any more.
      if (Atomics.load(words, W.UnsavedMs) >= SAVE_AFTER_MS) this.#saveCache();
      // Who rings may die over it, and nobody rings for the same again.
      await waitForWorkAsync(words, W.Bell, seen, WATCH_MS, "something for the main isolate to do");
    }
  }
}

/**
 * Opens a room on a device, in the main isolate.
 *
 * @param device stays the caller's: close the room before it is destroyed
 */
export function openDriverRoom(device: GpuDevice, options: DriverRoomOptions = {}): OwnedDriverRoom {
  const half = defaultPoolWorkers(navigator.hardwareConcurrency);
  const workers = options.workers ?? [half, prebuildThreads() ?? half, half] as const;
  const compileBytes = options.compileBytes ?? compileLimitBytes();
  const { trace, costs } = options, known = costs?.read();
  const room = createRoom({
    workers,
    compileBytes,
    arenaBytes: options.arenaBytes ?? ARENA_BYTES,
    costs: known?.samples,
    trace,
  });
  const handle: DriverRoomHandle = {
    room: room.handle,
    device: device.share(),
    recompilerDevice: options.recompilerDevice ?? probed(device),
    layout: createPipelineLayout(device),
    cache: options.cache?.handle ?? 0n,
    journal: options.journal,
    shaders: options.shaders,
    words: new SharedArrayBuffer(4 * WORDS),
  };
  const owned = new OwnedDriverRoom(room, device, handle, options, workers);
  if (known?.note !== undefined) owned.costNotes.push(known.note);
  return owned;
}

/** The same room in a worker, which becomes a member until it leaves. */
export function attachDriverRoom(handle: DriverRoomHandle, services: PreparationServices = {}): DriverRoom {
  const room = attachRoom(handle.room);
  let device: GpuDevice | undefined;
  try {
    device = GpuDevice.attach(handle.device);
    return new DriverRoom(room, device, handle, services);
  } catch (error) {
    device?.destroy(); // what was loaded
    room.registry.leave(room.self);
    throw error;
  }
}

function probed(device: GpuDevice): RecompilerDevice {
  const { float, endsLoops } = probeDevice(device);
  return recompilerDevice(device.capabilities, float, endsLoops);
}

/** Pools, for callers that start one by hand. */
export { Pool };
