/**
 * node:zlib, loaded when it is needed: a static import of it costs every start of a command 40 to 60 ms, whether anything is packed or not.
 *
 * @module
 */

/** The module. */
export function zlib(): typeof import("node:zlib") {
  return globalThis.process.getBuiltinModule("node:zlib");
}
