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
  /** Kind of device: `software` runs on the CPU. */
  readonly type: "discrete" | "integrated" | "virtual" | "software" | "other";
  /** Vulkan version, for example 1.3.230. */
  readonly apiVersion: string;
  /** Name of the driver. */
  readonly driver: string;
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
  /** Destroys the device. Memory of its runs stays until they are closed. */
  close(): void;
}

/** A Vulkan device that runs guest programs. */
export class VulkanDevice implements Device {
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
  const gpu = GpuDevice.create({ device: options.name, validation: options.validation });
  return new VulkanDevice(gpu, options.memory ?? "automatic");
}
