import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CostFile } from "../../../../src/driver/compile_cost/cost_file.ts";
import { LEAST_BYTES } from "../../../../src/driver/compile_cost/learned_cost.ts";
import { procMemory } from "../../../../src/driver/compile_cost/peak_memory.ts";
import { LocalBuilds } from "../../../../src/driver/vulkan/program_builds.ts";
import { RoomBuilds } from "../../../../src/driver/vulkan/room_builds.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../../../src/gpu/pipelines.ts";
import { deviceIdentity } from "../../../../src/gpu/pipeline_cache_file.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { chainRequest as request, profiled } from "../../compile_cost/support.ts";
import { inRoom } from "./run.ts";

deviceTest(
  "what a compile cost is learned, kept on the disk for the device, and there in the next room",
  async (device) => {
    const folder = await Deno.makeTempDir({ prefix: "anyagc-costs-" });
    await Deno.chmod(folder, 0o700);
    const file = () => new CostFile(folder, deviceIdentity(device.capabilities));
    try {
      let bytes = 0;
      await inRoom(device, (shared) => {
        const builds = new RoomBuilds(shared, undefined), small = request(8, shared.recompilerDevice);
        builds.pipeline(small, builds.artifact(small));
        assertEquals(shared.room.costs.learned, 0, "a small module teaches nothing");
        const large = request(1800, shared.recompilerDevice), made = builds.artifact(large);
        bytes = made.artifact.spirv.byteLength;
        assert(bytes >= LEAST_BYTES);
        builds.pipeline(large, made);
        assertEquals(shared.room.costs.learned, procMemory.beginPeak() ? 1 : 0);
        assertEquals(shared.room.costs.compiling, 0);
      }, { costs: file() });
      const { samples } = file().read();
      assertEquals(samples.map((sample) => sample.bytes), procMemory.beginPeak() ? [bytes] : []);
      await inRoom(device, (shared) => {
        assertEquals(shared.room.costs.samples(), samples);
        assertEquals(shared.costNotes, []);
      }, { costs: file() });
      await Deno.writeTextFile(file().path, "something else");
      await inRoom(device, (shared) => {
        assertEquals(shared.room.costs.learned, 0);
        assertStringIncludes(shared.costNotes[0], "it holds no costs");
      }, { costs: file() });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

deviceTest(
  "a recompile is told to the meter, so that no compile beside it teaches anything",
  (device) =>
    inRoom(device, (shared) => {
      const { costs } = shared.room, beside = costs.beside.bind(costs), builds = new RoomBuilds(shared, undefined);
      let recompiles = 0;
      costs.beside = (work) => {
        recompiles++;
        return beside(work);
      };
      for (const operations of [8, 9, 9]) builds.artifact(request(operations, shared.recompilerDevice));
      assertEquals(recompiles, 2);
    }, { workers: [0, 0, 0] }),
);

deviceTest(
  "APS5_PROFILE_DRAW tells words, time and program address where pipelines are created, once for each",
  async (device) => {
    const line = /^pipeline: (\d+) words, \d+\.\d ms, program 0x200001200$/;
    const lines = await profiled(2300, () =>
      inRoom(device, (shared) => {
        const builds = new RoomBuilds(shared, undefined);
        for (const operations of [8, 64, 64]) {
          const of = request(operations, shared.recompilerDevice), made = builds.artifact(of);
          builds.pipeline(of, made);
        }
      }));
    assertEquals(lines.length, 1, lines.join("\n"));
    assertMatch(lines[0], line);
    const own = await profiled(2300, async () => {
      await inRoom(device, (shared) => {
        const layout = createPipelineLayout(device), builds = new LocalBuilds(device, layout, {});
        const of = request(64, shared.recompilerDevice);
        builds.release(builds.pipeline(of, builds.artifact(of)));
        destroyPipelineLayout(device, layout);
      });
    });
    assertEquals(own.length, 1, own.join("\n"));
    assertEquals(line.exec(own[0])?.[1], line.exec(lines[0])?.[1]);
  },
);
