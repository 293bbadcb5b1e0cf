/**
 * The launcher as the first module of a bundle: `import.meta.main` is not set when the bootstrap imports it.
 *
 * @module
 */
import { BUILD_STAMP } from "../build_stamp.ts";
import { main } from "../main.ts";
import { unpack } from "../storage/unpack.ts";
import { presetSwitch } from "../switches.ts";

/** Libraries inside an executable of `deno compile` are in its own file system, where the dynamic loader cannot read them. */
async function unpackLibraries(): Promise<void> {
  const folder = import.meta.dirname;
  for (const [name, sha256] of Object.entries(BUILD_STAMP?.assets ?? {})) {
    const read = () => Deno.readFileSync(`${folder}/${name}`);
    const { size } = Deno.statSync(`${folder}/${name}`);
    const place = await unpack({ name: sha256.slice(0, 32), files: [{ name, bytes: size, sha256, read }] });
    // The environment is what all isolates share.
    if (name.includes("spirv-tools")) presetSwitch("ANYAGC_SPIRV_TOOLS_LIB", `${place}/${name}`);
  }
}

if (Deno.build.standalone) await unpackLibraries();
await main();
