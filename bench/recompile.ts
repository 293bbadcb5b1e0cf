/**
 * Words and time of the recompiler on long chains of f32 operations, by FLOAT_MODE and length.
 *
 *     deno run -A bench/recompile.ts [--quick] [--json] [--only A,queue] [--lengths 4096,8192] [--verify] [--device NAME]
 *
 * Words are the module's own. Words per operation are the slope (W(N) - W(N / 2)) / (N / 2) of words counted after `spirv-opt --strip-debug
 * --inline-entry-points-exhaustive`, for programs that are short enough for it: its inlining takes time that grows with the square. Times are of warm
 * runs on one thread: median, minimum and maximum of the rounds, the variants taken in turns. Peak memory is the process's largest resident set so far,
 * so it rises down the table.
 *
 * With `--verify` the operations are also run on the Vulkan device on 10^5 numbers, denormals among them, and compared with the interpreter bit by bit.
 */
import { procMemory } from "../src/driver/compile_cost/peak_memory.ts";
import { parseArgs } from "@std/cli";
import { openSpirvTools } from "../ffi/spirv_tools.ts";
import { recompile } from "../src/recompiler/recompile.ts";
import { chain, CHAIN_KINDS, type ChainKind } from "./programs/chains.ts";
import { chainRequest } from "./programs/request.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";
import { verifyChains } from "./verify_chains.ts";

const ROUNDS = 7;
/** The first is measured in all modes; the growth is read off the others. */
const LENGTHS = [8192, 32768, 131072, 262144];
const QUICK = [1024];
/** Operations of the longest program whose words are counted with everything inlined. */
const MOST_INLINED = 8192;
const MODES = [0x00, 0xc0, 0xf0];

function wordsOf(code: Uint32Array, floatMode: number, inlined: boolean): number {
  const { spirv } = recompile(chainRequest(code, floatMode));
  if (!inlined) return spirv.length;
  return openSpirvTools().optimize(spirv, ["--strip-debug", "--inline-entry-points-exhaustive"]).length;
}

interface Row {
  program: ChainKind;
  operations: number;
  floatMode: string;
  /** Words of the module. */
  words: number;
  /** (W(N) - W(N / 2)) / (N / 2), everything inlined; null for long programs. */
  wordsPerOperation: number | null;
  ms: { median: number; min: number; max: number };
  /** Largest resident set of the process after these rounds, in bytes. */
  peakBytes: number;
}

interface Variant {
  kind: ChainKind;
  count: number;
  mode: number;
  code: Uint32Array;
  times: number[];
  peakBytes: number;
}

/** What to measure. */
interface Choice {
  readonly kinds: readonly ChainKind[];
  readonly lengths: readonly number[];
}

function run({ quick, progress }: BenchContext): BenchResult {
  const kinds = quick ? CHAIN_KINDS.slice(0, 2) : CHAIN_KINDS;
  return measure({ kinds, lengths: quick ? QUICK : LENGTHS }, { quick, progress });
}

function measure({ kinds, lengths }: Choice, { quick, progress }: BenchContext): BenchResult {
  const rounds = quick ? 1 : ROUNDS, warmUp = quick ? 0 : 2;
  const variants: Variant[] = [];
  // Short ones first, so that the peak tells what a length needs.
  for (const count of lengths) {
    for (const kind of kinds) {
      for (const mode of count === lengths[0] ? MODES : [0xf0]) {
        variants.push({ kind, count, mode, code: chain(kind, count), times: [], peakBytes: 0 });
      }
    }
  }
  const total = variants.length * (rounds + warmUp + 1);
  let done = 0;
  for (const count of lengths) {
    const group = variants.filter((variant) => variant.count === count);
    for (let round = -warmUp; round < rounds; round++) {
      for (const variant of group) {
        const input = chainRequest(variant.code, variant.mode);
        const start = performance.now();
        recompile(input);
        if (round >= 0) variant.times.push(performance.now() - start);
        progress(++done, total);
      }
    }
    for (const variant of group) variant.peakBytes = procMemory.peak();
  }
  const rows = variants.map(({ kind, count, mode, code, times, peakBytes }): Row => {
    times.sort((a, b) => a - b);
    const slope = count > MOST_INLINED
      ? null
      : (wordsOf(code, mode, true) - wordsOf(chain(kind, count / 2), mode, true)) / (count / 2);
    progress(++done, total);
    return {
      program: kind,
      operations: count,
      floatMode: `0x${mode.toString(16).padStart(2, "0")}`,
      words: wordsOf(code, mode, false),
      wordsPerOperation: slope,
      ms: { median: times[times.length >> 1], min: times[0], max: times[times.length - 1] },
      peakBytes,
    };
  });
  return { data: { schema: "anyagc.bench.recompile/1", rounds, rows }, lines: lines(rows) };
}

function lines(rows: readonly Row[]): string[] {
  const head = "program         operations  FLOAT_MODE     words  words/op  ms median     min     max  peak MiB";
  return [
    head,
    ...rows.map((row) =>
      [
        row.program.padEnd(14),
        String(row.operations).padStart(10),
        row.floatMode.padStart(10),
        String(row.words).padStart(8),
        (row.wordsPerOperation?.toFixed(2) ?? "").padStart(8),
        row.ms.median.toFixed(1).padStart(9),
        row.ms.min.toFixed(1).padStart(6),
        row.ms.max.toFixed(1).padStart(6),
        (row.peakBytes / 2 ** 20).toFixed(0).padStart(8),
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

/** The numbers of an option that lists them. */
function numbers(text: string | undefined): number[] | undefined {
  return text?.split(",").map(Number);
}

if (import.meta.main) {
  const options = parseArgs(Deno.args, {
    boolean: ["quick", "json", "verify"],
    string: ["only", "lengths", "device"],
  });
  const { verify, device } = options;
  const kinds = CHAIN_KINDS.filter((kind) => options.only?.split(",").includes(kind) ?? true);
  const lengths = numbers(options.lengths);
  await runAsScript({
    ...TABLE,
    run: (context) => {
      const result = options.only === undefined && lengths === undefined
        ? run(context)
        : measure({ kinds, lengths: lengths ?? LENGTHS }, context);
      if (!verify) return result;
      const checked = verifyChains(device);
      return { data: { ...result.data, verified: checked }, lines: [...result.lines, ...checked.lines] };
    },
  });
}
