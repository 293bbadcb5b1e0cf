import { assert, assertEquals, assertThrows } from "@std/assert";
import { attachRoom, Pool } from "../../../src/driver/pools/room.ts";
import { recordAbi } from "../../../src/driver/registry/abi.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { InvalidInputError } from "../../../src/errors.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { heldLocks, LockBit } from "../../../src/sync/held_locks.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import { inFolder } from "../shader_cache/support.ts";
import { idleRoom, literalProgram, registryOf, ShaderGuest } from "./support.ts";

/** Notes which locks are held when something is recompiled. */
class WatchingCache extends ShaderCache {
  readonly held: number[] = [];
  override add(): void {
    this.held.push(heldLocks());
  }
  override find(_: RecompileRequest): undefined {}
}

Deno.test("a transaction runs the shader's queued jobs itself before it takes the lock, and no others", () =>
  inFolder((folder) => {
    const guest = new ShaderGuest(), room = idleRoom(), cache = new WatchingCache(folder);
    const registry = registryOf(room, guest, { cache });
    const shaders = [1, 2, 3].map((n) => registry.registerShader(guest.compute(literalProgram(n))));
    for (const [kind, left] of [["read", 2], ["edit", 1]] as const) {
      const shader = shaders[kind === "read" ? 2 : 1];
      let held = 0, queued = -1;
      const body = () => {
        held = heldLocks();
        queued = room.artifacts.stats().pending;
      };
      if (kind === "read") registry.read(shader, body);
      else registry.edit(shader, () => void body());
      assertEquals([held, queued, room.board.stats().queued], [LockBit.Preparation, left, left]);
    }
    assertEquals(cache.held, [0, 0], "recompiled without the lock");
    assertEquals(heldLocks(), 0);
  }));

Deno.test("a transaction that needs a running job waits for it without the lock", async () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1)));
  const worker = new Worker(new URL("./slow_worker.ts", import.meta.url), { type: "module" });
  const claimed = new Int32Array(new SharedArrayBuffer(8));
  worker.postMessage({ room: room.handle, claimed });
  Atomics.wait(claimed, 0, 0, 10_000);
  assertEquals([Atomics.load(claimed, 0), room.artifacts.stats().building], [1, 1]);
  // Were the lock held while waiting, the wait itself would throw `sync.wait-with-lock`; and the worker, which takes it meanwhile, would stand still.
  const seen = registry.read(shader, () => [Atomics.load(claimed, 1), room.artifacts.stats().ready]);
  assertEquals(seen, [1, 1]);
  await new Promise<void>((resolve) => worker.onmessage = () => resolve());
  worker.terminate();
});

Deno.test("nothing is waited for inside a transaction", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1))), own = recordAbi(shader.record)!;
  const other = registry.registerShader(guest.compute(literalProgram(2)));
  const error = assertThrows(
    () => registry.read(shader, () => registry.use(other.code.address, own, registry.snapshot())),
    SyncError,
  );
  assertEquals([error.code, heldLocks()], ["sync.wait-with-lock", 0]);
});

Deno.test("an edit makes a new registration for later submissions, and prepares it", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1))), before = registry.snapshot();
  const edited = registry.edit(shader, ({ code }) => {
    const changed = Uint32Array.from(code.words);
    changed[1] = 77;
    return { code: changed };
  });
  assertEquals([edited.code.words[1], guest.memory.readU32(shader.code.address + 4n)], [77, 77]);
  assertEquals(registry.find(shader.code.address, before), shader);
  assertEquals(registry.find(shader.code.address, registry.snapshot()), edited);
  assertEquals([room.board.stats().queued, registry.resolveShaderAbi(edited, recordAbi(edited.record)!)], [
    1,
    "pending",
  ]);
  assertEquals(registry.edit(edited, () => undefined), edited);
});

Deno.test("an edit to what is no shader is not made", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1))), epoch = registry.snapshot();
  const words = guest.memory.read(shader.code.address, 12);
  assertThrows(() => registry.edit(shader, () => ({ code: Uint32Array.of(0xbf9f_0000) })), InvalidInputError);
  assertThrows(
    () => registry.edit(shader, () => ({ record: { ...shader.record, shRegisters: [] } })),
    InvalidInputError,
  );
  assertEquals([guest.memory.read(shader.code.address, 12), registry.snapshot(), heldLocks()], [words, epoch, 0]);
});

Deno.test("a shader's jobs are known to all isolates: another one finishes them", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1)));
  const other = attachRoom(room.handle);
  assert(shader.asked.length === 0, "read when it is needed");
  registry.finish(shader);
  assertEquals([shader.asked.length, room.artifacts.stats().ready, other.board.stats().queued], [1, 1, 0]);
  assertEquals(other.board.tryTake(Pool.Preparation), undefined);
});
