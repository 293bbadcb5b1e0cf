import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { ABLE_DEVICE, makeRequest } from "../../support/lift.ts";

/** v_readfirstlane_b32 s0, v0; v_mov_b32 v1, s0; global_store_dword v[2:3], v1, off; s_endpgm */
const OBSERVES = Uint32Array.of(0x7e000500, 0x7e020200, 0xdc708000, 0x007d0102, 0xbf810000);
/** The same without the first one. */
const BLIND = OBSERVES.slice(1);

/** The first one with so many additions more, each of the last one's result: v_add_nc_u32 v1, v1, v0. */
const longer = (additions: number) =>
  Uint32Array.of(...OBSERVES.slice(0, 2), ...new Array(additions).fill(0x4a020101), ...OBSERVES.slice(2));
/** Many exchanges, each of the last one's result: v_readfirstlane_b32 s0, v1; v_xor_b32 v1, s0, v0. */
const EXCHANGES = Uint32Array.of(
  ...OBSERVES.slice(0, 2),
  ...new Array(20).fill([0x7e000501, 0x3a020000]).flat(),
  ...OBSERVES.slice(2),
);

/** The artifact for a device whose subgroups have these sizes. */
function made(
  code: Uint32Array<ArrayBuffer>,
  required: RecompilerDevice["requiredSubgroup"],
  { laneMode, waveSize = 32, threads = waveSize }: {
    laneMode?: RecompilerDevice["laneMode"];
    waveSize?: 32 | 64;
    threads?: number;
  } = {},
) {
  const device = { ...ABLE_DEVICE, requiredSubgroup: required, laneMode };
  return recompile(makeRequest({ code, waveSize, workgroupSize: [threads, 1, 1], device }));
}

const sizes = (minimum: number, maximum = minimum, perWorkgroup = 64) => ({ minimum, maximum, perWorkgroup });

Deno.test("a program that does not observe the wave is laneless, whatever the device has or the user asks for", () => {
  for (const required of [undefined, sizes(32)]) {
    for (const laneMode of [undefined, "native", "spanned"] as const) {
      const artifact = made(BLIND, required, { laneMode });
      assertEquals([artifact.laneMode, artifact.subgroupSize], ["laneless", undefined]);
    }
  }
});

Deno.test("a wave is a subgroup where all subgroups have its size, and the pipeline must require it", () => {
  for (const waveSize of [32, 64] as const) {
    const artifact = made(OBSERVES, sizes(waveSize), { waveSize });
    assertEquals([artifact.laneMode, artifact.subgroupSize], ["native", waveSize]);
    assertStringIncludes(artifact.laneModeReason, `ReadFirstLane at pc 0x0; all subgroups have ${waveSize} lanes`);
    assertEquals(artifact.sharedBytes, 0);
    assertEquals(openSpirvTools().validate(artifact.spirv), []);
  }
});

Deno.test("a wave is spanned where the device cannot make it a subgroup, and the reason says why", () => {
  const cases = [
    [undefined, {}, "the device has no subgroups of a required size with ballots and shuffles"],
    [sizes(8), {}, "subgroups of the device have 8 lanes"],
    [sizes(32), { waveSize: 64 }, "subgroups of the device have 32 lanes"],
    [sizes(8, 16), {}, "subgroups of the device have 8 to 16 lanes"],
    [sizes(32, 32, 4), { threads: 256 }, "a workgroup has at most 4 subgroups"],
  ] as const;
  for (const [required, options, why] of cases) {
    const artifact = made(longer(100), required, options);
    assertEquals([artifact.laneMode, artifact.subgroupSize], ["spanned", undefined]);
    assertStringIncludes(artifact.laneModeReason, why);
    assert(artifact.sharedBytes > 0);
  }
});

Deno.test("on a device that could choose narrower subgroups, exchanges must be worth the wide ones", () => {
  const artifact = made(OBSERVES, sizes(8, 32));
  assertEquals([artifact.laneMode, artifact.subgroupSize], ["native", 32]);
  assertStringIncludes(artifact.laneModeReason, "1 exchanges in ");
  const long = longer(100);
  const spanned = made(long, sizes(8, 32));
  assertEquals([spanned.laneMode, spanned.subgroupSize], ["spanned", undefined]);
  assertStringIncludes(spanned.laneModeReason, "are not worth subgroups of 32 lanes on a device of 8 to 32");
  assertEquals(made(long, sizes(32)).laneMode, "native");
});

Deno.test("the user's choice wins, and is refused by name where the device cannot do it", () => {
  assertStringIncludes(made(OBSERVES, sizes(32), { laneMode: "spanned" }).laneModeReason, "spanned was asked for");
  assertEquals(made(OBSERVES, sizes(32), { laneMode: "spanned" }).laneMode, "spanned");
  assertEquals(made(OBSERVES, sizes(8, 64), { laneMode: "native" }).laneMode, "native");
  const error = assertThrows(() => made(OBSERVES, sizes(8), { laneMode: "native" }), RefusedError);
  assertStringIncludes(error.message, "native was asked for: subgroups of the device have 8 lanes");
  assertEquals([error.code, error.place.pc], ["recompiler.lane-mode", 0]);
});

Deno.test("many exchanges among few operations are packed where a subgroup cannot be a wave, and the reason has both estimates", () => {
  for (const [width, waveSize] of [[8, 32], [8, 64], [32, 64]] as const) {
    const artifact = made(EXCHANGES, sizes(width), { waveSize, threads: waveSize * 2 });
    assertEquals([artifact.laneMode, artifact.subgroupSize, ...artifact.workgroupSize], [
      "packed",
      width,
      2 * width,
      1,
      1,
    ]);
    assertMatch(
      artifact.laneModeReason,
      /packed with \d lanes an invocation is estimated at \d+ operations, spanned at \d+/,
    );
    assertEquals(artifact.sharedBytes, 0);
    assertEquals(openSpirvTools().validate(artifact.spirv), []);
    assertEquals(made(longer(100), sizes(width), { waveSize }).laneMode, "spanned");
    assertEquals(made(EXCHANGES, sizes(width), { waveSize, laneMode: "spanned" }).laneMode, "spanned");
  }
  assertEquals(made(EXCHANGES, sizes(8, 16), { waveSize: 32 }).laneMode, "spanned");
});

Deno.test("packed is what the user asks for, with one lane an invocation too, and is refused by name where subgroups are wider than the wave", () => {
  for (
    const [required, waveSize, width] of [[sizes(8), 32, 8], [sizes(32), 32, 32], [sizes(8, 16), 64, 16], [
      sizes(64),
      64,
      64,
    ]] as const
  ) {
    const artifact = made(longer(100), required, { waveSize, laneMode: "packed" });
    assertEquals([artifact.laneMode, artifact.subgroupSize], ["packed", width]);
    assertStringIncludes(artifact.laneModeReason, "packed was asked for");
    assertEquals(openSpirvTools().validate(artifact.spirv), []);
  }
  for (
    const [required, why] of [[sizes(64), "subgroups of the device have at least 64 lanes"], [
      undefined,
      "the device has no subgroups",
    ]] as const
  ) {
    const error = assertThrows(() => made(OBSERVES, required, { laneMode: "packed" }), RefusedError);
    assertStringIncludes(error.message, `packed was asked for: ${why}`);
    assertEquals(error.code, "recompiler.lane-mode");
  }
  assertEquals(made(BLIND, undefined, { laneMode: "packed" }).laneMode, "laneless");
});

/** LDS in lockstep, and a barrier, in a loop that each wave leaves as what it has read tells it: a wave that has left comes to no barrier any more. */
const ADDITIONS = 100;
const PARTING = Uint32Array.of(
  0xbe800380, // s_mov_b32 s0, 0
  0x34020082, // v_lshlrev_b32 v1, 2, v0
  ...new Array(ADDITIONS).fill(0x4a080104), // v_add_nc_u32 v4, v4, v0
  0xd8340000,
  0x00000401, // ds_write_b32 v1, v4
  0xd8d80004,
  0x03000001, // ds_read_b32 v3, v1 offset:4
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  0xbf8a0000, // s_barrier
  0x80008100, // s_add_u32 s0, s0, 1
  0x7e020503, // v_readfirstlane_b32 s1, v3
  0xbf0a0100, // s_cmp_lt_u32 s0, s1
  0xbf85fff6 - ADDITIONS, // s_cbranch_scc1 to the first addition
  0xbf810000,
);

Deno.test("waves of a workgroup that part around a barrier that the others come to no more stay spanned", () => {
  for (const required of [undefined, sizes(8)]) {
    const artifact = recompile(makeRequest({
      code: PARTING,
      waveSize: 32,
      workgroupSize: [64, 1, 1],
      ldsBytes: 1024,
      device: { ...ABLE_DEVICE, requiredSubgroup: required },
    }));
    assertEquals([artifact.laneMode, artifact.subgroupSize, artifact.workgroupSize[0]], ["spanned", undefined, 64]);
    assertEquals(openSpirvTools().validate(artifact.spirv), []);
  }
});

Deno.test("LDS that leaves no room for the slots of the spanned form is packed, and refused where that is not possible", () => {
  // ds_write_b32 v0, v0 makes the LDS part of the module.
  const code = Uint32Array.of(0xd8340000, 0x00000000, ...longer(100));
  const of = (
    required: RecompilerDevice["requiredSubgroup"],
    ldsBytes: number,
    laneMode?: RecompilerDevice["laneMode"],
    guest = code,
  ) => {
    const device = { ...ABLE_DEVICE, requiredSubgroup: required, sharedMemoryBytes: 32768, laneMode };
    return recompile(makeRequest({ code: guest, waveSize: 64, workgroupSize: [64, 1, 1], ldsBytes, device }));
  };
  assertEquals([of(sizes(8), 16384).laneMode, of(sizes(8), 32768).laneMode], ["spanned", "packed"]);
  assertStringIncludes(of(sizes(8), 32768).laneModeReason, "LDS and exchange slots take");
  assertEquals(of(sizes(8), 32768).sharedBytes, 32768);
  const error = assertThrows(() => of(undefined, 32768), RefusedError, "LDS and exchange slots take");
  assertEquals(error.code, "recompiler.lds-size");
  assertStringIncludes(error.message, "it cannot be packed either: the device has no subgroups");
  const asked = assertThrows(() => of(sizes(8), 32768, "spanned"), RefusedError, "LDS and exchange slots take");
  assertEquals(asked.message.includes("packed"), false, asked.message);
  // Other errors surface as they are: s_trap 1 at the beginning.
  const refused = assertThrows(() => of(sizes(8), 32768, undefined, Uint32Array.of(0xbf920001, ...code)), RefusedError);
  assertEquals(refused.message.includes("packed"), false, refused.message);
  assertEquals(refused.code, "recompiler.control-flow");
});

Deno.test("native code is shorter than spanned code", () => {
  const native = made(OBSERVES, sizes(32)).spirv.length, spanned = made(OBSERVES, undefined).spirv.length;
  assert(native < spanned, `${native} words, spanned ${spanned}`);
});
