/**
 * What a hit in the shader cache costs: in memory, in the folder, and as `resolveShaderAbi` of a registered shader takes it over.
 *
 *     deno run -A bench/shader_cache.ts [--quick] [--json]
 *
 * 96 pixel and 96 compute shaders of 600 operations. Rounds look all of them up; a round's figure is the mean of its look-ups, the row's the median of the
 * rounds and the least. What is read was read before, so it is in the system's memory.
 */
import { evictArtifact } from "../src/driver/pools/preparation.ts";
import { createRoom } from "../src/driver/pools/room.ts";
import { recordAbi, stageAbi } from "../src/driver/registry/abi.ts";
import { ShaderRegistry } from "../src/driver/registry/shader_registry.ts";
import { ShaderCache } from "../src/driver/shader_cache/shader_cache.ts";
import { GENERIC_DEVICE } from "../src/recompiler/generic_device.ts";
import { guestMemory, makeShaders } from "./abi_resolve/shaders.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const OPERATIONS = 600, SHADERS = 96, ROUNDS = 60;
const HOST = { target: "gfx1013", device: GENERIC_DEVICE } as const;

interface Row {
  readonly what: string;
  readonly medianUs: number;
  readonly leastUs: number;
  /** Files that were read, a look-up. */
  readonly reads: number;
}

/** The table. */
export const TABLE: BenchTable = {
  name: "shader_cache",
  summary: "a hit in the shader cache: in memory, in its folder, and taken over for a shader's ABI",
  run,
};

function run({ quick, progress }: BenchContext): BenchResult {
  const rounds = quick ? 3 : ROUNDS, folder = Deno.makeTempDirSync({ prefix: "anyagc-bench-" });
  try {
    const room = createRoom({ workers: [1, 1, 1] }), set = makeShaders(SHADERS, SHADERS, OPERATIONS);
    const memory = guestMemory(set.bytes), records = [...set.computes, ...set.pixels];
    const filling = new ShaderCache(folder);
    const first = ShaderRegistry.create(room, { host: HOST, memory, cache: filling, synchronous: true });
    const shaders = records.map((record) => {
      const shader = first.registerShader(record), state = recordAbi(record) ?? stageAbi(record, []);
      first.resolveShaderAbi(shader, state);
      return { record, state, request: first.request(shader, state) };
    });
    filling.flush();
    const rows: Row[] = [];
    const measure = (what: string, round: () => { us: number; reads: number }) => {
      const times: number[] = [];
      let reads = 0;
      for (let i = 0; i < rounds + Math.ceil(rounds / 4); i++) {
        const { us, reads: read } = round();
        if (i >= rounds / 4) times.push(us);
        reads = read;
      }
      times.sort((a, b) => a - b);
      rows.push({ what, medianUs: times[times.length >> 1], leastUs: times[0], reads });
      progress(rows.length, 3);
    };
    /** Microseconds of a look-up, and what it read. */
    const each = (cache: ShaderCache, look: (index: number) => void) => {
      const before = cache.counts.reads, start = performance.now();
      for (let i = 0; i < shaders.length; i++) look(i);
      const us = (performance.now() - start) / shaders.length * 1000;
      return { us, reads: (cache.counts.reads - before) / shaders.length };
    };
    const find = (cache: ShaderCache) =>
      each(cache, (i) => {
        if (cache.find(shaders[i].request) === undefined) throw new Error("it is not found");
      });
    const warm = new ShaderCache(folder);
    find(warm);
    measure("found in memory", () => find(warm));
    measure("found in the folder", () => find(new ShaderCache(folder)));
    measure("resolveShaderAbi, from the folder", () => {
      for (const { reference } of room.artifacts.snapshot()) evictArtifact(room, reference);
      const cache = new ShaderCache(folder);
      const registry = ShaderRegistry.create(room, { host: HOST, memory, cache, capacity: 1024, synchronous: false });
      // Registering takes over what the record says all of: here only what it does not.
      const open = shaders.slice(SHADERS).map(({ record, state }) => ({
        shader: registry.registerShader(record),
        state,
      }));
      const before = cache.counts.reads, start = performance.now();
      for (const { shader, state } of open) {
        if (registry.resolveShaderAbi(shader, state) !== "cached") throw new Error("it is not taken over");
      }
      const us = (performance.now() - start) / open.length * 1000;
      return { us, reads: (cache.counts.reads - before) / open.length };
    });
    return {
      data: { schema: "anyagc.bench.shader_cache/1", operations: OPERATIONS, shaders: shaders.length, rounds, rows },
      lines: [
        `${shaders.length} shaders of ${OPERATIONS} operations, ${rounds} rounds; microseconds of a look-up`,
        "",
        "| look-up | median us | least | files read |",
        "| --- | --- | --- | --- |",
        ...rows.map(({ what, medianUs, leastUs, reads }) =>
          `| ${what} | ${medianUs.toFixed(1)} | ${leastUs.toFixed(1)} | ${reads} |`
        ),
      ],
    };
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) await runAsScript(TABLE);
