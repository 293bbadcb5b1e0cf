/**
 * The proof that every check of the readers has a test: takes the checks out one by one, in a copy of the project, and runs their tests, which must fail.
 * A check is an `if` whose body refuses. Prints each check that nothing missed, and the counts; exit code 1 when there is one.
 *
 *     deno run -A tools/agcap/undo_checks.ts [PART-OF-A-FILE-NAME ...]
 *
 * Minutes for all of them: a run of tests for each.
 */

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const OPENAGC = ["tests/guest/loaders/openagc"];
const REFUSALS = ["tests/guest/agcap/refusals_test.ts", "tests/guest/agcap/round_trip_test.ts"];

/** Files with checks, and the tests that must notice. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  "src/guest/zip/read_directory.ts": ["tests/guest/zip"],
  "src/guest/zip/read_zip.ts": ["tests/guest/zip"],
  "src/guest/zip/write_zip.ts": ["tests/guest/zip"],
  "src/guest/agcap/read_agcap.ts": REFUSALS,
  "src/guest/agcap/entries.ts": REFUSALS,
  "src/guest/agcap/read_results.ts": REFUSALS,
  "src/guest/agcap/read_shader.ts": REFUSALS,
  "src/guest/agcap/json_schema.ts": ["tests/guest/agcap/schema_test.ts"],
  "src/guest/loaders/program_checks.ts": [...REFUSALS, "tests/guest/loaders/program_json_test.ts"],
  "src/guest/loaders/openagc/capture_file.ts": OPENAGC,
  "src/guest/loaders/openagc/load_openagc.ts": OPENAGC,
  "src/guest/loaders/openagc/shaders.ts": OPENAGC,
};

/** A condition: its text's place in the file. */
interface Check {
  start: number;
  end: number;
}

/** The `if`s of a source whose body begins with a refusal. */
export function checksIn(source: string): Check[] {
  const checks: Check[] = [];
  for (const match of source.matchAll(/\bif \(/g)) {
    const start = match.index + match[0].length;
    let end = start;
    for (let depth = 1; depth > 0 && end < source.length; end++) {
      if (source[end] === "(") depth++;
      if (source[end] === ")") depth--;
    }
    const body = source.slice(end).replace(/^[\s{]+/, "");
    if (/^(throw\b|const reason =|[\w#.?() "$]*\.?#?(fail|refuse)\()/.test(body)) checks.push({ start, end: end - 1 });
  }
  return checks;
}

async function passes(folder: string, tests: readonly string[]): Promise<boolean> {
  const args = ["test", "-A", "-q", "--no-check", ...tests];
  const command = new Deno.Command(Deno.execPath(), { args, cwd: folder, stdout: "null", stderr: "null" });
  return (await command.output()).success;
}

async function copyProject(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-undo-" });
  const copy = new Deno.Command("cp", {
    args: [
      "-r",
      ...["src", "tests", "tools", "ffi", "docs", "shaders", "deno.json"].map((name) => ROOT + name),
      folder,
    ],
  });
  if (!(await copy.output()).success) throw new Error(`cannot copy ${ROOT}`);
  return folder;
}

async function main(parts: readonly string[]): Promise<number> {
  const folder = await copyProject();
  let noticed = 0, missed = 0;
  try {
    for (const [file, tests] of Object.entries(FILES)) {
      if (parts.length > 0 && !parts.some((part) => file.includes(part))) continue;
      if (!await passes(folder, tests)) throw new Error(`the tests of ${file} fail as they are`);
      const path = `${folder}/${file}`, source = await Deno.readTextFile(path);
      for (const { start, end } of checksIn(source)) {
        const condition = source.slice(start, end).trim();
        await Deno.writeTextFile(path, `${source.slice(0, start)}false && (${condition})${source.slice(end)}`);
        const line = source.slice(0, start).split("\n").length;
        if (await passes(folder, tests)) {
          missed++;
          console.log(`not noticed: ${file}:${line} ${condition.replaceAll(/\s+/g, " ")}`);
        } else noticed++;
      }
      await Deno.writeTextFile(path, source);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(`${noticed} checks taken out and noticed, ${missed} not`);
  return missed === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
