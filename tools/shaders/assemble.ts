/**
 * Assembles a guest shader with Debian's llvm-19 into plain machine code.
 *
 * @module
 */

/** What to assemble for. */
export interface AssembleTarget {
  /** LLVM processor: gfx1013 is the console's. */
  cpu: "gfx1013" | "gfx1030";
  waveSize: 32 | 64;
}

const ASSEMBLER = "llvm-mc-19", OBJCOPY = "llvm-objcopy-19", READOBJ = "llvm-readobj-19";

/** True when the assembler is installed. */
export async function assemblerAvailable(): Promise<boolean> {
  try {
    return (await new Deno.Command(ASSEMBLER, { args: ["--version"], stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

/**
 * The bytes of `.text` of an assembly source file.
 *
 * @throws Error with the tool's own words when it does not assemble, or when the code would need relocation
 */
export async function assemble(source: string, target: AssembleTarget): Promise<Uint8Array<ArrayBuffer>> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-assemble-" });
  try {
    const object = `${folder}/shader.o`, code = `${folder}/shader.bin`;
    const wave = `-mattr=+wavefrontsize${target.waveSize},-wavefrontsize${target.waveSize === 32 ? 64 : 32}`;
    await tool(ASSEMBLER, ["-triple=amdgcn--", `-mcpu=${target.cpu}`, wave, "-filetype=obj", source, "-o", object]);
    // Guest code is loaded as it is: an address that a linker would have to fill in cannot be in it.
    const relocations = await tool(READOBJ, ["--relocations", object]);
    if (/^\s+0x[0-9A-Fa-f]+ R_AMDGPU/m.test(relocations)) {
      throw new Error(`${source} needs relocation:\n${relocations}`);
    }
    await tool(OBJCOPY, ["-O", "binary", "--only-section=.text", object, code]);
    return await Deno.readFile(code);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function tool(program: string, args: string[]): Promise<string> {
  const output = await new Deno.Command(program, { args, stdin: "null", stdout: "piped", stderr: "piped" }).output();
  const text = new TextDecoder();
  if (!output.success) throw new Error(`${program} ${args.join(" ")} failed:\n${text.decode(output.stderr)}`);
  return text.decode(output.stdout);
}
