/** Machine code of the benchmark programs: long chains of f32 operations between 8 conversions and 8 stores. */

/** VOP2 opcodes (AMD RDNA2 ISA, VOP2 table). */
const VOP2 = { add: 0x03, sub: 0x04, mul: 0x08 } as const;
const V_FMA_F32 = 0x14b;
const FIRST = 10;

/** How the sources of operation i are chosen. */
export type ChainKind =
  /** Program A: destination v(10 + i % 8), sources v(10 + (i + 1) % 8) and v(10 + (i + 2) % 8); the fma adds its old destination. All of it lives. */
  | "A"
  /** Program B: sources always v20..v22, so that only the last 8 operations live. */
  | "B";

/**
 * Code with `count` f32 operations: mul, add, fma, sub in turn. User data s[0:3] is the V# that the results are stored to; v0 is the thread id.
 */
export function chain(kind: ChainKind, count: number): Uint32Array {
  const code: number[] = [];
  for (let i = 0; i < 8; i++) code.push(vop1(0x06, FIRST + i, 0)); // v_cvt_f32_u32
  for (let i = 0; i < 3; i++) code.push(vop1(0x06, 20 + i, 0));
  for (let i = 0; i < count; i++) {
    const d = FIRST + i % 8;
    const [a, b] = kind === "A" ? [FIRST + (i + 1) % 8, FIRST + (i + 2) % 8] : [20, 21];
    const c = kind === "A" ? d : 22;
    if (i % 4 === 2) code.push((0xd400_0000 | V_FMA_F32 << 16 | d) >>> 0, 256 + a | (256 + b) << 9 | (256 + c) << 18);
    else code.push(vop2([VOP2.mul, VOP2.add, 0, VOP2.sub][i % 4], d, a, b));
  }
  code.push(0x34120085); // v_lshlrev_b32 v9, 5, v0: 32 bytes per thread
  for (let i = 0; i < 8; i++) {
    // buffer_store_dword v[10 + i], v9, s[0:3], 0 offen offset:4 * i
    code.push((0xe070_1000 | 4 * i) >>> 0, (0x8000_0009 | (FIRST + i) << 8) >>> 0);
  }
  code.push(0xbf81_0000); // s_endpgm
  return Uint32Array.from(code);
}

function vop1(opcode: number, d: number, a: number): number {
  return (0x7e00_0000 | d << 17 | opcode << 9 | 256 + a) >>> 0;
}

function vop2(opcode: number, d: number, a: number, b: number): number {
  return (opcode << 25 | d << 17 | b << 9 | 256 + a) >>> 0;
}
