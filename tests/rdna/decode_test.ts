import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../src/errors.ts";
import { decode } from "../../src/rdna/decode.ts";
import { Encoding, Extra, Flag, Instruction, Operand } from "../../src/rdna/instruction.ts";
import { opcodeId, OPCODES } from "../../src/rdna/table.ts";
import type { Target } from "../../src/rdna/target.ts";

function one(words: number[], target: Target = "gfx1030"): Instruction {
  return decode(Uint32Array.from(words), 0, target);
}

/** Checks the named fields of an instruction. */
function check(instruction: Instruction, name: string, fields: Partial<Instruction>): void {
  assertEquals(OPCODES[instruction.op].name, name);
  for (const [field, value] of Object.entries(fields)) {
    assertEquals(instruction[field as keyof Instruction], value, `${name} ${field}`);
  }
}

const v = (register: number) => Operand.Vgpr0 + register;

Deno.test("SOP2 has a destination and two sources, with the ISA's operand numbers", () => {
  check(one([0x80040a06]), "s_add_u32", { encoding: Encoding.Sop2, dst: 4, src0: 6, src1: 10, size: 1, src2: -1 });
});

Deno.test("A literal constant follows the instruction and makes it longer", () => {
  check(one([0x808400ff, 0x12345678]), "s_sub_u32", { src0: Operand.Literal, src1: 0, literal: 0x12345678, size: 2 });
  check(one([0x060604ff, 0xc0490fdb]), "v_add_f32", { src0: Operand.Literal, literal: 0xc0490fdb, size: 2 });
  check(one([0xd54b0005, 0x03fdff01, 0x40400000]), "v_fma_f32", {
    src1: Operand.Literal,
    src2: Operand.Literal,
    size: 3,
  });
});

Deno.test("SOPK immediates are signed, and s_cmpk takes its register as a source", () => {
  check(one([0xb004fff0]), "s_movk_i32", { dst: 4, imm: -16, src0: -1 });
  check(one([0xb1848000]), "s_cmpk_eq_i32", { dst: -1, src0: 4, imm: -32768 });
  check(one([0xba80f801, 0x3f8]), "s_setreg_imm32_b32", { src0: Operand.Literal, literal: 0x3f8, size: 2 });
});

Deno.test("SOPP branch offsets are signed words", () => {
  check(one([0xbf88fffe]), "s_cbranch_execz", { encoding: Encoding.Sopp, imm: -2 });
});

Deno.test("SMEM has a 21-bit signed offset, and an SGPR offset unless the field holds NULL", () => {
  check(one([0xf4080304, 0x0c1ffff0]), "s_load_dwordx4", {
    dst: 12,
    srsrc: 8,
    soffset: 6,
    imm: -16,
    flags: Flag.SgprOffset,
    size: 2,
  });
  check(one([0xf4000081, 0xfa000010]), "s_load_dword", { dst: 2, srsrc: 2, soffset: -1, imm: 16, flags: 0 });
});

Deno.test("Scalar atomics exist on gfx1013 only, and return the old value with GLC only", () => {
  check(one([0xf6080081, 0xfa000004], "gfx1013"), "s_atomic_add", { data: 2, dst: -1 });
  check(one([0xf6090081, 0xfa000004], "gfx1013"), "s_atomic_add", { data: 2, dst: 2, flags: Flag.Glc });
  const error = assertThrows(() => one([0xf6080081, 0xfa000004]), InvalidInputError);
  assertStringIncludes(error.message, "s_atomic_add on gfx1013");
});

Deno.test("The implied operands of 32-bit encodings are set", () => {
  check(one([0x02060501]), "v_cndmask_b32", { dst: v(3), src0: v(1), src1: v(2), src2: Operand.Vcc, sdst: -1 });
  check(one([0x50060501]), "v_add_co_ci_u32", { dst: v(3), sdst: Operand.Vcc, src2: Operand.Vcc });
  check(one([0x7c0406f0]), "v_cmp_eq_f32", { dst: -1, sdst: Operand.Vcc, src0: 240, src1: v(3) });
  check(one([0x7da40501]), "v_cmpx_eq_u32", { dst: -1, sdst: Operand.Exec });
});

Deno.test("An opcode has one id in all its encodings", () => {
  const id = opcodeId("v_add_f32");
  const forms: [number[], Partial<Instruction>][] = [
    [[0x06060501], { encoding: Encoding.Vop2, extra: Extra.None, flags: 0 }],
    [[0xd5030003, 0x00020501], { encoding: Encoding.Vop3, flags: Flag.E64 }],
    [[0x060604f9, 0x06060601], { encoding: Encoding.Vop2, extra: Extra.Sdwa, control: 0x06060601 }],
    [[0x060604fa, 0xff011101], { encoding: Encoding.Vop2, extra: Extra.Dpp16, control: 0x111, masks: 0xff }],
    [[0x060604e9, 0xfac68801], { encoding: Encoding.Vop2, extra: Extra.Dpp8, control: 0xfac688 }],
  ];
  for (const [words, fields] of forms) {
    const instruction = one(words);
    assertEquals(instruction.op, id);
    check(instruction, "v_add_f32", { ...fields, dst: v(3), src0: v(1), src1: v(2) });
  }
});

Deno.test("The target decides between the two meanings of VOP2 6 and VOP3 0x140", () => {
  assertEquals(OPCODES[one([0x0c060501], "gfx1013").op].name, "v_mac_legacy_f32");
  assertEquals(OPCODES[one([0x0c060501], "gfx1030").op].name, "v_fmac_legacy_f32");
  assertEquals(OPCODES[one([0xd5400003, 0x040e0501], "gfx1013").op].name, "v_mad_legacy_f32");
  assertEquals(OPCODES[one([0xd5400003, 0x040e0501], "gfx1030").op].name, "v_fma_legacy_f32");
});

Deno.test("A word seen in console shaders is v_mac_f32 on gfx1013 and refused on gfx1030", () => {
  check(one([0x3e261221], "gfx1013"), "v_mac_f32", { dst: v(19), src0: 33, src1: v(9) });
  const error = assertThrows(() => one([0x3e261221]), InvalidInputError);
  assertEquals(error.code, "rdna.no-instruction");
  assertEquals(error.place, { pc: 0, words: [0x3e261221] });
  assertStringIncludes(error.message, "v_mac_f32 on gfx1013");
});

Deno.test("The literal of v_fmamk and v_fmaak stands where the formula has it", () => {
  check(one([0x58060501, 0x3f000000]), "v_fmamk_f32", {
    src0: v(1),
    src1: Operand.Literal,
    src2: v(2),
    literal: 0x3f000000,
    size: 2,
  });
  check(one([0x5a060501, 0x3f000000]), "v_fmaak_f32", { src0: v(1), src1: v(2), src2: Operand.Literal, size: 2 });
});

Deno.test("VOP3 carries negate, absolute value, clamp and the output modifier", () => {
  check(one([0xd5038105, 0x58020501]), "v_add_f32", {
    abs: 1,
    neg: 2,
    omod: 3,
    flags: Flag.Clamp | Flag.E64,
    dst: v(5),
  });
});

Deno.test("VOP3B names a lane mask where VOP3 has absolute values", () => {
  check(one([0xd5760204, 0x04120602]), "v_mad_u64_u32", {
    dst: v(4),
    sdst: 2,
    src0: 2,
    src1: v(3),
    src2: v(4),
    abs: 0,
  });
  check(one([0xd5286a03, 0x01aa0501]), "v_add_co_ci_u32", {
    dst: v(3),
    sdst: Operand.Vcc,
    src2: Operand.Vcc,
    flags: Flag.E64,
  });
});

Deno.test("Unused fields are ignored: compilers leave 0x80 in an unused third source", () => {
  check(one([0xd5030003, 0x02020501]), "v_add_f32", { src0: v(1), src1: v(2), src2: -1 });
  check(one([0xd5810003, 0x02010101]), "v_mov_b32", { src0: v(1), src1: -1, src2: -1, neg: 0 });
  check(one([0xd5810003, 0xc2010101]), "v_mov_b32", { neg: 0 });
});

Deno.test("v_readlane and v_readfirstlane have a scalar destination", () => {
  check(one([0xd7600004, 0x00010302]), "v_readlane_b32", { dst: 4, src0: v(2), src1: 129 });
  check(one([0x7e040501]), "v_readfirstlane_b32", { dst: 2, src0: v(1) });
});

Deno.test("SDWA keeps its word, and takes scalar sources, modifiers and a scalar destination from it", () => {
  check(one([0x060604f9, 0x06951401]), "v_add_f32", { src0: 1, src1: v(2), neg: 1, extra: Extra.Sdwa, size: 2 });
  check(one([0x7d0404f9, 0x05048a01]), "v_cmp_eq_i32", { sdst: 10 });
  check(one([0x7d0404f9, 0x05040001]), "v_cmp_eq_i32", { sdst: Operand.Vcc });
  assertThrows(() => one([0x3e2612f9, 0x06060601], "gfx1013"), InvalidInputError, "v_mac_f32 has no SDWA form");
});

Deno.test("DPP16 has row and bank masks, bound control and fetch-inactive", () => {
  check(one([0x060604fa, 0x5f1d5501]), "v_add_f32", {
    control: 0x155,
    masks: 0x5f,
    neg: 1,
    flags: Flag.BoundCtrl | Flag.FetchInactive,
  });
  assertThrows(() => one([0x060604fa, 0xff013001]), InvalidInputError, "DPP control 0x130 is reserved");
});

Deno.test("VOP3P has its own meaning for the modifier bits", () => {
  check(one([0xcc0e5805, 0x3c0e0501]), "v_pk_fma_f16", {
    opSel: 3,
    opSelHi: 7,
    neg: 1,
    abs: 0,
    encoding: Encoding.Vop3p,
  });
});

Deno.test("Interpolation names attribute, channel and, for v_interp_mov, the parameter", () => {
  check(one([0xc8140901]), "v_interp_p1_f32", { dst: v(5), src0: v(1), dim: 2, mode: 1 });
  check(one([0xc8160902]), "v_interp_mov_f32", { dst: v(5), src0: -1, dim: 2, mode: 1, imm: 2 });
  check(one([0xd7420005, 0x00020302]), "v_interp_p1ll_f16", { src0: v(1), dim: 2, mode: 0, flags: Flag.High });
});

Deno.test("DS has an address, data, a result and one or two offsets", () => {
  check(one([0xd8340010, 0x00000201]), "ds_write_b32", { addr: v(1), data: v(2), data1: -1, dst: -1, imm: 16 });
  check(one([0xd8dc0201, 0x04000001]), "ds_read2_b32", { addr: v(1), data: -1, dst: v(4), imm: 0x201 });
  check(one([0xd8fa0000, 0x05000000]), "ds_append", { addr: -1, dst: v(5), flags: Flag.Gds });
});

Deno.test("GLOBAL and SCRATCH have optional scalar bases and signed 12-bit offsets", () => {
  check(one([0xdc308ff0, 0x057d0002]), "global_load_dword", { addr: v(2), dst: v(5), srsrc: -1, imm: -16, mode: 2 });
  check(one([0xdc308010, 0x05040002]), "global_load_dword", { addr: v(2), srsrc: 4, imm: 16 });
  check(one([0xdc704000, 0x00060304]), "scratch_store_dword", { addr: -1, srsrc: 6, data: v(3), mode: 1 });
  check(one([0xdc704000, 0x007f0304]), "scratch_store_dword", { addr: -1, srsrc: -1 });
  check(one([0xdcc88000, 0x057d0402]), "global_atomic_add", { data: v(4), dst: -1 });
  check(one([0xdcc98000, 0x057d0402]), "global_atomic_add", { data: v(4), dst: v(5), flags: Flag.Glc });
});

Deno.test("MUBUF has a resource, an offset operand and two kinds of vector address", () => {
  check(one([0xe0301010, 0x80020508]), "buffer_load_dword", {
    dst: v(5),
    data: -1,
    addr: v(8),
    srsrc: 8,
    soffset: Operand.Zero,
    imm: 16,
    flags: Flag.Offen,
  });
  check(one([0xe0700000, 0x80020508]), "buffer_store_dword", { dst: -1, data: v(5), addr: -1 });
  check(one([0xe8b12008, 0x03020508]), "tbuffer_load_format_xy", { mode: 22, flags: Flag.Idxen, soffset: 3 });
});

Deno.test("MIMG has a mask, a dimension, a sampler where it samples, and non-sequential addresses", () => {
  check(one([0xf0800f08, 0x00820110]), "image_sample", {
    dst: v(1),
    addr: v(16),
    srsrc: 8,
    soffset: 16,
    mode: 15,
    dim: 1,
    nsa: null,
  });
  check(one([0xf0201f18, 0xc0020110]), "image_store", {
    data: v(1),
    dst: -1,
    soffset: -1,
    dim: 3,
    flags: Flag.Unorm | Flag.A16 | Flag.D16,
  });
  const nsa = one([0xf0880f0c, 0x00820110, 0x17161514, 0x00000018]);
  check(nsa, "image_sample_d", { size: 4, flags: Flag.Nsa });
  assertEquals(nsa.nsa, [v(0x14), v(0x15), v(0x16), v(0x17), v(0x18), v(0), v(0), v(0)]);
  assertThrows(
    () => one([0xf0880f0a, 0x00820110, 0x17161514]),
    InvalidInputError,
    "needs 6 addresses, and 5 are given",
  );
});

Deno.test("EXP has four sources, a target and an enable mask", () => {
  check(one([0xf8001803, 0x04030201]), "exp", {
    dim: 0,
    mode: 3,
    src0: v(1),
    src1: v(2),
    src2: v(3),
    src3: v(4),
    flags: Flag.Done | Flag.ValidMask,
  });
});

Deno.test("A reused instruction keeps nothing of what it held before", () => {
  const reused = new Instruction();
  const program = Uint32Array.of(0xf0880f0c, 0x00820110, 0x17161514, 0x00000018, 0xd5038105, 0x58020501, 0xbf810000);
  decode(program, 0, "gfx1030", reused);
  decode(program, 16, "gfx1030", reused);
  assert(decode(program, 24, "gfx1030", reused) === reused);
  assertEquals(reused, decode(program, 24, "gfx1030"));
});

Deno.test("Words that are no instruction are refused with the reason, the pc and the words", () => {
  const refused: [number[], string][] = [
    [[0xffffffff], "the prefix 0x3f (bits 31:26) is no encoding"],
    [[0x00000000], "VOP2 opcode 0x0 is unassigned"],
    [[0x8004d206], "scalar source 210 is reserved"],
    [[0x80040afe], "scalar source 254 is reserved"],
    [[0x87850206], "starts at 5"],
    [[0x7e000600 | 0x1ff], "starts at v255"],
    [[0xd7600004, 0x00020302], "source 1 of v_readlane_b32 is no scalar"],
    [[0xd5250005, 0x20020501], "v_add_nc_u32 takes no negate"],
    [[0xdc30c000, 0x057d0002], "FLAT segment 3 is reserved"],
    [[0xdc702000, 0x057d0002], "has no LDS form"],
    [[0xf4001f81, 0xfa000010], "M0 or EXEC"],
    [[0x060604f9, 0x06071401], "SDWA select 7 is reserved"],
    [[0xc8160903], "interpolation parameter 3 does not exist"],
  ];
  for (const [words, reason] of refused) {
    const program = Uint32Array.of(0xbf800000, ...words);
    const error = assertThrows(() => decode(program, 4, "gfx1030"), InvalidInputError);
    assertStringIncludes(error.message, reason);
    assertEquals(error.code, "rdna.no-instruction");
    assertEquals(error.place, { pc: 4, words: words.slice(0, 2) });
  }
});

Deno.test("A program that ends inside an instruction is refused as truncated", () => {
  for (
    const words of [
      [],
      [0x808400ff],
      [0xf4000081],
      [0xd5030003],
      [0xd54b0005, 0x03fdff01],
      [0x060604f9],
      [0x060604fa],
      [0xd8340010],
      [
        0xdc308ff0,
      ],
      [0xe0301010],
      [0xe8b12008],
      [0xf0880f0c, 0x00820110, 0x17161514],
      [0xf8001803],
      [0xba80f801],
      [0x58060501],
      [0xcc0e5805],
    ]
  ) {
    const error = assertThrows(() => one(words), InvalidInputError);
    assertEquals(error.code, "rdna.truncated", words.map((word) => word.toString(16)).join(" "));
  }
  assertEquals(
    assertThrows(() => decode(Uint32Array.of(0xbf810000), 8, "gfx1030"), InvalidInputError).code,
    "rdna.truncated",
  );
  assertEquals(
    assertThrows(() => decode(Uint32Array.of(0xbf810000), 2, "gfx1030"), InvalidInputError).code,
    "rdna.misaligned",
  );
});

Deno.test("8,192 instructions decode in well under 5 ms once warm", () => {
  const forms = [[0x80040a06], [0x06060501], [0xd5038105, 0x58020501], [0xf4000081, 0xfa000010], [
    0xe0301010,
    0x80020508,
  ], [0xbf8c0070]];
  const program = Uint32Array.from(Array.from({ length: 8192 }, (_, i) => forms[i % forms.length]).flat());
  const out = new Instruction();
  let best = Infinity;
  for (let round = 0; round < 20; round++) {
    const start = performance.now();
    let count = 0;
    for (let pc = 0; pc < program.length * 4; pc += out.size * 4) {
      decode(program, pc, "gfx1013", out);
      count++;
    }
    best = Math.min(best, performance.now() - start);
    assertEquals(count, 8192);
  }
  assert(best < 2.5, `${best} ms`);
});
