/** Runs compiled machine code through the driver and the SPIR-V that it was compiled from on the device itself, with the same inputs. */
import { assertEquals } from "@std/assert";
import * as vk from "../../ffi/vulkan/mod.ts";
import { launch, type LaunchRequest, type LaunchResource } from "../../src/guest/harness.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import type { ShaderSource } from "../../src/guest/shader_source.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import type { BackingKind } from "../../src/gpu/guest_backing.ts";
import { corpusFile } from "./corpus.ts";
import { runGuestWell } from "./run.ts";
import { type OracleResource, runSpirv } from "./spirv_oracle.ts";

/** The shader in a file of the corpus. */
export function corpusShader(folder: string, name: string): ShaderSource {
  const loaded = loadFile(corpusFile(folder, name));
  if (loaded.kind !== "shader") throw new Error(`${name} holds no shader`);
  return loaded.shader;
}

/** The SPIR-V module in a file of the corpus. */
export function corpusSpirv(folder: string, name: string): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Deno.readFileSync(corpusFile(folder, name)).buffer);
}

/** VkFormat of a unified format number (AMD RDNA2 ISA, image formats), as far as tests use them. */
const FORMATS: ReadonlyMap<number, number> = new Map([
  [20, vk.VK_FORMAT_R32_UINT],
  [22, vk.VK_FORMAT_R32_SFLOAT],
  [56, vk.VK_FORMAT_R8G8B8A8_UNORM],
  [75, vk.VK_FORMAT_R32G32B32A32_UINT],
  [77, vk.VK_FORMAT_R32G32B32A32_SFLOAT],
]);

/** A launch that both sides understand: resources under `SET.BINDING`, or any name that push constants refer to. */
export interface ComparedLaunch extends Omit<LaunchRequest, "resources" | "gridUnit"> {
  spirv: Uint32Array;
  resources: Readonly<Record<string, LaunchResource & { kind: "buffer" | "image" }>>;
  backing?: BackingKind;
}

/**
 * Runs both and compares every buffer and image. Both sides start from copies of the same bytes.
 *
 * @returns the words of the resources after the run, by key, to be looked at: an oracle that does nothing agrees with a program that does nothing
 */
export function compareWithSpirv(device: GpuDevice, compared: ComparedLaunch): Map<string, Uint32Array<ArrayBuffer>> {
  const { spirv, backing, ...request } = compared;
  const { program, resources } = launch(request);
  using run = runGuestWell(device, program, backing);
  assertEquals(
    run.result.outcome,
    "passed",
    JSON.stringify(run.result.differences, (_, v) => typeof v === "bigint" ? `${v}` : v),
  );
  const expected = runSpirv(device, {
    spirv,
    groups: request.grid,
    resources: Object.fromEntries(
      Object.entries(request.resources).map(([key, value]) => [key, oracleResource(value)]),
    ),
    pushConstants: request.pushConstants,
  });
  const results = new Map<string, Uint32Array<ArrayBuffer>>();
  for (const [key, resource] of Object.entries(request.resources)) {
    const placed = resources.get(key)!;
    let actual = run.memory.read(placed.address, placed.bytes);
    if (resource.kind === "image") {
      actual = withoutPadding(actual, resource.width * resource.texelBytes, placed.pitchBytes!);
    }
    const words = new Uint32Array(actual.slice().buffer);
    assertWords(words, new Uint32Array(expected.get(key)!.buffer), `${request.shader.name}: ${key}`);
    results.set(key, words);
  }
  return results;
}

/** Compares words and says where they differ first. */
export function assertWords(actual: Uint32Array, expected: Uint32Array, what: string): void {
  assertEquals(actual.length, expected.length, `${what}: number of words`);
  const differing: string[] = [];
  let count = 0;
  for (let i = 0; i < actual.length; i++) {
    if (actual[i] === expected[i]) continue;
    if (count++ < 8) differing.push(`[${i}] is 0x${actual[i].toString(16)}, expected 0x${expected[i].toString(16)}`);
  }
  if (count > 0) throw new Error(`${what}: ${count} of ${actual.length} words differ: ${differing.join("; ")}`);
}

function oracleResource(resource: LaunchResource & { kind: "buffer" | "image" }): OracleResource {
  if (resource.kind === "buffer") return { kind: "buffer", data: resource.data };
  const format = FORMATS.get(resource.format);
  if (format === undefined) throw new Error(`the oracle knows no VkFormat for unified format ${resource.format}`);
  const { width, height, texelBytes, data } = resource;
  return { kind: "image", width, height, format, texelBytes, data };
}

function withoutPadding(bytes: Uint8Array, rowBytes: number, pitchBytes: number): Uint8Array<ArrayBuffer> {
  const rows = bytes.length / pitchBytes;
  const result = new Uint8Array(rows * rowBytes);
  for (let y = 0; y < rows; y++) result.set(bytes.subarray(y * pitchBytes, y * pitchBytes + rowBytes), y * rowBytes);
  return result;
}
