import { HostError } from "../src/errors.ts";

/**
 * Opens a native library and names, in the error, what to install when it is missing.
 *
 * @param file library name as the dynamic loader knows it (`libvulkan.so.1`) or a path
 * @param symbols the functions, as for `Deno.dlopen`
 * @param fix sentence that says what to do when the library cannot be loaded, for example the Debian package to install
 * @throws {HostError} `host.library-missing`
 */
export function openLibrary<S extends Deno.ForeignLibraryInterface>(
  file: string,
  symbols: S,
  fix: string,
): Deno.DynamicLibrary<S> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    throw new HostError(
      "host.platform",
      `native calls are supported on x86-64 Linux only; this is ${Deno.build.arch} ${Deno.build.os}`,
    );
  }
  try {
    return Deno.dlopen(file, symbols);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new HostError("host.library-missing", `cannot load ${file}: ${reason}. ${fix}`);
  }
}
