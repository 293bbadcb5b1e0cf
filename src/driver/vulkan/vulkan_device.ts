import type { GpuDevice } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import { probeDevice } from "../../gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import { readFrame } from "../../guest/frame.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../guest/memory/mmap_allocator.ts";
import type { Program } from "../../guest/program.ts";
import type { DeviceDescription, PreparedRun, ProgramRun, RunHooks, WrappableDevice } from "../device.ts";
import { openRequestDump } from "../request_dump.ts";
import { runProgram, type RunResult } from "../run_program.ts";
import { openShaderCache } from "../shader_cache/open_cache.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { openPipelineStore } from "../warm_start/open_store.ts";
import type { PipelineStore, ReplayResult } from "../warm_start/pipeline_store.ts";
import { UNALIGNED_LOAD } from "./dispatch_errors.ts";
import { VulkanExecutor } from "./vulkan_executor.ts";

/** A Vulkan device that runs guest programs. */
export class VulkanDevice implements WrappableDevice {
  readonly #gpu: GpuDevice;
  readonly #memory: BackingKind;
  #prepared: { program: Program; store: PipelineStore } | undefined;
  #hung = false;
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

  async prepare(program: Program, progress?: (done: number, total: number) => void): Promise<PreparedRun | undefined> {
    this.#forget();
    const { float, endsLoops } = probeDevice(this.#gpu);
    const store = openPipelineStore(
      this.#gpu,
      recompilerDevice(this.#gpu.capabilities, float, endsLoops),
      program,
      this.#shaderCache(),
    );
    if (store === undefined) return undefined;
    this.#prepared = { program, store };
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
    const run = this.#run(program, false, hooks);
    if (run.result.error?.code !== UNALIGNED_LOAD) return run;
    // Rare, and only known when it happens: once more from the start, with programs that can do it.
    run.close();
    return this.#run(program, true, hooks);
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
    return {
      result,
      memory,
      frame: () => program.frame === undefined ? undefined : readFrame(memory, program.frame),
      close: release,
    };
  }

  /** Destroys the device. Memory of its runs stays until they are closed. */
  close(): void {
    this.#forget();
    this.#shaders?.cache?.flush();
    this.#gpu.destroy();
  }

  #shaderCache(): ShaderCache | undefined {
    this.#shaders ??= { cache: openShaderCache() };
    return this.#shaders.cache;
  }

  /** Gives the pipelines of the last prepared program back, unless a device that hangs may still use them. */
  #forget(): void {
    if (!this.#hung) this.#prepared?.store.close();
    this.#prepared = undefined;
  }

  /** {@linkcode close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
