/**
 * Makes RDNA2 machine code from SPIR-V compute modules: `deno run -A tools/corpus/main.ts COMMAND ...`; see HELP.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { AnyAgcError, ExitCode, UsageError } from "../../src/errors.ts";
import { compileModule, outputName, type WaveSize, writeCompiled } from "./compile.ts";
import { extractModules, fetchPackage, LLAMA_PACKAGE } from "./extract.ts";
import { FAMILIES, type Family } from "./radv/environment.ts";
import { RadvProcess } from "./radv/process.ts";
import { compileGraphics, VERTEX_VARIANTS, type VertexVariant } from "./graphics/main.ts";
import { readModule } from "./spirv/module.ts";
import { treat } from "./spirv/treat.ts";
import { summarize, summaryText } from "./summary.ts";

/** Folder of everything that is fetched or made from what was fetched. */
const CACHE = decodeURIComponent(new URL("../../.cache/corpus", import.meta.url).pathname);

const HELP = `Usage: deno run -A tools/corpus/main.ts COMMAND ...

compile FILE.spv...      machine code by RADV, which needs no GPU: NAME.wNN.rdna.bin and NAME.wNN.json
  --family F             navi21 (gfx10.3, the default) or navi10 (gfx10.1)
  --wave N               32 or 64; both when left out
  --spec ID=VALUE        value of a specialization constant, raw bits; may repeat. Without it: the module's default; where a number
                         has several defaults, the largest
  --entry NAME           entry point, when the module has several
  --timeout SECONDS      longest time for one module; 120 when left out
  -o DIR                 output folder; the current one when left out

extract [FILE...]        compute modules inside of files; without files those of an npm package
  --package NAME         ${LLAMA_PACKAGE} when left out
  -o DIR                 .cache/corpus/llama when left out

treat FILE.spv|DIR...    modules whose results can be compared bit by bit: NoContraction, DenormPreserve
  --split-fma            make a multiplication and an addition of every Fma
  --preserve-specials    also SignedZeroInfNanPreserve
  -o DIR                 output folder; .cache/corpus/treated when left out

graphics               vertex and fragment code of our own small shaders (tools/corpus/graphics/sources.ts; needs glslangValidator):
                       DIR/wNN-VARIANT/NAME.vert.json and so on
  --family F, --wave N, --timeout SECONDS   as above
  --variant V          how vertices are made: ngg (pass-through), legacy or culling; may repeat. ngg and legacy when left out
  -o DIR               output folder; .cache/corpus/graphics-FAMILY when left out

summary [DIR]            compiles all modules of a folder (.cache/corpus/llama when left out): counts, reasons, sizes, features
  --family F, --wave N, --timeout SECONDS   as above
  -o DIR                 output folder; DIR-FAMILY when left out. summary.json lies there too

Exit code 1 when compile made no code of some module.`;

type Options = ReturnType<typeof parse>;

function parse(args: readonly string[]) {
  return parseArgs(args, {
    boolean: ["help", "split-fma", "preserve-specials"],
    string: ["_", "family", "wave", "spec", "entry", "timeout", "package", "variant", "o"],
    collect: ["spec", "variant"],
    alias: { output: "o" },
    unknown: (arg, key) => {
      if (key !== undefined) throw new UsageError("usage.option", `unknown option ${arg}; --help lists them`);
    },
  });
}

const COMMANDS: Readonly<Record<string, (options: Options, operands: string[]) => Promise<number>>> = {
  compile,
  extract,
  treat: treatFiles,
  graphics,
  summary,
};

/** Runs one command; returns the exit code. */
export async function corpus(args: readonly string[]): Promise<number> {
  try {
    const options = parse(args);
    const [command, ...operands] = options._.map(String);
    if (options.help || command === undefined) {
      console.log(HELP);
      return options.help ? ExitCode.Done : ExitCode.Usage;
    }
    const run = COMMANDS[command];
    if (run === undefined) {
      throw new UsageError("usage.command", `unknown command ${command}: ${Object.keys(COMMANDS).join(", ")}`);
    }
    return await run(options, operands);
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    console.error(`corpus: ${error.message}`);
    return error.exitCode;
  }
}

async function compile(options: Options, files: string[]): Promise<number> {
  requireOperands(files, "compile needs SPIR-V files");
  const family = familyOf(options), waveSizes = waveSizesOf(options), output = options.o ?? ".";
  const specialization = specializationOf(options);
  let failures = 0;
  await using radv = new RadvProcess({ family, timeout: timeoutOf(options) });
  for (const file of files) {
    for (const waveSize of waveSizes) {
      const outcome = await compileModule(radv, { file, family, waveSize, entryPoint: options.entry, specialization });
      const name = outputName(file, waveSize);
      if ("failed" in outcome) {
        failures++;
        console.log(`${name}: ${outcome.failed}: ${outcome.reason}`);
      } else {
        writeCompiled(output, name, outcome);
        console.log(`${output}/${name}.rdna.bin: ${outcome.code.length} bytes, ${outcome.binary.numVgprs} VGPRs`);
      }
    }
  }
  return failures === 0 ? ExitCode.Done : ExitCode.Guest;
}

async function extract(options: Options, files: string[]): Promise<number> {
  const output = options.o ?? `${CACHE}/llama`;
  const sources = files.length > 0 ? files : await fetchPackage(options.package ?? LLAMA_PACKAGE, `${CACHE}/npm`);
  const { modules, duplicates, otherModules, rejected } = extractModules(sources, output);
  const bytes = modules.reduce((sum, module) => sum + module.bytes, 0);
  console.log(`${modules.length} compute modules in ${output}, ${bytes} bytes; from ${sources.length} files`);
  console.log(
    `${duplicates} duplicates, ${otherModules.length} other modules, ${rejected.length} places that hold none`,
  );
  return ExitCode.Done;
}

function treatFiles(options: Options, operands: string[]): Promise<number> {
  requireOperands(operands, "treat needs SPIR-V files or folders");
  const output = options.o ?? `${CACHE}/treated`;
  const files = operands.flatMap((operand) => isFolder(operand) ? modulesIn(operand) : [operand]);
  const treatOptions = { splitFma: options["split-fma"], preserveSpecials: options["preserve-specials"] };
  let decorated = 0, split = 0;
  Deno.mkdirSync(output, { recursive: true });
  for (const file of files) {
    const treated = treat(readModule(file), treatOptions);
    decorated += treated.decorated;
    split += treated.split;
    const { words } = treated.module;
    Deno.writeFileSync(`${output}/${baseName(file)}`, new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
  }
  console.log(`${files.length} modules in ${output}: ${decorated} results decorated, ${split} Fma split`);
  return Promise.resolve(ExitCode.Done);
}

async function summary(options: Options, [folder = `${CACHE}/llama`]: string[]): Promise<number> {
  if (!isFolder(folder)) throw new UsageError("usage.file", `${folder} is no folder; extract makes one`);
  const family = familyOf(options);
  const result = await summarize({
    folder,
    output: options.o ?? `${folder.replace(/\/+$/, "")}-${family}`,
    family,
    waveSizes: waveSizesOf(options),
    timeout: timeoutOf(options),
    progress: (done, all) => {
      if (done % 100 === 0) console.error(`${done} of ${all}`);
    },
  });
  console.log(summaryText(result));
  return ExitCode.Done;
}

async function graphics(options: Options): Promise<number> {
  const given: string[] = options.variant ?? [], names = Object.keys(VERTEX_VARIANTS);
  const unknown = given.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError("usage.variant", `unknown variant ${unknown}; known: ${names.join(", ")}`);
  }
  const family = familyOf(options);
  const { written, failures } = await compileGraphics({
    family,
    waveSizes: waveSizesOf(options),
    variants: given.length > 0 ? given as VertexVariant[] : ["ngg", "legacy"],
    output: options.o ?? `${CACHE}/graphics-${family}`,
    timeout: timeoutOf(options),
  });
  for (const { name, reason } of failures) console.log(`${name}: ${reason}`);
  console.log(`${written.length} stages, ${failures.length} pipelines without code`);
  return failures.length === 0 ? ExitCode.Done : ExitCode.Guest;
}

function modulesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".spv")).sort().map((
    name,
  ) => `${folder}/${name}`);
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false; // the reader of the file says it better
    throw error;
  }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function requireOperands(operands: readonly string[], message: string): void {
  if (operands.length === 0) throw new UsageError("usage.operands", message);
}

function familyOf(options: Options): Family {
  const family = FAMILIES.find((one) => one === (options.family ?? FAMILIES[0]));
  if (family !== undefined) return family;
  throw new UsageError("usage.family", `unknown family ${options.family}; known: ${FAMILIES.join(", ")}`);
}

function waveSizesOf(options: Options): WaveSize[] {
  switch (options.wave) {
    case undefined:
      return [32, 64];
    case "32":
      return [32];
    case "64":
      return [64];
  }
  throw new UsageError("usage.wave", `--wave ${options.wave}: a wave has 32 or 64 lanes`);
}

function timeoutOf(options: Options): number | undefined {
  if (options.timeout === undefined) return undefined;
  const seconds = Number(options.timeout);
  if (!(seconds > 0)) {
    throw new UsageError("usage.timeout", `--timeout ${options.timeout}: a number of seconds is needed`);
  }
  return seconds * 1000;
}

function specializationOf(options: Options): Map<number, bigint> {
  const given: string[] = options.spec ?? [];
  return new Map(given.map((text) => {
    const match = /^(\d+)=(\d+|0x[0-9a-fA-F]+)$/.exec(text);
    if (match === null) throw new UsageError("usage.spec", `--spec ${text}: ID=VALUE is needed, both numbers`);
    return [Number(match[1]), BigInt(match[2])];
  }));
}

if (import.meta.main) Deno.exit(await corpus(Deno.args));
