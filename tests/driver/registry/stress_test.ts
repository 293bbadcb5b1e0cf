/** A queued job runs exactly once, by whoever needs it first: in one isolate with drawn orders, and with threads. */
import { assertEquals } from "@std/assert";
import { attachRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { runRecompileJob } from "../../../src/driver/pools/preparation.ts";
import { recordAbi } from "../../../src/driver/registry/abi.ts";
import { closePreparation } from "../../../src/driver/registry/shutdown.ts";
import { ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import type { Artifact, RecompileRequest } from "../../../src/recompiler/request.ts";
import { Random } from "../../support/random.ts";
import { inFolder } from "../shader_cache/support.ts";
import { chainProgram, idleRoom, literalProgram, preparationPool, registryOf, ShaderGuest } from "./support.ts";

/** Counts what is recompiled, by the literal in its code. */
class CountingCache extends ShaderCache {
  readonly made = new Map<number, number>();
  override add({ code }: RecompileRequest, _: Artifact): void {
    this.made.set(code[1], (this.made.get(code[1]) ?? 0) + 1);
  }
  override find(_: RecompileRequest): undefined {}
}

const SHADERS = 6, SEEDS = 120;

Deno.test(`in ${SEEDS} drawn orders of registering, resolving, using, finishing and working, each variant is recompiled once`, () =>
  inFolder((folder) => {
    const guest = new ShaderGuest(),
      records = Array.from({ length: SHADERS }, (_, n) => guest.compute(literalProgram(n)));
    const room = idleRoom();
    // A second member of the room, with a registry of its own: two isolates, but in an order that the seed decides.
    const second = attachRoom(room.handle);
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new Random(seed), cache = new CountingCache(folder);
      const first = registryOf(room, guest, { cache, capacity: 64 });
      const other = ShaderRegistry.attach(second, first.handle, { memory: guest.memory, cache, log: () => {} });
      const used = new Set<number>();
      for (let step = 0; step < 40; step++) {
        const n = random.below(SHADERS), registry = random.chance(0.5) ? first : other, record = records[n];
        switch (random.below(5)) {
          case 0:
            registry.registerShader(record);
            break;
          case 1:
            registry.resolveShaderAbi(registry.registerShader(record), recordAbi(record)!);
            break;
          case 2:
            registry.use(record.codeAddress, recordAbi(record)!, registry.snapshot());
            break;
          case 3: {
            const shader = registry.find(record.codeAddress, registry.snapshot());
            if (shader === undefined) continue;
            registry.finish(shader);
            break;
          }
          case 4:
            work(random.chance(0.5) ? room : second, cache);
            continue;
        }
        used.add(n);
      }
      while (work(room, cache));
      assertEquals([...cache.made.values()], [...used].map(() => 1), `seed ${seed}`);
      const { queued, claimed } = room.board.stats();
      assertEquals([queued, claimed, room.artifacts.stats().ready, room.artifacts.stats().pins], [0, 0, used.size, 0]);
      for (const { reference } of room.artifacts.snapshot()) {
        room.arena.retire(Number(room.artifacts.evict(reference)!));
      }
    }
    assertEquals([room.board.check(), room.artifacts.check(), room.arena.check()], [undefined, undefined, undefined]);
  }));

function work(room: Room, cache: ShaderCache): boolean {
  const job = room.board.tryTake(Pool.Preparation);
  if (job !== undefined) runRecompileJob(room, job, { keep: (request, made) => cache.add(request, made) });
  return job !== undefined;
}

Deno.test("with pool workers and three isolates that use the same shaders at once, each variant is recompiled once", async () => {
  const users = 3, shaders = 30;
  const guest = new ShaderGuest(), room = idleRoom();
  const records = Array.from({ length: shaders }, (_, n) => guest.compute(chainProgram(n, 100)));
  const pool = preparationPool(room, 2), registry = registryOf(room, guest);
  const code = guest.memory.windows[0].bytes.slice();
  const go = new Int32Array(new SharedArrayBuffer(4));
  const workers = Array.from(
    { length: users },
    () => new Worker(new URL("./using_worker.ts", import.meta.url), { type: "module" }),
  );
  const results = workers.map((worker) =>
    new Promise<{ words: number[] }>((resolve, reject) => {
      worker.onmessage = ({ data }) => data === "ready" ? ready.push(worker) : resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    })
  );
  const ready: Worker[] = [];
  for (const [seed, worker] of workers.entries()) {
    worker.postMessage({ room: room.handle, registry: registry.handle, records, code, go, seed: seed + 1 });
  }
  await pool.ready();
  while (ready.length < users) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const record of records) registry.registerShader(record);
  Atomics.store(go, 0, registry.snapshot());
  Atomics.notify(go, 0);
  for (const { words } of await Promise.all(results)) assertEquals(words, records.map((_, n) => n));
  for (const worker of workers) worker.terminate();
  assertEquals(await closePreparation(room, [pool], registry), true);
  const { created, failed } = room.artifacts.stats();
  assertEquals([created, failed], [shaders, 0]);
  assertEquals([room.board.check(), room.artifacts.check(), room.arena.check()], [undefined, undefined, undefined]);
});
