/**
 * Makes a fresh machine ready: `deno task setup`. Installs the Debian packages that are missing and builds the SPIRV-Tools shared
 * library. Does nothing, quickly and without a network, when everything is there.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { AnyAgcError, ExitCode } from "../../src/errors.ts";
import { fetchEsbuild, findEsbuild } from "../build/esbuild.ts";
import { buildSpirvTools } from "../spirv_tools/build.ts";
import { installPackages, thisMachine } from "./apt.ts";
import { missingPackages, type Need } from "./packages.ts";

const HELP = `Usage: deno run -A tools/setup/main.ts [--tests] [--check]
  --tests  also what only the tests need
  --check  install and build nothing; only say what is missing (exit code 3 if anything is)`;

/** Runs the setup and returns the exit code. */
export async function setup(args: readonly string[], say: (line: string) => void = console.log): Promise<number> {
  const options = parseArgs(args, { boolean: ["tests", "check", "help"], unknown: (arg) => unknownArgument(arg, say) });
  if (options.help) {
    say(HELP);
    return ExitCode.Done;
  }
  const started = performance.now();
  const needs: Need[] = options.tests ? ["run", "tests"] : ["run"];
  const missing = missingPackages(needs);
  for (const p of missing) say(`setup: ${p.name} is missing: ${p.purpose}`);
  if (options.check) return missing.length === 0 ? ExitCode.Done : ExitCode.Host;

  if (missing.length > 0) {
    const outcome = await installPackages(missing.map((p) => p.name), thisMachine((line) => say(`setup: ${line}`)));
    if (outcome.kind === "not allowed") {
      say(`setup: it may not install packages here. Run this, then try again:\n  ${outcome.command}`);
      return ExitCode.Host;
    }
    if (outcome.kind === "failed") {
      say(`setup: the installation failed:\n${outcome.tail}\nsetup: by hand:\n  ${outcome.command}`);
      return ExitCode.Host;
    }
    const still = missingPackages(needs);
    if (still.length > 0) {
      say(
        `setup: installed, but not where it is looked for: ${
          still.map((p) => p.name).join(" ")
        } (tools/setup/packages.ts)`,
      );
      return ExitCode.Host;
    }
  }

  let built: boolean, fetched = false;
  try {
    const before = performance.now();
    built = await buildSpirvTools();
    if (built) say(`setup: built the SPIRV-Tools library (${seconds(before)})`);
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    say(`setup: ${error.message}`);
    return error.exitCode;
  }
  if (options.tests && findEsbuild() === undefined) {
    try {
      await fetchEsbuild();
      fetched = true;
      say("setup: fetched the bundler (esbuild)");
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      // Only the tests of the executable need it, and they say so.
      say(`setup: the bundler cannot be fetched, so the executable's tests will be ignored: ${error.message}`);
    }
  }
  const changed = missing.length > 0 || built || fetched;
  say(changed ? `setup: done (${seconds(started)})` : `setup: everything is there (${seconds(started)})`);
  return ExitCode.Done;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(2)} s`;
}

function unknownArgument(arg: string, say: (line: string) => void): never {
  say(`setup: what is ${arg}?\n${HELP}`);
  Deno.exit(ExitCode.Usage);
}

if (import.meta.main) Deno.exit(await setup(Deno.args));
