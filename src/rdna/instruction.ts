/**
 * A decoded instruction: plain numbers in a fixed shape, so that the passes over a program stay monomorphic and fast.
 *
 * Source operands keep the ISA's own 9-bit numbering (AMD RDNA2 ISA, "Scalar ALU / vector ALU operands" tables): 0..105 SGPR, 106/107 VCC,
 * 108..123 TTMP, 124 M0, 125 NULL, 126/127 EXEC, 128..208 inline integers, 235..239 apertures and POPS, 240..248 inline floats,
 * 251 VCCZ, 252 EXECZ, 253 SCC, 254 LDS_DIRECT, 255 literal, 256..511 VGPR. A vector destination is 256 + its VGPR number too, a scalar
 * destination its 7-bit number. `Operand.None` marks an absent operand.
 */
export const Operand = {
  None: -1,
  Vcc: 106,
  VccHi: 107,
  M0: 124,
  Null: 125,
  Exec: 126,
  ExecHi: 127,
  Zero: 128,
  Scc: 253,
  LdsDirect: 254,
  Literal: 255,
  Vgpr0: 256,
} as const;

/** The encoding families (AMD RDNA2 ISA, "Instruction formats"). */
export const Encoding = {
  Sop1: 0,
  Sop2: 1,
  Sopk: 2,
  Sopc: 3,
  Sopp: 4,
  Smem: 5,
  Vop1: 6,
  Vop2: 7,
  Vop3: 8,
  Vop3p: 9,
  Vopc: 10,
  Vintrp: 11,
  Ds: 12,
  Flat: 13,
  Mubuf: 14,
  Mtbuf: 15,
  Mimg: 16,
  Exp: 17,
} as const;
/** One of the values of {@linkcode Encoding}. */
export type Encoding = typeof Encoding[keyof typeof Encoding];

/** How a VOP instruction's source 0 is modified by an extra word. */
export const Extra = { None: 0, Sdwa: 1, Dpp16: 2, Dpp8: 3 } as const;

/** Single-bit modifiers, or-ed in {@linkcode Instruction.flags}. */
export const Flag = {
  Clamp: 1 << 0,
  Glc: 1 << 1,
  Slc: 1 << 2,
  Dlc: 1 << 3,
  Offen: 1 << 4,
  Idxen: 1 << 5,
  Lds: 1 << 6,
  Tfe: 1 << 7,
  Gds: 1 << 8,
  Unorm: 1 << 9,
  R128: 1 << 10,
  A16: 1 << 11,
  D16: 1 << 12,
  Lwe: 1 << 13,
  Nsa: 1 << 14,
  Done: 1 << 15,
  Compr: 1 << 16,
  ValidMask: 1 << 17,
  /** DPP16 bound_ctrl:0 (write zero for lanes out of range). */
  BoundCtrl: 1 << 18,
  /** DPP fetch-inactive. */
  FetchInactive: 1 << 19,
  /** SMEM: an SGPR offset is present. */
  SgprOffset: 1 << 20,
  /** The encoding form is the 64-bit VOP3 one of an instruction that also has a 32-bit form (for the disassembler). */
  E64: 1 << 21,
  /** VOP3 interpolation of 16-bit parameters: the high half of the parameter. */
  High: 1 << 22,
} as const;

/** One decoded instruction. Fields that an encoding lacks hold their default. */
export class Instruction {
  /** Byte offset from the start of the program. */
  pc = 0;
  /** Length in 32-bit words. */
  size = 1;
  /** Index into the opcode table (`OPCODES` of table.ts). */
  op = 0;
  /** One of {@linkcode Encoding}. */
  encoding: Encoding = Encoding.Sopp;
  /** First destination (or the data register of a store: see `data`). */
  dst = -1;
  /**
   * Lane-mask destination: the one that VOP3B, VOP3-encoded and SDWA comparisons name, and the implied one of the 32-bit encodings too (VCC,
   * EXEC for v_cmpx). -1 when the instruction has none.
   */
  sdst = -1;
  src0 = -1;
  src1 = -1;
  /** Third source. Implied sources are set too: VCC of v_cndmask_b32 and v_add_co_ci_u32 in their 32-bit encodings. */
  src2 = -1;
  /** Fourth source: EXP only. */
  src3 = -1;
  /** Literal constant (32 bits, unsigned) when a source is 255 or the format carries one (v_madmk, s_setreg_imm32). */
  literal = 0;
  /** Signed 16-bit immediate (SOPK, SOPP) or the signed memory offset in bytes (SMEM, FLAT, MUBUF, MTBUF); DS: offset0 | offset1 << 8 or the 16-bit offset. */
  imm = 0;
  /** {@linkcode Flag} bits. */
  flags = 0;
  /** Negate bits of src0..src2 (bit i), VOP3P: neg_lo. */
  neg = 0;
  /** Absolute-value bits of src0..src2, VOP3P: neg_hi. */
  abs = 0;
  /** Output modifier 0..3 (none, *2, *4, /2). */
  omod = 0;
  /** VOP3 op_sel bits (0..2 sources, 3 destination); VOP3P: op_sel. */
  opSel = 0;
  /** VOP3P op_sel_hi bits. */
  opSelHi = 0;
  /** One of {@linkcode Extra}. */
  extra = 0;
  /** The raw DPP16, DPP8 or SDWA word's control bits: DPP16 dpp_ctrl (9 bits); DPP8 the 24 selector bits; SDWA the whole word. */
  control = 0;
  /** DPP16 row mask (bits 7:4) and bank mask (bits 3:0); 0xff otherwise. */
  masks = 0xff;
  /** Memory: VGPR (256+) of the address, -1 when absent. */
  addr = -1;
  /** Memory: VGPR (256+) of the stored data, -1 when absent. DS: data0. */
  data = -1;
  /** DS: data1. */
  data1 = -1;
  /** Memory: first SGPR of the resource (V#, T#) or of the scalar base; FLAT/GLOBAL: SADDR, -1 when off. */
  srsrc = -1;
  /** MIMG: first SGPR of the sampler. MUBUF: SOFFSET operand (9-bit numbering). */
  soffset = -1;
  /**
   * FLAT segment: 0 flat, 1 scratch, 2 global. MTBUF: the unified format. MIMG: dmask. EXP: enable mask. Interpolation: channel 0..3.
   * s_atc_probe: the permission operand.
   */
  mode = 0;
  /** MIMG dimension, EXP target, interpolation: attribute number. */
  dim = 0;
  /** MIMG with NSA: the extra address VGPRs, null otherwise. */
  nsa: number[] | null = null;
}
