/**
 * Measures modules that are named on the standard input, one a line, and writes a row for each as a line of JSON: a process that can be stopped when
 * a module does not come to an end.
 *
 * Arguments: wave size and options as JSON; or `about` and the options, to say what the device is.
 *
 * @module
 */
import { setNativeEnvironment } from "../../ffi/libc.ts";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import { GpuDevice } from "../../src/gpu/device.ts";
import type { WaveSize } from "../corpus/compile.ts";
import { type CreationRow, emptyRunUs, measureModule, type Unmeasured } from "./creation_module.ts";
import { defaultFolders } from "./corpus.ts";

/** How to measure; plain data. */
export interface MeasuringOptions {
  /** Part of the device's name. */
  readonly device?: string;
  /** Runs of both sides, in turns, and dispatches of each. */
  readonly rounds: number;
  readonly dispatches: number;
}

/** What was measured on. */
export interface DeviceAbout {
  readonly device: string;
  readonly driver: string;
  /** Microseconds of a dispatch that does nothing. */
  readonly emptyUs: number;
}

/** What the driver or earlier runs have kept must not help. */
function withoutCaches(): void {
  Deno.env.set("ANYPS5_NO_SHADER_CACHE", "1");
  Deno.env.delete("ANYPS5_SHADER_CACHE_DIR");
  setNativeEnvironment("__GL_SHADER_DISK_CACHE", "0");
  setNativeEnvironment("MESA_SHADER_CACHE_DISABLE", "true");
}

function measured(module: string, wave: WaveSize, measure: () => CreationRow | Unmeasured): CreationRow | Unmeasured {
  try {
    return measure();
  } catch (error) {
    return { module, wave, reason: error instanceof Error ? error.message.split("\n")[0] : String(error) };
  }
}

if (import.meta.main) {
  const [first, json] = Deno.args;
  const { device, rounds, dispatches } = JSON.parse(json) as MeasuringOptions;
  withoutCaches();
  const gpu = GpuDevice.create({ device });
  gpu.hostBufferMemory = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const tools = openSpirvTools();
  if (first === "about") {
    const { name, driver } = gpu.capabilities;
    const about: DeviceAbout = {
      device: name,
      driver: `${driver.name} ${driver.info}`.trim(),
      emptyUs: emptyRunUs(gpu, tools, dispatches),
    };
    console.log(JSON.stringify(about));
  } else {
    const wave: WaveSize = first === "64" ? 64 : 32, encoder = new TextEncoder();
    const options = { folders: defaultFolders(), gpu, tools, rounds, dispatches };
    let pending = "";
    for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
      pending += text;
      for (let end = pending.indexOf("\n"); end >= 0; end = pending.indexOf("\n")) {
        const module = pending.slice(0, end);
        pending = pending.slice(end + 1);
        const row = measured(module, wave, () => measureModule(module, wave, options));
        Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(row)}\n`));
      }
    }
  }
  gpu.destroy();
}
