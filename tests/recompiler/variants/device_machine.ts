/** Runs a few instructions as a whole guest program on a device, with registers and memory as a test sets them: what machine.ts is for the interpreter. */
import { assert } from "@std/assert";
import type { ComputeExecutor } from "../../../src/driver/executor.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import type { HostAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { Program as GuestProgram } from "../../../src/guest/program.ts";
import { Operand } from "../../../src/rdna/instruction.ts";
import type { Target } from "../../../src/rdna/target.ts";
import { Code, type Label } from "../../fuzz/code.ts";
import { int, v } from "../../fuzz/encode.ts";
import type { Program } from "../../rdna/interpreter/asm.ts";
import { assemble, type Before, halves } from "../../rdna/interpreter/machine.ts";
import type { VariantAfter } from "../../rdna/interpreter/variant_cases.ts";
import { dispatchDirect, setComputeProgram, setComputeRegisters } from "../../support/packets.ts";

/** The side that runs, by the code's target. */
export type TakeSide = (target: Target) => { executor: ComputeExecutor; allocator: HostAllocator };

/** How the frame brings scalar registers in. */
export interface FrameSettings {
  /** As constants of the code, instead of from memory. */
  constants: boolean;
}

const CODE_BASE = 0x7_0000_0000n, STATE_BASE = 0x8_0000_0000n, PAGE = 4096;
/** Vector registers that a test may use (those behind are the frame's), and that are looked at. */
const VECTORS = 16, SEEN_VECTORS = 12;
/** Scalar registers that a test may set, and that are looked at. */
const SCALARS = 32, SEEN_SCALARS = 12;
const LDS_DWORDS = 256;
const ADDRESS = VECTORS + 4,
  WORD = ADDRESS + 1,
  DATA = ADDRESS + 2,
  LDS_ADDRESS = ADDRESS + 3,
  SCALAR_ADDRESS = ADDRESS + 4;
/** s96..s103: the frame's. */
const STATE = 96, VCC = 98, EXEC = 100, SCC = 103;
/** Byte offsets in the state. */
const SPECIAL_AT = 0x80,
  LDS_AT = 0x400,
  VECTORS_AT = 0x1000,
  OUT_VECTORS_AT = 0x2000,
  OUT_SCALARS_AT = 0x3000,
  OUT_LDS_AT = 0x3400;
const STATE_BYTES = 0x4000;
const END = 0xbf810000;

/** Makes the two ways to run of `VariantMachine`. */
export function deviceMachine(take: TakeSide, settings: FrameSettings): {
  execute(program: Program, before?: Before): VariantAfter;
  runWords(words: readonly number[], before?: Before): VariantAfter;
} {
  return {
    execute: ({ lines, target, waveSize }, before = {}) =>
      run(take, [...assemble(lines, target, waveSize), END], { ...before, target, waveSize }, usesLds(lines), settings),
    runWords: (words, before = {}) => run(take, words, before, false, settings),
  };
}

function usesLds(lines: readonly string[]): boolean {
  return lines.some((line) => line.endsWith(" lds") || /^ds_(?!swizzle|b?permute)/.test(line));
}

function run(
  take: TakeSide,
  words: readonly number[],
  before: Before,
  lds: boolean,
  settings: FrameSettings,
): VariantAfter {
  const { target = "gfx1013", waveSize = 32 } = before;
  const { executor, allocator } = take(target);
  const program = guestProgram(words, before, lds || before.lds !== undefined, settings);
  const memory = new GuestMemory(allocator);
  try {
    const { error } = runProgram(program, executor, memory);
    if (error !== undefined) throw error;
    for (const [address, bytes] of before.memory ?? []) bytes.set(memory.read(address, bytes.length));
    return after(new Uint32Array(memory.read(STATE_BASE, STATE_BYTES).slice().buffer), waveSize);
  } finally {
    memory.clear();
  }
}

/** Reads the state that the program left. */
function after(state: Uint32Array, waveSize: number): VariantAfter {
  const scalars = OUT_SCALARS_AT / 4;
  const special = (register: number) => state[scalars + SEEN_SCALARS + register - VCC];
  const scalar = (register: number) => {
    if (register < SEEN_SCALARS) return state[scalars + register];
    if (register === Operand.Vcc || register === Operand.Vcc + 1) return special(VCC + register - Operand.Vcc);
    throw new Error(`s${register} is not in the state`);
  };
  const pair = (low: number, high: number) => BigInt(high) << 32n | BigInt(low);
  const mask = (register: number) => pair(special(register), waveSize === 64 ? special(register + 1) : 0);
  const vector = (register: number, lane = 0) => state[OUT_VECTORS_AT / 4 + lane * VECTORS + register];
  return {
    s: scalar,
    s64: (register) => pair(scalar(register), scalar(register + 1)),
    v: vector,
    v64: (register, lane = 0) => pair(vector(register, lane), vector(register + 1, lane)),
    lanes: (register, count = waveSize) => Array.from({ length: count }, (_, lane) => vector(register, lane)),
    exec: mask(EXEC),
    vcc: mask(VCC),
    scc: special(SCC),
    lds: (address) => state[OUT_LDS_AT / 4 + address / 4],
  };
}

/** The state before the instructions. */
function stateOf(before: Before, waveSize: 32 | 64): Uint32Array<ArrayBuffer> {
  const state = new Uint32Array(STATE_BYTES / 4);
  const special = SPECIAL_AT / 4;
  state.set(halves(before.vcc ?? 0n), special);
  state.set(halves(before.exec ?? (1n << BigInt(waveSize)) - 1n), special + 2);
  state[special + 4] = before.m0 ?? 0;
  state[special + 5] = before.scc ?? 0;
  for (const [register, value] of Object.entries(before.s ?? {})) {
    const k = Number(register);
    if (k === Operand.Vcc || k === Operand.Vcc + 1) state[special + k - Operand.Vcc] = value;
    else {
      assert(k < SCALARS, `s${k}`);
      state[k] = value;
    }
  }
  for (const [register, value] of Object.entries(before.v ?? {})) {
    assert(Number(register) < VECTORS, `v${register}`);
    for (let lane = 0; lane < waveSize; lane++) {
      const bits = typeof value === "number" ? value : typeof value === "function" ? value(lane) : value[lane] ?? 0;
      state[VECTORS_AT / 4 + lane * VECTORS + Number(register)] = bits;
    }
  }
  state.set(before.lds ?? [], LDS_AT / 4);
  return state;
}

function guestProgram(
  words: readonly number[],
  before: Before,
  lds: boolean,
  { constants }: FrameSettings,
): GuestProgram {
  const { target = "gfx1013", waveSize = 32, mode = 0xf0 } = before;
  const code = Uint32Array.from(frame(words, before, lds, constants));
  const page = (bytes: number) => Math.ceil(bytes / PAGE) * PAGE;
  const rsrc1 = 7 | (mode & 0xff) << 12 | (mode >>> 8 & 1) << 21 | (mode >>> 9 & 1) << 23 | 1 << 29 | 1 << 30;
  const rsrc2 = 2 << 1 | (lds ? LDS_DWORDS * 4 / 512 : 0) << 15;
  const memory: GuestProgram["memory"] = [
    {
      name: "code",
      base: CODE_BASE,
      bytes: page(code.byteLength),
      permissions: Permission.Read | Permission.Execute,
      contents: [{ offset: 0, data: new Uint8Array(code.buffer) }],
    },
    {
      name: "state",
      base: STATE_BASE,
      bytes: STATE_BYTES,
      permissions: Permission.ReadWrite,
      contents: [{ offset: 0, data: new Uint8Array(stateOf(before, waveSize).buffer) }],
    },
  ];
  for (const [address, bytes] of before.memory ?? []) {
    const offset = Number(address % BigInt(PAGE));
    memory.push({
      name: `memory at 0x${address.toString(16)}`,
      base: address - BigInt(offset),
      bytes: page(offset + bytes.length),
      permissions: Permission.ReadWrite,
      contents: [{ offset, data: bytes.slice() }],
    });
  }
  return {
    name: "variant",
    target,
    memory: memory.sort((a, b) => a.base < b.base ? -1 : 1),
    submissions: [{
      queue: 0,
      words: Uint32Array.from([
        ...setComputeRegisters(0x204, 0, 0, 0),
        ...setComputeRegisters(0x207, waveSize, 1, 1),
        ...setComputeProgram(CODE_BASE),
        ...setComputeRegisters(0x212, rsrc1, rsrc2),
        ...setComputeRegisters(0x240, ...halves(STATE_BASE)),
        ...dispatchDirect([1, 1, 1], { waveSize }),
      ]),
    }],
    expectations: [],
    untouched: [],
    notes: [],
  };
}

/** Loads the state, runs the words (each s_endpgm among them goes on to the end), stores the state. */
function frame(
  words: readonly number[],
  before: Before,
  lds: boolean,
  constants: boolean,
): number[] {
  const { waveSize = 32, s = {}, v: vectors = {} } = before;
  // Programs are kept short: compiling them takes most of the tests' time.
  const ldsBytes = lds ? Math.ceil((before.lds?.length ?? 1) / waveSize) * waveSize * 4 : 0;
  const code = new Code();
  const all = (register: number, source: number) =>
    code.sop1(waveSize === 64 ? "s_mov_b64" : "s_mov_b32", register, source);
  code.sop1("s_mov_b64", STATE, 0);
  code.vop("v_lshlrev_b32", v(WORD), int(2), v(0));
  code.vop("v_lshlrev_b32", v(LDS_ADDRESS), int(2), v(0));
  code.vop("v_lshlrev_b32", v(ADDRESS), int(6), v(0));
  code.vop("v_add_nc_u32", v(ADDRESS), Operand.Literal, v(ADDRESS), VECTORS_AT);
  if (lds) {
    for (let at = 0; at < ldsBytes; at += waveSize * 4) {
      code.flat("global_load_dword", { dst: v(DATA), addr: v(WORD), saddr: STATE, offset: LDS_AT + at });
      code.sopp("s_waitcnt", 0);
      code.ds("ds_write_b32", { addr: v(LDS_ADDRESS), data: v(DATA), offset: at });
    }
    code.sopp("s_waitcnt", 0);
    code.sopp("s_barrier");
  }
  for (let k = 0; k < VECTORS; k += 4) {
    if (!Object.keys(vectors).some((register) => Number(register) >> 2 === k >> 2)) continue;
    code.flat("global_load_dwordx4", { dst: v(k), addr: v(ADDRESS), saddr: STATE, offset: k * 4 });
  }
  for (let k = 0; k < SCALARS; k += 16) {
    if (constants || !Object.keys(s).some((register) => Number(register) >> 4 === k >> 4)) continue;
    code.smem("s_load_dwordx16", { data: k, base: STATE, offset: k * 4 });
  }
  code.smem("s_load_dwordx4", { data: 36, base: STATE, offset: SPECIAL_AT });
  code.smem("s_load_dwordx2", { data: 40, base: STATE, offset: SPECIAL_AT + 16 });
  code.sopp("s_waitcnt", 0);
  for (const [register, value] of constants ? Object.entries(s) : []) {
    code.sop1("s_mov_b32", Number(register), Operand.Literal, value);
  }
  code.sop1("s_mov_b64", Operand.Vcc, 36);
  code.sop1("s_mov_b32", Operand.M0, 40);
  code.sopc("s_cmp_lg_u32", 41, int(0));
  all(Operand.Exec, 38);
  const end = code.label();
  body(code, words, end);
  code.bind(end);
  code.sop2("s_cselect_b32", SCC, int(1), int(0));
  code.sop1("s_mov_b64", VCC, Operand.Vcc);
  all(EXEC, Operand.Exec);
  all(Operand.Exec, int(-1));
  code.vop("v_add_nc_u32", v(ADDRESS), Operand.Literal, v(ADDRESS), OUT_VECTORS_AT - VECTORS_AT);
  for (let k = 0; k < SEEN_VECTORS; k += 4) {
    code.flat("global_store_dwordx4", { addr: v(ADDRESS), data: v(k), saddr: STATE, offset: k * 4 });
  }
  code.vop("v_mov_b32", v(SCALAR_ADDRESS), Operand.Literal, -1, OUT_SCALARS_AT);
  const scalars = [
    ...Array.from({ length: SEEN_SCALARS }, (_, k) => k),
    ...Array.from({ length: 8 }, (_, k) => VCC + Math.min(k, 5)),
  ];
  scalars.forEach((register, k) => {
    code.vop("v_mov_b32", v(k % 4), register);
    if (k % 4 !== 3) return;
    code.flat("global_store_dwordx4", { addr: v(SCALAR_ADDRESS), data: v(0), saddr: STATE, offset: (k - 3) * 4 });
  });
  if (lds) {
    code.vop("v_add_nc_u32", v(WORD), Operand.Literal, v(WORD), OUT_LDS_AT);
    code.sopp("s_waitcnt", 0);
    code.sopp("s_barrier");
    for (let at = 0; at < ldsBytes; at += waveSize * 4) {
      code.ds("ds_read_b32", { addr: v(LDS_ADDRESS), dst: v(DATA), offset: at });
      code.sopp("s_waitcnt", 0);
      code.flat("global_store_dword", { addr: v(WORD), data: v(DATA), saddr: STATE, offset: at });
    }
  }
  code.sopp("s_endpgm");
  return code.words;
}

/** The words themselves. */
function body(code: Code, words: readonly number[], end: Label): void {
  words.forEach((word, k) => {
    if (word !== END) code.emit([word]);
    else if (k < words.length - 1) code.branch("s_branch", end);
  });
}
