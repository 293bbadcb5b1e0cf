/**
 * Tests that need a Vulkan device register with {@linkcode vulkanTest}: without one they are reported as ignored, with the reason in their
 * name; with ANYPS5_REQUIRE_VULKAN=1 (as `deno task test` sets it) they run, and fail.
 */
import { AnyAgcError } from "../../src/errors.ts";
import { describeDevices } from "../../src/gpu/device.ts";
import { switchFlag } from "../../src/switches.ts";

/** Why there is no usable device; undefined when there is one. */
export const vulkanMissing: string | undefined = findReason();

/** Registers a test that needs a Vulkan device. */
export function vulkanTest(name: string, body: () => void | Promise<void>): void {
  const ignore = vulkanMissing !== undefined && !switchFlag("ANYPS5_REQUIRE_VULKAN");
  Deno.test({ name: ignore ? `${name} [ignored: ${vulkanMissing}]` : name, ignore, fn: body });
}

function findReason(): string | undefined {
  try {
    return describeDevices().some((device) => device.usable)
      ? undefined
      : "no Vulkan device can be used; see anyagc doctor";
  } catch (error) {
    if (error instanceof AnyAgcError) return error.message;
    throw error;
  }
}
