import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { artifactAsync } from "../../../src/driver/pools/preparation.ts";
import { createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { WorkerPool } from "../../../src/driver/pools/worker_pool.ts";
import { WriterJobs } from "../../../src/driver/shader_cache/background_writer.ts";
import { entryName, requestKey } from "../../../src/driver/shader_cache/entry.ts";
import { EntryWriter } from "../../../src/driver/shader_cache/entry_writer.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { entries, inFolder, madeShaders } from "./support.ts";

const MADE = madeShaders();
const MODULE = new URL("../../../src/workers/shader_writer.ts", import.meta.url);

const newRoom = () => createRoom({ workers: [2, 1, 1], arenaBytes: 1 << 26 });

/** Does the writer's jobs here. */
function write(
  room: Room,
  jobs = new WriterJobs((handle) => new EntryWriter(handle.folder, handle), () => {}),
): number {
  let done = 0;
  for (let job; (job = room.board.tryTake(Pool.Writer)) !== undefined; done++) jobs.run(room, job);
  jobs.close();
  return done;
}

Deno.test("with a writer, who adds touches no file; the writer writes, and other processes find it", () =>
  inFolder((folder) => {
    const room = newRoom(), cache = new ShaderCache(folder);
    cache.attachWriter(room);
    for (const { request, artifact } of MADE) cache.add(request, artifact);
    cache.flush();
    assertEquals([entries(folder), cache.counts.written], [[], MADE.length]);
    assertEquals(write(room), MADE.length);
    const next = new ShaderCache(folder);
    for (const { request, artifact } of MADE) assertEquals(next.find(request), artifact);
    assertEquals([room.arena.stats().blobs, room.board.check()], [0, undefined]);
  }));

Deno.test("what was added before there was a writer is written when it comes; what it cannot take waits for the flush", () =>
  inFolder((folder) => {
    const room = newRoom(), cache = new ShaderCache(folder), [first, second] = MADE;
    cache.add(first.request, first.artifact);
    cache.attachWriter(room);
    assertEquals(entries(folder).length, 1);
    room.board.stop("cancel"); // accepts nothing
    cache.add(second.request, second.artifact);
    assertEquals(cache.find(second.request), second.artifact);
    cache.flush();
    assertEquals(entries(folder).length, 2);
  }));

Deno.test("the writer keeps the folder within its bound, and what was used last stays", () =>
  inFolder((folder) => {
    const filled = new ShaderCache(folder);
    for (const { request, artifact } of MADE) filled.add(request, artifact);
    filled.flush();
    const all = entries(folder).reduce((sum, name) => sum + Deno.statSync(`${folder}/${name}`).size, 0);
    for (const [age, name] of entries(folder).entries()) {
      const time = new Date(Date.now() - 60_000 * (age + 1));
      Deno.utimeSync(`${folder}/${name}`, time, time);
    }
    const oldest = entries(folder).at(-1)!;
    const room = newRoom(), cache = new ShaderCache(folder, { limitBytes: all });
    cache.attachWriter(room);
    const used = MADE.find(({ request, artifact }) =>
      entryName(requestKey(request), request.code.subarray(0, artifact.codeWords)) === oldest
    )!;
    assertEquals(cache.find(used.request), used.artifact);
    cache.flush();
    const more = { ...MADE[0].request, ldsBytes: 512 };
    cache.add(more, MADE[0].artifact);
    assertEquals(write(room), 1);
    const left = entries(folder).reduce((sum, name) => sum + Deno.statSync(`${folder}/${name}`).size, 0);
    assert(left <= all, `${left} of ${all} bytes`);
    assert(entries(folder).length <= MADE.length, "something went");
    const next = new ShaderCache(folder);
    assertEquals([next.find(used.request), next.find(more)], [used.artifact, MADE[0].artifact]);
  }));

Deno.test("what the writer cannot write is said once, and costs nothing else", () =>
  inFolder((folder) => {
    const room = newRoom(), cache = new ShaderCache(folder, { entryLimitBytes: 100 }), lines: string[] = [];
    cache.attachWriter(room);
    for (const { request, artifact } of MADE) cache.add(request, artifact);
    const jobs = new WriterJobs((handle) => new EntryWriter(handle.folder, handle), (line) => lines.push(line));
    assertEquals([write(room, jobs), entries(folder).length, lines.length], [MADE.length, 0, 1]);
    assertStringIncludes(lines[0], "is not kept");
    assertEquals(room.arena.stats().blobs, 0);
  }));

Deno.test("workers that recompile give what they made to the one writer, which has written all of it when the pools are stopped", () =>
  inFolder(async (folder) => {
    const room = newRoom(), cache = new ShaderCache(folder);
    const preparation = new WorkerPool(room, {
      name: "preparation",
      module: new URL("../../../src/workers/preparation.ts", import.meta.url),
      pool: Pool.Preparation,
      workers: 2,
      cache: cache.handle,
    });
    const writer = new WorkerPool(room, { name: "shader writer", module: MODULE, pool: Pool.Writer, workers: 1 });
    const made = await Promise.all(MADE.map(({ request }) => artifactAsync(room, request)));
    for (const [n, { artifact, pin }] of made.entries()) {
      assertEquals(artifact, MADE[n].artifact);
      room.artifacts.unpin(pin);
    }
    assert(await room.board.drainAsync(Pool.Preparation, 10_000));
    room.board.stop("finish");
    assert(await preparation.stopped() && await writer.stopped());
    assertEquals(entries(folder).length, MADE.length);
    assertEquals([...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".part")), []);
    const next = new ShaderCache(folder);
    for (const { request, artifact } of MADE) assertEquals(next.find(request), artifact);
  }));
