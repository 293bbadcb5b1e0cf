import type { GpuDevice, UnfinishedWork } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import { readFrame } from "../../guest/frame.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../guest/memory/mmap_allocator.ts";
import type { Program } from "../../guest/program.ts";
import type {
  DeviceDescription,
  NextRun,
  PreparedRun,
  ProgramRun,
  RunHooks,
  StartHooks,
  WrappableDevice,
} from "../device.ts";
import type { OwnedDriverRoom } from "../pools/driver_room.ts";
import { dispatchingQueues } from "../queues/dispatching.ts";
import { openRequestDump } from "../request_dump.ts";
import { checkRunSwitches } from "../run_switches.ts";
import { addNotes, runProgram, type RunResult } from "../run_program.ts";
import type { SharedTraceHandle } from "../recording/shared_trace.ts";
import { openShaderCache } from "../shader_cache/open_cache.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { openJournal, openPipelineStore, openRoomStore, type RoomStore } from "../warm_start/open_store.ts";
import type { Journal } from "../../storage/journal.ts";
import type { PipelineStore, ReplayResult } from "../warm_start/pipeline_store.ts";
import { UNALIGNED_LOAD } from "./dispatch_errors.ts";
import { VulkanExecutor } from "./vulkan_executor.ts";

/** Words of streams that take a few milliseconds; starting an isolate takes some hundred. */
const SHORT_WORDS = 4096;

/** What isolates gave up, or died over: nobody is left who could tell when it ends. */
const NEVER_DONE: UnfinishedWork = { submitted: 1, completed: () => 0 };

/** A room, for a program whose queues run at the same time: from its preparation to the end of its run. */
interface OpenedRoom {
  readonly program: Program;
  readonly room: OwnedDriverRoom;
  readonly store: RoomStore | undefined;
  /** Pipelines that the run created, and programs that it used. */
  built: number;
  programs: number;
}

/** A Vulkan device that runs guest programs. */
export class VulkanDevice implements WrappableDevice {
  readonly #gpu: GpuDevice;
  readonly #memory: BackingKind;
  #prepared: { program: Program; store: PipelineStore } | undefined;
  /** Prepared for a run in turns: see `#isDoneSooner`. */
  #inTurns: Program | undefined;
  #room: OpenedRoom | undefined;
  /** Guest memory cannot be shared between isolates, though it should be. */
  #cannotShare = false;
  #hung = false;
  #trace: SharedTraceHandle | undefined;
  /** Opened by the first run. */
  #shaders: { cache: ShaderCache | undefined } | undefined;

  /** Makes it from the host side, which is owned from now on. */
  constructor(gpu: GpuDevice, memory: BackingKind) {
    this.#gpu = gpu;
    this.#memory = memory;
  }

  /** Name of the device. */
  get name(): string {
    return this.#gpu.capabilities.name;
  }

  /** What the device is. */
  get description(): DeviceDescription {
    const { name, type, apiVersion, driver } = this.#gpu.capabilities;
    return { name, type, apiVersion, driver: `${driver.name} ${driver.info}`.trim() };
  }

  traceTo(trace: SharedTraceHandle): void {
    this.#trace = trace;
  }

  async prepare(
    program: Program,
    progress?: (done: number, total: number) => void,
    { starts = false, records = false }: NextRun = {},
  ): Promise<PreparedRun | undefined> {
    checkRunSwitches();
    this.#forget();
    const journal = openJournal(this.#gpu, program), known = journal !== undefined && journal.records.length > 0;
    if (starts && this.#runsAtOnce(program) && (records || !isDoneSooner(program, known))) {
      return await this.#prepareRoom(program, journal, progress);
    }
    this.#inTurns = program;
    const { float, endsLoops } = probeDevice(this.#gpu);
    const store = openPipelineStore(
      this.#gpu,
      recompilerDevice(this.#gpu.capabilities, float, endsLoops),
      journal,
      { shaders: this.#shaderCache(), trace: this.#trace },
    );
    this.#prepared = { program, store };
    if (!store.keeps) return undefined;
    const replay: ReplayResult = await store.replay({ progress });
    return {
      replay,
      get used() {
        return store.used;
      },
      get built() {
        return store.built;
      },
      get notes() {
        return store.notes;
      },
      cacheBytes: store.cache?.loadedBytes ?? 0,
    };
  }

  run(program: Program, hooks: RunHooks = {}): ProgramRun {
    checkRunSwitches();
    const run = this.#run(program, false, hooks);
    if (run.result.error?.code !== UNALIGNED_LOAD) return run;
    // Rare, and only known when it happens: once more from the start, with programs that can do it.
    run.close();
    return this.#run(program, true, hooks);
  }

  async start(program: Program, hooks: StartHooks = {}): Promise<ProgramRun> {
    checkRunSwitches();
    const inTurns = this.#inTurns === program && hooks.timeline === undefined;
    if (inTurns || !this.#runsAtOnce(program)) return this.run(program, hooks);
    const { CannotShare, runAtOnce } = await import("./run_at_once.ts");
    const opened = await this.#openRoom(program), { room } = opened;
    const before = room.creations().created;
    const onHung = () => {
      this.#hung = true;
      // Of this isolate's own work the device knows.
      this.#gpu.giveUp(NEVER_DONE);
    };
    let run: ProgramRun | undefined;
    try {
      run = await runAtOnce(room, program, hooks, { unalignedLoads: false, onHung });
      if (run.result.error?.code === UNALIGNED_LOAD && !this.#hung) {
        run.close();
        run = await runAtOnce(room, program, hooks, { unalignedLoads: true, onHung });
      }
      opened.built = room.creations().created - before;
      opened.programs = run.result.programs.length;
      return run;
    } catch (error) {
      if (!(error instanceof CannotShare)) throw error;
      this.#cannotShare = true;
    } finally {
      await this.#closeRoom();
      // Workers say the last when they go home.
      if (run !== undefined) addNotes(run.result, [...this.#cacheNotes, ...roomNotes(opened), ...room.lines]);
    }
    return this.run(program, hooks);
  }

  #run(program: Program, unalignedLoads: boolean, { wrap = (each) => each, timeline }: RunHooks): ProgramRun {
    const memory = new GuestMemory(new MmapAllocator());
    const store = this.#prepared?.program === program ? this.#prepared.store : undefined;
    const shaders = this.#shaderCache();
    let executor: VulkanExecutor | undefined;
    // A device that hangs may still write to the memory: then it is never given back.
    const release = () => {
      executor?.close();
      if (!executor?.hung) memory.clear();
    };
    let result: RunResult;
    try {
      executor = new VulkanExecutor(this.#gpu, {
        target: program.target,
        backing: this.#memory,
        unalignedLoads,
        store,
        shaders,
        dump: openRequestDump(),
      });
      try {
        result = runProgram(program, wrap(executor), memory, timeline);
      } finally {
        executor.close();
        this.#hung ||= executor.hung;
        store?.save();
        shaders?.flush();
      }
    } catch (error) {
      release();
      throw error;
    }
    addNotes(result, this.#cacheNotes);
    return {
      result,
      memory,
      frame: () => program.frame === undefined ? undefined : readFrame(memory, program.frame),
      close: release,
    };
  }

  /** Destroys the device, unless queues left work on it that may still run. Memory of its runs stays until they are closed. */
  close(): void {
    this.#forget();
    this.#shaders?.cache?.flush();
    // A program that was prepared and never started has workers that use the device.
    if (this.#room === undefined) this.#gpu.destroy();
    else this.#closeRoom().then(() => this.#gpu.destroy(), (error) => console.error(`the device stays: ${error}`));
  }

  /** Whether each queue of a program gets an isolate. One queue has nothing to run beside, and starting an isolate takes time. */
  #runsAtOnce({ submissions }: Program): boolean {
    return submissions.some(({ queue }) => queue !== submissions[0].queue) && this.#memory !== "mirrored" &&
      !this.#cannotShare && this.#gpu.capabilities.limits.hostImportAlignment > 0;
  }

  /** The room for a program; opened if its preparation has not done so. */
  async #openRoom(program: Program, journal?: Journal) {
    if (this.#room?.program === program) return this.#room;
    await this.#closeRoom();
    const { openDriverRoom } = await import("../pools/driver_room.ts");
    const { float, endsLoops } = probeDevice(this.#gpu);
    const store = openRoomStore(this.#gpu, program, journal ?? openJournal(this.#gpu, program));
    const room = openDriverRoom(this.#gpu, {
      recompilerDevice: recompilerDevice(this.#gpu.capabilities, float, endsLoops),
      cache: store?.cache,
      journal: store?.place,
      shaders: this.#shaderCache()?.handle,
      costs: store?.costs,
      trace: this.#trace,
    });
    return this.#room = { program, room, store, built: 0, programs: 0 };
  }

  async #prepareRoom(
    program: Program,
    journal: Journal | undefined,
    progress?: (done: number, total: number) => void,
  ) {
    const opened = await this.#openRoom(program, journal), { room, store } = opened;
    if (store === undefined) return undefined;
    const { replayInRoom } = await import("../warm_start/room_replay.ts");
    const replay = await replayInRoom(room, store.records, { progress });
    return {
      replay,
      get used() {
        return Math.max(0, opened.programs - opened.built);
      },
      get built() {
        return opened.built;
      },
      get notes() {
        return roomNotes(opened);
      },
      cacheBytes: store.cache?.loadedBytes ?? 0,
    };
  }

  /** Ends the room's pools and destroys its pipelines, unless a device that hangs may still use them. */
  async #closeRoom(): Promise<void> {
    const opened = this.#room;
    this.#room = undefined;
    if (opened === undefined) return;
    await opened.room.close(this.#hung);
    if (!this.#hung) opened.store?.cache?.close();
  }

  /** What was wrong with the shader cache. */
  get #cacheNotes(): readonly string[] {
    return this.#shaders?.cache?.notes ?? [];
  }

  #shaderCache(): ShaderCache | undefined {
    this.#shaders ??= { cache: openShaderCache() };
    return this.#shaders.cache;
  }

  /** Gives the pipelines of the last prepared program back, unless a device that hangs may still use them. */
  #forget(): void {
    if (!this.#hung) this.#prepared?.store.close();
    this.#prepared = this.#inTurns = undefined;
  }

  /** {@linkcode close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** What was wrong with the files of a room, for people. */
function roomNotes({ room, store }: OpenedRoom): string[] {
  return [...store?.notes ?? [], ...room.costNotes, ...room.notes];
}

/**
 * Whether a program whose queues could run at the same time is done before their isolates would have started: its streams are short, and nothing
 * has to be compiled, because earlier runs recorded its pipelines, or would be compiled beside anything, because one queue has all dispatches.
 */
function isDoneSooner(program: Program, recorded: boolean): boolean {
  const words = program.submissions.reduce((sum, { words }) => sum + words.length, 0);
  return words <= SHORT_WORDS && (recorded || dispatchingQueues(program) <= 1);
}
