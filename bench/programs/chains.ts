/** Machine code of the benchmark programs: long chains of f32 operations between what loads or converts their inputs and what stores the results. */

/** VOP2 opcodes (AMD RDNA2 ISA, VOP2 table). */
const VOP2 = { add: 0x03, sub: 0x04, mul: 0x08, max: 0x10 } as const;
const V_FMA_F32 = 0x14b;
const FIRST = 10;

/** Which program. */
export type ChainKind =
  /**
   * Destination v(10 + i % 8), sources v(10 + (i + 1) % 8) and v(10 + (i + 2) % 8): mul, add, fma (adds its old destination), sub in turn. All of it lives.
   * The thread id in v10..v17 before, eight stores after.
   */
  | "A"
  /** Like A with sources that are always v20..v22, so that only the last 8 operations live. */
  | "B"
  /** The program of the queue benchmark (bench/queue_compile): four loaded values and a literal, eight chains in v10..v17, four results. */
  | "queue"
  /** The program of a loader benchmark: mul, add, max in turn over v0..v5 from a literal. It stores nothing, so nothing of it lives. */
  | "loader"
  /** The same with results: the thread id in v0..v5 before, six stores after. */
  | "loader, stored";

/** All kinds. */
export const CHAIN_KINDS: readonly ChainKind[] = ["A", "B", "queue", "loader", "loader, stored"];

/** User SGPRs that the programs have: the V# of the input (the queue program's) or the output in s[0:3], of the queue program's output in s[4:7]. */
export const CHAIN_USER_SGPRS = 8;
/** Bytes that each thread stores (its part of the output begins at its number times this), and loads from the input. */
export const CHAIN_OUTPUT_BYTES: Readonly<Record<ChainKind, number>> = {
  "A": 32,
  "B": 32,
  "queue": 64,
  "loader": 0,
  "loader, stored": 32,
};

/**
 * Code with `count` f32 operations. v0 is the thread's number in its workgroup.
 *
 * @param literal bits of the f32 literal of the `queue` and `loader` programs: another one is another program for every cache
 */
export function chain(kind: ChainKind, count: number, literal = 0x3f80_0001): Uint32Array {
  const code: number[] = [];
  switch (kind) {
    case "A":
    case "B":
      convertThread(code, FIRST, 8);
      convertThread(code, 20, 3);
      pushOperations(code, kind, count);
      break;
    case "queue":
      return queueChain(count, literal);
    case "loader":
      code.push(0x7e00_02ff, literal); // v_mov_b32 v0, literal
      pushLoaderOperations(code, count);
      code.push(S_ENDPGM);
      return Uint32Array.from(code);
    case "loader, stored":
      code.push(0x3412_0085); // v_lshlrev_b32 v9, 5, v0
      convertThread(code, 1, 5);
      convertThread(code, 0, 1);
      pushLoaderOperations(code, count);
      pushStores(code, 1, 6);
      code.push(S_ENDPGM);
      return Uint32Array.from(code);
  }
  code.push(0x3412_0085); // v_lshlrev_b32 v9, 5, v0: 32 bytes per thread
  pushStores(code, FIRST, 8);
  code.push(S_ENDPGM);
  return Uint32Array.from(code);
}

/**
 * The operations of program A on numbers of any kind, denormals included: v10..v17 are loaded (32 bytes a thread, V# in s[0:3]) and stored (s[4:7]).
 */
export function loadedChain(count: number): Uint32Array {
  const code = [0x3412_0085]; // v_lshlrev_b32 v9, 5, v0
  for (let i = 0; i < 8; i++) code.push((0xe030_1000 | 4 * i) >>> 0, (0x8000_0009 | (FIRST + i) << 8) >>> 0);
  code.push(0xbf8c_3f70); // s_waitcnt vmcnt(0)
  pushOperations(code, "A", count);
  pushStores(code, FIRST, 8, 1);
  code.push(S_ENDPGM);
  return Uint32Array.from(code);
}

const S_ENDPGM = 0xbf81_0000;

function convertThread(code: number[], first: number, count: number): void {
  for (let i = 0; i < count; i++) code.push(vop1(0x06, first + i, 0)); // v_cvt_f32_u32
}

function pushOperations(code: number[], kind: "A" | "B", count: number): void {
  for (let i = 0; i < count; i++) {
    const d = FIRST + i % 8;
    const [a, b] = kind === "A" ? [FIRST + (i + 1) % 8, FIRST + (i + 2) % 8] : [20, 21];
    if (i % 4 === 2) pushFma(code, d, a, b, kind === "A" ? d : 22);
    else code.push(vop2([VOP2.mul, VOP2.add, 0, VOP2.sub][i % 4], d, a, b));
  }
}

function pushLoaderOperations(code: number[], count: number): void {
  for (let i = 0; i < count; i++) {
    code.push(vop2([VOP2.mul, VOP2.add, VOP2.max][i % 3], 1 + i % 6, i % 6, (i + 1) % 6));
  }
}

/** buffer_store_dword v[first + i], v9, the V#, 0 offen offset:4 * i */
function pushStores(code: number[], first: number, count: number, quad = 0): void {
  for (let i = 0; i < count; i++) {
    code.push((0xe070_1000 | 4 * i) >>> 0, (0x8000_0009 | (first + i) << 8 | quad << 16) >>> 0);
  }
}

function queueChain(count: number, literal: number): Uint32Array {
  // v_lshlrev_b32 v1, 4, v0; v_lshlrev_b32 v3, 6, v0; buffer_load_dwordx4 v[4:7], v1, s[0:3], 0 offen; s_waitcnt vmcnt(0); v_mov_b32 v9, literal
  const code = [0x3402_0084, 0x3406_0086, 0xe038_1000, 0x8000_0401, 0xbf8c_3f70, 0x7e12_02ff, literal];
  for (let i = 0; i < 8; i++) code.push(vop2(i % 2 === 0 ? VOP2.mul : VOP2.add, FIRST + i, 4 + i % 4, 9));
  for (let i = 0; i < count; i++) {
    const d = FIRST + i % 8, a = FIRST + (i + 3) % 8, b = FIRST + (i + 5) % 8;
    switch (i % 4) {
      case 0:
        code.push(vop2(VOP2.mul, d, d, a));
        break;
      case 1:
        code.push(vop2(VOP2.add, d, a, d));
        break;
      case 2:
        pushFma(code, d, d, a, b);
        break;
      default:
        code.push(vop2(VOP2.sub, d, d, b));
    }
  }
  for (let i = 0; i < 4; i++) code.push(vop2(VOP2.add, FIRST + i, FIRST + 4 + i, FIRST + i));
  code.push(0xe078_1000, 0x8001_0a03, S_ENDPGM); // buffer_store_dwordx4 v[10:13], v3, s[4:7], 0 offen
  return Uint32Array.from(code);
}

function pushFma(code: number[], d: number, a: number, b: number, c: number): void {
  code.push((0xd400_0000 | V_FMA_F32 << 16 | d) >>> 0, (256 + a | (256 + b) << 9 | (256 + c) << 18) >>> 0);
}

function vop1(opcode: number, d: number, a: number): number {
  return (0x7e00_0000 | d << 17 | opcode << 9 | 256 + a) >>> 0;
}

function vop2(opcode: number, d: number, a: number, b: number): number {
  return (opcode << 25 | d << 17 | b << 9 | 256 + a) >>> 0;
}
