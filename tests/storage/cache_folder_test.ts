import { assertEquals } from "@std/assert";
import { cacheFolders, ensurePrivate } from "../../src/storage/cache_folder.ts";

const NAMES = ["ANYAGC_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR"];

function withEnvironment<T>(values: Record<string, string>, body: () => T): T {
  const before = NAMES.map((name) => [name, Deno.env.get(name)] as const);
  try {
    for (const name of NAMES) {
      if (name in values) Deno.env.set(name, values[name]);
      else Deno.env.delete(name);
    }
    return body();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

const own = `anyagc-${Deno.uid()}`;
const CASES: [string, Record<string, string>, string[]][] = [
  ["the switch alone", { ANYAGC_CACHE_DIR: "/c", HOME: "/h" }, ["/c"]],
  ["XDG_CACHE_HOME before HOME", { XDG_CACHE_HOME: "/x", HOME: "/h" }, ["/x/anyagc", `/tmp/${own}`]],
  ["HOME, with TMPDIR behind it", { HOME: "/h", TMPDIR: "/t" }, ["/h/.cache/anyagc", `/t/${own}`]],
  ["no HOME, or one that is no path", { HOME: "", XDG_CACHE_HOME: "relative", TMPDIR: "" }, [`/tmp/${own}`]],
];

for (const [name, values, expected] of CASES) {
  Deno.test(`folders for caches: ${name}`, () => assertEquals(withEnvironment(values, cacheFolders), expected));
}

Deno.test("a folder is made for its owner alone; one that others may write to is refused", () => {
  const folder = Deno.makeTempDirSync();
  try {
    assertEquals(ensurePrivate(`${folder}/a/b`), true);
    assertEquals((Deno.statSync(`${folder}/a/b`).mode ?? 0) & 0o777, 0o700);
    Deno.chmodSync(`${folder}/a/b`, 0o770);
    assertEquals(ensurePrivate(`${folder}/a/b`), false);
    assertEquals(ensurePrivate("/proc/none"), false);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
