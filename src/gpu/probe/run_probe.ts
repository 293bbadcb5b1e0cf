import { HostBuffer } from "../buffer.ts";
import { CommandQueue } from "../command_queue.ts";
import type { GpuDevice } from "../device.ts";
import { createComputePipeline, createPipelineLayout, destroyPipeline, destroyPipelineLayout } from "../pipelines.ts";

/** Bytes of a probe's memory, and where its results begin: the operands stand before them. */
const BYTES = 4096, RESULTS = 2048;

/**
 * Runs a small program on the device, one workgroup of it. Its push constants are two addresses: that of the operands, and that of the results.
 *
 * @param resultWords at most 512
 * @returns the words of the results, zeros where the program wrote none
 */
export function runProbe(
  device: GpuDevice,
  spirv: Uint32Array,
  operands: Float32Array | Uint32Array,
  resultWords: number,
): Uint32Array {
  const memory = new HostBuffer(device, BYTES);
  const layout = createPipelineLayout(device);
  const pipeline = createComputePipeline(device, { spirv, layout });
  const queue = new CommandQueue(device, { buffers: 1 });
  try {
    new Uint8Array(memory.buffer, 0, RESULTS).set(
      new Uint8Array(operands.buffer, operands.byteOffset, operands.byteLength),
    );
    queue.begin();
    queue.bindPipeline(pipeline.handle);
    new BigUint64Array(queue.push.buffer, queue.push.byteOffset, 2).set([
      memory.deviceAddress,
      memory.deviceAddress + BigInt(RESULTS),
    ]);
    queue.pushConstants(layout, 16);
    queue.dispatch(1, 1, 1);
    queue.wait(queue.submit());
    return new Uint32Array(memory.buffer, RESULTS, resultWords).slice();
  } finally {
    queue.destroy();
    destroyPipeline(device, pipeline);
    destroyPipelineLayout(device, layout);
    memory.destroy();
  }
}
