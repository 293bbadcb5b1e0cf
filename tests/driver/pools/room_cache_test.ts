import { assert, assertEquals } from "@std/assert";
import { openDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { computePipeline } from "../../../src/driver/pools/prebuild.ts";
import { PipelineCache } from "../../../src/gpu/pipeline_cache.ts";
import { CACHE_HEADER_BYTES, PipelineCacheFile } from "../../../src/gpu/pipeline_cache_file.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { fakeIdentity } from "../../gpu/fake_cache_driver.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { inFolder } from "../warm_start/stores.ts";
import { countCreations, newFlags, trivialRequest } from "./pipelines/support.ts";

deviceTest(
  "a room's pipeline cache is written at its end, however little was compiled, and with what came after the last time",
  (device) =>
    inFolder(async (folder) => {
      await Deno.chmod(folder, 0o700);
      /** Pipelines that were created so far are the cache's data. */
      let made = 0, late = 0;
      countCreations(device, newFlags(), () => late += made++ === 1 ? 3000 : 0);
      const driver = {
        create: () => 0n,
        data: () => new Uint8Array(CACHE_HEADER_BYTES + 1).fill(made),
        merge() {},
        destroy() {},
      };
      const file = () => new PipelineCacheFile(folder, fakeIdentity("card"));
      const written = () => file().read().data?.at(-1);
      const { now } = performance;
      // All other creations take none.
      performance.now = () => late;
      try {
        for (const [creations, before, after] of [[[1], undefined, 1], [[2, 3], 2, 3], [[], 3, 3]] as const) {
          const cache = new PipelineCache(driver, file());
          const room = openDriverRoom(device, {
            cache,
            recompilerDevice: GENERIC_DEVICE,
            workers: [1, 1, 1],
            arenaBytes: 16 << 20,
          });
          for (const [k, values] of creations.entries()) {
            // The second of all takes three seconds, by the clock: it is written at once.
            for (let looks = 0; k === 1 && written() !== before; looks++) {
              assert(looks < 1000, "nothing is written");
              await new Promise((resolve) => setTimeout(resolve, 10));
            }
            const { pin } = computePipeline(room.room, trivialRequest(room.layout, values), room.driver);
            room.room.pipelines.unpin(pin);
          }
          assertEquals(written(), before);
          await room.close();
          assertEquals([written(), room.lines], [after, []]);
          cache.close();
        }
      } finally {
        performance.now = now;
      }
    }),
);
