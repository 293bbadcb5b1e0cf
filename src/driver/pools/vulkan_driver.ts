/**
 * The driver's side of pipelines: what {@linkcode PipelineDriver} does with Vulkan. Every isolate has its own over the same device.
 *
 * @module
 */
import { trimHeaps } from "../../../ffi/libc.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import {
  type ComputePipeline,
  type ComputePipelineRequest,
  createComputePipeline,
  createComputePipelineAsync,
} from "../../gpu/pipelines.ts";
import { heldLocks, lockNames } from "../../sync/held_locks.ts";
import { tracer } from "../../sync/tracer.ts";
import type { CompileMeter } from "../compile_cost/compile_meter.ts";
import { profileCreation } from "../compile_cost/profile_draw.ts";
import type { PipelineRequest } from "../vulkan/pipeline_request.ts";
import { recordedAddress } from "../warm_start/recorded_pipeline.ts";
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

/** What compiles go through. */
type Meter = Pick<CompileMeter, "compile" | "compileAsync">;

/** See the module. */
export class VulkanPipelineDriver implements PipelineDriver<PipelineRequest> {
  readonly cached?: (request: PipelineRequest, record?: Uint8Array) => bigint | undefined;
  readonly #device: GpuDevice;
  readonly #cache: bigint;
  readonly #created: (creation: Creation) => void;
  readonly #meter: Meter | undefined;

  /**
   * @param cache VkPipelineCache, or 0
   * @param created told of each creation, after it; must not throw
   * @param meter of the room, or of an isolate without one: every compile goes through it
   */
  constructor(
    device: GpuDevice,
    cache: bigint,
    created: (creation: Creation) => void = () => {},
    meter?: Meter,
  ) {
    this.#device = device;
    this.#cache = cache;
    this.#created = created;
    this.#meter = meter;
    if (device.capabilities.features.includes("pipelineCreationCacheControl")) {
      this.cached = (request, record) => this.#create(request, true, record);
    }
  }

  create(request: PipelineRequest, record?: Uint8Array): bigint {
    return this.#create(request, false, record)!;
  }

  /** {@linkcode create} on a thread of the system: this isolate goes on. */
  async createAsync(request: PipelineRequest, record?: Uint8Array): Promise<bigint> {
    const start = performance.now(),
      make = () => createComputePipelineAsync(this.#device, this.#vulkanRequest(request));
    const pipeline = await (this.#meter?.compileAsync(request.spirv.byteLength, make, compiled) ?? make());
    return this.#done(request, pipeline, start, false, record)!;
  }

  /** Compilers use the C heap, which keeps what they free: of NVIDIA's, 15 to 33 bytes for a byte of SPIR-V and thread (docs/sync.md). */
  giveBack(): void {
    trimHeaps();
  }

  /** Destroys a pipeline that nobody uses. */
  destroy(pipeline: bigint): void {
    const device = this.#device;
    device.release(() => device.vulkan.vkDestroyPipeline(device.handle, pipeline, 0n));
  }

  #create(request: PipelineRequest, onlyCached: boolean, record: Uint8Array | undefined): bigint | undefined {
    const start = performance.now();
    const make = () => createComputePipeline(this.#device, { ...this.#vulkanRequest(request), onlyCached });
    const pipeline = onlyCached || this.#meter === undefined
      ? make()
      : this.#meter.compile(request.spirv.byteLength, make, compiled);
    return this.#done(request, pipeline, start, onlyCached, record);
  }

  #vulkanRequest({ spirv, layout, subgroupSize, specialization }: PipelineRequest): ComputePipelineRequest {
    return {
      spirv,
      layout,
      requiredSubgroupSize: subgroupSize,
      fullSubgroups: subgroupSize !== undefined,
      specialization: specialization && new Map(specialization),
      cache: this.#cache,
    };
  }

  /** Tells of a creation, or of a look into the driver's cache that found nothing. */
  #done(
    request: PipelineRequest,
    pipeline: ComputePipeline | undefined,
    start: number,
    onlyCached: boolean,
    record: Uint8Array | undefined,
  ): bigint | undefined {
    const end = performance.now(), words = request.spirv.length, ms = end - start;
    if (tracer !== undefined) {
      // A look into the driver's cache is a creation only if it found something.
      const category = pipeline === undefined ? "cache-miss" : "create";
      tracer.span(category, `pipeline of ${words} words`, start, end, `locks: ${lockNames(heldLocks())}`);
    }
    if (pipeline === undefined) return undefined;
    profileCreation({ words, ms, address: () => record && recordedAddress(record) });
    this.#created({ request, ms, hit: onlyCached || !compiled(pipeline), record });
    return pipeline.handle;
  }
}

/** Whether the driver compiled, and did not find the pipeline in the pipeline cache. */
function compiled(made: ComputePipeline | undefined): boolean {
  return made?.feedback?.cacheHit !== true;
}
