/**
 * The list of tables. Add a line here for a new file.
 *
 * @module
 */
import type { BenchTable } from "./table.ts";

/** Names, and how to load each: what one measures is not loaded for another. */
export const TABLES: readonly { readonly name: string; load(): Promise<BenchTable> }[] = [
  { name: "abi_resolve", load: async () => (await import("./abi_resolve.ts")).TABLE },
  { name: "cold_start", load: async () => (await import("./cold_start.ts")).TABLE },
  { name: "dispatch", load: async () => (await import("./dispatch.ts")).TABLE },
  { name: "compile_budget", load: async () => (await import("./compile_budget.ts")).TABLE },
  { name: "queue_compile", load: async () => (await import("./queue_compile.ts")).TABLE },
  { name: "creation", load: async () => (await import("./creation.ts")).TABLE },
  { name: "recompile", load: async () => (await import("./recompile.ts")).TABLE },
  { name: "shader_cache", load: async () => (await import("./shader_cache.ts")).TABLE },
  { name: "sync", load: async () => (await import("./sync.ts")).TABLE },
  { name: "wave_modes", load: async () => (await import("./wave_modes.ts")).TABLE },
];
