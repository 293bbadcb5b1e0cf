/** Runs a shader of the corpus on the software device, and reads its buffers back. */
import { assertEquals } from "@std/assert";
import { runProgram, type RunResult } from "../../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../../src/driver/software/software_executor.ts";
import { launch, type LaunchRequest } from "../../../src/guest/harness.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { Program } from "../../../src/guest/program.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import { corpusFile } from "../../support/corpus.ts";

/** A program that has run. */
export interface SoftwareRun {
  readonly result: RunResult;
  readonly memory: GuestMemory;
}

/** Runs a program without Vulkan and without FFI. */
export function runSoftware(program: Program): SoftwareRun {
  const memory = new GuestMemory(new ArrayAllocator());
  const executor = new SoftwareExecutor({ target: program.target, instructionLimit: 10_000_000 });
  const result = runProgram(program, executor, memory);
  return { result, memory };
}

/** A shader of the corpus. */
export function corpusShader(folder: string, name: string): ShaderSource {
  const loaded = loadFile(corpusFile(folder, `${name}.json`));
  if (loaded.kind !== "shader") throw new Error(`${name} is no shader`);
  return loaded.shader;
}

/** Launches a shader, runs it, and gives the bytes of its resources; the run must end well, and nothing but the resources may change. */
export function runLaunch(request: LaunchRequest): (key: string) => Uint8Array<ArrayBuffer> {
  const built = launch(request);
  const { result, memory } = runSoftware(built.program);
  assertEquals([result.outcome, result.error?.message, result.differences], ["passed", undefined, []]);
  return (key) => {
    const { address, bytes } = built.resources.get(key)!;
    return memory.read(address, bytes);
  };
}

/** Bytes as 32-bit words. */
export function words(bytes: Uint8Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** Bytes as f32 numbers. */
export function floats(bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}
