/** The control flow graph: its form (types.ts), how it is built from machine code (build.ts), its analysis and its dump. */
export * from "./types.ts";
export { buildCfg, type CfgOptions } from "./build.ts";
export { analyseCfg, type CfgAnalysis } from "./analysis.ts";
export { dumpCfg } from "./dump.ts";
