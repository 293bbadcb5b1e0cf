/** The table of lane modes (table.ts) with a part of the cases; `deno run -A tests/recompiler/waves/table.ts --device` runs all of them. */
import { assertEquals } from "@std/assert";
import { deviceTest } from "../../support/vulkan.ts";
import { deviceHost, evaluatedHost, fillTable, type Host, tableLines, waveCases } from "./table.ts";

const cases = await waveCases();

function checkTable(hosts: readonly Host[], every: number, from: number): void {
  const result = fillTable(cases, hosts, every, from);
  console.log(tableLines(hosts, result).join("\n"));
  assertEquals(result.problems, []);
}

Deno.test("every lane mode gives what the ISA says on hosts of 8, 16, 32 and 64 lanes, and is the one that was asked for", () => {
  checkTable(([8, 16, 32, 64] as const).map(evaluatedHost), 11, 3);
});

deviceTest(
  "every lane mode that the device allows gives what the ISA says, and is the one that was asked for",
  (device) => {
    checkTable([deviceHost(device)], 31, 5);
  },
);

Deno.test("a cell that is empty although the host allows it is a problem, and so is an artifact in another mode", () => {
  const host = evaluatedHost(32), exchanging = cases.filter(({ check }) => check.laneMode !== "laneless").slice(0, 2);
  const { problems } = fillTable(exchanging, [host]);
  assertEquals(problems.some((problem) => problem.startsWith("no case ran as laneless, wave")), true);
  const stubborn: Host = { ...host, run: (c, input, seed) => host.run(c, input, seed, "spanned") };
  const wrong = fillTable(exchanging, [stubborn]).problems.filter((problem) =>
    problem.includes("the artifact is spanned")
  );
  assertEquals(wrong.length > 0, true);
});
