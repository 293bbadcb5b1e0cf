/** Vulkan: what is generated from the registry, and the thin hand-written layer over it. @module */
export * from "./generated/mod.ts";
export * from "./loader.ts";
export { VulkanError } from "./result.ts";
export { type Init, Struct, type Values } from "./struct.ts";
