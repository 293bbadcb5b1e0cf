import { AnyAgcError } from "../errors.ts";
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { pushConstantBytes } from "./choose_device.ts";
import type { GpuDevice } from "./device.ts";
import { TimestampPool } from "./timestamps.ts";

/** Options of {@linkcode CommandQueue}. */
export interface CommandQueueOptions {
  /** Which of the device's queues. */
  readonly queue?: number;
  /** Command buffers in the ring: how many submissions may be in flight before {@linkcode CommandQueue.begin} waits. */
  readonly buffers?: number;
  /** GPU timestamps per command buffer; 0 for none. */
  readonly timestamps?: number;
  /** Milliseconds that any wait may take before it is an error. */
  readonly timeout?: number;
}

const stages = vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
const anyAccess = vk.VK_ACCESS_2_MEMORY_READ_BIT | vk.VK_ACCESS_2_MEMORY_WRITE_BIT;

/**
 * Records and submits command buffers on one VkQueue. A ring of command buffers, all structs packed once: recording a dispatch allocates
 * nothing. Completion is a timeline semaphore; {@linkcode submit} returns its value.
 *
 * One isolate uses a CommandQueue, and one CommandQueue at a time uses a VkQueue: two isolates need two queues or a lock around `submit`.
 */
export class CommandQueue {
  /** The 32 words of push constants: write them, then call {@linkcode pushConstants}. */
  readonly push: Uint32Array<ArrayBuffer>;
  /** Recorded timestamps; undefined where the device has none or none were asked for. */
  readonly timestamps: TimestampPool | undefined;
  readonly #device: GpuDevice;
  readonly #vulkan: vk.CoreCommands;
  readonly #queue: bigint;
  readonly #timeout: bigint;
  readonly #pool: bigint;
  readonly #buffers: readonly bigint[];
  /** Timeline value of the last submission of each command buffer. */
  readonly #lastUse: number[];
  readonly #timeline: bigint;
  readonly #arena = new Arena(16 * 1024);
  readonly #pushAddress: bigint;
  readonly #beginInfo: bigint;
  readonly #barrier: bigint;
  readonly #hostBarrier: bigint;
  readonly #submitInfo: bigint;
  readonly #submittedBuffer: number;
  readonly #signalValue: number;
  readonly #waitInfo: bigint;
  readonly #waitValue: number;
  readonly #counter: number;
  readonly #copyRegion: number;
  readonly #copyAddress: bigint;
  #next = 0;
  /** Command buffer that is being recorded; 0 for none. */
  #recording = 0n;
  #submitted = 0;

  /** Creates command buffers, semaphore and timestamps on one queue of the device. */
  constructor(device: GpuDevice, options: CommandQueueOptions = {}) {
    const { queue = 0, buffers = 8, timestamps = 0, timeout = 60_000 } = options;
    this.#device = device;
    this.#vulkan = device.vulkan;
    this.#queue = device.queues[queue];
    if (this.#queue === undefined) {
      throw new AnyAgcError(
        "gpu.queue",
        `the device was created with ${device.queues.length} queues; there is no queue ${queue}`,
      );
    }
    this.#timeout = BigInt(timeout) * 1_000_000n;
    const arena = this.#arena;

    const pushOffset = arena.allocate(pushConstantBytes, 16);
    this.push = arena.words.subarray(pushOffset / 4, (pushOffset + pushConstantBytes) / 4);
    this.#pushAddress = arena.address(pushOffset);
    this.#beginInfo = vk.VkCommandBufferBeginInfo.make(arena, {
      flags: vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    });
    const dependency = (dstStageMask: bigint, dstAccessMask: bigint) =>
      vk.VkDependencyInfo.make(arena, {
        memoryBarrierCount: 1,
        pMemoryBarriers: vk.VkMemoryBarrier2.make(arena, {
          srcStageMask: stages,
          srcAccessMask: vk.VK_ACCESS_2_MEMORY_WRITE_BIT,
          dstStageMask,
          dstAccessMask,
        }),
      });
    this.#barrier = dependency(stages, anyAccess);
    this.#hostBarrier = dependency(
      vk.VK_PIPELINE_STAGE_2_HOST_BIT,
      vk.VK_ACCESS_2_HOST_READ_BIT | vk.VK_ACCESS_2_HOST_WRITE_BIT,
    );
    this.#counter = arena.allocate(8);
    this.#copyRegion = vk.VkBufferCopy.place(arena, { srcOffset: 0n, dstOffset: 0n, size: 0n });
    this.#copyAddress = arena.address(this.#copyRegion);

    this.#timeline = createTimeline(device);
    [this.#pool, this.#buffers] = createCommandBuffers(device, buffers);
    this.#lastUse = this.#buffers.map(() => 0);

    const commandBuffer = vk.VkCommandBufferSubmitInfo.place(arena, { commandBuffer: 0n, deviceMask: 0 });
    this.#submittedBuffer = commandBuffer + vk.VkCommandBufferSubmitInfo.fields.commandBuffer.at;
    const signal = vk.VkSemaphoreSubmitInfo.place(arena, {
      semaphore: this.#timeline,
      value: 0n,
      stageMask: stages,
      deviceIndex: 0,
    });
    this.#signalValue = signal + vk.VkSemaphoreSubmitInfo.fields.value.at;
    this.#submitInfo = vk.VkSubmitInfo2.make(arena, {
      commandBufferInfoCount: 1,
      pCommandBufferInfos: arena.address(commandBuffer),
      signalSemaphoreInfoCount: 1,
      pSignalSemaphoreInfos: arena.address(signal),
    });
    this.#waitValue = arena.allocate(8);
    this.#waitInfo = waitInfo(arena, this.#timeline, arena.address(this.#waitValue));

    const wantsTimestamps = timestamps > 0 && device.capabilities.limits.timestampBits > 0;
    this.timestamps = wantsTimestamps ? new TimestampPool(device, this.#buffers.length, timestamps) : undefined;
  }

  /** Starts recording into the next command buffer of the ring; waits when that one is still in flight. */
  begin(): void {
    if (this.#recording !== 0n) throw new AnyAgcError("gpu.recording", "a command buffer is being recorded already");
    this.wait(this.#lastUse[this.#next]);
    const buffer = this.#buffers[this.#next];
    this.#vulkan.vkBeginCommandBuffer(buffer, this.#beginInfo);
    this.#recording = buffer;
    this.timestamps?.begin(this.#next, buffer);
  }

  /** Binds a compute pipeline. */
  bindPipeline(pipeline: bigint): void {
    this.#vulkan.vkCmdBindPipeline(this.#recording, vk.VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  }

  /**
   * Records the current contents of {@linkcode push}.
   *
   * @param layout VkPipelineLayout
   * @param byteLength how many bytes, from the first; a multiple of 4
   */
  pushConstants(layout: bigint, byteLength = pushConstantBytes): void {
    this.#vulkan.vkCmdPushConstants(
      this.#recording,
      layout,
      vk.VK_SHADER_STAGE_COMPUTE_BIT,
      0,
      byteLength,
      this.#pushAddress,
    );
  }

  /** Dispatches workgroups. */
  dispatch(x: number, y: number, z: number): void {
    this.#vulkan.vkCmdDispatch(this.#recording, x, y, z);
  }

  /** Dispatches as many workgroups as the three 32-bit words at `offset` of the buffer say, when the device gets there. */
  dispatchIndirect(buffer: bigint, offset: bigint): void {
    this.#vulkan.vkCmdDispatchIndirect(this.#recording, buffer, offset);
  }

  /** What was recorded before finishes, and its writes are visible, before anything recorded afterwards starts. */
  barrier(): void {
    this.#vulkan.vkCmdPipelineBarrier2(this.#recording, this.#barrier);
  }

  /** Copies bytes between buffers; the ranges must not overlap. */
  copyBuffer(source: bigint, sourceOffset: bigint, target: bigint, targetOffset: bigint, byteLength: bigint): void {
    const { fields } = vk.VkBufferCopy, at = this.#copyRegion;
    this.#arena.setU64(at + fields.srcOffset.at, sourceOffset);
    this.#arena.setU64(at + fields.dstOffset.at, targetOffset);
    this.#arena.setU64(at + fields.size.at, byteLength);
    this.#vulkan.vkCmdCopyBuffer(this.#recording, source, target, 1, this.#copyAddress);
  }

  /** Fills with a 32-bit word; offset and length are multiples of 4. */
  fillBuffer(target: bigint, offset: bigint, byteLength: bigint, word: number): void {
    this.#vulkan.vkCmdFillBuffer(this.#recording, target, offset, byteLength, word);
  }

  /** Records a timestamp after all that was recorded before; returns its index, or -1 where there are no timestamps. */
  timestamp(): number {
    return this.timestamps?.write(this.#recording) ?? -1;
  }

  /** VkCommandBuffer that is being recorded, for commands that have no method here. */
  get recording(): bigint {
    return this.#recording;
  }

  /**
   * Ends the recording and submits it; its writes will be visible to the host when it has completed.
   *
   * @returns timeline value that completion reaches
   * @throws {VulkanError} by name, VK_ERROR_DEVICE_LOST for example
   */
  submit(): number {
    const buffer = this.#recording;
    if (buffer === 0n) throw new AnyAgcError("gpu.recording", "no command buffer is being recorded");
    this.#vulkan.vkCmdPipelineBarrier2(buffer, this.#hostBarrier);
    this.#vulkan.vkEndCommandBuffer(buffer);
    this.#recording = 0n;
    const value = this.#submitted + 1;
    setExact(this.#arena, this.#signalValue, value);
    this.#arena.setU64(this.#submittedBuffer, buffer);
    this.#vulkan.vkQueueSubmit2(this.#queue, 1, this.#submitInfo, 0n);
    this.#submitted = value;
    this.#lastUse[this.#next] = value;
    this.timestamps?.submitted(this.#next, value);
    this.#next = (this.#next + 1) % this.#buffers.length;
    return value;
  }

  /** Timeline value of the last submission; 0 before the first. */
  get submitted(): number {
    return this.#submitted;
  }

  /** Timeline value that has been reached. */
  completed(): number {
    this.#vulkan.vkGetSemaphoreCounterValue(this.#device.handle, this.#timeline, this.#arena.address(this.#counter));
    return Number(this.#arena.getU64(this.#counter));
  }

  /**
   * Blocks until a submission has completed.
   *
   * @param value from {@linkcode submit}
   * @throws {VulkanError} `vulkan.device-lost` when the device is lost
   * @throws {AnyAgcError} `gpu.timeout`
   */
  wait(value: number): void {
    if (value === 0) return;
    setExact(this.#arena, this.#waitValue, value);
    const result = this.#vulkan.vkWaitSemaphores(this.#device.handle, this.#waitInfo, this.#timeout);
    if (result === vk.VK_TIMEOUT) this.#timedOut(value);
  }

  /** Like {@linkcode wait}, but this isolate goes on meanwhile. */
  async waitAsync(value: number): Promise<void> {
    if (value === 0) return;
    const arena = new Arena(4096); // must live until the promise settles, whatever else is waited for meanwhile
    const values = arena.u64s([BigInt(value)]);
    const info = waitInfo(arena, this.#timeline, values);
    const result = await this.#vulkan.vkWaitSemaphoresAsync(this.#device.handle, info, this.#timeout);
    if (result === vk.VK_TIMEOUT) this.#timedOut(Number(arena.getU64(arena.offset(values))));
  }

  /**
   * Waits for what was submitted, then destroys everything. A recording that was not submitted is dropped. What did not finish in time before is not waited
   * for again, and nothing is destroyed that it uses, as long as it runs.
   *
   * @throws {AnyAgcError} `gpu.timeout`, {@linkcode VulkanError} `vulkan.device-lost`: then everything is destroyed
   */
  destroy(): void {
    try {
      if (this.#device.unfinished && this.completed() < this.#submitted) this.#timedOut(this.#submitted);
      this.wait(this.#submitted);
    } finally {
      this.#device.release(() => {
        const { handle } = this.#device;
        this.timestamps?.destroy();
        this.#vulkan.vkDestroyCommandPool(handle, this.#pool, 0n);
        this.#vulkan.vkDestroySemaphore(handle, this.#timeline, 0n);
      });
    }
  }

  #timedOut(value: number): never {
    this.#device.giveUp(this);
    throw new AnyAgcError(
      "gpu.timeout",
      `the device "${this.#device.capabilities.name}" did not finish submission ${value} within ${
        this.#timeout / 1_000_000n
      } ms`,
    );
  }
}

/** Stores a whole number below 2^53 as 64 bits without making a bigint. */
function setExact(arena: Arena, offset: number, value: number): void {
  arena.setU32(offset, value >>> 0);
  arena.setU32(offset + 4, Math.floor(value / 0x1_0000_0000));
}

function waitInfo(arena: Arena, timeline: bigint, valueAddress: bigint): bigint {
  return vk.VkSemaphoreWaitInfo.make(arena, {
    semaphoreCount: 1,
    pSemaphores: arena.u64s([timeline]),
    pValues: valueAddress,
  });
}

function createTimeline(device: GpuDevice): bigint {
  const { scratch } = device;
  return scratch.scope(() => {
    const out = scratch.allocate(8);
    const type = vk.VkSemaphoreTypeCreateInfo.make(scratch, {
      semaphoreType: vk.VK_SEMAPHORE_TYPE_TIMELINE,
      initialValue: 0n,
    });
    device.vulkan.vkCreateSemaphore(
      device.handle,
      vk.VkSemaphoreCreateInfo.make(scratch, { pNext: type }),
      0n,
      scratch.address(out),
    );
    return scratch.getU64(out);
  });
}

function createCommandBuffers(device: GpuDevice, count: number): [pool: bigint, buffers: bigint[]] {
  const { scratch, vulkan } = device;
  return scratch.scope(() => {
    const out = scratch.allocate(8 * count);
    const info = vk.VkCommandPoolCreateInfo.make(scratch, {
      flags: vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      queueFamilyIndex: device.capabilities.queueFamily,
    });
    vulkan.vkCreateCommandPool(device.handle, info, 0n, scratch.address(out));
    const pool = scratch.getU64(out);
    const allocation = vk.VkCommandBufferAllocateInfo.make(scratch, {
      commandPool: pool,
      level: vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      commandBufferCount: count,
    });
    vulkan.vkAllocateCommandBuffers(device.handle, allocation, scratch.address(out));
    return [pool, Array.from({ length: count }, (_, i) => scratch.getU64(out + 8 * i))];
  });
}
