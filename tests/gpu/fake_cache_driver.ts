/** A driver whose caches are sets of words: the data is a header and the words of the set, sorted. */
import type { CacheDriver } from "../../src/gpu/pipeline_cache.ts";
import { CACHE_HEADER_BYTES } from "../../src/gpu/pipeline_cache_file.ts";

export class FakeCacheDriver implements CacheDriver {
  readonly caches = new Map<bigint, Set<string>>();
  /** Throws for data, as a driver may. */
  refuses = false;
  /** Snapshots that were taken. */
  snapshots = 0;
  /** Caches that were merged into. */
  readonly mergedInto: bigint[] = [];
  #next = 1n;

  create(data: Uint8Array | undefined): bigint {
    if (this.refuses && data !== undefined) throw new Error("not this data");
    const text = data === undefined ? "" : new TextDecoder().decode(data.subarray(CACHE_HEADER_BYTES));
    this.caches.set(this.#next, new Set(text.split(" ").filter((word) => word !== "")));
    return this.#next++;
  }

  data(cache: bigint): Uint8Array {
    this.snapshots++;
    const words = new TextEncoder().encode([...this.caches.get(cache)!].sort().join(" "));
    const data = new Uint8Array(CACHE_HEADER_BYTES + words.length);
    data.set(words, CACHE_HEADER_BYTES);
    return data;
  }

  merge(into: bigint, from: bigint): void {
    this.mergedInto.push(into);
    for (const word of this.caches.get(from)!) this.caches.get(into)!.add(word);
  }

  destroy(cache: bigint): void {
    this.caches.delete(cache);
  }
}

/** Identity of no real device. */
export function fakeIdentity(name: string) {
  return { name, bytes: new TextEncoder().encode(`identity of ${name}`) };
}
