import type { RecompilerDevice } from "../recompiler/request.ts";
import { UsageError } from "../errors.ts";
import { switchFlag, switchValue } from "../switches.ts";
import type { DeviceCapabilities } from "./capabilities.ts";
import type { Feature } from "./features.ts";
import type { FloatBehaviour } from "./probe/float_probe.ts";

/** What the recompiler must know of a device, from its capabilities, the float probe, and the loop probe (`endsLoops`). */
export function recompilerDevice(
  capabilities: DeviceCapabilities,
  behaviour: FloatBehaviour,
  endsLoops = false,
): RecompilerDevice {
  const { floatControls: { f16, f32, f64 }, features } = capabilities;
  return {
    subgroupSize: capabilities.subgroup.size,
    requiredSubgroup: requiredSubgroup(capabilities),
    laneMode: laneModeOf(switchFlag("APS5_SPANNED_WAVE"), switchValue("ANYAGC_WAVE_MODE")),
    sharedMemoryBytes: capabilities.limits.computeSharedMemory,
    denormFlush32: f32.denormFlushToZero,
    denormPreserve32: f32.denormPreserve,
    signedZeroInfNanPreserve32: f32.signedZeroInfNanPreserve,
    signedZeroInfNanPreserve16: f16.signedZeroInfNanPreserve,
    signedZeroInfNanPreserve64: f64.signedZeroInfNanPreserve,
    roundRte32: f32.roundToNearestEven,
    keepsDenormals32: behaviour.keepsDenormals32,
    flushesDenormals32: behaviour.flushesDenormals32,
    roundRteKeepsDenormals32: behaviour.roundRteKeepsDenormals32,
    fusesFma32: behaviour.fusesFma32,
    ...behaviour.wide,
    int8: features.includes("shaderInt8"),
    int16: features.includes("shaderInt16"),
    float16: features.includes("shaderFloat16"),
    float64: features.includes("shaderFloat64"),
    storage8: features.includes("storageBuffer8BitAccess"),
    storage16: features.includes("storageBuffer16BitAccess"),
    bufferInt64Atomics: features.includes("shaderBufferInt64Atomics"),
    sharedInt64Atomics: features.includes("shaderSharedInt64Atomics"),
    graphics: graphicsOf(capabilities),
    endsLoops,
  };
}

/** What is there for pixel and vertex programs. */
function graphicsOf({ subgroup, features, extensions }: DeviceCapabilities): NonNullable<RecompilerDevice["graphics"]> {
  const { operations: { quad, vote, ballot, shuffle }, stages } = subgroup;
  const has = (...names: readonly Feature[]) => names.every((name) => features.includes(name));
  return {
    quads: quad && stages.fragment,
    subgroups: vote && ballot && shuffle && stages.fragment && stages.vertex,
    sampleRate: has("sampleRateShading"),
    barycentrics: extensions.includes("VK_KHR_fragment_shader_barycentric"),
    stencilExport: extensions.includes("VK_EXT_shader_stencil_export"),
    layers: has("shaderOutputLayer", "shaderOutputViewportIndex"),
    distances: has("shaderClipDistance", "shaderCullDistance"),
  };
}

function requiredSubgroup({ subgroup }: DeviceCapabilities): RecompilerDevice["requiredSubgroup"] {
  const { canRequireSize, canRequireFull, operations: { ballot, shuffle }, minimumSize, maximumSize } = subgroup;
  if (!canRequireSize || !canRequireFull || !ballot || !shuffle) return undefined;
  return { minimum: minimumSize, maximum: maximumSize, perWorkgroup: subgroup.maximumPerWorkgroup };
}

/** What the switches ask for. @throws UsageError for a mode that there is not */
export function laneModeOf(spanned: boolean, mode: string | undefined): RecompilerDevice["laneMode"] {
  if (mode === undefined) return spanned ? "spanned" : undefined;
  if (mode !== "native" && mode !== "spanned" && mode !== "packed") {
    throw new UsageError("gpu.wave-mode", `ANYAGC_WAVE_MODE is native, spanned or packed, not "${mode}"`);
  }
  return mode;
}
