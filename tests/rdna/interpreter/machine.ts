/** Runs a few instructions on a wave whose registers the test sets, and looks at the registers afterwards. */
import type { Target } from "../../../src/rdna/target.ts";
import { Operand } from "../../../src/rdna/instruction.ts";

import { Code } from "../../../src/rdna/interpreter/machine/code.ts";
import { LocalMemory } from "../../../src/rdna/interpreter/machine/local_memory.ts";
import { DispatchMemory, type Fault } from "../../../src/rdna/interpreter/machine/memory.ts";
import { WindowSpace } from "../../../src/rdna/interpreter/machine/window_space.ts";
import { LANES, Wave } from "../../../src/rdna/interpreter/machine/wave.ts";
import { type Message, Workgroup } from "../../../src/rdna/interpreter/machine/workgroup.ts";
import { parseWords } from "../../support/assemble.ts";
import { WORDS } from "./words.ts";

/** Guest address of the first instruction. */
export const CODE = 0x2_0000_1000;

/** A vector register before a run: one value for all lanes, one for each lane, or a function of the lane. */
export type VectorValue = number | readonly number[] | ((lane: number) => number);

/** Registers and memory before a run. Numbers are bit patterns. */
export interface Before {
  waveSize?: 32 | 64;
  target?: Target;
  s?: Readonly<Record<number, number>>;
  v?: Readonly<Record<number, VectorValue>>;
  /** All lanes when left out. */
  exec?: bigint;
  vcc?: bigint;
  m0?: number;
  scc?: 0 | 1;
  /** MODE; 0xf0 (denormals kept, nearest even, IEEE and DX10_CLAMP off) when left out. */
  mode?: number;
  /** LDS as dwords; 256 dwords of zeros when left out. */
  lds?: readonly number[];
  gds?: readonly number[];
  /** Guest memory by address. */
  memory?: ReadonlyMap<bigint, Uint8Array>;
  flatScratch?: bigint;
  clock?: () => bigint;
  /** More waves of the same workgroup run the same code. */
  waves?: number;
}

/** Registers and memory after a run. */
export interface After {
  /** A scalar register (106 VCC, 124 M0, 126 EXEC), unsigned. */
  s(register: number): number;
  /** A pair of scalar registers. */
  s64(register: number): bigint;
  /** A vector register of a lane, unsigned. */
  v(register: number, lane?: number): number;
  /** Two vector registers of a lane. */
  v64(register: number, lane?: number): bigint;
  /** A vector register of the first lanes. */
  lanes(register: number, count?: number): number[];
  readonly exec: bigint;
  readonly vcc: bigint;
  readonly scc: number;
  readonly wave: Wave;
  readonly group: Workgroup;
  readonly fault: Fault | null;
  readonly messages: readonly Message[];
  /** A dword of LDS, unsigned. */
  lds(address: number): number;
  gds(address: number): number;
}

/** Machine words of assembler lines, in order. Lines are looked up in words.ts, where LLVM's words stand. */
export function assemble(lines: readonly string[], target: Target, waveSize: 32 | 64): number[] {
  return lines.flatMap((line) => {
    const words = WORDS[`${target} w${waveSize} ${line}`];
    if (words === undefined) throw new Error(`no words for "${target} w${waveSize} ${line}" in words.ts`);
    return parseWords(words);
  });
}

/** Runs assembler lines; s_endpgm is added. */
export function run(lines: string | readonly string[], before: Before = {}): After {
  const { target = "gfx1013", waveSize = 32 } = before;
  const list = typeof lines === "string" ? [lines] : lines;
  return runWords([...assemble(list, target, waveSize), 0xbf810000], before);
}

/** Runs machine words. */
export function runWords(words: readonly number[], before: Before = {}): After {
  const { target = "gfx1013", waveSize = 32 } = before;
  const space = new WindowSpace();
  for (const [address, bytes] of before.memory ?? []) space.add(address, bytes);
  const code = Uint32Array.from(words);
  const memory = new DispatchMemory(space);
  const inside = (address: number) => address >= CODE && address < CODE + code.length * 4;
  const gds = new LocalMemory(bytesOf(before.gds ?? new Array(16).fill(0)));
  const messages: Message[] = [];
  const group = new Workgroup({
    code: new Code(CODE, target, (address) => inside(address) ? { base: CODE, words: code } : undefined),
    memory,
    gds,
    apertures: { shared: 0x1_0000, private: 0x2_0000 },
    clock: before.clock ?? (() => 0n),
    instructionLimit: 1_000_000,
    messages,
  }, 0);
  group.lds.bytes.fill(0);
  const lds = new LocalMemory(bytesOf(before.lds ?? new Array(256).fill(0)));
  Object.assign(group, { lds });
  for (let index = 0; index < (before.waves ?? 1); index++) group.waves.push(makeWave(before, group, index, waveSize));
  group.run();
  memory.settle();
  const wave = group.waves[0];
  const pair = (lo: number, hi: number) => BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0);
  const mask = (register: number) => pair(wave.sgpr[register], waveSize === 64 ? wave.sgpr[register + 1] : 0);
  const vector = (register: number, lane = 0) => wave.vgpr[register * LANES + lane] >>> 0;
  return {
    s: (register) => wave.sgpr[register],
    s64: (register) => pair(wave.sgpr[register], wave.sgpr[register + 1]),
    v: vector,
    v64: (register, lane = 0) => pair(vector(register, lane), vector(register + 1, lane)),
    lanes: (register, count = waveSize) => Array.from({ length: count }, (_, lane) => vector(register, lane)),
    exec: mask(Operand.Exec),
    vcc: mask(Operand.Vcc),
    scc: wave.scc,
    wave,
    group,
    fault: memory.fault,
    messages,
    lds: (address) => lds.dword(address) >>> 0,
    gds: (address) => gds.dword(address) >>> 0,
  };
}

function bytesOf(dwords: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(dwords).buffer);
}

function makeWave(before: Before, group: Workgroup, index: number, waveSize: 32 | 64): Wave {
  const wave = new Wave(waveSize, group, index);
  const setMask = (register: number, value: bigint) => {
    wave.sgpr[register] = Number(value & 0xffff_ffffn);
    wave.sgpr[register + 1] = Number(value >> 32n);
  };
  for (const [register, value] of Object.entries(before.s ?? {})) wave.sgpr[Number(register)] = value;
  for (const [register, value] of Object.entries(before.v ?? {})) {
    for (let lane = 0; lane < waveSize; lane++) {
      const bits = typeof value === "number" ? value : typeof value === "function" ? value(lane) : value[lane] ?? 0;
      wave.vgpr[Number(register) * LANES + lane] = bits;
    }
  }
  setMask(Operand.Exec, before.exec ?? (1n << BigInt(waveSize)) - 1n);
  setMask(Operand.Vcc, before.vcc ?? 0n);
  wave.sgpr[Operand.M0] = before.m0 ?? 0;
  wave.scc = before.scc ?? 0;
  wave.mode.set(before.mode ?? 0xf0);
  wave.flatScratch[0] = Number((before.flatScratch ?? 0n) & 0xffff_ffffn);
  wave.flatScratch[1] = Number((before.flatScratch ?? 0n) >> 32n);
  return wave;
}

/** Bits of an f32 number, unsigned. */
export function f32(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}

/** Bits of an f16 number. */
export function f16(value: number): number {
  return new Uint16Array(Float16Array.of(value).buffer)[0];
}

/** Bits of an f64 number. */
export function f64(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0];
}

/** Low and high word of a 64-bit pattern, as the values of two registers. */
export function halves(bits: bigint): [number, number] {
  return [Number(bits & 0xffff_ffffn), Number(bits >> 32n & 0xffff_ffffn)];
}

/** An unsigned 32-bit pattern of a signed number. */
export function u32(value: number): number {
  return value >>> 0;
}
