/**
 * The Debian packages that AnyAGC needs, and how to see that one is there without asking the package manager (which would cost more time
 * than the whole check).
 *
 * @module
 */

/** When a package is needed. */
export type Need = "run" | "tests";

/** One package. */
export interface Package {
  /** Name in Debian 12. */
  readonly name: string;
  readonly need: Need;
  /** What it is for. */
  readonly purpose: string;
  /** It is there when, for each entry, at least one of its paths exists. `{lib}` stands for each library folder. */
  readonly shownBy: readonly (readonly string[])[];
}

/** The table. */
export const PACKAGES: readonly Package[] = [
  {
    name: "libvulkan1",
    need: "run",
    purpose: "the Vulkan loader",
    shownBy: [["{lib}/libvulkan.so.1"]],
  },
  {
    name: "mesa-vulkan-drivers",
    need: "run",
    purpose: "Vulkan drivers, among them lavapipe, which needs no GPU",
    shownBy: [[
      "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
      "/usr/share/vulkan/icd.d/lvp_icd.aarch64.json",
      "/usr/share/vulkan/icd.d/lvp_icd.json",
    ]],
  },
  {
    name: "vulkan-validationlayers",
    need: "run",
    purpose: "the Khronos validation layer, for run --validate",
    shownBy: [["/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"]],
  },
  {
    name: "spirv-tools",
    need: "run",
    purpose: "SPIRV-Tools as static archives and headers: assembly, validation, optimizer",
    shownBy: [["{lib}/libSPIRV-Tools.a"], ["/usr/bin/spirv-val"]],
  },
  {
    name: "g++",
    need: "run",
    purpose: "links SPIRV-Tools into a shared library",
    shownBy: [["/usr/bin/g++"]],
  },
  {
    name: "libvulkan-dev",
    need: "run",
    purpose: "vk.xml, from which the bindings are generated and against which they are tested",
    shownBy: [["/usr/share/vulkan/registry/vk.xml"]],
  },
  {
    name: "llvm-19",
    need: "tests",
    purpose: "llvm-mc, the oracle of the decoder and the assembler of the sample shaders",
    shownBy: [["/usr/bin/llvm-mc-19"], ["/usr/bin/llvm-objcopy-19"]],
  },
  {
    name: "chromium-headless-shell",
    need: "tests",
    purpose: "a browser without a screen, in which the pages of run --report are tested",
    shownBy: [["/usr/bin/chromium-headless-shell"]],
  },
];

const LIBRARY_FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64"];

/** The packages of `needs` that are not there. */
export function missingPackages(
  needs: readonly Need[],
  exists: (path: string) => boolean = fileExists,
  packages: readonly Package[] = PACKAGES,
): Package[] {
  return packages.filter((p) =>
    needs.includes(p.need) && !p.shownBy.every((paths) => paths.flatMap(expand).some(exists))
  );
}

function expand(path: string): string[] {
  return path.startsWith("{lib}") ? LIBRARY_FOLDERS.map((folder) => folder + path.slice(5)) : [path];
}

function fileExists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
