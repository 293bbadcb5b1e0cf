import { HostError, InvalidInputError } from "../../../src/errors.ts";

/** Shader compiler of Debian's glslang-tools. */
const COMPILER = "glslangValidator";
/** What every shader here may use. */
const HEAD = `#version 450
#extension GL_EXT_demote_to_helper_invocation : require
`;

/**
 * Compiles GLSL to a SPIR-V file. @param stage `vert` or `frag`
 * @throws HostError `host.glslang`; InvalidInputError with the compiler's messages
 */
export function compileGlsl(source: string, stage: "vert" | "frag", output: string): void {
  const input = `${output.replace(/\.spv$/, "")}.${stage}.glsl`;
  Deno.writeTextFileSync(input, HEAD + source);
  let result: Deno.CommandOutput;
  try {
    const args = ["-V", "--target-env", "vulkan1.3", "-S", stage, "-o", output, input];
    result = new Deno.Command(COMPILER, { args, stdout: "piped", stderr: "piped" }).outputSync();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new HostError("host.glslang", `${COMPILER} is not installed (Debian: apt install glslang-tools)`);
  }
  if (result.success) return;
  throw new InvalidInputError("corpus.glsl", new TextDecoder().decode(result.stdout).trim(), { file: input });
}
