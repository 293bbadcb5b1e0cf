/** Hardware registers, instructions without effect, and refusals that name the instruction and its place. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { type Check, test, testChecks, WAVES } from "./check.ts";
import { liftedOf, programOf } from "./frame.ts";

const laneMode = "laneless" as const;

const modes: Check[] = WAVES.flatMap((waveSize) =>
  [0xf0, 0xc0].map((floatMode): Check => ({
    name: "MODE can be read, and set to what it is",
    waveSize,
    floatMode,
    laneMode,
    lines: [
      "s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 8)",
      "s_getreg_b32 s21, hwreg(HW_REG_MODE, 4, 6)",
      `s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0x${(floatMode >> 4).toString(16)}`,
      "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s20",
      "s_round_mode 0x0",
      `s_denorm_mode 0x${(floatMode >> 4).toString(16)}`,
      "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s6",
    ],
    model: (w) => {
      w.s[20] = floatMode;
      w.s[21] = floatMode >> 4 | 0x10; // DX10_CLAMP
    },
  }))
);
testChecks("MODE", modes);

/** Everything that only waits, hints or tells tools. */
const NO_EFFECT = [
  "s_nop 3",
  "s_sleep 1",
  "s_wakeup",
  "s_setprio 2",
  "s_inst_prefetch 0x3",
  "s_clause 0x1",
  "s_nop 0",
  "s_nop 0",
  "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
  "s_waitcnt_vscnt null, 0x0",
  "s_waitcnt_vmcnt null, 0x0",
  "s_waitcnt_expcnt null, 0x0",
  "s_waitcnt_lgkmcnt null, 0x0",
  "s_waitcnt_depctr 0xffe3",
  "s_ttracedata",
  "s_ttracedata_imm 0x7",
  "s_incperflevel 1",
  "s_decperflevel 1",
  "s_version 0x1",
  "s_icache_inv",
  "s_dcache_inv",
  "s_gl1_inv",
  "buffer_gl0_inv",
  "buffer_gl1_inv",
  "v_nop",
  "v_pipeflush",
  "v_clrexcp",
  "ds_nop",
];

const quiet: Check[] = WAVES.map((waveSize): Check => ({
  name: "instructions that change nothing",
  waveSize,
  laneMode,
  lines: NO_EFFECT,
  model: () => {},
}));
testChecks("Instructions without effect", quiet);

const REFUSED: readonly (readonly [line: string, why: string, target?: "gfx1013"])[] = [
  ["s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", "s_setreg_imm32_b32: MODE is changed"],
  ["s_round_mode 0x1", "s_round_mode: MODE is changed"],
  ["s_denorm_mode 0x0", "s_denorm_mode: MODE is changed"],
  ["s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s6", "s_setreg_b32: MODE is set to a value that is not known"],
  ["s_getreg_b32 s20, hwreg(HW_REG_HW_ID1)", "s_getreg_b32: the hardware register HW_ID1 is read"],
  ["s_setreg_b32 hwreg(HW_REG_TRAPSTS), s6", "s_setreg_b32: the hardware register TRAPSTS is written"],
  ["s_memtime s[20:21]", "s_memtime: the time"],
  ["s_memrealtime s[20:21]", "s_memrealtime: the time"],
  ["s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sendmsg: a message"],
  ["s_sendmsghalt sendmsg(MSG_INTERRUPT)", "s_sendmsghalt: a message"],
  ["s_sethalt 1", "s_sethalt: it halts"],
  ["s_setkill 1", "s_setkill: it ends"],
  ["s_dcache_discard s[0:1], 0x0", "s_dcache_discard: it throws away", "gfx1013"],
  ["s_scratch_load_dword s20, s[0:1], 0x0", "s_scratch_load_dword: scalar access to scratch memory", "gfx1013"],
  ["ds_ordered_count v3, v1 gds", "ds_ordered_count: ordered counts"],
  ["ds_gws_init v1 gds", "ds_gws_init: global wave sync"],
  ["ds_gws_barrier v1 gds", "ds_gws_barrier: global wave sync"],
  ["ds_add_src2_u32 v1", "ds_add_src2_u32: it reads one LDS word", "gfx1013"],
  ["exp mrt0 v0, v0, v0, v0 done", "exp: it belongs to graphics stages"],
  ["v_interp_p1_f32 v3, v1, attr0.x", "v_interp_p1_f32: it belongs to graphics stages"],
  ["s_trap 2", "s_trap is not recompiled"],
  ["s_subvector_loop_begin s20, 1", "s_subvector_loop_begin is not recompiled"],
];

test("what is refused is refused by name, with its reason and place", () => {
  for (const [line, why, target] of REFUSED) {
    const c = { waveSize: 32, target, lines: [line] } as const;
    const error = assertThrows(() => liftedOf(c), RefusedError, undefined, line);
    assertStringIncludes(error.message, why);
    // The test's own instruction stands behind the frame's; the pc is the place of its words.
    const plain = programOf({ waveSize: 32, target, lines: [] }), code = programOf(c);
    const first = code.findIndex((word, k) => word !== plain[k]);
    assertEquals(error.place.pc, first * 4, line);
  }
});
