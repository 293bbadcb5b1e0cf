/**
 * Bundles the program: all modules that the launcher can reach, and those of workers, as JavaScript files in one folder, without a
 * subfolder.
 *
 * Workers are found by how they are started: `new URL("./file.ts", import.meta.url)`. Each becomes an entry point of its own, and the URL is
 * rewritten to its file in the bundle.
 *
 * @module
 */
import { AnyAgcError } from "../../src/errors.ts";
import type { BuildStamp } from "../../src/build_stamp.ts";
import { run } from "./esbuild.ts";

/** Options of {@linkcode bundle}. */
export interface BundleOptions {
  /** esbuild's executable. */
  readonly esbuild: string;
  /** Folder that paths are relative to, with a final slash. */
  readonly root: string;
  /** First module of each bundle file that keeps its name: name (without .js) to path. */
  readonly entries: Readonly<Record<string, string>>;
  /** What `BUILD_STAMP` will be. */
  readonly stamp?: BuildStamp;
  /** Everything in one file, without comments and spaces. */
  readonly single?: boolean;
}

/** Bare names in import specifiers and what stands behind them, from deno.json. */
const ALIASES = { "@std/cli": "tools/std/cli/mod.ts" };
const MODULE_URL = /new URL\(\s*"([^"]+)",\s*import\.meta\.url,?\s*\)/g;

interface Metafile {
  readonly inputs: Readonly<Record<string, { readonly imports: readonly { readonly path: string }[] }>>;
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, unknown>> }>>;
}

/** The bundle's files by name. @throws {HostError} `host.esbuild` with what the bundler says */
export async function bundle(options: BundleOptions): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const { root } = options;
  const workers = new Map<string, string>(); // path of a worker's module, name of its file
  const folder = await Deno.makeTempDir({ prefix: "anyagc-bundle-" });
  try {
    for (;;) {
      const entries = { ...options.entries };
      for (const [path, name] of workers) entries[name] = path;
      const { inputs, outputs } = await runEsbuild(options, entries, folder);
      const found = new Set(Object.keys(inputs).flatMap((path) => referencedModules(root, path)));
      const missing = [...found].filter((path) => !workers.has(path));
      if (missing.length === 0) return readOutputs(root, outputs, workers);
      for (const path of missing) workers.set(path, workerName(path, [...Object.keys(entries), ...workers.values()]));
      await Deno.remove(folder, { recursive: true });
    }
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

async function runEsbuild(
  options: BundleOptions,
  entries: Readonly<Record<string, string>>,
  folder: string,
): Promise<Metafile> {
  const metafile = `${folder}/meta.json`;
  await run(options.esbuild, [
    ...Object.entries(entries).map(([name, path]) => `${name}=${path}`),
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--target=esnext",
    "--charset=utf8",
    "--log-level=error",
    "--tsconfig-raw={}",
    "--external:node:*",
    "--minify-whitespace",
    "--minify-syntax",
    "--legal-comments=none",
    ...(options.single ? ["--minify-identifiers"] : ["--splitting"]),
    ...Object.entries(ALIASES).map(([name, path]) => `--alias:${name}=./${path}`),
    ...(options.stamp === undefined ? [] : [`--define:__BUILD_STAMP__=${JSON.stringify(options.stamp)}`]),
    "--entry-names=[name]",
    "--chunk-names=[name]-[hash]",
    `--outdir=${folder}/out`,
    `--metafile=${metafile}`,
  ], options.root);
  return JSON.parse(await Deno.readTextFile(metafile));
}

/** Modules (paths from the root) that the source of another one names by URL. */
function referencedModules(root: string, path: string): string[] {
  if (!path.endsWith(".ts")) return [];
  return [...Deno.readTextFileSync(root + path).matchAll(MODULE_URL)]
    .map((match) => match[1]).filter((specifier) => specifier.endsWith(".ts"))
    .map((specifier) => resolve(path, specifier));
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** A name that no other file of the bundle has. */
function workerName(path: string, taken: readonly string[]): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.ts$/, "");
  for (let n = 1;; n++) {
    const candidate = n === 1 ? `worker_${name}` : `worker_${name}_${n}`;
    if (!taken.includes(candidate)) return candidate;
  }
}

/** Reads what was made, with the URLs of modules rewritten. */
function readOutputs(
  root: string,
  outputs: Metafile["outputs"],
  workers: ReadonlyMap<string, string>,
): Map<string, Uint8Array<ArrayBuffer>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const [output, { inputs }] of Object.entries(outputs)) {
    const text = Deno.readTextFileSync(root + output).replaceAll(MODULE_URL, (whole, specifier: string) => {
      if (!/\.\w+$/.test(specifier)) return whole; // a folder
      const meant = new Set(Object.keys(inputs).map((from) => resolve(from, specifier)).filter((p) => workers.has(p)));
      const [path] = meant;
      if (meant.size !== 1) {
        throw new AnyAgcError(
          "build.module-url",
          `${output} names ${specifier} by URL, and that is no worker's module`,
        );
      }
      return `new URL("./${workers.get(path)}.js",import.meta.url)`;
    });
    files.set(output.slice(output.lastIndexOf("/") + 1), new TextEncoder().encode(text));
  }
  return files;
}
