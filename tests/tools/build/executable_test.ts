import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { headCommit } from "../../../src/cli/version.ts";
import { switchFlag } from "../../../src/switches.ts";
import { projectFile } from "../../cli/support.ts";
import { missingDevice } from "../../support/vulkan.ts";
import { executableTest, runExecutable, withoutNetwork } from "./support.ts";

const JULIA = projectFile("shaders/julia/program.json");

/** Gives the body an empty folder to run in, and an empty home. */
async function inFolders(body: (folder: string, home: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-elsewhere-" });
  const home = await Deno.makeTempDir({ prefix: "anyagc-home-" });
  try {
    await body(folder, home);
  } finally {
    for (const path of [folder, home]) await Deno.remove(path, { recursive: true });
  }
}

const listing = (folder: string) => [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
/** Folder into which the executable has unpacked itself below a home. */
function unpacked(home: string): string {
  const parent = `${home}/.cache/anyagc/unpacked`, names = listing(parent);
  assertEquals(names.length, 1, names.join(" "));
  return `${parent}/${names[0]}`;
}

executableTest(
  "the executable says that it is self-made, of which commit, and by which Deno",
  (path) =>
    inFolders(async (folder, home) => {
      const { code, text } = await runExecutable(path, ["--version", "--json"], folder, { HOME: home });
      assertEquals(code, 0);
      const { schema, kind, deno, commit } = JSON.parse(text);
      assertEquals([schema, kind, deno], ["anyagc.version/1", "self-made", Deno.version.deno]);
      if (headCommit() !== undefined) assertMatch(commit, /^[0-9a-f]{40}\+?$/);
    }),
);

const noVulkan = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");
if (!noVulkan) {
  executableTest(
    "the executable runs the sample from another folder with an empty HOME, an empty PATH and no network",
    (path) =>
      inFolders(async (folder, home) => {
        const run = await runExecutable(path, ["run", JULIA, "--frames", "frames", "--json"], folder, { HOME: home });
        assertEquals(run.code, 0, run.errors);
        const result = JSON.parse(run.text);
        assertEquals([result.schema, result.outcome, result.dispatches], ["anyagc.run/1", "passed", 1]);
        assertEquals(listing(folder), ["frames"]);
        assertEquals(listing(`${folder}/frames`), ["julia.png"]);
      }),
  );
}

executableTest(
  "it runs with no HOME at all, and with one that cannot be written",
  (path) =>
    inFolders(async (folder, home) => {
      const env = { TMPDIR: home };
      const runs = ([{}, { HOME: "" }, { HOME: "/proc/none" }] as Record<string, string>[]).map((more) =>
        runExecutable(path, ["disasm", JULIA], folder, { ...env, ...more })
      );
      for (const run of await Promise.all(runs)) {
        assertEquals(run.code, 0, run.errors);
        assertStringIncludes(run.text, "s_endpgm");
      }
      assertEquals(listing(folder), []);
      assertEquals(listing(home), [`anyagc-${Deno.uid()}`]);
    }),
);

executableTest(
  "workers, the SPIRV-Tools library and the benchmarks are inside",
  (path) =>
    inFolders(async (folder, home) => {
      const doctor = await runExecutable(path, ["doctor", "--json"], folder, { HOME: home });
      const checks = JSON.parse(doctor.text).checks as { name: string; state: string; text: string }[];
      const check = (name: string) => checks.find((one) => one.name === name)!;
      assertEquals(check("isolates").state, "ok");
      assertEquals(check("SPIRV-Tools").state, "ok");
      assertStringIncludes(check("SPIRV-Tools").text, unpacked(home));
      const bench = await runExecutable(path, ["bench", "recompile", "--quick", "--json"], folder, { HOME: home });
      assertEquals(bench.code, 0, bench.errors);
      assertEquals(JSON.parse(bench.text).tables[0].rows.length, 6);
    }),
);

executableTest(
  "inspect and journal are inside, and work without a device",
  (path) =>
    inFolders(async (folder, home) => {
      const start = (...args: string[]) => runExecutable(path, [...args, "--json"], folder, { HOME: home });
      const inspect = await start("inspect", JULIA);
      assertEquals(inspect.code, 0, inspect.errors);
      assertEquals(JSON.parse(inspect.text).inputs[0].dispatchCount, 1);
      const journal = await start("journal");
      assertEquals([journal.code, JSON.parse(journal.text).journals], [0, []], journal.errors);
      assertEquals(listing(folder), []);
    }),
);

executableTest(
  "what it unpacks is the user's alone; what was damaged there is noticed and made again",
  (path) =>
    inFolders(async (folder, home) => {
      const start = () => runExecutable(path, ["--version"], folder, { HOME: home });
      assertEquals((await start()).code, 0);
      const place = unpacked(home), files = listing(place);
      for (const [name, mode] of [["", 0o700], ...files.map((file) => [file, 0o600] as const)] as const) {
        assertEquals((Deno.statSync(`${place}/${name}`).mode ?? 0) & 0o777, mode, name);
      }
      const good = Deno.readTextFileSync(`${place}/entry.js`);
      Deno.writeTextFileSync(`${place}/entry.js`, good.replace("await", "awiat"));
      assertEquals((await start()).code, 0);
      assertEquals(Deno.readTextFileSync(`${place}/entry.js`), good);
      assertEquals(listing(place), files);

      const library = files.find((name) => name.endsWith(".so"))!, bytes = Deno.readFileSync(`${place}/${library}`);
      bytes[bytes.length >> 1] ^= 1;
      Deno.writeFileSync(`${place}/${library}`, bytes);
      const args = ["recompile", JULIA, "--device", "generic"];
      const refused = await runExecutable(path, args, folder, { HOME: home });
      assertEquals(refused.code, 3);
      assertStringIncludes(refused.errors, `${library} is not what the executable has unpacked`);
    }),
);

executableTest(
  "six that start at once for the first time all run, and leave one unpacked copy",
  (path) =>
    inFolders(async (folder, home) => {
      const runs = await Promise.all(
        Array.from({ length: 6 }, () => runExecutable(path, ["--version"], folder, { HOME: home })),
      );
      assertEquals(runs.map((run) => run.code), Array(6).fill(0), runs.map((run) => run.errors).join(""));
      assert(listing(unpacked(home)).includes("entry.js"));
    }),
);

executableTest(
  "an executable that was cut off or changed says so instead of running",
  (path) =>
    inFolders(async (folder, home) => {
      const damaged = `${folder}/damaged`;
      await Deno.copyFile(path, damaged);
      {
        using file = Deno.openSync(damaged, { write: true, read: true });
        const { size } = file.statSync();
        file.seekSync(size - 2_000_000, Deno.SeekMode.Start); // in the library
        file.writeSync(new Uint8Array(64).fill(0x5a));
      }
      const changed = await runExecutable(damaged, ["--version"], folder, { HOME: home });
      assertEquals([changed.code, changed.text], [3, ""]);
      assertMatch(changed.errors, /the executable is damaged: .* inside is not as built/);
      await Deno.truncate(damaged, (await Deno.stat(damaged)).size - 1);
      const cut = await runExecutable(damaged, ["--version"], folder, { HOME: home });
      assertEquals([cut.code, cut.text], [3, ""]);
      assertStringIncludes(cut.errors, "does not end as it was built");
    }),
);

executableTest(
  "arguments reach the launcher untouched, also those that Deno knows",
  (path) =>
    inFolders(async (folder, home) => {
      const env = { HOME: home };
      assertStringIncludes((await runExecutable(path, ["--help"], folder, env)).text, "Usage: anyagc COMMAND");
      for (const args of [["--allow-net"], ["eval", "1"]]) {
        const { code, errors } = await runExecutable(path, args, folder, env);
        assertEquals(code, 2);
        assertStringIncludes(errors, `there is no ${args[0].startsWith("-") ? "option" : "command"} ${args[0]}`);
      }
      const missing = await runExecutable(path, ["disasm", "--", "a b\n'é'"], folder, env);
      assertStringIncludes(missing.errors, "a b\n  'é'");
    }),
);

executableTest(
  "it says nothing of newer Denos, and asks nobody for them, where Deno itself does",
  (path) =>
    inFolders(async (folder, home) => {
      // Deno notes here when it asked, and what it heard; it asks, and tells, only on a terminal, which script(1) of util-linux makes.
      const note = `${home}/.cache/deno/latest.txt`;
      const heard = `2026-01-01T00:00:00+00:00!${new Date().toISOString()}!99.0.0!${Deno.version.deno}!stable`;
      Deno.mkdirSync(`${home}/.cache/deno`, { recursive: true });
      const onTerminal = async (command: string) => {
        Deno.writeTextFileSync(note, heard);
        const [program, ...before] = [...await withoutNetwork(), "/usr/bin/script"];
        const { stdout } = await new Deno.Command(program, {
          args: [...before, "-qec", command, "/dev/null"],
          cwd: folder,
          clearEnv: true,
          env: { PATH: "", HOME: home, SHELL: "/bin/sh", TERM: "xterm" },
          stdin: "null",
        }).output();
        return new TextDecoder().decode(stdout);
      };
      Deno.writeTextFileSync(`${folder}/nothing.js`, "");
      const told = await onTerminal(`'${Deno.execPath()}' run --no-config nothing.js`);
      assertStringIncludes(told, "99.0.0"); // else this test could not fail
      const text = await onTerminal(`'${path}' --version`);
      assertMatch(text.trim(), /^anyagc .*$/);
      assertEquals(Deno.readTextFileSync(note), heard);
    }),
);
