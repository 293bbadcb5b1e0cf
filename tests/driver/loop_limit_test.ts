/** Long loops: right on every device, or refused where the device ends them (llvmpipe: 65,535 rounds of all loops of an invocation together). */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { RunResult } from "../../src/driver/run_program.ts";
import { RefusedError } from "../../src/errors.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { measureLoops, probeEndsLoops } from "../../src/gpu/probe/loop_probe.ts";
import { loopProbeModule } from "../../src/gpu/probe/loop_probe_module.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import { verifyModule } from "../support/verify_module.ts";
import { assembleProbe } from "../../tools/spirv_tools/build_probe.ts";
import { Code } from "../fuzz/code.ts";
import { int, v } from "../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { makeRequest, PLAIN_DEVICE } from "../support/lift.ts";
import { dispatchDirect } from "../support/packets.ts";
import { runGuest } from "../support/run.ts";
import { deviceTest } from "../support/vulkan.ts";

const LANES = 32;
const THREAD = 0, X = 1, ROUNDS = 2, OUTER = 3, ADDRESS = 4, OTHER = 5;

/** A guest program, and what each lane should store. */
interface LongProgram {
  words: number[];
  /** pc of the first loop. */
  loop: number;
  expected: number[];
}

/** One step of a sequence that no compiler knows in closed form. */
const step = (x: number) => (x << 1 ^ x >>> 3) + 0x1357 >>> 0;

function steps(count: number, x = 0): number {
  for (let k = 0; k < count; k++) x = step(x);
  return x;
}

/** The same for X, with v6 and v7 as scratch. */
function emitStep(code: Code): void {
  code.vop("v_lshlrev_b32", v(6), int(1), v(X));
  code.vop("v_lshrrev_b32", v(7), int(3), v(X));
  code.vop("v_xor_b32", v(6), v(6), v(7));
  code.vop("v_add_nc_u32", v(X), 255, v(6), 0x1357);
}

/** A loop that each lane leaves after as many steps as it has in `register`. */
function laneLoop(code: Code, register: number): void {
  const start = code.label(), end = code.label();
  code.sop1("s_mov_b32", 10, 126);
  code.bind(start);
  code.vop("v_cmp_lt_u32", -1, int(0), v(register));
  code.sop2("s_and_b32", 126, 126, 106);
  code.branch("s_cbranch_execz", end);
  emitStep(code);
  code.vop("v_add_nc_u32", v(register), int(-1), v(register));
  code.branch("s_branch", start);
  code.bind(end);
  code.sop1("s_mov_b32", 126, 10);
}

function program(expected: (lane: number) => number, body: (code: Code) => number): LongProgram {
  const code = new Code();
  code.vop("v_mov_b32", v(X), int(0));
  code.vop("v_lshlrev_b32", v(ADDRESS), int(2), v(THREAD));
  const loop = body(code);
  code.flat("global_store_dword", { addr: v(ADDRESS), data: v(X), saddr: 0 });
  code.sopp("s_endpgm");
  return { words: code.words, loop: loop * 4, expected: Array.from({ length: LANES }, (_, lane) => expected(lane)) };
}

/** A loop of `rounds` rounds, from s2: a number that is known only when it runs. */
function single(rounds: number): LongProgram {
  return program(() => steps(rounds), (code) => {
    code.sop1("s_mov_b32", 8, 2);
    const at = code.at, start = code.label();
    code.bind(start);
    emitStep(code);
    code.sop2("s_sub_u32", 8, 8, int(1));
    code.sopc("s_cmp_lg_u32", 8, int(0));
    code.branch("s_cbranch_scc1", start);
    return at;
  });
}

/** `rounds` (s2) rounds of a loop with `inner` rounds inside. */
function nested(rounds: number, inner: number): LongProgram {
  return program(() => steps(rounds * inner), (code) => {
    code.sop1("s_mov_b32", 8, 2);
    const at = code.at, outer = code.label(), start = code.label();
    code.bind(outer);
    code.sop1("s_mov_b32", 9, 255, inner);
    code.bind(start);
    emitStep(code);
    code.sop2("s_sub_u32", 9, 9, int(1));
    code.sopc("s_cmp_lg_u32", 9, int(0));
    code.branch("s_cbranch_scc1", start);
    code.sop2("s_sub_u32", 8, 8, int(1));
    code.sopc("s_cmp_lg_u32", 8, int(0));
    code.branch("s_cbranch_scc1", outer);
    return at;
  });
}

/** Even lanes take `rounds` (s2) rounds of one loop, odd ones of another: none takes more, but they are executed together. */
function apart(rounds: number): LongProgram {
  return program(() => steps(rounds), (code) => {
    code.vop("v_and_b32", v(OTHER), int(1), v(THREAD));
    code.vop3("v_mul_lo_u32", { dst: v(OUTER), src: [v(OTHER), 2] });
    code.vop("v_sub_nc_u32", v(ROUNDS), 2, v(OUTER));
    const at = code.at + 1;
    laneLoop(code, ROUNDS);
    laneLoop(code, OUTER);
    return at;
  });
}

function run(device: GpuDevice, { words }: LongProgram, rounds: number): { result: RunResult; output: number[] } {
  const guest = new GuestProgram("long loops");
  const code = guest.code(Uint32Array.from(words)), output = guest.buffer(new Uint32Array(LANES));
  guest.submit(
    0,
    computeState({ code, userData: [...words64(output.address), rounds], threads: [LANES, 1, 1] }),
    dispatchDirect([1, 1, 1], { waveSize: 32 }),
  );
  using done = runGuest(device, guest.program);
  return { result: done.result, output: [...done.words(output)] };
}

/** Runs a program that is right everywhere. */
function right(device: GpuDevice, long: LongProgram, rounds: number): void {
  const { result, output } = run(device, long, rounds);
  assertEquals(result.error, undefined);
  assertEquals(output, long.expected);
}

/** Runs a program that is right, or refused where the device ends loops. */
function rightOrRefused(device: GpuDevice, long: LongProgram, rounds: number): void {
  if (!probeEndsLoops(device)) return right(device, long, rounds);
  const { result } = run(device, long, rounds);
  assertEquals(result.outcome, "failed");
  const { error } = result;
  assert(error instanceof RefusedError, String(error));
  assertEquals(error.code, "driver.loop-limit");
  assertStringIncludes(error.message, "--device software");
  const { pc } = error.place;
  assert(typeof pc === "number" && pc >= long.loop && pc <= long.words.length * 4, `pc ${pc}`);
}

deviceTest("a loop of 65,000 rounds is right, one of 70,000 is right or refused with its pc", (device) => {
  right(device, single(65_000), 65_000);
  rightOrRefused(device, single(70_000), 70_000);
});

deviceTest("nested loops count together: 200 x 300 rounds are right, 218 x 300 are right or refused", (device) => {
  right(device, nested(200, 300), 200);
  rightOrRefused(device, nested(218, 300), 218);
});

deviceTest(
  "lanes count together: 30,000 rounds of one loop and 30,000 of another in other lanes are right, 40,000 each are right or refused",
  (device) => {
    right(device, apart(30_000), 30_000);
    rightOrRefused(device, apart(40_000), 40_000);
  },
);

deviceTest(
  "a loop without an exit is refused where the device ends it, and not taken for the end of the program",
  (device) => {
    if (!probeEndsLoops(device)) return; // it would hang there, as on the console
    const endless = program(() => 0, (code) => {
      const at = code.at, start = code.label(), end = code.label();
      code.sopc("s_cmp_eq_u32", 2, int(7));
      code.branch("s_cbranch_scc1", end);
      code.bind(start);
      emitStep(code);
      code.branch("s_branch", start);
      code.bind(end);
      return at;
    });
    rightOrRefused(device, endless, 1);
    right(device, endless, 7);
  },
);

deviceTest("the loop probe tells at which round the device ends a loop, and sees that it has", (device) => {
  const ends = probeEndsLoops(device);
  if (device.capabilities.driver.name === "llvmpipe" && device.capabilities.driver.info.startsWith("Mesa 22.3")) {
    assertEquals(ends, true);
    assertEquals(measureLoops(device, 65_500), { rounds: 65_500, shows: false });
    assertEquals(measureLoops(device, 66_000), { rounds: 65_535, shows: true });
  }
  assertEquals(measureLoops(device, 1000), { rounds: 1000, shows: false });
});

Deno.test("the checked-in loop probe is what the assembly text gives", async () => {
  assertEquals(loopProbeModule, await assembleProbe("loop_probe"));
});

/** Words of a module for a device that ends loops, or not. */
function moduleWords(words: readonly number[], endsLoops: boolean | undefined): number {
  const { spirv } = recompile(makeRequest({
    code: Uint32Array.from(words),
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [LANES, 1, 1],
    userSgprCount: 3,
    device: { ...PLAIN_DEVICE, endsLoops },
  }));
  assertEquals(verifyModule(spirv), []);
  return spirv.length;
}

/** A loop of s2 rounds, in which 16 rounds of another one are unrolled; each has a branch. */
function unrolled(rounds: number): LongProgram {
  const expected = () => {
    let x = 0;
    for (let outer = rounds; outer > 0; outer--) {
      for (let k = 1; k <= 16; k++) x = step((outer >> k & 1) !== 0 ? steps(20, x) : x);
    }
    return x;
  };
  return program(expected, (code) => {
    const at = code.at + 1, start = code.label();
    code.sop1("s_mov_b32", 8, 2);
    code.bind(start);
    for (let k = 1; k <= 16; k++) {
      const end = code.label();
      code.sop2("s_lshr_b32", 12, 8, int(k));
      code.sop2("s_and_b32", 12, 12, int(1));
      code.sopc("s_cmp_eq_u32", 12, int(0));
      code.branch("s_cbranch_scc1", end);
      for (let n = 0; n < 20; n++) emitStep(code);
      code.bind(end);
      emitStep(code);
    }
    code.sop2("s_sub_u32", 8, 8, int(1));
    code.sopc("s_cmp_lg_u32", 8, int(0));
    code.branch("s_cbranch_scc1", start);
    return at;
  });
}

deviceTest(
  "rounds that are unrolled in a long loop are not rolled up where that would bring it to the device's limit",
  (device) => {
    right(device, unrolled(6000), 6000);
  },
);

Deno.test("rounds in a loop of unknown length stay unrolled on devices that end loops, and on no others", () => {
  for (const endsLoops of [false, true]) {
    let final = "";
    recompile(
      makeRequest({
        code: Uint32Array.from(unrolled(1).words),
        target: "gfx1013",
        waveSize: 32,
        workgroupSize: [LANES, 1, 1],
        userSgprCount: 3,
        device: { ...PLAIN_DEVICE, endsLoops },
      }),
      (pass, text) => final = pass === "final" ? text() : final,
    );
    assertEquals(final.match(/ Loop /g)?.length, endsLoops ? 1 : 2);
  }
});

Deno.test("looking at loops costs words only on devices that end them, and only where loops may be long", () => {
  const { words } = single(70_000);
  assertEquals(moduleWords(words, false), moduleWords(words, undefined));
  assert(moduleWords(words, true) > moduleWords(words, false));
  for (const [rounds, looks] of [[10, false], [200, false], [40_000, true]] as const) {
    const short = program(() => 0, (code) => {
      const start = code.label(), end = code.label();
      code.sop1("s_mov_b32", 8, int(0));
      code.bind(start);
      code.sopc("s_cmp_ge_u32", 8, 255, rounds);
      code.branch("s_cbranch_scc1", end);
      emitStep(code);
      code.sop2("s_add_u32", 8, 8, int(1));
      code.branch("s_branch", start);
      code.bind(end);
      return 0;
    });
    assertEquals(moduleWords(short.words, true) > moduleWords(short.words, false), looks, `${rounds} rounds`);
  }
});
