import { RefusedError, UsageError } from "../../errors.ts";
import type { DescriptorBinding } from "../shader_source.ts";
import { bytesOfView, type GuestArena } from "./arena.ts";
import { linearImageDescriptor, linearPitch, NEAREST_CLAMP_SAMPLER, rawBufferDescriptor } from "./descriptors.ts";
import type { LaunchResource, PlacedResource, PushConstant } from "./types.ts";
import { high, low } from "./descriptors.ts";

/** Puts resources into guest memory, each once, and makes their descriptors. Keeps track of which keys were asked for. */
export class Placement {
  readonly placed = new Map<string, PlacedResource>();
  readonly #resources: Readonly<Record<string, LaunchResource>>;
  readonly #arena: GuestArena;
  readonly #used = new Set<string>();

  constructor(resources: Readonly<Record<string, LaunchResource>>, arena: GuestArena) {
    this.#resources = resources;
    this.#arena = arena;
  }

  /** The resource under the first of `keys` that exists. */
  find(...keys: string[]): { key: string; resource: LaunchResource } {
    const key = keys.find((each) => Object.hasOwn(this.#resources, each));
    if (key === undefined) {
      throw new UsageError("harness.missing-resource", `the launch needs a resource named ${keys.join(" or ")}`);
    }
    this.#used.add(key);
    return { key, resource: this.#resources[key] };
  }

  /** Where a buffer or image is, placed on first use. */
  place(key: string): PlacedResource {
    const known = this.placed.get(key);
    if (known !== undefined) return known;
    const { resource } = this.find(key);
    const result = this.#put(key, resource);
    this.placed.set(key, result);
    return result;
  }

  /** Push-constant dwords, addresses filled in. */
  pushConstants(values: readonly PushConstant[]): number[] {
    return values.flatMap((value) => {
      if (typeof value === "number") {
        if (!Number.isInteger(value) || value < -0x8000_0000 || value > 0xFFFF_FFFF) {
          throw new UsageError("harness.push-constant", `${value} is no 32-bit value`);
        }
        return [value >>> 0];
      }
      const { address } = this.place(value.addressOf);
      return [low(address), high(address)];
    });
  }

  /** Contents of descriptor set `set`, built from the bindings. */
  descriptorSet(set: number, bindings: readonly DescriptorBinding[]): Uint8Array {
    const own = bindings.filter((binding) => binding.set === set);
    const bytes = Math.max(
      16,
      ...own.map(({ offset, stride, count, type }) => offset + stride * Math.max(0, count - 1) + descriptorBytes(type)),
    );
    const view = new DataView(new ArrayBuffer(bytes));
    for (const binding of own) {
      for (let element = 0; element < binding.count; element++) {
        const suffix = element === 0 ? "" : `[${element}]`;
        const { key, resource } = this.find(`${binding.name}${suffix}`, `${binding.set}.${binding.binding}${suffix}`);
        const at = binding.offset + element * binding.stride;
        this.#descriptor(binding, key, resource).forEach(({ offset, words }) => {
          words.forEach((word, i) => view.setUint32(at + offset + 4 * i, word, true));
        });
      }
    }
    return new Uint8Array(view.buffer);
  }

  /** Fails when a resource was given that nothing names: a misspelt key would otherwise pass in silence. */
  refuseUnused(): void {
    const unused = Object.keys(this.#resources).filter((key) => !this.#used.has(key));
    if (unused.length > 0) {
      throw new UsageError("harness.unused-resource", `nothing in the shader is named ${unused.join(", ")}`);
    }
  }

  #put(key: string, resource: LaunchResource): PlacedResource {
    if (resource.kind === "buffer") {
      const data = bytesOfView(resource.data);
      if (data.length === 0) throw new UsageError("harness.empty-resource", `buffer ${key} is empty`);
      return { address: this.#arena.take(`buffer ${key}`, data.length, data), bytes: data.length };
    }
    if (resource.kind !== "image") {
      throw new UsageError("harness.not-in-memory", `resource ${key} is a ${resource.kind}, which has no address`);
    }
    const { width, height, texelBytes } = resource,
      pitchBytes = linearPitch(width, texelBytes),
      bytes = pitchBytes * height;
    if (!(width >= 1 && width <= 16384 && height >= 1 && height <= 16384 && [1, 2, 4, 8, 16].includes(texelBytes))) {
      throw new UsageError("harness.image", `image ${key}: ${width}x${height} pixels of ${texelBytes} bytes`);
    }
    let padded: Uint8Array | undefined;
    if (resource.data !== undefined) {
      const rows = bytesOfView(resource.data), row = width * texelBytes;
      if (rows.length !== row * height) {
        throw new UsageError("harness.image", `image ${key}: ${rows.length} bytes for ${height} rows of ${row}`);
      }
      padded = new Uint8Array(bytes);
      for (let y = 0; y < height; y++) padded.set(rows.subarray(y * row, (y + 1) * row), y * pitchBytes);
    }
    return { address: this.#arena.take(`image ${key}`, bytes, padded), bytes, pitchBytes };
  }

  #descriptor(
    binding: DescriptorBinding,
    key: string,
    resource: LaunchResource,
  ): { offset: number; words: readonly number[] }[] {
    const { type } = binding, what = `binding ${binding.set}.${binding.binding} (${type})`;
    const wrong = (): never => {
      throw new UsageError("harness.resource-kind", `${what}: resource ${key} is a ${resource.kind}`);
    };
    if (resource.kind === "descriptor") {
      if (4 * resource.words.length > descriptorBytes(type)) {
        throw new UsageError("harness.descriptor", `${what}: ${resource.words.length} descriptor words do not fit`);
      }
      return [{ offset: 0, words: resource.words }];
    }
    switch (type) {
      case "storage_buffer":
      case "uniform_buffer": {
        if (resource.kind !== "buffer") return wrong();
        const { address, bytes } = this.place(key);
        return [{ offset: 0, words: rawBufferDescriptor(address, bytes) }];
      }
      case "storage_image":
      case "sampled_image":
      case "combined_image_sampler": {
        if (resource.kind !== "image") return wrong();
        const image = { offset: 0, words: linearImageDescriptor(this.place(key).address, resource) };
        if (type !== "combined_image_sampler") return [image];
        return [image, {
          offset: binding.samplerOffset ?? COMBINED_SAMPLER_OFFSET,
          words: resource.sampler ?? NEAREST_CLAMP_SAMPLER,
        }];
      }
      case "sampler":
        return resource.kind === "sampler" ? [{ offset: 0, words: resource.words }] : wrong();
      default:
        throw new RefusedError("harness.binding-type", `${what}: only raw descriptor words can be given for this type`);
    }
  }
}

/** Where RADV puts the sampler of a combined binding. */
const COMBINED_SAMPLER_OFFSET = 80;

/** Bytes of a binding's descriptor in RADV's sets. */
function descriptorBytes(type: string): number {
  return ({ storage_image: 32, sampled_image: 64, combined_image_sampler: 96 } as Record<string, number>)[type] ?? 16;
}
