import { assert, assertEquals, assertMatch } from "@std/assert";
import { RequestDump } from "../../../src/driver/request_dump.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { VulkanExecutor } from "../../../src/driver/vulkan/vulkan_executor.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { decodeRequest } from "../../../src/recompiler/request_file.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../../support/guest_program.ts";
import { IMAGE_LOAD, SQUARE } from "../../support/machine_code.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { entries, inFolder } from "./support.ts";

/** Squares 0..63, by the code with `change` made to it. */
function squares(change: (code: Uint32Array) => void = () => {}) {
  const words = SQUARE.slice();
  change(words);
  const guest = new GuestProgram("squares"), code = guest.code(words);
  const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)), to = guest.buffer(new Uint32Array(64));
  guest.submit(
    0,
    computeState({ code, userData: [...descriptor(from), ...descriptor(to)] }),
    dispatchDirect([1, 1, 1]),
  );
  return { program: guest.program, to, code };
}

/** Runs it with a cache of the folder, and tells what the cache did; the result must be right. */
function run(gpu: GpuDevice, folder: string, { program, to }: ReturnType<typeof squares>) {
  const memory = new GuestMemory(new MmapAllocator()), shaders = new ShaderCache(folder);
  const executor = new VulkanExecutor(gpu, { target: program.target, shaders });
  try {
    assertEquals(runProgram(program, executor, memory).outcome, "passed");
    for (let i = 0; i < 64; i++) assertEquals(memory.readU32(to.address + 4n * BigInt(i)), i * i + i);
    assertEquals(shaders.counts.written, 0, "a dispatch writes nothing");
    shaders.flush();
    const { hits, misses, written } = shaders.counts;
    return { hits, misses, written };
  } finally {
    executor.close();
    memory.clear();
  }
}

/** Loads the 8 x 8 texels of an image, which begins `skipped` bytes after its window. */
function image(skipped: number) {
  const guest = new GuestProgram("image"), code = guest.code(IMAGE_LOAD), before = skipped / 4;
  const window = guest.buffer(Uint32Array.from({ length: before + 512 }, (_, i) => 7 * (i - before)));
  const to = guest.buffer(new Uint32Array(64)), base = window.address + BigInt(skipped) >> 8n;
  // A linear 2D image of one component of 32 bits, rows 256 bytes apart (AMD RDNA2 ISA, "Image resource descriptor").
  const words = [Number(base & 0xffff_ffffn), Number(base >> 32n) | 20 << 20 | 3 << 30, 1 | 7 << 14 | 1 << 31];
  const table = guest.buffer(Uint32Array.from([...words, 0xfac | 9 << 28, 0, 0, 0, 0]));
  const userData = [...words64(table.address), ...words64(to.address), 8];
  guest.submit(0, computeState({ code, userData, threads: [8, 8, 1], threadIds: 2 }), dispatchDirect([1, 1, 1]));
  return { program: guest.program, to };
}

/** Runs something with switches set. */
async function withSwitches(switches: Record<string, string>, body: () => void | Promise<void>): Promise<void> {
  const before = Object.keys(switches).map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const [name, value] of Object.entries(switches)) Deno.env.set(name, value);
    await body();
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
}

deviceTest(
  "what one run recompiled the next one takes from the cache, and computes the same with it",
  (gpu) =>
    inFolder((folder) => {
      assertEquals(run(gpu, folder, squares()), { hits: 0, misses: 1, written: 1 });
      assertEquals(run(gpu, folder, squares()), { hits: 1, misses: 0, written: 0 });
      // The same state, another program: a no-operation instead of the wait, s_nop 0.
      const other = squares((code) => code[code.indexOf(0xbf8c3f70)] = 0xbf8c0000);
      assertEquals(run(gpu, folder, other), { hits: 0, misses: 1, written: 1 });
      assertEquals(run(gpu, folder, squares()), { hits: 1, misses: 0, written: 0 });
      assertEquals(entries(folder).length, 2);
    }),
);

deviceTest(
  "a device keeps its shaders in ANYPS5_SHADER_CACHE_DIR, and dumps its requests to APS5_DUMP_SHADERS",
  (gpu) =>
    inFolder((folder) => {
      const cache = `${folder}/cache`, dump = `${folder}/dump`;
      const switches = { ANYPS5_NO_SHADER_CACHE: "", ANYPS5_SHADER_CACHE_DIR: cache, APS5_DUMP_SHADERS: dump };
      return withSwitches(switches, () => {
        const { program, to, code } = squares();
        for (let time = 0; time < 2; time++) {
          const result = new VulkanDevice(gpu, "automatic").run(program);
          assertEquals(result.result.outcome, "passed");
          assertEquals(result.memory.readU32(to.address + 4n * 63n), 63 * 63 + 63);
          result.close();
          assertEquals(entries(cache).length, 1);
          const files = [...Deno.readDirSync(dump)].map(({ name }) => name);
          assertEquals(files.length, 1);
          assertMatch(files[0], /^compute_0x200000000_wave32_[0-9a-f]{16}\.request\.json$/);
          const { request } = decodeRequest(Deno.readFileSync(`${dump}/${files[0]}`), files[0]);
          assertEquals([request.codeAddress, request.code], [code, SQUARE]);
          // Recompiled from the file, it is the module that the cache has.
          assertEquals(new ShaderCache(cache).find(request), recompile(request));
        }
      });
    }),
);

deviceTest(
  "a folder for APS5_DUMP_SHADERS that cannot be made fails the run with its name",
  (gpu) =>
    inFolder((folder) => {
      Deno.writeTextFileSync(`${folder}/file`, "");
      return withSwitches({ APS5_DUMP_SHADERS: `${folder}/file/dump` }, () => {
        let message = "";
        try {
          const run = new VulkanDevice(gpu, "automatic").run(squares().program);
          message = run.result.error?.message ?? "";
          run.close();
        } catch (error) {
          message = (error as Error).message;
        }
        assert(message.includes("APS5_DUMP_SHADERS") && message.includes(`${folder}/file/dump`), message);
      });
    }),
);

deviceTest(
  "a program with images is found wherever they lie, and only its request with descriptors is dumped",
  (gpu) =>
    inFolder((folder) => {
      for (const [skipped, expected] of [[0, [0, 1]], [4096, [1, 0]]] as const) {
        const { program, to } = image(skipped), memory = new GuestMemory(new MmapAllocator());
        const shaders = new ShaderCache(`${folder}/cache`), dump = new RequestDump(`${folder}/dump${skipped}`);
        const executor = new VulkanExecutor(gpu, { target: program.target, shaders, dump });
        try {
          const { error } = runProgram(program, executor, memory);
          if (error !== undefined) throw error;
          for (let i = 0; i < 64; i++) {
            assertEquals(memory.readU32(to.address + 4n * BigInt(i)), 7 * (64 * (i >> 3) + (i & 7)));
          }
        } finally {
          executor.close();
          memory.clear();
        }
        shaders.flush();
        assertEquals([shaders.counts.hits, shaders.counts.written], [...expected]);
        const files = [...Deno.readDirSync(`${folder}/dump${skipped}`)].map(({ name }) =>
          `${folder}/dump${skipped}/${name}`
        );
        assertEquals(files.length, 1);
        assertEquals(decodeRequest(Deno.readFileSync(files[0]), files[0]).request.imageDescriptors?.size, 1);
      }
    }),
);
