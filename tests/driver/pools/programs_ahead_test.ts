import { assertEquals, assertThrows } from "@std/assert";
import type { DriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { keyOfRequest } from "../../../src/driver/pools/preparation.ts";
import { announceProgram } from "../../../src/driver/pools/programs_ahead.ts";
import { createRoom } from "../../../src/driver/pools/room.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";

Deno.test("a program whose job cannot be queued is not announced, and leaves nothing behind", () => {
  const room = createRoom({ workers: [1, 1, 1], arenaBytes: 1 << 24 });
  const shared = { room, want() {} } as unknown as DriverRoom;
  const request = { code: Uint32Array.of(0xbf810000) } as unknown as RecompileRequest;
  room.board.stop("cancel");
  const error = assertThrows(() => announceProgram(shared, request), SyncError);
  assertEquals(error.code, "sync.board-closed");
  assertEquals(room.artifacts.peek(keyOfRequest(request).key), undefined);
  assertEquals([room.arena.stats().blobs, room.artifacts.stats().pins], [0, 0]);
});
