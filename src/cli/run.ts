/**
 * `anyagc run`: a guest program, from its memory and command streams to its results.
 *
 * @module
 */
import type { PreparedRun, StartHooks, WrappableDevice } from "../driver/device.ts";
import { ExitCode } from "../errors.ts";
import type { Picture } from "../guest/frame.ts";
import type { Program } from "../guest/program.ts";
import { switchValue } from "../switches.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { makeFolder, writeOutput } from "./files.ts";
import type { RunRecording } from "./run/recording.ts";
import { startVerification, verifyOptions, verifyRows } from "./run/verify.ts";
import type { Output } from "./output.ts";

/** The command. */
export const RUN: Command = {
  name: "run",
  summary: "run a guest program and compare its results",
  details: [
    "PROGRAM is a program file (docs/program-json.md) or a capture. What is not supported is refused before it runs, with its place in the " +
    "stream or the program; results are exact or there are none.",
    "Exit code 0 when everything is as expected, 1 when the program failed, was refused, or its results differ. With --verify also 1 when the " +
    "device and the interpreter differ, or a dispatch could not be compared.",
  ],
  arguments: [{ name: "PROGRAM", summary: "a program file or a capture" }],
  options: [
    {
      name: "device",
      value: "NAME",
      values: ["software", "cpu"],
      summary: "device to use: a part of its name, or software: the interpreter (default: ANYPS5_GPU)",
    },
    { name: "frames", value: "DIR", summary: "write the program's picture to DIR as PNG" },
    { name: "report", value: "DIR", summary: "write a page about the run to DIR/index.html, readable without network" },
    {
      name: "trace",
      value: "FILE",
      summary: "write what happened when to FILE, for ui.perfetto.dev (APS5_TRACE_SECONDS: only a part of the run)",
    },
    { name: "verify", summary: "also run every dispatch in the interpreter, and compare all memory after each" },
    {
      name: "verify-ulps",
      value: "N",
      summary: "with --verify: words that are f32 numbers may differ by N units in the last place (default: 0)",
    },
    { name: "validate", summary: "load the Vulkan validation layer; its messages count as failure" },
  ],
  example: "anyagc run shaders/julia/program.json --frames frames",
  run,
};

/** Gets ready for `--report` and `--trace`, where they were asked for; makes the report's folder. */
async function startRecording(context: CommandContext, name: string) {
  const folder = optionText(context, "report");
  const wantsTrace = optionText(context, "trace") !== undefined || switchValue("APS5_TRACE_SECONDS") !== undefined;
  if (folder === undefined && !wantsTrace) return {};
  const { RunRecording } = await import("./run/recording.ts");
  const { RunTrace, traceOptions } = await import("./run/trace.ts");
  const options = traceOptions(context);
  const recording = new RunRecording(folder === undefined ? options?.window : undefined);
  if (folder !== undefined) await makeFolder(folder);
  return {
    recording,
    report: folder === undefined
      ? undefined
      : new (await import("./report/run_report.ts")).RunReport(folder, recording),
    trace: options && new RunTrace(options, name, recording),
  };
}

async function run(context: CommandContext) {
  const drivers = await startDrivers(context);
  try {
    return await runWithDrivers(context, drivers?.loaded);
  } finally {
    await drivers?.release();
  }
}

/** Loads the drivers meanwhile, where a Vulkan device will be asked for and nothing has to be set before. */
async function startDrivers(context: CommandContext) {
  const name = optionText(context, "device") ?? switchValue("ANYPS5_GPU");
  if (name?.toLowerCase() === "software" || context.options.validate === true) return undefined;
  const { preloadDrivers } = await import("../../ffi/vulkan/preload.ts");
  return preloadDrivers();
}

async function runWithDrivers(context: CommandContext, loaded: Promise<void> | undefined) {
  const { out, options } = context, [file] = context.positionals;
  const { loadProgram } = await import("../guest/load_program.ts");
  const program = loadProgram(file);
  const verify = verifyOptions(context);
  const { openDeviceQuickly } = await import("../driver/open_quickly.ts");
  const { usefulQueues } = await import("../driver/queues/dispatching.ts");
  // Before the run, so that a folder that cannot be made does not cost its results.
  const frames = program.frame === undefined ? undefined : optionText(context, "frames");
  if (frames !== undefined) await makeFolder(frames);
  using device = await openDeviceQuickly({
    name: optionText(context, "device"),
    validation: options.validate === true,
    queues: usefulQueues(program),
    drivers: loaded,
  });
  const { noteRows, pipelineRows, reportData, reportRows } = await import("./run/report.ts");
  const { type, apiVersion, driver, note } = device.description;
  out.line(program.name);
  const { recording, report, trace } = await startRecording(context, program.name);
  if (trace !== undefined) device.traceTo?.(trace.shared.handle);
  const verification = verify && await startVerification(device, program.target, verify.ulps);
  const prepared = await preparePipelines(device, program, out, recording, verification === undefined);
  const { countDispatches, RUN_UNIT, WatchedExecutor } = await import("./run/watched_executor.ts");
  const startMs = performance.now();
  const running = out.progress(
    `running ${program.name} on ${device.name}`,
    RUN_UNIT,
    countDispatches(program),
    (progress) => {
      const hooks: StartHooks = {
        timeline: recording?.timeline,
        wrap: (executor) => {
          const recorded = recording?.wrap(executor) ?? executor;
          return new WatchedExecutor(verification?.wrap(recorded) ?? recorded, progress);
        },
        onDispatches: (count) => progress.update(count),
        onTimeline: () => recording?.beforeWork(),
        keepModule: (report, words) => recording?.keep(report, words),
      };
      // What is verified is executed step by step, its queues in turns.
      return verification === undefined ? device.start(program, hooks) : device.run(program, hooks);
    },
  );
  // Also of a run that a signal or the host ended: that is when somebody wants to know.
  let traced: ReturnType<NonNullable<typeof trace>["write"]> | undefined;
  const run = await running.finally(() => {
    traced = trace?.write();
    if (traced !== undefined) out.sink.err(JSON.stringify(traced));
  });
  try {
    const { result } = run;
    const rows: [string, string][] = [
      ["device", apiVersion === "" ? device.name : `${device.name} (${type}, Vulkan ${apiVersion})`],
      ...note === undefined ? [] : [["why", note] satisfies [string, string]],
      ...reportRows(result),
      ...noteRows(result, prepared),
      ...pipelineRows(prepared),
    ];
    // A program that stopped halfway has no picture worth keeping: somebody would take it for the result.
    const picture = result.outcome === "failed" ? undefined : run.frame();
    const frame = picture && await saveFrame(picture, program.name, frames);
    if (frame) {
      rows.push(["picture", `${frame.width} x ${frame.height}${frame.file === undefined ? "" : `, ${frame.file}`}`]);
    } else if (options.frames !== undefined) {
      rows.push([
        "picture",
        result.outcome === "failed" ? "none: the program did not finish" : "the program names none",
      ]);
    }
    const messages = options.validate ? (await import("../gpu/validation.ts")).collectValidationMessages() : undefined;
    if (messages) rows.push(["validation", messages.length === 0 ? "no messages" : `${messages.length} messages`]);
    const verified = verification?.report();
    if (verified) rows.push(...verifyRows(verified));
    out.table(rows.map(([name, text]) => [name, text]), "  ");
    messages?.forEach((message) => out.line(message));
    if (!out.json) sayOutcome(out, result.error?.message, result.outcome);
    const page = await report?.write(run, program, rows, {
      picture,
      problems: [
        ...messages ?? [],
        ...verified === undefined || verified.outcome === "equal" ? [] : verifyRows(verified).map(([, text]) => text),
      ],
    });
    if (page !== undefined) out.line(`  report: ${page}`);
    const good = result.outcome === "passed" && (messages ?? []).length === 0 &&
      (verified === undefined || verified.outcome === "equal");
    return {
      exitCode: good ? ExitCode.Done : ExitCode.Guest,
      data: {
        schema: "anyagc.run/1",
        program: { name: program.name, file, target: program.target, notes: program.notes },
        device: { name: device.name, type, apiVersion, driver },
        ...reportData(result),
        timings: { startMs, ...result.timings },
        ...(frame ? { frame } : {}),
        ...(prepared === undefined ? {} : { pipelines: prepared }),
        ...(page === undefined ? {} : { report: page }),
        ...(traced === undefined ? {} : { trace: traced }),
        ...(verified ? { verify: verified } : {}),
        ...(messages ? { validation: messages } : {}),
      },
    };
  } finally {
    run.close();
    verification?.close();
  }
}

/** Creates the pipelines that earlier runs recorded. */
async function preparePipelines(
  device: WrappableDevice,
  program: Program,
  out: Output,
  recording: RunRecording | undefined,
  starts: boolean,
): Promise<PreparedRun | undefined> {
  if (device.prepare === undefined) return undefined;
  const start = performance.now();
  const prepared = await out.progress(
    `preparing ${program.name} for ${device.name}`,
    "pipelines",
    undefined,
    (progress) =>
      device.prepare!(program, (done, total) => progress.update(done, total), {
        starts,
        records: recording !== undefined,
      }),
  );
  if (prepared !== undefined && prepared.replay.recorded > 0) {
    recording?.timeline.add("journal", `${prepared.replay.created} pipelines`, start, performance.now());
  }
  return prepared;
}

function sayOutcome(out: Output, error: string | undefined, outcome: string) {
  if (error !== undefined) out.sink.err(`anyagc: ${error.replaceAll("\n", "\n  ")}`);
  out.line(outcome);
}

/** Describes a picture, and writes it when there is a folder for it. */
async function saveFrame({ width, height, rgba }: Picture, name: string, folder: string | undefined) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", rgba.slice()));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (folder === undefined) return { width, height, sha256 };
  const { encodePng } = await import("./png.ts");
  const file = `${folder.replace(/\/+$/, "")}/${name.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "_")}.png`;
  await writeOutput(file, encodePng(rgba, width, height));
  return { width, height, sha256, file };
}
