/**
 * Runs a compute SPIR-V module as it is, with descriptor sets, on a Vulkan device: the oracle for machine code that a compiler made from that module.
 * Nothing of the recompiler or the driver takes part; on a device of the test helpers the validation layer watches.
 */
import * as vk from "../../ffi/vulkan/mod.ts";
import { HostBuffer } from "../../src/gpu/buffer.ts";
import { CommandQueue } from "../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { allocateSets, createSetLayouts, type SetWrite } from "./spirv_oracle/descriptor_sets.ts";
import { OracleImage } from "./spirv_oracle/image.ts";
import { createSampler, type OracleSampler } from "./spirv_oracle/sampler.ts";
import { reflectBindings } from "./spirv_reflect.ts";

/** What a module works on. */
export type OracleResource =
  | { kind: "buffer"; data: ArrayBufferView }
  /** A 2D image of one level. */
  | {
    kind: "image";
    /** Texels. */
    width: number;
    height: number;
    /** VkFormat. */
    format: number;
    texelBytes: number;
    /** Rows without padding; zeros when left out. */
    data?: ArrayBufferView;
    /** For combined bindings; nearest and clamped when left out. */
    sampler?: OracleSampler;
  }
  | { kind: "sampler"; sampler: OracleSampler };

/** One run of a module. */
export interface SpirvRequest {
  spirv: Uint32Array;
  /** `main` when left out. */
  entryPoint?: string;
  /** Workgroups. */
  groups: readonly [number, number, number];
  /**
   * Resources by key: `SET.BINDING`, with `[i]` behind it for element i of an array of descriptors. Buffers under other keys are reached by their
   * address, from `pushConstants`.
   */
  resources: Readonly<Record<string, OracleResource>>;
  /** Push-constant dwords in order, or the device address of a buffer (two dwords, low first). At most 128 bytes. */
  pushConstants?: readonly (number | { addressOf: string })[];
  /** 32-bit specialization constants by SpecId. */
  specialization?: ReadonlyMap<number, number>;
}

/** Bytes of every buffer and image (rows without padding) after the run, by key. */
export type OracleResults = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** What a run took; filled in by {@linkcode runSpirv}. */
export interface OracleTimes {
  /** Dispatches, one after the other. */
  readonly dispatches: number;
  /** Milliseconds: creating the pipeline, and all dispatches by the device's clock (0 without one). */
  createMs: number;
  deviceMs: number;
}

/** Runs the module to its end. @param times how often, and where to write how long it took */
export function runSpirv(device: GpuDevice, request: SpirvRequest, times?: OracleTimes): OracleResults {
  using run = new OracleRun(device, request);
  return run.execute(times);
}

/** One run, with everything that must be destroyed behind it. */
class OracleRun {
  readonly #device: GpuDevice;
  readonly #request: SpirvRequest;
  readonly #buffers = new Map<string, HostBuffer>();
  readonly #images = new Map<string, OracleImage>();
  readonly #cleanUp: (() => void)[] = [];

  constructor(device: GpuDevice, request: SpirvRequest) {
    this.#device = device;
    this.#request = request;
    for (const [key, resource] of Object.entries(request.resources)) {
      if (resource.kind === "buffer") {
        const { buffer, byteOffset, byteLength } = resource.data;
        const copy = new HostBuffer(device, byteLength, new Uint8Array(buffer, byteOffset, byteLength));
        this.#buffers.set(key, copy);
        this.#cleanUp.push(() => copy.destroy());
      } else if (resource.kind === "image") {
        const image = new OracleImage(device, resource);
        this.#images.set(key, image);
        this.#cleanUp.push(() => image.destroy());
      }
    }
  }

  execute(times: OracleTimes = { dispatches: 1, createMs: 0, deviceMs: 0 }): OracleResults {
    const device = this.#device;
    const { spirv, entryPoint, specialization, groups } = this.#request;
    const bindings = reflectBindings(spirv);
    const writes = bindings.flatMap((binding) =>
      Array.from({ length: binding.count }, (_, element) => {
        const key = `${binding.set}.${binding.binding}${binding.count === 1 ? "" : `[${element}]`}`;
        return this.#write({ ...binding, element }, key);
      })
    );
    const layouts = createSetLayouts(device, bindings);
    this.#cleanUp.push(() => layouts.destroy());
    const sets = allocateSets(device, layouts, writes);
    this.#cleanUp.push(() => sets.destroy());
    const layout = createPipelineLayout(device, layouts.handles);
    this.#cleanUp.push(() => destroyPipelineLayout(device, layout));
    const start = performance.now();
    const pipeline = createComputePipeline(device, { spirv, entryPoint, layout, specialization });
    times.createMs = performance.now() - start;
    this.#cleanUp.push(() => destroyPipeline(device, pipeline));
    const queue = new CommandQueue(device, { buffers: 1, timestamps: 2 });
    this.#cleanUp.push(() => queue.destroy());

    queue.begin();
    for (const image of this.#images.values()) image.upload(queue);
    queue.barrier();
    queue.bindPipeline(pipeline.handle);
    sets.bind(queue, layout);
    this.#pushConstants(queue, layout);
    queue.timestamp();
    for (let i = 0; i < times.dispatches; i++) {
      queue.dispatch(...groups);
      queue.barrier();
    }
    queue.timestamp();
    for (const image of this.#images.values()) image.download(queue);
    const value = queue.submit();
    queue.wait(value);
    times.deviceMs = (queue.timestamps?.read(value)[1] ?? 0) / 1e6;

    const results = new Map<string, Uint8Array<ArrayBuffer>>();
    for (const [key, { buffer }] of this.#buffers) results.set(key, new Uint8Array(buffer.slice(0)));
    for (const [key, image] of this.#images) results.set(key, image.contents());
    return results;
  }

  [Symbol.dispose](): void {
    while (this.#cleanUp.length > 0) this.#cleanUp.pop()!();
  }

  #write(at: Omit<SetWrite, "buffer" | "view" | "sampler">, key: string): SetWrite {
    const resource = this.#request.resources[key];
    const buffer = this.#buffers.get(key), image = this.#images.get(key);
    const wrong = (): never => {
      throw new Error(`binding ${key} is a ${at.kind}; the request gives it ${resource?.kind ?? "nothing"}`);
    };
    switch (at.kind) {
      case "storage_buffer":
      case "uniform_buffer":
        return buffer === undefined ? wrong() : { ...at, buffer };
      case "storage_image":
      case "sampled_image":
        return image === undefined ? wrong() : { ...at, view: image.view };
      case "combined_image_sampler":
        if (image === undefined || resource?.kind !== "image") return wrong();
        return { ...at, view: image.view, sampler: this.#sampler(resource.sampler ?? "nearest-clamp") };
      case "sampler":
        return resource?.kind === "sampler" ? { ...at, sampler: this.#sampler(resource.sampler) } : wrong();
    }
  }

  #sampler(sampler: OracleSampler): bigint {
    const handle = createSampler(this.#device, sampler);
    this.#cleanUp.push(() => vk.openVulkanDrawing().vkDestroySampler(this.#device.handle, handle, 0n));
    return handle;
  }

  #pushConstants(queue: CommandQueue, layout: bigint): void {
    const words = (this.#request.pushConstants ?? []).flatMap((value) => {
      if (typeof value === "number") return [value];
      const buffer = this.#buffers.get(value.addressOf);
      if (buffer === undefined) throw new Error(`the request has no buffer ${value.addressOf}`);
      return [Number(buffer.deviceAddress & 0xffff_ffffn), Number(buffer.deviceAddress >> 32n)];
    });
    queue.push.fill(0);
    queue.push.set(words);
    queue.pushConstants(layout);
  }
}
