/** The two executors of the fuzzers on a device. */
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { VulkanExecutor } from "../../src/driver/vulkan/vulkan_executor.ts";
import { MmapAllocator } from "../../src/guest/memory/mmap_allocator.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import type { Target } from "../../src/rdna/target.ts";
import type { RecompilerDevice } from "../../src/recompiler/request.ts";
import type { Sides } from "./batch.ts";

/** Programs after which the device's executor is made anew: it keeps all of them. */
const PROGRAMS = 64;

/** Hands out sides for both targets; keeps executors for a while, because making one probes the device. */
export class SideMaker implements Disposable {
  readonly #allocator = new MmapAllocator();
  readonly #executors = new Map<Target, { executor: VulkanExecutor; uses: number }>();

  constructor(private readonly device: GpuDevice, private readonly instructionLimit = 10_000_000) {}

  /** Sides for one program, with what the recompiler is told of the device. */
  take(target: Target): Sides & { recompilerDevice: RecompilerDevice } {
    let entry = this.#executors.get(target);
    if (entry !== undefined && entry.uses >= PROGRAMS) {
      entry.executor.close();
      entry = undefined;
    }
    entry ??= { executor: new VulkanExecutor(this.device, { target, unalignedLoads: true }), uses: 0 };
    entry.uses++;
    this.#executors.set(target, entry);
    return {
      device: entry.executor,
      recompilerDevice: entry.executor.recompilerDevice,
      reference: new SoftwareExecutor({ target, instructionLimit: this.instructionLimit }),
      allocator: this.#allocator,
    };
  }

  /** The next sides get executors of their own. */
  forget(): void {
    for (const { executor } of this.#executors.values()) executor.close();
    this.#executors.clear();
  }

  [Symbol.dispose](): void {
    this.forget();
  }
}
