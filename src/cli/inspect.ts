/**
 * `anyagc inspect`: what a file is, what it holds, and what of it would be refused.
 *
 * @module
 */
import { AnyAgcError, type ErrorData, ExitCode } from "../errors.ts";
import type { Command, CommandContext } from "./command.ts";
import { count } from "./count.ts";
import { readHead } from "./files.ts";
import type { Tick } from "./inspect/kind.ts";

/** The command. */
export const INSPECT: Command = {
  name: "inspect",
  summary: "say what files are, what they hold and what of it would be refused",
  details: [
    "FILE is recognized by its content: a capture, a program, a shader, a request to the recompiler, what the recompiler made of one, or what runs keep for the " +
    "next ones (journals, pipeline caches, shader cache entries, compile costs). Nothing runs and no device is needed: command streams are checked whole and followed, with memory as " +
    "it is before any shader has run, and the programs that they dispatch are recompiled for a typical device. anyagc disasm shows streams and code as text.",
    "Every file is looked into, whatever becomes of the others. Exit code 0 when nothing is wrong, 1 when a run would refuse (or ignore) something in a file, 2 when a " +
    "file is not what it should be.",
  ],
  arguments: [{ name: "FILE", summary: "a file of any known format", repeated: true }],
  options: [],
  example: "anyagc inspect shaders/julia/program.json",
  run,
};

/** Problems and notes that people are shown of a file. */
const SHOWN = 20;

/** One file, for `--json`: with what its kind knows, or with an error. */
type Inspected = { file: string } & ({ error: ErrorData } | (Record<string, unknown> & { problemCount: number }));

async function run(context: CommandContext) {
  const { out, positionals: files } = context, inputs: Inspected[] = [], texts: string[][] = [];
  await out.progress("inspecting", "files", files.length, async (progress) => {
    for (const [i, file] of files.entries()) {
      progress.update(i);
      const { input, lines } = await inspect(file, () => progress.update(i));
      inputs.push(input);
      texts.push(lines);
    }
  });
  for (const [i, input] of inputs.entries()) {
    if ("error" in input && !out.json) {
      out.sink.err(`anyagc: ${(input.error as ErrorData).message.replaceAll("\n", "\n  ")}`);
    }
    texts[i].forEach((line) => out.line(line));
  }
  const exitCode = Math.max(ExitCode.Done, ...inputs.map(exitCodeOf));
  return { exitCode, data: { schema: "anyagc.inspect/1", inputs } };
}

function exitCodeOf(input: Inspected): number {
  if ("error" in input) return (input.error as ErrorData).exitCode;
  return input.problemCount > 0 ? ExitCode.Guest : ExitCode.Done;
}

async function inspect(file: string, tick: Tick): Promise<{ input: Inspected; lines: string[] }> {
  const { INSPECT_KINDS } = await import("./inspect/kinds.ts");
  try {
    const { isFile } = await import("../guest/loaders/file_format.ts");
    // What is no file (a pipe, say) is not waited for: the loader of the last kind says what it is.
    const head = isFile(file) ? await readHead(file, 4096) : new Uint8Array();
    const kind = INSPECT_KINDS.find((each) => each.accepts(head))!;
    const { format, data, lines, problems, notes } = await kind.inspect(file, tick);
    const { size } = await Deno.stat(file);
    const { list, count: problemCount } = problems;
    return {
      input: { file, bytes: size, format, ...data, problems: list, problemCount, notes },
      lines: [
        `${file}: ${format}, ${count(size, "byte")}`,
        ...lines.map((line) => `  ${line}`),
        ...shown(problems.list.map(({ message }) => message), problemCount, "PROBLEM"),
        ...shown(notes, notes.length, "note"),
      ],
    };
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    return { input: { file, error: error.toData() }, lines: [] };
  }
}

function shown(texts: readonly string[], all: number, mark: string): string[] {
  const lines = texts.slice(0, SHOWN).map((text) => `  ${mark}: ${text.replaceAll("\n", "\n    ")}`);
  return all > lines.length ? [...lines, `  ... and ${all - lines.length} more`] : lines;
}
