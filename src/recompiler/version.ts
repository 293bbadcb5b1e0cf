/**
 * Version of what the recompiler makes: part of the name and the content of every artifact on the disk. Whoever changes the output for any request, or
 * the shape of `Artifact`, adds one; tests/recompiler/version_test.ts fails until then. Changes that leave the output alone do not touch it, so caches
 * outlive them.
 */
export const RECOMPILER_VERSION = 13;
