/** Runs in turns keep the compile budget as rooms do: the same switch, meter and guard, and the same is told of what they create. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT as ONLY_CACHED } from "../../../ffi/vulkan/mod.ts";
import { CostFile } from "../../../src/driver/compile_cost/cost_file.ts";
import { procMemory } from "../../../src/driver/compile_cost/peak_memory.ts";
import { OwnBudget, type OwnBudgetOptions } from "../../../src/driver/pools/own_budget.ts";
import { VulkanPipelineDriver } from "../../../src/driver/pools/vulkan_driver.ts";
import { countCreations } from "../../../src/driver/recording/creations.ts";
import { SharedTrace } from "../../../src/driver/recording/shared_trace.ts";
import { WHOLE_RUN } from "../../../src/driver/recording/timeline.ts";
import { LocalBuilds } from "../../../src/driver/vulkan/program_builds.ts";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { PipelineStore } from "../../../src/driver/warm_start/pipeline_store.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { deviceIdentity } from "../../../src/gpu/pipeline_cache_file.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../../src/gpu/pipelines.ts";
import { probeDevice } from "../../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { chainRequest, profiled } from "../compile_cost/support.ts";
import { manyPipelines } from "./programs.ts";
import { inFolder, openStore, run, withCaches } from "./stores.ts";

const BUDGET = "APS5_BACKGROUND_COMPILE_KIB";
/** Offset of flags in VkComputePipelineCreateInfo (vulkan_core.h, 64-bit), and the result when the caches have nothing. */
const FLAGS_AT = 16, VK_PIPELINE_COMPILE_REQUIRED = 1000297000;

function flagsAt(info: bigint): Uint32Array {
  return new Uint32Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(info)!, 4, FLAGS_AT));
}

/** The driver says whether its caches have a pipeline; `between` runs in each compile on another thread. Until it is disposed of. */
function answer({ vulkan }: GpuDevice, hits: boolean, between: () => void | Promise<void> = () => {}): Disposable {
  const { vkCreateComputePipelines: create, vkCreateComputePipelinesAsync: createAsync } = vulkan;
  Object.assign(vulkan, {
    vkCreateComputePipelines(...args: Parameters<typeof create>) {
      const flags = flagsAt(args[3]), asked = (flags[0] & ONLY_CACHED) !== 0;
      if (asked && !hits) return VK_PIPELINE_COMPILE_REQUIRED;
      flags[0] &= ~ONLY_CACHED;
      return create(...args);
    },
    async vkCreateComputePipelinesAsync(...args: Parameters<typeof createAsync>) {
      await between();
      return await createAsync(...args);
    },
  });
  return {
    [Symbol.dispose]() {
      Object.assign(vulkan, { vkCreateComputePipelines: create, vkCreateComputePipelinesAsync: createAsync });
    },
  };
}

const viewOf = (device: GpuDevice) => {
  const { float, endsLoops } = probeDevice(device);
  return recompilerDevice(device.capabilities, float, endsLoops);
};

/** A store with the journal of a folder, and what it is made of. */
function storeWith(device: GpuDevice, folder: string, options: OwnBudgetOptions = {}) {
  const budget = new OwnBudget(options), journal = new Journal(folder, "test", new Uint8Array(4));
  return { budget, store: new PipelineStore(device, viewOf(device), { journal, budget }) };
}

async function withSwitch(value: string | undefined, body: () => Promise<void>): Promise<void> {
  const before = Deno.env.get(BUDGET);
  value === undefined ? Deno.env.delete(BUDGET) : Deno.env.set(BUDGET, value);
  try {
    await body();
  } finally {
    before === undefined ? Deno.env.delete(BUDGET) : Deno.env.set(BUDGET, before);
  }
}

deviceTest(
  `a replay in turns compiles as many at a time as ${BUDGET}, memory, and half the hardware threads allow, and gives back what each has freed`,
  (device) =>
    inFolder(async (folder) => {
      const recording = openStore(device, folder);
      run(device, manyPipelines(1, 6), recording);
      recording.close();
      let budget: OwnBudget | undefined, now = 0, most = 0, expected = 0;
      using _driver1 = answer(device, false, async () => {
        most = Math.max(most, ++now);
        assert(budget!.heldBytes > 0);
        const wait = () => new Promise((resolve) => setTimeout(resolve, 10));
        // As many as are to come have come, and there is time for one too many.
        for (let waits = 0; most < expected && waits < 500; waits++) await wait();
        await wait();
        now--;
      });
      const { giveBack } = VulkanPipelineDriver.prototype,
        cores = Object.getOwnPropertyDescriptor(navigator, "hardwareConcurrency");
      const full = { read: () => ({ limit: 1 << 30, free: 0, source: "test" }) };
      const held: number[] = [];
      VulkanPipelineDriver.prototype.giveBack = () => void held.push(budget!.heldBytes);
      Object.defineProperty(navigator, "hardwareConcurrency", { value: 8, configurable: true });
      try {
        for (
          const [kib, options, atOnce] of [[undefined, {}, 4], ["0", {}, 1], [undefined, { guard: full }, 1]] as const
        ) {
          await withSwitch(kib, async () => {
            const opened = storeWith(device, folder, options);
            budget = opened.budget;
            expected = atOnce;
            most = 0;
            held.length = 0;
            const { created, failed } = await opened.store.replay();
            assertEquals(
              [created, failed, most, budget.heldBytes],
              [6, 0, expected, 0],
              `${kib} ${Object.keys(options)}`,
            );
            assertEquals([held.length, held.every((bytes) => bytes > 0)], [6, true]);
            opened.store.close();
          });
        }
      } finally {
        VulkanPipelineDriver.prototype.giveBack = giveBack;
        if (cores === undefined) delete (navigator as { hardwareConcurrency?: number }).hardwareConcurrency;
        else Object.defineProperty(navigator, "hardwareConcurrency", cores);
      }
    }),
);

deviceTest(
  "what a compile costs is learned in turns, by a dispatch and by a replay, and kept on the disk",
  (device) =>
    inFolder(async (folder) => {
      await Deno.chmod(folder, 0o700);
      using _driver2 = answer(device, false);
      const costs = new CostFile(folder, deviceIdentity(device.capabilities)), learns = procMemory.beginPeak() ? 1 : 0;
      const layout = createPipelineLayout(device), request = chainRequest(1800, viewOf(device));
      const first = storeWith(device, folder, { costs }),
        builds = new LocalBuilds(device, layout, { store: first.store });
      const made = builds.artifact(request), bytes = made.artifact.spirv.byteLength;
      builds.release(builds.pipeline(request, made));
      first.store.save();
      const sizes = () => costs.read().samples.map((sample) => sample.bytes);
      assertEquals(sizes(), Array(learns).fill(bytes));
      first.store.close();
      destroyPipelineLayout(device, layout);
      const second = storeWith(device, folder, { costs });
      assertEquals((await second.store.replay()).created, 1);
      assertEquals(sizes(), Array(2 * learns).fill(bytes));
      second.store.close();
      Deno.writeTextFileSync(costs.path, "something else");
      const third = storeWith(device, folder, { costs });
      await third.store.replay();
      assertMatch(third.store.notes.join(), /it holds no costs$/);
      third.store.close();
    }),
);

deviceTest(
  "APS5_PROFILE_DRAW tells of each pipeline, also of a replay in turns, and of what the driver had in its caches",
  (device) =>
    inFolder(async (folder) => {
      const line = /^pipeline: \d+ words, \d+\.\d ms, program 0x[0-9a-f]+$/;
      const addresses = new Set<string>(), programs = manyPipelines(1, 3);
      const check = (what: string, lines: string[]) => {
        assertEquals(lines.length, 3, `${what}: ${lines}`);
        for (const each of lines) {
          assertMatch(each, line);
          addresses.add(each.replace(/.* /, ""));
        }
      };
      using _driver3 = answer(device, false);
      check(
        "a run",
        await profiled(1, () => {
          const store = openStore(device, folder);
          run(device, programs, store);
          store.close();
        }),
      );
      const replay = async () => {
        const store = openStore(device, folder), { hits } = await store.replay();
        store.close();
        return hits;
      };
      check("a replay", await profiled(1, async () => assertEquals(await replay(), 0)));
      using _driver4 = answer(device, true);
      const able = device.capabilities.features.includes("pipelineCreationCacheControl");
      check("hits", await profiled(1, async () => assertEquals(await replay(), able ? 3 : 0)));
      assertEquals(addresses.size, 1, "of one program");
    }),
);

deviceTest("a trace of a run in turns has its creations, of a replay as well, and what held the budget", async () => {
  for (const keeps of [true, false]) {
    await withCaches(async () => {
      if (!keeps) {
        for (const name of ["APS5_NO_PIPELINE_JOURNAL", "ANYAGC_NO_PIPELINE_CACHE"]) Deno.env.set(name, "1");
      }
      const gpu = GpuDevice.create({ validation: true }), device = new VulkanDevice(gpu, "automatic");
      using _driver5 = answer(gpu, false);
      const trace = new SharedTrace(1, WHOLE_RUN, performance.timeOrigin), program = manyPipelines(1, 4);
      device.traceTo(trace.handle);
      const count = (category: string) => trace.read().spans.filter((span) => span.category === category).length;
      const once = async () => {
        await device.prepare(program);
        device.run(program).close();
        return countCreations(trace.read().spans);
      };
      assertEquals(await once(), { count: 4, insideMutex: 0 });
      assertEquals(count("recompile"), 0);
      assertEquals(await once(), { count: 8, insideMutex: 0 });
      const replayed = trace.read().spans.filter(({ track }) => /budget/.test(track)).length;
      assertEquals([replayed > 0, count("recompile") > 0], [keeps, keeps]);
      device.close();
    });
  }
});
