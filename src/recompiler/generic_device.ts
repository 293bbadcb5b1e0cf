import type { RecompilerDevice } from "./request.ts";

/** A desktop GPU with 32 lanes that has everything the recompiler can use: what is looked at, measured and tested without a device. */
export const GENERIC_DEVICE: RecompilerDevice = {
  subgroupSize: 32,
  sharedMemoryBytes: 49152,
  denormFlush32: true,
  denormPreserve32: true,
  signedZeroInfNanPreserve32: true,
  roundRte32: true,
  keepsDenormals32: true,
  flushesDenormals32: false,
  fusesFma32: true,
  fusesFma64: true,
  fusesFma16: true,
  exactHalf: true,
  exactHalfPack: true,
  signedZeroInfNanPreserve16: true,
  signedZeroInfNanPreserve64: true,
  int8: true,
  int16: true,
  float16: true,
  float64: true,
  storage8: true,
  storage16: true,
  bufferInt64Atomics: true,
  sharedInt64Atomics: true,
};
