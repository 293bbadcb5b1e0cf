/**
 * The file of a pipeline cache: what a driver gave, between a header that says for whom it is and nothing else. A file that is damaged, cut
 * off, or of another device or driver is as good as missing.
 *
 *     0   "AGCPIPE1"
 *     8   u32 bytes of the identity, u32 bytes of the data
 *     16  checksum of everything behind it
 *     24  identity, data
 *
 * @module
 */
import { writeFileAtomically } from "../storage/atomic_file.ts";
import { byteChecksum, CHECKSUM_BYTES, sameBytes } from "../storage/byte_checksum.ts";
import { ensurePrivate, isPrivate } from "../storage/cache_folder.ts";
import { withLock } from "../storage/file_lock.ts";
import type { DeviceCapabilities } from "./capabilities.ts";

/** First bytes of every file. */
export const PIPELINE_CACHE_MAGIC = "AGCPIPE1";
const MAGIC = new TextEncoder().encode(PIPELINE_CACHE_MAGIC);
const LENGTHS_AT = 8, CHECKSUM_AT = 16, BODY_AT = CHECKSUM_AT + CHECKSUM_BYTES;
const FILE_MODE = 0o600;
/** Version of the format, in names of files. */
const VERSION = 1;

/** Bytes of VkPipelineCacheHeaderVersionOne ("Pipeline Cache Header" of the Vulkan specification). Data of that size has no results. */
export const CACHE_HEADER_BYTES = 32;

/** What pipelines are good for: a device with a driver. */
export interface DeviceIdentity {
  /** For names of files. */
  readonly name: string;
  /** All of it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Which device and driver these are, as far as compiled pipelines go. */
export function deviceIdentity(capabilities: DeviceCapabilities): DeviceIdentity {
  const { deviceUuid, driver, pipelineCacheUuid, vendorId, deviceId, apiVersion, name } = capabilities;
  const facts = [
    VERSION,
    deviceUuid,
    driver.uuid,
    pipelineCacheUuid,
    vendorId,
    deviceId,
    driver.version,
    apiVersion,
    name,
  ];
  const bytes = new TextEncoder().encode(JSON.stringify(facts));
  const short = (uuid: string) => uuid.replaceAll("-", "");
  return { name: `${short(deviceUuid)}-${short(driver.uuid)}-v${VERSION}`, bytes };
}

/** What a {@linkcode DeviceIdentity} says, for people. */
export interface DeviceFacts {
  readonly name: string;
  readonly apiVersion: string;
  readonly deviceUuid: string;
  readonly driverUuid: string;
  readonly driverVersion: number;
}

/** Reads an identity, as text; undefined for one of another version, or of none. */
export function readDeviceIdentity(identity: string): DeviceFacts | undefined {
  try {
    const [version, deviceUuid, driverUuid, , , , driverVersion, apiVersion, name] = JSON.parse(identity);
    const texts = [deviceUuid, driverUuid, apiVersion, name].every((fact) => typeof fact === "string");
    const good = version === VERSION && texts && typeof driverVersion === "number";
    return good ? { name, apiVersion, deviceUuid, driverUuid, driverVersion } : undefined;
  } catch {
    return undefined; // no JSON, or no list
  }
}

/** A file, taken apart: views of the bytes, or why it is none. */
export type PipelineCacheParts =
  | { readonly identity: Uint8Array<ArrayBuffer>; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly problem: string };

/** Takes a file's bytes apart, for whatever device it is. */
export function readPipelineCache(bytes: Uint8Array<ArrayBuffer>): PipelineCacheParts {
  if (bytes.length < BODY_AT || !sameBytes(bytes.subarray(0, LENGTHS_AT), MAGIC)) {
    return { problem: "it is no pipeline cache" };
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const identityBytes = view.getUint32(LENGTHS_AT, true), dataBytes = view.getUint32(LENGTHS_AT + 4, true);
  if (bytes.length !== BODY_AT + identityBytes + dataBytes) {
    return { problem: `it has ${bytes.length} bytes instead of ${BODY_AT + identityBytes + dataBytes}` };
  }
  if (!sameBytes(bytes.subarray(CHECKSUM_AT, BODY_AT), byteChecksum(bytes.subarray(BODY_AT)))) {
    return { problem: "its checksum is wrong" };
  }
  return {
    identity: bytes.subarray(BODY_AT, BODY_AT + identityBytes),
    data: bytes.subarray(BODY_AT + identityBytes),
  };
}

/** What was found of a file. */
export interface CacheContent {
  /** The driver's data. */
  readonly data?: Uint8Array<ArrayBuffer>;
  /** Why there is none, if a file is there. */
  readonly problem?: string;
}

/** What {@linkcode PipelineCacheFile.update} did. `busy`: somebody else had the file all the time; `unwritable`: the folder, or the disk. */
export type CacheUpdate = "written" | "unchanged" | "removed" | "busy" | "unwritable";

/** One file for each device with its driver, in a private folder. */
export class PipelineCacheFile {
  readonly path: string;
  readonly #folder: string;
  readonly #identity: DeviceIdentity;

  constructor(folder: string, identity: DeviceIdentity) {
    this.#folder = folder;
    this.#identity = identity;
    this.path = `${folder}/${identity.name}.pipelines`;
  }

  /** Reads it. Never an error. */
  read(): CacheContent {
    if (!isPrivate(this.#folder)) return {};
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = Deno.readFileSync(this.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return {};
      return { problem: error instanceof Error ? error.message : String(error) };
    }
    const parts = readPipelineCache(bytes);
    if ("problem" in parts) return parts;
    if (!sameBytes(parts.identity, this.#identity.bytes)) return { problem: "it is of another device or driver" };
    return { data: parts.data.slice() };
  }

  /**
   * Changes it, whole or not at all, while no other process does.
   *
   * @param merge gets what is there now and gives what is to be there: undefined for nothing
   */
  update(merge: (now: CacheContent) => Uint8Array | undefined): CacheUpdate {
    if (!ensurePrivate(this.#folder)) return "unwritable";
    return withLock(`${this.path}.lock`, () => {
      const now = this.read(), data = merge(now);
      try {
        if (data === undefined) {
          if (now.data === undefined && now.problem === undefined) return "unchanged";
          Deno.removeSync(this.path);
          return "removed";
        }
        if (now.data !== undefined && sameBytes(now.data, data)) return "unchanged";
        writeFileAtomically(this.path, this.#encode(data), FILE_MODE);
        return "written";
      } catch {
        return "unwritable";
      }
    }) ?? "busy";
  }

  #encode(data: Uint8Array): Uint8Array {
    const { bytes: identity } = this.#identity;
    const file = new Uint8Array(BODY_AT + identity.length + data.length), view = new DataView(file.buffer);
    file.set(MAGIC);
    view.setUint32(LENGTHS_AT, identity.length, true);
    view.setUint32(LENGTHS_AT + 4, data.length, true);
    file.set(identity, BODY_AT);
    file.set(data, BODY_AT + identity.length);
    file.set(byteChecksum(file.subarray(BODY_AT)), CHECKSUM_AT);
    return file;
  }
}
