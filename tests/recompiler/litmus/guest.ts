/** Litmus programs as guest programs: machine code, memory, dispatches. */
import { runProgram } from "../../../src/driver/run_program.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { Artifact, RecompilerDevice } from "../../../src/recompiler/request.ts";
import { computeState, type GuestBuffer, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { runGuestWell } from "../../support/run.ts";
import { EvaluatedExecutor } from "../../support/spirv_eval/executor.ts";
import { assemble } from "../waves/assembled.ts";
import { withWaveMode } from "../waves/guest.ts";
import type { Litmus } from "./programs.ts";

/** How large a run is. */
export interface LitmusSize {
  readonly groups: number;
  readonly rounds: number;
}

/** What a run has left. */
export interface LitmusResult {
  readonly mismatches: readonly [wrong: number, of: number];
  readonly laneMode: string;
}

/** The machine code of a program, for waves of 32. */
export function codeOf({ lines }: Litmus): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(assemble("gfx1030", 32, lines));
}

/** The guest that runs a program once. */
export function litmusGuest(litmus: Litmus, { groups, rounds }: LitmusSize) {
  const guest = new GuestProgram(litmus.name, { target: "gfx1030" });
  const code = guest.code(codeOf(litmus));
  const shared = guest.buffer(new Uint32Array(litmus.sharedWords(groups)));
  const results = guest.buffer(new Uint32Array(litmus.resultWords(groups)));
  guest.submit(
    0,
    computeState({
      code,
      userData: [...words64(shared.address), ...words64(results.address), groups, rounds, 0, 0],
      threads: [litmus.threads, 1, 1],
      ldsBytes: litmus.ldsBytes ?? 0,
    }),
    dispatchDirect([groups, 1, 1], { waveSize: 32 }),
  );
  return { program: guest.program, shared, results };
}

/** Runs a program on a device. */
export function onDevice(
  device: GpuDevice,
  litmus: Litmus,
  size: LitmusSize,
  asked?: RecompilerDevice["laneMode"],
): LitmusResult {
  const { program, shared, results } = litmusGuest(litmus, size);
  using run = withWaveMode(asked, () => runGuestWell(device, program));
  return {
    mismatches: litmus.mismatches(run.words(shared), run.words(results), size.groups, size.rounds),
    laneMode: run.result.programs[0].laneMode,
  };
}

/** Runs a program on the evaluator of SPIR-V, with weak memory. @param change is done to the module first */
export function onWeakHost(
  litmus: Litmus,
  size: LitmusSize,
  seed: number,
  { asked, change, subgroupSize = 8, device: facts }: {
    asked?: RecompilerDevice["laneMode"];
    change?: (words: Uint32Array) => Uint32Array;
    subgroupSize?: 8 | 32;
    device?: Partial<RecompilerDevice>;
  } = {},
): LitmusResult & { readonly artifact: Artifact } {
  const { program, shared, results } = litmusGuest(litmus, size);
  const memory = new GuestMemory(new ArrayAllocator());
  const device = { ...facts, ...(asked && { laneMode: asked }) };
  const executor = new EvaluatedExecutor({ target: "gfx1030", subgroupSize, seed, weak: true, device, change });
  const { error, programs } = runProgram(program, executor, memory);
  if (error !== undefined) throw error;
  const words = ({ address, bytes }: GuestBuffer) => new Uint32Array(memory.read(address, bytes).slice().buffer);
  return {
    mismatches: litmus.mismatches(words(shared), words(results), size.groups, size.rounds),
    laneMode: programs[0].laneMode,
    artifact: executor.artifacts[0],
  };
}
