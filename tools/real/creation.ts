/**
 * Creation time and run time of recompiled machine code against the modules it was compiled from, on a Vulkan device:
 * `deno run -A tools/real/creation.ts ...`; see HELP. The machine code comes from `tools/corpus/main.ts`.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { setNativeEnvironment } from "../../ffi/libc.ts";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { ExitCode, UsageError } from "../../src/errors.ts";
import { GpuDevice } from "../../src/gpu/device.ts";
import { Random } from "../../tests/support/random.ts";
import { machineCode } from "./corpus.ts";
import { type CreationRow, emptyRunUs, measureModule, type Unmeasured } from "./creation_module.ts";
import { creationText } from "./creation_report.ts";
import { defaultFolders, moduleNames } from "./corpus.ts";
import type { WaveSize } from "../corpus/compile.ts";

const HELP = `Usage: deno run -A tools/real/creation.ts [OPTION...]

Takes modules of all sizes by a seed, and measures words, creation of the pipeline (the first in the process, driver caches off) and run time (device
timestamps) of the module itself and of its recompiled machine code. Modules whose results are not the same are left out, and said.

  --count N       modules for each wave size; 36 when left out
  --wave N        32, 64, or both when left out
  --seed N        of the choice; 5 when left out
  --rounds N      runs of both sides in turns; 3 when left out
  --dispatches N  dispatches of a run; 16 when left out
  --seconds N     stop when it has taken so long; 240 when left out
  --device NAME   part of the device's name
  --json FILE     all rows as JSON`;

async function main(args: readonly string[]): Promise<number> {
  const options = parseArgs([...args], {
    boolean: ["help"],
    string: ["count", "wave", "seed", "rounds", "dispatches", "seconds", "device", "json"],
    unknown: (arg) => {
      throw new UsageError("usage.option", `unknown argument ${arg}; --help lists them`);
    },
  });
  if (options.help) {
    console.log(HELP);
    return ExitCode.Done;
  }
  const number = (text: string | undefined, otherwise: number) => text === undefined ? otherwise : Number(text);
  const waves: WaveSize[] = options.wave === undefined ? [32, 64] : [number(options.wave, 32) === 64 ? 64 : 32];
  const count = number(options.count, 36), seed = number(options.seed, 5);
  withoutCaches();
  const gpu = GpuDevice.create({ device: options.device });
  gpu.hostBufferMemory = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const measuring = {
    folders: defaultFolders(),
    gpu,
    tools: openSpirvTools(),
    rounds: number(options.rounds, 3),
    dispatches: number(options.dispatches, 16),
  };
  const deadline = performance.now() + 1000 * number(options.seconds, 240);
  const rows: CreationRow[] = [], left: Unmeasured[] = [];
  for (const wave of waves) {
    const until = performance.now() + (deadline - performance.now()) / (waves.length - waves.indexOf(wave));
    for (const stratum of strata(measuring.folders, wave, count, seed)) {
      for (const module of stratum) {
        if (performance.now() > until) break;
        const row = attempt(() => measureModule(module, wave, measuring), module, wave);
        if (!("reason" in row)) {
          rows.push(row);
          break;
        }
        left.push(row);
      }
    }
  }
  const { name, driver } = gpu.capabilities;
  const emptyUs = emptyRunUs(gpu, measuring.tools, measuring.dispatches);
  const about = { device: name, driver: `${driver.name} ${driver.info}`.trim(), seed, emptyUs, ...measuring };
  console.log(creationText(rows, left, about));
  if (options.json !== undefined) {
    const { rounds, dispatches } = measuring;
    const data = { schema: "anyagc.creation/1", device: name, driver: about.driver, seed, rounds, dispatches, emptyUs };
    await Deno.writeTextFile(options.json, JSON.stringify({ ...data, rows, left }, null, 1) + "\n");
  }
  gpu.destroy();
  return ExitCode.Done;
}

function attempt<Row>(measure: () => Row, module: string, wave: WaveSize): Row | Unmeasured {
  try {
    return measure();
  } catch (error) {
    return { module, wave, reason: error instanceof Error ? error.message.split("\n")[0] : String(error) };
  }
}

/** What the driver or earlier runs have kept must not help. */
function withoutCaches(): void {
  Deno.env.set("ANYPS5_NO_SHADER_CACHE", "1");
  Deno.env.delete("ANYPS5_SHADER_CACHE_DIR");
  setNativeEnvironment("__GL_SHADER_DISK_CACHE", "0");
  setNativeEnvironment("MESA_SHADER_CACHE_DISABLE", "true");
}

/** Modules with machine code in `count` groups by size, each in an order that the seed decides: the first ones that can be measured are taken. */
function strata(folders: ReturnType<typeof defaultFolders>, wave: WaveSize, count: number, seed: number): string[][] {
  const sized = moduleNames(folders.original)
    .filter((module) => machineCode(folders.originalCode, module, wave) !== undefined)
    .map((module) => ({ module, bytes: Deno.statSync(`${folders.original}/${module}`).size }))
    .sort((a, b) => a.bytes - b.bytes || (a.module < b.module ? -1 : 1));
  const random = new Random(seed);
  return Array.from({ length: count }, (_, i) => {
    const from = Math.floor(i * sized.length / count), to = Math.floor((i + 1) * sized.length / count);
    const group = sized.slice(from, to).map(({ module }) => module);
    for (let k = group.length - 1; k > 0; k--) {
      const other = random.below(k + 1);
      [group[k], group[other]] = [group[other], group[k]];
    }
    return group.slice(0, MOST_TRIES);
  });
}

/** Modules of a size that are tried. */
const MOST_TRIES = 4;

if (import.meta.main) Deno.exit(await main(Deno.args));
