/** Wave cases as guest programs: machine code, memory and registers. Knows no device. */
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { Random } from "../../support/random.ts";
import { assemble, type Target } from "./assembled.ts";

/** Words of a lane's input and output. */
export const INPUTS = 8, OUTPUTS = 16;

/** Some instructions and what they run on. */
export interface WaveCase {
  lines: readonly string[];
  waveSize: 32 | 64;
  /** Threads of a workgroup; one wave when left out. */
  threads?: number;
  groups?: number;
  target?: Target;
  /** EXEC of every wave; all lanes when left out. */
  exec?: bigint;
  /** s6. */
  argument?: number;
  /** Input words of all lanes; random ones when left out. */
  input?: Uint32Array<ArrayBuffer>;
  lds?: boolean;
  floatMode?: number;
}

/** Where input, output and code are where nobody else says it. */
export const IN = 0x3_0000_0000n, OUT = 0x3_0010_0000n, CODE = 0x2_0000_0000n;

/** Random input words of a case, with many small numbers among them. */
export function randomInput(c: WaveCase, seed: number): Uint32Array<ArrayBuffer> {
  const random = new Random(seed);
  return Uint32Array.from({ length: lanesOf(c) * INPUTS }, () => random.u32() >>> (random.below(4) * 8));
}

/** Threads of all workgroups. */
export function lanesOf(c: WaveCase): number {
  return (c.threads ?? c.waveSize) * (c.groups ?? 1);
}

/** The whole program's words. */
export function programOf(c: WaveCase): Uint32Array<ArrayBuffer> {
  const wide = c.waveSize === 64;
  const setExec = (to: string, from: string) => wide ? `s_mov_b64 ${to}, ${from}` : `s_mov_b32 ${to}, ${from}`;
  const [exec, saved] = wide ? ["exec", "s[30:31]"] : ["exec_lo", "s30"];
  const before = [
    setExec(saved, exec),
    "v_mad_u32_u24 v41, s8, s7, v0",
    "v_lshlrev_b32_e32 v42, 5, v41",
    "v_lshlrev_b32_e32 v43, 6, v41",
    "v_lshlrev_b32_e32 v44, 4, v0",
    "global_load_dwordx4 v[0:3], v42, s[0:1]",
    "global_load_dwordx4 v[4:7], v42, s[0:1] offset:16",
    "s_waitcnt vmcnt(0)",
    ...(c.lds ? ["ds_write_b128 v44, v[4:7]", "s_waitcnt lgkmcnt(0)", "s_barrier"] : []),
    wide ? "s_and_b64 exec, exec, s[4:5]" : "s_and_b32 exec_lo, exec_lo, s4",
    "s_cmp_lg_u32 s6, s6",
  ];
  const after = [
    "s_cselect_b32 s29, 1, 0",
    setExec(exec, saved),
    ...(c.lds ? ["s_waitcnt lgkmcnt(0)", "s_barrier", "ds_read_b128 v[12:15], v44"] : []),
    "v_mov_b32_e32 v8, s20",
    "v_mov_b32_e32 v9, s21",
    "v_mov_b32_e32 v10, s22",
    "v_mov_b32_e32 v11, s29",
    "global_store_dwordx4 v43, v[0:3], s[2:3]",
    "global_store_dwordx4 v43, v[4:7], s[2:3] offset:16",
    "global_store_dwordx4 v43, v[8:11], s[2:3] offset:32",
    "s_waitcnt lgkmcnt(0)",
    "global_store_dwordx4 v43, v[12:15], s[2:3] offset:48",
    "s_endpgm",
  ];
  return Uint32Array.from(assemble(c.target ?? "gfx1030", c.waveSize, [...before, ...c.lines, ...after]));
}

/** User SGPRs of a case. */
export function userData(c: WaveCase, input: bigint, output: bigint): number[] {
  const exec = c.exec ?? (1n << BigInt(c.waveSize)) - 1n;
  return [...words64(input), ...words64(output), ...words64(exec), c.argument ?? 0, c.threads ?? c.waveSize];
}

/** LDS bytes of a workgroup. */
export function ldsBytes(c: WaveCase): number {
  return c.lds ? Math.ceil((c.threads ?? c.waveSize) * 16 / 512) * 512 : 0;
}

/** The guest that runs a case: its program, and its output buffer. */
export function guestOf(c: WaveCase, input: Uint32Array<ArrayBuffer>) {
  const guest = new GuestProgram("wave case", { target: c.target ?? "gfx1030", codeBase: CODE });
  const code = guest.code(programOf(c));
  const source = guest.buffer(input.slice());
  const output = guest.buffer(new Uint32Array(lanesOf(c) * OUTPUTS));
  guest.submit(
    0,
    computeState({
      code,
      userData: userData(c, source.address, output.address),
      threads: [c.threads ?? c.waveSize, 1, 1],
      ldsBytes: ldsBytes(c),
      floatMode: c.floatMode ?? 0xf0,
    }),
    dispatchDirect([c.groups ?? 1, 1, 1], { waveSize: c.waveSize }),
  );
  return { program: guest.program, output };
}

/** Calls with the switch ANYAGC_WAVE_MODE set (or not set at all). */
export function withWaveMode<R>(mode: RecompilerDevice["laneMode"], call: () => R): R {
  const before = Deno.env.get("ANYAGC_WAVE_MODE");
  if (mode === undefined) Deno.env.delete("ANYAGC_WAVE_MODE");
  else Deno.env.set("ANYAGC_WAVE_MODE", mode);
  try {
    return call();
  } finally {
    if (before === undefined) Deno.env.delete("ANYAGC_WAVE_MODE");
    else Deno.env.set("ANYAGC_WAVE_MODE", before);
  }
}
