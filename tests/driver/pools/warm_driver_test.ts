import { assert, assertEquals } from "@std/assert";
import { LEAST_BYTES } from "../../../src/driver/compile_cost/learned_cost.ts";
import { procMemory } from "../../../src/driver/compile_cost/peak_memory.ts";
import { WarmDriver } from "../../../src/driver/pools/pipeline_worker.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { inRoom } from "../vulkan/shared/run.ts";
import { trivialModule } from "./pipelines/support.ts";

/** A module that is long enough to learn from: a trivial one with source text (OpSourceExtension) that says nothing, behind its execution modes. */
function longModule(): Uint32Array {
  const module = trivialModule(1), at = 5 + 2 + 3 + 5 + 6, words = LEAST_BYTES / 4;
  const text = new Uint32Array(words).fill(0x61616161);
  text[0] = words << 16 | 4;
  text[words - 1] = 0;
  return Uint32Array.of(...module.subarray(0, at), ...text, ...module.subarray(at));
}

deviceTest(
  "what compiling to the end costs is a part of its compile's cost, and what that has freed goes back to the system",
  (device) =>
    inRoom(device, (room) => {
      const { costs } = room.room, spirv = longModule(), { now } = performance;
      let late = 0, given = 0;
      const warming: number[] = [];
      const driver = new WarmDriver(room, (line) => warming.push(line.length), () => ({
        warm() {
          warming.push(costs.compiling);
          late += 3000;
        },
        destroy() {},
      }));
      performance.now = () => now.call(performance) + late;
      try {
        room.driver.destroy(driver.create({ spirv, layout: room.layout, subgroupSize: undefined }));
      } finally {
        performance.now = now;
      }
      assertEquals([warming, costs.compiling], [[spirv.byteLength], 0]);
      if (procMemory.beginPeak()) {
        const samples = costs.samples();
        assertEquals(samples.map(({ bytes }) => bytes), [spirv.byteLength], "one compile, not two");
        assert(samples[0].ms >= 3000, `${samples[0].ms} ms`);
      }
      room.driver.giveBack = () => void given++;
      driver.giveBack();
      driver.close();
      assertEquals(given, 1);
    }, { workers: [0, 0, 0] }),
);
