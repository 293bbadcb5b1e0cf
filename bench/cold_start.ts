/**
 * What earlier runs are worth: the first run of a program, and the next one with the journal of its pipelines and the caches (recompiled
 * shaders, the driver's pipelines), with one of them, each run a process of its own.
 *
 *     deno run -A bench/cold_start.ts [--quick] [--json]
 *
 * The driver's own caches (Mesa, NVIDIA) lie in folders that belong to a round, so no run sees anything but what its row says. `run` is from
 * the first packet to the last result, `start` from the start of the main isolate to that; a pipeline that was created in it, by a dispatch or by a pool ahead of one, counts as built in it.
 */
import { BUILD_STAMP } from "../src/build_stamp.ts";
import { chain } from "./programs/chains.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

/** Programs of the guest, f32 operations of the shortest, and how many more the next one has. */
const FULL = { programs: 24, operations: 512, step: 16, rounds: 5 };
const QUICK = { programs: 3, operations: 16, step: 4, rounds: 1 };
/** The programs in turn: with more than one queue each has an isolate, and pipelines are made through the room's pools, also those of the journal. */
const QUEUES = [0x20, 0x28] as const;
const CODE_WINDOW = 0x2_0000_0000n, DATA = 0x3_0000_0000n;

const SCENARIOS = [
  { name: "first run", journal: true, caches: true },
  { name: "journal and caches", journal: true, caches: true },
  { name: "caches only", journal: false, caches: true },
  { name: "journal only", journal: true, caches: false },
] as const;

interface Times {
  process: number;
  start: number;
  replay: number;
  run: number;
}

interface Row {
  scenario: string;
  /** Milliseconds, medians: the whole process; of it, until the run begins; of that, creating pipelines; the run. */
  ms: Times;
  /** Of the run: its worst, in milliseconds. */
  worstRunMs: number;
  replayed: number;
  built: number;
  /** Creations of the replay that the driver answered from a cache, by its own word. */
  hits: number;
}

/** The table. */
export const TABLE: BenchTable = {
  name: "cold_start",
  summary: "the first run of a program, and the next with journal and caches, or one of them",
  run,
};

async function run({ quick, progress, said }: BenchContext): Promise<BenchResult> {
  const size = quick ? QUICK : FULL;
  const times = SCENARIOS.map((): Times[] => []), rows: Row[] = [];
  let device = "";
  for (let round = 0; round < size.rounds; round++) {
    const folder = await Deno.makeTempDir({ prefix: "anyagc-cold-start-" });
    try {
      const file = `${folder}/program.json`;
      Deno.writeTextFileSync(file, JSON.stringify(guestProgram(size)));
      for (const [index, scenario] of SCENARIOS.entries()) {
        progress(round * SCENARIOS.length + index, size.rounds * SCENARIOS.length);
        const start = performance.now();
        const result = await runProcess(file, folder, scenario);
        const wall = performance.now() - start;
        device = result.device.name;
        const { replay, used, built } = result.pipelines;
        const { startMs, runMs } = result.timings;
        times[index].push({ process: wall, start: startMs, replay: replay.ms, run: runMs });
        said?.(`round ${round}, ${scenario.name}: process ${wall.toFixed(0)} ms, run ${runMs.toFixed(0)} ms`);
        const expected = scenario.name === "first run" || !scenario.journal ? 0 : size.programs;
        if (used !== expected || built !== size.programs - expected) {
          throw new Error(`${scenario.name}: ${used} pipelines used and ${built} built, not ${expected} used`);
        }
        rows[index] ??= row(scenario.name, replay.created, built, replay.hits);
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
  rows.forEach((each, index) => {
    const of = (key: keyof Times) => times[index].map((time) => time[key]).sort((a, b) => a - b);
    const median = (key: keyof Times) => of(key)[times[index].length >> 1];
    each.ms = { process: median("process"), start: median("start"), replay: median("replay"), run: median("run") };
    each.worstRunMs = of("run").at(-1)!;
  });
  return { data: { schema: "anyagc.bench.cold_start/2", device, ...size, rows }, lines: table(rows, device, size) };
}

function row(scenario: string, replayed: number, built: number, hits: number): Row {
  return { scenario, ms: { process: 0, start: 0, replay: 0, run: 0 }, worstRunMs: 0, replayed, built, hits };
}

/** Runs the program in a process that has the scenario's caches, and no others. */
async function runProcess(file: string, folder: string, { journal, caches }: typeof SCENARIOS[number]) {
  const driverCaches = caches ? `${folder}/driver` : `${folder}/no-driver`;
  await Deno.mkdir(driverCaches, { recursive: true });
  const main = new URL("../src/main.ts", import.meta.url).pathname;
  const before = BUILD_STAMP === undefined ? ["run", "-A", "--no-check", decodeURIComponent(main)] : [];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...before, "run", file, "--json", "--quiet"],
    env: {
      ANYAGC_CACHE_DIR: `${folder}/anyagc`,
      MESA_SHADER_CACHE_DIR: driverCaches,
      __GL_SHADER_DISK_CACHE_PATH: driverCaches,
      APS5_NO_PIPELINE_JOURNAL: journal ? "0" : "1",
      ANYAGC_NO_PIPELINE_CACHE: caches ? "0" : "1",
      ANYPS5_NO_SHADER_CACHE: caches ? "0" : "1",
      ANYPS5_SHADER_CACHE_DIR: "", // below ANYAGC_CACHE_DIR
    },
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (code !== 0) throw new Error(`anyagc run: exit code ${code}\n${text}${new TextDecoder().decode(stderr)}`);
  const result = JSON.parse(text);
  if (result.pipelines === undefined) throw new Error(`${result.device.name} keeps no pipelines: it needs Vulkan`);
  return result;
}

/** The guest program (docs/program-json.md): each of its programs runs once, in one group. */
function guestProgram({ programs, operations, step }: typeof FULL) {
  const codes = Array.from({ length: programs }, (_, i) => chain("A", operations + step * i));
  const bytes = 256 * Math.ceil(Math.max(...codes.map(({ byteLength }) => byteLength)) / 256);
  return {
    schema: "anyagc.program/1",
    name: "cold start",
    target: "gfx1013",
    memory: [
      {
        name: "code",
        base: `0x${CODE_WINDOW.toString(16)}`,
        bytes: 4096 * Math.ceil(bytes * programs / 4096),
        permissions: "rx",
        contents: codes.map((code, i) => ({ offset: bytes * i, words: [...code] })),
      },
      { name: "data", base: `0x${DATA.toString(16)}`, bytes: 4096 },
    ],
    submissions: QUEUES.map((queue, k) => ({
      queue,
      label: `programs of queue ${queue}`,
      words: codes.flatMap((_, i) => i % QUEUES.length === k ? dispatch(CODE_WINDOW + BigInt(bytes * i)) : []),
    })),
  };
}

/** Registers and a dispatch of one group of 32 threads; user data is the V# of the data. */
function dispatch(code: bigint): number[] {
  const low = Number(DATA & 0xffff_ffffn), high = Number(DATA >> 32n);
  const set = (register: number, ...values: number[]) => [0xc000_7600 | values.length << 16, register, ...values];
  return [
    ...set(0x204, 0, 0, 0),
    ...set(0x207, 32, 1, 1),
    ...set(0x20c, Number(code >> 8n), 0),
    ...set(0x212, 0x602f_0001, 4 << 1 | 1 << 7),
    ...set(0x240, low, high, 4096, 0x3101_6fac),
    ...[0xc003_1502, 1, 1, 1, 0x8041],
  ].map((word) => word >>> 0);
}

function table(rows: readonly Row[], device: string, { programs, operations, step, rounds }: typeof FULL): string[] {
  const cells = [
    ["", "process ms", "start ms", "replay ms", "run ms", "worst run", "before the run", "built in it"],
    ...rows.map(({ scenario, ms, worstRunMs, replayed, built }) => [
      scenario,
      ...[ms.process, ms.start, ms.replay, ms.run, worstRunMs].map((value) => value.toFixed(0)),
      String(replayed),
      String(built),
    ]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  return [
    `${device}: ${programs} programs of ${operations} to ${
      operations + step * (programs - 1)
    } operations, ${rounds} rounds`,
    ...cells.map((line) =>
      line.map((cell, i) => i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join("  ")
    ),
  ];
}

if (import.meta.main) await runAsScript(TABLE);
