/**
 * The table of lane modes: mode x wave x host x cases. Every case of the wave tests runs in every mode that a host allows, and must give what the ISA says
 * (the same model that the interpreter is compared with). Run as a program, with all cases:
 *
 * ```
 * deno run -A tests/recompiler/waves/table.ts [--every N] [--widths 8,16,32,64] [--device]
 * ```
 *
 * `--every N` takes every Nth case only; `--device` adds the Vulkan device (ANYPS5_GPU says which). Exit code 1 when a case gives other results, when an
 * artifact has not the mode that was asked for, or when a cell is 0 although the host allows it.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { RefusedError } from "../../../src/errors.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import type { Artifact, RecompilerDevice } from "../../../src/recompiler/request.ts";
import { type Check, collectCases, type CollectedCase } from "./check.ts";
import { onDevice, onHost, randomInput } from "./frame.ts";
import { expectedOutput } from "./model.ts";

type Mode = Artifact["laneMode"];
type Asked = RecompilerDevice["laneMode"];
/** Modes in the order of the table. */
export const MODES: readonly Mode[] = ["laneless", "native", "spanned", "packed"];
/** Waves. */
export const WAVES = [32, 64] as const;

/** Where cases run. */
export interface Host {
  readonly name: string;
  /** Lanes that subgroups can be required to have, at least and at most; none when they cannot. */
  readonly widths: readonly [number, number] | undefined;
  run(c: Check, input: Uint32Array<ArrayBuffer>, seed: number, asked: Asked): { output: Uint32Array; laneMode: string };
}

/** Hosts of the evaluator. */
export function evaluatedHost(width: 8 | 16 | 32 | 64): Host {
  return {
    name: `evaluator, ${width} lanes`,
    widths: [width, width],
    run: (c, input, seed, asked) => onHost(width, c, input, seed, asked),
  };
}

/** A Vulkan device as a host. */
export function deviceHost(device: GpuDevice): Host {
  const { canRequireSize, canRequireFull, operations, minimumSize, maximumSize } = device.capabilities.subgroup;
  const able = canRequireSize && canRequireFull && operations.ballot && operations.shuffle;
  return {
    name: device.capabilities.name,
    widths: able ? [minimumSize, maximumSize] : undefined,
    run: (c, input, _seed, asked) => onDevice(device, c, input, asked),
  };
}

/** Whether a host can run programs in a mode at all. */
export function allows({ widths }: Host, mode: Mode, wave: number): boolean {
  switch (mode) {
    case "native":
      return widths !== undefined && widths[0] <= wave && wave <= widths[1];
    case "packed":
      return widths !== undefined && widths[0] <= wave;
    default:
      return true;
  }
}

/** What came of a table. */
export interface TableResult {
  /** Cases that ran and gave what they should, by {@linkcode cellName}. */
  readonly cells: ReadonlyMap<string, number>;
  /** Cases that a mode refuses by name, by cell. */
  readonly refused: ReadonlyMap<string, number>;
  readonly problems: readonly string[];
}

/** Name of a cell. */
export function cellName(mode: string, wave: number, host: Host): string {
  return `${mode}, wave${wave}, ${host.name}`;
}

/** The wave cases that run on devices. */
export function waveCases(): Promise<readonly CollectedCase[]> {
  const here = new URL(".", import.meta.url), files: URL[] = [];
  for (const { name } of Deno.readDirSync(here)) {
    if (name.endsWith("_test.ts") && !["modes_test.ts", "assembled_test.ts", "coverage_test.ts"].includes(name)) {
      files.push(new URL(name, here));
    }
  }
  return collectCases(files.sort((a, b) => a.href < b.href ? -1 : 1));
}

/** Modes that a case is asked to run in on a host. Programs that do not observe the wave are laneless, whatever is asked for. */
function askedModes(c: Check, host: Host): Asked[] {
  const modes = (["native", "spanned", "packed"] as const).filter((mode) => allows(host, mode, c.waveSize));
  if (c.laneMode !== "laneless") return modes;
  // Where lanes pass data through memory without a barrier they observe the wave all the same.
  return (c.lds === true || c.memory === true) && modes.includes("packed") ? [undefined, "packed"] : [undefined];
}

/** Runs every `every`-th case, from the `from`-th on, in all modes of all hosts. */
export function fillTable(cases: readonly CollectedCase[], hosts: readonly Host[], every = 1, from = 0): TableResult {
  const cells = new Map<string, number>(), refused = new Map<string, number>(), problems: string[] = [];
  const count = (map: Map<string, number>, cell: string) => map.set(cell, (map.get(cell) ?? 0) + 1);
  for (const host of hosts) {
    for (let k = from; k < cases.length; k += every) {
      const { check: c, seed } = cases[k];
      const input = c.input ?? randomInput(c, seed), expected = expectedOutput(c, input, c.model);
      for (const asked of askedModes(c, host)) {
        const place = `${c.name}, ${cellName(asked ?? "laneless", c.waveSize, host)}`;
        try {
          const { output, laneMode } = host.run(c, input.slice(), k, asked);
          const at = expected.findIndex((word, n) => word !== output[n]);
          const good = laneMode === asked || c.laneMode === "laneless" && laneMode === "laneless";
          if (at >= 0) problems.push(`${place}: word ${at} is ${output[at]}, and not ${expected[at]}`);
          else if (!good) problems.push(`${place}: the artifact is ${laneMode}`);
          else count(cells, cellName(laneMode, c.waveSize, host));
        } catch (error) {
          // What spanned and native refuse, they refuse by name; packed refuses none of the cases.
          if (error instanceof RefusedError && REFUSALS.includes(error.code) && asked !== "packed") {
            count(refused, cellName(asked ?? "laneless", c.waveSize, host));
          } else problems.push(`${place}: ${(error as Error).message}`);
        }
      }
    }
    for (const mode of MODES) {
      for (const wave of WAVES) {
        const cell = cellName(mode, wave, host);
        if (allows(host, mode, wave) && !cells.has(cell)) {
          problems.push(`no case ran as ${cell}, which the host allows`);
        }
      }
    }
  }
  return { cells, refused, problems };
}

const REFUSALS: readonly string[] = [
  "recompiler.lane-mode",
  "recompiler.lane-exchange",
  "recompiler.lds-lockstep",
  "recompiler.memory-lockstep",
];

/** The table as text: a line per host, a column per mode and wave. "-": the host does not allow it; "+n": as many are refused by name. */
export function tableLines(hosts: readonly Host[], { cells, refused }: TableResult): string[] {
  const columns = MODES.flatMap((mode) => WAVES.map((wave) => ({ mode, wave })));
  const rows = [
    ["host", ...columns.map(({ mode, wave }) => `${mode}.w${wave}`)],
    ...hosts.map((host) => [
      host.name,
      ...columns.map(({ mode, wave }) => {
        if (!allows(host, mode, wave)) return "-";
        const cell = cellName(mode, wave, host), named = refused.get(cell) ?? 0;
        return `${cells.get(cell) ?? 0}${named > 0 ? `+${named}` : ""}`;
      }),
    ]),
  ];
  const widths = rows[0].map((_, n) => Math.max(...rows.map((row) => row[n].length)));
  return rows.map((row) =>
    row.map((text, n) => n === 0 ? text.padEnd(widths[n]) : text.padStart(widths[n])).join("  ")
  );
}

if (import.meta.main) {
  const options = parseArgs(Deno.args, { boolean: ["device"], string: ["every", "widths"] });
  const every = Number(options.every ?? 1);
  const widths: string = options.widths ?? "8,16,32,64";
  const hosts: Host[] = widths.split(",").filter((text) => text !== "").map((text) => evaluatedHost(Number(text) as 8));
  const cases = await waveCases();
  const show = (all: readonly Host[]) => {
    const result = fillTable(cases, all, every);
    console.log(tableLines(all, result).join("\n"));
    for (const problem of result.problems.slice(0, 40)) console.log(problem);
    console.log(`${Math.ceil(cases.length / every)} cases, ${result.problems.length} problems`);
    if (result.problems.length > 0) Deno.exitCode = 1;
  };
  if (hosts.length > 0) show(hosts);
  if (options.device) {
    const { withDevice } = await import("../../support/vulkan.ts");
    await withDevice((device) => show([deviceHost(device)]), { validation: false });
  }
}
