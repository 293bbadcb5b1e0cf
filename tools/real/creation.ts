/**
 * Creation time and run time of recompiled machine code against the modules it was compiled from, on a Vulkan device:
 * `deno run -A tools/real/creation.ts ...`; see HELP. The machine code comes from `tools/corpus/main.ts`.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { ExitCode, HostError, UsageError } from "../../src/errors.ts";
import { Random } from "../../tests/support/random.ts";
import { machineCode } from "./corpus.ts";
import type { CreationRow, Unmeasured } from "./creation_module.ts";
import { creationText } from "./creation_report.ts";
import type { DeviceAbout, MeasuringOptions } from "./creation_worker.ts";
import { Runner } from "./runner.ts";
import { defaultFolders, moduleNames } from "./corpus.ts";
import type { WaveSize } from "../corpus/compile.ts";

const HELP = `Usage: deno run -A tools/real/creation.ts [OPTION...]

Takes modules of all sizes by a seed, and measures words, creation of the pipeline (the first in the process, driver caches off) and run time (device
timestamps) of the module itself and of its recompiled machine code. Modules whose results are not the same are left out, and said.

  --only A,B,...  these modules, by how their names begin, instead of a choice
  --count N       modules for each wave size; 36 when left out
  --wave N        32, 64, or both when left out
  --seed N        of the choice; 5 when left out
  --rounds N      runs of both sides in turns; 3 when left out
  --dispatches N  dispatches of a run; 16 when left out
  --timeout N     seconds that one module may take: it may not end with invented inputs; 8 when left out
  --seconds N     stop when it has taken so long; 240 when left out
  --device NAME   part of the device's name
  --json FILE     all rows as JSON`;

async function main(args: readonly string[]): Promise<number> {
  const options = parseArgs([...args], {
    boolean: ["help"],
    string: ["only", "count", "wave", "seed", "rounds", "dispatches", "seconds", "timeout", "device", "json"],
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
  const measuring: MeasuringOptions = {
    device: options.device,
    rounds: number(options.rounds, 3),
    dispatches: number(options.dispatches, 16),
  };
  const about = { ...measuring, seed, ...await aboutDevice(measuring) };
  const deadline = performance.now() + 1000 * number(options.seconds, 240);
  const rows: CreationRow[] = [], left: Unmeasured[] = [];
  for (const [index, wave] of waves.entries()) {
    const until = performance.now() + (deadline - performance.now()) / (waves.length - index);
    await using runner = new Runner({
      wave,
      oracle: "original",
      timeout: 1000 * number(options.timeout, 8),
      worker: { file: "creation_worker.ts", args: [String(wave), JSON.stringify(measuring)] },
    });
    const groups = options.only === undefined
      ? groupsBySize(defaultFolders(), wave, count, seed)
      : modulesNamed(defaultFolders(), options.only.split(","));
    for (const group of groups) {
      for (const module of group) {
        if (performance.now() > until) break;
        // A row of the worker, or the runner's own about a worker that did not answer.
        const row = await runner.run(module) as unknown as CreationRow | Unmeasured;
        if (!("reason" in row)) {
          rows.push(row);
          break;
        }
        left.push(row);
      }
    }
  }
  console.log(creationText(rows, left, about));
  if (options.json !== undefined) {
    const data = { schema: "anyagc.creation/1", ...about, rows, left };
    await Deno.writeTextFile(options.json, JSON.stringify(data, null, 1) + "\n");
  }
  return ExitCode.Done;
}

/** The device, and what a dispatch that does nothing takes on it: asked in a process of its own, since one that measures may be stopped. */
async function aboutDevice(measuring: MeasuringOptions): Promise<DeviceAbout> {
  const worker = decodeURIComponent(new URL("creation_worker.ts", import.meta.url).pathname);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--quiet", "-A", worker, "about", JSON.stringify(measuring)],
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new HostError("host.no-vulkan-device", "the device could not be opened");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** A group for each module that was asked for. @throws {UsageError} `usage.module` for a name that none begins with */
function modulesNamed({ original }: ReturnType<typeof defaultFolders>, names: readonly string[]): string[][] {
  const all = moduleNames(original);
  return names.flatMap((name) => {
    const found = all.filter((module) => module.startsWith(name));
    if (found.length === 0) throw new UsageError("usage.module", `no module's name begins with ${name}`);
    return found.map((module) => [module]);
  });
}

/**
 * Modules with machine code in `count` groups by size, each in an order that the seed decides: the first ones that can be measured are taken. The groups
 * are taken in strides, so that all sizes have been seen when the time is over.
 */
function groupsBySize(
  folders: ReturnType<typeof defaultFolders>,
  wave: WaveSize,
  count: number,
  seed: number,
): string[][] {
  const sized = moduleNames(folders.original)
    .filter((module) => machineCode(folders.originalCode, module, wave) !== undefined)
    .map((module) => ({ module, bytes: Deno.statSync(`${folders.original}/${module}`).size }))
    .sort((a, b) => a.bytes - b.bytes || (a.module < b.module ? -1 : 1));
  const random = new Random(seed);
  const groups = Array.from({ length: count }, (_, i) => {
    const from = Math.floor(i * sized.length / count), to = Math.floor((i + 1) * sized.length / count);
    const group = sized.slice(from, to).map(({ module }) => module);
    for (let k = group.length - 1; k > 0; k--) {
      const other = random.below(k + 1);
      [group[k], group[other]] = [group[other], group[k]];
    }
    return group.slice(0, MOST_TRIES);
  });
  const strides = Array.from({ length: STRIDES }, (_, first) => groups.filter((_, i) => i % STRIDES === first));
  return strides.flat();
}

/** Rounds through all sizes. */
const STRIDES = 4;

/** Modules of a size that are tried. */
const MOST_TRIES = 4;

if (import.meta.main) Deno.exit(await main(Deno.args));
