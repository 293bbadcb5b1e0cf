import { assertEquals } from "@std/assert";

const file = new URL("types.ts", import.meta.url);

/** Runs `deno check`; returns whether it passed and the number of type errors. */
async function check(path: string): Promise<{ passed: boolean; errors: number }> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), { args: ["check", path], env: { NO_COLOR: "1" } })
    .output();
  return { passed: code === 0, errors: new TextDecoder().decode(stderr).match(/^TS\d+ \[ERROR\]/gm)?.length ?? 0 };
}

Deno.test("a number for a 64-bit parameter, and other wrong arguments, are type errors", async () => {
  const text = Deno.readTextFileSync(file);
  const expected = text.match(/@ts-expect-error/g)!.length;
  assertEquals(await check(file.pathname), { passed: true, errors: 0 });
  // The same file without the directives must fail once per directive: otherwise the check above proves nothing.
  const bare = Deno.makeTempFileSync({ suffix: ".ts" });
  const base = new URL("../../../", import.meta.url).href;
  Deno.writeTextFileSync(bare, text.replaceAll("@ts-expect-error", "").replaceAll('"../../../', `"${base}`));
  assertEquals(await check(bare), { passed: false, errors: expected });
  Deno.removeSync(bare);
});
