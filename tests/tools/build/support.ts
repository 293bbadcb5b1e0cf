/** A self-made executable, built once a test file from the working tree. */
import { build } from "../../../tools/build/main.ts";
import { findEsbuild } from "../../../tools/build/esbuild.ts";

/** Why no executable can be built here; undefined when it can. */
export const cannotBuild = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64"
  ? "x86-64 Linux only"
  : findEsbuild() === undefined
  ? "the bundler is missing: deno task setup --tests fetches it"
  : undefined;

let built: Promise<string> | undefined;

/** Path of the executable, in a folder of its own. */
export function executable(): Promise<string> {
  return built ??= (async () => {
    const folder = await Deno.makeTempDir({ prefix: "anyagc-executable-" });
    addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
    await build({ kind: "self-made", output: `${folder}/anyagc` });
    return `${folder}/anyagc`;
  })();
}

/** Registers a test that needs the executable; ignored, with the reason, where none can be built. */
export function executableTest(name: string, body: (path: string) => Promise<void>): void {
  const ignore = cannotBuild !== undefined;
  Deno.test({
    name: ignore ? `${name} [ignored: ${cannotBuild}]` : name,
    ignore,
    fn: async () => body(await executable()),
  });
}

/** What a run of the executable gave. */
export interface ExecutableRun {
  code: number;
  text: string;
  errors: string;
}

/** Runs it in `folder` with an empty PATH and no other variables than `env`; without a network where this machine lets us take it away. */
export async function runExecutable(
  path: string,
  args: readonly string[],
  folder: string,
  env: Record<string, string>,
): Promise<ExecutableRun> {
  const [program, ...before] = [...await withoutNetwork(), path];
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...before, ...args],
    cwd: folder,
    clearEnv: true,
    env: { PATH: "", ...env },
    stdin: "null",
  }).output();
  return { code, text: new TextDecoder().decode(stdout), errors: new TextDecoder().decode(stderr) };
}

let isolation: Promise<string[]> | undefined;

/** Words in front of a command line that take its network away (unshare(1)); none where that is not allowed. */
export function withoutNetwork(): Promise<string[]> {
  return isolation ??= (async () => {
    for (const flags of [["-n"], ["-r", "-n"]]) {
      try {
        const command = new Deno.Command("/usr/bin/unshare", { args: [...flags, "--", "/bin/true"], stderr: "null" });
        if ((await command.output()).success) return ["/usr/bin/unshare", ...flags, "--"];
      } catch {
        return []; // no such program
      }
    }
    return [];
  })();
}
