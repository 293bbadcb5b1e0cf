import type { DeviceCapabilities } from "../../gpu/capabilities.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";

/** What was found out about a device by running a program on it. */
export interface ProbedFloats {
  /** Without execution modes the device keeps f32 denormals. */
  keepsDenormals32: boolean;
  /** GLSL Fma is one fused operation. */
  fusesFma32: boolean;
}

/** The recompiler's view of a device. */
export function recompilerDevice(capabilities: DeviceCapabilities, probed: ProbedFloats): RecompilerDevice {
  const { features, floatControls: { f32 } } = capabilities;
  const has = (name: (typeof features)[number]) => features.includes(name);
  return {
    subgroupSize: capabilities.subgroup.size,
    sharedMemoryBytes: capabilities.limits.computeSharedMemory,
    denormFlush32: f32.denormFlushToZero,
    denormPreserve32: f32.denormPreserve,
    signedZeroInfNanPreserve32: f32.signedZeroInfNanPreserve,
    roundRte32: f32.roundToNearestEven,
    keepsDenormals32: probed.keepsDenormals32,
    fusesFma32: probed.fusesFma32,
    int8: has("shaderInt8"),
    int16: has("shaderInt16"),
    float16: has("shaderFloat16"),
    float64: has("shaderFloat64"),
    storage8: has("storageBuffer8BitAccess"),
    storage16: has("storageBuffer16BitAccess"),
    bufferInt64Atomics: has("shaderBufferInt64Atomics"),
    sharedInt64Atomics: has("shaderSharedInt64Atomics"),
  };
}
