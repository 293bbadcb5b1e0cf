/**
 * Runs a few instructions as a whole program: on the IR evaluator (as lifted, simplified, and with its regions chosen), on the reference interpreter, and
 * on a Vulkan device through the driver. All get the same machine code and memory, and leave the same kind of output.
 *
 * Before the instructions: v0..v7 hold the lane's eight input words, EXEC is the case's mask, SCC is 0, s6 the case's argument, s7 the threads of a workgroup, s8 the
 * workgroup. With LDS, bytes 16n..16n+15 hold input words 4..7 of thread n. After them, a lane's output is v0..v7, s20, s21, s22, SCC, and with LDS its
 * 16 bytes. Lanes that the case's EXEC leaves out give their registers, too.
 */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../../src/driver/run_program.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Access, runDispatch, WindowSpace } from "../../../src/rdna/interpreter/mod.ts";
import { buildCfg } from "../../../src/recompiler/cfg/build.ts";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { lift } from "../../../src/recompiler/lift/lift.ts";
import { dropAbsentLanes } from "../../../src/recompiler/passes/absent_lanes.ts";
import { ldsHazards } from "../../../src/recompiler/passes/lds_hazards.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { verifyModule } from "../../../src/recompiler/spirv/verify.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { structurize } from "../../../src/recompiler/structurize/structurize.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, makeRequest, PLAIN_DEVICE } from "../../support/lift.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { Random } from "../../support/random.ts";
import { runGuestWell } from "../../support/run.ts";
import { EvaluatedExecutor } from "../../support/spirv_eval/executor.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
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

const IN = 0x3_0000_0000n, OUT = 0x3_0010_0000n, CODE = 0x2_0000_0000n;

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

function userData(c: WaveCase, input: bigint, output: bigint): number[] {
  const exec = c.exec ?? (1n << BigInt(c.waveSize)) - 1n;
  return [...words64(input), ...words64(output), ...words64(exec), c.argument ?? 0, c.threads ?? c.waveSize];
}

function requestOf(c: WaveCase): RecompileRequest {
  return makeRequest({
    code: programOf(c),
    codeAddress: CODE,
    target: c.target ?? "gfx1030",
    waveSize: c.waveSize,
    workgroupSize: [c.threads ?? c.waveSize, 1, 1],
    userSgprCount: 8,
    workgroupIds: [true, false, false],
    ldsBytes: ldsBytes(c),
    floatMode: c.floatMode ?? 0xf0,
    dx10Clamp: true,
    device: PLAIN_DEVICE,
  });
}

function ldsBytes(c: WaveCase): number {
  return c.lds ? Math.ceil((c.threads ?? c.waveSize) * 16 / 512) * 512 : 0;
}

/** The IR of a case as the lift leaves it. @throws RefusedError */
export function liftedOf(c: WaveCase): Ir {
  const request = requestOf(c);
  const cfg = buildCfg(request.code, { target: request.target, codeAddress: CODE });
  const ir = lift(cfg, structurize(cfg), request);
  validateIrVerbosely(ir);
  return ir;
}

/** Recompiles a case and checks the module: the emitter's own verification, and SPIRV-Tools. Returns the artifact. */
export function validated(c: WaveCase): Artifact {
  const artifact = recompile(requestOf(c));
  assertEquals(verifyModule(artifact.spirv), []);
  assertEquals(openSpirvTools().validate(artifact.spirv).map(({ message }) => message), [], c.lines.join("; "));
  return artifact;
}

/** Output of the IR evaluator; all stages of the recompiler must give the same. */
export function evaluated(c: WaveCase, input: Uint32Array): Uint32Array {
  const lifted = liftedOf(c);
  const simplified = cleaned(lifted);
  const threads = c.threads ?? c.waveSize;
  const lanes = Math.ceil(threads / c.waveSize) * c.waveSize;
  let regions = cleaned(chooseRegions(simplified, ldsHazards(simplified, threads, lanes), threads > c.waveSize).ir);
  if (dropAbsentLanes(regions, requestOf(c))) regions = cleaned(regions);
  const results = [lifted, simplified, regions].map((ir) => {
    const memory = new EvalMemory();
    memory.mapWords(IN, input);
    const output = memory.mapWords(OUT, new Uint32Array(lanesOf(c) * OUTPUTS));
    for (let group = 0; group < (c.groups ?? 1); group++) {
      const { faults } = evaluateWorkgroup(ir, {
        waveSize: c.waveSize,
        workgroupSize: [threads, 1, 1],
        workgroupId: [group, 0, 0],
        userData: userData(c, IN, OUT),
        memory,
        ldsBytes: ldsBytes(c),
      });
      assertEquals(faults, []);
    }
    return output;
  });
  assertWordsEqual(c, results[1], results[0], "the simplified program gives other results than the lifted one");
  assertWordsEqual(c, results[2], results[0], "the program with regions gives other results than the lifted one");
  return results[0];
}

/** Output of the reference interpreter. */
export function interpreted(c: WaveCase, input: Uint32Array<ArrayBuffer>): Uint32Array {
  const output = new Uint32Array(lanesOf(c) * OUTPUTS), code = programOf(c);
  const space = new WindowSpace().add(IN, new Uint8Array(input.buffer)).add(OUT, new Uint8Array(output.buffer));
  space.add(CODE, new Uint8Array(code.buffer), Access.Read | Access.Execute);
  const { fault } = runDispatch({
    codeAddress: CODE,
    target: c.target ?? "gfx1030",
    waveSize: c.waveSize,
    workgroupSize: [c.threads ?? c.waveSize, 1, 1],
    groups: [c.groups ?? 1, 1, 1],
    userData: userData(c, IN, OUT),
    userSgprCount: 8,
    workgroupIds: [true, false, false],
    tgSize: false,
    threadIdCount: 1,
    ldsBytes: ldsBytes(c),
    floatMode: c.floatMode ?? 0xf0,
    ieee: false,
    dx10Clamp: true,
  }, {
    space,
    code: (address) => address >= Number(CODE) ? { base: Number(CODE), words: code } : undefined,
    instructionLimit: 1_000_000,
  });
  assertEquals(fault, null);
  return output;
}

/** The guest that runs a case: its program, and its output buffer. */
function guestOf(c: WaveCase, input: Uint32Array<ArrayBuffer>) {
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

/** Output of a device, and the lane mode of the program. */
export function onDevice(
  device: GpuDevice,
  c: WaveCase,
  input: Uint32Array<ArrayBuffer>,
  asked?: RecompilerDevice["laneMode"],
): { output: Uint32Array; laneMode: string } {
  const guest = guestOf(c, input);
  using run = withWaveMode(asked, () => runGuestWell(device, guest.program));
  const [program] = run.result.programs;
  return { output: run.words(guest.output), laneMode: program.laneMode };
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

/** Output of a host with subgroups of that width (tests/support/spirv_eval), and the lane mode of the program. */
export function onHost(
  subgroupSize: 8 | 16 | 32 | 64,
  c: WaveCase,
  input: Uint32Array<ArrayBuffer>,
  seed: number,
  asked?: RecompilerDevice["laneMode"],
): { output: Uint32Array; laneMode: string } {
  const guest = guestOf(c, input);
  const memory = new GuestMemory(new ArrayAllocator());
  const executor = new EvaluatedExecutor({
    target: c.target ?? "gfx1030",
    subgroupSize,
    seed,
    device: asked && { laneMode: asked },
  });
  const { error, programs } = runProgram(guest.program, executor, memory);
  if (error !== undefined) throw error;
  const { address, bytes } = guest.output;
  return { output: new Uint32Array(memory.read(address, bytes).slice().buffer), laneMode: programs[0].laneMode };
}

/** Compares outputs and names the first lanes and registers that differ. */
export function assertWordsEqual(c: WaveCase, actual: Uint32Array, expected: Uint32Array, what: string): void {
  const differing: string[] = [];
  for (let k = 0; k < expected.length; k++) {
    if (actual[k] === expected[k]) continue;
    const name = NAMES[k % OUTPUTS];
    differing.push(
      `lane ${Math.floor(k / OUTPUTS)} ${name}: 0x${actual[k].toString(16)}, expected 0x${expected[k].toString(16)}`,
    );
  }
  if (differing.length > 0) {
    throw new Error(`${what}: ${c.lines.join("; ")}: ${differing.length} words: ${differing.slice(0, 6).join("; ")}`);
  }
}

const NAMES = [
  ...Array.from({ length: 8 }, (_, k) => `v${k}`),
  "s20",
  "s21",
  "s22",
  "scc",
  ...Array.from({ length: 4 }, (_, k) => `lds ${k}`),
];
