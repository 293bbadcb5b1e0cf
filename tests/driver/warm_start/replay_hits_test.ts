import { assertEquals } from "@std/assert";
import { VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT as ONLY_CACHED } from "../../../ffi/vulkan/mod.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { manyPipelines } from "./programs.ts";
import { inFolder, openStore, run } from "./stores.ts";

/** Offset of flags in VkComputePipelineCreateInfo (vulkan_core.h, 64-bit). */
const FLAGS_AT = 16;

deviceTest(
  "what the driver has in its caches a replay creates without the budget, the rest within it",
  (device) =>
    inFolder(async (folder) => {
      const program = manyPipelines(1, 5), { vulkan } = device;
      const recording = openStore(device, folder);
      run(device, program, recording);
      recording.close();
      const create = vulkan.vkCreateComputePipelines, createAsync = vulkan.vkCreateComputePipelinesAsync;
      /** Of so many the driver says that its caches have them. */
      let known = 0, compiled = 0;
      Object.assign(vulkan, {
        vkCreateComputePipelines(...args: Parameters<typeof create>) {
          const [, , , info] = args, memory = Deno.UnsafePointer.create(info)!;
          const flags = new Uint32Array(Deno.UnsafePointerView.getArrayBuffer(memory, 4, FLAGS_AT));
          if ((flags[0] & ONLY_CACHED) !== 0 && known > 0) {
            known--;
            flags[0] &= ~ONLY_CACHED;
          }
          return create(...args);
        },
        vkCreateComputePipelinesAsync(...args: Parameters<typeof createAsync>) {
          compiled++;
          return createAsync(...args);
        },
      });
      for (const hits of [5, 2, 0]) {
        known = hits;
        compiled = 0;
        const store = openStore(device, folder);
        const replay = await store.replay();
        assertEquals([replay.created, replay.hits, replay.failed, compiled], [5, hits, 0, 5 - hits]);
        run(device, program, store);
        assertEquals([store.used, store.built], [5, 0]);
        store.close();
      }
    }),
);
