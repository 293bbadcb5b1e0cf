/**
 * What the journal keeps of a pipeline: the recompiler's request, but for the device, which is that of the run that replays it. So a record
 * outlives every change of the recompiler and of the probes; a request that it no longer takes is skipped.
 *
 * @module
 */
import { hex } from "../../errors.ts";
import type { DeviceIdentity } from "../../gpu/pipeline_cache_file.ts";
import type { Program } from "../../guest/program.ts";
import { imageClass } from "../../recompiler/lift/image_descriptor.ts";
import type { RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { byteChecksum } from "../../storage/byte_checksum.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";

/** Version of the records. */
const VERSION = 1;

/** A record. @param codeWords of the artifact: the words that decided it */
export function encodeRecorded(request: RecompileRequest, codeWords: number): Uint8Array<ArrayBuffer> {
  const { device: _, ...rest } = request;
  return encodeData([VERSION, { ...rest, code: request.code.slice(0, codeWords) }]);
}

/** A record's request; undefined for one of another version, or of none. */
export function decodeRecorded(payload: Uint8Array, device: RecompilerDevice): RecompileRequest | undefined {
  const request = decoded(payload);
  return request && { ...request, device };
}

/** Guest address of a record's program; undefined where {@linkcode decodeRecorded} has no request. */
export function recordedAddress(payload: Uint8Array): bigint | undefined {
  return decoded(payload)?.codeAddress;
}

function decoded(payload: Uint8Array): Omit<RecompileRequest, "device"> | undefined {
  try {
    const [version, request] = decodeData(payload) as [number, Omit<RecompileRequest, "device">];
    return version === VERSION && request?.code instanceof Uint32Array ? request : undefined;
  } catch {
    return undefined;
  }
}

/** Everything but code and device that decides what a request becomes, as text. */
export function stateKey({ code: _, device: __, imageDescriptors, ...rest }: RecompileRequest): string {
  const state = Object.entries(rest).filter(([, value]) => value !== undefined).sort(([a], [b]) => a < b ? -1 : 1);
  const images = [...imageDescriptors ?? []].map(([pc, words]) => `${hex(pc)}: ${imageClass(words).join(" ")}`);
  return JSON.stringify([state, images], (_, value) => typeof value === "bigint" ? hex(value) : value);
}

/** Name and identity of the journal of a program on a device: the same streams under the same name, wherever the file lies. */
export function journalIdentity(
  { name, target, submissions }: Pick<Program, "name" | "target" | "submissions">,
  device: DeviceIdentity,
): { name: string; identity: Uint8Array<ArrayBuffer> } {
  const streams = submissions.map(({ queue, words }) => [
    queue,
    byteChecksum(new Uint8Array(words.buffer, words.byteOffset, words.byteLength)).toHex(),
  ]);
  const facts = new TextDecoder().decode(device.bytes);
  const identity = new TextEncoder().encode(JSON.stringify([VERSION, facts, name, target, streams]));
  return { name: byteChecksum(identity).toHex(), identity };
}

/** What a journal is for: what {@linkcode journalIdentity} wrote. */
export interface JournalSubject {
  /** {@linkcode DeviceIdentity.bytes} as text. */
  readonly device: string;
  /** The program's name and target. */
  readonly name: string;
  readonly target: string;
  /** Of each submission its queue and the checksum of its words. */
  readonly streams: readonly (readonly [queue: number, checksum: string])[];
}

/** Reads an identity; undefined for one of another version, or of none. */
export function readJournalIdentity(identity: Uint8Array): JournalSubject | undefined {
  try {
    const [version, device, name, target, streams] = JSON.parse(new TextDecoder().decode(identity));
    const good = version === VERSION && [device, name, target].every((text) => typeof text === "string") &&
      Array.isArray(streams) &&
      streams.every((each) => Array.isArray(each) && Number.isInteger(each[0]) && typeof each[1] === "string");
    return good ? { device, name, target, streams } : undefined;
  } catch {
    return undefined; // no JSON, or no list
  }
}
