/** Instructions that look at other lanes: DPP, permlane, readlane, swizzle, permute (AMD RDNA2 ISA, sections 12.8, 12.10, 12.12, 13). */
import { assertEquals } from "@std/assert";
import { asm, asm64, execute, type Program } from "./asm.ts";

/** Lane n holds 100 + n. */
const v = { 0: 7, 1: (lane: number) => 100 + lane };

/** Where each of the first lanes read from: lane numbers, "0" for zero, "-" for not written. */
function sources(program: Program, before: Parameters<typeof execute>[1] = {}, count = 16): string {
  return execute(program, { v, ...before }).lanes(0, count).map((value) =>
    value === 7 ? "-" : value === 0 ? "0" : String(value - 100)
  ).join(" ");
}

Deno.test("DPP16 moves within rows of 16 lanes", () => {
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf`),
    "3 2 1 0 7 6 5 4 11 10 9 8 15 14 13 12",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_shl:3 row_mask:0xf bank_mask:0xf`),
    "3 4 5 6 7 8 9 10 11 12 13 14 15 - - -",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xf bank_mask:0xf`),
    "- - - 0 1 2 3 4 5 6 7 8 9 10 11 12",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_ror:3 row_mask:0xf bank_mask:0xf`),
    "13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf`),
    "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0xf`),
    "7 6 5 4 3 2 1 0 15 14 13 12 11 10 9 8",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf`),
    "5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_xmask:5 row_mask:0xf bank_mask:0xf`),
    "5 4 7 6 1 0 3 2 13 12 15 14 9 8 11 10",
  );
  // The second row moves on its own.
  assertEquals(execute(asm`v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf`, { v }).v(0, 16), 121);
});

Deno.test("DPP16 bound_ctrl makes missing lanes zero; masks keep rows and banks from being written", () => {
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:0`),
    "3 4 5 6 7 8 9 10 11 12 13 14 15 0 0 0",
  );
  assertEquals(
    sources(asm`v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x5`),
    "0 1 2 3 - - - - 8 9 10 11 - - - -",
  );
  const rows = execute(asm`v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0x2 bank_mask:0xf`, { v });
  assertEquals([rows.v(0, 15), rows.v(0, 16), rows.v(0, 31)], [7, 116, 131]);
});

Deno.test("a lane outside EXEC is no source, unless fetch-inactive says so", () => {
  const exec = 0xfff7n; // lane 3 is off
  const shift = asm`v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf`;
  assertEquals(sources(shift, { exec }), "1 2 - - 5 6 7 8 9 10 11 12 13 14 15 -");
  const zero = asm`v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0`;
  assertEquals(sources(zero, { exec }), "1 2 0 - 5 6 7 8 9 10 11 12 13 14 15 0");
  const fetch = asm`v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf fi:1`;
  assertEquals(sources(fetch, { exec }), "1 2 3 - 5 6 7 8 9 10 11 12 13 14 15 -");
});

Deno.test("DPP8 permutes groups of eight lanes; inactive sources are zero without fi", () => {
  const program = asm`v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]`;
  assertEquals(sources(program), "7 6 5 4 3 2 1 0 15 14 13 12 11 10 9 8");
  assertEquals(sources(program, { exec: 0xfffen }, 8), "- 6 5 4 3 2 1 0");
  assertEquals(sources(program, { exec: 0xff7fn }, 8), "0 6 5 4 3 2 1 -");
  assertEquals(sources(asm`v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0] fi:1`, { exec: 0xff7fn }, 8), "7 6 5 4 3 2 1 -");
});

Deno.test("DPP on arithmetic and carries changes source 0 only", () => {
  const sum = execute(asm`v_add_nc_u32_dpp v0, v1, v1 row_shl:1 row_mask:0xf bank_mask:0xf`, { v });
  assertEquals([sum.v(0, 0), sum.v(0, 14), sum.v(0, 15)], [201, 229, 7]);
  const float = execute(asm`v_add_f32_dpp v0, -v2, |v3| row_ror:8 row_mask:0xf bank_mask:0xf`, {
    v: { 2: (lane) => lane < 8 ? 0x3f800000 : 0x40000000, 3: 0xc0800000 },
  });
  assertEquals([float.v(0, 0), float.v(0, 8)], [0x40000000, 0x40400000]);
  const carried = execute(asm`v_add_co_ci_u32_dpp v0, vcc_lo, v1, v1, vcc_lo row_shl:1 row_mask:0xf bank_mask:0xf`, {
    v,
    vcc: 1n,
  });
  assertEquals([carried.v(0, 0), carried.v(0, 15), carried.vcc], [202, 7, 0n]);
});

Deno.test("v_permlane16 permutes within rows, v_permlanex16 with the neighbour row", () => {
  const s = { 4: 0x89abcdef, 5: 0x01234567 };
  assertEquals(sources(asm`v_permlane16_b32 v0, v1, s4, s5`, { s }), "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0");
  const crossed = execute(asm`v_permlanex16_b32 v0, v1, s4, s5`, { s, v });
  assertEquals([crossed.v(0, 0), crossed.v(0, 15), crossed.v(0, 16), crossed.v(0, 31)], [131, 116, 115, 100]);
  const wide = execute(asm64`v_permlanex16_b32 v0, v1, s4, s5`, { s, v });
  assertEquals([wide.v(0, 32), wide.v(0, 63)], [163, 132]);
  // Lane 15 is off: lane 0 keeps its value, or reads zero with bound_ctrl, or reads it with fetch-inactive.
  const exec = 0x7fffn;
  assertEquals(execute(asm`v_permlane16_b32 v0, v1, s4, s5`, { s, v, exec }).v(0, 0), 7);
  assertEquals(execute(asm`v_permlane16_b32 v0, v1, s4, s5 op_sel:[0,1]`, { s, v, exec }).v(0, 0), 0);
  assertEquals(execute(asm`v_permlane16_b32 v0, v1, s4, s5 op_sel:[1,0]`, { s, v, exec }).v(0, 0), 115);
  // In place.
  assertEquals(execute(asm`v_permlane16_b32 v1, v1, s4, s5`, { s, v }).lanes(1, 4), [115, 114, 113, 112]);
});

Deno.test("readlane and writelane ignore EXEC and take the lane number modulo the wave's size", () => {
  const after = execute(
    asm`v_readlane_b32 s0, v1, s4
    v_readlane_b32 s1, v1, 33
    v_writelane_b32 v0, s5, 3`,
    { v, s: { 4: 5, 5: 42 }, exec: 0n },
  );
  assertEquals([after.s(0), after.s(1), after.v(0, 3), after.v(0, 2)], [105, 101, 42, 7]);
  assertEquals(execute(asm64`v_readlane_b32 s1, v1, 33`, { v }).s(1), 133);
});

Deno.test("readfirstlane takes the lowest active lane, lane 0 when there is none", () => {
  const program = asm64`v_readfirstlane_b32 s0, v1`;
  assertEquals([0b1000n, 1n << 40n, 0n].map((exec) => execute(program, { v, exec }).s(0)), [103, 140, 100]);
});

Deno.test("mbcnt counts bits below the own lane", () => {
  const before = { v: { 2: 1000 }, s: { 4: 0xaaaaaaaa, 5: 0xffffffff } };
  const lo = execute(asm64`v_mbcnt_lo_u32_b32 v0, s4, v2`, before);
  assertEquals([0, 1, 2, 31, 32, 63].map((lane) => lo.v(0, lane)), [1000, 1000, 1001, 1015, 1016, 1016]);
  const hi = execute(asm64`v_mbcnt_hi_u32_b32 v0, s5, v2`, before);
  assertEquals([0, 31, 32, 33, 63].map((lane) => hi.v(0, lane)), [1000, 1000, 1000, 1001, 1031]);
  assertEquals(execute(asm`v_mbcnt_hi_u32_b32 v0, s5, v2`, before).v(0, 31), 1000);
});

Deno.test("ds_swizzle: bit masks, quads, rotation and FFT; inactive lanes read as zero", () => {
  assertEquals(
    sources(asm`ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM,"00p11")`),
    "3 3 3 3 7 7 7 7 3 3 3 3 7 7 7 7",
  );
  assertEquals(
    sources(asm`ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)`),
    "16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31",
  );
  assertEquals(
    sources(asm`ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,1,0,3,2)`),
    "1 0 3 2 5 4 7 6 9 8 11 10 13 12 15 14",
  );
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,1,0,3,2)`, { exec: 0xfffen }, 4), "- 0 3 2");
  // 0xc000: rotation by 3 upwards; 0xc460: by 3 downwards; the mask keeps bits of the lane's number.
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:0xc060`, {}, 4), "3 4 5 6");
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:0xc460`, {}, 4), "29 30 31 0");
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:0xc07c`, {}, 4), "3 0 1 2");
  // 0xe000: reversed lane numbers; 0xe010: the upper half stays in its half.
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:0xe000`, {}, 8), "0 16 8 24 4 20 12 28");
  assertEquals(sources(asm`ds_swizzle_b32 v0, v1 offset:0xe010`, {}, 8), "0 8 4 12 2 10 6 14");
});

Deno.test("ds_bpermute fetches, ds_permute sends, both within halves of a wave64", () => {
  const addresses = { ...v, 2: (lane: number) => (lane + 1) * 4 };
  const fetched = execute(asm64`ds_bpermute_b32 v0, v2, v1`, { v: addresses });
  assertEquals([0, 30, 31, 32, 63].map((lane) => fetched.v(0, lane)), [101, 131, 100, 133, 132]);
  const sent = execute(asm64`ds_permute_b32 v0, v2, v1`, { v: addresses });
  assertEquals([0, 1, 32, 33].map((lane) => sent.v(0, lane)), [131, 100, 163, 132]);
  // Inactive sources give zero; nobody's target is zero; the highest sender wins; the offset is added.
  assertEquals(execute(asm`ds_bpermute_b32 v0, v2, v1`, { v: addresses, exec: 0b101n }).lanes(0, 3), [0, 7, 0]);
  const all = execute(asm`ds_permute_b32 v0, v2, v1`, { v: { ...v, 2: 4 } });
  assertEquals(all.lanes(0, 3), [0, 131, 0]);
  assertEquals(execute(asm`ds_bpermute_b32 v0, v2, v1 offset:8`, { v: addresses }).v(0, 0), 103);
});
