import { AnyAgcError } from "../errors.ts";
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { pushConstantBytes } from "./choose_device.ts";
import type { GpuDevice } from "./device.ts";

/** What to build a compute pipeline from. */
export interface ComputePipelineRequest {
  /** The SPIR-V module. */
  readonly spirv: Uint32Array;
  /** Name of the entry point; `main` when left out. */
  readonly entryPoint?: string;
  /** VkPipelineLayout, from {@linkcode createPipelineLayout}. */
  readonly layout: bigint;
  /** Lanes per subgroup that the pipeline must run with: a power of two in the device's range. The device chooses when left out. */
  readonly requiredSubgroupSize?: number;
  /** Every subgroup of a workgroup must have all its lanes; the workgroup's x size must be a multiple of the subgroup size. */
  readonly fullSubgroups?: boolean;
  /** Values of 32-bit specialization constants by SpecId. */
  readonly specialization?: ReadonlyMap<number, number>;
  /** VkPipelineCache. */
  readonly cache?: bigint;
  /** Do not compile: give undefined unless the driver's caches have the result. */
  readonly onlyCached?: boolean;
}

/** A compute pipeline. */
export interface ComputePipeline {
  /** VkPipeline. */
  readonly handle: bigint;
  /** What the driver says about the creation; undefined when it says nothing. */
  readonly feedback?: {
    /** Nanoseconds that the driver took. */
    readonly nanoseconds: number;
    /** The pipeline was in the pipeline cache that the application gave. */
    readonly cacheHit: boolean;
  };
}

/** Creates the pipeline layout of all compute programs: 128 bytes of push constants, no descriptor sets. */
export function createPipelineLayout(device: GpuDevice, setLayouts: readonly bigint[] = []): bigint {
  const { scratch } = device;
  return scratch.scope(() => {
    const info = vk.VkPipelineLayoutCreateInfo.make(scratch, {
      setLayoutCount: setLayouts.length,
      pSetLayouts: scratch.u64s(setLayouts),
      pushConstantRangeCount: 1,
      pPushConstantRanges: vk.VkPushConstantRange.make(scratch, {
        stageFlags: vk.VK_SHADER_STAGE_COMPUTE_BIT,
        offset: 0,
        size: pushConstantBytes,
      }),
    });
    const out = scratch.allocate(8);
    device.vulkan.vkCreatePipelineLayout(device.handle, info, 0n, scratch.address(out));
    return scratch.getU64(out);
  });
}

/** Destroys a layout from {@linkcode createPipelineLayout}. */
export function destroyPipelineLayout(device: GpuDevice, layout: bigint): void {
  device.release(() => device.vulkan.vkDestroyPipelineLayout(device.handle, layout, 0n));
}

/**
 * Builds a compute pipeline on the calling thread. The driver may take from milliseconds to minutes.
 *
 * @returns the pipeline; undefined only when `onlyCached` was asked for and the driver would have to compile
 * @throws {VulkanError} when the driver refuses
 */
export function createComputePipeline(
  device: GpuDevice,
  request: ComputePipelineRequest & { onlyCached?: false },
): ComputePipeline;
/** With `onlyCached`, the result may be undefined. */
export function createComputePipeline(device: GpuDevice, request: ComputePipelineRequest): ComputePipeline | undefined;
export function createComputePipeline(device: GpuDevice, request: ComputePipelineRequest): ComputePipeline | undefined {
  const build = new PipelineBuild(device, request);
  try {
    const { vulkan, handle } = device;
    return build.finish(vulkan.vkCreateComputePipelines(handle, request.cache ?? 0n, 1, build.info, 0n, build.out));
  } finally {
    build.destroy();
  }
}

/** Like {@linkcode createComputePipeline}, on a thread of the pool: this isolate goes on. */
export async function createComputePipelineAsync(
  device: GpuDevice,
  request: ComputePipelineRequest,
): Promise<ComputePipeline | undefined> {
  const build = new PipelineBuild(device, request);
  try {
    const { vulkan, handle } = device;
    return build.finish(
      await vulkan.vkCreateComputePipelinesAsync(handle, request.cache ?? 0n, 1, build.info, 0n, build.out),
    );
  } finally {
    build.destroy();
  }
}

/** Destroys a pipeline. The device must not be using it, unless for work that was given up ({@linkcode GpuDevice.giveUp}). */
export function destroyPipeline(device: GpuDevice, pipeline: ComputePipeline): void {
  device.release(() => device.vulkan.vkDestroyPipeline(device.handle, pipeline.handle, 0n));
}

/** The structs of one creation, in memory of their own: an asynchronous creation outlives the call. */
class PipelineBuild {
  /** Address of the VkComputePipelineCreateInfo. */
  readonly info: bigint;
  /** Address of the VkPipeline to be written. */
  readonly out: bigint;
  readonly #arena: Arena;
  readonly #device: GpuDevice;
  readonly #module: bigint;
  readonly #pipeline: number;
  readonly #feedback: number;

  constructor(device: GpuDevice, request: ComputePipelineRequest) {
    checkRequest(device, request);
    this.#device = device;
    const specialization = [...request.specialization ?? []];
    const arena = this.#arena = new Arena(request.spirv.byteLength + specialization.length * 32 + 4096);
    this.#module = createShaderModule(device, arena, request.spirv);
    try {
      const size = request.requiredSubgroupSize;
      this.#feedback = vk.VkPipelineCreationFeedback.allocate(arena);
      this.#pipeline = arena.allocate(8);
      this.out = arena.address(this.#pipeline);
      const stage = {
        flags: request.fullSubgroups ? vk.VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
        stage: vk.VK_SHADER_STAGE_COMPUTE_BIT,
        module: this.#module,
        pName: arena.string(request.entryPoint ?? "main"),
        pSpecializationInfo: specializationInfo(arena, specialization),
        pNext: size === undefined
          ? 0n
          : vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo.make(arena, { requiredSubgroupSize: size }),
      };
      this.info = vk.VkComputePipelineCreateInfo.make(arena, {
        pNext: vk.VkPipelineCreationFeedbackCreateInfo.make(arena, {
          pPipelineCreationFeedback: arena.address(this.#feedback),
        }),
        flags: request.onlyCached ? vk.VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT : 0,
        stage,
        layout: request.layout,
        basePipelineIndex: -1,
      });
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  /** The pipeline, from the result of vkCreateComputePipelines; undefined for VK_PIPELINE_COMPILE_REQUIRED. */
  finish(result: number): ComputePipeline | undefined {
    if (result === vk.VK_PIPELINE_COMPILE_REQUIRED) return undefined;
    const handle = this.#arena.getU64(this.#pipeline);
    const { flags, duration } = vk.VkPipelineCreationFeedback.read(this.#arena, this.#feedback);
    if ((flags & vk.VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT) === 0) return { handle };
    const cacheHit = (flags & vk.VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT) !== 0;
    return { handle, feedback: { nanoseconds: Number(duration), cacheHit } };
  }

  /** Destroys the shader module, which the pipeline does not need any more. */
  destroy(): void {
    this.#device.vulkan.vkDestroyShaderModule(this.#device.handle, this.#module, 0n);
  }
}

function checkRequest(device: GpuDevice, request: ComputePipelineRequest): void {
  const { subgroup, features } = device.capabilities;
  const size = request.requiredSubgroupSize;
  if (size !== undefined) {
    const known = size >= subgroup.minimumSize && size <= subgroup.maximumSize && (size & (size - 1)) === 0;
    if (!subgroup.canRequireSize || !known) {
      const range = subgroup.canRequireSize ? `${subgroup.minimumSize} to ${subgroup.maximumSize}` : "none";
      throw new AnyAgcError(
        "gpu.subgroup-size",
        `the device cannot run with ${size} lanes per subgroup (it can be asked for: ${range})`,
      );
    }
  }
  if (request.fullSubgroups && !subgroup.canRequireFull) {
    throw new AnyAgcError("gpu.full-subgroups", "the device cannot promise full subgroups");
  }
  if (request.onlyCached && !features.includes("pipelineCreationCacheControl")) {
    throw new AnyAgcError(
      "gpu.cache-control",
      "the device cannot create pipelines from its caches only (pipelineCreationCacheControl)",
    );
  }
}

function createShaderModule(device: GpuDevice, arena: Arena, spirv: Uint32Array): bigint {
  const out = arena.allocate(8);
  const info = vk.VkShaderModuleCreateInfo.make(arena, {
    codeSize: BigInt(spirv.byteLength),
    pCode: arena.u32s(spirv),
  });
  device.vulkan.vkCreateShaderModule(device.handle, info, 0n, arena.address(out));
  return arena.getU64(out);
}

function specializationInfo(arena: Arena, values: readonly (readonly [id: number, value: number])[]): bigint {
  if (values.length === 0) return 0n;
  return vk.VkSpecializationInfo.make(arena, {
    mapEntryCount: values.length,
    pMapEntries: vk.VkSpecializationMapEntry.makeArray(
      arena,
      values.map(([id], i) => ({ constantID: id, offset: i * 4, size: 4n })),
    ),
    dataSize: BigInt(values.length * 4),
    pData: arena.u32s(values.map(([, value]) => value)),
  });
}
