/**
 * `anyagc replay`: recorded work once more, compared with what was recorded.
 *
 * @module
 */
import type { WrappableDevice } from "../driver/device.ts";
import { AnyAgcError, ExitCode } from "../errors.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { readHead } from "./files.ts";
import { REPLAY_KINDS } from "./replay/kinds.ts";

/** The command. */
export const REPLAY: Command = {
  name: "replay",
  summary: "run captures again and compare with their recorded results",
  details: [
    "Compared are how the run ended, the labels of each queue in their order, and every byte of memory but those where the clock was written. A program " +
    "without recorded results is compared with the bytes that it expects; one that says nothing of its results is refused.",
    "A request to the recompiler (a file of APS5_DUMP_SHADERS) is recompiled, without a device: words, passes, time and wave mode. --compare recompiles it " +
    "a second time with other settings, or takes what another build left with --artifacts, and tells what differs.",
    "Every input is replayed, whatever becomes of the others. Exit code 0 when all are equal, 1 when one differs; otherwise that of the worst error.",
  ],
  arguments: [{ name: "INPUT", summary: "a capture, a program, or a request to the recompiler", repeated: true }],
  options: [
    {
      name: "device",
      value: "NAME",
      summary: "device to use: a part of its name, or software: the interpreter (default: ANYPS5_GPU)",
    },
    {
      name: "compare",
      value: "WHAT",
      summary: "of requests: NAME=VALUE (ANYAGC_WAVE_MODE=spanned, windows=8), or an artifact, or a folder of them",
    },
    { name: "artifacts", value: "DIR", summary: "of requests: write what the recompiler makes to DIR" },
  ],
  example: "anyagc replay shaders/julia/program.json",
  run,
};

async function run(context: CommandContext) {
  const { out, positionals: files } = context, inputs: Record<string, unknown>[] = [];
  let opened: WrappableDevice | undefined, exitCode: number = ExitCode.Done, equal = 0, others = 0;
  const compare = optionText(context, "compare"), artifacts = optionText(context, "artifacts");
  const device = async () => {
    const { openWrappableDevice } = await import("../driver/device.ts");
    return opened ??= openWrappableDevice({ name: optionText(context, "device") });
  };
  try {
    for (const file of files) {
      try {
        const head = await readHead(file, 4096);
        const kind = REPLAY_KINDS.find((each) => each.accepts(head, file))!;
        const outcome = await kind.replay(file, { out, device, compare, artifacts });
        const verdict = outcome.verdict ?? (outcome.equal ? "equal" : "differs");
        inputs.push({ file, kind: kind.name, outcome: verdict, ...outcome.data });
        if (outcome.verdict !== undefined) others++;
        else if (outcome.equal) equal++;
        else exitCode = Math.max(exitCode, ExitCode.Guest);
        out.line(`${file}: ${verdict}, ${outcome.summary}`);
        outcome.lines.forEach((line) => out.line(`  ${line.replaceAll("\n", "\n    ")}`));
      } catch (error) {
        if (!(error instanceof AnyAgcError)) throw error;
        inputs.push({ file, outcome: "refused", error: error.toData() });
        exitCode = Math.max(exitCode, error.exitCode);
        if (!out.json) out.sink.err(`anyagc: ${error.message.replaceAll("\n", "\n  ")}`);
      }
    }
  } finally {
    opened?.close();
  }
  if (files.length - others > 1) out.line(`${equal} of ${files.length - others} equal`);
  return { exitCode, data: { schema: "anyagc.replay/1", equal, inputs } };
}
