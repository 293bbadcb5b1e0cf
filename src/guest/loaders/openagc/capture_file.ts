/**
 * The framing of OpenAGC's captures and the records in them: a 32-byte header, then records with type, version, size and a running number, closed by a
 * record that says how many records and bytes there are. All integers are little-endian.
 *
 * Facts: OpenAGC, docs/capture.md ("Native runtime capture v1"), include/openagc/capture.h, and the layout that its runtime writes; checked against the
 * reference capture. Captures hold packets, hashes and descriptions, no contents of memory and no addresses (but those in packets).
 */
import { hex, RefusedError } from "../../../errors.ts";
import { MalformedFileError } from "../file_format.ts";

/** First bytes of a capture. */
export const OPENAGC_MAGIC = "OAGCCAP\0";
const HEADER_BYTES = 32;
const RECORD_HEADER_BYTES = 16;
const ENDIAN_TAG = 0x01020304;
/** The only flag: shader bytes are included. */
const FLAG_SHADER_BYTES = 1;

/** Record types. */
export const RecordType = {
  RuntimeInfo: 1,
  ObjectCreate: 2,
  ObjectName: 3,
  ObjectDestroy: 4,
  CommandBegin: 5,
  CommandEnd: 6,
  Submission: 7,
  FenceResult: 8,
  ValidationMessage: 9,
  ReadbackHash: 10,
  End: 11,
  CommandStream: 12,
  ResourceDesc: 13,
  ShaderDesc: 14,
  ShaderBytes: 15,
  PipelineDesc: 16,
  ResourceTransition: 17,
} as const;

/** Kinds of objects, by number. */
export const OBJECT_TYPES = [
  "device",
  "queue",
  "buffer",
  "image",
  "image view",
  "sampler",
  "shader",
  "graphics pipeline",
  "compute pipeline",
  "command buffer",
  "fence",
  "label",
  "present chain",
] as const;
/** Numbers in {@linkcode OBJECT_TYPES} that the layouts depend on. */
export const ObjectType = {
  Buffer: 2,
  Image: 3,
  ImageView: 4,
  Sampler: 5,
  GraphicsPipeline: 7,
  ComputePipeline: 8,
} as const;

/** A record. Fields are read at byte offsets of its payload. */
export class CaptureRecord {
  /** Path of the file. */
  readonly file: string;
  /** Offset of the record in the file. */
  readonly offset: number;
  readonly type: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
  readonly #view: DataView;

  constructor(file: string, offset: number, type: number, sequence: number, payload: Uint8Array) {
    this.file = file;
    this.offset = offset;
    this.type = type;
    this.sequence = sequence;
    this.payload = payload;
    this.#view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  }

  u16(at: number): number {
    return this.#view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  u64(at: number): bigint {
    return this.#view.getBigUint64(at, true);
  }

  /** A text of up to `bytes` bytes, up to its NUL. */
  text(at: number, bytes: number): string {
    const end = this.payload.subarray(at, at + bytes).indexOf(0);
    return new TextDecoder().decode(this.payload.subarray(at, at + (end < 0 ? bytes : end)));
  }

  /** Offset in the file of a byte of the payload. */
  fileOffset(at: number): number {
    return this.offset + RECORD_HEADER_BYTES + at;
  }

  /** Throws: the byte at `at` of the payload is wrong for `reason`. */
  fail(at: number, reason: string): never {
    throw new MalformedFileError("openagc.record", `record ${this.sequence}: ${reason}`, {
      file: this.file,
      fileOffset: this.fileOffset(at),
    });
  }
}

/** A capture, taken apart. */
export interface OpenAgcCapture {
  file: string;
  runtimeVersion: number;
  flags: number;
  records: CaptureRecord[];
}

/** Takes a capture apart and checks the size of every record. Records of unknown types are kept; the format wants readers to go on. */
export function readOpenAgcRecords(file: string, bytes: Uint8Array): OpenAgcCapture {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fail = (fileOffset: number, reason: string): never => {
    throw new MalformedFileError("openagc.file", reason, { file, fileOffset });
  };
  if (bytes.length < HEADER_BYTES) fail(bytes.length, `the header has ${HEADER_BYTES} bytes, the file ${bytes.length}`);
  const version = view.getUint32(8, true), headerBytes = view.getUint32(12, true);
  if (version !== 1) {
    throw new RefusedError("openagc.version", `capture version ${version}; only 1 is known`, { file, fileOffset: 8 });
  }
  if (headerBytes !== HEADER_BYTES) fail(12, `a header of ${headerBytes} bytes; version 1 has ${HEADER_BYTES}`);
  if (view.getUint32(16, true) !== ENDIAN_TAG) {
    fail(16, `the byte order mark is ${hex(view.getUint32(16, true), 8)}, not ${hex(ENDIAN_TAG, 8)}`);
  }
  const flags = view.getUint32(24, true);
  if ((flags & ~FLAG_SHADER_BYTES) !== 0) fail(24, `flags ${hex(flags)}; only bit 0 is known`);
  if (view.getUint32(28, true) !== 0) fail(28, "the reserved word is not zero");

  const records: CaptureRecord[] = [];
  for (let at = HEADER_BYTES; at < bytes.length;) {
    if (records.at(-1)?.type === RecordType.End) fail(at, "there is something behind the end record");
    if (at + RECORD_HEADER_BYTES > bytes.length) fail(at, "the file ends within the header of a record");
    const type = view.getUint16(at, true),
      size = view.getUint32(at + 4, true),
      sequence = view.getBigUint64(at + 8, true);
    if (view.getUint16(at + 2, true) !== 1) {
      const reason = `record version ${view.getUint16(at + 2, true)}; only 1 is known`;
      throw new RefusedError("openagc.record-version", reason, { file, fileOffset: at + 2 });
    }
    if (size < RECORD_HEADER_BYTES || size > bytes.length - at) {
      fail(at + 4, `a record of ${size} bytes where the file has ${bytes.length - at}`);
    }
    if (sequence !== BigInt(records.length + 1)) {
      fail(at + 8, `record ${sequence} where ${records.length + 1} is expected`);
    }
    const payload = bytes.subarray(at + RECORD_HEADER_BYTES, at + size);
    const record = new CaptureRecord(file, at, type, records.length + 1, payload);
    checkSize(record);
    records.push(record);
    at += size;
  }
  checkEnd(records, bytes.length, fail);
  return { file, runtimeVersion: view.getUint32(20, true), flags, records };
}

function checkEnd(records: readonly CaptureRecord[], bytes: number, fail: (at: number, reason: string) => never): void {
  const last = records.at(-1);
  if (last?.type !== RecordType.End) fail(bytes, "the end record is missing: the capture is cut short");
  if (last.u64(8) !== BigInt(records.length)) {
    last.fail(8, `${last.u64(8)} records are announced, not ${records.length}`);
  }
  if (last.u64(16) !== BigInt(bytes)) last.fail(16, `${last.u64(16)} bytes are announced, the file has ${bytes}`);
}

/** Payload sizes of the types whose records are all of one size. */
const FIXED_BYTES: Readonly<Record<number, number>> = {
  [RecordType.RuntimeInfo]: 76,
  [RecordType.ObjectCreate]: 24,
  [RecordType.ObjectName]: 76,
  [RecordType.ObjectDestroy]: 16,
  [RecordType.CommandBegin]: 16,
  [RecordType.FenceResult]: 32,
  [RecordType.ValidationMessage]: 328,
  [RecordType.ReadbackHash]: 40,
  [RecordType.End]: 24,
  [RecordType.ShaderDesc]: 64,
  [RecordType.ResourceTransition]: 80,
};

/** Bytes before a record's lists, for the types that have lists. */
const LEAST_BYTES: Readonly<Record<number, number>> = {
  [RecordType.CommandEnd]: 16,
  [RecordType.CommandStream]: 16,
  [RecordType.Submission]: 40,
  [RecordType.ResourceDesc]: 16,
  [RecordType.ShaderBytes]: 16,
  [RecordType.PipelineDesc]: 16,
};

function checkSize(record: CaptureRecord): void {
  const { type, payload: { length } } = record, least = LEAST_BYTES[type];
  if (least !== undefined && length < least) record.fail(0, `${length} bytes; its type has at least ${least}`);
  const expected = FIXED_BYTES[type] ?? listBytes(record);
  if (expected !== undefined && expected !== length) record.fail(0, `${length} bytes; ${expected} are expected`);
}

/** The size that a record with lists must have by its own counts; undefined for unknown types. */
function listBytes(record: CaptureRecord): number | undefined {
  const kind = () => record.u32(8);
  switch (record.type) {
    case RecordType.CommandEnd:
    case RecordType.CommandStream:
      return 16 + 4 * record.u32(12);
    case RecordType.ShaderBytes:
      return 16 + record.u32(12);
    case RecordType.Submission:
      return 40 + 8 * record.u32(12) + 16 * (record.u32(16) + record.u32(20));
    case RecordType.ResourceDesc:
      return RESOURCE_BYTES[kind()] ?? record.fail(8, `object type ${kind()} is no resource`);
    case RecordType.PipelineDesc: {
      const least = kind() === ObjectType.ComputePipeline ? 48 : kind() === ObjectType.GraphicsPipeline ? 120 : 0;
      if (least === 0) record.fail(8, `object type ${kind()} is no pipeline`);
      if (record.payload.length < least) {
        record.fail(0, `${record.payload.length} bytes; at least ${least} are expected`);
      }
      return kind() === ObjectType.ComputePipeline
        ? 48 + 24 * record.u32(36) + 16 * record.u32(40)
        : 120 + 32 * record.u32(40) + 24 * record.u32(44) + 16 * record.u32(48) + 48 * record.u32(52);
    }
  }
  return undefined;
}

/** Payload sizes of resource descriptions by object type. */
const RESOURCE_BYTES: Readonly<Record<number, number>> = {
  [ObjectType.Buffer]: 32,
  [ObjectType.Image]: 48,
  [ObjectType.ImageView]: 48,
  [ObjectType.Sampler]: 40,
};
