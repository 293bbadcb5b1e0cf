/**
 * `anyagc disasm`: machine code and command streams as text.
 *
 * @module
 */
import { ExitCode, hex, UsageError } from "../errors.ts";
import type { LoadedProgram } from "../guest/program.ts";
import type { ShaderSource } from "../guest/shader_source.ts";
import { type Target, TARGETS } from "../rdna/target.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { readInput } from "./files.ts";
import type { ListedInstruction } from "./disasm/listing.ts";

/** The command. */
export const DISASM: Command = {
  name: "disasm",
  summary: "show machine code and command streams as text",
  details: [
    "FILE is recognized by its content: a program or capture shows its command streams and the programs that they name; a shader record or " +
    "compiled shader shows its code. Plain machine code needs --raw. A > marks where branches lead.",
  ],
  arguments: [{ name: "FILE", summary: "a program, a capture, a shader record, or machine code" }],
  options: [
    {
      name: "raw",
      value: "TARGET",
      values: TARGETS,
      summary: `take FILE as plain machine code of TARGET: ${TARGETS.join(" or ")}`,
    },
    {
      name: "wave",
      value: "LANES",
      values: ["32", "64"],
      summary: "lanes per wave, 32 or 64, where the file does not say (default 64)",
    },
  ],
  example: "anyagc disasm shaders/julia/program.json",
  run,
};

/** A shader as `--json` shows it. */
interface ListedShader {
  name: string;
  address?: bigint;
  target: Target;
  waveSize: 32 | 64;
  instructions: ListedInstruction[];
}

async function run(context: CommandContext) {
  const [file] = context.positionals, { out } = context;
  const wave = waveOption(context), raw = rawOption(context);
  const result: {
    kind: string;
    records?: string[];
    missing?: string[];
    submissions: unknown[];
    shaders: ListedShader[];
  } = {
    kind: "shader",
    submissions: [],
    shaders: [],
  };
  const { listCode, listingText } = await import("./disasm/listing.ts");
  const show = (title: string, shader: Omit<ListedShader, "instructions"> & { code: Uint32Array }, words?: number) => {
    const { name, address, target, waveSize } = shader, instructions = listCode(shader, words);
    out.line(`${title} (${target}, wave${waveSize})`);
    listingText(instructions).forEach((line) => out.line(line));
    result.shaders.push({ name, address, target, waveSize, instructions });
  };

  if (raw !== undefined) {
    const bytes = await readInput(file);
    if (bytes.length % 4 !== 0) {
      throw new UsageError("cli.raw-size", `${bytes.length} bytes are no whole words`, { file });
    }
    show(file, { name: file, target: raw, waveSize: wave ?? 64, code: new Uint32Array(bytes.buffer) });
  } else {
    const { loadFile } = await import("../guest/loaders/load_file.ts");
    const loaded = loadFile(file);
    result.kind = loaded.kind;
    if (loaded.kind === "shader") showShader(loaded.shader);
    else await showProgram(loaded.program);
  }
  return { exitCode: ExitCode.Done, data: { schema: "anyagc.disasm/1", file, ...result } };

  function showShader(shader: ShaderSource) {
    const { name, stage, target, code, execBytes } = shader;
    show(`${stage} shader ${name}`, { name, target, waveSize: shader.waveSize ?? wave ?? 64, code }, execBytes / 4);
  }

  async function showProgram(program: LoadedProgram) {
    const { disassemble } = await import("../pm4/mod.ts");
    const { InitialMemory, namedPrograms, titleOf } = await import("./disasm/programs_in_stream.ts");
    const memory = new InitialMemory(program);
    if (program.listing !== undefined) {
      program.listing.forEach((line) => out.line(line));
      out.line();
      result.records = program.listing;
    }
    if (program.missing !== undefined) {
      program.missing.forEach((what) => out.line(`not in the file, but needed for a run: ${what}`));
      out.line();
      result.missing = program.missing;
    }
    for (const [index, { queue, label, words, address }] of program.submissions.entries()) {
      const lines = disassemble(words, { memory, address });
      out.line(
        `submission ${index}${label === undefined ? "" : ` (${label})`}: queue ${hex(queue)}, ${words.length} words`,
      );
      lines.forEach((line) => out.line(line));
      out.line();
      result.submissions.push({ queue, label, lines });
    }
    for (const named of namedPrograms(program, memory)) {
      const { stage, address, code } = named;
      show(titleOf(named), {
        name: stage,
        address,
        target: program.target,
        waveSize: named.waveSize ?? wave ?? 64,
        code,
      });
      out.line();
    }
  }
}

function waveOption(context: CommandContext): 32 | 64 | undefined {
  const text = optionText(context, "wave");
  if (text === undefined) return undefined;
  if (text !== "32" && text !== "64") throw new UsageError("cli.bad-value", `--wave is 32 or 64, not ${text}`);
  return text === "32" ? 32 : 64;
}

function rawOption(context: CommandContext): Target | undefined {
  const text = optionText(context, "raw");
  const target = TARGETS.find((name) => name === text);
  if (text !== undefined && target === undefined) {
    throw new UsageError("cli.bad-value", `--raw is ${TARGETS.join(" or ")}, not ${text}`);
  }
  return target;
}
