/**
 * The executable by `deno compile`. It needs a base binary, "denort", from the network, or from a file that DENORT_BIN names.
 *
 * @module
 */
import { HostError } from "../../src/errors.ts";
import { ENTRY_FILE } from "../../src/executable/names.ts";
import { run } from "./esbuild.ts";
import { PERMISSIONS } from "./self_made.ts";

/** Options of {@linkcode denoCompile}. */
export interface DenoCompileOptions {
  readonly deno: string;
  readonly output: string;
  /** Files of the bundle by name. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

/**
 * Writes the executable.
 *
 * @throws {HostError} `host.deno` when the base binary cannot be had, `build.denort` when what it made is not the program
 */
export async function denoCompile({ deno, output, files }: DenoCompileOptions): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-compile-" });
  const made = `${output}.${Deno.pid}.part`;
  try {
    for (const [name, data] of files) await Deno.writeFile(`${folder}/${name}`, data);
    const includes = [...files.keys()].filter((name) => name !== ENTRY_FILE).flatMap((name) => ["--include", name]);
    await run(deno, [
      ...["compile", ...PERMISSIONS, "--no-config", "--no-lock", "--no-remote", "--no-npm", "--quiet", "--no-check"],
      ...includes,
      ...["--output", made, ENTRY_FILE],
    ], folder);
    await requireProgram(made);
    await Deno.rename(made, output);
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await Deno.remove(made).catch(() => {});
  }
}

/** A base binary that reads no embedded program (Deno itself, for example) would give an executable that is not AnyAGC. */
async function requireProgram(path: string): Promise<void> {
  const { stdout } = await new Deno.Command(path, { args: ["--version", "--json"], stdin: "null", stderr: "null" })
    .output();
  const said = new TextDecoder().decode(stdout);
  if (/"kind": "deno compile"/.test(said)) return;
  throw new HostError(
    "build.denort",
    `deno compile made something that is not the program: the base binary (DENORT_BIN) does not fit. It says: ${
      said.slice(0, 200).trim()
    }`,
  );
}
