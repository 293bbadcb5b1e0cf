/**
 * Modules for the driver: chains of f32 operations (bench/programs), as long as the wanted sizes ask for, each with literals of its own.
 * Recompiled in a process of its own, so that the measured one has nothing but the driver's memory.
 *
 *     deno run -A bench/compile_budget/modules.ts FOLDER SEED SIZE...
 */
import { GpuDevice } from "../../src/gpu/device.ts";
import { probeDevice } from "../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../src/gpu/recompiler_device.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import type { RecompilerDevice } from "../../src/recompiler/request.ts";
import { chain } from "../programs/chains.ts";

/** Operations of the probe for the size of one. */
const PROBE = 4096;

/** Recompiles a chain. */
function module(operations: number, literal: number, device: RecompilerDevice): Uint32Array {
  return recompile({
    code: chain("queue", operations, literal),
    codeAddress: 0x2_0000_0000n,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [32, 1, 1],
    userSgprCount: 8,
    workgroupIds: [true, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    floatMode: 0,
    ieee: false,
    dx10Clamp: false,
    partialThreads: false,
    device,
  }).spirv;
}

if (import.meta.main) {
  const [folder, seed, ...sizes] = Deno.args;
  const gpu = GpuDevice.create(), { float, endsLoops } = probeDevice(gpu);
  const device = recompilerDevice(gpu.capabilities, float, endsLoops);
  const literal = 0x3f80_0000 + Number(seed) % 0x10_0000;
  const [small, large] = [PROBE, 2 * PROBE].map((operations) => module(operations, literal, device).byteLength);
  const bytesOfOne = (large - small) / PROBE, rest = small - PROBE * bytesOfOne;
  const files = sizes.map((size, i) => {
    const operations = Math.max(8, Math.round((Number(size) - rest) / bytesOfOne / 4) * 4);
    const spirv = module(operations, literal + 8 * (i + 1), device), path = `${folder}/${i}.spv`;
    Deno.writeFileSync(path, new Uint8Array(spirv.buffer, spirv.byteOffset, spirv.byteLength));
    return { path, bytes: spirv.byteLength, operations };
  });
  const { name, driver } = gpu.capabilities;
  gpu.destroy();
  console.log(JSON.stringify({ device: name, driver: driver.info, bytesOfOne, files }));
}
