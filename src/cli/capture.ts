/**
 * `anyagc capture`: a run, recorded.
 *
 * @module
 */
import { ExitCode, RefusedError } from "../errors.ts";
import type { RecordedResults } from "../guest/recorded_results.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { runWatched } from "./capture/run_watched.ts";
import { outputOption, requireFolderOf, saveCapture } from "./capture/save.ts";
import { count } from "./count.ts";

/** The command. */
export const CAPTURE: Command = {
  name: "capture",
  summary: "run a guest program and record it with its results",
  details: [
    "The capture (docs/agcap.md) holds all that the run started from, and what it gave: labels, and all memory that changed. anyagc replay runs it " +
    "again and compares; anyagc run runs it.",
    "A run that fails, or gives other results than the program expects, is recorded too; the exit code is then 1, as with anyagc run. What AnyAGC " +
    "does not execute is refused, and nothing is written.",
  ],
  arguments: [{ name: "PROGRAM", summary: "a program file or a capture" }],
  options: [
    { name: "output", short: "o", value: "FILE", summary: "the capture to write (.agcap); an older one is replaced" },
    {
      name: "device",
      value: "NAME",
      summary: "device to use: a part of its name, or software: the interpreter (default: ANYPS5_GPU)",
    },
  ],
  example: "anyagc capture shaders/julia/program.json -o julia.agcap",
  run,
};

async function run(context: CommandContext) {
  const { out } = context, [file] = context.positionals, output = outputOption(context, "capture");
  requireFolderOf(output);
  const { loadRunnable } = await import("../guest/load_program.ts");
  const program = loadRunnable(file);
  const { openWrappableDevice } = await import("../driver/device.ts");
  const { recordResults } = await import("../driver/results/record.ts");
  using device = openWrappableDevice({ name: optionText(context, "device") });
  const run = await runWatched(out, device, program, "running");
  let recorded: RecordedResults;
  try {
    // What AnyAGC does not execute is no result of the program: a later version would have another.
    if (run.result.error instanceof RefusedError) throw run.result.error;
    recorded = recordResults(program, run, device.description);
  } finally {
    run.close();
  }
  const bytes = await saveCapture(output, { ...program, recorded });
  const changed = recorded.memory.reduce((sum, { data }) => sum + data.length, 0);
  const { outcome, error, labels, memory, dispatches } = recorded;
  out.line(program.name);
  out.table([
    ["device", device.name],
    ["run", `${outcome}, ${count(dispatches, "dispatch", "dispatches")}`],
    [
      "recorded",
      `${count(labels.length, "label")}, ${count(changed, "byte")} of memory in ${count(memory.length, "range")}`,
    ],
    ["capture", `${output}, ${bytes} bytes`],
  ], "  ");
  if (error !== undefined && !out.json) out.sink.err(`anyagc: ${error.message.replaceAll("\n", "\n  ")}`);
  return {
    exitCode: outcome === "passed" ? ExitCode.Done : ExitCode.Guest,
    data: {
      schema: "anyagc.capture/1",
      file,
      output,
      bytes,
      program: { name: program.name, target: program.target },
      device: recorded.device,
      outcome,
      ...(error === undefined ? {} : { error }),
      dispatches,
      labels,
      changedBytes: changed,
      volatile: recorded.volatile,
    },
  };
}
