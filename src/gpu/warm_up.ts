/**
 * Drivers that compile at the first dispatch. Mesa's lavapipe generates machine code then, in the thread of its queue, where everything else
 * waits for it: 1.5 s for a module of 25 KB, and other queues as long. Its disk cache carries the result from one VkDevice to another, so a
 * dispatch of no workgroups on a device of its own has it made ahead of use; the first real dispatch loads it (measured: 4 to 6 ms, where the
 * same device is stalled for 840 ms or more). Where the disk cache is off (MESA_SHADER_CACHE_DISABLE), that is work for nothing, and harmless.
 *
 * @module
 */
import { AnyAgcError } from "../errors.ts";
import type { DeviceCapabilities } from "./capabilities.ts";
import { CommandQueue } from "./command_queue.ts";
import { GpuDevice } from "./device.ts";
import {
  type ComputePipelineRequest,
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "./pipelines.ts";

/** Driver name of lavapipe (VkPhysicalDeviceDriverProperties, VK_DRIVER_ID_MESA_LLVMPIPE). */
const LAVAPIPE = "llvmpipe";

/** Whether the driver compiles at the first dispatch, and keeps the result on the disk. No feature or limit tells: the driver's name does. */
export function compilesAtDispatch({ driver }: Pick<DeviceCapabilities, "driver">): boolean {
  return driver.name === LAVAPIPE;
}

/** A second VkDevice of the same kind, in an instance of its own: nothing else runs on it. */
export class WarmUpDevice {
  readonly #device: GpuDevice;
  readonly #layout: bigint;
  readonly #queue: CommandQueue;

  /**
   * @param name the device's name
   * @throws HostError when there is no second device
   */
  constructor(name: string) {
    this.#device = GpuDevice.create({ device: name, validation: false });
    this.#layout = createPipelineLayout(this.#device);
    this.#queue = new CommandQueue(this.#device, { buffers: 1 });
  }

  /** Has a pipeline compiled to the end. */
  warm(request: Omit<ComputePipelineRequest, "layout" | "cache" | "onlyCached">): void {
    const pipeline = createComputePipeline(this.#device, { ...request, layout: this.#layout, onlyCached: false });
    const queue = this.#queue;
    try {
      queue.begin();
      queue.bindPipeline(pipeline.handle);
      queue.pushConstants(this.#layout);
      queue.dispatch(0, 1, 1);
      queue.wait(queue.submit());
    } finally {
      destroyPipeline(this.#device, pipeline);
    }
  }

  /** Destroys the device, unless it still works on what it did not finish in time. */
  destroy(): void {
    try {
      this.#queue.destroy();
    } catch (error) {
      // It was told when it happened.
      if (!(error instanceof AnyAgcError && error.code === "gpu.timeout")) throw error;
    } finally {
      destroyPipelineLayout(this.#device, this.#layout);
      this.#device.destroy();
    }
  }
}
