/**
 * What the probes say of a device, kept between starts of an executable: they take tens of milliseconds.
 *
 * @module
 */
import { BUILD_STAMP } from "../../build_stamp.ts";
import { cacheFolder } from "../../storage/cache_folder.ts";
import { checksum, readRecord, writeRecord } from "../../storage/checked_file.ts";
import type { DeviceCapabilities } from "../capabilities.ts";
import type { GpuDevice } from "../device.ts";
import { type FloatBehaviour, probeFloatBehaviour } from "./float_probe.ts";
import { probeEndsLoops } from "./loop_probe.ts";
import type { WideBehaviour } from "./wide_probe.ts";

/** Answers of all probes. */
export interface DeviceBehaviour {
  readonly float: FloatBehaviour;
  /** The device ends loops that have not ended. */
  readonly endsLoops: boolean;
}

const KIND = "anyagc-probes-2";
const FLOAT_KEYS = ["fusesFma32", "keepsDenormals32", "flushesDenormals32"] as const satisfies (keyof FloatBehaviour)[];
const WIDE_KEYS = ["exactHalf", "exactHalfPack", "fusesFma16", "fusesFma64"] as const satisfies (keyof WideBehaviour)[];

/** Answers of this isolate, by device. */
const known = new WeakMap<GpuDevice, DeviceBehaviour>();

/**
 * The device's answers: from this isolate, from `folder`, or by asking it.
 *
 * @param folder where answers are kept; by default the cache folder of an executable, and none when this runs from source, where the probes
 * may have changed since
 * @param ask asks the device
 */
export function probeDevice(
  device: GpuDevice,
  folder: string | undefined = defaultFolder(),
  ask: (device: GpuDevice) => DeviceBehaviour = askDevice,
): DeviceBehaviour {
  const before = known.get(device);
  if (before !== undefined) return before;
  const key = probeKey(device.capabilities), name = `${checksum(key)}.json`;
  let answer = folder === undefined ? undefined : behaviourOf(readRecord(folder, name, KIND), key);
  if (answer === undefined) {
    answer = ask(device);
    if (folder !== undefined) writeRecord(folder, name, KIND, { key, ...answer });
  }
  known.set(device, answer);
  return answer;
}

function askDevice(device: GpuDevice): DeviceBehaviour {
  return { float: probeFloatBehaviour(device), endsLoops: probeEndsLoops(device) };
}

function defaultFolder(): string | undefined {
  if (BUILD_STAMP === undefined) return undefined;
  const folder = cacheFolder();
  return folder === undefined ? undefined : `${folder}/probes`;
}

/** Everything that the answers depend on: the device and its driver, what of it is enabled, and the program that asked. */
export function probeKey(capabilities: DeviceCapabilities, program = BUILD_STAMP?.id ?? ""): string {
  const { name, driver, deviceUuid, pipelineCacheUuid, vendorId, deviceId, apiVersion, features } = capabilities;
  return JSON.stringify([
    program,
    name,
    vendorId,
    deviceId,
    deviceUuid,
    driver,
    pipelineCacheUuid,
    apiVersion,
    features,
  ]);
}

/** A record as answers; undefined unless it is of this key and complete. */
function behaviourOf(record: unknown, key: string): DeviceBehaviour | undefined {
  if (!isObject(record) || record.key !== key || !isObject(record.float)) return undefined;
  const { float, endsLoops } = record;
  if (typeof endsLoops !== "boolean" || !areFlags(float, FLOAT_KEYS)) return undefined;
  const { wide, roundRteKeepsDenormals32: rounding } = float;
  if (rounding !== undefined && typeof rounding !== "boolean") return undefined;
  if (wide !== undefined && !(isObject(wide) && areFlags(wide, WIDE_KEYS))) return undefined;
  return { float: float as unknown as FloatBehaviour, endsLoops };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function areFlags(record: Record<string, unknown>, names: readonly string[]): boolean {
  return names.every((name) => typeof record[name] === "boolean");
}
