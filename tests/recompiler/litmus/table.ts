/**
 * The litmus programs on a real device, with many workgroups, again and again: every value that is older than what a flag said, or is missing from a sum, is
 * counted. Zeros are what the console leaves.
 *
 * ```
 * deno run -A tests/recompiler/litmus/table.ts [--device NAME] [--groups N] [--rounds N] [--runs N] [--modes packed,spanned]
 * ```
 *
 * `--device` is part of a device's name, as in ANYPS5_GPU. The last column is the same program without its waits for stores and invalidations: what the device
 * does where nothing orders it (anything; many devices reorder seldom). Exit code 1 when a program with fences has mismatches.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { type LitmusSize, onDevice } from "./guest.ts";
import { LITMUS, type Litmus, PAIRS, withoutFences } from "./programs.ts";

type Asked = RecompilerDevice["laneMode"];

/** Mismatches of some runs of a program, as text. */
function countRuns(device: GpuDevice, litmus: Litmus, size: LitmusSize, runs: number, asked: Asked) {
  let wrong = 0, of = 0, mode = "";
  for (let run = 0; run < runs; run++) {
    const { mismatches, laneMode } = onDevice(device, litmus, size, asked);
    wrong += mismatches[0];
    of += mismatches[1];
    mode = laneMode;
  }
  return { wrong, text: `${wrong} of ${of}`, mode };
}

/** Runs all programs; returns the lines of the table, and the mismatches of programs with fences. */
export function fillLitmusTable(
  device: GpuDevice,
  size: LitmusSize,
  runs: number,
  modes: readonly Asked[],
  show: (line: string) => void,
): number {
  let total = 0;
  show(`${device.capabilities.name}: ${size.groups} workgroups, ${size.rounds} rounds, ${runs} runs`);
  for (const litmus of [...LITMUS, PAIRS]) {
    const seen = new Set<string>();
    for (const asked of modes) {
      // That one is refused by name.
      const fenced = countRuns(device, litmus, size, runs, asked);
      if (seen.has(fenced.mode)) continue;
      seen.add(fenced.mode);
      const free = countRuns(device, withoutFences(litmus), size, runs, asked);
      total += fenced.wrong;
      show(`${litmus.name.padEnd(48)} ${fenced.mode.padEnd(9)} mismatches ${fenced.text}; without fences ${free.text}`);
    }
  }
  show(`mismatches with fences: ${total}`);
  return total;
}

if (import.meta.main) {
  const options = parseArgs(Deno.args, { string: ["device", "groups", "rounds", "runs", "modes"] });
  if (options.device !== undefined) Deno.env.set("ANYPS5_GPU", options.device);
  const number = (text: string | undefined, otherwise: number) => text === undefined ? otherwise : Number(text);
  const size = { groups: number(options.groups, 512), rounds: number(options.rounds, 200) };
  const modes: Asked[] = [undefined, ...(options.modes ?? "packed,spanned").split(",") as Asked[]];
  const { withDevice } = await import("../../support/vulkan.ts");
  await withDevice((device) => {
    const total = fillLitmusTable(device, size, number(options.runs, 20), modes, (line) => console.log(line));
    if (total > 0) Deno.exitCode = 1;
  }, { validation: false });
}
