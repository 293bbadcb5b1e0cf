/**
 * The frame of an instruction batch: one program that executes many instruction instances, each with operands of its own in every thread, and stores what
 * each of them did. Both executors run the same program; their outputs are compared word by word.
 *
 * Registers: s[0:1] data, s[2:3] output, s4 workgroup, s5..s9 of the frame; s16..s47 scalar operands, s64..s79 scalar destinations.
 * v0..v7 of the frame (v3 output offset, v4..v7 captured values); v8..v31 operands, v32..v47 destinations.
 */
import { Permission } from "../../src/guest/memory/window.ts";
import type { Program } from "../../src/guest/program.ts";
import { Operand } from "../../src/rdna/instruction.ts";
import type { Target } from "../../src/rdna/target.ts";
import { dispatchDirect, setComputeProgram, setComputeRegisters } from "../support/packets.ts";
import type { Random } from "../support/random.ts";
import { Code } from "./code.ts";
import { int, v } from "./encode.ts";
import { randomF32, randomF64, randomHalves, randomInt, randomInt64, randomSmallF32 } from "./values.ts";

/** Vector operand registers by what they hold; wide ones hold pairs. */
export const VECTORS = {
  float: [8, 9, 10, 11, 12, 13],
  integer: [14, 15, 16, 17],
  small: [18, 19],
  halves: [20, 21, 22, 23],
  double: [24, 26],
  wide: [28, 30],
  all: [8, 31],
} as const;

/** Scalar operand registers by what they hold. */
export const SCALARS = {
  float: [16, 17, 18, 19, 20, 21],
  integer: [22, 23, 24, 25, 26],
  small: [27],
  halves: [28, 29, 30, 31],
  double: [32, 34, 36, 38],
  wide: [40, 42, 44, 46],
  all: [16, 47],
} as const;

/** First vector and scalar destination register, and how many there are. */
export const DESTINATION = { vector: 32, scalar: 64, count: 16 } as const;

/** Threads of a workgroup. */
export const THREADS = 64;
const THREAD_WORDS = 24;
const GROUP_WORDS = 32;

/** Where a captured word comes from. */
export type Source =
  | { kind: "vector"; register: number }
  | { kind: "scalar"; register: number }
  /** A lane mask, as one bit per lane, or as its number (one word per 32 lanes). */
  | { kind: "mask"; register: number; number: boolean }
  | { kind: "scc" }
  | { kind: "exec"; number: boolean };

/** Compares captured words: `words` of `actual` and of `expected` from `at` on. */
export type Compare = (actual: Uint32Array, expected: Uint32Array, at: number, words: number) => boolean;

/** What is captured after an instance, and how it is compared. */
export interface Check {
  sources: Source[];
  compare: Compare;
}

/** One instruction with its preparation. */
export interface Instance {
  /** Mnemonic, for tables. */
  name: string;
  /** Form and modifiers, for people. */
  form: string;
  /** Emitted before: destinations, masks, SCC. @param region byte offset of the instance's memory from s[2:3] */
  before(code: Code, region: number): void;
  /** The instruction itself; several words lists when a twin belongs to it. */
  words: number[][];
  checks: Check[];
  /** Memory that it works on: bytes per thread, random at the start, and how each thread's part is compared. */
  memory?: { bytes: number; compare: Compare };
  /** Whether lanes exchange values: such instances cost far more. */
  lanes: boolean;
}

/**
 * What instances may be told to have: modifiers of sources and results, lanes that EXEC switches off, offsets of memory accesses, DPP rows left out or left over their edges; image
 * instructions are a class of their own.
 */
export type Spotlight = "signs" | "clamp" | "omod" | "opsel" | "exec" | "offset" | "rows" | "edges" | "image";

/** What all instances of a batch share. */
export interface BatchSettings {
  target: Target;
  waveSize: 32 | 64;
  groups: number;
  /** RSRC1 FLOAT_MODE. */
  floatMode: number;
  ieee: boolean;
  dx10Clamp: boolean;
  /** Bytes of LDS. */
  ldsBytes: number;
  /** Most f32 operands are denormal, or make denormals of others. */
  denormals?: boolean;
  /** What the instances are to have wherever they can; chance decides about the rest. */
  spotlight?: Spotlight | readonly Spotlight[];
  /** Makes the code differ from that of the same batch with another number; changes nothing else. */
  nonce?: number;
}

/** Whether a batch asks for something wherever it can be. */
export function asksFor({ spotlight }: BatchSettings, what: Spotlight): boolean {
  return spotlight === what || (Array.isArray(spotlight) && spotlight.includes(what));
}

/** A program with the places of its results. */
export interface Batch {
  settings: BatchSettings;
  instances: readonly Instance[];
  program: Program;
  code: Uint32Array;
  codeAddress: bigint;
  /** Words per thread in the output. */
  stride: number;
  /** First word of each check and their number, by instance. */
  places: { at: number; words: number }[][];
  /** Word index in the output of each instance's memory; -1 without. */
  regions: number[];
  /** Byte range of each instance in the code. */
  ranges: { start: number; end: number }[];
  output: { address: bigint; bytes: number };
}

const CODE_BASE = 0x2_0000_0000n;
const DATA_BASE = 0x3_0000_0000n;
const PAGE = 4096;

/** Builds the program of a batch. @param random gives the operands of all threads */
export function buildBatch(instances: readonly Instance[], settings: BatchSettings, random: Random): Batch {
  const code = new Code();
  const words = instances.map((each) => each.checks.map((check) => countWords(check, settings.waveSize)));
  const total = words.flat().reduce((sum, count) => sum + count, 0);
  const stride = Math.max(4, Math.ceil(total / 4) * 4);
  const threads = settings.groups * THREADS;
  const groupData = threads * THREAD_WORDS * 4;
  const outputOffset = roundUp(groupData + settings.groups * GROUP_WORDS * 4, 256);
  let outputBytes = threads * stride * 4;
  const regions = instances.map(({ memory }) => {
    if (memory === undefined) return -1;
    const at = outputBytes / 4;
    outputBytes += threads * memory.bytes;
    return at;
  });
  prologue(code, settings, groupData, stride);
  const writer = new Writer(code);
  const places: Batch["places"] = [], ranges: { start: number; end: number }[] = [];
  instances.forEach((instance, k) => {
    instance.before(code, regions[k] * 4);
    const start = code.at * 4;
    for (const each of instance.words) code.emit(each);
    ranges.push({ start, end: code.at * 4 });
    places.push(captureChecks(code, writer, instance, settings.waveSize));
  });
  writer.flush();
  code.sopp("s_endpgm");
  const data = new Uint32Array((outputOffset + outputBytes) / 4);
  data.set(operandData(settings, random));
  for (let k = outputOffset / 4 + threads * stride; k < data.length; k++) data[k] = randomWord(random);
  const output = { address: DATA_BASE + BigInt(outputOffset), bytes: outputBytes };
  const codeWords = Uint32Array.from(code.words);
  return {
    settings,
    instances,
    code: codeWords,
    codeAddress: CODE_BASE,
    stride,
    places,
    regions,
    ranges,
    output,
    program: program(codeWords, data, output, settings),
  };
}

function countWords(check: Check, waveSize: number): number {
  return check.sources.reduce((sum, source) => sum + ("number" in source && source.number ? waveSize / 32 : 1), 0);
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

/** Loads the operands and computes the output address. */
function prologue(code: Code, settings: BatchSettings, groupData: number, stride: number): void {
  code.vop3("v_lshl_add_u32", { dst: v(1), src: [4, int(6), v(0)] });
  code.vop3("v_mul_lo_u32", { dst: v(2), src: [v(1), Operand.Literal], literal: THREAD_WORDS * 4 });
  for (let k = 0; k < THREAD_WORDS / 4; k++) {
    code.flat("global_load_dwordx4", { dst: v(8 + 4 * k), addr: v(2), saddr: 0, offset: 16 * k });
  }
  code.sop2("s_lshl_b32", 5, 4, int(7));
  code.sop2("s_add_u32", 5, 5, Operand.Literal, groupData);
  code.smem("s_load_dwordx16", { data: 16, base: 0, soffset: 5 });
  code.smem("s_load_dwordx16", { data: 32, base: 0, soffset: 5, offset: 64 });
  code.vop3("v_mul_lo_u32", { dst: v(3), src: [v(1), Operand.Literal], literal: stride * 4 });
  code.sopp("s_waitcnt", 0);
  if (settings.nonce !== undefined) code.sopp("s_nop", settings.nonce);
}

/** Gathers captured words in v4..v7 and stores them four at a time. */
class Writer {
  /** Words written or gathered. */
  count = 0;
  #offset = 0;

  constructor(private readonly code: Code) {}

  /** The register that the next word goes to. */
  next(): number {
    return v(4 + this.count++ % 4);
  }

  /** Stores when four words are gathered. */
  settle(): void {
    if (this.count % 4 === 0) this.#store();
  }

  flush(): void {
    if (this.count % 4 !== 0) this.#store();
  }

  #store(): void {
    if (this.#offset > 2032) {
      this.code.vop("v_add_nc_u32", v(3), Operand.Literal, v(3), this.#offset);
      this.#offset = 0;
    }
    this.code.flat("global_store_dwordx4", { addr: v(3), data: v(4), saddr: 2, offset: this.#offset });
    this.#offset += 16;
  }
}

/** Emits the capture of all checks; all lanes are active afterwards. */
function captureChecks(
  code: Code,
  writer: Writer,
  instance: Instance,
  waveSize: 32 | 64,
): { at: number; words: number }[] {
  const sources = instance.checks.flatMap((check) => check.sources);
  if (sources.some((source) => source.kind === "scc")) code.sop2("s_cselect_b32", 5, int(1), int(0));
  if (sources.some((source) => source.kind === "exec")) moveMask(code, 8, Operand.Exec, waveSize);
  moveMask(code, Operand.Exec, int(-1), waveSize);
  return instance.checks.map((check) => {
    const at = writer.count;
    for (const source of check.sources) captureSource(code, writer, source, waveSize);
    return { at, words: writer.count - at };
  });
}

/** Copies a lane mask. */
export function moveMask(code: Code, dst: number, src: number, waveSize: 32 | 64): void {
  code.sop1(waveSize === 64 ? "s_mov_b64" : "s_mov_b32", dst, src);
}

function captureSource(code: Code, writer: Writer, source: Source, waveSize: 32 | 64): void {
  const move = (from: number) => {
    code.vop("v_mov_b32", writer.next(), from);
    writer.settle();
  };
  switch (source.kind) {
    case "vector":
      return move(v(source.register));
    case "scalar":
      return move(source.register);
    case "scc":
      return move(5);
    case "exec":
    case "mask": {
      const register = source.kind === "exec" ? 8 : source.register;
      if (source.number) { for (let half = 0; half < waveSize / 32; half++) move(register + half); }
      else {
        code.vop3("v_cndmask_b32", { dst: writer.next(), src: [int(0), int(1), register] });
        writer.settle();
      }
    }
  }
}

/** Operands of all threads, then those of all workgroups. */
function operandData({ groups, denormals }: BatchSettings, random: Random): Uint32Array<ArrayBuffer> {
  const threads = groups * THREADS;
  const data = new Uint32Array(threads * THREAD_WORDS + groups * GROUP_WORDS);
  const float = denormals ? randomSmallF32 : randomF32;
  let at = 0;
  const put = (...values: number[]) => values.forEach((value) => data[at++] = value);
  // Comparisons are between equals now and then: a number is the one before it, perhaps with the other sign.
  const putF32 = () => put(random.chance(0.15) ? (data[at - 1] ^ random.below(2) << 31) >>> 0 : float(random));
  const putInt = () => put(random.chance(0.15) ? data[at - 1] : randomInt(random));
  const putHalves = () => {
    const signs = random.pick([0, 0x8000, 0x80000000, 0x80008000]);
    put(random.chance(0.2) ? (data[at - 1] ^ signs) >>> 0 : randomHalves(random));
  };
  const putPair = (make: (random: Random) => [number, number], sign: number) => {
    if (random.chance(0.85)) put(...make(random));
    else put(data[at - 2], (data[at - 1] ^ random.below(2) * sign) >>> 0);
  };
  const SIGN = 0x80000000;
  for (let thread = 0; thread < threads; thread++) {
    put(float(random));
    for (let k = 1; k < 6; k++) putF32();
    put(randomInt(random));
    for (let k = 1; k < 4; k++) putInt();
    put(random.below(72), random.chance(0.5) ? random.below(33) : random.u32());
    put(randomHalves(random));
    for (let k = 1; k < 4; k++) putHalves();
    put(...randomF64(random));
    putPair(randomF64, SIGN);
    put(...randomInt64(random));
    putPair(randomInt64, 1);
  }
  for (let group = 0; group < groups; group++) {
    put(float(random));
    for (let k = 1; k < 6; k++) putF32();
    put(randomInt(random));
    for (let k = 1; k < 5; k++) putInt();
    put(random.below(72));
    put(randomHalves(random));
    for (let k = 1; k < 4; k++) putHalves();
    put(...randomF64(random));
    for (let k = 1; k < 4; k++) putPair(randomF64, SIGN);
    put(...randomInt64(random));
    for (let k = 1; k < 4; k++) putPair(randomInt64, 1);
  }
  return data;
}

/** Contents of memory: integers and floats. */
function randomWord(random: Random): number {
  return random.chance(0.5) ? randomInt(random) : randomF32(random);
}

function program(
  code: Uint32Array<ArrayBuffer>,
  data: Uint32Array<ArrayBuffer>,
  output: { address: bigint; bytes: number },
  settings: BatchSettings,
): Program {
  const dataBytes = roundUp(Number(output.address - DATA_BASE) + output.bytes, PAGE);
  const halves = (address: bigint) => [Number(address & 0xffffffffn), Number(address >> 32n)];
  const { floatMode, ieee, dx10Clamp, ldsBytes } = settings;
  const rsrc1 = 11 | floatMode << 12 | (dx10Clamp ? 1 << 21 : 0) | (ieee ? 1 << 23 : 0) | 1 << 29 | 1 << 30;
  const rsrc2 = 4 << 1 | 1 << 7 | Math.ceil(ldsBytes / 512) << 15;
  const words = [
    ...setComputeRegisters(0x204, 0, 0, 0),
    ...setComputeRegisters(0x207, THREADS, 1, 1),
    ...setComputeProgram(CODE_BASE),
    ...setComputeRegisters(0x212, rsrc1, rsrc2),
    ...setComputeRegisters(0x240, ...halves(DATA_BASE), ...halves(output.address)),
    ...dispatchDirect([settings.groups, 1, 1], { waveSize: settings.waveSize }),
  ];
  return {
    name: "fuzz batch",
    target: settings.target,
    memory: [
      {
        name: "code",
        base: CODE_BASE,
        bytes: roundUp(code.byteLength, PAGE),
        permissions: Permission.Read | Permission.Execute,
        contents: [{ offset: 0, data: new Uint8Array(code.buffer) }],
      },
      {
        name: "data",
        base: DATA_BASE,
        bytes: dataBytes,
        permissions: Permission.ReadWrite,
        contents: [{ offset: 0, data: new Uint8Array(data.buffer) }],
      },
    ],
    submissions: [{ queue: 0, words: Uint32Array.from(words) }],
    expectations: [],
    untouched: [],
    notes: [],
  };
}
