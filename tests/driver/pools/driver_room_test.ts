import { assertEquals, assertThrows } from "@std/assert";
import { openDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { Pool } from "../../../src/driver/pools/room.ts";
import { UsageError } from "../../../src/errors.ts";
import type { SwitchName } from "../../../src/switches.ts";
import { deviceTest } from "../../support/vulkan.ts";

const BUDGET = "APS5_BACKGROUND_COMPILE_KIB", THREADS = "APS5_PREBUILD_THREADS";

/** Runs `body` with switches set. */
async function withSwitches(values: Partial<Record<SwitchName, string>>, body: () => void | Promise<void>) {
  const before = Object.keys(values).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(values)) Deno.env.set(name, value);
  try {
    await body();
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
}

deviceTest(
  `${BUDGET} and ${THREADS} size the budget and the prebuild pool`,
  (device) =>
    withSwitches({ [BUDGET]: "2", [THREADS]: "3" }, async () => {
      const room = openDriverRoom(device, { arenaBytes: 1 << 20 }), { board } = room.room;
      try {
        const first = board.hold(1024)!, second = board.hold(1024)!;
        assertEquals(board.hold(1, 0), undefined, "2 KiB are held");
        for (const hold of [first, second]) board.releaseHold(hold);
        assertEquals(room.start(Pool.Prebuild).size, 3);
      } finally {
        await room.close();
      }
    }),
);

deviceTest("without switches the budget is 8,192 KiB; 0 KiB is one compile at a time", async (device) => {
  for (const [value, limit] of [["", 8192 * 1024], ["0", 1]] as const) {
    await withSwitches({ [BUDGET]: value }, async () => {
      const room = openDriverRoom(device, { arenaBytes: 1 << 20, workers: [0, 0, 0] }), { board } = room.room;
      const hold = board.hold(limit)!;
      assertEquals(board.hold(1, 0), undefined);
      board.releaseHold(hold);
      await room.close();
    });
  }
});

deviceTest(
  "a value of a switch that is no number is refused by name",
  (device) =>
    withSwitches({ [THREADS]: "many" }, () => {
      const error = assertThrows(
        () => openDriverRoom(device, { arenaBytes: 1 << 20 }),
        UsageError,
        `${THREADS} is a whole`,
      );
      assertEquals(error.code, "switch.number");
    }),
);
