/**
 * One run of a module or of its machine code, on whatever runs it: the memory that it leaves.
 *
 * @module
 */
import type { Device } from "../../src/driver/device.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { launch, type LaunchRequest } from "../../src/guest/harness.ts";
import { runSpirv } from "../../tests/support/spirv_oracle.ts";
import type { ComputeInterface } from "../corpus/spirv/reflect.ts";
import { bufferWords, type Profile } from "./inputs.ts";

/** Words of every buffer, by `SET.BINDING`. */
export type Results = ReadonlyMap<string, Uint32Array>;

/** Words of a buffer before the run. */
export function bufferOf(set: number, binding: number, { data }: Profile): Uint32Array<ArrayBuffer> {
  return bufferWords(data, 1 + 100 * set + binding);
}

/** The buffers of a module before the run. */
export function resourcesOf({ bindings }: ComputeInterface, profile: Profile) {
  return Object.fromEntries(
    bindings.map(({ set, binding }) =>
      [`${set}.${binding}`, { kind: "buffer", data: bufferOf(set, binding, profile) }] as const
    ),
  );
}

/** Runs the module itself. @throws where it cannot be run */
export function originalResults(
  gpu: GpuDevice,
  spirv: Uint32Array,
  { entryPoint, specConstants }: ComputeInterface,
  { grid, resources, pushConstants }: LaunchRequest,
): Results {
  const wide = specConstants.find(({ bits }) => bits > 32);
  if (wide !== undefined) throw new Error(`specialization constant ${wide.id} has ${wide.bits} bits`);
  const results = runSpirv(gpu, {
    spirv,
    entryPoint,
    groups: grid,
    resources: resources as Record<string, { kind: "buffer"; data: Uint32Array }>,
    pushConstants,
    specialization: new Map(specConstants.map(({ id, value }) => [id, Number(value)])),
  });
  return new Map([...results].map(([key, bytes]) => [key, new Uint32Array(bytes.buffer)]));
}

/** Runs the machine code as the driver or the interpreter does it. @throws the error of the run */
export function guestResults(device: Device, request: LaunchRequest): Results {
  const { program, resources } = launch(request);
  const run = device.run(program);
  try {
    if (run.result.error !== undefined) throw run.result.error;
    if (run.result.outcome !== "passed") throw new Error(`the run ends as ${run.result.outcome}`);
    return new Map(
      [...resources].map((
        [key, { address, bytes }],
      ) => [key, new Uint32Array(run.memory.read(address, bytes).slice().buffer)]),
    );
  } finally {
    run.close();
  }
}

/** Whether two runs left the same bits. */
export function sameResults(a: Results, b: Results): boolean {
  return [...a].every(([key, words]) => words.every((word, i) => word === b.get(key)![i]));
}

/** Number of words that a run changed. */
export function changedWords(before: Results, after: Results): number {
  let count = 0;
  for (const [key, words] of after) {
    const old = before.get(key)!;
    for (let i = 0; i < words.length; i++) if (words[i] !== old[i]) count++;
  }
  return count;
}
