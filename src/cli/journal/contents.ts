/**
 * What a journal of pipelines says: read only, whoever else uses it.
 *
 * @module
 */
import { decodeRecorded, readJournalIdentity } from "../../driver/warm_start/recorded_pipeline.ts";
import { hex } from "../../errors.ts";
import { type DeviceFacts, readDeviceIdentity } from "../../gpu/pipeline_cache_file.ts";
import { GENERIC_DEVICE } from "../../recompiler/generic_device.ts";
import type { RecompileRequest } from "../../recompiler/request.ts";
import { shaderHash } from "../../recompiler/request_file.ts";
import { stageOf } from "../../recompiler/stages/state.ts";
import { count } from "../count.ts";
import { byteChecksum } from "../../storage/byte_checksum.ts";
import { readJournal } from "../../storage/journal.ts";

/** A part of a journal that is no record, and what becomes of it. */
export interface JournalDamage {
  /** Byte offset in the file. */
  readonly offset: number;
  readonly bytes: number;
  /** `head`: written anew; `middle`: removed; `end`: cut off. By the next run that opens the journal. `unread`: nobody can tell in reasonable time. */
  readonly part: "head" | "middle" | "end" | "unread";
}

/** A journal, but for its records. */
export interface JournalFacts {
  /** Undefined where the head is damaged, or of another version. */
  readonly program: { readonly name: string; readonly target: string; readonly queues: readonly number[] } | undefined;
  readonly device: DeviceFacts | undefined;
  readonly bytes: number;
  readonly records: number;
  readonly damage: readonly JournalDamage[];
}

/** A recorded pipeline, for `--json`. */
export interface RecordFacts {
  /** Byte offset of the record in the file, and its bytes. */
  readonly offset: number;
  readonly bytes: number;
  /** Undefined for a record of another version: a run skips it. */
  readonly pipeline: PipelineFacts | undefined;
}

/** What decides a recorded pipeline, its code by hash. */
export interface PipelineFacts {
  readonly stage: string;
  /** Guest address of the program. */
  readonly address: bigint;
  readonly hash: string;
  readonly words: number;
  readonly waveSize: number;
  readonly threads: readonly number[];
  readonly userSgprCount: number;
  readonly ldsBytes: number;
  readonly floatMode: number;
  /** What the driver chose for this pipeline. */
  readonly specialization: {
    readonly partialThreads: boolean;
    readonly windows?: number;
    readonly unalignedLoads: boolean;
    readonly resolve: boolean;
    /** Image descriptors that the code depends on. */
    readonly imageDescriptors: number;
  };
}

/** A journal's bytes as facts; its text of the device, and its name by content, for comparing. */
export interface ReadJournal {
  readonly facts: JournalFacts;
  readonly deviceText: string | undefined;
  /** What its file is called, without the ending; undefined where the head is damaged. */
  readonly name: string | undefined;
  readonly records: readonly RecordFacts[];
}

/** Reads a journal. */
export function readJournalFacts(bytes: Uint8Array): ReadJournal {
  const { identity, records, offsets, damage, end, givenUp } = readJournal(bytes);
  const subject = identity && readJournalIdentity(identity);
  const places: JournalDamage[] = damage.map(({ offset, bytes }) => ({
    offset,
    bytes,
    part: identity === undefined && offset === 0 ? "head" : "middle",
  }));
  if (givenUp) places.push({ offset: end, bytes: bytes.length - end, part: "unread" });
  else if (identity === undefined && records.length === 0) {
    places.push({ offset: 0, bytes: bytes.length, part: "head" });
  } else if (end < bytes.length) places.push({ offset: end, bytes: bytes.length - end, part: "end" });
  return {
    facts: {
      program: subject &&
        { name: subject.name, target: subject.target, queues: subject.streams.map(([queue]) => queue) },
      device: subject && readDeviceIdentity(subject.device),
      bytes: bytes.length,
      records: records.length,
      damage: places,
    },
    deviceText: subject?.device,
    name: identity && byteChecksum(identity.slice()).toHex(),
    records: records.map((payload, i) => ({
      offset: offsets[i],
      bytes: payload.length,
      pipeline: pipelineFacts(decodeRecorded(payload, GENERIC_DEVICE)),
    })),
  };
}

/** Records are trusted by their checksum alone, so what they hold is looked at before it is shown. */
function pipelineFacts(request: RecompileRequest | undefined): PipelineFacts | undefined {
  if (typeof request !== "object" || request === null) return undefined;
  const { code, codeAddress, waveSize, workgroupSize, userSgprCount, ldsBytes, floatMode, graphics } = request;
  const { partialThreads, windows, unalignedLoads, resolve, imageDescriptors } = request;
  const numbers = [waveSize, userSgprCount, ldsBytes, floatMode, windows ?? 0];
  const good = code instanceof Uint32Array && typeof codeAddress === "bigint" && numbers.every(Number.isInteger) &&
    Array.isArray(workgroupSize) && workgroupSize.every(Number.isInteger) &&
    (imageDescriptors === undefined || imageDescriptors instanceof Map) &&
    (graphics === undefined || typeof graphics?.stage === "string");
  if (!good) return undefined;
  return {
    stage: stageOf(request),
    address: codeAddress,
    hash: shaderHash(code),
    words: code.length,
    ...{ waveSize, threads: workgroupSize, userSgprCount, ldsBytes, floatMode },
    specialization: {
      partialThreads: partialThreads === true,
      ...(windows === undefined ? {} : { windows }),
      unalignedLoads: unalignedLoads === true,
      resolve: resolve === true,
      imageDescriptors: imageDescriptors?.size ?? 0,
    },
  };
}

/** A record for people. */
export function recordText({ offset, bytes, pipeline }: RecordFacts): string {
  if (pipeline === undefined) return `${hex(offset, 6)} ${bytes} bytes: of another version, a run skips it`;
  const { stage, address, hash, words, waveSize, threads, userSgprCount, ldsBytes, specialization } = pipeline;
  const { partialThreads, windows, unalignedLoads, resolve, imageDescriptors } = specialization;
  const parts = [
    `${hex(offset, 6)} ${stage} ${hex(address)} ${hash}`,
    `${words} words`,
    `wave${waveSize}`,
    `${threads.join(" x ")} threads`,
    `${userSgprCount} user SGPRs`,
    ...(ldsBytes === 0 ? [] : [`LDS ${ldsBytes}`]),
    ...(partialThreads ? ["groups cut at the edges"] : []),
    ...(windows === undefined ? [] : [`${windows} windows`]),
    ...(unalignedLoads ? ["unaligned loads"] : []),
    ...(resolve ? ["resolved"] : []),
    ...(imageDescriptors === 0 ? [] : [`${imageDescriptors} image descriptors`]),
  ];
  return parts.join(", ");
}

/** Damage for people. */
export function damageText({ offset, bytes, part }: JournalDamage): string {
  const what = {
    head: "the head is damaged: the next run writes it anew, and keeps the records",
    middle: "damaged: the next run removes it, and keeps the records around it",
    unread: "looks like records everywhere and has none: not looked at further",
    end: "a record that was not finished: the next run cuts it off",
  }[part];
  return `file offset ${hex(offset)}, ${bytes} bytes: ${what}`;
}

/** A journal in a line, for people. */
export function journalText({ program, device, records, bytes }: JournalFacts): string {
  const subject = program === undefined ? "program not known" : `program ${program.name}, ${program.target}`;
  return `${subject}, ${deviceLine(device)}, ${count(records, "record")}, ${bytes} bytes`;
}

/** A device for people. */
export function deviceLine(device: DeviceFacts | undefined): string {
  return device === undefined ? "device not known" : `${device.name}, driver ${device.driverVersion}`;
}
