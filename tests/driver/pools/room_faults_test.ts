/** What a room does when something around it goes wrong: workers that cannot be had, files that cannot be written, isolates that cannot begin. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { attachDriverRoom, openDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { computePipeline } from "../../../src/driver/pools/prebuild.ts";
import { artifact } from "../../../src/driver/pools/preparation.ts";
import { attachRoom, createRoom, Pool } from "../../../src/driver/pools/room.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { openVulkanQueue } from "../../../src/driver/vulkan/queue_executor.ts";
import { GuestSharing } from "../../../src/driver/vulkan/shared_guest.ts";
import { replayInRoom } from "../../../src/driver/warm_start/room_replay.ts";
import { HostError } from "../../../src/errors.ts";
import type { PipelineCache } from "../../../src/gpu/pipeline_cache.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import type { Artifact } from "../../../src/recompiler/request.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import { makeRequest } from "../../support/lift.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { inRoom, runShared } from "../vulkan/shared/run.ts";
import { manyPipelines } from "../warm_start/programs.ts";
import { inFolder } from "../warm_start/stores.ts";
import { countCreations, newFlags, trivialRequest } from "./pipelines/support.ts";

const IDENTITY = new Uint8Array(4);
/** A worker that ends over its first job. */
const DYING = new URL("./dying_worker.ts", import.meta.url);

for (const [what, pool] of [["recompiles", Pool.Preparation], ["creates pipelines", Pool.Replay]] as const) {
  deviceTest(
    `a replay ends with the pool's error if nobody is left who ${what}`,
    (device) =>
      inFolder(async (folder) => {
        const journal = { folder, name: "test", identity: IDENTITY };
        await inRoom(device, async (room) => void await runShared(room, device, manyPipelines(1, 3)), { journal });
        const { records } = new Journal(folder, "test", IDENTITY);
        await inRoom(device, async (room) => {
          const error = await assertRejects(() => replayInRoom(room, records), HostError, "keep dying; the last said");
          assertEquals([error.code, room.lines], ["driver.pool", [error.message]]);
          // The dispatches do without.
          const run = await runShared(room, device, manyPipelines(1, 3));
          assertEquals([run.errors.size, room.creations().created], [0, 3]);
        }, { pools: { [pool]: { module: DYING, restarts: 0, sweepMs: 10 } } });
      }),
  );
}

/** v_mov_b32 v0, 1; s_endpgm. */
const request = makeRequest({
  code: Uint32Array.of(0x7e000281, 0xbf810000),
  codeAddress: 0xffff8000_00000100n,
  target: "gfx1013",
  userSgprCount: 8,
  workgroupIds: [true, false, false],
  dx10Clamp: false,
  device: GENERIC_DEVICE,
});

deviceTest(
  "what an isolate does beside the files takes the place of nothing: each for itself",
  (device) =>
    inFolder(async (folder) => {
      const shaders = new ShaderCache(`${folder}/shaders`).handle, kept: Artifact[] = [];
      const options = { workers: [0, 0, 0] as const, arenaBytes: 16 << 20, shaders };
      let asked = 0;
      const services = [{}, { keep: (_: unknown, made: Artifact) => void kept.push(made) }, {
        find: () => void asked++,
      }];
      const once = async (own: typeof services[number]) => {
        const room = openDriverRoom(device, { ...options, services: own });
        const { pin } = artifact(room.room, request, room.services);
        room.room.artifacts.unpin(pin);
        const queued = room.room.board.stats().queued;
        await room.close();
        return queued;
      };
      // Made, kept here, and queued for the writer; then found in the files, by who has a place of its own to look as well.
      assertEquals([await once(services[1]), kept.length], [1, 1]);
      assertEquals([await once(services[2]), asked], [0, 1]);
      assertEquals(await once(services[0]), 0);
    }),
);

deviceTest("a cache that cannot be written is a line of the report; what main has to do goes on", async (device) => {
  const failing = {
    handle: 0n,
    created: () => {
      throw new TypeError("no space left");
    },
    save: () => {
      throw new TypeError("no space left");
    },
  } as unknown as PipelineCache;
  const room = openDriverRoom(device, { cache: failing, workers: [1, 1, 1], arenaBytes: 16 << 20 });
  // A creation that takes three seconds, by the clock.
  const { now } = performance;
  let later = 0;
  countCreations(device, newFlags(), () => later += 3000);
  performance.now = () => now.call(performance) + later;
  try {
    room.room.pipelines.unpin(computePipeline(room.room, trivialRequest(room.layout, 1), room.driver).pin);
  } finally {
    performance.now = now;
  }
  const said = "the pipeline cache could not be kept: no space left";
  for (let i = 0; !room.lines.includes(said); i++) {
    assert(i < 5000, "nothing is said");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  room.want(Pool.Preparation);
  room.room.board.submit({ pool: Pool.Preparation, kind: 99 });
  assert(await room.drained(Pool.Preparation, 60_000), "its pool was started");
  await room.close();
  assertEquals(room.lines, [said], "once, though it is so at the end as well");
});

Deno.test("an isolate that cannot attach to a room is no member of it", () => {
  const room = createRoom({ workers: [1, 1, 1], arenaBytes: 1 << 20 });
  const error = assertThrows(
    () => attachRoom({ ...room.handle, failures: { table: new SharedArrayBuffer(256) } }),
    SyncError,
  );
  assertEquals([error.code, room.registry.stats().live], ["sync.handle", 1]);
  room.registry.sweep();
  assertEquals([room.board.stats().pins, room.registry.stats().left], [0, 1]);
});

deviceTest(
  "a queue's isolate that cannot begin on the device is no member, and has nothing of the device",
  (device) =>
    inRoom(device, (room) => {
      const { handle } = room, { registry } = room.room;
      const live = () => {
        registry.sweep();
        return registry.stats().live;
      };
      const broken = { ...handle, device: { ...handle.device, queues: undefined as unknown as bigint[] } };
      const memory = new GuestMemory(new MmapAllocator());
      memory.map(0x1_0000_0000n, 4096, Permission.All, "first");
      const sharing = new GuestSharing(device, memory);
      memory.map(0x2_0000_0000n, 4096, Permission.All, "never shared");
      const data = { room: handle, guest: sharing.guest, target: "gfx1013", unalignedLoads: false, queue: 0 } as const;
      const unshared = assertThrows(() => openVulkanQueue(data, memory), HostError, "window never shared");
      assertEquals([unshared.code, live()], ["driver.window-not-shared", 1]);
      assertThrows(() => openVulkanQueue({ ...data, room: broken }, memory), TypeError);
      assertEquals(live(), 1);
      const none = { ...handle, device: undefined as unknown as typeof handle.device };
      assertThrows(() => attachDriverRoom(none), TypeError);
      assertEquals(live(), 1);
      sharing.close();
      memory.clear();
    }),
);
