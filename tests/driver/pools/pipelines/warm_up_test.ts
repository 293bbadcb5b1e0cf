import { assertEquals } from "@std/assert";
import { announcePipeline, computePipeline } from "../../../../src/driver/pools/prebuild.ts";
import { Pool } from "../../../../src/driver/pools/room.ts";
import { CommandQueue } from "../../../../src/gpu/command_queue.ts";
import { compilesAtDispatch } from "../../../../src/gpu/warm_up.ts";
import { deviceTest, shaderCache } from "../../../support/vulkan.ts";
import { inRoom } from "../../vulkan/shared/run.ts";
import { trivialModule } from "./support.ts";

/** Files below a folder. */
function files(folder: string): number {
  let count = 0;
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    count += isDirectory ? files(`${folder}/${name}`) : 1;
  }
  return count;
}

/** Files when the driver, which writes in a thread of its own and in order, has written at least so many, and nothing for a while. */
async function written(least: number): Promise<number> {
  let count = files(shaderCache), same = 0;
  for (let tries = 0; tries < 2000 && (count < least || same < 20); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const now = files(shaderCache);
    same = now === count ? same + 1 : 0;
    count = now;
  }
  return count;
}

deviceTest(
  "where the driver compiles at the first dispatch, a prebuild has that done, and the dispatch compiles nothing",
  async (device) => {
    const { driver } = device.capabilities;
    assertEquals(compilesAtDispatch(device.capabilities), driver.name === "llvmpipe");
    if (driver.name !== "llvmpipe") return;
    await inRoom(device, async (room) => {
      const queue = new CommandQueue(device, { buffers: 1 });
      const request = (threads: number) => ({
        spirv: trivialModule(0, threads),
        layout: room.layout,
        subgroupSize: undefined,
      });
      const dispatch = (number: number) => {
        const { pipeline, pin } = computePipeline(room.room, request(number), room.driver);
        queue.begin();
        queue.bindPipeline(pipeline);
        queue.dispatch(1, 1, 1);
        queue.wait(queue.submit());
        room.room.pipelines.unpin(pin);
      };
      dispatch(101);
      const before = await written(1);
      dispatch(102);
      assertEquals(await written(before + 1), before + 1, "the first dispatch of a pipeline compiles");
      const { cacheCanTell } = room;
      announcePipeline(room.room, { request: request(103), spirvBytes: 100, pool: Pool.Prebuild, cacheCanTell });
      room.start(Pool.Prebuild);
      await room.room.board.drainAsync(Pool.Prebuild);
      assertEquals(await written(before + 2), before + 2, "the prebuild has compiled");
      dispatch(103);
      dispatch(104);
      assertEquals(await written(before + 3), before + 3, "the dispatch of 103 has not");
      queue.destroy();
    });
  },
  { validation: false },
);
