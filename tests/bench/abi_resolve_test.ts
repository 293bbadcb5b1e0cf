import { assertEquals } from "@std/assert";

const SCRIPT = decodeURIComponent(new URL("../../bench/abi_resolve.ts", import.meta.url).pathname);

async function bench(...options: string[]): Promise<{ out: string[]; err: string[] }> {
  const args = ["run", "-A", "--no-check", SCRIPT, "--quick", "--threads", "1", ...options];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env: { NO_COLOR: "1" } }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim().split("\n"));
  assertEquals(code, 0, err.join("\n"));
  return { out, err };
}

Deno.test("bench/abi_resolve says its rows as they are measured, and leaves out what has no time left", async () => {
  const measured = await bench("--scenario", "2", "--json");
  // In the order of the measurements, before the JSON is there.
  assertEquals(measured.err.map((line) => /^(8 pixel shaders|alone, idle pool, \w+: loader)/.exec(line)?.[1]), [
    "8 pixel shaders",
    "alone, idle pool, synchronous: loader",
    "alone, idle pool, background: loader",
  ]);
  const { rows, lines } = JSON.parse(measured.out.join("\n"));
  assertEquals(lines, measured.err);
  const runs = rows as { mode: string; runs: { recompiled: number }[] }[];
  assertEquals(runs.map(({ mode, runs }) => [mode, runs.length, runs[0].recompiled]), [["synchronous", 1, 8], [
    "background",
    1,
    8,
  ]]);
  const cut = await bench("--scenario", "2", "--limit", "0");
  assertEquals(cut.out.slice(1), [
    "alone, idle pool, synchronous: not measured, the time was up",
    "alone, idle pool, background: not measured, the time was up",
  ]);
});
