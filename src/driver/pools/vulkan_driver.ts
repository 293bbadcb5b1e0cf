/**
 * The driver's side of pipelines: what {@linkcode PipelineDriver} does with Vulkan. Every isolate has its own over the same device.
 *
 * @module
 */
import type { GpuDevice } from "../../gpu/device.ts";
import { createComputePipeline } from "../../gpu/pipelines.ts";
import type { PipelineRequest } from "../vulkan/pipeline_request.ts";
import type { PipelineDriver } from "./prebuild.ts";

/** A pipeline that this isolate created. */
export interface Creation {
  readonly request: PipelineRequest;
  /** Milliseconds. */
  readonly ms: number;
  /** The driver had it in the pipeline cache, by its own word. */
  readonly hit: boolean;
  /** For the journal: see `PipelineAhead.record`. */
  readonly record: Uint8Array | undefined;
}

/** See the module. */
export class VulkanPipelineDriver implements PipelineDriver<PipelineRequest> {
  readonly cached?: (request: PipelineRequest, record?: Uint8Array) => bigint | undefined;
  readonly #device: GpuDevice;
  readonly #cache: bigint;
  readonly #created: (creation: Creation) => void;

  /**
   * @param cache VkPipelineCache, or 0
   * @param created told of each creation, after it; must not throw
   */
  constructor(device: GpuDevice, cache: bigint, created: (creation: Creation) => void = () => {}) {
    this.#device = device;
    this.#cache = cache;
    this.#created = created;
    if (device.capabilities.features.includes("pipelineCreationCacheControl")) {
      this.cached = (request, record) => this.#create(request, true, record);
    }
  }

  create(request: PipelineRequest, record?: Uint8Array): bigint {
    return this.#create(request, false, record)!;
  }

  /** Destroys a pipeline that nobody uses. */
  destroy(pipeline: bigint): void {
    this.#device.vulkan.vkDestroyPipeline(this.#device.handle, pipeline, 0n);
  }

  #create(request: PipelineRequest, onlyCached: boolean, record: Uint8Array | undefined): bigint | undefined {
    const { spirv, layout, subgroupSize } = request, start = performance.now();
    const pipeline = createComputePipeline(this.#device, {
      spirv,
      layout,
      requiredSubgroupSize: subgroupSize,
      fullSubgroups: subgroupSize !== undefined,
      cache: this.#cache,
      onlyCached,
    });
    if (pipeline === undefined) return undefined;
    const hit = onlyCached || (pipeline.feedback?.cacheHit ?? false);
    this.#created({ request, ms: performance.now() - start, hit, record });
    return pipeline.handle;
  }
}
