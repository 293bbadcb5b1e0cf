/** Guest programs around the machine code of chains.ts: memory, registers, dispatches. */
import type { Program } from "../../src/guest/program.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import { CHAIN_USER_SGPRS } from "./chains.ts";

const CODE = 0x2_0000_0000n, INPUT = 0x3_0000_0000n, OUTPUT = 0x4_0000_0000n;

/** What to dispatch. */
export interface ChainLaunch {
  readonly name: string;
  readonly code: Uint32Array;
  /** RSRC1 FLOAT_MODE. */
  readonly floatMode: number;
  /** Threads of a workgroup; each dispatch is one workgroup of 32-lane waves. */
  readonly threads: number;
  readonly dispatches: number;
  /** Dwords that the dispatches read, in equal parts; the V# of its part is a dispatch's s[0:3]. Undefined: s[0:3] is the output's. */
  readonly input?: Uint32Array;
  /** Bytes that each thread stores; the V# of a dispatch's part is its s[4:7], or s[0:3] without input. */
  readonly outputBytes: number;
}

/** The program, and where its results are. */
export interface ChainProgram {
  readonly program: Program;
  readonly output: { readonly address: bigint; readonly bytes: number };
}

/** Builds the program. */
export function chainProgram(launch: ChainLaunch): ChainProgram {
  const { name, code, floatMode, threads, dispatches, input, outputBytes } = launch;
  const part = threads * outputBytes, bytes = part * dispatches;
  const inputPart = (input?.byteLength ?? 0) / dispatches;
  const words: number[] = [
    ...set(0x204, 0, 0, 0),
    ...set(0x207, threads, 1, 1),
    ...set(0x20c, Number(CODE >> 8n), 0),
    ...set(0x212, floatMode << 12, CHAIN_USER_SGPRS << 1),
  ];
  for (let i = 0; i < dispatches; i++) {
    const output = descriptor(OUTPUT + BigInt(part * i), part);
    const userData = input === undefined
      ? output
      : [...descriptor(INPUT + BigInt(inputPart * i), inputPart), ...output];
    words.push(...set(0x240, ...userData), 0xc003_1500, 1, 1, 1, 0x8041);
  }
  const window = (name: string, base: bigint, size: number, permissions: number, data?: Uint32Array) => ({
    name,
    base,
    bytes: pages(size),
    permissions,
    contents: data === undefined
      ? []
      : [{ offset: 0, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }],
  });
  const program: Program = {
    name,
    target: "gfx1013",
    memory: [
      window("code", CODE, code.byteLength, Permission.Read | Permission.Execute, code),
      ...(input === undefined ? [] : [window("input", INPUT, input.byteLength, Permission.Read, input)]),
      window("output", OUTPUT, bytes, Permission.Read | Permission.Write),
    ],
    submissions: [{ queue: 0x20, words: Uint32Array.from(words), label: "chains" }],
    expectations: [],
    untouched: [],
    notes: [],
  };
  return { program, output: { address: OUTPUT, bytes } };
}

function pages(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / 4096)) * 4096;
}

/** A raw buffer of dwords: OOB_SELECT 3, format 32_UINT, selectors X Y Z W. */
function descriptor(address: bigint, bytes: number): number[] {
  return [Number(address & 0xffff_ffffn), Number(address >> 32n) & 0xffff, bytes, 0x3101_6fac];
}

/** SET_SH_REG. */
function set(register: number, ...values: number[]): number[] {
  return [(0xc000_7600 | values.length << 16) >>> 0, register, ...values];
}
