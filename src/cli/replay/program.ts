import { hex, RefusedError, UsageError } from "../../errors.ts";
import type { ResultDifference } from "../../driver/results/compare.ts";
import type { ProgramRun } from "../../driver/device.ts";
import { runWatched } from "../capture/run_watched.ts";
import { count } from "../count.ts";
import type { LoadedProgram } from "../../guest/program.ts";
import type { ReplayContext, ReplayKind, ReplayOutcome } from "./kind.ts";

/** Guest programs and captures of every format: compared with recorded results, or with the bytes that the program expects. */
export const PROGRAM_KIND: ReplayKind = { name: "program", accepts: () => true, replay };

async function replay(
  file: string,
  { out, device: open, compare, artifacts }: ReplayContext,
): Promise<ReplayOutcome> {
  if (compare !== undefined || artifacts !== undefined) {
    throw new UsageError(
      "replay.not-a-request",
      `--compare and --artifacts are for recompile requests (APS5_DUMP_SHADERS); ${file} is none`,
      { file },
    );
  }
  const { loadRunnable } = await import("../../guest/load_program.ts");
  const program = loadRunnable(file), { recorded } = program;
  if (recorded === undefined && program.expectations.length + program.untouched.length === 0) {
    throw new UsageError(
      "replay.nothing-recorded",
      `${file} says nothing of its results; anyagc capture ${file} -o FILE.agcap records them`,
      { file },
    );
  }
  const { compareRecorded } = await import("../../driver/results/compare.ts");
  const device = await open();
  const run = await runWatched(out, device, program, "replaying");
  try {
    const { result } = run;
    // Not a difference: nobody knows what the results would have been.
    if (result.error instanceof RefusedError) throw result.error;
    const differences = recorded === undefined ? expected(run) : compareRecorded(program, run, recorded);
    const { name, type, apiVersion, driver } = device.description;
    return {
      equal: differences.length === 0,
      summary: differences.length === 0 ? compared(program, run) : count(differences.length, "difference"),
      lines: [
        ...differences.map(describe),
        ...(differences.length > 0 && result.error !== undefined ? [result.error.message] : []),
        ...result.notes.map((note) => `note: ${note}`),
      ],
      data: {
        device: { name, type, apiVersion, driver },
        ...(recorded === undefined ? {} : { recorded: { device: recorded.device, outcome: recorded.outcome } }),
        compared: {
          labels: recorded?.labels.length ?? 0,
          bytes: recorded === undefined ? 0 : comparedBytes(program),
          expectations: recorded === undefined ? result.compared : 0,
        },
        differences,
        ...(result.error === undefined ? {} : { error: result.error.toData() }),
        notes: result.notes,
        timings: result.timings,
      },
    };
  } finally {
    run.close();
  }
}

/** Differences from what the program itself expects. */
function expected({ result }: ProgramRun): ResultDifference[] {
  if (result.error !== undefined) {
    return [{ kind: "error", what: "error", expected: "passed", actual: result.error.code }];
  }
  return result.differences.map(({ address, expected, actual, count, reason }) => ({
    kind: "memory",
    what: reason,
    address,
    expected: expected.toString(16).padStart(2, "0"),
    actual: actual.toString(16).padStart(2, "0"),
    bytes: count,
  }));
}

function describe({ what, address, expected, actual, bytes }: ResultDifference): string {
  const place = address === undefined ? "" : ` at ${hex(address)}`;
  const size = bytes === undefined ? "" : `; ${count(bytes, "byte differs", "bytes differ")}`;
  return `${what}${place}: ${actual}, recorded ${expected}${size}`;
}

function compared(program: LoadedProgram, { result }: ProgramRun): string {
  const { recorded } = program;
  if (recorded === undefined) return `${count(result.compared, "range")} as expected`;
  if (recorded.outcome === "failed") return `fails as recorded: ${recorded.error!.code}`;
  return `${count(recorded.labels.length, "label")} and ${count(comparedBytes(program), "byte")} of memory as recorded`;
}

function comparedBytes({ memory, recorded }: LoadedProgram): number {
  if (recorded?.outcome === "failed") return 0;
  return memory.reduce((sum, { bytes }) => sum + bytes, 0) -
    (recorded?.volatile.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0);
}
