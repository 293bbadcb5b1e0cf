import { assert, assertEquals } from "@std/assert";
import { entries, inFolder, madeShaders } from "./support.ts";

Deno.test("processes that write, read and remove in one folder at once never see half a file or a wrong artifact", () =>
  inFolder(async (folder) => {
    const rounds = 60;
    // Room for the larger ones alone: every round something is removed under the other's hands.
    const limit = Math.max(...madeShaders().map(({ artifact }) => artifact.spirv.byteLength)) * 2;
    const fixture = new URL("process_fixture.ts", import.meta.url).pathname;
    const runs = await Promise.all([0, 1].map(() =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", fixture, folder, String(limit), String(rounds)],
        stdout: "piped",
        stderr: "piped",
      }).output()
    ));
    const counts = runs.map(({ code, stdout, stderr }) => {
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      return JSON.parse(new TextDecoder().decode(stdout));
    });
    for (const { hits, misses, damaged, written, failed, removed } of counts) {
      assertEquals([damaged, failed, hits + misses], [0, 0, rounds * 4]);
      assert(written > 0 && removed > 0 && hits > 0, JSON.stringify(counts));
    }
    assertEquals([...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".part")), []);
    assert(entries(folder).length > 0);
  }));
