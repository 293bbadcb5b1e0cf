import { assert, assertEquals } from "@std/assert";
import { chain } from "../../../../bench/programs/chains.ts";
import { runPipelineJob } from "../../../../src/driver/pools/prebuild.ts";
import { prepareProgram } from "../../../../src/driver/pools/programs_ahead.ts";
import { Pool } from "../../../../src/driver/pools/room.ts";
import { makeRequest } from "../../../support/lift.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inRoom } from "./run.ts";

const PROGRAM = { codeAddress: 0x2_0000_1200n, target: "gfx1013", userSgprCount: 8, dx10Clamp: false } as const;

for (const tells of [true, false]) {
  deviceTest(
    `a creation ahead of use holds the bytes of its module${
      tells ? ", once the driver has said that it must compile" : ""
    }`,
    (device) =>
      inRoom(device, (shared) => {
        const { driver, room, recompilerDevice } = shared, held: number[][] = [];
        const create = driver.create.bind(driver);
        Object.assign(driver, {
          cached: tells ? () => undefined : undefined,
          create(request: Parameters<typeof create>[0], record?: Uint8Array) {
            held.push([room.board.heldBytes, request.spirv.byteLength]);
            return create(request, record);
          },
        });
        for (const operations of [8, 64]) {
          const code = chain("queue", operations, 0x3f80_0203);
          const request = makeRequest({
            ...PROGRAM,
            code,
            workgroupIds: [true, false, false],
            device: recompilerDevice,
          });
          assertEquals(prepareProgram(shared, request, Pool.Prebuild), "announced");
        }
        for (let job; (job = room.board.tryTake(Pool.Prebuild)) !== undefined;) runPipelineJob(room, job, driver);
        assertEquals(held.length, 2);
        for (const [hold, module] of held) assertEquals(hold, module);
        assert(held[0][1] < held[1][1], "modules of two sizes");
        assertEquals(room.board.heldBytes, 0);
      }, { workers: [0, 0, 0] }),
  );
}
