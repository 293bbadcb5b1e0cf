/**
 * A run that crash.ts kills: replays the journal, then dispatches programs with many pipelines, and says on standard output what the driver
 * created and what is on the disk by then. Its pipeline cache holds the checksums of modules, since Mesa's holds nothing.
 *
 *     created MODULE        vkCreateComputePipelines succeeded
 *     recorded MODULE       the journal and the cache have it
 *     loaded MODULE...      what the cache had at the start
 *     note TEXT             what was wrong with a file
 *     replayed              the run begins
 *     done BUILT
 */
import { runProgram } from "../../../src/driver/run_program.ts";
import { VulkanExecutor } from "../../../src/driver/vulkan/vulkan_executor.ts";
import { PipelineStore } from "../../../src/driver/warm_start/pipeline_store.ts";
import { journalIdentity } from "../../../src/driver/warm_start/recorded_pipeline.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { type CacheDriver, PipelineCache, vulkanCacheDriver } from "../../../src/gpu/pipeline_cache.ts";
import { deviceIdentity, PipelineCacheFile } from "../../../src/gpu/pipeline_cache_file.ts";
import { probeDevice } from "../../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { FakeCacheDriver } from "../../gpu/fake_cache_driver.ts";
import { manyPipelines, watchCreations } from "./programs.ts";

const [folder, count] = [Deno.args[0], Number(Deno.args[1])];
const say = (...words: unknown[]) => void Deno.stdout.writeSync(new TextEncoder().encode(words.join(" ") + "\n"));

const gpu = GpuDevice.create({ device: "cpu" });
const { float, endsLoops } = probeDevice(gpu);
const fake = new FakeCacheDriver(), vulkan = vulkanCacheDriver(gpu), real = new Map<bigint, bigint>();
/** Handles are Vulkan's, data is the fake's. */
const driver: CacheDriver = {
  create(data) {
    const handle = vulkan.create(undefined);
    real.set(handle, fake.create(data));
    return handle;
  },
  data: (cache) => fake.data(real.get(cache)!),
  merge: (into, from) => fake.merge(real.get(into)!, real.get(from)!),
  destroy(cache) {
    fake.destroy(real.get(cache)!);
    vulkan.destroy(cache);
  },
};
const cache = new PipelineCache(driver, new PipelineCacheFile(folder, deviceIdentity(gpu.capabilities)), {
  saveAfterMs: 0,
});
const words = fake.caches.get(real.get(cache.handle)!)!;
say("loaded", ...words);
let last = "";
watchCreations(gpu, (module) => {
  say("created", module);
  words.add(last = module);
});

const program = manyPipelines(1, count);
const { name, identity } = journalIdentity(program, deviceIdentity(gpu.capabilities));
const journal = new Journal(folder, name, identity);
const store = new PipelineStore(gpu, recompilerDevice(gpu.capabilities, float, endsLoops), { cache, journal });
const create = store.create.bind(store);
store.create = (...args) => {
  const pipeline = create(...args);
  say("recorded", last);
  return pipeline;
};
await store.replay({ threads: 2 });
store.notes.forEach((note) => say("note", note));
say("replayed");
const memory = new GuestMemory(new MmapAllocator());
const executor = new VulkanExecutor(gpu, { target: program.target, store });
const { error } = runProgram(program, executor, memory);
if (error !== undefined) throw error;
executor.close();
store.close();
if (journal.failures > 0) say("note", `${journal.failures} records were not written`);
say("done", store.built);
gpu.destroy();
