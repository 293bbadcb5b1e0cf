import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { verifyRows } from "../../../src/cli/run/verify.ts";
import { anyagc, projectFile, vulkanTest } from "../support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

/** The sample with four workgroups instead of 3600: the interpreter is slow. */
async function withSmallSample(body: (program: string, folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-verify-test-" });
  try {
    await Deno.copyFile(projectFile("shaders/julia/julia.bin"), `${folder}/julia.bin`);
    const text = await Deno.readTextFile(PROGRAM);
    const small = text.replace(`"0xc0031502", "0x00000050", "0x0000002d"`, `"0xc0031502", "0x00000002", "0x00000002"`);
    assertEquals(small === text, false);
    await Deno.writeTextFile(`${folder}/program.json`, small);
    await body(`${folder}/program.json`, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

vulkanTest(
  "--verify says that the sample is equal on the device and in the interpreter",
  () =>
    withSmallSample(async (program) => {
      const { code, text } = await anyagc("run", program, "--verify", "--verify-ulps", "4");
      assertEquals(code, 0);
      assertMatch(
        text,
        /verify +1 of 1 dispatches equal to the interpreter\n +0 words differ within the tolerance of 4 ulps/,
      );
      const json = JSON.parse((await anyagc("run", program, "--verify", "--json")).text);
      assertEquals([json.verify.outcome, json.verify.compared, json.verify.ulps], ["equal", 1, 0]);
    }),
);

Deno.test("--verify on the interpreter itself is refused: there is nothing to compare", async () => {
  const { code, errors } = await anyagc("run", PROGRAM, "--verify", "--device", "software");
  assertEquals(code, 3);
  assertStringIncludes(errors, "the device is the interpreter");
});

Deno.test("a tolerance that is no number, too large, or without --verify is a usage error", async () => {
  for (const value of ["x", "1.5", "99999999999", "0x10"]) {
    const { code, errors } = await anyagc("run", PROGRAM, "--verify", "--verify-ulps", value);
    assertEquals(code, 2, errors);
    assertStringIncludes(errors, `not "${value}"`);
  }
  const alone = await anyagc("run", PROGRAM, "--verify-ulps", "1");
  assertEquals(alone.code, 2);
  assertStringIncludes(alone.errors, "--verify-ulps is an option of --verify");
});

Deno.test("a difference is told from the byte to the first value that differs", () => {
  const rows = verifyRows({
    outcome: "differs",
    compared: 2,
    notCompared: 1,
    unverified: [],
    ulps: 0,
    tolerated: 0,
    largestUlps: 0,
    difference: {
      dispatch: 1,
      program: 0x2_0000_0000n,
      place: { queue: 0x20 },
      kind: "memory",
      address: 0x3_0000_000dn,
      expected: 18,
      actual: 9,
      before: 0,
      word: { address: 0x3_0000_000cn, expected: 0x1200, actual: 0x900 },
      bytes: 2,
      store: {
        pc: 32,
        text: "global_store_dword v0, v4, s[2:3]",
        words: [],
        group: [1, 0, 0],
        wave: 2,
        lane: 3,
        lanes: [3],
        register: "v4",
        value: 0x1200,
        chain: [
          {
            pc: 28,
            text: "v_xor_b32_e32 v4, v3, v0",
            register: "v4",
            value: 0x1200,
            atStore: "differs",
            actual: 0x900,
          },
          { pc: 4, text: "global_load_dword v1, v0, s[0:1]", register: "v1", value: 5, atStore: "unknown" },
        ],
        firstDiffering: 0,
      },
    },
  });
  assertEquals(rows.map(([, text]) => text), [
    "1 of 3 dispatches equal to the interpreter",
    "dispatch 1 of the program at 0x200000000, queue 0x20 differs in 2 bytes; the first:",
    "  byte 0x30000000d is 0x09, expected 0x12 (before: 0x00)",
    "  word 0x30000000c is 0x00000900, expected 0x00001200",
    "  stored by pc 0x20: global_store_dword v0, v4, s[2:3]",
    "    workgroup 1, 0, 0, wave 2, lane 3, v4 = 0x00001200",
    "  computed by, from the store backwards (values of the interpreter; the device's at the store):",
    "    pc 0x1c: v_xor_b32_e32 v4, v3, v0; v4 = 0x00001200, differs, 0x00000900  <- first that was seen to differ",
    "    pc 0x4: global_load_dword v1, v0, s[0:1]; v1 = 0x00000005, unknown",
    "1 later dispatch was not compared",
  ]);
});

Deno.test("a run without dispatches claims nothing", () => {
  const nothing = { compared: 0, notCompared: 0, unverified: [], ulps: 0, tolerated: 0, largestUlps: 0 };
  assertEquals(verifyRows({ outcome: "equal", ...nothing }), [["verify", "no dispatch to compare"]]);
  const unverified = [{ dispatch: 0, reason: "because" }];
  assertEquals(verifyRows({ outcome: "incomplete", ...nothing, unverified }).map(([, text]) => text), [
    "0 of 1 dispatches equal to the interpreter",
    "dispatch 0 could not be compared: because",
  ]);
});
