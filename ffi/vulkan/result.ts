import { HostError } from "../../src/errors.ts";
import { vkResultName } from "./generated/results.ts";

/** A Vulkan command failed. The code is `vulkan.` and the result's name without VK_ERROR_, for example `vulkan.device-lost`. */
export class VulkanError extends HostError {
  /** Class name, for errors that cross isolates as data. */
  override name = "VulkanError";

  /** Makes the error of a failed command. */
  constructor(
    /** The command. */
    readonly command: string,
    /** Its VkResult. */
    readonly result: number,
  ) {
    const name = vkResultName(result);
    super(
      `vulkan.${name.replace(/^VK_(ERROR_)?/, "").replaceAll(/[_ ]/g, "-").toLowerCase()}`,
      `${command} returned ${name}`,
    );
  }
}

/** Throws the error for a failed command. */
export function fail(command: string, result: number): never {
  throw new VulkanError(command, result);
}
