import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { openPipelineCache, PipelineCache, type PipelineCacheOptions } from "../../src/gpu/pipeline_cache.ts";
import { CACHE_HEADER_BYTES, deviceIdentity, PipelineCacheFile } from "../../src/gpu/pipeline_cache_file.ts";
import { deviceTest } from "../support/vulkan.ts";
import { FakeCacheDriver, fakeIdentity } from "./fake_cache_driver.ts";
import { assemble, multiplyAdd } from "./modules.ts";

/** Runs `body` with an empty private folder. */
async function inFolder(body: (folder: string) => void | Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-pipeline-cache-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const file = (folder: string, name = "card") => new PipelineCacheFile(folder, fakeIdentity(name));

/** Snapshots of the cache that the last run took. */
let lastSnapshots = 0;

/** One run: what it finds, and its notes; it adds `words`. */
function run(
  folder: string,
  words: readonly string[],
  options?: PipelineCacheOptions & { name?: string; refuses?: boolean },
) {
  const driver = new FakeCacheDriver();
  driver.refuses = options?.refuses ?? false;
  const cache = new PipelineCache(driver, file(folder, options?.name), options);
  const set = driver.caches.get(cache.handle)!, found = [...set].sort().join(" ");
  for (const word of words) {
    const hit = set.has(word);
    set.add(word);
    cache.created(1, hit);
  }
  cache.close();
  assertEquals(driver.caches.size, 0, "caches of the driver are left");
  assert(!driver.mergedInto.includes(cache.handle), "others may be creating with the cache: it is not merged into");
  lastSnapshots = driver.snapshots;
  return { found, notes: cache.notes };
}

Deno.test("a run begins with what earlier ones left, each device and driver in its own file", () =>
  inFolder((folder) => {
    assertEquals(run(folder, ["a", "b"]), { found: "", notes: [] });
    assertEquals(run(folder, ["c"], { name: "other" }), { found: "", notes: [] });
    assertEquals(run(folder, ["d"]), { found: "a b", notes: [] });
    assertEquals(run(folder, []), { found: "a b d", notes: [] });
    assertEquals(run(folder, [], { name: "other" }), { found: "c", notes: [] });
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "card.pipelines",
      "card.pipelines.lock",
      "other.pipelines",
      "other.pipelines.lock",
    ]);
  }));

Deno.test("hits write nothing, and are no reason to look at the cache", () =>
  inFolder((folder) => {
    run(folder, ["a"]);
    const before = Deno.statSync(file(folder).path).ino;
    assertEquals(lastSnapshots, 1);
    run(folder, ["a"]);
    assertEquals(lastSnapshots, 0);
    assertEquals(Deno.statSync(file(folder).path).ino, before); // a file that is written is another one
    run(folder, ["b"]);
    assert(Deno.statSync(file(folder).path).ino !== before);
  }));

Deno.test("a file that is damaged anywhere, cut off anywhere, or somebody else's is ignored with a note, and rewritten", () =>
  inFolder((folder) => {
    run(folder, ["first", "second"]);
    const { path } = file(folder), good = Deno.readFileSync(path);
    const check = (bytes: Uint8Array, what: string) => {
      Deno.writeFileSync(path, bytes);
      const { found, notes } = run(folder, ["new"]);
      assertEquals([found, notes.length], ["", 1], what);
      assertMatch(notes[0], /is ignored and will be written anew: /, what);
      assertEquals(run(folder, []), { found: "new", notes: [] }, what);
    };
    for (let at = 0; at < good.length; at++) {
      check(good.with(at, good[at] ^ 1 << at % 8), `bit of byte ${at}`);
      check(good.slice(0, at), `${at} bytes`);
    }
    check(Uint8Array.from([...good, 0]), "a byte more");
    run(folder, ["x"], { name: "other" });
    check(Deno.readFileSync(file(folder, "other").path), "another device's");
  }));

Deno.test("a damaged file goes even when there is nothing to put in its place", () =>
  inFolder((folder) => {
    Deno.writeTextFileSync(file(folder).path, "no cache");
    assertEquals(run(folder, []).notes.length, 1);
    assertEquals(file(folder).read(), {});
  }));

Deno.test("data that the driver does not take is ignored with a note", () =>
  inFolder((folder) => {
    run(folder, ["a"]);
    const { found, notes } = run(folder, ["b"], { refuses: true });
    assertEquals(found, "");
    assertStringIncludes(notes[0], "not this data");
    assertEquals(run(folder, []).found, "b");
  }));

Deno.test("a file is written as soon as much is missing in it, not only at the end", () =>
  inFolder((folder) => {
    const driver = new FakeCacheDriver(), cache = new PipelineCache(driver, file(folder), { saveAfterMs: 100 });
    const create = (word: string, ms: number) => {
      driver.caches.get(cache.handle)!.add(word);
      cache.created(ms, false);
      return file(folder).read().data?.length;
    };
    assertEquals([create("a", 60), create("b", 30)], [undefined, undefined]);
    const one = create("c", 20);
    assertEquals(one, CACHE_HEADER_BYTES + 5);
    assertEquals([create("d", 60), create("e", 50)], [one, CACHE_HEADER_BYTES + 9]);
    cache.close();
  }));

Deno.test("a cache that would pass its limit begins anew, with a note", () =>
  inFolder((folder) => {
    const limitBytes = CACHE_HEADER_BYTES + 10;
    assertEquals(run(folder, ["12345678"], { limitBytes }).notes, []);
    assertMatch(run(folder, ["9"], { limitBytes }).notes.join(), /^$/);
    assertMatch(run(folder, ["10"], { limitBytes }).notes.join(), /begins anew/);
    assertEquals(run(folder, ["11"], { limitBytes }), { found: "", notes: [] });
    assertEquals(run(folder, []).found, "11");
  }));

Deno.test("a folder that others may write to, or that cannot be made, is not used", () =>
  inFolder((folder) => {
    run(folder, ["a"]);
    Deno.chmodSync(folder, 0o777);
    const { found, notes } = run(folder, ["b"]);
    assertEquals(found, "");
    assertMatch(notes.join(), /was not written: it is unwritable/);
    Deno.chmodSync(folder, 0o700);
    assertEquals(run(folder, []).found, "a");
  }));

Deno.test("of several processes that write at once nothing is lost", () =>
  inFolder(async (folder) => {
    const words = Array.from({ length: 4 }, (_, p) => Array.from({ length: 20 }, (_, i) => `w${p}-${i}`));
    const notes = await Promise.all(words.map(async (own) => {
      const args = [
        "run",
        "-A",
        "--no-check",
        new URL("pipeline_cache_writer.ts", import.meta.url).pathname,
        folder,
        ...own,
      ];
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
      assertEquals(new TextDecoder().decode(stderr), "");
      return new TextDecoder().decode(stdout).trim();
    }));
    assertEquals(notes, ["[]", "[]", "[]", "[]"]);
    assertEquals(run(folder, []).found, words.flat().sort().join(" "));
  }));

deviceTest("the driver's cache is kept where it has results, and its hits are told", (device) =>
  inFolder((folder) => {
    const spirv = assemble(multiplyAdd), layout = createPipelineLayout(device);
    const once = () => {
      const cache = openPipelineCache(device, folder);
      const pipeline = createComputePipeline(device, { spirv, layout, cache: cache.handle });
      cache.created(1, pipeline.feedback?.cacheHit ?? false);
      cache.close();
      destroyPipeline(device, pipeline);
      assertEquals(cache.notes, []);
      return { loaded: cache.loadedBytes, hit: pipeline.feedback?.cacheHit ?? false };
    };
    assertEquals(once(), { loaded: 0, hit: false });
    const second = once();
    const kept = new PipelineCacheFile(folder, deviceIdentity(device.capabilities)).read().data;
    // Mesa's software driver has an empty cache (its results are in a cache of its own); others have the pipeline in it.
    if (kept === undefined) assertEquals(second, { loaded: 0, hit: false });
    else {
      assertEquals(second.loaded, kept.length);
      assert(kept.length > CACHE_HEADER_BYTES);
    }
    destroyPipelineLayout(device, layout);
  }));
