/**
 * `anyagc recompile`: a shader as SPIR-V, and what each pass made of it.
 *
 * @module
 */
import { AnyAgcError, ExitCode, UsageError, withPlace } from "../errors.ts";
import type { Artifact } from "../recompiler/request.ts";
import { type Command, type CommandContext, optionText } from "./command.ts";
import { writeOutput } from "./files.ts";
import { didYouMean } from "./nearest.ts";
import type { Candidate } from "./recompile/candidates.ts";

/** The command. */
export const RECOMPILE: Command = {
  name: "recompile",
  summary: "recompile a shader to SPIR-V",
  details: [
    "Prints the module as assembly, or writes it to a file. FILE is a compiled compute, pixel or vertex shader, or a program: then its streams are followed, without " +
    "running anything, to the programs that they dispatch.",
    "The output depends on the device's abilities: by default the one that a run would use, or --device generic for a typical GPU.",
  ],
  arguments: [{ name: "FILE", summary: "a program, a capture, or a compiled shader" }],
  options: [
    { name: "output", short: "o", value: "PATH", summary: "write the module's binary to PATH" },
    { name: "shader", value: "NAME", summary: "which program, where FILE has several (its address)" },
    {
      name: "dump",
      value: "PASS",
      summary: "print what this pass made instead of the module; `list` names the passes",
    },
    { name: "device", value: "NAME", summary: "compile for this device: a part of its name, software, or generic" },
    { name: "back", value: "FILE", summary: "the back half of a merged program, whose front half FILE is" },
    { name: "wave", value: "LANES", summary: "lanes per wave, 32 or 64, where the file does not say" },
  ],
  example: "anyagc recompile shaders/julia/program.json",
  run,
};

async function run(context: CommandContext) {
  const { out } = context, [file] = context.positionals;
  const { PASSES, recompile } = await import("../recompiler/recompile.ts");
  const pass = passOption(context, PASSES);
  if (pass === "list") {
    PASSES.forEach((name) => out.line(name));
    return { exitCode: ExitCode.Done, data: { schema: "anyagc.recompile/1", file, passes: [...PASSES] } };
  }
  const { candidate, notes } = await chooseCandidate(context, file);
  const { deviceFor } = await import("./recompile/device.ts");
  const { name: device, device: abilities } = deviceFor(optionText(context, "device"));
  let dump: string | undefined;
  const start = performance.now();
  const { openRequestDump } = await import("../driver/request_dump.ts");
  const artifact = placedIn(candidate, () => {
    const request = candidate.request(abilities);
    openRequestDump()?.write(request);
    return recompile(request, (name, text) => {
      if (name === pass) dump = text();
    });
  });
  const milliseconds = performance.now() - start;
  const { spirv } = artifact, facts = factsOf(artifact);
  if (pass !== undefined && dump === undefined) {
    throw new UsageError(
      "cli.pass-not-done",
      `the pass ${pass} is not done for this program: its lane mode is ${facts.laneMode} (${facts.laneModeReason})`,
    );
  }
  const data: { schema: string } & Record<string, unknown> = {
    schema: "anyagc.recompile/1",
    file,
    shader: candidate.name,
    device,
    stage: artifact.graphics?.stage ?? "compute",
    ...facts,
    words: spirv.length,
    milliseconds,
    notes,
  };
  const output = optionText(context, "output");
  if (output !== undefined) {
    await writeOutput(output, new Uint8Array(spirv.buffer, spirv.byteOffset, spirv.byteLength));
    data.output = output;
  }
  const shape = artifact.graphics === undefined
    ? `${facts.workgroupSize.join(" x ")} threads`
    : `${artifact.graphics.stage} stage`;
  const summary =
    `${candidate.name}: ${facts.instructionCount} instructions became ${spirv.length} words for ${device}, wave${facts.waveSize}, ` +
    `${shape}, ${facts.laneMode} (${facts.laneModeReason}), ${milliseconds.toFixed(1)} ms`;
  if (dump !== undefined) {
    data.dump = dump;
    out.line(dump.trimEnd());
  } else if (output !== undefined) out.line(`${summary}: ${output}`);
  else {
    const { openSpirvTools } = await import("../../ffi/spirv_tools.ts");
    const assembly = openSpirvTools().disassemble(spirv);
    data.assembly = assembly;
    out.line(`; ${summary}`);
    notes.forEach((note) => out.line(`; ${note}`));
    out.line(assembly.trimEnd());
  }
  return { exitCode: ExitCode.Done, data };
}

/** What `--json` tells of an artifact: the documented keys, whatever else the recompiler knows. */
function factsOf(artifact: Artifact) {
  const { instructionCount, codeWords, waveSize, workgroupSize, laneMode, laneModeReason } = artifact;
  const { subgroupSize, sharedBytes, insertedBarriers } = artifact;
  return {
    ...{ instructionCount, codeWords, waveSize, workgroupSize, laneMode, laneModeReason },
    ...{ subgroupSize, sharedBytes, insertedBarriers },
  };
}

/** Does something; its errors get the place in the file that the program's code has. */
function placedIn<Result>({ file, codeFileOffset, explain }: Candidate, what: () => Result): Result {
  try {
    return what();
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    if (explain !== undefined) throw explain(error);
    const fileOffset = codeFileOffset === undefined ? undefined : codeFileOffset + (error.place.pc ?? 0);
    throw withPlace(error, { file, ...(fileOffset === undefined ? {} : { fileOffset }) });
  }
}

/** The program to recompile. @throws UsageError when the choice is not clear */
async function chooseCandidate(
  context: CommandContext,
  file: string,
): Promise<{ candidate: Candidate; notes: string[] }> {
  const { loadFile } = await import("../guest/loaders/load_file.ts");
  const { fusedCandidate, programCandidates, shaderCandidate } = await import("./recompile/candidates.ts");
  const wave = optionText(context, "wave");
  if (wave !== undefined && wave !== "32" && wave !== "64") {
    throw new UsageError("cli.bad-value", `--wave is 32 or 64, not ${wave}`);
  }
  const loaded = loadFile(file), back = optionText(context, "back");
  if (back !== undefined) {
    const other = loadFile(back);
    if (loaded.kind === "shader" && other.kind === "shader") {
      return { candidate: fusedCandidate(loaded.shader, other.shader), notes: [] };
    }
    throw new UsageError(
      "cli.bad-value",
      `--back joins two shaders; ${loaded.kind === "shader" ? back : file} is none`,
    );
  }
  if (loaded.kind === "shader") {
    return {
      candidate: shaderCandidate(loaded.shader, wave === undefined ? undefined : wave === "32" ? 32 : 64),
      notes: [],
    };
  }
  const { list, notes } = programCandidates(loaded.program);
  const wanted = optionText(context, "shader"), names = list.map((c) => c.name);
  const candidate = wanted === undefined ? list[0] : list.find((c) => c.name === wanted.toLowerCase());
  if (list.length === 0) {
    throw new UsageError(
      "cli.no-shader",
      [`${file} dispatches no compute program that could be recompiled`, ...notes].join("; "),
      { file },
    );
  }
  if (candidate === undefined) {
    throw new UsageError(
      "cli.no-shader",
      `there is no program ${wanted}${didYouMean(wanted!, names)}; there is ${names.join(", ")}`,
      { file },
    );
  }
  if (wanted === undefined && list.length > 1) {
    throw new UsageError(
      "cli.several-shaders",
      `${file} dispatches ${list.length} programs: choose one with --shader: ${names.join(", ")}`,
      {
        file,
      },
    );
  }
  return { candidate, notes };
}

function passOption(context: CommandContext, passes: readonly string[]): string | undefined {
  const name = optionText(context, "dump");
  if (name === undefined || name === "list" || passes.includes(name)) return name;
  throw new UsageError(
    "cli.bad-value",
    `there is no pass ${name}${didYouMean(name, passes)}; there is ${passes.join(", ")}`,
  );
}
