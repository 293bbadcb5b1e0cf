/**
 * What a new program on one queue costs the others: pipelines created under the GPU mutex (a fixture of this benchmark, the way it was once
 * done) against pipelines created before it.
 *
 *     deno run -A bench/queue_compile.ts [--quick] [--json]
 *
 * The program: f32 operations in eight chains over v10..v17, a fresh literal each time so that no cache serves it, 32 threads, RSRC1 0,
 * user data two V#, compute queues 0x20 and 0x28, each an isolate, DISPATCH_DIRECT with initiator 0x8041, completion by WRITE_DATA.
 *
 * - pair: two new programs, submitted to both queues at once, until both are done.
 * - probe: a known program, submitted to 0x28 again and again while 0x20 has one new program after the other: how long each submission takes.
 *
 * Creations and holds of the mutex are put down as they happen; how many creations were inside a hold is counted from that trace. To be run
 * with the driver's own cache on the disk off (__GL_SHADER_DISK_CACHE=0, MESA_SHADER_CACHE_DISABLE=1).
 */
import { openDriverRoom } from "../src/driver/pools/driver_room.ts";
import { GuestSharing } from "../src/driver/vulkan/shared_guest.ts";
import { GpuDevice } from "../src/gpu/device.ts";
import { GuestMemory } from "../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../src/guest/memory/mmap_allocator.ts";
import type { CompileAnswer, CompileStart, CompileTask, TraceSpan } from "./queue_compile_worker.ts";
import { MEMORY, QUEUES } from "./queue_compile_worker.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const FULL = { operations: [2048, 8192, 32768], runs: 5, probes: 25, intervalMs: 200 };
/** A driver on the CPU takes minutes for what a GPU's takes half a second. */
const FULL_SOFTWARE = { operations: [128, 256, 512], runs: 5, probes: 25, intervalMs: 20 };
const QUICK = { operations: [16, 32], runs: 1, probes: 5, intervalMs: 5 };

/** Modes: where pipelines are created. */
const MODES = ["under the mutex", "before it"] as const;
type Mode = typeof MODES[number];

/** What was measured of one size in one mode. */
interface Row {
  operations: number;
  /** SPIR-V words of the module. */
  words: number;
  mode: Mode;
  /** Milliseconds of each run, both done. */
  pairMs: number[];
  /** The worst wait of each run. */
  worstProbeMs: number[];
  /** All waits. */
  probesMs: number[];
  /** Milliseconds in vkCreateComputePipelines of each creation of the pairs. */
  createMs: number[];
  /** Creations of all runs, and those during a hold of the mutex by the same queue. */
  creations: number;
  inside: number;
}

/** The table. */
export const TABLE: BenchTable = {
  name: "queue_compile",
  summary: "a new program on one queue, what it costs another: pipelines created under the GPU mutex, or before it",
  run,
};

async function run({ quick, progress }: BenchContext): Promise<BenchResult> {
  const device = GpuDevice.create({ queues: QUEUES.length });
  const software = device.capabilities.type === "software";
  const size = quick ? QUICK : software ? FULL_SOFTWARE : FULL;
  const room = openDriverRoom(device, { workers: [1, 1, 1] });
  const memory = new GuestMemory(new MmapAllocator());
  for (const { base, bytes } of MEMORY) memory.map(base, bytes);
  const sharing = new GuestSharing(device, memory);
  const fixture = new Int32Array(new SharedArrayBuffer(4)), gate = new Int32Array(new SharedArrayBuffer(8));
  const workers = QUEUES.map((queue, place) => {
    const guest = sharing.guest, data = { room: room.handle, guest, target: "gfx1013" as const, unalignedLoads: false };
    const start: CompileStart = {
      queue,
      place,
      data: { ...data, queue: place },
      windows: memory.describe(),
      fixture,
      gate,
    };
    return new BenchWorker(start);
  });
  const rows: Row[] = [];
  let literal = 0x3f80_0000 + (Date.now() % 0x40_0000);
  try {
    for (const operations of size.operations) {
      const ofSize = MODES.map((mode): Row => ({
        operations,
        words: 0,
        mode,
        pairMs: [],
        worstProbeMs: [],
        probesMs: [],
        createMs: [],
        creations: 0,
        inside: 0,
      }));
      rows.push(...ofSize);
      for (let each = 0; each < size.runs; each++) {
        for (const row of ofSize) {
          progress(rows.length * size.runs, size.operations.length * MODES.length * size.runs);
          const common = { operations, fixture: row.mode === "under the mutex" };
          Atomics.store(gate, 0, 0);
          const pair = await Promise.all(workers.map((worker) => {
            literal += 1000;
            return worker.do({ ...common, type: "pair", literal });
          }));
          row.pairMs.push(Math.max(...pair.map(({ end }) => end)) - Math.min(...pair.map(({ begin }) => begin)));
          row.words = Math.max(row.words, ...pair.map(({ words }) => words));
          row.createMs.push(...pair.flatMap(({ spans }) => creations(spans)).map(({ start, end }) => end - start));
          for (const { spans } of pair) count(row, spans);

          Atomics.store(gate, 0, 0);
          literal += 1000;
          const [created, probed] = await Promise.all([
            workers[0].do({ ...common, type: "create", literal }),
            workers[1].do({ ...common, type: "probe", literal, probes: size.probes, intervalMs: size.intervalMs }),
          ]);
          row.probesMs.push(...probed.waits);
          row.worstProbeMs.push(Math.max(...probed.waits));
          count(row, created.spans);
          count(row, probed.spans);
        }
      }
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    sharing.close();
    await room.close();
    memory.clear();
    device.destroy();
  }
  const { name, driver } = device.capabilities, queues = device.queues.length;
  return {
    data: { schema: "anyagc.bench.queue_compile/1", device: name, driver: driver.info, queues, ...size, rows },
    lines: table(rows, `${name} ${driver.info}, ${queues} VkQueue${queues === 1 ? "" : "s"}`, size),
  };
}

/** The isolate of a queue. */
class BenchWorker {
  readonly #worker = new Worker(new URL("./queue_compile_worker.ts", import.meta.url), { type: "module" });
  #answer: (answer: CompileAnswer) => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor(start: CompileStart) {
    this.#worker.onmessage = ({ data }: MessageEvent<CompileAnswer>) => this.#answer(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(new Error(event.message));
    };
    this.#worker.postMessage(start);
  }

  do(task: CompileTask): Promise<CompileAnswer> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.#fail = reject;
      this.#worker.postMessage(task);
    });
  }

  async end(): Promise<void> {
    await this.do({ type: "end" });
  }
}

function creations(spans: readonly TraceSpan[]): TraceSpan[] {
  return spans.filter(({ name }) => name === "create");
}

/** Counts creations, and those that a hold of the mutex by the same queue covers, if only in part. */
function count(row: Row, spans: readonly TraceSpan[]): void {
  const holds = spans.filter(({ name }) => name === "hold");
  for (const creation of creations(spans)) {
    row.creations++;
    if (holds.some(({ start, end }) => start < creation.end && end > creation.start)) row.inside++;
  }
}

function table(rows: readonly Row[], device: string, { runs, probes, intervalMs }: typeof FULL): string[] {
  const ms = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b), f = (value: number) => value.toFixed(value < 100 ? 1 : 0);
    return values.length === 0 ? "-" : `${f(sorted[0])} .. ${f(sorted[sorted.length >> 1])} .. ${f(sorted.at(-1)!)}`;
  };
  return [
    `${device}; ${runs} alternating runs, ${probes} probes each every ${intervalMs} ms; milliseconds, least .. median .. most`,
    "",
    "| operations | words | pipelines created | create | pair: both done | probe: all waits | worst of a run | creations, inside the mutex |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map((row) =>
      `| ${row.operations} | ${row.words} | ${row.mode} | ${ms(row.createMs)} | ${ms(row.pairMs)} | ${
        ms(row.probesMs)
      } | ` +
      `${ms(row.worstProbeMs)} | ${row.creations}, ${row.inside} |`
    ),
  ];
}

if (import.meta.main) await runAsScript(TABLE);
