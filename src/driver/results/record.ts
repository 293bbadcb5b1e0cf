import type { Program } from "../../guest/program.ts";
import type { RecordedBytes, RecordedError, RecordedResults, VolatileRange } from "../../guest/recorded_results.ts";
import type { AnyAgcError } from "../../errors.ts";
import type { DeviceDescription, ProgramRun } from "../device.ts";
import type { RunResult } from "../run_program.ts";
import { chunkPairs, eachDifference } from "./window_images.ts";

/** Changes that are fewer bytes apart become one range. */
const GAP_BYTES = 64;
/** Ranges that are kept at most; with more, the gaps that are bridged grow. */
const MAX_RANGES = 1 << 16;

/** What a run gave, for a capture: labels, and all memory that is not as it was before. */
export function recordResults(
  program: Program,
  { result, memory }: Pick<ProgramRun, "result" | "memory">,
  { name, type, apiVersion, driver }: DeviceDescription,
): RecordedResults {
  const { outcome, error, dispatches, labels } = result;
  const volatile = outcome === "failed" ? [] : volatileRanges(result);
  return {
    device: { name, type, apiVersion, driver },
    outcome,
    ...(error === undefined ? {} : { error: recordError(error) }),
    dispatches,
    labels: labels.map((label) => label.kind === "clock" ? { ...label, value: 0n } : { ...label }),
    memory: outcome === "failed" ? [] : changedRanges(program, memory, volatile),
    volatile,
  };
}

/** Where the run wrote what the next one will not. */
function volatileRanges({ labels }: RunResult): VolatileRange[] {
  const addresses = new Set(labels.filter(({ kind }) => kind === "clock").map(({ address }) => address));
  return [...addresses].toSorted((a, b) => a < b ? -1 : 1)
    .map((address) => ({ address, bytes: 8, reason: "the clock was written here" }));
}

function recordError({ code, message, place }: AnyAgcError): RecordedError {
  const { queue, guestAddress, pc } = place;
  return {
    code,
    message,
    ...(queue === undefined ? {} : { queue }),
    ...(guestAddress === undefined ? {} : { guestAddress }),
    ...(pc === undefined ? {} : { pc }),
  };
}

function changedRanges(
  program: Program,
  memory: ProgramRun["memory"],
  volatile: readonly VolatileRange[],
): RecordedBytes[] {
  const changes: RecordedBytes[] = [];
  for (const window of program.memory.toSorted((a, b) => a.base < b.base ? -1 : 1)) {
    let ranges: [start: number, end: number][] = [], gap = GAP_BYTES;
    for (const { offset, expected, actual } of chunkPairs([window], memory, [], volatile)) {
      eachDifference(expected, actual, (at) => {
        const last = ranges.at(-1);
        if (last !== undefined && offset + at - last[1] < gap) last[1] = offset + at + 1;
        else ranges.push([offset + at, offset + at + 1]);
        if (ranges.length > MAX_RANGES) ranges = merge(ranges, gap *= 4);
      });
    }
    for (const [start, end] of cutAround(ranges, window.base, volatile)) {
      const address = window.base + BigInt(start);
      changes.push({ address, data: readAny(memory, address, end - start) });
    }
  }
  return changes;
}

function merge(ranges: readonly [number, number][], gap: number): [number, number][] {
  const merged: [number, number][] = [];
  for (const [start, end] of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && start - last[1] < gap) last[1] = end;
    else merged.push([start, end]);
  }
  return merged;
}

/** Takes volatile bytes out of the ranges, which may have bridged them: the same run must give the same capture. */
function cutAround(
  ranges: readonly [number, number][],
  base: bigint,
  volatile: readonly VolatileRange[],
): [number, number][] {
  let result = [...ranges];
  for (const { address, bytes } of volatile) {
    const from = Number(address - base), to = from + bytes;
    result = result.flatMap(([start, end]): [number, number][] =>
      end <= from || start >= to
        ? [[start, end]]
        : [[start, Math.min(end, from)], [Math.max(start, to), end]].filter(([a, b]) => a < b) as [number, number][]
    );
  }
  return result;
}

/** Reads memory that the guest may have no permission to read. */
function readAny(memory: ProgramRun["memory"], address: bigint, bytes: number): Uint8Array {
  return (memory as { read(address: bigint, bytes: number, access: number): Uint8Array }).read(address, bytes, 0);
}
