/**
 * Runs modules that are named on the standard input, one a line, and writes a row for each as a line of JSON. A process of its own: a driver may crash or
 * hang on what it is given, and that must cost one module only.
 *
 * Arguments: wave size, `interpreter` or `original`.
 *
 * @module
 */
import { GpuDevice } from "../../src/gpu/device.ts";
import { compareModule } from "./compare_module.ts";
import { defaultFolders } from "./corpus.ts";

if (import.meta.main) {
  const [wave, oracle] = Deno.args;
  const gpu = GpuDevice.create();
  const options = {
    folders: defaultFolders(),
    wave: Number(wave) as 32 | 64,
    gpu,
    interpreter: oracle === "interpreter",
  };
  const encoder = new TextEncoder();
  let pending = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    pending += text;
    for (let end = pending.indexOf("\n"); end >= 0; end = pending.indexOf("\n")) {
      const module = pending.slice(0, end);
      pending = pending.slice(end + 1);
      const row = compareModule(module, options) ?? null;
      // JSON has no Infinity.
      const line = JSON.stringify(row, (_, value) => value === Infinity ? "infinite" : value);
      Deno.stdout.writeSync(encoder.encode(`${line}\n`));
    }
  }
  gpu.destroy();
}
