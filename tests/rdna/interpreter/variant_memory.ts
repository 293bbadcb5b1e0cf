/** Small cases in which implementations of this instruction set have differed: LDS (D), scalars (E), memory and images (F). See variant_cases.ts. */
import { assertEquals } from "@std/assert";
import { asm, asm64, type Program } from "./asm.ts";
import { F, IMAGE, imageAt8, rows, samplerAt16, type SamplerFields, Type } from "./image.ts";
import { type Before, f16, f32, halves } from "./machine.ts";
import type { VariantAfter, VariantMachine } from "./variant_cases.ts";

/** Registers the cases D, E and F. */
export function variantMemoryCases({ test, execute }: VariantMachine): void {
  /** A run with `words` at the image's address; four lanes unless EXEC is given. */
  function withImage(program: Program, words: Uint32Array, before: Before = {}): VariantAfter & { words: Uint32Array } {
    const memory = new Map([[IMAGE, new Uint8Array(words.buffer as ArrayBuffer)]]);
    return { ...execute(program, { exec: 0xfn, memory, ...before }), words };
  }

  test("D: ds_wrxchg2 gives the old value of offset 0 first, and takes its data in the same order", () => {
    const after = execute(asm`ds_wrxchg2_rtn_b32 v[4:5], v1, v2, v3 offset0:1 offset1:3`, {
      v: { 1: 0, 2: 0xaa, 3: 0xbb },
      lds: [10, 11, 12, 13],
      exec: 1n,
    });
    assertEquals([after.v(4), after.v(5)], [11, 13]);
    assertEquals([0, 4, 8, 12].map((address) => after.lds(address)), [10, 0xaa, 12, 0xbb]);
    // The st64 form counts in 64 elements.
    const far = execute(asm`ds_wrxchg2st64_rtn_b32 v[4:5], v1, v2, v3 offset1:1`, {
      v: { 1: 0, 2: 0xaa, 3: 0xbb },
      lds: Array.from({ length: 128 }, (_, n) => n),
      exec: 1n,
    });
    assertEquals([far.v(4), far.v(5), far.lds(0), far.lds(256)], [0, 64, 0xaa, 0xbb]);
    const wide = execute(asm`ds_wrxchg2_rtn_b64 v[8:11], v1, v[2:3], v[4:5] offset1:1`, {
      v: { 1: 0, 2: 1, 3: 2, 4: 3, 5: 4 },
      lds: [10, 11, 12, 13],
      exec: 1n,
    });
    assertEquals([8, 9, 10, 11].map((register) => wide.v(register)), [10, 11, 12, 13]);
    assertEquals([0, 4, 8, 12].map((address) => wide.lds(address)), [1, 2, 3, 4]);
  });

  test("D: 64-bit LDS atomics carry between the halves", () => {
    const after = execute(asm`ds_add_rtn_u64 v[4:5], v1, v[2:3]`, {
      v: { 1: 0, 2: 1, 3: 0 },
      lds: [0xffffffff, 7],
      exec: 3n,
    });
    assertEquals([after.lds(0), after.lds(4)], [1, 8]);
    assertEquals([after.v64(4, 0), after.v64(4, 1)], [0x7_ffff_ffffn, 0x8_0000_0000n]);
  });

  test("D: ds_condxchg32 exchanges each dword whose datum has bit 31, without that bit", () => {
    const after = execute(asm`ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3]`, {
      v: { 1: 0, 2: 0x80000007, 3: 0x00000009 },
      lds: [100, 101],
      exec: 1n,
    });
    assertEquals([after.v(4), after.v(5), after.lds(0), after.lds(4)], [100, 101, 7, 101]);
  });

  test("D: an atomic gives its old value back only with GLC (memory) or _rtn (LDS)", () => {
    const base = 0x1_0000_0000n;
    const [lo, hi] = halves(base);
    const run = (program: Program) =>
      execute(program, {
        s: { 4: lo, 5: hi },
        v: { 0: 77, 1: 0, 2: 5 },
        lds: [40],
        memory: new Map([[base, Uint8Array.of(40, 0, 0, 0)]]),
        exec: 1n,
      });
    assertEquals(run(asm`global_atomic_add v1, v2, s[4:5]`).v(0), 77);
    assertEquals(run(asm`global_atomic_add v0, v1, v2, s[4:5] glc`).v(0), 40);
    assertEquals([run(asm`ds_add_u32 v1, v2`).v(0), run(asm`ds_add_u32 v1, v2`).lds(0)], [77, 45]);
    assertEquals(run(asm`ds_add_rtn_u32 v0, v1, v2`).v(0), 40);
  });

  test("D: D16 loads change half a register; wide loads write as many registers as they say", () => {
    const before: Before = { v: { 1: 0, 4: 0x11112222, 5: 9, 6: 9, 7: 9, 8: 9 }, lds: [0x8765, 2, 3, 4], exec: 1n };
    assertEquals(execute(asm`ds_read_u16_d16 v4, v1`, before).v(4), 0x11118765);
    assertEquals(execute(asm`ds_read_u16_d16_hi v4, v1`, before).v(4), 0x87652222);
    const three = execute(asm`ds_read_b96 v[4:6], v1`, before);
    assertEquals([4, 5, 6, 7].map((register) => three.v(register)), [0x8765, 2, 3, 9]);
    const two = execute(asm`ds_read2_b64 v[4:7], v1 offset1:1`, before);
    assertEquals([4, 5, 6, 7, 8].map((register) => two.v(register)), [0x8765, 2, 3, 4, 9]);
  });

  test("E: of equal operands s_max takes the first, so that SCC is 1, and s_min the second (AMD's machine-readable ISA)", () => {
    const scc = (program: Program, a: number, b: number, before: 0 | 1) =>
      execute(program, { s: { 4: a, 5: b }, scc: before }).scc;
    for (const program of [asm`s_max_i32 s0, s4, s5`, asm`s_max_u32 s0, s4, s5`]) {
      assertEquals([scc(program, 7, 7, 0), scc(program, 8, 7, 0), scc(program, 7, 8, 1)], [1, 1, 0], program.lines[0]);
    }
    for (const program of [asm`s_min_i32 s0, s4, s5`, asm`s_min_u32 s0, s4, s5`]) {
      assertEquals([scc(program, 7, 7, 1), scc(program, 7, 8, 0), scc(program, 8, 7, 1)], [0, 1, 0], program.lines[0]);
    }
  });

  test("E: s_lshl4_add carries out of 32 bits", () => {
    const sum = (a: number, b: number) => {
      const after = execute(asm`s_lshl4_add_u32 s0, s4, s5`, { s: { 4: a, 5: b } });
      return [after.s(0), after.scc];
    };
    assertEquals(sum(1, 2), [18, 0]);
    assertEquals(sum(0x0fffffff, 0x10), [0, 1]);
    // Bits that the shift loses count as a carry too.
    assertEquals(sum(0x10000000, 0), [0, 1]);
  });

  test("E: s_bfe_u64 of width 0 is 0, and of a width behind the end the bits there are", () => {
    const field = (offset: number, width: number) => {
      const [lo, hi] = halves(0xf234_5678_9abc_def0n);
      const after = execute(asm`s_bfe_u64 s[0:1], s[4:5], s6`, { s: { 4: lo, 5: hi, 6: width << 16 | offset } });
      return [after.s64(0), after.scc];
    };
    assertEquals(field(8, 0), [0n, 0]);
    assertEquals(field(60, 10), [0xfn, 1]);
    assertEquals(field(0, 64), [0xf234_5678_9abc_def0n, 1]);
    assertEquals(field(4, 127), [0xf23_4567_89ab_cdefn, 1]);
  });

  test("E: 32-bit writes change half of VCC or EXEC", () => {
    const after = execute(
      asm64`s_mov_b32 vcc_lo, 5
    s_mov_b32 exec_hi, 6`,
      { vcc: 0x1111_1111_2222_2222n, exec: 0x3333_3333_4444_4444n },
    );
    assertEquals([after.vcc, after.exec], [0x1111_1111_0000_0005n, 0x0000_0006_4444_4444n]);
    // A wave of 32 lanes compares into the low half only.
    const compared = execute(asm`v_cmp_eq_u32_e32 vcc_lo, v1, v1`, { vcc: 9n << 32n, v: { 1: 1 } });
    assertEquals([compared.s(106), compared.s(107)], [0xffffffff, 9]);
  });

  test("E: VOP3B writes its mask to any pair; 32 lanes need one register", () => {
    const carry = execute(asm`v_add_co_u32 v0, s7, v1, v1`, {
      v: { 1: (lane) => lane & 1 ? 0x80000000 : 1 },
      s: { 8: 3 },
    });
    assertEquals([carry.s(7), carry.s(8), carry.vcc], [0xaaaaaaaa, 3, 0n]);
    const wide = execute(asm64`v_mad_u64_u32 v[0:1], s[8:9], v2, v2, v[4:5]`, {
      v: { 2: 0xffffffff, 4: 0xffffffff, 5: (lane) => lane === 40 ? 0xffffffff : 0 },
    });
    assertEquals([wide.s64(8), wide.v64(0, 0)], [1n << 40n, 0xffff_ffff_0000_0000n]);
    const scale = execute(asm`v_div_scale_f32 v0, s7, v1, v1, v2`, { v: { 1: f32(2), 2: f32(2 ** 120) }, s: { 7: 9 } });
    assertEquals(scale.s(7), 0xffffffff);
  });

  const BASE = 0x2_0000_0000n;

  /** A buffer of dwords 0, 1, 2, ... with a descriptor in s[4:7]; v1 is the lane, v2 four times the lane; four lanes. */
  function buffer(program: Program, records: number, stride: number, word3: number, before: Before = {}) {
    const words = Uint32Array.from({ length: 64 }, (_, n) => n);
    const [lo, hi] = halves(BASE);
    return execute(program, {
      exec: 0xfn,
      ...before,
      s: { 4: lo, 5: (hi | stride << 16) >>> 0, 6: records, 7: word3, ...before.s },
      v: { 1: (lane) => lane, 2: (lane) => lane * 4, ...before.v },
      memory: new Map([[BASE, new Uint8Array(words.buffer)]]),
    });
  }

  test("F: a structured buffer (word 3 0x01016fac) reads 0 for index >= records or offset >= stride", () => {
    const load = asm`buffer_load_dword v0, v[1:2], s[4:7], 0 idxen offen`;
    // Record n of 8 bytes, offset 4n: only offsets 0 and 4 are inside, only records 0 to 2 exist.
    assertEquals(buffer(load, 3, 8, 0x01016fac).lanes(0, 4), [0, 3, 0, 0]);
  });

  test("F: a raw buffer (word 3 0x31016fac) reads 0 from NUM_RECORDS bytes on", () => {
    assertEquals(buffer(asm`buffer_load_dword v0, v2, s[4:7], 0 offen`, 12, 0, 0x31016fac).lanes(0, 4), [0, 1, 2, 0]);
  });

  test("F: a swizzled buffer interleaves dwords of eight records", () => {
    const load = asm`buffer_load_dword v0, v1, s[4:7], 0 idxen offset:4`;
    assertEquals(buffer(load, 16, 8 | 0x8000, 0x11016fac).lanes(0, 4), [8, 9, 10, 11]);
  });

  test("F: the D16 format opcodes 128 to 135 move packed halves", () => {
    const words = Uint32Array.of(0x80ff4000);
    const [lo, hi] = halves(BASE);
    const run = (program: Program, v: Before["v"] = {}) =>
      execute(program, {
        exec: 1n,
        s: { 4: lo, 5: hi, 6: 4, 7: 0x30000000 | 56 << 12 | 0xfac },
        v,
        memory: new Map([[BASE, new Uint8Array(words.buffer)]]),
      });
    const g = f16(64 / 255) << 16, ba = (f16(128 / 255) << 16 | f16(1)) >>> 0;
    assertEquals(run(asm`buffer_load_format_d16_x v0, off, s[4:7], 0`).v(0), 0);
    assertEquals(run(asm`buffer_load_format_d16_xy v0, off, s[4:7], 0`).v(0), g);
    const xyz = run(asm`buffer_load_format_d16_xyz v[0:1], off, s[4:7], 0`);
    assertEquals([xyz.v(0), xyz.v(1) & 0xffff], [g, f16(1)]);
    const xyzw = run(asm`buffer_load_format_d16_xyzw v[0:1], off, s[4:7], 0`);
    assertEquals([xyzw.v(0), xyzw.v(1)], [g, ba]);
    run(asm`buffer_store_format_d16_xyzw v[0:1], off, s[4:7], 0`, { 0: ba, 1: g });
    assertEquals(words[0], 0x400080ff);
  });

  test("F: the LDS bit of MUBUF sends the data to LDS at M0", () => {
    const after = buffer(asm`buffer_load_dword v1, s[4:7], 0 idxen lds`, 64, 4, 0x01016fac, { m0: 32 });
    assertEquals([32, 36, 40, 44].map((address) => after.lds(address)), [0, 1, 2, 3]);
    assertEquals(after.lanes(1, 4), [0, 1, 2, 3]);
  });

  test("F: image atomics on 32_SINT compare with the sign", () => {
    const program = asm`image_atomic_smax v0, v[4:5], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D glc`;
    const before: Before = { s: imageAt8({ format: F.S32 }), v: { 0: 5, 4: 0, 5: 0 }, exec: 1n };
    const after = withImage(program, rows(8, 4, () => 0xffffffff), before);
    assertEquals([after.words[0], after.v(0)], [5, 0xffffffff]);
  });

  const f = (...values: number[]) => values.map(f32);
  const grid = () => rows(8, 4, (x, y) => f32(x + 10 * y));

  function sample(program: Program, v: Before["v"], sampler: SamplerFields, image = {}, words = grid()) {
    const s = { ...imageAt8({ format: F.F32, ...image }), ...samplerAt16(sampler) };
    return withImage(program, words, { s, v, exec: 0xfn });
  }

  test("F: unnormalized coordinates count texels", () => {
    const program = asm`image_sample_lz v0, v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    const v = { 4: f(0, 3.5, 7.9, 2), 5: f(0, 1.5, 3.9, 2) };
    assertEquals(sample(program, v, { unnormalized: true, clamp: [2, 2, 2] }).lanes(0, 4), f(0, 13, 37, 22));
  });

  test("F: a mip level is limited to the levels that exist", () => {
    const words = rows(8, 8, (_, y) => f32(y === 0 ? 3 : y === 1 ? 2 : y < 4 ? 1 : 0));
    const program = asm`image_sample_l v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    const chain = { pitch: 64, lastLevel: 3 };
    const v = { 4: 0, 5: 0, 6: f(-5, 1, 3, 99) };
    assertEquals(sample(program, v, { mip: 1 }, chain, words).lanes(0, 4), f(0, 1, 3, 3));
    // Loads do not limit: what does not exist is 0.
    const load = asm`image_load_mip v0, v[4:6], s[8:15] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    assertEquals(sample(load, { 4: 0, 5: 0, 6: [0, 1, 3, 4] }, {}, chain, words).lanes(0, 4), f(0, 1, 3, 0));
  });

  test("F: the address of image_sample_c_lz is reference, x, y", () => {
    const program = asm`image_sample_c_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    // The texel at (2, 1) is 12: "less" passes for 11.
    const v = { 4: f(11, 13, 11, 13), 5: f32(2.5 / 8), 6: f32(1.5 / 4) };
    assertEquals(sample(program, v, { compare: 1 }).lanes(0, 4), f(1, 0, 1, 0));
    // With offsets and bias: offset, bias, reference, x, y.
    const all = asm`image_sample_c_b_o v0, v[4:8], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    const packed = { 4: 0x3f | 1 << 8, 5: 0, 6: f(20.5, 21.5, 20.5, 21.5), 7: f32(2.5 / 8), 8: f32(1.5 / 4) };
    assertEquals(sample(all, packed, { compare: 1 }).lanes(0, 4), f(1, 0, 1, 0));
  });

  test("F: image_gather4_l takes its level behind the coordinates", () => {
    const words = rows(8, 8, (x, y) => f32(x + 10 * y));
    const program = asm`image_gather4_l v[0:3], v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D`;
    // Level 1 is 4x2 in rows 2 and 3.
    const v = { 4: f32(0.5), 5: f32(0.5), 6: f32(1) };
    const after = sample(program, v, { clamp: [2, 2, 2] }, { pitch: 64, lastLevel: 3 }, words);
    assertEquals([0, 1, 2, 3].map((register) => after.v(register)), f(31, 32, 22, 21));
    // A cube array: eight layers to a cube in the coordinate, six in memory.
    const faces = rows(1, 12, (_, y) => f32(y));
    const cube = asm`image_sample_lz v0, v[4:6], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_CUBE`;
    const cubes = { type: Type.Cube, width: 1, height: 1, depth: 12 };
    const at = { 4: f32(1.5), 5: f32(1.5), 6: f(0, 5, 8, 13) };
    assertEquals(sample(cube, at, {}, cubes, faces).lanes(0, 4), f(0, 5, 6, 11));
  });
}
