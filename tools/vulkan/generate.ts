/**
 * Writes ffi/vulkan/generated/ from the Vulkan registry. Usage:
 *
 *     deno run -A tools/vulkan/generate.ts            write the files
 *     deno run -A tools/vulkan/generate.ts --check    compare only; exit code 1 when they differ
 *
 * Needs vk.xml (Debian: package libvulkan-dev). What is emitted is listed in used.ts.
 */
import { emitExtensions, emitIndex, emitTopic } from "./emit.ts";
import { readRegistry, type Registry } from "./registry.ts";
import { select, type Selection } from "./select.ts";
import { asyncCommands, extensionCommands, extensions, namedEnums, topics, version } from "./used.ts";

/** Where Debian's libvulkan-dev puts the registry. */
export const registryPath = "/usr/share/vulkan/registry/vk.xml";

/** The registry, and what each generated file takes from it. */
export function readSelection(path = registryPath): { registry: Registry; selections: Selection[] } {
  const registry = readRegistry(Deno.readTextFileSync(path), version, extensions);
  return { registry, selections: select(registry, topics) };
}

/** All generated files, formatted: name to text. */
export async function generate(path = registryPath): Promise<Map<string, string>> {
  const { registry, selections } = readSelection(path);
  const files = new Map<string, string>();
  for (const selection of selections) {
    files.set(`${selection.topic.file}.ts`, emitTopic(registry, selections, selection, namedEnums, asyncCommands));
  }
  files.set("extension_commands.ts", emitExtensions(registry, extensionCommands));
  files.set("mod.ts", emitIndex(registry, selections));
  return await format(files);
}

/** Formats in a temporary folder with the project's settings, so that `deno fmt --check` and `--check` here agree. */
async function format(files: Map<string, string>): Promise<Map<string, string>> {
  const folder = Deno.makeTempDirSync();
  try {
    for (const [name, text] of files) Deno.writeTextFileSync(`${folder}/${name}`, text);
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["fmt", "--quiet", "--config", config, folder],
    }).output();
    if (code !== 0) throw new Error(`deno fmt failed: ${new TextDecoder().decode(stderr)}`);
    return new Map([...files.keys()].map((name) => [name, Deno.readTextFileSync(`${folder}/${name}`)]));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const target = new URL("../../ffi/vulkan/generated/", import.meta.url);
  const check = Deno.args.includes("--check");
  let different = 0;
  for (const [name, text] of await generate()) {
    const file = new URL(name, target);
    let present = "";
    try {
      present = Deno.readTextFileSync(file);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    if (present === text) continue;
    different++;
    console.log(`${check ? "differs" : "written"}: ffi/vulkan/generated/${name} (${text.split("\n").length} lines)`);
    if (!check) Deno.writeTextFileSync(file, text);
  }
  if (different === 0) console.log("ffi/vulkan/generated is up to date");
  if (check && different > 0) Deno.exit(1);
}
