/** Jumps of compilers that keep SCC in the lowest bit of the address while they compute it. */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { buildCfg } from "../../../src/recompiler/cfg/build.ts";
import { Code } from "../../fuzz/code.ts";
import { int, v } from "../../fuzz/encode.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { liftCode, makeRequest } from "../../support/lift.ts";

const OUT = 0x1_0000_0000n;
const NO_INSTRUCTION = 0x7e01fe00;

/** Stores s0 == 0 ? 1 : 2 at s[2:3] + 4 * thread, behind a long jump that must keep SCC. @param clears the lowest bit of the address is cleared */
function program(clears: boolean): Uint32Array {
  const code = new Code();
  const target = code.label();
  code.sopc("s_cmp_eq_u32", 0, int(0));
  code.sop1("s_getpc_b64", 6, 0);
  const from = code.at;
  code.sop2("s_addc_u32", 6, 6, 255, 0);
  code.far(code.at - 1, from, target);
  code.sopc("s_bitcmp1_b32", 6, int(0));
  if (clears) code.sop1("s_bitset0_b32", 6, int(0));
  code.sop1("s_setpc_b64", 0, 6);
  code.emit([NO_INSTRUCTION]);
  code.bind(target);
  code.sop2("s_cselect_b32", 1, int(1), int(2));
  code.vop("v_mov_b32", v(1), 1);
  code.vop("v_lshlrev_b32", v(0), int(2), v(0));
  code.flat("global_store_dword", { addr: v(0), data: v(1), saddr: 2 });
  code.sopp("s_endpgm");
  return Uint32Array.from(code.words);
}

Deno.test("a long jump whose address carries SCC is resolved, and SCC is kept", () => {
  const ir = liftCode(makeRequest({ code: program(true), codeAddress: 0x2_0000_0100n, userSgprCount: 4 }));
  for (const [value, result] of [[0, 1], [5, 2]]) {
    const memory = new EvalMemory(), out = memory.mapWords(OUT, new Uint32Array(32));
    const userData = [value, 0, 0, 1];
    const { faults } = evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [32, 1, 1], memory, userData });
    assertEquals([faults.length, ...new Set(out)], [0, result]);
  }
});

Deno.test("an address whose lowest bit is not known is no known address", () => {
  const options = { target: "gfx1030", codeAddress: 0x2_0000_0100n } as const;
  assertThrows(() => buildCfg(program(false), options), RefusedError, "not known");
});
