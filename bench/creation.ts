/**
 * What the driver takes to make a pipeline of a long recompiled program: the very program of the queue benchmark (bench/programs/chains.ts, "queue"),
 * 8,192 f32 operations with all denormals flushed, and a shorter one with denormals kept.
 *
 *     deno run -A bench/creation.ts [--quick] [--json] [--device NAME]
 *
 * Every round has a fresh literal, and the drivers' own caches are off, so nothing is served from a cache. The results are compared with the
 * interpreter's. A software device may compile when the pipeline is first used: that is in the time of the dispatch.
 */
import { parseArgs } from "@std/cli";
import { setNativeEnvironment } from "../ffi/libc.ts";
import type { Device } from "../src/driver/device.ts";
import { openVulkanDevice } from "../src/driver/open_vulkan_device.ts";
import { SoftwareDevice } from "../src/driver/software/software_device.ts";
import { HostError } from "../src/errors.ts";
import { Random } from "../tests/support/random.ts";
import { chain, CHAIN_OUTPUT_BYTES } from "./programs/chains.ts";
import { type ChainProgram, chainProgram } from "./programs/guest.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";
import { floatInputs } from "./verify_chains.ts";

const FULL = { operations: [256, 8192], rounds: 5 };
const QUICK = { operations: [64], rounds: 1 };
/** All f32 denormals flushed; kept by f16 and f64 only; kept, which takes guards on devices that flush: for the shortest program only. */
const MODES = [0x00, 0xc0, 0xf0];
const THREADS = 32;

/**
 * What other forms of such a program took on an H200 (driver 580.159), written by hand: in SSA form without decorations and guards, and through function
 * variables with denormal guards on every operand.
 */
const STAND_INS = [
  { what: "stand-in: SSA form, no guards", words: 51_693, createMs: [410, 450] },
  { what: "stand-in: variables, guards on every operand", words: 1_028_741, createMs: [9_900, 9_900] },
] as const;

interface Row {
  operations: number;
  floatMode: string;
  laneMode: string;
  words: number;
  recompileMs: number;
  /** Milliseconds of vkCreateComputePipelines with its module. */
  createMs: { median: number; min: number; max: number };
  /** Milliseconds of the dispatch by the device's clock; null without one. */
  dispatchMs: number | null;
  /** Outputs that differ from the interpreter's; two NaN are equal. */
  different: number;
}

function measure({ quick, progress }: BenchContext, name?: string): BenchResult {
  Deno.env.set("ANYPS5_NO_SHADER_CACHE", "1");
  setNativeEnvironment("__GL_SHADER_DISK_CACHE", "0");
  setNativeEnvironment("MESA_SHADER_CACHE_DISABLE", "true");
  const { operations, rounds } = quick ? QUICK : FULL;
  const { device, note } = openVulkanDevice({ name });
  if (device === undefined) throw new HostError("host.no-vulkan-device", note ?? "a Vulkan device is needed");
  using vulkan = device;
  using software = new SoftwareDevice();
  const rows: Row[] = [], random = new Random(Date.now() >>> 0);
  const total = (operations.length * (MODES.length - 1) + 1) * rounds;
  let done = 0;
  for (const count of operations) {
    for (const mode of count === operations[0] ? MODES : MODES.slice(0, 2)) {
      const all: Round[] = [];
      for (let round = 0; round < rounds; round++) {
        all.push(oneRound(vulkan, software, count, mode, 0x3f80_0001 | random.below(0x8000)));
        progress(++done, total);
      }
      rows.push(rowOf(count, mode, all));
    }
  }
  const { name: deviceName, driver } = vulkan.description;
  const data = { schema: "anyagc.bench.creation/1", device: deviceName, driver, rounds, rows, standIns: STAND_INS };
  return { data, lines: lines(rows, `${deviceName} (${driver})`, rounds) };
}

interface Round {
  readonly words: number;
  readonly laneMode: string;
  readonly recompileMs: number;
  readonly createMs: number;
  readonly dispatchMs: number | null;
  readonly different: number;
}

function oneRound(vulkan: Device, software: Device, count: number, floatMode: number, literal: number): Round {
  const program = chainProgram({
    name: `${count} operations`,
    code: chain("queue", count, literal),
    floatMode,
    threads: THREADS,
    dispatches: 1,
    input: floatInputs(THREADS * 4, literal),
    outputBytes: CHAIN_OUTPUT_BYTES.queue,
  });
  const expected = execute(software, program), { results, result } = execute(vulkan, program);
  const { words, laneMode, recompileMs, createMs } = result.programs[0];
  let different = 0;
  for (let i = 0; i < results.length; i++) {
    if (results[i] !== expected.results[i] && !(isNan(results[i]) && isNan(expected.results[i]))) different++;
  }
  return { words, laneMode, recompileMs, createMs, dispatchMs: result.timings.deviceMs ?? null, different };
}

function execute(device: Device, { program, output }: ChainProgram) {
  const run = device.run(program);
  try {
    if (run.result.error !== undefined) throw run.result.error;
    return {
      results: new Uint32Array(run.memory.read(output.address, output.bytes).slice().buffer),
      result: run.result,
    };
  } finally {
    run.close();
  }
}

function isNan(bits: number): boolean {
  return (bits & 0x7fff_ffff) > 0x7f80_0000;
}

function rowOf(operations: number, mode: number, all: readonly Round[]): Row {
  const sorted = (of: (round: Round) => number) => all.map(of).sort((a, b) => a - b);
  const create = sorted(({ createMs }) => createMs), middle = all.length >> 1;
  return {
    operations,
    floatMode: `0x${mode.toString(16).padStart(2, "0")}`,
    laneMode: all[0].laneMode,
    words: all[0].words,
    recompileMs: sorted(({ recompileMs }) => recompileMs)[middle],
    createMs: { median: create[middle], min: create[0], max: create[create.length - 1] },
    dispatchMs: all[0].dispatchMs === null ? null : sorted(({ dispatchMs }) => dispatchMs ?? 0)[middle],
    different: all.reduce((sum, { different }) => sum + different, 0),
  };
}

function lines(rows: readonly Row[], device: string, rounds: number): string[] {
  return [
    `${device}, ${rounds} rounds, driver caches off`,
    "operations  FLOAT_MODE  lanes        words  recompile ms  create ms     min     max  dispatch ms  different",
    ...rows.map((row) =>
      [
        String(row.operations).padStart(10),
        row.floatMode.padStart(10),
        row.laneMode.padEnd(8),
        String(row.words).padStart(8),
        row.recompileMs.toFixed(1).padStart(12),
        row.createMs.median.toFixed(1).padStart(9),
        row.createMs.min.toFixed(1).padStart(6),
        row.createMs.max.toFixed(1).padStart(6),
        (row.dispatchMs?.toFixed(3) ?? "").padStart(11),
        String(row.different).padStart(9),
      ].join("  ")
    ),
    ...STAND_INS.map(({ what, words, createMs: [least, most] }) =>
      `${what} (8,192 operations, H200, driver 580.159): ${words} words, ${
        least === most ? `${most}` : `${least} to ${most}`
      } ms`
    ),
  ];
}

/** The table. */
export const TABLE: BenchTable = {
  name: "creation",
  summary: "what the driver takes to make a pipeline of a long recompiled program",
  run: (context) => measure(context),
};

if (import.meta.main) {
  const { device } = parseArgs(Deno.args, { boolean: ["quick", "json"], string: ["device"] });
  await runAsScript({ ...TABLE, run: (context) => measure(context, device) });
}
