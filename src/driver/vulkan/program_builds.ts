/**
 * Where a program cache gets recompiled programs and pipelines from: made here and owned by one isolate ({@linkcode LocalBuilds}), or shared
 * by all isolates of the process (room_builds.ts).
 *
 * @module
 */
import type { GpuDevice } from "../../gpu/device.ts";
import { type ComputePipeline, destroyPipeline } from "../../gpu/pipelines.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { VulkanPipelineDriver } from "../pools/vulkan_driver.ts";
import type { RegisteredShader } from "../registry/programs.ts";
import type { RequestDump } from "../request_dump.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import type { PipelineStore } from "../warm_start/pipeline_store.ts";
import { encodeRecorded } from "../warm_start/recorded_pipeline.ts";
import { pipelineRequest } from "./pipeline_request.ts";

/** A recompiled program. */
export interface MadeArtifact {
  readonly artifact: Artifact;
  /** Milliseconds that it took, looking it up included; 0 for one that was there. */
  readonly recompileMs: number;
  /** Its pipeline, where it came with one. */
  readonly ready?: ComputePipeline;
}

/** A pipeline that can be dispatched. */
export interface MadePipeline {
  /** VkPipeline. */
  readonly handle: bigint;
  /** Milliseconds that its creation, or waiting for it, took. */
  readonly createMs: number;
  /** Names it for {@linkcode ProgramBuilds.pin}. */
  readonly reference: number;
}

/** See the module. */
export interface ProgramBuilds {
  /**
   * The program of a request. Needs no lock, and may take long.
   *
   * @param shader the guest's, if its code is registered
   * @throws what the recompiler throws
   */
  artifact(request: RecompileRequest, shader?: RegisteredShader): MadeArtifact;
  /**
   * The pipeline of a program. Needs no lock, and may take very long. It is used only while it is pinned.
   *
   * @param request that the program was made from
   */
  pipeline(request: RecompileRequest, made: MadeArtifact): MadePipeline;
  /** Keeps a pipeline from being destroyed until `unpin`; the place, or undefined if it is gone and must be made again. Neither lock nor wait. */
  pin(pipeline: MadePipeline): number | undefined;
  /** Ends a pin. */
  unpin(place: number): void;
  /** The cache does not use it any more, and no dispatch of it is in flight. */
  release(pipeline: MadePipeline): void;
  /**
   * Has the program and then its pipeline made by others, ahead of use. Absent where nobody would.
   *
   * @returns words of the request's code that belong to the program
   */
  announce?(request: RecompileRequest): number;
  /** Changes when all pipelines went: what was announced has to be announced again. */
  readonly cleared?: number;
}

/** Options of {@linkcode LocalBuilds}. */
export interface LocalBuildsOptions {
  /** Pipelines of earlier runs; gets those of this one. */
  store?: PipelineStore;
  /** Artifacts of earlier runs; gets those of this one, which are written by its owner's flush. */
  shaders?: ShaderCache;
  /** Gets every request. */
  dump?: RequestDump;
}

/** Everything is made by this isolate, and belongs to it. */
export class LocalBuilds implements ProgramBuilds {
  readonly #device: GpuDevice;
  readonly #layout: bigint;
  readonly #options: LocalBuildsOptions;
  readonly #creator: Pick<PipelineStore, "create">;

  /** @param layout VkPipelineLayout of all programs; stays the caller's */
  constructor(device: GpuDevice, layout: bigint, options: LocalBuildsOptions) {
    this.#device = device;
    this.#layout = layout;
    this.#options = options;
    this.#creator = options.store ?? new VulkanPipelineDriver(device, 0n);
  }

  artifact(request: RecompileRequest): MadeArtifact {
    const { store, shaders, dump } = this.#options;
    const file = dump?.write(request);
    const ready = store?.find(request);
    if (ready !== undefined) return { artifact: ready.artifact, recompileMs: 0, ready: ready.pipeline };
    const start = performance.now(), kept = shaders?.find(request);
    if (kept !== undefined) return { artifact: kept, recompileMs: performance.now() - start };
    try {
      const artifact = recompile(request), recompileMs = performance.now() - start;
      shaders?.add(request, artifact);
      return { artifact, recompileMs };
    } catch (error) {
      if (file !== undefined && error instanceof NeedsImageDescriptors) dump!.withdraw(file);
      throw error;
    }
  }

  pipeline(request: RecompileRequest, { artifact, ready }: MadeArtifact): MadePipeline {
    // A reference of 1: the store's.
    if (ready !== undefined) return { handle: ready.handle, createMs: 0, reference: 1 };
    const start = performance.now(), record = encodeRecorded(request, artifact.codeWords);
    const handle = this.#creator.create(pipelineRequest(artifact, this.#layout), record);
    return { handle, createMs: performance.now() - start, reference: 0 };
  }

  pin(): number {
    return 0;
  }

  unpin(): void {}

  release({ handle, reference }: MadePipeline): void {
    if (reference === 0) destroyPipeline(this.#device, { handle });
  }
}
