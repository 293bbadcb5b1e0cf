/**
 * Modules for the driver: chains of f32 operations (bench/programs), as long as the wanted sizes ask for, each with literals of its own.
 * Recompiled on all cores, in a process of its own, so that the measured one has nothing but the driver's memory.
 *
 *     deno run -A bench/compile_budget/modules.ts FOLDER SEED SIZE...
 */
import { GpuDevice } from "../../src/gpu/device.ts";
import { probeDevice } from "../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../src/gpu/recompiler_device.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import type { RecompilerDevice } from "../../src/recompiler/request.ts";
import { chain } from "../programs/chains.ts";
import { chainRequest } from "../programs/request.ts";

/** Operations of the probe for the size of one. */
const PROBE = 4096;

/** A module to be made. */
interface Wanted {
  readonly path: string;
  readonly operations: number;
  readonly literal: number;
}

/** What was made. */
export interface MadeModule {
  readonly path: string;
  readonly bytes: number;
  readonly operations: number;
}

/** To a worker: the next module to take is counted in `next`. */
interface Work {
  readonly wanted: readonly Wanted[];
  readonly device: RecompilerDevice;
  readonly next: Int32Array<SharedArrayBuffer>;
}

function module(operations: number, literal: number, device: RecompilerDevice): Uint32Array {
  return recompile(chainRequest(chain("queue", operations, literal), 0, device)).spirv;
}

async function makeAll([folder, seed, ...sizes]: string[]) {
  const gpu = GpuDevice.create(), { float, endsLoops } = probeDevice(gpu);
  const device = recompilerDevice(gpu.capabilities, float, endsLoops);
  const { name, driver } = gpu.capabilities;
  gpu.destroy();
  const literal = 0x3f80_0000 + Number(seed) % 0x10_0000;
  const [small, large] = [PROBE, 2 * PROBE].map((operations) => module(operations, literal, device).byteLength);
  const bytesOfOne = (large - small) / PROBE, rest = small - PROBE * bytesOfOne;
  const wanted = sizes.map((size, i): Wanted => ({
    path: `${folder}/${i}.spv`,
    operations: Math.max(8, Math.round((Number(size) - rest) / bytesOfOne / 4) * 4),
    literal: literal + 8 * (i + 1),
  }));
  // The longest first: the last to end is then a short one.
  const work: Work = {
    wanted: wanted.toSorted((a, b) => b.operations - a.operations),
    device,
    next: new Int32Array(new SharedArrayBuffer(4)),
  };
  const made = (await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, () => inWorker(work)))).flat();
  const files = wanted.map(({ path }) => made.find((each) => each.path === path)!);
  return { device: name, driver: driver.info, bytesOfOne, files };
}

function inWorker(work: Work): Promise<MadeModule[]> {
  const worker = new Worker(import.meta.url, { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<MadeModule[]>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage(work);
  });
}

function take({ wanted, device, next }: Work): MadeModule[] {
  const made: MadeModule[] = [];
  for (let i; (i = Atomics.add(next, 0, 1)) < wanted.length;) {
    const { path, operations, literal } = wanted[i], spirv = module(operations, literal, device);
    Deno.writeFileSync(path, new Uint8Array(spirv.buffer, spirv.byteOffset, spirv.byteLength));
    made.push({ path, operations, bytes: spirv.byteLength });
  }
  return made;
}

// In a worker the module is the main one as well.
if (typeof (globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope !== "undefined") {
  const scope = globalThis as unknown as { postMessage(made: MadeModule[]): void; close(): void };
  globalThis.addEventListener("message", (event) => {
    scope.postMessage(take((event as MessageEvent<Work>).data));
    scope.close();
  });
} else if (import.meta.main) console.log(JSON.stringify(await makeAll(Deno.args)));
