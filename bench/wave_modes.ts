/**
 * Lane modes against each other: programs of waves of 64 lanes that exchange (programs/waves.ts), spanned, packed, and native where the device can.
 *
 *     deno run -A bench/wave_modes.ts [--quick] [--json] [--device NAME] [--rounds N] [--groups N]
 *
 * Per program and mode: words of the module, milliseconds to recompile, to create the pipeline (nothing in the driver's caches: every program is new, and its
 * cache on the disk is off), and for a dispatch of `groups` workgroups on the device (median, least and most of five). Results of a small dispatch are
 * compared with the interpreter's bit by bit, those of the large one with those of the other modes.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { setNativeEnvironment } from "../ffi/libc.ts";
import { runProgram } from "../src/driver/run_program.ts";
import { SoftwareExecutor } from "../src/driver/software/software_executor.ts";
import { VulkanExecutor } from "../src/driver/vulkan/vulkan_executor.ts";
import type { ComputeExecutor } from "../src/driver/executor.ts";
import { GpuDevice } from "../src/gpu/device.ts";
import { ArrayAllocator } from "../src/guest/memory/allocator.ts";
import { GuestMemory } from "../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../src/guest/memory/mmap_allocator.ts";
import { withWaveMode } from "../tests/recompiler/waves/guest.ts";
import { type WaveProgram, wavePrograms } from "./programs/waves.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const MODES = ["spanned", "packed", "native"] as const;
type Mode = (typeof MODES)[number];
/** Workgroups of the dispatch that is compared with the interpreter. */
const COMPARED = 3;
const RUNS = 5;

interface Row {
  program: string;
  mode: Mode;
  /** What the artifact is: laneless for LDS traffic with barriers. */
  laneMode: string;
  words: number;
  recompileMs: number;
  createMs: number;
  /** Undefined where the device cannot tell. */
  runMs: { median: number; least: number; most: number } | undefined;
  /** Equal to the interpreter, and to the other modes. */
  equal: boolean;
}

interface Options {
  device?: string;
  rounds: number;
  groups: number;
}

function optionsOf(quick: boolean): Options {
  const { device, rounds, groups } = parseArgs(Deno.args, { string: ["device", "rounds", "groups"] });
  return { device, rounds: Number(rounds ?? (quick ? 4 : 16)), groups: Number(groups ?? (quick ? 16 : 1024)) };
}

function outputOf(executor: ComputeExecutor, made: ReturnType<WaveProgram["make"]>, memory: GuestMemory): Uint32Array {
  try {
    const { error } = runProgram(made.program, executor, memory);
    if (error !== undefined) throw error;
    return new Uint32Array(memory.read(made.output.address, made.output.bytes).slice().buffer);
  } finally {
    if (!executor.hung) memory.clear();
  }
}

/** Whether a device has the subgroups that a mode needs. */
function isPossible({ capabilities: { subgroup } }: GpuDevice, mode: Mode, waveSize: number): boolean {
  if (mode === "spanned") return true;
  const { canRequireSize, canRequireFull, operations: { ballot, shuffle }, minimumSize, maximumSize } = subgroup;
  if (!canRequireSize || !canRequireFull || !ballot || !shuffle || minimumSize > waveSize) return false;
  return mode === "packed" || maximumSize >= waveSize;
}

const same = (a: Uint32Array, b: Uint32Array) => a.length === b.length && a.every((word, i) => word === b[i]);

function measure(device: GpuDevice, program: WaveProgram, groups: number): Row[] {
  const allocator = new MmapAllocator(), small = program.make(COMPARED);
  const reference = new SoftwareExecutor({ target: small.program.target });
  const expected = outputOf(reference, program.make(COMPARED), new GuestMemory(new ArrayAllocator()));
  const rows: Row[] = [];
  let first: Uint32Array | undefined;
  for (const mode of MODES) {
    if (!isPossible(device, mode, program.waveSize)) continue;
    const executor = withWaveMode(
      mode,
      () => new VulkanExecutor(device, { target: small.program.target, unalignedLoads: true }),
    );
    try {
      let equal = same(outputOf(executor, program.make(COMPARED), new GuestMemory(allocator)), expected);
      const [{ laneMode, words, recompileMs, createMs }] = executor.programs();
      const times: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const before = executor.deviceMs();
        const output = outputOf(executor, program.make(groups), new GuestMemory(allocator));
        first ??= output;
        equal &&= same(output, first);
        if (before !== undefined) times.push(executor.deviceMs()! - before);
      }
      times.sort((a, b) => a - b);
      const runMs = times.length === 0
        ? undefined
        : { median: times[RUNS >> 1], least: times[0], most: times[RUNS - 1] };
      rows.push({ program: program.name, mode, laneMode, words, recompileMs, createMs, runMs, equal });
    } finally {
      executor.close();
    }
  }
  return rows;
}

function lines(device: string, groups: number, rows: readonly Row[]): string[] {
  const number = (value: number) => value.toFixed(value < 10 ? 2 : 1);
  const table = [
    ["program", "mode", "artifact", "words", "recompile ms", "create ms", "run ms", "least", "most", "equal"],
    ...rows.map(({ program, mode, laneMode, words, recompileMs, createMs, runMs, equal }) => [
      program,
      mode,
      laneMode,
      String(words),
      number(recompileMs),
      number(createMs),
      ...(runMs === undefined ? ["-", "-", "-"] : [runMs.median, runMs.least, runMs.most].map(number)),
      equal ? "yes" : "NO",
    ]),
  ];
  const widths = table[0].map((_, n) => Math.max(...table.map((row) => row[n].length)));
  return [
    `${device}, ${groups} workgroups of 64 threads`,
    ...table.map((row) => row.map((text, n) => n < 3 ? text.padEnd(widths[n]) : text.padStart(widths[n])).join("  ")),
  ];
}

function run({ quick, progress }: BenchContext): BenchResult {
  const { device: name, rounds, groups } = optionsOf(quick);
  setNativeEnvironment("__GL_SHADER_DISK_CACHE", "0");
  setNativeEnvironment("MESA_SHADER_CACHE_DISABLE", "1");
  const device = GpuDevice.create({ device: name });
  try {
    const programs = wavePrograms(rounds), rows: Row[] = [];
    programs.forEach((program, done) => {
      progress(done, programs.length);
      rows.push(...measure(device, program, groups));
    });
    const { name: found } = device.capabilities;
    return {
      data: { schema: "anyagc.bench.wave_modes/1", device: found, rounds, groups, rows },
      lines: lines(found, groups, rows),
    };
  } finally {
    device.destroy();
  }
}

/** The table. */
export const TABLE: BenchTable = {
  name: "wave_modes",
  summary: "lane modes against each other: words, creation and run time of programs that observe the wave",
  run,
};

if (import.meta.main) await runAsScript(TABLE);
