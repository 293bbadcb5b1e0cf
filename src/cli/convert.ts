/**
 * `anyagc convert`: inputs of every format as captures.
 *
 * @module
 */
import { AnyAgcError, type ErrorData, ExitCode, UsageError } from "../errors.ts";
import type { LoadedProgram } from "../guest/program.ts";
import { outputOption, saveCapture } from "./capture/save.ts";
import type { Command, CommandContext } from "./command.ts";
import { count } from "./count.ts";
import { makeFolder } from "./files.ts";

/** The command. */
export const CONVERT: Command = {
  name: "convert",
  summary: "write programs, captures and shaders of other formats as captures",
  details: [
    "Nothing runs: what is known of an input is kept, its recorded results included. A shader without a program gives a capture that can be listed, " +
    "disassembled and recompiled. What a run would need and the input does not carry is named in the capture.",
    "With several inputs, or when the output is a folder (or ends with /), each input NAME.* becomes NAME.agcap in that folder. Inputs that cannot be " +
    "converted are reported, and the others converted.",
  ],
  arguments: [{ name: "INPUT", summary: "a file of any known format", repeated: true }],
  options: [
    { name: "output", short: "o", value: "PATH", summary: "the capture to write (.agcap), or the folder for captures" },
  ],
  example: "anyagc convert shaders/julia/program.json -o julia.agcap",
  run,
};

/** One input, for `--json`. */
interface Converted {
  file: string;
  /** Absent when it was refused. */
  output?: string;
  kind?: "program" | "shader";
  bytes?: number;
  missing?: string[];
  error?: ErrorData;
}

async function run(context: CommandContext) {
  const { out, positionals: files } = context, output = outputOption(context, "convert");
  const targets = await targetsOf(files, output);
  const inputs: Converted[] = [];
  await out.progress("converting", "files", files.length, async (progress) => {
    for (const [i, file] of files.entries()) {
      progress.update(i);
      inputs.push(await convert(file, targets[i]));
    }
  });
  for (const { file, output, kind, bytes, missing = [], error } of inputs) {
    if (error !== undefined) {
      if (!out.json) out.sink.err(`anyagc: ${error.message.replaceAll("\n", "\n  ")}`);
      continue;
    }
    out.line(`${file}: ${kind}, ${output}, ${count(bytes!, "byte")}`);
    missing.forEach((what) => out.line(`  not in the file, but needed for a run: ${what}`));
  }
  const exitCode = Math.max(ExitCode.Done, ...inputs.map(({ error }) => error?.exitCode ?? ExitCode.Done));
  return { exitCode, data: { schema: "anyagc.convert/1", inputs } };
}

async function convert(file: string, output: string): Promise<Converted> {
  const { loadFile } = await import("../guest/loaders/load_file.ts");
  const { shaderProgram } = await import("../guest/agcap/write_agcap.ts");
  try {
    const loaded = loadFile(file), { kind } = loaded;
    const program: LoadedProgram = loaded.kind === "program" ? loaded.program : shaderProgram(loaded.shader);
    const bytes = await saveCapture(output, program), missing = program.missing ?? [];
    return { file, output, kind, bytes, ...(missing.length > 0 ? { missing } : {}) };
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    return { file, error: error.toData() };
  }
}

/** Where each input's capture goes; nothing is written when two would go to one place. */
async function targetsOf(files: readonly string[], output: string): Promise<string[]> {
  if (files.length === 1 && !output.endsWith("/") && !isFolder(output)) return [output];
  await makeFolder(output);
  const folder = output.replace(/\/+$/, "") || "/", sources = new Map<string, string>();
  return files.map((file) => {
    const name = file.slice(file.lastIndexOf("/") + 1).replace(/(\.rdna)?\.[A-Za-z0-9]+$/, "") || "capture";
    const target = `${folder}/${name}.agcap`, other = sources.get(target);
    if (other !== undefined) {
      throw new UsageError("cli.same-output", `${other} and ${file} would both become ${target}`, { file });
    }
    sources.set(target, file);
    return target;
  });
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
