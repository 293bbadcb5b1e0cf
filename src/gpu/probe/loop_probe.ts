import { HostBuffer } from "../buffer.ts";
import { CommandQueue } from "../command_queue.ts";
import type { GpuDevice } from "../device.ts";
import { createComputePipeline, createPipelineLayout, destroyPipeline, destroyPipelineLayout } from "../pipelines.ts";
import { loopProbeModule } from "./loop_probe_module.ts";

/** More rounds than llvmpipe lets all loops of an invocation take together (Mesa, LP_MAX_TGSI_LOOP_ITERATIONS: 65,535). */
const ROUNDS = 70_000;
const RESULT = 64;

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
  const memory = new HostBuffer(device, 4096);
  const layout = createPipelineLayout(device);
  const pipeline = createComputePipeline(device, { spirv: loopProbeModule, layout });
  const queue = new CommandQueue(device, { buffers: 1 });
  try {
    const words = new Uint32Array(memory.buffer);
    words.set([rounds, 4, 4]);
    queue.begin();
    queue.bindPipeline(pipeline.handle);
    new BigUint64Array(queue.push.buffer, queue.push.byteOffset, 2).set([
      memory.deviceAddress,
      memory.deviceAddress + BigInt(RESULT),
    ]);
    queue.pushConstants(layout, 16);
    queue.dispatch(1, 1, 1);
    queue.wait(queue.submit());
    const at = RESULT / 4;
    const right = words[at] === rounds && words[at + 1] === sequence(rounds);
    return { rounds: right ? rounds : Math.min(words[at], rounds - 1), shows: words[at + 2] === 1 };
  } finally {
    queue.destroy();
    destroyPipeline(device, pipeline);
    destroyPipelineLayout(device, layout);
    memory.destroy();
  }
}

function sequence(rounds: number): number {
  let x = 0;
  for (let k = 0; k < rounds; k++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return x;
}
