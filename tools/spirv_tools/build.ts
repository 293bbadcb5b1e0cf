/**
 * Builds the SPIRV-Tools shared library that ffi/spirv_tools.ts loads. Debian ships SPIRV-Tools as static archives only, so they are linked
 * with shim.cpp into .cache/lib/libanyagc-spirv-tools.so. Usage:
 *
 *     deno run -A tools/spirv_tools/build.ts [--output FILE] [--force]
 *
 * Needs the Debian packages spirv-tools (archives and headers) and g++. Does nothing when the library is newer than its sources.
 */
import { HostError } from "../../src/errors.ts";

/** File name of the library. */
export const libraryName = "libanyagc-spirv-tools.so";

const archiveFolder = "/usr/lib/x86_64-linux-gnu";
// The optimizer uses the core library, so it comes first.
const archives = ["libSPIRV-Tools-opt.a", "libSPIRV-Tools.a"].map((name) => `${archiveFolder}/${name}`);
const header = "/usr/include/spirv-tools/optimizer.hpp";
const shim = new URL("shim.cpp", import.meta.url).pathname;
const exportsMap = new URL("exports.map", import.meta.url).pathname;

/**
 * Builds the library unless it is up to date.
 *
 * @param output file to write
 * @param force build even when it is up to date
 * @returns whether it was built
 * @throws {HostError} when the compiler or the archives are missing, or the compiler fails
 */
export async function buildSpirvTools(output = defaultOutput(), force = false): Promise<boolean> {
  const missing = [...archives, header].filter((file) => modified(file) === undefined);
  const built = modified(output);
  // A library that was brought along is good enough where it cannot be built.
  if (missing.length > 0 && built !== undefined && !force) return false;
  if (missing.length > 0) {
    throw new HostError(
      "host.spirv-tools-archives",
      `${missing[0]} is missing. Install it (Debian: apt install spirv-tools).`,
    );
  }
  if (!force && built !== undefined && [...archives, shim, exportsMap].every((file) => modified(file)! <= built)) {
    return false;
  }
  await Deno.mkdir(output.slice(0, output.lastIndexOf("/")), { recursive: true });
  const temporary = `${output}.${Deno.pid}`;
  // deno-fmt-ignore
  const args = [
    "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-o", temporary, shim,
    ...archives, `-Wl,--version-script=${exportsMap}`, "-Wl,--gc-sections", "-Wl,-s", "-static-libstdc++", "-static-libgcc",
  ];
  let result: Deno.CommandOutput;
  try {
    result = await new Deno.Command("g++", { args }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new HostError("host.compiler-missing", "g++ is missing. Install it (Debian: apt install g++).");
    }
    throw error;
  }
  if (result.code !== 0) {
    throw new HostError("host.compiler-failed", `g++ failed: ${new TextDecoder().decode(result.stderr)}`);
  }
  await Deno.rename(temporary, output); // whole or not at all: another process may be loading it
  return true;
}

/** .cache/lib in the project's folder. */
export function defaultOutput(): string {
  return new URL(`../../.cache/lib/${libraryName}`, import.meta.url).pathname;
}

function modified(file: string): number | undefined {
  try {
    return Deno.statSync(file).mtime!.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

if (import.meta.main) {
  const at = Deno.args.indexOf("--output");
  const output = at < 0 ? defaultOutput() : Deno.args[at + 1];
  try {
    const built = await buildSpirvTools(output, Deno.args.includes("--force"));
    console.log(`${output} ${built ? "built" : "is up to date"}`);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    console.error(error.message);
    Deno.exit(error.exitCode);
  }
}
