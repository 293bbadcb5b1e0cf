/** Program flow, EXEC, barriers, hardware registers, messages (AMD RDNA2 ISA, sections 12.2, 12.3, 12.5). */
import { assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { GuestFaultError, InvalidInputError, RefusedError } from "../../../src/errors.ts";
import { asm, asm64, execute, type Program } from "./asm.ts";
import { assemble, CODE, runWords } from "./machine.ts";

/** Machine words of a program. */
function words({ lines, target, waveSize }: Program): number[] {
  return assemble(lines, target, waveSize);
}
const S_ENDPGM = 0xbf810000;

Deno.test("branches go by words from the next instruction, when their condition holds", () => {
  const rows: [Program, Parameters<typeof execute>[1], boolean][] = [
    [asm`s_branch 1`, {}, true],
    [asm`s_cbranch_scc0 1`, { scc: 0 }, true],
    [asm`s_cbranch_scc0 1`, { scc: 1 }, false],
    [asm`s_cbranch_scc1 1`, { scc: 1 }, true],
    [asm`s_cbranch_vccz 1`, { vcc: 0n }, true],
    [asm`s_cbranch_vccnz 1`, { vcc: 4n }, true],
    [asm`s_cbranch_vccnz 1`, { vcc: 0n }, false],
    [asm`s_cbranch_execz 1`, { exec: 0n }, true],
    [asm`s_cbranch_execz 1`, { exec: 8n }, false],
    [asm`s_cbranch_execnz 1`, { exec: 8n }, true],
    [asm`s_cbranch_cdbguser 1`, {}, false],
  ];
  const skipped = words(asm`s_mov_b32 s0, 1`);
  for (const [program, before, taken] of rows) {
    const after = runWords([...words(program), ...skipped, S_ENDPGM], before);
    assertEquals(after.s(0), taken ? 0 : 1, program.lines[0]);
  }
});

Deno.test("in wave32 only the low halves of VCC and EXEC decide, in wave64 both", () => {
  const skipped = words(asm`s_mov_b32 s0, 1`), high = 1n << 40n;
  const branch = (program: Program, waveSize: 32 | 64, before: Parameters<typeof execute>[1]) =>
    runWords([...words(program), ...skipped, S_ENDPGM], { waveSize, ...before }).s(0);
  assertEquals(branch(asm`s_cbranch_vccz 1`, 32, { vcc: high }), 0);
  assertEquals(branch(asm`s_cbranch_vccz 1`, 64, { vcc: high }), 1);
  assertEquals(branch(asm`s_cbranch_execz 1`, 64, { exec: high }), 1);
});

Deno.test("backward branches make loops", () => {
  const after = runWords([
    ...words(asm`s_mov_b32 s0, 0`),
    ...words(asm`s_add_u32 s0, s0, 3`),
    ...words(asm`s_cmp_lt_u32 s0, 64`),
    ...words(asm`s_cbranch_scc1 -3`),
    S_ENDPGM,
  ]);
  assertEquals(after.s(0), 66);
});

Deno.test("s_getpc gives the next instruction's address, s_setpc and s_swappc go to one, s_call links", () => {
  const after = runWords([
    ...words(asm`s_getpc_b64 s[0:1]`), // 0: s[0:1] = CODE + 4
    ...words(asm`s_add_u32 s0, s0, 16`), // 4
    ...words(asm`s_swappc_b64 s[2:3], s[0:1]`), // 8: to 20, s[2:3] = CODE + 12
    ...words(asm`s_mov_b32 s4, 1`), // 12: back here
    S_ENDPGM, // 16
    ...words(asm`s_mov_b32 s5, 2`), // 20
    ...words(asm`s_setpc_b64 s[2:3]`), // 24
  ]);
  assertEquals([after.s64(0), after.s64(2)], [BigInt(CODE + 20), BigInt(CODE + 12)]);
  assertEquals([after.s(4), after.s(5)], [1, 2]);
  const called = runWords([
    ...words(asm`s_call_b64 s[2:3], 1`), // 0: to 8
    S_ENDPGM, // 4
    ...words(asm`s_mov_b32 s5, 2`), // 8
    ...words(asm`s_setpc_b64 s[2:3]`),
  ]);
  assertEquals([called.s64(2), called.s(5)], [BigInt(CODE + 4), 2]);
});

Deno.test("running out of the code, and into s_code_end, are faults of the guest", () => {
  const error = assertThrows(() => runWords(words(asm`s_branch 100`)), GuestFaultError);
  assertInstanceOf(error, GuestFaultError);
  assertEquals(error.place.guestAddress, BigInt(CODE + 404));
  assertThrows(() => runWords([0xbf9f0000]), GuestFaultError, "past its end");
  assertThrows(() => runWords([0xffffffff]), InvalidInputError);
  const jump = [...words(asm`s_setpc_b64 s[0:1]`)];
  assertThrows(() => runWords(jump, { s: { 0: 0x12345678, 1: 0x4321 } }), GuestFaultError, "0x432112345678");
});

Deno.test("saveexec and wrexec combine EXEC with a source", () => {
  const exec = 0b1100n, source = 0b1010;
  const rows: [Program, bigint][] = [
    [asm`s_and_saveexec_b32 s0, s4`, 0b1000n],
    [asm`s_or_saveexec_b32 s0, s4`, 0b1110n],
    [asm`s_xor_saveexec_b32 s0, s4`, 0b0110n],
    [asm`s_andn1_saveexec_b32 s0, s4`, 0b0100n],
    [asm`s_andn2_saveexec_b32 s0, s4`, 0b0010n],
    [asm`s_orn1_saveexec_b32 s0, s4`, 0xfffffffdn],
    [asm`s_orn2_saveexec_b32 s0, s4`, 0xfffffffbn],
    [asm`s_nand_saveexec_b32 s0, s4`, 0xfffffff7n],
    [asm`s_nor_saveexec_b32 s0, s4`, 0xfffffff1n],
    [asm`s_xnor_saveexec_b32 s0, s4`, 0xfffffff9n],
  ];
  for (const [program, expected] of rows) {
    const after = execute(program, { exec, s: { 4: source } });
    assertEquals([after.exec, after.s(0), after.scc], [expected, Number(exec), 1], program.lines[0]);
  }
  const none = execute(asm`s_and_saveexec_b32 s0, s4`, { exec, s: { 4: 3 } });
  assertEquals([none.exec, none.scc], [0n, 0]);
  const written = execute(asm`s_andn2_wrexec_b32 s0, s4`, { exec, s: { 4: source } });
  assertEquals([written.exec, written.s(0)], [0b0010n, 0b0010]);
  const wide = execute(
    asm64`s_andn1_wrexec_b64 s[0:1], s[4:5]
    s_or_saveexec_b64 s[2:3], 1`,
    { exec: 0xf_0000_0000n, s: { 4: 0, 5: 3 } },
  );
  assertEquals([wide.s64(0), wide.s64(2), wide.exec], [0xc_0000_0000n, 0xc_0000_0000n, 0xc_0000_0001n]);
});

Deno.test("a subvector loop runs its body for the low half, then for the high half", () => {
  const code = [
    ...words(asm64`s_subvector_loop_begin s0, 5`),
    ...words(asm64`s_mov_b32 s1, exec_lo`),
    ...words(asm64`s_mov_b32 s2, exec_hi`),
    ...words(asm64`s_add_u32 s3, s3, 1`),
    ...words(asm64`v_add_nc_u32 v0, 1, v0`),
    ...words(asm64`s_subvector_loop_end s0, -5`),
    S_ENDPGM,
  ];
  const both = runWords(code, { waveSize: 64, exec: 0x3_0000_0005n });
  assertEquals([both.s(3), both.exec], [2, 0x3_0000_0005n]);
  assertEquals([both.s(1), both.s(2)], [0, 3]);
  assertEquals([0, 1, 2, 32, 33, 34].map((lane) => both.v(0, lane)), [1, 0, 1, 1, 1, 0]);
  const low = runWords(code, { waveSize: 64, exec: 5n });
  assertEquals([low.s(3), low.exec, low.v(0, 2), low.v(0, 33)], [1, 5n, 1, 0]);
  const high = runWords(code, { waveSize: 64, exec: 0x3_0000_0000n });
  assertEquals([high.s(3), high.exec, high.v(0, 2), high.v(0, 33)], [1, 0x3_0000_0000n, 0, 1]);
  assertEquals(runWords(code, { waveSize: 64, exec: 0n }).s(3), 0);
});

Deno.test("a barrier holds the waves of a workgroup until all are there; ended waves count as there", () => {
  // Every wave adds its number (v1) to LDS; behind the barrier each reads the sum.
  const program = asm`v_mov_b32 v0, 0
    ds_add_u32 v0, v1
    s_barrier
    ds_read_b32 v2, v0`;
  const after = runWords([...words(program), S_ENDPGM], { waves: 4, exec: 1n, v: { 1: 5 } });
  assertEquals(after.group.waves.map((wave) => wave.vgpr[2 * 64]), [20, 20, 20, 20]);
  // A wave that ends early lets the others pass.
  const early = [
    ...words(asm`s_cbranch_scc1 1`),
    ...words(asm`s_barrier`),
    S_ENDPGM,
  ];
  assertEquals(runWords(early, { waves: 2, scc: 1 }).group.waves.length, 2);
});

Deno.test("waves that wait for each other in loops get their turns", () => {
  // Wave 0 (s0 = 0 by its number in LDS order) spins until another wave has stored 7.
  const code = [
    ...words(asm`v_mov_b32 v0, 0`),
    ...words(asm`v_mov_b32 v1, 1`),
    ...words(asm`ds_add_rtn_u32 v2, v0, v1 offset:16`),
    ...words(asm`v_readfirstlane_b32 s0, v2`),
    ...words(asm`s_cmp_eq_u32 s0, 0`),
    ...words(asm`s_cbranch_scc1 4`), // the first wave waits
    ...words(asm`v_mov_b32 v1, 7`),
    ...words(asm`ds_write_b32 v0, v1`),
    S_ENDPGM,
    ...words(asm`ds_read_b32 v3, v0`), // the loop
    ...words(asm`v_readfirstlane_b32 s1, v3`),
    ...words(asm`s_cmp_lg_u32 s1, 7`),
    ...words(asm`s_cbranch_scc1 -5`),
    S_ENDPGM,
  ];
  const after = runWords(code, { waves: 2, exec: 1n });
  assertEquals(after.s(1), 7);
});

Deno.test("MODE is read and written by s_getreg, s_setreg, s_round_mode and s_denorm_mode", () => {
  const after = execute(
    asm`s_getreg_b32 s0, hwreg(HW_REG_MODE)
    s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), 3
    s_round_mode 0x6
    s_denorm_mode 0x9
    s_getreg_b32 s2, hwreg(HW_REG_MODE)`,
    { mode: 0xf5 },
  );
  assertEquals([after.s(0), after.s(1), after.s(2)], [0xf5, 0xf, 0x396]);
  const { mode } = after.wave;
  assertEquals([mode.round32, mode.round64, mode.flushIn32, mode.flushOut32, mode.flushIn64, mode.flushOut64], [
    2,
    1,
    false,
    true,
    true,
    false,
  ]);
  assertEquals([mode.dx10Clamp, mode.ieee], [true, true]);
  assertEquals(
    execute(asm`s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s4`, { s: { 4: 0xff }, mode: 0xf0 }).wave.mode.bits,
    0xf3,
  );
});

Deno.test("FLAT_SCRATCH, the apertures and the clock are hardware registers; others are refused by name", () => {
  const after = execute(
    asm`s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s4
    s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s5
    s_getreg_b32 s0, hwreg(HW_REG_FLAT_SCR_HI)
    s_getreg_b32 s1, hwreg(HW_REG_SH_MEM_BASES)
    s_mov_b64 s[2:3], src_shared_base
    s_mov_b64 s[6:7], src_private_limit
    s_memtime s[8:9]`,
    { s: { 4: 0x1000, 5: 2 }, clock: () => 0x1_2345_6789n },
  );
  assertEquals([...after.wave.flatScratch], [0x1000, 2]);
  assertEquals([after.s(0), after.s(1)], [2, 0x10002]);
  assertEquals([after.s64(2), after.s64(6), after.s64(8)], [1n << 48n, 2n << 48n | 0xffff_ffffn, 0x1_2345_6789n]);
  assertThrows(() => execute(asm`s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS)`), RefusedError, "TRAPSTS");
  assertThrows(() => execute(asm`s_setreg_b32 hwreg(HW_REG_STATUS), s0`), RefusedError, "STATUS");
});

Deno.test("waits, hints and cache maintenance change nothing", () => {
  const program = asm`s_nop 3
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_waitcnt_vscnt null, 0x0
    s_waitcnt_depctr 0xffe3
    s_clause 0x1
    s_inst_prefetch 0x1
    s_sleep 2
    s_setprio 1
    s_icache_inv
    s_dcache_inv
    s_gl1_inv
    buffer_gl0_inv
    buffer_gl1_inv
    v_nop`;
  const before = { s: { 0: 1, 1: 2 }, v: { 0: 3 }, vcc: 5n, scc: 1 as const };
  const after = execute(program, before);
  assertEquals([after.s(0), after.s(1), after.v(0), after.vcc, after.scc, after.exec], [1, 2, 3, 5n, 1, 0xffffffffn]);
  // Words that console programs have.
  runWords([0xbf8c3f70, 0xbf8cc07f, 0xbf8c0070, 0xbfa10001, 0xbfa3ffe3, S_ENDPGM]);
});

Deno.test("an interrupt message is recorded; messages of other stages are refused", () => {
  const after = execute(asm`s_sendmsg sendmsg(MSG_INTERRUPT)`, { m0: 42 });
  assertEquals([...after.messages], [{ id: 1, m0: 42, pc: 0 }]);
  assertThrows(() => runWords([0xbf900009, S_ENDPGM]), RefusedError, "message 9");
});

Deno.test("what needs a trap handler or another stage is refused by name, with pc and words", () => {
  const rows: [Program, string][] = [
    [asm`s_trap 2`, "s_trap: traps"],
    [asm`s_rfe_b64 s[0:1]`, "s_rfe_b64"],
    [asm`s_sethalt 1`, "s_sethalt"],
    [asm`s_setkill 1`, "s_setkill"],
    [asm`s_sendmsghalt sendmsg(MSG_INTERRUPT)`, "s_sendmsghalt"],
    [asm`s_endpgm_saved`, "s_endpgm_saved"],
    [asm`s_endpgm_ordered_ps_done`, "s_endpgm_ordered_ps_done"],
    [asm`exp pos0 v0, v1, v2, v3`, "exp: belongs to graphics stages"],
    [asm`v_interp_p1_f32 v0, v1, attr0.x`, "v_interp_p1_f32"],
    [asm`ds_ordered_count v0, v1 gds`, "ds_ordered_count"],
    [asm`ds_gws_barrier v0 gds`, "ds_gws_barrier: global wave synchronisation"],
    [asm`image_bvh_intersect_ray v[0:3], v[4:14], s[0:3]`, "image_bvh_intersect_ray: ray intersection"],
    [asm`image_bvh64_intersect_ray v[0:3], v[4:15], s[0:3]`, "image_bvh64_intersect_ray"],
    [asm`s_dcache_discard s[0:1], 0`, "s_dcache_discard"],
  ];
  for (const [program, text] of rows) {
    const code = words(program);
    const error = assertThrows(
      () => runWords([...words(asm`s_nop 0`), ...code, S_ENDPGM]),
      RefusedError,
    ) as RefusedError;
    assertStringIncludes(error.message, text);
    assertEquals([error.place.pc, error.place.words?.slice(0, 1)], [4, code.slice(0, 1)], text);
  }
});
