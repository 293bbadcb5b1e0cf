import { assertEquals, assertStringIncludes } from "@std/assert";
import { installPackages, type Machine } from "../../../tools/setup/apt.ts";

/** A machine whose programs do what `codes` says; the last entry of a list repeats. */
function machine(uid: number, codes: Record<string, number[]>): Machine & { log: string[] } {
  const log: string[] = [];
  return {
    uid,
    log,
    say: () => {},
    run: (program, args) => {
      const verb = ["install", "update", "--version", "true"].find((word) => args.includes(word));
      const key = `${program} ${verb}`;
      log.push(key);
      const list = codes[key] ?? [0];
      return Promise.resolve({ code: list.length > 1 ? list.shift()! : list[0], tail: `said ${key}` });
    },
  };
}

Deno.test("root installs at once, without fetching lists", async () => {
  const m = machine(0, {});
  assertEquals(await installPackages(["x"], m), { kind: "installed" });
  assertEquals(m.log, ["apt-get --version", "apt-get install"]);
});

Deno.test("lists are fetched when the first try fails", async () => {
  const m = machine(0, { "apt-get install": [100, 0] });
  assertEquals(await installPackages(["x"], m), { kind: "installed" });
  assertEquals(m.log, ["apt-get --version", "apt-get install", "apt-get update", "apt-get install"]);
});

Deno.test("a user with a sudo that asks nothing installs through it", async () => {
  const m = machine(1000, {});
  assertEquals(await installPackages(["x"], m), { kind: "installed" });
  assertEquals(m.log, ["apt-get --version", "sudo true", "sudo install"]);
});

Deno.test("a user without sudo is told the exact command", async () => {
  const outcome = await installPackages(["x", "y"], machine(1000, { "sudo true": [1] }));
  assertEquals(outcome, {
    kind: "not allowed",
    command: "sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends x y'",
  });
});

Deno.test("a machine without apt-get is told the names", async () => {
  const outcome = await installPackages(["x", "y"], machine(0, { "apt-get --version": [127] }));
  assertEquals(outcome.kind, "not allowed");
  if (outcome.kind === "not allowed") assertStringIncludes(outcome.command, "x y");
});

Deno.test("a failed installation shows apt's own words", async () => {
  const outcome = await installPackages(["x"], machine(0, { "apt-get install": [100], "apt-get update": [100] }));
  assertEquals(outcome.kind, "failed");
  if (outcome.kind === "failed") {
    assertEquals(outcome.tail, "said apt-get update\nsaid apt-get install");
    assertEquals(outcome.command, "apt-get update && apt-get install -y --no-install-recommends x");
  }
});
