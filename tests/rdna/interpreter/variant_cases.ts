/**
 * Small cases in which implementations of this instruction set have differed: control flow and EXEC (A), lanes (B), floats (C). Those of memory and
 * scalars (D, E, F) are in variant_memory.ts. The interpreter must pass them, and recompiled code on the device.
 */
import { assertEquals, assertThrows } from "@std/assert";
import { GuestFaultError } from "../../../src/errors.ts";
import { asm, asm1030, asm64, type Program } from "./asm.ts";
import { type After, assemble, type Before, f16, f32, f64, halves } from "./machine.ts";

/** Registers and LDS after a run. */
export type VariantAfter = Pick<After, "s" | "s64" | "v" | "v64" | "lanes" | "exec" | "vcc" | "scc" | "lds">;

/** What runs the cases. */
export interface VariantMachine {
  test(name: string, body: () => void): void;
  /** Runs assembler lines; s_endpgm is added. Memory of `before` is changed as the program does. */
  execute(program: Program, before?: Before): VariantAfter;
  /** Runs machine words. */
  runWords(words: readonly number[], before?: Before): VariantAfter;
}

/** Registers the cases A, B and C. */
export function variantCases({ test, execute, runWords }: VariantMachine): void {
  const words = ({ lines, target, waveSize }: Program): number[] => assemble(lines, target, waveSize);

  test("A: a loop left by s_cbranch_execz runs until the last lane is done", () => {
    // Lane n adds 1 to v0 n times: v1 counts down.
    const after = execute(
      asm`s_mov_b32 s2, exec_lo
    v_cmpx_ne_u32_e32 0, v1
    s_cbranch_execz 3
    v_add_nc_u32_e32 v0, 1, v0
    v_sub_nc_u32_e32 v1, v1, v2
    s_branch 65531
    s_mov_b32 exec_lo, s2`,
      { v: { 0: 0, 1: (lane) => lane, 2: 1 } },
    );
    assertEquals(after.lanes(0), Array.from({ length: 32 }, (_, lane) => lane));
    assertEquals(after.exec, 0xffff_ffffn);
  });

  test("A: a branch behind the end of the program is the guest's fault, not the interpreter's", () => {
    assertThrows(() => runWords(words(asm`s_branch 100`)), GuestFaultError, "nothing there can be executed");
    assertThrows(() => runWords(words(asm`s_branch 65526`)), GuestFaultError);
  });

  test("A: EXEC is a plain value, bits of lanes that never existed included", () => {
    const narrow = execute(
      asm`s_mov_b32 exec_hi, 7
  s_mov_b32 s0, exec_hi
  s_not_b32 exec_lo, exec_lo
  s_mov_b32 s1, exec_lo`,
      { exec: 0xfn },
    );
    assertEquals([narrow.s(0), narrow.s(1)], [7, 0xfffffff0]);
    const wide = execute(
      asm64`s_mov_b64 exec, -1
  s_mov_b64 s[0:1], exec
  s_bcnt1_i32_b64 s2, exec`,
      { exec: 1n },
    );
    assertEquals([wide.s64(0), wide.s(2)], [0xffff_ffff_ffff_ffffn, 64]);
  });

  test("A: scalar code runs whatever EXEC says", () => {
    const after = execute(
      asm`s_add_u32 s0, 1, 2
    s_load_dword s1, s[4:5], null
    v_mov_b32_e32 v0, 9
    v_readfirstlane_b32 s2, v1`,
      {
        exec: 0n,
        s: { 4: 0x1000, 5: 1 },
        v: { 0: 5, 1: 6 },
        memory: new Map([[0x1_0000_1000n, Uint8Array.of(7, 0, 0, 0)]]),
      },
    );
    assertEquals([after.s(0), after.s(1), after.s(2), after.v(0)], [3, 7, 6, 5]);
  });

  test("A: v_cmpx leaves lanes off that were off; v_cmp writes zeros for them", () => {
    const compared = execute(asm`v_cmpx_eq_u32_e32 v1, v1`, { v: { 1: 3 }, exec: 0xf0n });
    assertEquals(compared.exec, 0xf0n);
    const written = execute(asm`v_cmp_eq_u32_e32 vcc_lo, v1, v1`, { v: { 1: 3 }, exec: 0xf0n, vcc: 0xffn });
    assertEquals(written.vcc, 0xf0n);
  });

  test("A: v_writelane writes one lane, in EXEC or not, and no other", () => {
    const after = execute(asm64`v_writelane_b32 v0, s4, 37`, { v: { 0: 5 }, s: { 4: 8 }, exec: 0n });
    assertEquals([36, 37, 38].map((lane) => after.v(0, lane)), [5, 8, 5]);
  });

  test("A: s_swappc and s_setpc call and return", () => {
    // A subroutine at 20 adds 5 to s6; it is called twice.
    const after = runWords([
      ...words(asm`s_getpc_b64 s[0:1]`), // 0: 4
      ...words(asm`s_add_u32 s0, s0, 16`), // 4
      ...words(asm`s_swappc_b64 s[2:3], s[0:1]`), // 8
      ...words(asm`s_swappc_b64 s[2:3], s[0:1]`), // 12
      0xbf810000, // 16
      ...words(asm`s_add_u32 s6, s6, 5`), // 20
      ...words(asm`s_setpc_b64 s[2:3]`), // 24
    ]);
    assertEquals(after.s(6), 10);
  });

  test("A: a waterfall over v_readfirstlane handles each distinct value once", () => {
    // Lanes have the values 0, 1, 2, 0, 1, 2, ...; s6 counts the rounds, v3 gets the round in which a lane was handled.
    const after = execute(
      asm`s_mov_b32 s6, 0
    s_mov_b32 s7, exec_lo
    v_readfirstlane_b32 s4, v1
    v_cmp_eq_u32_e64 s5, s4, v1
    s_and_saveexec_b32 s5, s5
    v_mov_b32_e32 v3, s6
    s_add_u32 s6, s6, 1
    s_xor_b32 exec_lo, exec_lo, s5
    s_cbranch_execnz 65528
    s_mov_b32 exec_lo, s7`,
      { v: { 1: (lane) => lane % 3, 3: 99 }, exec: 0xffff_fffen },
    );
    assertEquals(after.s(6), 3);
    // Lane 1 is the first.
    assertEquals(after.lanes(3, 5), [99, 0, 1, 2, 0]);
  });

  const lanes = { 0: 7, 1: (lane: number) => 100 + lane };

  test("B: DPP row_share and row_xmask, with lanes missing", () => {
    const share = asm`v_mov_b32_dpp v0, v1 row_share:4 row_mask:0xf bank_mask:0xf`;
    const shareZero = asm`v_mov_b32_dpp v0, v1 row_share:4 row_mask:0xf bank_mask:0xf bound_ctrl:0`;
    const mask = asm`v_mov_b32_dpp v0, v1 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:0`;
    const exec = 0xffef_ffffn; // lane 20 is off
    const kept = execute(share, { v: lanes, exec });
    assertEquals([0, 15, 16, 21].map((lane) => kept.v(0, lane)), [104, 104, 7, 7]);
    const zero = execute(shareZero, { v: lanes, exec });
    assertEquals([0, 15, 16, 20, 21].map((lane) => zero.v(0, lane)), [104, 104, 0, 7, 0]);
    const crossed = execute(mask, { v: lanes, exec });
    assertEquals([0, 1, 20, 21, 22].map((lane) => crossed.v(0, lane)), [101, 100, 7, 0, 123]);
  });

  test("B: DPP8 chooses inside groups of eight", () => {
    const after = execute(asm`v_mov_b32_dpp v0, v1 dpp8:[1,1,1,1,7,6,5,4]`, { v: lanes });
    assertEquals(after.lanes(0, 10), [101, 101, 101, 101, 107, 106, 105, 104, 109, 109]);
  });

  test("B: ds_swizzle reads zeros from inactive lanes", () => {
    const after = execute(asm`ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)`, { v: lanes, exec: 0xfffffff7n });
    assertEquals(after.lanes(0, 4), [101, 100, 0, 7]);
  });

  test("B: v_permlane16 keeps the old value where its source is inactive", () => {
    const after = execute(asm`v_permlane16_b32 v0, v1, s4, s5`, {
      v: lanes,
      s: { 4: 0x76543210, 5: 0xfedcba00 },
      exec: 0xffff_fffen,
    });
    // Lanes 8 and 9 choose lane 0, which is off.
    assertEquals(after.lanes(0, 11), [7, 101, 102, 103, 104, 105, 106, 107, 7, 7, 110]);
  });

  test("B: v_readlane takes its lane number modulo the wave's size", () => {
    const s = { 4: 45 };
    assertEquals(execute(asm`v_readlane_b32 s0, v1, s4`, { v: lanes, s }).s(0), 113);
    assertEquals(execute(asm64`v_readlane_b32 s0, v1, s4`, { v: lanes, s }).s(0), 145);
  });

  test("B: v_mbcnt with an inline constant as its mask counts lanes below", () => {
    const program = asm64`v_mbcnt_lo_u32_b32 v0, -1, 0
  v_mbcnt_hi_u32_b32 v0, -1, v0`;
    assertEquals(execute(program, { v: { 0: 5 } }).lanes(0), Array.from({ length: 64 }, (_, lane) => lane));
    assertEquals(execute(asm`v_mbcnt_hi_u32_b32 v0, -1, v1`, { v: { 1: 3 } }).v(0, 31), 3);
  });

  /** An f32 operation on v1, v2, v3. */
  function float(program: Program, v: number[], mode = 0xf0): number {
    return execute(program, { v: { 1: v[0], 2: v[1] ?? 0, 3: v[2] ?? 0 }, mode, exec: 1n }).v(0);
  }
  const SNAN = 0x7fa00000, QNAN = 0x7fc12345, ONE = 0x3f800000, TWO = 0x40000000, MINUS = 0x80000000;
  const IEEE = 1 << 9, DX10_CLAMP = 1 << 8;

  test("C: minimum and maximum prefer the number; in IEEE mode a signalling NaN wins, made quiet", () => {
    const min = asm`v_min_f32_e32 v0, v1, v2`, max = asm`v_max_f32_e32 v0, v1, v2`;
    for (const program of [min, max]) {
      assertEquals(float(program, [QNAN, ONE]), ONE);
      assertEquals(float(program, [ONE, QNAN]), ONE);
      assertEquals(float(program, [SNAN, ONE]), ONE);
      assertEquals(float(program, [QNAN, ONE], 0xf0 | IEEE), ONE);
      assertEquals(float(program, [ONE, SNAN], 0xf0 | IEEE), 0x7fe00000);
    }
    assertEquals([float(min, [0, MINUS]), float(max, [MINUS, 0])], [MINUS, 0]);
  });

  test("C: denormals with MODE 0xc0 (f32 flushed, f16 and f64 kept) and 0x00 (all flushed)", () => {
    const add = asm`v_add_f32_e32 v0, v1, v2`, denormal = 0x00400000;
    assertEquals(float(add, [denormal, 0], 0xf0), denormal);
    assertEquals(float(add, [denormal, denormal], 0xf0), 0x00800000);
    assertEquals(float(add, [denormal | MINUS, MINUS], 0xc0), MINUS);
    // A result that becomes denormal is flushed too.
    assertEquals(float(asm`v_mul_f32_e32 v0, v1, v2`, [0x00800000, f32(0.5)], 0xc0), 0);
    const add16 = asm`v_add_f16_e32 v0, v1, v2`;
    assertEquals([float(add16, [1, 1], 0xc0), float(add16, [1, 1], 0)], [2, 0]);
    const wide = (mode: number) =>
      execute(asm`v_add_f64 v[0:1], v[2:3], v[2:3]`, { v: { 2: 1, 3: 0 }, mode, exec: 1n }).v64(0);
    assertEquals([wide(0xc0), wide(0)], [2n, 0n]);
    // Moves and bit operations are no float operations.
    assertEquals(float(asm`v_mov_b32_e32 v0, v1`, [denormal], 0), denormal);
  });

  test("C: output modifiers work only where denormals are flushed and IEEE mode is off", () => {
    const twice = asm`v_add_f32_e64 v0, v1, v2 mul:2`;
    assertEquals(float(twice, [ONE, ONE], 0xc0), f32(4));
    assertEquals(float(twice, [ONE, ONE], 0xf0), TWO);
    assertEquals(float(twice, [ONE, ONE], 0xc0 | IEEE), TWO);
    assertEquals(float(asm`v_add_f32_e64 v0, v1, v2 div:2`, [ONE, 0], 0xc0), f32(0.5));
    assertEquals(float(asm`v_add_f32_e64 v0, v1, v2 mul:4`, [ONE, 0], 0xc0), f32(4));
  });

  test("C: clamping makes NaN zero with DX10_CLAMP, and keeps it without", () => {
    const clamp = asm`v_add_f32_e64 v0, v1, v2 clamp`;
    assertEquals(float(clamp, [QNAN, ONE], 0xf0 | DX10_CLAMP), 0);
    assertEquals(float(clamp, [QNAN, ONE]), QNAN);
    assertEquals([float(clamp, [TWO, ONE]), float(clamp, [f32(-3), ONE]), float(clamp, [MINUS, MINUS])], [ONE, 0, 0]);
  });

  test("C: clamp on integers saturates", () => {
    assertEquals(float(asm`v_add_nc_u32_e64 v0, v1, v2 clamp`, [0xfffffff0, 0x20]), 0xffffffff);
    assertEquals(float(asm`v_sub_nc_u32_e64 v0, v1, v2 clamp`, [1, 2]), 0);
    assertEquals(float(asm`v_add_nc_i32 v0, v1, v2 clamp`, [0x7ffffff0, 0x20]), 0x7fffffff);
    assertEquals(float(asm`v_sub_nc_i32 v0, v1, v2 clamp`, [0x80000000, 1]), 0x80000000);
  });

  test("C: v_cvt_pkrtz packs toward zero whatever MODE says", () => {
    const program = asm`v_cvt_pkrtz_f16_f32 v0, v1, v2`;
    const [a, b] = [f32(1 + 2 ** -10 - 2 ** -20), f32(-(1 + 2 ** -10 - 2 ** -20))];
    for (const mode of [0xf0, 0xf5, 0xfa]) assertEquals(float(program, [a, b], mode), (f16(-1) << 16 | f16(1)) >>> 0);
    // Too large becomes the largest number, not infinity.
    assertEquals(float(program, [f32(1e9), f32(-1e9)]), 0xfbff7bff);
  });

  test("C: zero times anything: +0 for v_mul_legacy and v_mad_legacy, the addend for v_fma_legacy", () => {
    const infinity = f32(Infinity);
    assertEquals(float(asm`v_mul_legacy_f32_e32 v0, v1, v2`, [MINUS, infinity]), 0);
    assertEquals(float(asm`v_mul_legacy_f32_e32 v0, v1, v2`, [QNAN, 0]), 0);
    assertEquals(float(asm`v_mad_legacy_f32 v0, v1, v2, v3`, [0, infinity, ONE], 0xc0), ONE);
    assertEquals(float(asm1030`v_fma_legacy_f32 v0, v1, v2, v3`, [0, infinity, ONE]), ONE);
    // It is added to +0, which makes -0 positive (LLVM, InstCombine of amdgcn.fma.legacy).
    assertEquals(float(asm1030`v_fma_legacy_f32 v0, v1, v2, v3`, [0, infinity, MINUS]), 0);
    assertEquals(float(asm`v_mul_f32_e32 v0, v1, v2`, [0, infinity]) & 0x7fc00000, 0x7fc00000);
  });

  test("C: opcode 0x06 of VOP2 is v_mac_legacy on gfx10.1 and v_fmac_legacy on gfx10.3", () => {
    // (1 + 2^-12)^2 - 1: the multiply-add rounds the product first, the fused one does not.
    const v = { 0: f32(-1), 1: f32(1 + 2 ** -12) };
    const word = [0x0c000301];
    const mac = runWords([...word, 0xbf810000], { v, mode: 0xc0, target: "gfx1013" }).v(0);
    const fmac = runWords([...word, 0xbf810000], { v, mode: 0xc0, target: "gfx1030" }).v(0);
    assertEquals([mac, fmac], [f32(2 ** -11), f32(2 ** -11 + 2 ** -24)]);
  });

  test("C: v_mullit gives the lowest number for a power that is none", () => {
    const program = asm`v_mullit_f32 v0, v1, v2, v3`;
    assertEquals(float(program, [f32(3), f32(4), ONE]), f32(12));
    assertEquals(float(program, [f32(3), f32(4), MINUS]), 0xff7fffff);
    assertEquals(float(program, [f32(3), f32(-Infinity), ONE]), 0xff7fffff);
  });

  test("C: an inline float in a 64-bit operation is that number in f64, a literal its high word", () => {
    const [lo, hi] = halves(f64(0.25));
    const add = execute(asm`v_add_f64 v[0:1], v[2:3], 1.0`, { v: { 2: lo, 3: hi } });
    assertEquals(add.v64(0), f64(1.25));
    assertEquals(execute(asm`v_add_f64 v[0:1], v[2:3], 0x3ff00000`, { v: { 2: lo, 3: hi } }).v64(0), f64(1.25));
    // In a 64-bit integer operation it is the f64 number's pattern too.
    assertEquals(execute(asm`s_mov_b64 s[0:1], 1.0`).s64(0), f64(1));
  });

  test("C: an inline integer in an f16 operation is its bit pattern", () => {
    const program = asm`v_mul_f16_e32 v0, 64, v1`;
    // 64 * 2^-24 times 2^14.
    assertEquals(execute(program, { v: { 0: 0, 1: f16(2 ** 14) } }).v(0), f16(2 ** -4));
    assertEquals(execute(asm`v_add_f16_e32 v0, 1.0, v1`, { v: { 0: 0, 1: f16(2) } }).v(0), f16(3));
  });
}
