/** Stores in folders of their own, and runs with them. */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../../src/driver/run_program.ts";
import { VulkanExecutor } from "../../../src/driver/vulkan/vulkan_executor.ts";
import { PipelineStore } from "../../../src/driver/warm_start/pipeline_store.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { probeDevice } from "../../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../src/guest/program.ts";
import { Journal, type JournalOptions } from "../../../src/storage/journal.ts";

const IDENTITY = new Uint8Array(4);

/** Runs `body` with an empty private folder. */
export async function inFolder(body: (folder: string) => void | Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-store-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs `body` with ANYAGC_CACHE_DIR set to an empty private folder, and without switches that keep anything off. */
export async function withCaches(body: (folder: string) => void | Promise<void>) {
  const names = ["ANYAGC_CACHE_DIR", "APS5_NO_PIPELINE_JOURNAL", "ANYAGC_NO_PIPELINE_CACHE"];
  const before = names.map((name) => Deno.env.get(name));
  await inFolder(async (folder) => {
    names.forEach((name) => Deno.env.delete(name));
    Deno.env.set(names[0], folder);
    try {
      await body(folder);
    } finally {
      names.forEach((name, i) => before[i] === undefined ? Deno.env.delete(name) : Deno.env.set(name, before[i]!));
    }
  });
}

/** A store with the journal of a folder, and no cache. */
export function openStore(device: GpuDevice, folder: string, options?: JournalOptions) {
  const { float, endsLoops } = probeDevice(device);
  const journal = new Journal(folder, "test", IDENTITY, options);
  return new PipelineStore(device, recompilerDevice(device.capabilities, float, endsLoops), { journal });
}

/** Runs a program with a store; the words of a buffer, or of its last window, afterwards. */
export function run(
  device: GpuDevice,
  program: Program,
  store: PipelineStore,
  at?: { address: bigint; bytes: number },
): Uint32Array {
  const memory = new GuestMemory(new MmapAllocator());
  const executor = new VulkanExecutor(device, { target: program.target, store });
  try {
    const result = runProgram(program, executor, memory);
    if (result.error !== undefined) throw result.error;
    assertEquals(result.outcome, "passed");
    const last = program.memory.at(-1)!;
    const { address, bytes } = at ?? { address: last.base, bytes: last.bytes };
    return new Uint32Array(memory.read(address, bytes, 0).slice().buffer);
  } finally {
    executor.close();
    memory.clear();
  }
}
