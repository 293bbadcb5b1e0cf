import type { GpuDevice } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import { readFrame } from "../../guest/frame.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../guest/memory/mmap_allocator.ts";
import type { Program } from "../../guest/program.ts";
import type { DeviceDescription, ProgramRun, RunHooks, WrappableDevice } from "../device.ts";
import { runProgram, type RunResult } from "../run_program.ts";
import { UNALIGNED_LOAD } from "./dispatch_errors.ts";
import { VulkanExecutor } from "./vulkan_executor.ts";

/** A Vulkan device that runs guest programs. */
export class VulkanDevice implements WrappableDevice {
  readonly #gpu: GpuDevice;
  readonly #memory: BackingKind;

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

  run(program: Program, hooks: RunHooks = {}): ProgramRun {
    const run = this.#run(program, false, hooks);
    if (run.result.error?.code !== UNALIGNED_LOAD) return run;
    // Rare, and only known when it happens: once more from the start, with programs that can do it.
    run.close();
    return this.#run(program, true, hooks);
  }

  #run(program: Program, unalignedLoads: boolean, { wrap = (each) => each, timeline }: RunHooks): ProgramRun {
    const memory = new GuestMemory(new MmapAllocator());
    let executor: VulkanExecutor | undefined;
    // A device that hangs may still write to the memory: then it is never given back.
    const release = () => {
      executor?.close();
      if (!executor?.hung) memory.clear();
    };
    let result: RunResult;
    try {
      executor = new VulkanExecutor(this.#gpu, { target: program.target, backing: this.#memory, unalignedLoads });
      try {
        result = runProgram(program, wrap(executor), memory, timeline);
      } finally {
        executor.close();
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
    this.#gpu.destroy();
  }

  /** {@linkcode close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}
