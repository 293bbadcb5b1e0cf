import { assertEquals } from "@std/assert";
import { missingPackages, PACKAGES } from "../../../tools/setup/packages.ts";

Deno.test("a package is missing when one of its entries has no path that exists", () => {
  const table = [
    { name: "a", need: "run", purpose: "", shownBy: [["{lib}/liba.so"], ["/usr/bin/a"]] },
    { name: "b", need: "tests", purpose: "", shownBy: [["/usr/bin/b"]] },
  ] as const;
  const missing = (paths: string[], ...needs: ("run" | "tests")[]) =>
    missingPackages(needs, (path) => paths.includes(path), table).map((p) => p.name);
  assertEquals(missing([], "run"), ["a"]);
  assertEquals(missing([], "run", "tests"), ["a", "b"]);
  assertEquals(missing(["/usr/bin/a"], "run"), ["a"]);
  assertEquals(missing(["/usr/bin/a", "/usr/lib/x86_64-linux-gnu/liba.so"], "run"), []);
  assertEquals(missing(["/usr/bin/a", "/usr/lib64/liba.so"], "run", "tests"), ["b"]);
});

Deno.test("every package says what it is for and how to see it", () => {
  assertEquals(new Set(PACKAGES.map((p) => p.name)).size, PACKAGES.length);
  for (const p of PACKAGES) {
    assertEquals(p.purpose.length > 10, true, p.name);
    assertEquals(p.shownBy.length > 0 && p.shownBy.every((paths) => paths.length > 0), true, p.name);
  }
});
