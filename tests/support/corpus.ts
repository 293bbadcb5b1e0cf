/**
 * Where tests find the corpus (captures and shaders that are data of others, read in place and never copied into the project): ANYAGC_CORPUS, or
 * `../shared/corpus` next to the project. Tests that need it register with {@linkcode corpusTest}: without the corpus they are reported as
 * ignored, with the reason in their name.
 */
import { switchValue } from "../../src/switches.ts";

const projectRoot = new URL("../../", import.meta.url).pathname;

/** Folder of the corpus; absolute. It may be missing. */
export const corpusRoot = absolute(switchValue("ANYAGC_CORPUS") ?? "../shared/corpus");

/** Path of a file or folder in the corpus. */
export function corpusFile(...parts: string[]): string {
  return [corpusRoot, ...parts].join("/");
}

/** True when the corpus holds this file or folder. */
export function corpusHas(...parts: string[]): boolean {
  try {
    Deno.statSync(corpusFile(...parts));
    return true;
  } catch {
    return false;
  }
}

/** Names of the files of a folder of the corpus that `pattern` accepts, sorted; none when the folder is missing. */
export function corpusNames(folder: string, pattern: RegExp): string[] {
  if (!corpusHas(folder)) return [];
  return [...Deno.readDirSync(corpusFile(folder))].map((entry) => entry.name).filter((name) => pattern.test(name))
    .sort();
}

/** Registers a test that needs `folder` of the corpus. */
export function corpusTest(name: string, folder: string, body: () => void | Promise<void>): void {
  const missing = !corpusHas(folder);
  Deno.test({
    name: missing ? `${name} [ignored: no ${corpusFile(folder)}; set ANYAGC_CORPUS to the corpus]` : name,
    ignore: missing,
    fn: body,
  });
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : new URL(path, `file://${projectRoot}`).pathname;
}
