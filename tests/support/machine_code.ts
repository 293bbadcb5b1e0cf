/** Compute programs of the driver's tests, as machine code. Assembled with llvm-mc-19 for gfx1013; each line holds one instruction's words and text. */

/** In place: x = 3 * x + s2. s[0:1] words, s3 group id of 64 threads. */
export const STEP = Uint32Array.of(
  ...[0xd7460000, 0x04010c03], // v_lshl_add_u32 v0, s3, 6, v0
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  ...[0xdc308000, 0x01000000], // global_load_dword v1, v0, s[0:1]
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xd7460001, 0x04050301], // v_lshl_add_u32 v1, v1, 1, v1
  0x4a020202, // v_add_nc_u32_e32 v1, s2, v1
  ...[0xdc708000, 0x00000100], // global_store_dword v0, v1, s[0:1]
  0xbf810000, // s_endpgm
);

/** target[i] = source[i] + s4, for the threads of one group. s[0:1] source, s[2:3] target. The load is at pc 4, the store at pc 20. */
export const COPY = Uint32Array.of(
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  ...[0xdc308000, 0x01000000], // global_load_dword v1, v0, s[0:1]
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  0x4a020204, // v_add_nc_u32_e32 v1, s4, v1
  ...[0xdc708000, 0x00020100], // global_store_dword v0, v1, s[2:3]
  0xbf810000, // s_endpgm
);

/** Like {@linkcode COPY}, 16 bytes a thread, nothing added. The load is at pc 4, the store at pc 16. */
export const COPY16 = Uint32Array.of(
  0x34000084, // v_lshlrev_b32_e32 v0, 4, v0
  ...[0xdc388000, 0x01000000], // global_load_dwordx4 v[1:4], v0, s[0:1]
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xdc788000, 0x00020100], // global_store_dwordx4 v0, v[1:4], s[2:3]
  0xbf810000, // s_endpgm
);

/** Copies 8 bytes with a scalar load (pc 0). s[0:1] source, s[2:3] target; one thread. */
export const SCALAR_COPY = Uint32Array.of(
  ...[0xf4040100, 0xfa000000], // s_load_dwordx2 s[4:5], s[0:1], null
  0x7e000280, // v_mov_b32_e32 v0, 0
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  0x7e020204, // v_mov_b32_e32 v1, s4
  0x7e040205, // v_mov_b32_e32 v2, s5
  ...[0xdc748000, 0x00020100], // global_store_dwordx2 v0, v[1:2], s[2:3]
  0xbf810000, // s_endpgm
);

/** Atomically adds 7 to s[0:1][i] (pc 8), and stores what was there to s[2:3][i]; threads of one group. */
export const ATOMIC_ADD = Uint32Array.of(
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  0x7e020287, // v_mov_b32_e32 v1, 7
  ...[0xdcc98000, 0x02000100], // global_atomic_add v2, v0, v1, s[0:1] glc
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xdc708000, 0x00020200], // global_store_dword v0, v2, s[2:3]
  0xbf810000, // s_endpgm
);

/** target[i] = source[i]^2 + i. s[0:3] V# of the source, s[4:7] V# of the target, s8 group id of 64 threads. */
export const SQUARE = Uint32Array.of(
  ...[0xd7460000, 0x04010c08], // v_lshl_add_u32 v0, s8, 6, v0
  0x34020082, // v_lshlrev_b32_e32 v1, 2, v0
  ...[0xe0301000, 0x80000201], // buffer_load_dword v2, v1, s[0:3], 0 offen
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xd5690003, 0x00020502], // v_mul_lo_u32 v3, v2, v2
  0x4a060103, // v_add_nc_u32_e32 v3, v3, v0
  ...[0xe0701000, 0x80010301], // buffer_store_dword v3, v1, s[4:7], 0 offen
  0xbf810000, // s_endpgm
);

/** Reverses each 128 words through LDS. s[0:3] V# of the source, s[4:7] V# of the target, s8 group id of 128 threads; 512 bytes of LDS. */
export const REVERSE = Uint32Array.of(
  ...[0xd7460001, 0x04010e08], // v_lshl_add_u32 v1, s8, 7, v0
  0x34020282, // v_lshlrev_b32_e32 v1, 2, v1
  ...[0xe0301000, 0x80000201], // buffer_load_dword v2, v1, s[0:3], 0 offen
  0x34060082, // v_lshlrev_b32_e32 v3, 2, v0
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xd8340000, 0x00000203], // ds_write_b32 v3, v2
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  0xbf8a0000, // s_barrier
  ...[0x4c0806ff, 0x000001fc], // v_sub_nc_u32_e32 v4, 0x1fc, v3
  ...[0xd8d80000, 0x05000004], // ds_read_b32 v5, v4
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  ...[0xe0701000, 0x80010501], // buffer_store_dword v5, v1, s[4:7], 0 offen
  0xbf810000, // s_endpgm
);

/**
 * Steps of 3n+1 from source[i] | 1 to 1, 300 at most, of each lane by itself; lanes leave the loop one by one. s[0:3] V# of the source, s[4:7] V# of
 * the target, s8 group id of 64 threads. For waves of 32 lanes.
 */
export const COLLATZ_32 = Uint32Array.of(
  ...[0xd7460000, 0x04010c08], // v_lshl_add_u32 v0, s8, 6, v0
  0x34020082, // v_lshlrev_b32_e32 v1, 2, v0
  ...[0xe0301000, 0x80000201], // buffer_load_dword v2, v1, s[0:3], 0 offen
  0x7e060280, // v_mov_b32_e32 v3, 0
  0xbe89037e, // s_mov_b32 s9, exec_lo
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  0x38040481, // v_or_b32_e32 v2, 1, v2
  0x7d8a0481, // loop: v_cmp_ne_u32_e32 vcc_lo, 1, v2
  0x877e6a7e, // s_and_b32 exec_lo, exec_lo, vcc_lo
  0xbf88000c, // s_cbranch_execz done
  0x36080481, // v_and_b32_e32 v4, 1, v2
  0x2c0a0481, // v_lshrrev_b32_e32 v5, 1, v2
  ...[0xd7460006, 0x04090302], // v_lshl_add_u32 v6, v2, 1, v2
  0x4a0c0c81, // v_add_nc_u32_e32 v6, 1, v6
  0x7d840881, // v_cmp_eq_u32_e32 vcc_lo, 1, v4
  0x02040d05, // v_cndmask_b32_e32 v2, v5, v6, vcc_lo
  0x4a060681, // v_add_nc_u32_e32 v3, 1, v3
  ...[0x7d8806ff, 0x0000012c], // v_cmp_gt_u32_e32 vcc_lo, 0x12c, v3
  0x877e6a7e, // s_and_b32 exec_lo, exec_lo, vcc_lo
  0xbf89fff1, // s_cbranch_execnz loop
  0xbefe0309, // done: s_mov_b32 exec_lo, s9
  ...[0xe0701000, 0x80010301], // buffer_store_dword v3, v1, s[4:7], 0 offen
  0xbf810000, // s_endpgm
);

/** {@linkcode COLLATZ_32} for waves of 64 lanes. */
export const COLLATZ_64 = Uint32Array.of(
  ...[0xd7460000, 0x04010c08], // v_lshl_add_u32 v0, s8, 6, v0
  0x34020082, // v_lshlrev_b32_e32 v1, 2, v0
  ...[0xe0301000, 0x80000201], // buffer_load_dword v2, v1, s[0:3], 0 offen
  0x7e060280, // v_mov_b32_e32 v3, 0
  0xbe8a047e, // s_mov_b64 s[10:11], exec
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  0x38040481, // v_or_b32_e32 v2, 1, v2
  0x7d8a0481, // loop: v_cmp_ne_u32_e32 vcc, 1, v2
  0x87fe6a7e, // s_and_b64 exec, exec, vcc
  0xbf88000c, // s_cbranch_execz done
  0x36080481, // v_and_b32_e32 v4, 1, v2
  0x2c0a0481, // v_lshrrev_b32_e32 v5, 1, v2
  ...[0xd7460006, 0x04090302], // v_lshl_add_u32 v6, v2, 1, v2
  0x4a0c0c81, // v_add_nc_u32_e32 v6, 1, v6
  0x7d840881, // v_cmp_eq_u32_e32 vcc, 1, v4
  0x02040d05, // v_cndmask_b32_e32 v2, v5, v6, vcc
  0x4a060681, // v_add_nc_u32_e32 v3, 1, v3
  ...[0x7d8806ff, 0x0000012c], // v_cmp_gt_u32_e32 vcc, 0x12c, v3
  0x87fe6a7e, // s_and_b64 exec, exec, vcc
  0xbf89fff1, // s_cbranch_execnz loop
  0xbefe040a, // done: s_mov_b64 exec, s[10:11]
  ...[0xe0701000, 0x80010301], // buffer_store_dword v3, v1, s[4:7], 0 offen
  0xbf810000, // s_endpgm
);

/**
 * Every thread stores 0x1000000 | z << 16 | y << 8 | x at its place of a grid, and counts itself in the word behind. s[0:1] pairs of words; s3 threads in
 * x, s4 threads in x times y; s5 threads of a group, x | y << 8 | z << 16; s6, s7, s8 group ids; v0, v1, v2 thread ids.
 */
export const GRID = Uint32Array.of(
  ...[0x8709ff05, 0x000000ff], // s_and_b32 s9, s5, 0xff
  ...[0x938aff05, 0x00080008], // s_bfe_u32 s10, s5, 0x80008
  0x900b9005, // s_lshr_b32 s11, s5, 16
  ...[0xd5430003, 0x04001206], // v_mad_u32_u24 v3, s6, s9, v0
  ...[0xd5430004, 0x04041407], // v_mad_u32_u24 v4, s7, s10, v1
  ...[0xd5430005, 0x04081608], // v_mad_u32_u24 v5, s8, s11, v2
  ...[0xd5690006, 0x00000704], // v_mul_lo_u32 v6, v4, s3
  ...[0xd5690007, 0x00000905], // v_mul_lo_u32 v7, v5, s4
  ...[0xd76d0006, 0x040e0f06], // v_add3_u32 v6, v6, v7, v3
  0x340c0c83, // v_lshlrev_b32_e32 v6, 3, v6
  ...[0xd76f0007, 0x040d1104], // v_lshl_or_b32 v7, v4, 8, v3
  ...[0xd76f0007, 0x041d2105], // v_lshl_or_b32 v7, v5, 16, v7
  ...[0x380e0eff, 0x01000000], // v_or_b32_e32 v7, 0x1000000, v7
  0x7e100281, // v_mov_b32_e32 v8, 1
  ...[0xdc708000, 0x00000706], // global_store_dword v6, v7, s[0:1]
  ...[0xdcc88004, 0x00000806], // global_atomic_add v6, v8, s[0:1] offset:4
  0xbf810000, // s_endpgm
);

/** target[i] = source[i] * s4 in f32. s[0:1] source, s[2:3] target; threads of one group. */
export const MULTIPLY = Uint32Array.of(
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  ...[0xdc308000, 0x01000000], // global_load_dword v1, v0, s[0:1]
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  0x10020204, // v_mul_f32_e32 v1, s4, v1
  ...[0xdc708000, 0x00020100], // global_store_dword v0, v1, s[2:3]
  0xbf810000, // s_endpgm
);

/** s[0:1][i] = table[i & 3], threads of one group. The table follows the code and is found through the program counter. */
export const TABLE = Uint32Array.of(
  0xbe841f00, // s_getpc_b64 s[4:5]
  ...[0x8004ff04, 0x00000030], // s_add_u32 s4, s4, 48
  0x82058005, // s_addc_u32 s5, s5, 0
  0x36020083, // v_and_b32_e32 v1, 3, v0
  0x34020282, // v_lshlrev_b32_e32 v1, 2, v1
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  ...[0xdc308000, 0x02040001], // global_load_dword v2, v1, s[4:5]
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xdc708000, 0x00000200], // global_store_dword v0, v2, s[0:1]
  0xbf810000, // s_endpgm
  ...[0x11111111, 0x22222222, 0x33333333, 0x44444444],
);

/** s3 = 3 * s3 + 1, s2 times, from 0; stores it at s[0:1]. One thread. */
export const LONG_LOOP = Uint32Array.of(
  0xbe830380, // s_mov_b32 s3, 0
  0x93038303, // loop: s_mul_i32 s3, s3, 3
  0x80038103, // s_add_u32 s3, s3, 1
  0x80828102, // s_sub_u32 s2, s2, 1
  0xbf078002, // s_cmp_lg_u32 s2, 0
  0xbf85fffb, // s_cbranch_scc1 loop
  0x7e000280, // v_mov_b32_e32 v0, 0
  0x7e020203, // v_mov_b32_e32 v1, s3
  ...[0xdc708000, 0x00000100], // global_store_dword v0, v1, s[0:1]
  0xbf810000, // s_endpgm
);

/** Three things that no compute program may do here, at pc 0, 8 and 16. */
export const UNSUPPORTED = Uint32Array.of(
  0xbf900001, // s_sendmsg sendmsg(MSG_INTERRUPT)
  0x7e0002f2, // v_mov_b32_e32 v0, 1.0
  ...[0xf800080f, 0x00000000], // exp mrt0 v0, v0, v0, v0 done
  ...[0xd8660000, 0x00000000], // ds_gws_init v0 gds
  0xbf810000, // s_endpgm
);

/**
 * out[y * s4 + x] = component x of an image's texel, for the threads (x, y) of one group. s[0:1] the image's T# in memory, s[2:3] out. The image is
 * loaded at pc 24.
 */
export const IMAGE_LOAD = Uint32Array.of(
  ...[0xf40c0200, 0xfa000000], // s_load_dwordx8 s[8:15], s[0:1], null
  ...[0xd5430002, 0x04000901], // v_mad_u32_u24 v2, v1, s4, v0
  0x34040482, // v_lshlrev_b32_e32 v2, 2, v2
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  ...[0xf0001108, 0x00020300], // image_load v3, v[0:1], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  ...[0xdc708000, 0x00020302], // global_store_dword v2, v3, s[2:3]
  0xbf810000, // s_endpgm
);

/** out[8 * y + x] = 1 + x of the wave's first lane. s[0:1] out, v0 and v1 thread ids in a group of 8 in x. */
export const READ_FIRST = Uint32Array.of(
  0x7e060500, // v_readfirstlane_b32 s3, v0
  ...[0xd7460002, 0x04010701], // v_lshl_add_u32 v2, v1, 3, v0
  0x34040482, // v_lshlrev_b32_e32 v2, 2, v2
  0x7e060203, // v_mov_b32_e32 v3, s3
  0x4a060681, // v_add_nc_u32_e32 v3, 1, v3
  ...[0xdc708000, 0x00000302], // global_store_dword v2, v3, s[0:1]
  0xbf810000, // s_endpgm
);
