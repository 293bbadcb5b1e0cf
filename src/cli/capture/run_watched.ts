/**
 * A run with progress, for commands that look at its results themselves.
 *
 * @module
 */
import type { ProgramRun, WrappableDevice } from "../../driver/device.ts";
import type { Program } from "../../guest/program.ts";
import type { Output } from "../output.ts";

/** Runs a program; `what` begins the line of progress, for example `replaying`. A Ctrl-C ends it between dispatches. */
export async function runWatched(
  out: Output,
  device: WrappableDevice,
  program: Program,
  what: string,
): Promise<ProgramRun> {
  const { countDispatches, RUN_UNIT, WatchedExecutor } = await import("../run/watched_executor.ts");
  return await out.progress(
    `${what} ${program.name} on ${device.name}`,
    RUN_UNIT,
    countDispatches(program),
    (progress) =>
      device.start(program, {
        wrap: (executor) => new WatchedExecutor(executor, progress),
        onDispatches: (count) => progress.update(count),
      }),
  );
}
