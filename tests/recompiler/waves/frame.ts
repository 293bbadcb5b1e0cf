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
import { verifyModule } from "../../support/verify_module.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { structurize } from "../../../src/recompiler/structurize/structurize.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, makeRequest, PLAIN_DEVICE } from "../../support/lift.ts";
import { runGuestWell } from "../../support/run.ts";
import { EvaluatedExecutor } from "../../support/spirv_eval/executor.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import {
  CODE,
  guestOf,
  IN,
  lanesOf,
  ldsBytes,
  OUT,
  OUTPUTS,
  programOf,
  userData,
  type WaveCase,
  withWaveMode,
} from "./guest.ts";

export { INPUTS, lanesOf, OUTPUTS, programOf, randomInput, type WaveCase, withWaveMode } from "./guest.ts";

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
    races: true,
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
