/**
 * The process that runs RADV: reads jobs from its input, one a line, and answers each on its output. It is started by process.ts with an
 * environment that offers nothing but RADV's null device.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { AnyAgcError } from "../../../src/errors.ts";
import { type NullDevice, openNullDevice } from "./device.ts";
import { compileGraphicsPipeline } from "./graphics_pipeline.ts";
import type { CompileJob, CompileReply, GraphicsJob, Ready, Unusable } from "./job.ts";
import { Lines } from "./lines.ts";
import { compilePipeline } from "./pipeline.ts";

/** Answers jobs until the input ends. */
export async function work(): Promise<void> {
  let device: NullDevice;
  try {
    device = openNullDevice();
  } catch (error) {
    return send({ unusable: describe(error) });
  }
  send({ ready: true, device: device.name, driver: device.driver });
  const lines = new Lines(Deno.stdin.readable);
  for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
    send(answer(device, JSON.parse(line)));
  }
}

function answer(device: NullDevice, job: CompileJob | GraphicsJob): CompileReply {
  try {
    const data = "fragment" in job ? compileGraphicsPipeline(device, job) : compilePipeline(device, job);
    return { cacheData: Buffer.from(data).toString("base64") };
  } catch (error) {
    return { failed: describe(error) };
  }
}

/** Errors on purpose are answers; anything else is a fault of this program and ends it with its stack. */
function describe(error: unknown): { code: string; message: string } {
  if (error instanceof AnyAgcError) return { code: error.code, message: error.message };
  throw error;
}

function send(value: Ready | Unusable | CompileReply): void {
  let bytes = new TextEncoder().encode(JSON.stringify(value) + "\n");
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

if (import.meta.main) {
  await work();
  Deno.exit(0); // RADV's threads need not end by themselves
}
