/** Guest programs with many pipelines, and a count of what the driver creates. */
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { byteChecksum } from "../../../src/storage/byte_checksum.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { STEP } from "../../support/machine_code.ts";
import { dispatchDirect } from "../../support/packets.ts";

/** Dispatches the same code with groups of `first` to `last` threads: a pipeline for each. */
export function manyPipelines(first: number, last: number, name = "many"): LoadedProgram {
  const guest = new GuestProgram(name), code = guest.code(STEP), data = guest.buffer(new Uint32Array(1024));
  for (let threads = first; threads <= last; threads++) {
    const state = { code, userData: [...words64(data.address), 1], threads: [threads, 1, 1] as const };
    guest.submit(0, computeState(state), dispatchDirect([1, 1, 1]));
  }
  return guest.program;
}

/** The same with its dispatches on two queues in turns, so that these could run at the same time. */
export function onTwoQueues(program: LoadedProgram): LoadedProgram {
  return {
    ...program,
    submissions: program.submissions.map((each, k) => ({ ...each, queue: k % 2 === 0 ? 0 : 0x20 })),
  };
}

/** Offset of stage.module in VkComputePipelineCreateInfo, of codeSize and pCode in VkShaderModuleCreateInfo (vulkan_core.h, 64-bit). */
const MODULE_AT = 48, CODE_SIZE_AT = 24, CODE_AT = 32;

/** Calls `created` with the checksum of the module for each compute pipeline that the driver creates. */
export function watchCreations({ vulkan }: GpuDevice, created: (module: string) => void): void {
  const modules = new Map<bigint, string>();
  const view = (address: bigint) => new Deno.UnsafePointerView(Deno.UnsafePointer.create(address)!);
  const { vkCreateShaderModule, vkCreateComputePipelines, vkCreateComputePipelinesAsync } = vulkan;
  const done = (info: bigint, result: number) => {
    if (result === 0) created(modules.get(view(info).getBigUint64(MODULE_AT))!);
    return result;
  };
  Object.assign(vulkan, {
    vkCreateShaderModule(device: bigint, info: bigint, allocator: bigint, out: bigint) {
      vkCreateShaderModule(device, info, allocator, out);
      const bytes = new Uint8Array(Number(view(info).getBigUint64(CODE_SIZE_AT)));
      view(view(info).getBigUint64(CODE_AT)).copyInto(bytes);
      modules.set(view(out).getBigUint64(0), byteChecksum(bytes).toHex());
    },
    vkCreateComputePipelines: (...args: Parameters<typeof vkCreateComputePipelines>) =>
      done(args[3], vkCreateComputePipelines(...args)),
    vkCreateComputePipelinesAsync: async (...args: Parameters<typeof vkCreateComputePipelinesAsync>) =>
      done(args[3], await vkCreateComputePipelinesAsync(...args)),
  });
}
