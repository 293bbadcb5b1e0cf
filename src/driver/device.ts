import { GpuDevice } from "../gpu/device.ts";
import type { BackingKind } from "../gpu/guest_backing.ts";
import { type Picture, readFrame } from "../guest/frame.ts";
import { GuestMemory } from "../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../guest/memory/mmap_allocator.ts";
import type { Program } from "../guest/program.ts";
import { runProgram, type RunResult } from "./run_program.ts";
import { UNALIGNED_LOAD } from "./vulkan/dispatch_errors.ts";
import { VulkanExecutor } from "./vulkan/vulkan_executor.ts";

/** Options of {@linkcode openDevice}. */
export interface OpenOptions {
  /** Part of the device's name; the switch ANYPS5_GPU, then the first usable device, when left out. */
  name?: string;
  /** Load the Vulkan validation layer; its messages go to a file, see `Device.validationMessages`. */
  validation?: boolean;
  /** How guest memory reaches the device: imported where it can, by default. */
  memory?: BackingKind;
}

/** A program that has run, with its memory. */
export interface ProgramRun {
  /** What happened. */
  readonly result: RunResult;
  /** The guest's memory after the run; valid until `close`. */
  readonly memory: GuestMemory;
  /** The program's picture, if it has one. */
  frame(): Picture | undefined;
  /** Gives the memory back. */
  close(): void;
}

/** A device that runs guest programs. */
export class Device {
  readonly #gpu: GpuDevice;
  readonly #memory: BackingKind;

  /** Makes it from the host side. @param gpu owned from now on. */
  constructor(gpu: GpuDevice, memory: BackingKind) {
    this.#gpu = gpu;
    this.#memory = memory;
  }

  /** Name of the device. */
  get name(): string {
    return this.#gpu.capabilities.name;
  }

  /** The host side, for tools. */
  get gpu(): GpuDevice {
    return this.#gpu;
  }

  /**
   * Runs a program from its initial memory to its end. What the guest does wrong is in the result, not thrown.
   *
   * @throws HostError if the host cannot do it.
   */
  run(program: Program): ProgramRun {
    const run = this.#run(program, false);
    if (run.result.error?.code !== UNALIGNED_LOAD) return run;
    // Rare, and only known when it happens: once more from the start, with programs that can do it.
    run.close();
    return this.#run(program, true);
  }

  #run(program: Program, unalignedLoads: boolean): ProgramRun {
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
        result = runProgram(program, executor, memory);
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

/** Opens a Vulkan device. @throws HostError saying what is missing and how to get it. */
export function openDevice(options: OpenOptions = {}): Device {
  return new Device(
    GpuDevice.create({ device: options.name, validation: options.validation }),
    options.memory ?? "automatic",
  );
}
