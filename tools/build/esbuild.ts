/**
 * Gets the bundler esbuild: the executable inside its npm package, with npm's own client, pinned by version and hash.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { HostError } from "../../src/errors.ts";

/** Package with the executable for x86-64 Linux; its license is MIT. */
const PACKAGE = "@esbuild/linux-x64", VERSION = "0.28.2";
/** SHA-512 of the package file, as the registry states it. */
const INTEGRITY = "4xTZr1FUmSoQW4XIWmit3tzQrUTZM+N3P0XV8xROKYF50XfI7xeO90+1bZvNwxIufQ9hDQVRJH5YhgPVF8A/HQ==";
const CACHE = new URL("../../.cache/npm/", import.meta.url).pathname;

/** Path of the executable if it was fetched before. */
export function findEsbuild(cache = CACHE): string | undefined {
  const path = `${cache}esbuild-${VERSION}/package/bin/esbuild`;
  try {
    return Deno.statSync(path).isFile ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Path of the executable, fetched if need be.
 *
 * @throws {HostError} `host.npm`, `host.tar`, `host.esbuild` (the package is not the one that is pinned)
 */
export async function fetchEsbuild(cache = CACHE): Promise<string> {
  const present = findEsbuild(cache);
  if (present !== undefined) return present;
  await Deno.mkdir(cache, { recursive: true });
  const partial = await Deno.makeTempDir({ dir: cache, prefix: "esbuild-", suffix: ".part" });
  try {
    const packed = await run("npm", ["pack", `${PACKAGE}@${VERSION}`, "--silent", "--pack-destination", partial]);
    const archive = `${partial}/${packed.trim().split("\n").at(-1)}`;
    if (createHash("sha512").update(await Deno.readFile(archive)).digest("base64") !== INTEGRITY) {
      throw new HostError("host.esbuild", `${PACKAGE}@${VERSION} is not the package that tools/build/esbuild.ts pins`);
    }
    await run("tar", ["-xzf", archive, "-C", partial]);
    await Deno.remove(archive);
    const folder = `${cache}esbuild-${VERSION}`;
    try {
      await Deno.rename(partial, folder);
    } catch (error) {
      if (findEsbuild(cache) === undefined) throw error; // else another process was faster
    }
  } finally {
    await Deno.remove(partial, { recursive: true }).catch(() => {});
  }
  return findEsbuild(cache)!;
}

/** Runs a program. @returns what it printed @throws {HostError} `host.PROGRAM` with what it said */
export async function run(program: string, args: readonly string[], cwd?: string): Promise<string> {
  const name = program.slice(program.lastIndexOf("/") + 1);
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(program, {
      args: [...args],
      cwd,
      stdin: "null",
      stderr: "piped",
      env: { NO_COLOR: "1" },
    }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new HostError(`host.${name}`, `${name} is not installed`);
  }
  if (output.success) return new TextDecoder().decode(output.stdout);
  const said = new TextDecoder().decode(output.stderr).trim();
  throw new HostError(`host.${name}`, `${name} ${args.slice(0, 3).join(" ")} failed with code ${output.code}: ${said}`);
}
