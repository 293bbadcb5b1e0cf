/**
 * Single instructions on which the fuzzers found one side wrong, each with the result that the cited source gives. Both sides must give it: the
 * recompiled code on the device, and the interpreter.
 */
import { assert, assertEquals } from "@std/assert";
import type { Target } from "../../src/rdna/target.ts";
import { deviceTest } from "../support/vulkan.ts";
import { Random } from "../support/random.ts";
import { runSide } from "./batch.ts";
import { exact, isNan32 } from "./compare.ts";
import { int, opcodeOf, sdwa, type SdwaFields, v, vop, vop3, vop3p } from "./encode.ts";
import { type BatchSettings, buildBatch, type Instance } from "./frame.ts";
import { SideMaker } from "./sides.ts";

/** An instruction that writes v32 from v8.. of each thread. */
interface Case {
  words: number[];
  /** Values of v8, v9, ... by thread. */
  inputs: number[][];
  /** v32 by thread; NaN stands for any f32 NaN. */
  expected: number[];
  floatMode?: number;
  ieee?: boolean;
  target?: Target;
}

const PLAIN: SdwaFields = {
  select: [6, 6],
  neg: 0,
  abs: 0,
  dstSelect: 6,
  dstUnused: 0,
  clamp: false,
  omod: 0,
  sdst: -1,
};

function check(name: string, cases: readonly Case[]): void {
  deviceTest(name, (device) => {
    using sides = new SideMaker(device);
    for (const { words, inputs, expected, floatMode = 0xc0, ieee = false, target = "gfx1013" } of cases) {
      const instance: Instance = {
        name,
        form: "",
        before: (code) => code.vop("v_mov_b32", v(32), int(0)),
        words: [words],
        checks: [{ sources: [{ kind: "vector", register: 32 }], compare: exact }],
        lanes: false,
      };
      const settings: BatchSettings = {
        target,
        waveSize: 64,
        groups: 1,
        floatMode,
        ieee,
        dx10Clamp: false,
        ldsBytes: 0,
      };
      const batch = buildBatch([instance], settings, new Random(1));
      const data = new Uint32Array(batch.program.memory[1].contents[0].data.buffer as ArrayBuffer);
      inputs.forEach((values, thread) => data.set(values, thread * 24));
      const { device: executor, reference, allocator } = sides.take(target);
      for (const [side, which] of [[executor, "recompiled"], [reference, "interpreted"]] as const) {
        const output = runSide(batch, side, allocator);
        assert(output instanceof Uint32Array, String(output));
        inputs.forEach((values, thread) => {
          const bits = output[thread * batch.stride];
          const text = `${words.map((word) => word.toString(16))} of ${values.map((x) => x.toString(16))}, ${which}`;
          if (Number.isNaN(expected[thread])) assert(isNan32(bits), `${text}: ${bits.toString(16)} is no NaN`);
          else assertEquals(bits.toString(16), expected[thread].toString(16), text);
        });
      }
    }
  });
}

const INPUTS = [0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 0x00000000, 0xbf800000, 0x3f800000];
const MINUS_ZERO = 0x80000000, ONE = 0x3f800000;
const f32 = (name: string, src: number[], expected: number[], floatMode: number): Case => ({
  words: vop3(opcodeOf(name), { dst: v(32), src }),
  inputs: INPUTS.map((input) => [input, ONE]),
  expected,
  floatMode,
});

check(
  "a constant zero keeps the infinities, NaNs and signed zeros that it meets (IEEE 754; llvmpipe folds x * 0 and x + 0)",
  [0xc0, 0xf0].flatMap((mode) => [
    f32("v_mul_f32", [v(8), int(0)], [NaN, NaN, NaN, MINUS_ZERO, 0, MINUS_ZERO, 0], mode),
    f32("v_mul_f32", [int(0), v(8)], [NaN, NaN, NaN, MINUS_ZERO, 0, MINUS_ZERO, 0], mode),
    f32("v_add_f32", [v(8), int(0)], [0x7f800000, 0xff800000, NaN, 0, 0, 0xbf800000, ONE], mode),
    f32("v_fma_f32", [v(8), int(0), v(9)], [NaN, NaN, NaN, ONE, ONE, ONE, ONE], mode),
    f32("v_fma_f32", [v(8), v(9), int(0)], [0x7f800000, 0xff800000, NaN, 0, 0, 0xbf800000, ONE], mode),
  ]),
);

const half = (name: string, src: number[], opSel: number, inputs: number[][], expected: number[]): Case => ({
  words: vop3(opcodeOf(name), { dst: v(32), src, opSel }),
  inputs,
  expected,
});

check("an inline float in a 16-bit integer operation is the f32 number, of which op_sel takes a half (LLVM)", [
  half("v_add_nc_u16", [v(8), 240], 0, [[5]], [5]),
  half("v_add_nc_u16", [v(8), 240], 2, [[5]], [0x3f05]),
  half("v_max_u16", [v(8), 248], 0, [[5]], [0xf983]),
]);

// LLVM has no op_sel for them on gfx10. Mesa's ACO, whose code runs on this hardware, gives it to them (aco_ir.cpp, can_use_opsel): a real module (iq4_xs)
// shifts the high half of a dword that it loads.
check("op_sel chooses halves of 16-bit shifts, products, minima and maxima of VOP3 (Mesa's ACO uses it on gfx10)", [
  half("v_lshrrev_b16", [v(8), v(9)], 2, [[4, 0x12345678]], [0x0123]),
  half("v_lshrrev_b16", [v(8), v(9)], 1, [[0x00040008, 0x12345678]], [0x0567]),
  half("v_lshlrev_b16", [v(8), v(9)], 10, [[4, 0x12345678]], [0x23400000]),
  half("v_ashrrev_i16", [v(8), v(9)], 2, [[4, 0x82345678]], [0xf823]),
  half("v_mul_lo_u16", [v(8), v(9)], 3, [[0x00030007, 0x00050009]], [15]),
  half("v_max_u16", [v(8), v(9)], 2, [[7, 0x00080001]], [8]),
  half("v_max_i16", [v(8), v(9)], 2, [[7, 0xffff0009]], [7]),
  half("v_min_u16", [v(8), v(9)], 1, [[0x00020009, 3]], [2]),
  half("v_min_i16", [v(8), v(9)], 3, [[0xfffe0001, 0x00030000]], [0xfffe]),
]);

check("an inline integer in a 16-bit operation is sign-extended to 32 bits, of which op_sel takes a half (LLVM)", [
  half("v_add_nc_u16", [v(8), int(-16)], 2, [[5]], [4]),
  half("v_add_nc_u16", [v(8), int(46)], 2, [[5]], [5]),
  half("v_fma_f16", [v(8), 242, 240], 4, [[0x4000]], [0x4000]),
]);

check("SDWA takes its part of an inline constant too, in 16-bit operations as in others (AMD RDNA2 ISA, SDWA)", [
  {
    words: sdwa(opcodeOf("v_add_f16"), v(32), v(8), 242, { ...PLAIN, select: [4, 1] }),
    inputs: [[0x3c00]],
    expected: [0x3c00],
  },
]);

check(
  "an output modifier makes zeros positive; what halving makes denormal becomes a zero of its sign (AMD, rocjitsu)",
  [
    {
      words: vop3(opcodeOf("v_mul_f32"), { dst: v(32), src: [v(8), 242], omod: 3 }),
      inputs: [[0x80000000], [0x80400000], [0x80800000], [0x80ffffff], [0x00ffffff], [0x81000000]],
      expected: [0, 0, 0x80000000, 0x80000000, 0, 0x80800000],
    },
  ],
);

check("v_cvt_flr and v_cvt_rpi flush denormals as MODE says, and round exactly (AMD, rocjitsu, conversion.h)", [
  { words: vop(opcodeOf("v_cvt_flr_i32_f32"), v(32), v(8)), inputs: [[0x80000001]], expected: [0], floatMode: 0 },
  {
    words: vop(opcodeOf("v_cvt_rpi_i32_f32"), v(32), v(8)),
    inputs: [[0x3effffff], [0x4b7fffff], [0x3f000000], [0xbf000000]],
    expected: [0, 0xffffff, 1, 0],
  },
]);

check("v_pack_b32_f16 flushes denormals as MODE says (Mesa, ACO)", [
  {
    words: vop3(opcodeOf("v_pack_b32_f16"), { dst: v(32), src: [v(8), v(9)] }),
    inputs: [[0x8001, 1]],
    expected: [0x8000],
    floatMode: 0,
  },
  {
    // Sources are kept, and results flushed.
    words: vop3(opcodeOf("v_pack_b32_f16"), { dst: v(32), src: [v(8), v(9)] }),
    inputs: [[0x8001, 0x3c00]],
    expected: [0x3c008000],
    floatMode: 0x40,
  },
]);

check("v_fma_mixlo_f16 rounds the exact sum once (AMD, rocjitsu, fp_mode.h)", [
  {
    words: vop3p(opcodeOf("v_fma_mixlo_f16"), { dst: v(32), src: [v(8), v(9), v(10)], opSelHi: 0 }),
    // 65520 is where f16 overflows; a sum just below it must not be rounded to it in f32 first.
    inputs: [[0x3f800000, 0xa0000000, 0x477ff000]],
    expected: [0x7bff],
    floatMode: 0xf0,
  },
]);

check("v_div_fmas keeps denormal sources, and v_div_scale decides by exponent fields (AMD, rocjitsu, division.h)", [
  {
    words: vop3(opcodeOf("v_div_fmas_f32"), { dst: v(32), src: [v(8), v(9), v(10)] }),
    inputs: [[0x00400000, 0x40800000, 0]],
    expected: [0x01000000],
    floatMode: 0,
  },
  {
    words: vop3(opcodeOf("v_div_scale_f32"), { dst: v(32), sdst: 106, src: [v(8), v(8), v(9)] }),
    // A denormal quotient of numbers whose exponents are less than 96 apart: nothing is scaled.
    inputs: [[0x5f000000, 0x2f800000]],
    expected: [0x5f000000],
    floatMode: 0xf0,
  },
]);

check("clamp of v_cvt_pkrtz_f16_f32 acts on both halves", [
  {
    words: vop3(opcodeOf("v_cvt_pkrtz_f16_f32"), { dst: v(32), src: [v(8), v(9)], clamp: true }),
    inputs: [[0xc0000000, 0x40000000]],
    expected: [0x3c000000],
  },
]);

check("a part of a register that is a flushed denormal always is a zero that products respect", [
  {
    words: sdwa(opcodeOf("v_mul_f16"), v(32), v(8), v(9), { ...PLAIN, select: [6, 1] }),
    inputs: [[0xfc34, 0xd28d], [0xbc00, 0xd28d]],
    expected: [0xfe34, 0x8000],
    floatMode: 0,
  },
  {
    words: sdwa(opcodeOf("v_mul_f32"), v(32), v(8), v(9), { ...PLAIN, select: [6, 1] }),
    inputs: [[0x7f800000, 0xd28d], [0xbf800000, 0xd28d]],
    expected: [NaN, 0x80000000],
    floatMode: 0,
  },
]);

check(
  "a literal of two halves keeps its upper half where f16 goes through f32 (Mesa folds UnpackHalf2x16 to a zero there)",
  [
    {
      words: vop3p(opcodeOf("v_pk_fma_f16"), { dst: v(32), src: [v(8), 255, v(9)], literal: 0xc4000401 }),
      inputs: [[0x3c003c00, 0x3c003c00]],
      expected: [0xc2003c00],
      floatMode: 0xf0,
    },
  ],
);

check("v_cvt_pk_u8_f32 rounds to nearest (AMD, rocjitsu, conversion.h)", [
  {
    words: vop3(opcodeOf("v_cvt_pk_u8_f32"), { dst: v(32), src: [v(8), int(1), v(9)] }),
    inputs: [[0x3f7fffff, 0], [0x40200000, 0x11111111], [0x43800000, 0], [0xbf800000, 0xffffffff]],
    expected: [0x100, 0x11110211, 0xff00, 0xffff00ff],
  },
]);

check("v_fma_legacy_f32 adds +0 where a factor is zero (LLVM)", [
  {
    words: vop3(opcodeOf("v_fma_legacy_f32"), { dst: v(32), src: [v(8), int(0), v(9)] }),
    inputs: [[0x7fc00000, 0x80000000], [0xbf800000, 0x40000000]],
    expected: [0, 0x40000000],
    target: "gfx1030",
  },
]);

check("v_div_fixup keeps a denormal quotient (AMD, rocjitsu, division.h)", [
  {
    words: vop3(opcodeOf("v_div_fixup_f32"), { dst: v(32), src: [v(8), v(9), v(9)] }),
    inputs: [[0x007fffff, 0x3f800000]],
    expected: [0x007fffff],
    floatMode: 0,
  },
  {
    words: vop3(opcodeOf("v_div_fixup_f16"), { dst: v(32), src: [v(8), v(9), v(9)] }),
    inputs: [[0x03ff, 0x3c00]],
    expected: [0x03ff],
    floatMode: 0,
  },
]);

check("v_med3_f32 tells signed zeros apart (AMD, rocjitsu, minmax.h), and a NaN among its constants counts", [
  {
    words: vop3(opcodeOf("v_med3_f32"), { dst: v(32), src: [v(8), v(9), v(10)] }),
    inputs: [[0x80000000, 0, 0x80000000], [0xbf800000, 0x80000000, 0]],
    expected: [0x80000000, 0x80000000],
  },
  {
    // -2 as an inline integer is a NaN; the result is that of v_min3_f32.
    words: vop3(opcodeOf("v_med3_f32"), { dst: v(32), src: [240, int(-2), v(8)] }),
    inputs: [[0xbf800000], [0x3f800000]],
    expected: [0xbf800000, 0x3f000000],
  },
]);

check("comparisons of f64 constants compare all 64 bits", [
  {
    words: [
      ...vop3(opcodeOf("v_cmp_lg_f64"), { dst: -1, sdst: 106, src: [246, 240] }),
      ...vop3(opcodeOf("v_cndmask_b32"), { dst: v(32), src: [int(0), int(1), 106] }),
    ],
    inputs: [[0]],
    expected: [1],
  },
  {
    words: [
      ...vop3(opcodeOf("v_cmp_nlt_f64"), { dst: -1, sdst: 106, src: [255, 240], literal: 0x7ff80000 }),
      ...vop3(opcodeOf("v_cndmask_b32"), { dst: v(32), src: [int(0), int(1), 106] }),
    ],
    inputs: [[0]],
    expected: [1],
  },
]);

check(
  "coordinates of a cube map are results: MODE may flush their denormals alone (AMD RDNA2 ISA, section 3.5, FP_DENORM)",
  [
    {
      words: vop3(opcodeOf("v_cubesc_f32"), { dst: v(32), src: [v(8), v(9), v(10)] }),
      inputs: [[1, 0x3f800000, 0]],
      expected: [0],
      floatMode: 0x10,
    },
    {
      words: vop3(opcodeOf("v_cubetc_f32"), { dst: v(32), src: [v(8), v(9), v(10)] }),
      inputs: [[0x3f800000, 0x007fffff, 0]],
      expected: [0x80000000],
      floatMode: 0x90,
    },
  ],
);

check("a literal of a signed 64-bit operand is extended with its sign (AMD RDNA2 ISA, literal constants)", [
  {
    // s_flbit_i32_i64 s73, 0xffff8000; v_mov_b32 v32, s73
    words: [0xbec918ff, 0xffff8000, 0x7e400249],
    inputs: [[0]],
    expected: [49],
  },
]);

check("in IEEE mode an output modifier does nothing, not even to a denormal quotient that v_div_fixup_f16 keeps", [
  {
    words: vop3(opcodeOf("v_div_fixup_f16"), { dst: v(32), src: [v(8), v(9), v(10)], omod: 2 }),
    inputs: [[0x3ff, 0x3c00, 0xbc00]],
    expected: [0x83ff],
    floatMode: 0x40,
    ieee: true,
  },
]);
