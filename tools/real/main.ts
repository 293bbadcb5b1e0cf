/**
 * What the recompiler does with real modules: `deno run -A tools/real/main.ts ...`; see HELP. `tools/corpus/main.ts` gets and compiles them first.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import { GENERIC_DEVICE } from "../../src/recompiler/generic_device.ts";
import { AnyAgcError, ExitCode, UsageError } from "../../src/errors.ts";
import { BAD_OUTCOMES, type CompareRow } from "./compare_module.ts";
import { defaultFolders, moduleNames } from "./corpus.ts";
import { compareText, recompileText, wordsText } from "./report.ts";
import { recompileModule, type RecompileRow } from "./recompile_modules.ts";
import { Runner } from "./runner.ts";

const HELP = `Usage: deno run -A tools/real/main.ts [OPTION...]

Recompiles the machine code of real modules: how many, why not the others, how long the results are. With --run also runs them on the Vulkan device with
generated inputs, against the modules that they were compiled from (the treated ones, so that results can be compared to the bit).

  --wave N            32 or 64 (the default)
  --limit N           at most N modules
  --step N            every Nth module only
  --first N           leave out the first N modules
  --words             also say where the words are, by cause
  --inlined           also count words with all functions inlined in both modules; takes a while
  --plain             recompile programs that find their descriptors themselves, as the driver does it where the host cannot
  --run               run them; without it no device is needed
  --only-run          run them, and leave the recompiling figures out
  --interpreter       compare with the reference interpreter running the machine code, not with the original module
  --timeout SECONDS   longest time for one run; 60 when left out
  --json FILE         all rows as JSON

Exit code 1 when the recompiler or a run failed, when memory is not what the interpreter makes of the machine code, or when nothing says why the original differs.`;

/** Runs the command; returns the exit code. */
export async function real(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    console.error(`real: ${error.message}`);
    return error.exitCode;
  }
}

async function run(args: readonly string[]): Promise<number> {
  const options = parseArgs(args, {
    boolean: ["help", "run", "only-run", "interpreter", "words", "inlined", "plain"],
    string: ["wave", "limit", "step", "first", "timeout", "json"],
    unknown: (arg) => {
      throw new UsageError("usage.option", `unknown argument ${arg}; --help lists them`);
    },
  });
  if (options.help) {
    console.log(HELP);
    return ExitCode.Done;
  }
  const wave = numberOf("wave", options.wave, 64);
  if (wave !== 32 && wave !== 64) throw new UsageError("usage.wave", `--wave ${wave}: a wave has 32 or 64 lanes`);
  const step = numberOf("step", options.step, 1),
    first = options.first === undefined ? 0 : numberOf("first", options.first, 0);
  const folders = defaultFolders();
  const modules = moduleNames(folders.original).slice(first).filter((_, i) => i % step === 0)
    .slice(0, options.limit === undefined ? undefined : numberOf("limit", options.limit, 0));

  const rows: RecompileRow[] = [], runs: CompareRow[] = [];
  if (!options["only-run"]) {
    const tools = openSpirvTools();
    for (const module of modules) {
      rows.push(
        recompileModule(module, {
          folders,
          wave,
          device: GENERIC_DEVICE,
          tools,
          resolve: !options.plain,
          inlined: options.inlined,
        }),
      );
    }
    console.log(`wave ${wave}\n\n${recompileText(rows)}`);
    if (options.words) console.log(`\n${wordsText(rows)}`);
  }
  if (options.run || options["only-run"]) {
    const timeout = 1000 * numberOf("timeout", options.timeout, 60);
    await using runner = new Runner({ wave, oracle: options.interpreter ? "interpreter" : "original", timeout });
    let without = 0;
    for (const module of modules) {
      const row = await runner.run(module);
      if (row === undefined) without++;
      else {
        runs.push(row);
        console.error(`${module}: ${row.outcome}${row.reason === undefined ? "" : `: ${row.reason}`}`);
      }
    }
    console.log(`wave ${wave}, run: ${without} modules without machine code\n\n${compareText(runs)}`);
  }
  if (options.json !== undefined) {
    Deno.writeTextFileSync(options.json, JSON.stringify({ wave, recompiled: rows, run: runs }, null, 1) + "\n");
  }
  const bad = rows.some(({ outcome }) => outcome === "error") ||
    runs.some(({ outcome }) => BAD_OUTCOMES.includes(outcome));
  return bad ? ExitCode.Guest : ExitCode.Done;
}

function numberOf(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value >= (name === "first" ? 0 : 1)) return value;
  throw new UsageError("usage.number", `--${name} ${text}: a whole number is needed`);
}

if (import.meta.main) Deno.exit(await real(Deno.args));
