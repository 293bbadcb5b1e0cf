/**
 * The driver's pipeline cache, kept between runs.
 *
 * @module
 */
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "./device.ts";
import { CACHE_HEADER_BYTES, deviceIdentity, PipelineCacheFile } from "./pipeline_cache_file.ts";

/** Data beyond this is thrown away, file and all: a driver cannot drop single pipelines from a cache. */
const LIMIT_BYTES = 256 << 20;
/** As soon as the driver has compiled so long for what is not in the file, it is written: as much is lost if the process is killed. */
const SAVE_AFTER_MS = 2000;
/** Tries for a snapshot while other threads add to the cache. */
const SNAPSHOT_TRIES = 16;

/** The commands of Vulkan for pipeline caches. */
export interface CacheDriver {
  /** A VkPipelineCache with this data, or an empty one. */
  create(data: Uint8Array | undefined): bigint;
  /** Its data; undefined when other threads add to it so quickly that none can be had. */
  data(cache: bigint): Uint8Array | undefined;
  /** Adds what `from` has. */
  merge(into: bigint, from: bigint): void;
  destroy(cache: bigint): void;
}

/** Options of {@linkcode PipelineCache}. */
export interface PipelineCacheOptions {
  readonly limitBytes?: number;
  readonly saveAfterMs?: number;
}

/** A VkPipelineCache that begins with what earlier runs left, and leaves what this one adds. The file is shared with other processes. */
export class PipelineCache {
  /** VkPipelineCache, for creations. */
  readonly handle: bigint;
  /** What was wrong with the file, for people; nothing of it is an error. */
  readonly notes: string[] = [];
  /** Bytes that earlier runs left. */
  readonly loadedBytes: number;
  readonly #driver: CacheDriver;
  readonly #file: PipelineCacheFile;
  readonly #limit: number;
  readonly #saveAfter: number;
  #unsavedMs = 0;
  #dirty: boolean;
  #closed = false;

  constructor(driver: CacheDriver, file: PipelineCacheFile, options: PipelineCacheOptions = {}) {
    this.#driver = driver;
    this.#file = file;
    this.#limit = options.limitBytes ?? LIMIT_BYTES;
    this.#saveAfter = options.saveAfterMs ?? SAVE_AFTER_MS;
    const { data, problem } = file.read();
    if (problem !== undefined) this.#ignored(problem);
    let loaded = data;
    try {
      this.handle = driver.create(data);
    } catch (error) {
      this.#ignored(error instanceof Error ? error.message : String(error));
      loaded = undefined;
      this.handle = driver.create(undefined);
    }
    this.loadedBytes = loaded?.length ?? 0;
    this.#dirty = this.notes.length > 0;
  }

  /** A pipeline was created with it. Writes the file when much is not in it yet. @param hit the driver took it from the cache */
  created(milliseconds: number, hit: boolean): void {
    if (hit) return;
    this.#dirty = true;
    this.#unsavedMs += milliseconds;
    if (this.#unsavedMs >= this.#saveAfter) this.save();
  }

  /** Writes what the file does not have yet; what other processes wrote meanwhile stays. Never an error. */
  save(): void {
    if (!this.#dirty || this.#closed) return;
    this.#unsavedMs = 0;
    const result = this.#file.update(({ data }) => {
      const all = this.#snapshot(data);
      if (all === undefined) return data;
      this.#dirty = false;
      if (all.length <= CACHE_HEADER_BYTES) return undefined; // the driver keeps its results elsewhere
      if (all.length <= this.#limit) return all;
      this.notes.push(`the pipeline cache ${this.#file.path} begins anew: it would have ${all.length} bytes`);
      return undefined;
    });
    if (result === "busy" || result === "unwritable") {
      this.notes.push(`the pipeline cache ${this.#file.path} was not written: it is ${result}`);
    }
  }

  /** Saves and destroys it. Nothing may be creating with it. */
  close(): void {
    if (this.#closed) return;
    this.save();
    this.#closed = true;
    this.#driver.destroy(this.handle);
  }

  /**
   * What the cache has, together with what other processes wrote. Only that of others is merged into: a cache that is merged into must not be
   * used meanwhile (VUID-vkMergePipelineCaches-dstCache, external synchronization), and other isolates are creating with this one.
   */
  #snapshot(others: Uint8Array | undefined): Uint8Array | undefined {
    let both: bigint | undefined;
    try {
      if (others !== undefined) both = this.#merged(others);
      return this.#driver.data(both ?? this.handle);
    } catch (error) {
      // A lost device, say, of which others report; what is on the disk stays.
      this.notes.push(`the pipeline cache cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    } finally {
      if (both !== undefined) this.#driver.destroy(both);
    }
  }

  /** A cache with this one's pipelines and those of `data`; undefined when the driver does not take that, which is replaced then. */
  #merged(data: Uint8Array): bigint | undefined {
    let both: bigint | undefined;
    try {
      both = this.#driver.create(data);
      this.#driver.merge(both, this.handle);
      return both;
    } catch {
      if (both !== undefined) this.#driver.destroy(both);
      return undefined;
    }
  }

  #ignored(problem: string): void {
    this.notes.push(`the pipeline cache ${this.#file.path} is ignored and will be written anew: ${problem}`);
  }
}

/** The pipeline cache of a device in a folder. */
export function openPipelineCache(device: GpuDevice, folder: string, options?: PipelineCacheOptions): PipelineCache {
  const file = new PipelineCacheFile(folder, deviceIdentity(device.capabilities));
  return new PipelineCache(vulkanCacheDriver(device), file, options);
}

/** Vulkan's own. */
export function vulkanCacheDriver({ vulkan, handle: device }: GpuDevice): CacheDriver {
  return {
    create(data) {
      const arena = new Arena((data?.length ?? 0) + 4096);
      const out = arena.allocate(8);
      const info = vk.VkPipelineCacheCreateInfo.make(
        arena,
        data === undefined ? {} : { initialDataSize: BigInt(data.length), pInitialData: arena.copyBytes(data) },
      );
      vulkan.vkCreatePipelineCache(device, info, 0n, arena.address(out));
      return arena.getU64(out);
    },
    data(cache) {
      // Neither command needs external synchronization: creations go on meanwhile, and the cache may grow in between.
      const size = new Arena();
      const bytes = size.allocate(8);
      for (let i = 0; i < SNAPSHOT_TRIES; i++) {
        vulkan.vkGetPipelineCacheData(device, cache, size.address(bytes), 0n);
        const arena = new Arena(Number(size.getU64(bytes)) + 4096);
        const at = arena.allocate(Number(size.getU64(bytes)));
        const result = vulkan.vkGetPipelineCacheData(device, cache, size.address(bytes), arena.address(at));
        if (result === vk.VK_SUCCESS) return arena.bytes.slice(at, at + Number(size.getU64(bytes)));
      }
      return undefined;
    },
    merge(into, from) {
      const arena = new Arena();
      vulkan.vkMergePipelineCaches(device, into, 1, arena.u64s([from]));
    },
    destroy(cache) {
      vulkan.vkDestroyPipelineCache(device, cache, 0n);
    },
  };
}
