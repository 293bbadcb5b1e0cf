/**
 * Words and time of the recompiler on long chains of f32 operations, by FLOAT_MODE and length.
 *
 *     deno run -A bench/recompile.ts [--quick] [--json]
 *
 * Words are counted after `spirv-opt --strip-debug --inline-entry-points-exhaustive`; words per operation are the slope between N and N / 2. Times are of
 * warm runs on one thread: median, minimum and maximum of the rounds, the variants taken in turns.
 */
import { openSpirvTools } from "../ffi/spirv_tools.ts";
import { recompile } from "../src/recompiler/recompile.ts";
import type { RecompilerDevice, RecompileRequest } from "../src/recompiler/request.ts";
import { chain, type ChainKind } from "./programs/chains.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

/** A device that has every float mode. */
const DEVICE: RecompilerDevice = {
  subgroupSize: 32,
  sharedMemoryBytes: 49152,
  denormFlush32: true,
  denormPreserve32: true,
  signedZeroInfNanPreserve32: true,
  roundRte32: true,
  keepsDenormals32: true,
  flushesDenormals32: false,
  fusesFma32: true,
  fusesFma64: true,
  int8: true,
  int16: true,
  float16: true,
  float64: true,
  storage8: true,
  storage16: true,
  bufferInt64Atomics: true,
  sharedInt64Atomics: true,
} as RecompilerDevice;

const ROUNDS = 7;
/** Code may have at most 1 MiB. */
const LENGTHS = [8192, 32768, 131072];

function request(code: Uint32Array, floatMode: number): RecompileRequest {
  return {
    code,
    codeAddress: 0x2_0000_0000n,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [32, 1, 1],
    userSgprCount: 8,
    workgroupIds: [false, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    floatMode,
    ieee: false,
    dx10Clamp: false,
    partialThreads: false,
    device: DEVICE,
  };
}

function words(code: Uint32Array, floatMode: number): number {
  const { spirv } = recompile(request(code, floatMode));
  return openSpirvTools().optimize(spirv, ["--strip-debug", "--inline-entry-points-exhaustive"]).length;
}

interface Row {
  program: ChainKind;
  operations: number;
  floatMode: string;
  words: number;
  wordsPerOperation?: number;
  ms: { median: number; min: number; max: number };
}

interface Variant {
  kind: ChainKind;
  count: number;
  mode: number;
  code: Uint32Array;
  times: number[];
}

function run({ quick, progress }: BenchContext): BenchResult {
  const lengths = quick ? [1024] : LENGTHS, rounds = quick ? 1 : ROUNDS, warmUp = quick ? 0 : 2;
  const variants: Variant[] = [];
  for (const kind of ["A", "B"] as const) {
    for (const count of lengths) {
      for (const mode of count === lengths[0] ? [0x00, 0xc0, 0xf0] : [0xf0]) {
        variants.push({ kind, count, mode, code: chain(kind, count), times: [] });
      }
    }
  }
  const total = variants.length * (rounds + warmUp + 1);
  let done = 0;
  for (let round = -warmUp; round < rounds; round++) {
    for (const variant of variants) {
      const input = request(variant.code, variant.mode);
      const start = performance.now();
      recompile(input);
      if (round >= 0) variant.times.push(performance.now() - start);
      progress(++done, total);
    }
  }
  const rows = variants.map(({ kind, count, mode, code, times }): Row => {
    times.sort((a, b) => a - b);
    const total = words(code, mode);
    const slope = count === lengths[0] ? (total - words(chain(kind, count / 2), mode)) / (count / 2) : undefined;
    progress(++done, variants.length * (rounds + warmUp + 1));
    return {
      program: kind,
      operations: count,
      floatMode: `0x${mode.toString(16).padStart(2, "0")}`,
      words: total,
      wordsPerOperation: slope,
      ms: { median: times[times.length >> 1], min: times[0], max: times[times.length - 1] },
    };
  });
  const rssBytes = Deno.memoryUsage().rss;
  return { data: { schema: "anyagc.bench.recompile/1", rounds, rssBytes, rows }, lines: lines(rows) };
}

function lines(rows: readonly Row[]): string[] {
  const head = "program  operations  FLOAT_MODE     words  words/op  ms median     min     max";
  return [
    head,
    ...rows.map((row) =>
      [
        row.program.padEnd(7),
        String(row.operations).padStart(10),
        row.floatMode.padStart(10),
        String(row.words).padStart(9),
        (row.wordsPerOperation?.toFixed(2) ?? "").padStart(8),
        row.ms.median.toFixed(1).padStart(9),
        row.ms.min.toFixed(1).padStart(7),
        row.ms.max.toFixed(1).padStart(7),
      ].join("  ")
    ),
  ];
}

/** The table. */
export const TABLE: BenchTable = {
  name: "recompile",
  summary: "words and time of the recompiler on long chains of f32 operations",
  run,
};

if (import.meta.main) await runAsScript(TABLE);
