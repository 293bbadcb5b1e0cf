/**
 * Compiles a folder of modules and says what came of it: how many, why not the others, how large, what they use.
 *
 * @module
 */
import { type Compiled, compileModule, type NotCompiled, outputName, type WaveSize, writeCompiled } from "./compile.ts";
import type { Family } from "./radv/environment.ts";
import { RadvProcess } from "./radv/process.ts";
import { readModule } from "./spirv/module.ts";
import { capabilityName } from "./spirv/numbers.ts";
import { FEATURES, type ModuleUsage, usageOf } from "./spirv/usage.ts";
import { table } from "./table.ts";

/** Result of one module in one wave size. */
export type ModuleResult =
  | {
    readonly codeBytes: number;
    readonly execBytes: number;
    readonly vgprs: number;
    readonly ldsBytes: number;
    readonly scratchBytesPerWave: number;
    readonly floatMode: number;
  }
  | { readonly failed: string; readonly reason: string };

/** One module. */
export interface ModuleRow {
  readonly file: string;
  /** Bytes of SPIR-V. */
  readonly bytes: number;
  readonly capabilities: readonly string[];
  readonly features: readonly string[];
  /** Operations whose results devices need not agree on. */
  readonly inexact: readonly string[];
  /** By wave size. */
  readonly results: Readonly<Record<string, ModuleResult>>;
}

/** Figures of one wave size. */
export interface WaveFigures {
  readonly compiled: number;
  readonly failed: number;
  /** Number of modules by reason. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly codeBytes: Distribution;
  readonly vgprs: Distribution;
  /** Compiled modules that use LDS, and scratch. */
  readonly withLds: number;
  readonly withScratch: number;
  /** Seconds that compiling took. */
  readonly seconds: number;
}

/** Spread of some numbers; all 0 when there are none. */
export interface Distribution {
  readonly least: number;
  readonly median: number;
  readonly most: number;
  readonly total: number;
}

/** The whole summary; summary.json holds it. */
export interface Summary {
  readonly family: Family;
  readonly driver: string;
  readonly folder: string;
  readonly modules: readonly ModuleRow[];
  /** By wave size. */
  readonly waves: Readonly<Record<string, WaveFigures>>;
  /** Modules that have a feature, and how many of them were compiled in all asked wave sizes. */
  readonly features: Readonly<Record<string, { readonly modules: number; readonly compiled: number }>>;
  readonly capabilities: Readonly<Record<string, { readonly modules: number; readonly compiled: number }>>;
  /** Compiled modules without any inexact operation. */
  readonly exact: number;
}

/** What to summarize. */
export interface SummaryRequest {
  /** Folder of .spv files. */
  readonly folder: string;
  /** Where code, descriptions and summary.json go. */
  readonly output: string;
  readonly family: Family;
  readonly waveSizes: readonly WaveSize[];
  /** Longest time for one module, in milliseconds. */
  readonly timeout?: number;
  /** Told how far it is. */
  readonly progress?: (done: number, all: number) => void;
}

/** Compiles every module of a folder in each wave size. */
export async function summarize(request: SummaryRequest): Promise<Summary> {
  const { folder, output, family, waveSizes, timeout, progress } = request;
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".spv")).sort();
  await using radv = new RadvProcess({ family, timeout });
  const rows: ModuleRow[] = [], milliseconds = new Map<WaveSize, number>();
  for (const [i, file] of files.entries()) {
    const path = `${folder}/${file}`, usage = usageOf(readModule(path));
    const results: Record<string, ModuleResult> = {};
    let unparsed: NotCompiled | undefined;
    for (const waveSize of waveSizes) {
      const started = performance.now();
      // What RADV's parser does not understand does not depend on the wave size, and each crash costs a new process.
      const outcome = unparsed ?? await compileModule(radv, { file: path, family, waveSize });
      if ("failed" in outcome && outcome.reason.startsWith("SPIR-V parsing FAILED")) unparsed = outcome;
      milliseconds.set(waveSize, (milliseconds.get(waveSize) ?? 0) + performance.now() - started);
      if (!("failed" in outcome)) writeCompiled(output, outputName(file, waveSize), outcome);
      results[waveSize] = "failed" in outcome ? { ...outcome, reason: named(outcome.reason) } : resultOf(outcome);
    }
    rows.push(rowOf(file, Deno.statSync(path).size, usage, results));
    progress?.(i + 1, files.length);
  }
  const summary: Summary = {
    family,
    driver: radv.driver,
    folder,
    waves: Object.fromEntries(waveSizes.map((wave) => [wave, figures(rows, wave, milliseconds.get(wave) ?? 0)])),
    features: count(rows, Object.keys(FEATURES), (row) => row.features),
    capabilities: count(rows, [...new Set(rows.flatMap((row) => row.capabilities))].sort(), (row) => row.capabilities),
    exact: rows.filter((row) => compiled(row) && row.inexact.length === 0).length,
    modules: rows,
  };
  Deno.mkdirSync(output, { recursive: true });
  Deno.writeTextFileSync(`${output}/summary.json`, JSON.stringify(summary, null, 1) + "\n");
  return summary;
}

/** The summary for people. */
export function summaryText(summary: Summary): string {
  const { waves } = summary;
  const sizes = ({ least, median, most }: Distribution) => `${least} / ${median} / ${most}`;
  const reasons = [...new Set(Object.values(waves).flatMap((wave) => Object.keys(wave.reasons)))].sort();
  return [
    `${summary.modules.length} modules in ${summary.folder}, ${summary.family}, ${summary.driver}`,
    table(
      ["wave", "compiled", "failed", "code bytes (least / median / most)", "VGPRs", "LDS", "scratch", "seconds"],
      Object.entries(waves).map(([wave, f]) => [
        wave,
        f.compiled,
        f.failed,
        sizes(f.codeBytes),
        sizes(f.vgprs),
        f.withLds,
        f.withScratch,
        f.seconds.toFixed(0),
      ]),
    ),
    table(
      ["why not", ...Object.keys(waves).map((wave) => `wave ${wave}`)],
      reasons.map((reason) => [reason, ...Object.values(waves).map((wave) => wave.reasons[reason] ?? 0)]),
    ),
    table(
      ["feature", "modules", "compiled"],
      Object.entries(summary.features).filter(([, { modules }]) => modules > 0).map((
        [name, { modules, compiled }],
      ) => [name, modules, compiled]),
    ),
    table(
      ["capability", "modules", "compiled"],
      Object.entries(summary.capabilities).map(([name, { modules, compiled }]) => [name, modules, compiled]),
    ),
    `${summary.exact} compiled modules have exact results only`,
  ].join("\n\n");
}

function rowOf(file: string, bytes: number, usage: ModuleUsage, results: Record<string, ModuleResult>): ModuleRow {
  const { features, inexact } = usage;
  return { file, bytes, capabilities: usage.capabilities.map(capabilityName), features, inexact, results };
}

function resultOf({ binary }: Compiled): ModuleResult {
  return {
    codeBytes: binary.code.length,
    execBytes: binary.execBytes,
    vgprs: binary.numVgprs,
    ldsBytes: binary.ldsBytes,
    scratchBytesPerWave: binary.scratchBytesPerWave,
    floatMode: binary.floatMode,
  };
}

/** Mesa writes `unknown (6022)` for capabilities that are younger than it. */
function named(reason: string): string {
  return reason.replaceAll(
    /(Unhandled capability: )\S+ \((\d+)\)/g,
    (_, start, number) => `${start}${capabilityName(Number(number))}`,
  );
}

function compiled({ results }: ModuleRow): boolean {
  return Object.values(results).every((result) => !("failed" in result));
}

function figures(rows: readonly ModuleRow[], wave: WaveSize, milliseconds: number): WaveFigures {
  const results = rows.map((row) => row.results[wave]);
  const reasons: Record<string, number> = {};
  for (const result of results) {
    if (!("failed" in result)) continue;
    const reason = `${result.failed}: ${result.reason.replace(/ \(file .*\)$/, "")}`; // the same for every file
    reasons[reason] = (reasons[reason] ?? 0) + 1;
  }
  const good = results.flatMap((result) => "failed" in result ? [] : [result]);
  return {
    compiled: good.length,
    failed: results.length - good.length,
    reasons,
    codeBytes: distribution(good.map(({ codeBytes }) => codeBytes)),
    vgprs: distribution(good.map(({ vgprs }) => vgprs)),
    withLds: good.filter(({ ldsBytes }) => ldsBytes > 0).length,
    withScratch: good.filter(({ scratchBytesPerWave }) => scratchBytesPerWave > 0).length,
    seconds: milliseconds / 1000,
  };
}

function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    least: sorted[0] ?? 0,
    median: sorted[sorted.length >>> 1] ?? 0,
    most: sorted.at(-1) ?? 0,
    total: sorted.reduce((sum, value) => sum + value, 0),
  };
}

function count(rows: readonly ModuleRow[], names: readonly string[], namesOf: (row: ModuleRow) => readonly string[]) {
  return Object.fromEntries(names.map((name) => {
    const having = rows.filter((row) => namesOf(row).includes(name));
    return [name, { modules: having.length, compiled: having.filter(compiled).length }];
  }));
}
