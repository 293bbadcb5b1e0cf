import { assert, assertEquals } from "@std/assert";
import { MemoryGuard } from "../../../src/driver/compile_cost/memory_guard.ts";
import { Pool } from "../../../src/driver/pools/room.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { inRoom } from "../vulkan/shared/run.ts";

const HOUR_MS = 3600_000;

deviceTest(
  "a room looks at memory when it opens and while something is held, its workers before they take a job",
  async (device) => {
    const refresh = MemoryGuard.prototype.refresh;
    let looks = 0;
    // Main's are counted and look at nothing: so whoever has looked in the end is a worker.
    MemoryGuard.prototype.refresh = () => void looks++;
    try {
      await inRoom(device, async (room) => {
        const { board, costs } = room.room;
        assertEquals(looks, 1, "when it opens");
        const hold = board.hold(1)!;
        for (let waits = 0; looks < 2; waits++) {
          assert(waits < 1000, "while something is held");
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        board.releaseHold(hold);
        board.submit({ pool: Pool.Prebuild, kind: 99 });
        room.want(Pool.Prebuild);
        assert(await board.drainAsync(Pool.Prebuild, 60_000));
        assert(!costs.isDue(HOUR_MS), "a worker");
      }, { workers: [0, 1, 0], arenaBytes: 1 << 20 });
    } finally {
      MemoryGuard.prototype.refresh = refresh;
    }
  },
);
