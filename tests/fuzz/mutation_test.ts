/** The fuzzer can fail: a sample of the mutants of `deno task fuzz:mutate`, with a fixed seed, is caught by the rounds that the test suite runs. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { missingDevice } from "../support/vulkan.ts";
import { switchFlag } from "../../src/switches.ts";
import { emitMutants, UNTOUCHED } from "../../tools/fuzz/mutate/emit.ts";
import { liftMutants } from "../../tools/fuzz/mutate/lift.ts";
import { mutantName } from "../../tools/fuzz/mutate/mutant.ts";
import { mergeVerdicts, reportLines, shardOf, survivorsOf, tableRows } from "../../tools/fuzz/mutate/report.ts";
import { OPS } from "../../src/recompiler/ir/ops.ts";
import { OPCODES } from "../../src/rdna/table.ts";
import { HANDLERS } from "../../src/recompiler/lift/dispatch.ts";
import { HANDLERS as EMITTERS } from "../../src/recompiler/spirv/emit.ts";
import { REFUSED_NAMES } from "../../src/recompiler/lift/unsupported.ts";

const ignore = missingDevice !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");

Deno.test({
  name: `nine of ten of a sample of corrupted table entries are caught${ignore ? ` [ignored: ${missingDevice}]` : ""}`,
  ignore,
  // In a process of its own: a corrupted module may bring the driver down.
  fn: async () => {
    const main = new URL("../../tools/fuzz/mutate/main.ts", import.meta.url).pathname;
    const out = Deno.makeTempFileSync({ suffix: ".json" });
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", main, "--sample=30", "--seed=1", "--least=0", `--out=${out}`],
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(code, 0, text);
    const { rows } = JSON.parse(Deno.readTextFileSync(out)) as { rows: { mutants: number; caught: number }[] };
    Deno.removeSync(out);
    const mutants = rows.reduce((sum, row) => sum + row.mutants, 0),
      caught = rows.reduce((sum, row) => sum + row.caught, 0);
    assert(mutants >= 15, `${mutants} mutants acted: ${text}`);
    assert(caught >= 0.9 * mutants, text);
  },
});

/** They check that MODE stays what it is, keep FLAT_SCRATCH for instructions that use it, do nothing, or belong to stages that no fuzzer makes. */
const WITHOUT_RESULT = ["exp", "s_setreg_b32", "s_setreg_imm32_b32", "s_version"];

Deno.test("every entry of the lift table has mutants, but for what is refused or computes nothing", () => {
  const entries = new Set(liftMutants().map(({ entry }) => entry));
  const without = OPCODES.filter(({ id, name, dst, src, memory }) =>
    HANDLERS[id] !== undefined && !REFUSED_NAMES.has(name) && !entries.has(name) &&
    (dst.length + src.length > 0 || memory !== undefined)
  );
  assertEquals(without.map(({ name }) => name).sort(), WITHOUT_RESULT);
});

Deno.test("every entry of the table of SPIR-V emitters has mutants, but for those that emit nothing and the marks of the structure", () => {
  const entries = new Set(emitMutants().map(({ entry }) => entry));
  const without = OPS.filter(({ name }, op) => !entries.has(name) && !UNTOUCHED.has(op)).map(({ name }) => name);
  assertEquals(without, []);
});

Deno.test("a mutant leaves the table as it was", () => {
  const lift = [...HANDLERS], emit = [...EMITTERS];
  const scope = { covers: () => false, acted: () => {} };
  for (const mutant of [...liftMutants(), ...emitMutants()]) mutant.install(scope)();
  assert(lift.every((handler, id) => handler === HANDLERS[id]));
  assert(emit.every((handler, op) => handler === EMITTERS[op]));
});

Deno.test("mutants have names of their own", () => {
  const names = [...liftMutants(), ...emitMutants()].map(mutantName);
  assertEquals(names.length, new Set(names).size);
  assert(names.length > 5000, `${names.length} mutants`);
});

Deno.test("shards hold each mutant once, and neighbours go to different ones", () => {
  const list = Array.from({ length: 103 }, (_, k) => k);
  const shards = Array.from({ length: 16 }, (_, k) => shardOf(list, k + 1, 16));
  assertEquals(shards.flat().sort((a, b) => a - b), list);
  assert(shards.every(({ length }) => length === 6 || length === 7));
  assertEquals(shards[2].slice(0, 2), [2, 18]);
  assertThrows(() => shardOf(list, 0, 16), RangeError);
  assertThrows(() => shardOf(list, 17, 16), RangeError);
});

Deno.test("merged files have all verdicts, later ones instead of earlier ones; what a file left counts until another has it", () => {
  const caught = { outcome: "caught", how: "results differ", programs: 1 } as const;
  const survived = { outcome: "survived", how: "", programs: 3 } as const;
  const merged = mergeVerdicts([
    { seconds: 10, left: ["c", "d"], verdicts: { a: caught, b: survived } },
    { seconds: 5, left: [], verdicts: { b: caught, c: survived } },
  ]);
  assertEquals(merged, { seconds: 15, left: ["d"], verdicts: { a: caught, b: caught, c: survived } });
});

Deno.test("figures count what has a verdict only; void mutants are none, and survivors are listed with their notes", () => {
  const [first, second, third, fourth] = liftMutants();
  const verdict = (outcome: "caught" | "survived" | "unexercised" | "void") => ({ outcome, how: "", programs: 1 });
  const verdicts = {
    [mutantName(first)]: verdict("caught"),
    [mutantName(second)]: verdict("unexercised"),
    [mutantName(third)]: verdict("void"),
  };
  const [lift, emit] = tableRows(liftMutants(), verdicts);
  assertEquals([lift.mutants, lift.caught, lift.survived, lift.void, lift.share], [2, 1, 1, 1, 50]);
  assertEquals([emit.mutants, emit.share], [0, 100]);
  assertEquals(survivorsOf(liftMutants(), verdicts).map(({ name }) => name), [mutantName(second)]);
  const lines = reportLines([first, second, third], { seconds: 1, left: [mutantName(fourth)], verdicts });
  assert(lines.some((line) => line.includes("1 mutants were not judged")), lines.join("\n"));
  assert(lines.some((line) => line.includes(`unexercised: ${mutantName(second)} (${second.note})`)), lines.join("\n"));
});
