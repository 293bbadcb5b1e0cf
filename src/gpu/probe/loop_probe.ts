import type { GpuDevice } from "../device.ts";
import { loopProbeModule } from "./loop_probe_module.ts";
import { runProbe } from "./run_probe.ts";

/** More rounds than llvmpipe lets all loops of an invocation take together (Mesa, LP_MAX_TGSI_LOOP_ITERATIONS: 65,535). */
const ROUNDS = 70_000;

/** What the loop probe measured. */
export interface LoopBehaviour {
  /** Rounds that a loop of {@linkcode ROUNDS} took. */
  readonly rounds: number;
  /** A short loop behind it was ended, too: what the recompiled programs look for (recompiler/spirv/loop_limit.ts). */
  readonly shows: boolean;
}

/** Whether the device ends loops that have not ended. @throws Error when it does and {@linkcode LoopBehaviour.shows} is false: programs could not tell */
export function probeEndsLoops(device: GpuDevice): boolean {
  const { rounds, shows } = measureLoops(device, ROUNDS);
  if (rounds === ROUNDS) return false;
  if (!shows) {
    throw new Error(`this device ended a loop after ${rounds} of ${ROUNDS} rounds, and a program cannot tell`);
  }
  return true;
}

/** Runs a loop of `rounds` rounds on the device. */
export function measureLoops(device: GpuDevice, rounds: number): LoopBehaviour {
  const [taken, value, ended] = runProbe(device, loopProbeModule, Uint32Array.of(rounds, 4, 4), 3);
  const right = taken === rounds && value === sequence(rounds);
  return { rounds: right ? rounds : Math.min(taken, rounds - 1), shows: ended === 1 };
}

function sequence(rounds: number): number {
  let x = 0;
  for (let k = 0; k < rounds; k++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return x;
}
