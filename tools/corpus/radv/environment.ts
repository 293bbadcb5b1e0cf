import { HostError } from "../../../src/errors.ts";

/** GPU families of RADV's null device that the project has a use for: gfx10.3, and gfx10.1 with the ALU of the console. */
export const FAMILIES = ["navi21", "navi10"] as const;

/** One of them. */
export type Family = typeof FAMILIES[number];

const DRIVER_FILES = [
  "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json",
  "/usr/share/vulkan/icd.d/radeon_icd.json",
  "/etc/vulkan/icd.d/radeon_icd.x86_64.json",
];

/** File that tells the Vulkan loader where RADV is; undefined when RADV is not installed. */
export function findRadv(): string | undefined {
  return DRIVER_FILES.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}

/** Error for a machine without RADV. */
export function noRadv(): HostError {
  return new HostError("host.radv", "RADV is not installed (Debian: apt install mesa-vulkan-drivers, version 22.3.6)");
}

/**
 * The whole environment of the process that runs RADV. Nothing else is passed on: RADV_DEBUG and the like change the code.
 *
 * @param folder a folder of its own that only its owner can enter, for what wants XDG_RUNTIME_DIR and a cache
 */
export function radvEnvironment(driverFile: string, family: Family, folder: string): Record<string, string> {
  const inherited = ["PATH", "HOME", "DENO_DIR", "LD_LIBRARY_PATH", "TMPDIR"];
  return {
    ...Object.fromEntries(inherited.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    })),
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    VK_ICD_FILENAMES: driverFile,
    RADV_FORCE_FAMILY: family,
    XDG_RUNTIME_DIR: folder,
    XDG_CACHE_HOME: folder,
    MESA_SHADER_CACHE_DISABLE: "true",
  };
}
