/** What a wave loads while other workgroups write: one value for all of its lanes, and none that the host could know before the dispatch. */
import { assert, assertEquals } from "@std/assert";
import type { Artifact, RecompilerDevice } from "../../../src/recompiler/request.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { makeRequest } from "../../support/lift.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import { assemble } from "../waves/assembled.ts";
import { onWeakHost } from "./guest.ts";
import type { Litmus } from "./programs.ts";

const LGKM = "s_waitcnt lgkmcnt(0)", ANEW = "s_dcache_inv", PLAIN = "s_load_dword s16, s[0:1], 0x200";
const COHERENT = `${PLAIN} glc`, SPIN = ["s_cmp_eq_u32 s16, 0", "s_cbranch_scc1 spin"];
const END = ["v_mov_b32_e32 v6, s16", "global_store_dword v4, v6, s[2:3]", "s_endpgm"];

/** All lanes add 1 to a word that all workgroups share, their wave looks at it, and each lane stores what it got. */
function counted(look: readonly string[]): Litmus {
  return {
    name: "a wave looks at a counter",
    threads: 32,
    lines: [
      "v_mov_b32_e32 v1, 0",
      "v_mov_b32_e32 v11, 0x22222222",
      "v_lshl_add_u32 v4, s8, 5, v0",
      "v_lshlrev_b32_e32 v4, 2, v4",
      "global_atomic_add v1, v11, s[0:1] offset:512",
      ...look,
      ...END,
    ],
    sharedWords: () => 256,
    resultWords: (groups) => 32 * groups,
    mismatches: (_, results) => [
      results.filter((value, k) => value !== results[k & ~31]).length,
      results.length,
    ],
  };
}

const MODES = [[8, undefined], [8, "spanned"], [8, "packed"], [32, "native"]] as const;

Deno.test("a scalar load that sees other workgroups' data is one value for all lanes of its wave, in all modes", () => {
  for (const look of [[COHERENT, LGKM], [PLAIN, LGKM, ANEW, PLAIN, LGKM]]) {
    let different = false;
    for (const [subgroupSize, asked] of MODES) {
      for (const seed of [1, 2, 3]) {
        const { mismatches } = onWeakHost(counted(look), { groups: 4, rounds: 1 }, seed, { subgroupSize, asked });
        assertEquals(mismatches, [0, 128], `${look}, ${subgroupSize} lanes, ${asked}`);
        const apart = counted(look.map((line) => line === COHERENT ? PLAIN : line).filter((line) => line !== ANEW));
        const { laneMode } = onWeakHost(apart, { groups: 4, rounds: 1 }, seed, { subgroupSize, asked });
        different ||= laneMode === "laneless";
      }
    }
    assert(different, "loads that see nothing of others cost no exchange");
  }
});

function artifactOf(lines: readonly string[], subgroupSize: number, laneMode: RecompilerDevice["laneMode"]): Artifact {
  const code = Uint32Array.from(assemble("gfx1030", 32, ["v_lshlrev_b32_e32 v4, 2, v0", ...lines, ...END]));
  const request = makeRequest({ code, workgroupSize: [32, 1, 1], userSgprCount: 8, resolve: true });
  return recompile({ ...request, device: { ...evaluatedDevice(subgroupSize), laneMode } });
}

Deno.test("a wave may wait for another workgroup around s_barrier: its lanes go together", () => {
  for (const [subgroupSize, asked] of MODES) {
    for (const look of [[COHERENT, LGKM], [PLAIN, LGKM, ANEW]]) {
      const { laneMode } = artifactOf(["spin:", ...look, "s_barrier", ...SPIN], subgroupSize, asked);
      assertEquals(laneMode, asked ?? "packed");
    }
  }
});

/** Words that the host loads before the dispatch. */
function fromHost(lines: readonly string[]): number {
  return artifactOf(lines, 8, undefined).resources?.values.length ?? 0;
}

Deno.test("the host answers no scalar load behind s_dcache_inv that the program may have had a reason for", () => {
  assertEquals(fromHost([PLAIN, LGKM]), 1);
  assertEquals(fromHost([ANEW, PLAIN, LGKM]), 1, "nothing was loaded before");
  assertEquals(fromHost([PLAIN, LGKM, ANEW]), 1);
  assertEquals(fromHost([COHERENT, LGKM]), 0);
  assertEquals(fromHost([COHERENT, LGKM, ANEW, PLAIN, LGKM]), 0);
  assertEquals(fromHost(["spin:", PLAIN, LGKM, ANEW, ...SPIN]), 0, "round after round");
  assertEquals(fromHost(["spin:", PLAIN, LGKM, ...SPIN, ANEW]), 1, "not in the loop");
});
