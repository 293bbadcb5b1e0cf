/**
 * All environment switches, in one table. ENVIRONMENT.md is compared with it by a test, `--help` and `doctor` derive from it, and code
 * reads the environment only through {@linkcode switchValue} and {@linkcode switchFlag}.
 *
 * @module
 */

import { UsageError } from "./errors.ts";

/** One environment switch. */
export interface Switch {
  /** Name of the environment variable. */
  readonly name: string;
  /** What it does, in one sentence. */
  readonly meaning: string;
  /** What holds when it is not set, in words or as a value. */
  readonly default: string;
  /** Module (from the project's root) that acts on it. */
  readonly where: string;
}

/** The table. Add a row here and in ENVIRONMENT.md. */
export const SWITCHES = [
  {
    name: "ANYAGC_CACHE_DIR",
    meaning: "Folder for what can be made again: unpacked files of the executable, answers of devices, pipelines.",
    default: "anyagc in XDG_CACHE_HOME or HOME/.cache; else anyagc-UID in TMPDIR or /tmp",
    where: "src/storage/cache_folder.ts",
  },
  {
    name: "ANYAGC_CORPUS",
    meaning: "Folder with the corpus of captures and shaders that some tests read.",
    default: "../shared/corpus",
    where: "tests/support/corpus.ts",
  },
  {
    name: "ANYAGC_DEBUG",
    meaning: "1: errors of the launcher come with their stack.",
    default: "0",
    where: "src/cli/launcher.ts",
  },
  {
    name: "ANYAGC_NO_PIPELINE_CACHE",
    meaning: "1: the driver's pipeline cache is not kept between runs.",
    default: "0",
    where: "src/driver/warm_start/open_store.ts",
  },
  {
    name: "ANYAGC_SPIRV_TOOLS_LIB",
    meaning: "Path of the SPIRV-Tools shared library to load.",
    default: "the one that `deno task setup` builds",
    where: "ffi/spirv_tools.ts",
  },
  {
    name: "ANYAGC_WAIT_TIMEOUT_MS",
    meaning:
      "Milliseconds that a queue waits for memory while others run and nobody writes any; then the wait is reported. Waits that nothing can end are " +
      "reported at once, whatever is set here. 0: no limit.",
    default:
      "600000: longer than the longest known pipeline creation (470 s) and a device's limit for a batch (60 s) together",
    where: "src/driver/queues/wait_timeout.ts",
  },
  {
    name: "ANYAGC_WAVE_MODE",
    meaning:
      "native, spanned or packed: how programs that observe the wave exchange between lanes: by subgroup operations, through workgroup memory, or with " +
      "several lanes in an invocation. Programs that cannot be made so are refused.",
    default: "what suits program and device: `anyagc recompile` says which and why",
    where: "src/gpu/recompiler_device.ts",
  },
  {
    name: "ANYPS5_GPU",
    meaning:
      "Device to use: a part of its name (any case), `cpu` for a Vulkan device on the CPU, or `software` for the " +
      "reference interpreter.",
    default: "the first Vulkan device that qualifies, a GPU before the CPU; else the interpreter",
    where: "src/driver/device_choice.ts",
  },
  {
    name: "ANYPS5_NO_SHADER_CACHE",
    meaning: "1: recompiled shaders are not kept between runs, and those that earlier runs left are not used.",
    default: "0",
    where: "src/driver/shader_cache/open_cache.ts",
  },
  {
    name: "ANYPS5_REQUIRE_VULKAN",
    meaning: "1: tests that need a Vulkan device fail instead of being ignored when there is none.",
    default: "0",
    where: "tests/support/vulkan.ts",
  },
  {
    name: "ANYPS5_SHADER_CACHE_DIR",
    meaning: "Folder for recompiled shaders; only this user may be able to write to it.",
    default: "shaders in ANYAGC_CACHE_DIR",
    where: "src/driver/shader_cache/open_cache.ts",
  },
  {
    name: "APS5_BACKGROUND_COMPILE_KIB",
    meaning: "KiB of SPIR-V that the driver compiles ahead of use at a time, larger modules alone; 0: one at a time.",
    default: "8192",
    where: "src/driver/compile_cost/compile_limit.ts",
  },
  {
    name: "APS5_DUMP_SHADERS",
    meaning:
      "Folder: every request to the recompiler is written there as a file, which `anyagc replay` recompiles again.",
    default: "no files",
    where: "src/driver/request_dump.ts",
  },
  {
    name: "APS5_NO_PIPELINE_JOURNAL",
    meaning: "1: pipelines are not recorded, and those that earlier runs recorded are not created before a run.",
    default: "0",
    where: "src/driver/warm_start/open_store.ts",
  },
  {
    name: "APS5_PREBUILD_THREADS",
    meaning: "Workers that create pipelines ahead of use, at least 1 and at most 65.",
    default: "half the hardware threads",
    where: "src/driver/pools/room_slots.ts",
  },
  {
    name: "APS5_PROFILE_DRAW",
    meaning:
      "1: a line on standard error for each pipeline of more than 100,000 words that was created: words, milliseconds, address of the program.",
    default: "0",
    where: "src/driver/compile_cost/profile_draw.ts",
  },
  {
    name: "APS5_SPANNED_WAVE",
    meaning: "1: the same as ANYAGC_WAVE_MODE=spanned; that one wins.",
    default: "0",
    where: "src/gpu/recompiler_device.ts",
  },
  {
    name: "APS5_SYNC_SHADER_PREPARE",
    meaning:
      "1: shaders are recompiled by the call that registers them or resolves their ABI, which then throws what the recompiler throws; else in the background.",
    default: "0",
    where: "src/driver/registry/shader_registry.ts",
  },
  {
    name: "APS5_TRACE_SECONDS",
    meaning:
      "start:length in seconds since the run began: `anyagc run` writes a trace of that part to anyagc-trace.json, or to the file of --trace.",
    default: "no trace; with --trace all of the run",
    where: "src/cli/run/trace.ts",
  },
] as const satisfies readonly Switch[];

/** Name of a switch in the table. */
export type SwitchName = typeof SWITCHES[number]["name"];

/** The value of a switch, or undefined when it is not set or empty. */
export function switchValue(name: SwitchName): string | undefined {
  return Deno.env.get(name) || undefined;
}

/** A switch that is a whole number; undefined when it is not set. @throws UsageError for anything else */
export function switchNumber(name: SwitchName): number | undefined {
  const text = switchValue(name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError("switch.number", `${name} is a whole number below 10^9, not "${text}"`);
}

/** True when a switch is set to anything but `0`, `false`, `no`, `off` or nothing. */
export function switchFlag(name: SwitchName): boolean {
  const value = switchValue(name);
  return value !== undefined && !["0", "false", "no", "off"].includes(value.toLowerCase());
}

/** Gives a switch a value in all isolates, unless it is set already. */
export function presetSwitch(name: SwitchName, value: string): void {
  if (switchValue(name) === undefined) Deno.env.set(name, value);
}
