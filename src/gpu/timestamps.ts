import { AnyAgcError } from "../errors.ts";
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "./device.ts";

/** GPU timestamps of a ring of command buffers. Used through CommandQueue. */
export class TimestampPool {
  readonly #device: GpuDevice;
  readonly #pool: bigint;
  readonly #perBuffer: number;
  readonly #arena: Arena;
  readonly #results: number;
  readonly #period: number;
  readonly #bits: number;
  readonly #counts: number[];
  /** Timeline value of the submission whose timestamps each command buffer holds. */
  readonly #values: number[];
  #slot = 0;

  /**
   * Creates the query pool.
   *
   * @param buffers command buffers in the ring
   * @param perBuffer timestamps per command buffer
   */
  constructor(device: GpuDevice, buffers: number, perBuffer: number) {
    this.#device = device;
    this.#perBuffer = perBuffer;
    this.#counts = new Array<number>(buffers).fill(0);
    this.#values = new Array<number>(buffers).fill(0);
    this.#arena = new Arena(perBuffer * 8 + 4096);
    this.#results = this.#arena.allocate(perBuffer * 8);
    this.#period = device.capabilities.limits.timestampPeriod;
    this.#bits = device.capabilities.limits.timestampBits;
    const { scratch } = device;
    this.#pool = scratch.scope(() => {
      const out = scratch.allocate(8);
      const info = vk.VkQueryPoolCreateInfo.make(scratch, {
        queryType: vk.VK_QUERY_TYPE_TIMESTAMP,
        queryCount: buffers * perBuffer,
      });
      device.vulkan.vkCreateQueryPool(device.handle, info, 0n, scratch.address(out));
      return scratch.getU64(out);
    });
  }

  /** A command buffer starts to be recorded. */
  begin(slot: number, commandBuffer: bigint): void {
    this.#slot = slot;
    this.#counts[slot] = 0;
    this.#values[slot] = 0;
    this.#device.vulkan.vkCmdResetQueryPool(commandBuffer, this.#pool, slot * this.#perBuffer, this.#perBuffer);
  }

  /** Records a timestamp; returns its index in the command buffer. */
  write(commandBuffer: bigint): number {
    const index = this.#counts[this.#slot];
    if (index >= this.#perBuffer) {
      throw new AnyAgcError("gpu.timestamps", `a command buffer holds ${this.#perBuffer} timestamps`);
    }
    this.#counts[this.#slot] = index + 1;
    const query = this.#slot * this.#perBuffer + index;
    this.#device.vulkan.vkCmdWriteTimestamp2(commandBuffer, vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, this.#pool, query);
    return index;
  }

  /** The command buffer was submitted. */
  submitted(slot: number, value: number): void {
    this.#values[slot] = value;
  }

  /**
   * Timestamps of a completed submission, in nanoseconds since its first one. They are kept until the ring comes around.
   *
   * @param value from CommandQueue.submit
   * @throws {AnyAgcError} `gpu.timestamps` when they are not kept any more
   */
  read(value: number): Float64Array {
    const slot = this.#values.indexOf(value);
    if (slot < 0) throw new AnyAgcError("gpu.timestamps", `the timestamps of submission ${value} are not kept`);
    const count = this.#counts[slot];
    const times = new Float64Array(count);
    if (count === 0) return times;
    const results = this.#device.vulkan.vkGetQueryPoolResults(
      this.#device.handle,
      this.#pool,
      slot * this.#perBuffer,
      count,
      BigInt(count * 8),
      this.#arena.address(this.#results),
      8n,
      vk.VK_QUERY_RESULT_64_BIT,
    );
    if (results === vk.VK_NOT_READY) throw new AnyAgcError("gpu.timestamps", `submission ${value} has not completed`);
    const first = this.#arena.getU64(this.#results);
    for (let i = 0; i < count; i++) {
      // Counters wrap at their valid bits.
      times[i] = Number(BigInt.asUintN(this.#bits, this.#arena.getU64(this.#results + 8 * i) - first)) * this.#period;
    }
    return times;
  }

  /** The device must not be using it. */
  destroy(): void {
    this.#device.vulkan.vkDestroyQueryPool(this.#device.handle, this.#pool, 0n);
  }
}
