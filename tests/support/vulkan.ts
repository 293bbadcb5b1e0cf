/**
 * Tests that need a Vulkan device. They run with the validation layer, and any message that is not on the list below fails the test. Without a
 * device they are reported as ignored, with the reason in their name; with ANYPS5_REQUIRE_VULKAN=1 that is a failure. The layer has one log file
 * per process, so these tests must not run with `deno test --parallel`.
 */
import { AssertionError } from "@std/assert";
import { setNativeEnvironment } from "../../ffi/libc.ts";
import { describeDevices, type DeviceOptions, GpuDevice } from "../../src/gpu/device.ts";
import { chooseDevice } from "../../src/gpu/choose_device.ts";
import { collectValidationMessages, removeValidationLog } from "../../src/gpu/validation.ts";
import { HostError } from "../../src/errors.ts";
import { switchFlag } from "../../src/switches.ts";

/** Messages of the validation layer that are not faults of this project, each with the reason. */
export const allowedMessages: readonly { readonly pattern: RegExp; readonly reason: string }[] = [];

/** A driver cache of its own: neither does a test see shaders of an earlier run, nor does it leave any behind. */
export const shaderCache = `${Deno.env.get("TMPDIR") ?? "/tmp"}/anyagc-test-shader-cache-${Deno.pid}`;
setNativeEnvironment("MESA_SHADER_CACHE_DIR", shaderCache);
// The same for what runs keep.
const caches = `${shaderCache}-runs`;
Deno.env.set("ANYAGC_CACHE_DIR", caches);
// Tests are about the recompiler of today, not about what it left on the disk; those of the cache itself turn it on.
Deno.env.set("ANYPS5_NO_SHADER_CACHE", "1");
Deno.env.delete("ANYPS5_SHADER_CACHE_DIR");
Deno.env.delete("APS5_DUMP_SHADERS");
globalThis.addEventListener("unload", () => {
  removeValidationLog();
  for (const folder of [shaderCache, caches]) {
    try {
      Deno.removeSync(folder, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
});

/** Why there is no usable device; undefined when there is one. */
export const missingDevice: string | undefined = findProblem();

/** Options of {@linkcode deviceTest}. */
export interface DeviceTestOptions extends DeviceOptions {
  /** Expect these messages of the validation layer (the test provokes them); each pattern must match at least one. */
  readonly expectMessages?: readonly RegExp[];
}

/**
 * Registers a test that gets a device of its own, which is destroyed afterwards.
 *
 * @param name a sentence
 * @param body the test
 * @param options validation is on unless `validation: false`
 */
export function deviceTest(
  name: string,
  body: (device: GpuDevice, context: Deno.TestContext) => void | Promise<void>,
  options: DeviceTestOptions = {},
): void {
  const required = switchFlag("ANYPS5_REQUIRE_VULKAN");
  const ignore = missingDevice !== undefined && !required;
  Deno.test({
    name: ignore ? `${name} [ignored: ${missingDevice}]` : name,
    ignore,
    fn: (context) => withDevice((device) => body(device, context), options),
  });
}

/** Runs `body` with a device, destroys it, and fails on any validation message that is neither allowed nor expected. */
export async function withDevice(
  body: (device: GpuDevice) => void | Promise<void>,
  options: DeviceTestOptions = {},
): Promise<void> {
  collectValidationMessages(); // what others left
  const device = GpuDevice.create({ validation: true, ...options });
  try {
    await body(device);
  } finally {
    device.destroy();
  }
  checkMessages(collectValidationMessages(), options.expectMessages ?? []);
}

function checkMessages(messages: readonly string[], expected: readonly RegExp[]): void {
  const unexpected = messages.filter((message) =>
    !expected.some((pattern) => pattern.test(message)) && !allowedMessages.some(({ pattern }) => pattern.test(message))
  );
  if (unexpected.length > 0) throw new AssertionError(`The validation layer reports:\n${unexpected.join("\n")}`);
  for (const pattern of expected) {
    if (!messages.some((message) => pattern.test(message))) {
      throw new AssertionError(`The validation layer did not report ${pattern}`);
    }
  }
}

function findProblem(): string | undefined {
  try {
    chooseDevice(describeDevices().map(({ capabilities }) => ({ handle: 0n, capabilities })));
    return undefined;
  } catch (error) {
    if (error instanceof HostError) return error.message;
    throw error;
  }
}
