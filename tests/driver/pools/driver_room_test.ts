import { assert, assertEquals, assertThrows } from "@std/assert";
import { openDriverRoom, type OwnedDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { createRoom, Pool } from "../../../src/driver/pools/room.ts";
import { defaultPoolWorkers, ROOM_SLOTS } from "../../../src/driver/pools/room_slots.ts";
import { UsageError } from "../../../src/errors.ts";
import type { SwitchName } from "../../../src/switches.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
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

deviceTest("without switches each pool has half the hardware threads, also that of the replay", async (device) => {
  const cores = Object.getOwnPropertyDescriptor(navigator, "hardwareConcurrency");
  const module = new URL("./silent_worker.ts", import.meta.url), pools = [Pool.Preparation, Pool.Prebuild, Pool.Replay];
  Object.defineProperty(navigator, "hardwareConcurrency", { value: 6, configurable: true });
  let room;
  try {
    await withSwitches({ [THREADS]: "" }, () => {
      room = openDriverRoom(device, {
        arenaBytes: 1 << 20,
        pools: Object.fromEntries(pools.map((pool) => [pool, { module }])),
      });
    });
  } finally {
    if (cores === undefined) delete (navigator as { hardwareConcurrency?: number }).hardwareConcurrency;
    else Object.defineProperty(navigator, "hardwareConcurrency", cores);
  }
  const opened = room as unknown as OwnedDriverRoom;
  assertEquals(pools.map((pool) => opened.start(pool).size), [3, 3, 3]);
  await opened.close();
});

deviceTest("without switches the budget is 8,192 KiB; 0 KiB is one compile at a time", async (device) => {
  for (const [value, limit] of [["", 8192 * 1024], ["0", 1]] as const) {
    await withSwitches({ [BUDGET]: value }, async () => {
      const room = openDriverRoom(device, { arenaBytes: 1 << 20, workers: [0, 0, 0] }), { board } = room.room;
      // Parts of it side by side: something larger than a smaller limit would be granted as well, alone.
      const parts = limit === 1 ? [1] : [1, limit - 1], holds = parts.map((bytes) => board.hold(bytes, 0));
      assert(holds.every((hold) => hold !== undefined), `${limit} bytes`);
      assertEquals(board.hold(1, 0), undefined);
      for (const hold of holds) board.releaseHold(hold!);
      await room.close();
    });
  }
});

deviceTest(
  "more prebuild workers than a room has room for are refused by name",
  (device) =>
    withSwitches({ [THREADS]: "66" }, () => {
      const error = assertThrows(
        () => openDriverRoom(device, { arenaBytes: 1 << 20 }),
        UsageError,
        `${THREADS} is at most 65`,
      );
      assertEquals(error.code, "driver.prebuild-threads");
    }),
);

Deno.test("on every machine main, all queues of a guest, the writer and the workers of all pools have room", () => {
  const QUEUES = 57;
  for (const [threads, workers] of [[1, 1], [2, 1], [3, 1], [16, 8], [64, 32], [128, 64], [192, 65], [4096, 65]]) {
    assertEquals(defaultPoolWorkers(threads), workers);
    assert(1 + QUEUES + 1 + 3 * workers <= ROOM_SLOTS, `${threads} hardware threads`);
  }
  const { registry } = createRoom({ workers: [65, 65, 65], arenaBytes: 1 << 20 });
  for (let more = 0; more < QUEUES + 1 + 3 * 65; more++) registry.enter();
  assertEquals(registry.stats().live, 254);
  const error = assertThrows(() => createRoom({ workers: [100, 100, 100] }), SyncError, "300 workers");
  assertEquals(error.code, "sync.capacity");
});

deviceTest(
  "a pool that is wanted starts also if who rang for it died over that",
  (device) =>
    withSwitches({}, async () => {
      const room = openDriverRoom(device, { arenaBytes: 1 << 20, workers: [1, 1, 1] }), { board } = room.room;
      // The word of the pools that are wanted; nobody has rung.
      const WANTED = 1;
      Atomics.or(new Int32Array(room.handle.words), WANTED, 1 << Pool.Preparation);
      board.submit({ pool: Pool.Preparation, kind: 99 });
      room.want(Pool.Preparation);
      assert(await board.drainAsync(Pool.Preparation, 30_000));
      await room.close();
    }),
);

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
