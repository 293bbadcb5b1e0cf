import { Arena } from "../../../ffi/arena.ts";
import * as vk from "../../../ffi/vulkan/mod.ts";
import { HostError } from "../../../src/errors.ts";
import { KINDS } from "./descriptor_layout.ts";
import type { NullDevice } from "./device.ts";
import type { CompileJob, JobBinding } from "./job.ts";

/**
 * Creates a compute pipeline and returns what its cache holds then. Everything that it creates is destroyed.
 *
 * @throws {VulkanError} what RADV reports
 */
export function compilePipeline(device: NullDevice, job: CompileJob): Uint8Array<ArrayBuffer> {
  const { vulkan, drawing, handle } = device;
  const code = Deno.readFileSync(job.spirv);
  const arena = new Arena(1024 * 1024 + 2 * code.length);
  const cleanUp: (() => void)[] = [];
  /** Calls a create command with the address of its result; returns the handle. */
  const create = (call: (out: bigint) => unknown, destroy?: (object: bigint) => void): bigint => {
    const out = arena.allocate(8);
    call(arena.address(out));
    const object = arena.getU64(out);
    if (destroy !== undefined) cleanUp.push(() => destroy(object));
    return object;
  };
  try {
    const moduleInfo = vk.VkShaderModuleCreateInfo.make(arena, {
      codeSize: BigInt(code.length),
      pCode: arena.copyBytes(code),
    });
    const module = create(
      (out) => vulkan.vkCreateShaderModule(handle, moduleInfo, 0n, out),
      (object) => vulkan.vkDestroyShaderModule(handle, object, 0n),
    );
    const sets = job.sets.map((bindings) =>
      create(
        (out) => drawing.vkCreateDescriptorSetLayout(handle, setLayoutInfo(arena, bindings), 0n, out),
        (object) => drawing.vkDestroyDescriptorSetLayout(handle, object, 0n),
      )
    );
    const layout = create(
      (out) => vulkan.vkCreatePipelineLayout(handle, layoutInfo(arena, sets, job.pushConstantBytes), 0n, out),
      (object) => vulkan.vkDestroyPipelineLayout(handle, object, 0n),
    );
    const cache = create(
      (out) => vulkan.vkCreatePipelineCache(handle, vk.VkPipelineCacheCreateInfo.make(arena, {}), 0n, out),
      (object) => vulkan.vkDestroyPipelineCache(handle, object, 0n),
    );
    const info = vk.VkComputePipelineCreateInfo.make(arena, {
      stage: {
        pNext: vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo.make(arena, {
          requiredSubgroupSize: job.waveSize,
        }),
        stage: vk.VK_SHADER_STAGE_COMPUTE_BIT,
        module,
        pName: arena.string(job.entryPoint),
        pSpecializationInfo: specializationInfo(arena, job.specialization),
      },
      layout,
      basePipelineIndex: -1,
    });
    create(
      (out) => {
        const result = vulkan.vkCreateComputePipelines(handle, cache, 1, info, 0n, out);
        if (result !== vk.VK_SUCCESS) {
          throw new HostError("host.radv", `vkCreateComputePipelines returned ${result}`);
        }
      },
      (object) => vulkan.vkDestroyPipeline(handle, object, 0n),
    );
    return cacheData(device, cache);
  } finally {
    while (cleanUp.length > 0) cleanUp.pop()!();
  }
}

/** Everything that a pipeline cache holds. */
export function cacheData({ vulkan, handle }: NullDevice, cache: bigint): Uint8Array<ArrayBuffer> {
  const size = new Arena();
  const at = size.allocate(8);
  vulkan.vkGetPipelineCacheData(handle, cache, size.address(at), 0n);
  const bytes = Number(size.getU64(at));
  const data = new Arena(bytes + 16);
  const offset = data.allocate(bytes, 16);
  if (vulkan.vkGetPipelineCacheData(handle, cache, size.address(at), data.address(offset)) !== vk.VK_SUCCESS) {
    throw new HostError("host.radv", "vkGetPipelineCacheData did not give everything");
  }
  return data.bytes.slice(offset, offset + Number(size.getU64(at)));
}

/** VkDescriptorSetLayoutCreateInfo of bindings, for these stages. */
export function setLayoutInfo(
  arena: Arena,
  bindings: readonly JobBinding[],
  stageFlags: number = vk.VK_SHADER_STAGE_COMPUTE_BIT,
): bigint {
  return vk.VkDescriptorSetLayoutCreateInfo.make(arena, {
    bindingCount: bindings.length,
    pBindings: vk.VkDescriptorSetLayoutBinding.makeArray(
      arena,
      bindings.map(({ binding, type, count }) => ({
        binding,
        descriptorType: KINDS[type].vulkan,
        descriptorCount: count,
        stageFlags,
      })),
    ),
  });
}

/** VkPipelineLayoutCreateInfo of set layouts and one range of push constants, for these stages. */
export function layoutInfo(
  arena: Arena,
  sets: readonly bigint[],
  pushConstantBytes: number,
  stageFlags: number = vk.VK_SHADER_STAGE_COMPUTE_BIT,
): bigint {
  const ranges = pushConstantBytes === 0 ? [] : [{ stageFlags, offset: 0, size: pushConstantBytes }];
  return vk.VkPipelineLayoutCreateInfo.make(arena, {
    setLayoutCount: sets.length,
    pSetLayouts: arena.u64s(sets),
    pushConstantRangeCount: ranges.length,
    pPushConstantRanges: vk.VkPushConstantRange.makeArray(arena, ranges),
  });
}

function specializationInfo(arena: Arena, constants: CompileJob["specialization"]): bigint {
  if (constants.length === 0) return 0n;
  const data = arena.allocate(8 * constants.length);
  constants.forEach(({ value }, i) => arena.setU64(data + 8 * i, BigInt(value)));
  const entries = vk.VkSpecializationMapEntry.makeArray(
    arena,
    constants.map(({ id, bytes }, i) => ({ constantID: id, offset: 8 * i, size: BigInt(bytes) })),
  );
  return vk.VkSpecializationInfo.make(arena, {
    mapEntryCount: constants.length,
    pMapEntries: entries,
    dataSize: BigInt(8 * constants.length),
    pData: arena.address(data),
  });
}
