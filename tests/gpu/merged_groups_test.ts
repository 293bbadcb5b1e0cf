import { assert, assertEquals } from "@std/assert";
import { HostBuffer } from "../../src/gpu/buffer.ts";
import { CommandQueue } from "../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { probeDevice } from "../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../src/gpu/recompiler_device.ts";
import type { Artifact } from "../../src/recompiler/request.ts";
import { GROUP_PROGRAMS, groupCaseOf } from "../recompiler/stages/group_cases.ts";
import { compareGroups, type GroupCase, type GroupHost } from "../recompiler/stages/group_frame.ts";
import type { DeviceMemory } from "../support/spirv_eval/memory.ts";
import { deviceTest } from "../support/vulkan.ts";

/** Room for all memory of a case; each piece of it begins at a multiple of {@linkcode ALIGNMENT}. */
const BYTES = 1 << 20, ALIGNMENT = 256;

/** A device that runs modules on copies of the memory, which is copied back when they are done. */
class DeviceHost implements GroupHost {
  readonly #layout: bigint;
  readonly #queue: CommandQueue;
  readonly #buffer: HostBuffer;
  #pieces: { at: number; bytes: Uint8Array }[] = [];
  #next = 0;

  constructor(private readonly device: GpuDevice) {
    this.#layout = createPipelineLayout(device);
    this.#queue = new CommandQueue(device, { buffers: 2 });
    this.#buffer = new HostBuffer(device, BYTES);
  }

  addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
    const at = this.#next;
    this.#next = Math.ceil((at + bytes.length) / ALIGNMENT) * ALIGNMENT;
    assert(this.#next <= BYTES);
    this.#pieces.push({ at, bytes });
    return this.#buffer.deviceAddress + BigInt(at);
  }

  run({ spirv, subgroupSize }: Artifact, _: DeviceMemory, push: DataView, groups: number): void {
    const { device } = this, queue = this.#queue, memory = new Uint8Array(this.#buffer.buffer);
    for (const { at, bytes } of this.#pieces) memory.set(bytes, at);
    const pipeline = createComputePipeline(device, {
      spirv: new Uint32Array(spirv),
      layout: this.#layout,
      ...(subgroupSize === undefined ? {} : { requiredSubgroupSize: subgroupSize, fullSubgroups: true }),
    });
    queue.begin();
    queue.bindPipeline(pipeline.handle);
    for (let at = 0; at < push.byteLength; at += 4) queue.push[at / 4] = push.getUint32(at, true);
    queue.pushConstants(this.#layout, push.byteLength);
    queue.dispatch(groups, 1, 1);
    queue.wait(queue.submit());
    for (const { at, bytes } of this.#pieces) bytes.set(memory.subarray(at, at + bytes.length));
    destroyPipeline(device, pipeline);
    this.#pieces = [];
    this.#next = 0;
  }

  destroy(): void {
    this.#queue.destroy();
    this.#buffer.destroy();
    destroyPipelineLayout(this.device, this.#layout);
  }
}

function compareOn(device: GpuDevice, cases: readonly GroupCase[]): number {
  const { float, endsLoops } = probeDevice(device), host = new DeviceHost(device);
  const target = recompilerDevice(device.capabilities, float, endsLoops);
  try {
    return cases.reduce((sum, c) => sum + compareGroups(c, { host: { device: target, host } }).groups, 0);
  } finally {
    host.destroy();
  }
}

deviceTest("merged groups give on the device at hand what the interpreter gives", (device) => {
  const cases = GROUP_PROGRAMS.flatMap((program) => [32, 64].map((wave) => groupCaseOf(program, wave as 32 | 64)));
  assertEquals(compareOn(device, cases), 2 * cases.length);
});
