/** Temporary folders for tests of loaders. */

/** Runs `body` with a fresh folder that holds the given files, and removes it afterwards. */
export function withFiles<T>(files: Readonly<Record<string, string | Uint8Array>>, body: (folder: string) => T): T {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-test-" });
  try {
    for (const [name, content] of Object.entries(files)) {
      const path = `${folder}/${name}`;
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      if (typeof content === "string") Deno.writeTextFileSync(path, content);
      else Deno.writeFileSync(path, content);
    }
    return body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
