import { assertEquals, assertMatch } from "@std/assert";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { manyPipelines, onTwoQueues } from "./programs.ts";
import { withCaches } from "./stores.ts";

deviceTest(
  "records that several isolates could not write are said in one line, summed up, and why in another",
  () =>
    withCaches(async (folder) => {
      const program = onTwoQueues(manyPipelines(1, 6));
      const device = new VulkanDevice(GpuDevice.create({ validation: true }), "automatic");
      await device.prepare(program);
      const [lock] = [...Deno.readDirSync(`${folder}/pipelines`)].filter(({ name }) => name.endsWith(".journal.lock"));
      const path = `${folder}/pipelines/${lock.name}`;
      Deno.removeSync(path);
      // A lock that cannot be opened, as in a folder that cannot be written: but so for root, too.
      Deno.mkdirSync(path);
      const prepared = await device.prepare(program, undefined, { starts: true });
      const run = await device.start(program);
      assertEquals([run.result.outcome, prepared?.built], ["passed", 6]);
      for (const notes of [run.result.notes, prepared!.notes]) {
        const unique = [...new Set(notes)];
        assertEquals(unique.length, 2, unique.join("\n"));
        assertMatch(
          unique.join("\n"),
          /^the journal .*: it cannot be opened: .*\nthe journal .*: 6 records could not be written$/,
        );
      }
      run.close();
      device.close();
    }),
);
