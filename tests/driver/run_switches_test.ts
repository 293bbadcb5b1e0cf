import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SoftwareDevice } from "../../src/driver/software/software_device.ts";
import { VulkanDevice } from "../../src/driver/vulkan/vulkan_device.ts";
import { UsageError } from "../../src/errors.ts";
import type { SwitchName } from "../../src/switches.ts";
import { deviceTest } from "../support/vulkan.ts";
import { manyPipelines, onTwoQueues } from "./warm_start/programs.ts";

const NONSENSE: Partial<Record<SwitchName, string>> = {
  APS5_BACKGROUND_COMPILE_KIB: "8 MiB",
  APS5_PREBUILD_THREADS: "66",
  ANYAGC_WAIT_TIMEOUT_MS: "-1",
};

deviceTest(
  "switches that make no sense are refused by name before anything runs, whichever way it would",
  async (gpu) => {
    const vulkan = new VulkanDevice(gpu, "automatic"), software = new SoftwareDevice(), program = manyPipelines(1, 2);
    const { vkCreatePipelineLayout } = gpu.vulkan;
    let layouts = 0;
    Object.assign(gpu.vulkan, {
      vkCreatePipelineLayout(...args: Parameters<typeof vkCreatePipelineLayout>) {
        layouts++;
        vkCreatePipelineLayout(...args);
      },
    });
    for (const [name, value] of Object.entries(NONSENSE)) {
      const before = Deno.env.get(name);
      Deno.env.set(name, value);
      try {
        for (const device of [vulkan, software]) {
          const errors = [
            assertThrows(() => device.run(program), UsageError, name),
            await assertRejects(() => device.start(program), UsageError, name),
          ];
          assertEquals(errors.map(({ exitCode }) => exitCode), [2, 2]);
        }
        await assertRejects(() => vulkan.prepare(program), UsageError, name);
        await assertRejects(() => vulkan.start(onTwoQueues(program)), UsageError, name);
        assertEquals(layouts, 0, "nothing was begun");
      } finally {
        before === undefined ? Deno.env.delete(name) : Deno.env.set(name, before);
      }
    }
    Object.assign(gpu.vulkan, { vkCreatePipelineLayout });
  },
);
