/**
 * Builds the single executable: `deno task build`.
 *
 *     deno run -A tools/build/main.ts [--kind deno-compile|self-made] [--output FILE] [--deno FILE]
 *
 * By `deno compile` where its base binary can be had, otherwise self-made (self_made.ts). The bundler is fetched once, with npm.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import type { BuildStamp } from "../../src/build_stamp.ts";
import { headCommit } from "../../src/cli/version.ts";
import { AnyAgcError, ExitCode } from "../../src/errors.ts";
import { ENTRY_FILE } from "../../src/executable/names.ts";
import { sha256 } from "../../src/storage/unpack.ts";
import { buildSpirvTools, defaultOutput, libraryName } from "../spirv_tools/build.ts";
import { bundle } from "./bundle.ts";
import { denoCompile } from "./deno_compile.ts";
import { fetchEsbuild, run } from "./esbuild.ts";
import { writeSelfMade } from "./self_made.ts";

const HELP = `Usage: deno run -A tools/build/main.ts [--kind deno-compile|self-made] [--output FILE] [--deno FILE]
  --kind    how (default: deno-compile where its base binary can be had, else self-made)
  --output  the executable (default: dist/anyagc)
  --deno    Deno's executable (default: the one that runs this)`;
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/** How an executable is made. */
export type BuildKind = "deno-compile" | "self-made";

/** Options of {@linkcode build}. */
export interface BuildOptions {
  /** Undefined: what can be done. */
  readonly kind?: BuildKind;
  readonly output: string;
  readonly deno?: string;
  /** Prints a line. */
  readonly say?: (line: string) => void;
}

/** Builds the executable. @returns how @throws {HostError} when something that it takes cannot be had */
export async function build(options: BuildOptions): Promise<BuildKind> {
  const { output, deno = Deno.execPath(), say = () => {} } = options;
  await buildSpirvTools();
  const library = await Deno.readFile(defaultOutput());
  const esbuild = await fetchEsbuild();
  const commit = await builtCommit(), known = commit !== undefined && !commit.endsWith("+");
  const stamp: BuildStamp = {
    commit,
    id: known ? commit : `${commit ?? ""}${new Date().toISOString()}`,
    assets: { [libraryName]: await sha256(library) },
  };
  const entry = ENTRY_FILE.replace(/\.js$/, "");
  const files = await bundle({ esbuild, root: ROOT, entries: { [entry]: "src/executable/entry.ts" }, stamp });
  files.set(libraryName, library);
  say(`bundled ${files.size} files, ${Math.round(sum(files) / 1024)} KiB`);
  const folder = output.slice(0, output.lastIndexOf("/") + 1);
  if (folder !== "") await Deno.mkdir(folder, { recursive: true });

  if (options.kind !== "self-made") {
    try {
      await denoCompile({ deno, output, files });
      return "deno-compile";
    } catch (error) {
      if (options.kind === "deno-compile" || !(error instanceof AnyAgcError)) throw error;
      say(`no deno compile (${causeOf(error.message)}): self-made instead`);
    }
  }
  const bootstrap = await bundle({
    esbuild,
    root: ROOT,
    entries: { bootstrap: "src/executable/bootstrap.ts" },
    single: true,
  });
  const text = new TextDecoder().decode(bootstrap.get("bootstrap.js"));
  await writeSelfMade({ deno, output, bootstrap: text, files });
  return "self-made";
}

/** Of what Deno says, the line that tells why. */
function causeOf(message: string): string {
  const lines = message.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return (lines.find((line) => /^\d+: .*(error|denort)/i.test(line))?.replace(/^\d+: /, "") ?? lines[0]).slice(0, 300);
}

function sum(files: ReadonlyMap<string, Uint8Array>): number {
  return [...files.values()].reduce((total, data) => total + data.length, 0);
}

/** The checkout's commit, with `+` behind it when tracked files differ from it. */
async function builtCommit(): Promise<string | undefined> {
  const commit = headCommit();
  if (commit === undefined) return undefined;
  try {
    const changes = await run("git", ["status", "--porcelain", "--untracked-files=no"], ROOT);
    return changes.trim() === "" ? commit : `${commit}+`;
  } catch {
    return commit; // without git nobody knows
  }
}

async function main(args: readonly string[]): Promise<number> {
  const options = parseArgs(args, {
    string: ["kind", "output", "deno"],
    boolean: ["help"],
    unknown: (arg) => {
      console.error(`build: what is ${arg}?\n${HELP}`);
      Deno.exit(ExitCode.Usage);
    },
  });
  const { kind } = options;
  if (options.help) {
    console.log(HELP);
    return ExitCode.Done;
  }
  if (kind !== undefined && kind !== "deno-compile" && kind !== "self-made") {
    console.error(`build: --kind is deno-compile or self-made, not ${kind}`);
    return ExitCode.Usage;
  }
  const output = options.output ?? `${ROOT}dist/anyagc`, start = performance.now();
  try {
    const made = await build({ kind, output, deno: options.deno, say: (line) => console.log(`build: ${line}`) });
    const megabytes = (await Deno.stat(output)).size / 2 ** 20;
    const seconds = (performance.now() - start) / 1000;
    console.log(`build: ${output}, ${made}, ${megabytes.toFixed(1)} MiB (${seconds.toFixed(1)} s)`);
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    console.error(`build: ${error.message}`);
    return error.exitCode;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
