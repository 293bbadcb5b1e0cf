/**
 * Gets compute modules out of other files: shared libraries of npm packages, in which programs carry their shaders. What is extracted belongs to
 * others: it stays in the cache folder and is never checked in.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { AnyAgcError, HostError } from "../../src/errors.ts";
import { findModules, type RejectedPlace } from "./spirv/boundary.ts";
import { moduleOf } from "./spirv/module.ts";
import { reflectCompute } from "./spirv/reflect.ts";

/** Package with the Vulkan backend of llama.cpp; its license is MIT. */
export const LLAMA_PACKAGE = "@node-llama-cpp/linux-x64-vulkan@3.22.1";

/** A module that was written. */
export interface ExtractedModule {
  /** File name: INDEX-HASH-ENTRY.spv. */
  readonly file: string;
  /** Where it was found first. */
  readonly source: string;
  /** Byte offset there. */
  readonly offset: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** What was found. */
export interface Extraction {
  readonly modules: readonly ExtractedModule[];
  /** Modules that were the same as an earlier one. */
  readonly duplicates: number;
  /** Modules without exactly one compute entry point, with the reason. */
  readonly otherModules: readonly { readonly source: string; readonly offset: number; readonly reason: string }[];
  /** Places with the magic number that hold no module. */
  readonly rejected: readonly ({ readonly source: string } & RejectedPlace)[];
}

/** Writes every different compute module of the files into `folder`, and modules.json, which says where each came from. */
export function extractModules(files: readonly string[], folder: string): Extraction {
  const modules: ExtractedModule[] = [],
    otherModules: Extraction["otherModules"][number][] = [],
    rejected: Extraction["rejected"][number][] = [];
  const known = new Set<string>();
  let duplicates = 0;
  Deno.mkdirSync(folder, { recursive: true });
  for (const path of files) {
    const bytes = Deno.readFileSync(path), source = path.slice(path.lastIndexOf("/") + 1);
    const found = findModules(bytes);
    rejected.push(...found.rejected.map((place) => ({ source, ...place })));
    for (const { offset, byteLength } of found.modules) {
      const own = bytes.slice(offset, offset + byteLength);
      const sha256 = createHash("sha256").update(own).digest("hex");
      if (known.has(sha256)) {
        duplicates++;
        continue;
      }
      known.add(sha256);
      let entryPoint: string;
      try {
        entryPoint = reflectCompute(moduleOf(own, source)).entryPoint;
      } catch (error) {
        if (!(error instanceof AnyAgcError)) throw error;
        otherModules.push({ source, offset, reason: error.message });
        continue;
      }
      const index = String(modules.length).padStart(4, "0");
      const file = `${index}-${sha256.slice(0, 12)}-${entryPoint.replaceAll(/[^A-Za-z0-9_]/g, "_")}.spv`;
      Deno.writeFileSync(`${folder}/${file}`, own);
      modules.push({ file, source, offset, bytes: byteLength, sha256 });
    }
  }
  const extraction: Extraction = { modules, duplicates, otherModules, rejected };
  Deno.writeTextFileSync(`${folder}/modules.json`, JSON.stringify(extraction, null, 1) + "\n");
  return extraction;
}

/**
 * Gets an npm package with npm's own client, unless it is in `folder` already, and unpacks it there.
 *
 * @param name with version, as npm writes it: `@scope/name@1.2.3`
 * @returns paths of its ELF files, sorted
 * @throws {HostError} `host.npm`, `host.tar`
 */
export async function fetchPackage(name: string, folder: string): Promise<string[]> {
  const unpacked = `${folder}/${name.replace(/^@/, "").replaceAll(/[/@]/g, "-")}`;
  if (!isFolder(unpacked)) {
    const partial = `${unpacked}.part`;
    await Deno.mkdir(partial, { recursive: true });
    const packed = await run("npm", ["pack", name, "--silent", "--pack-destination", partial]);
    const archive = packed.trim().split("\n").at(-1) ?? "";
    await run("tar", ["-xzf", `${partial}/${archive}`, "-C", partial]);
    await Deno.remove(`${partial}/${archive}`);
    await Deno.rename(partial, unpacked);
  }
  return elfFiles(unpacked).sort();
}

async function run(command: string, args: string[]): Promise<string> {
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(command, { args, stderr: "piped" }).output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new HostError(`host.${command}`, `${command} is not installed`);
  }
  if (output.success) return new TextDecoder().decode(output.stdout);
  const said = new TextDecoder().decode(output.stderr).trim();
  throw new HostError(`host.${command}`, `${command} ${args.join(" ")} failed with code ${output.code}: ${said}`);
}

function elfFiles(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) return elfFiles(path);
    return entry.isFile && isElf(path) ? [path] : [];
  });
}

function isElf(path: string): boolean {
  using file = Deno.openSync(path);
  const start = new Uint8Array(4);
  return file.readSync(start) === 4 && String.fromCharCode(...start) === "\x7fELF";
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
