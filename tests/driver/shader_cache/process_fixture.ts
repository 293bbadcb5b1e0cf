/**
 * A process that uses a shared cache: rounds of looking up and adding, under a small bound. Prints its counts; fails on a wrong artifact. With `writer` its
 * entries are written by a worker.
 */
import { assertEquals } from "@std/assert";
import { createRoom, Pool } from "../../../src/driver/pools/room.ts";
import { WorkerPool } from "../../../src/driver/pools/worker_pool.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { madeShaders } from "./support.ts";

const [folder, limitBytes, rounds, how] = Deno.args, made = madeShaders();
const sum = { hits: 0, misses: 0, damaged: 0, written: 0, failed: 0, removed: 0 };
const room = how === "writer" ? createRoom({ workers: [1, 1, 1], arenaBytes: 1 << 26 }) : undefined;
const module = new URL("../../../src/workers/shader_writer.ts", import.meta.url);
const writer = room && new WorkerPool(room, { name: "shader writer", module, pool: Pool.Writer, workers: 1 });
for (let round = 0; round < Number(rounds); round++) {
  const cache = new ShaderCache(folder, { limitBytes: Number(limitBytes) });
  if (room !== undefined) cache.attachWriter(room);
  for (const { request, artifact } of made) {
    const found = cache.find(request);
    if (found === undefined) cache.add(request, artifact);
    else assertEquals(found, artifact);
  }
  // And one that no other process has.
  const own = { ...made[0].request, codeAddress: BigInt(Deno.pid) << 32n | BigInt(round) << 8n };
  cache.add(own, made[0].artifact);
  assertEquals(room !== undefined || cache.find(own) !== undefined, true);
  cache.flush();
  await room?.board.drainAsync(Pool.Writer);
  for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += cache.counts[key];
}
room?.board.stop("finish");
await writer?.stopped();
console.log(JSON.stringify(sum));
