import { assert, assertEquals } from "@std/assert";
import { entries, inFolder, madeShaders } from "./support.ts";

Deno.test("processes that write, read and remove in one folder at once never see half a file or a wrong artifact", () =>
  inFolder(async (folder) => {
    const rounds = 60;
    // Room for the larger ones alone: every round something is removed under the other's hands.
    const limit = Math.max(...madeShaders().map(({ artifact }) => artifact.spirv.byteLength)) * 2;
    const fixture = new URL("process_fixture.ts", import.meta.url).pathname;
    const runs = await Promise.all(["flush", "flush", "writer"].map((how) =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", fixture, folder, String(limit), String(rounds), how],
        stdout: "piped",
        stderr: "piped",
      }).output()
    ));
    const counts = runs.map(({ code, stdout, stderr }) => {
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      return JSON.parse(new TextDecoder().decode(stdout));
    });
    for (const { hits, misses, damaged, written, failed } of counts) {
      assertEquals([damaged, failed], [0, 0]);
      assert(written >= rounds && hits + misses >= rounds * 4, JSON.stringify(counts));
    }
    for (const { removed } of counts.slice(0, 2)) assert(removed > 0, JSON.stringify(counts));
    assertEquals([...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".part")), []);
    assert(entries(folder).length > 0);
  }));
