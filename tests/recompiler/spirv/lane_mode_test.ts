import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { ABLE_DEVICE, makeRequest } from "../../support/lift.ts";

/** v_readfirstlane_b32 s0, v0; v_mov_b32 v1, s0; global_store_dword v[2:3], v1, off; s_endpgm */
const OBSERVES = Uint32Array.of(0x7e000500, 0x7e020200, 0xdc708000, 0x007d0102, 0xbf810000);
/** The same without the first one. */
const BLIND = OBSERVES.slice(1);

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
    const artifact = made(OBSERVES, required, options);
    assertEquals([artifact.laneMode, artifact.subgroupSize], ["spanned", undefined]);
    assertStringIncludes(artifact.laneModeReason, why);
    assert(artifact.sharedBytes > 0);
  }
});

Deno.test("on a device that could choose narrower subgroups, exchanges must be worth the wide ones", () => {
  const artifact = made(OBSERVES, sizes(8, 32));
  assertEquals([artifact.laneMode, artifact.subgroupSize], ["native", 32]);
  assertStringIncludes(artifact.laneModeReason, "1 exchanges in ");
  // 100 additions more, each of the last one's result: v_add_nc_u32 v1, v1, v1.
  const long = Uint32Array.of(...OBSERVES.slice(0, 2), ...new Array(100).fill(0x4a020301), ...OBSERVES.slice(2));
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

Deno.test("native code is shorter than spanned code", () => {
  const native = made(OBSERVES, sizes(32)).spirv.length, spanned = made(OBSERVES, undefined).spirv.length;
  assert(native < spanned, `${native} words, spanned ${spanned}`);
});
