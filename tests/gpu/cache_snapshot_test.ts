import { assert, assertEquals } from "@std/assert";
import { VK_INCOMPLETE, VK_SUCCESS } from "../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { vulkanCacheDriver } from "../../src/gpu/pipeline_cache.ts";

/** Bytes at an address, to be written. */
function at(address: bigint, bytes: number): Uint8Array {
  return new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, bytes));
}

/** A device whose pipeline cache has so many bytes at each call of vkGetPipelineCacheData: other isolates create meanwhile. */
function growingCache(sizeAt: (call: number) => number) {
  let calls = 0;
  const vulkan = {
    vkGetPipelineCacheData(_device: bigint, _cache: bigint, sizeAddress: bigint, data: bigint): number {
      const has = sizeAt(calls++), size = new DataView(at(sizeAddress, 8).buffer);
      if (data === 0n) {
        size.setBigUint64(0, BigInt(has), true);
        return VK_SUCCESS;
      }
      const asked = Number(size.getBigUint64(0, true)), given = Math.min(asked, has);
      at(data, given).fill(has);
      size.setBigUint64(0, BigInt(given), true);
      return given < has ? VK_INCOMPLETE : VK_SUCCESS;
    },
  };
  return { device: { vulkan, handle: 1n } as unknown as GpuDevice, calls: () => calls };
}

Deno.test("a snapshot that a creation made incomplete is taken again, and is whole then", () => {
  // Asked for its size it has 8 bytes, and 24 when they are read; the second time it stays as it is.
  const { device, calls } = growingCache((call) => call === 0 ? 8 : 24);
  assertEquals(vulkanCacheDriver(device).data(7n), new Uint8Array(24).fill(24));
  assertEquals(calls(), 4);
});

Deno.test("a cache that grows at every look is given up, not looked at for ever", () => {
  const { device, calls } = growingCache((call) => 8 + call);
  assertEquals(vulkanCacheDriver(device).data(7n), undefined);
  assert(calls() >= 4);
});
