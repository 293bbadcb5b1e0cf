/** Which waits and invalidations are fences, and of what kind. */
import { assertEquals } from "@std/assert";
import { FenceKind, Op } from "../../../src/recompiler/ir/ops.ts";
import { assemble } from "../waves/assembled.ts";
import { liftCode, makeRequest } from "../../support/lift.ts";

/** Kinds of the fences of a program. */
function kinds(lines: readonly string[]): number[] {
  const code = Uint32Array.from(assemble("gfx1030", 32, [...lines, "s_endpgm"]));
  const ir = liftCode(makeRequest({ code, userSgprCount: 8 }));
  return Array.from({ length: ir.length }, (_, i) => i).filter((i) => ir.op[i] === Op.Fence).map((i) => ir.a[i]);
}

const VM = "s_waitcnt vmcnt(0)", LGKM = "s_waitcnt lgkmcnt(0)";
const LOAD = "global_load_dword v5, v12, s[0:1]", VOLATILE_LOAD = `${LOAD} glc dlc`;
const SCALAR = "s_load_dword s17, s[14:15], 0x380 glc", SWAP = "global_atomic_swap v5, v12, v1, s[0:1] glc";

Deno.test("invalidations are fences by who shares the cache, and the wait for stores is one", () => {
  const { Caches, Stores, SharedCaches } = FenceKind;
  const lines = ["buffer_gl0_inv", "buffer_gl1_inv", "s_dcache_inv", "s_waitcnt_vscnt null, 0x0"];
  assertEquals(kinds(lines), [Caches, SharedCaches, SharedCaches, Stores]);
});

Deno.test("a wait for results is a fence where the program asks what others do, by the counter that counts it", () => {
  const { Results } = FenceKind;
  assertEquals(kinds([LOAD, VM, LGKM]), []);
  assertEquals(kinds([VOLATILE_LOAD, VM, LGKM]), [Results]);
  assertEquals(kinds([SWAP, VM, LGKM]), [Results]);
  assertEquals(kinds([SCALAR, VM, LGKM]), [Results]);
  assertEquals(kinds([VM, SCALAR, VOLATILE_LOAD, LGKM]), [Results, Results]);
  assertEquals(kinds([VOLATILE_LOAD, "s_waitcnt vmcnt(0) lgkmcnt(0)"]), [Results]);
});
