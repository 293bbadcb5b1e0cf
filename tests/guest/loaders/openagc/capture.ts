/** Builds OpenAGC captures record by record from the published layout, so that tests of the reader do not depend on it. */

/** One field: `[bytes, value]`, or bytes as they are. */
export type Field = [1 | 2 | 4 | 8, number | bigint] | Uint8Array;

/** A record's payload. */
export interface RawRecord {
  type: number;
  fields: Field[];
  /** What the header says instead of the truth. */
  version?: number;
  size?: number;
  sequence?: number;
}

const u16 = (value: number): Field => [2, value];
const u32 = (value: number): Field => [4, value];
const u64 = (value: number | bigint): Field => [8, value];

function text(value: string, bytes: number): Field {
  const field = new Uint8Array(bytes);
  field.set(new TextEncoder().encode(value));
  return field;
}

/** Records by what they say. */
export const record = {
  runtime: (): RawRecord => ({
    type: 1,
    fields: [u32(0x1234), u16(5), u16(2), u32(12), u64(0xFF), new Uint8Array(8), text("a profile", 48)],
  }),
  create: (id: number, type: number): RawRecord => ({ type: 2, fields: [u64(id), u32(type), u32(0), u32(1), u32(2)] }),
  name: (id: number, type: number, name: string): RawRecord => ({
    type: 3,
    fields: [u64(id), u32(type), text(name, 64)],
  }),
  destroy: (id: number, type: number): RawRecord => ({ type: 4, fields: [u64(id), u32(type), u32(0)] }),
  begin: (id: number, queue: number): RawRecord => ({ type: 5, fields: [u64(id), u32(queue), u32(64)] }),
  words: (type: 6 | 12, id: number, queue: number, words: readonly number[]): RawRecord => ({
    type,
    fields: [u64(id), u32(queue), u32(words.length), ...words.map(u32)],
  }),
  submission: (
    id: number,
    queue: number,
    commands: readonly number[],
    { result = 0, fence = 0, waits = [], signals = [] }: {
      result?: number;
      fence?: number;
      waits?: [label: number, value: number][];
      signals?: [label: number, value: number][];
    } = {},
  ): RawRecord => ({
    type: 7,
    fields: [
      u64(id),
      ...[queue, commands.length, waits.length, signals.length, result, 0].map(u32),
      u64(fence),
      ...commands.map(u64),
      ...[...waits, ...signals].flatMap(([label, value]) => [u64(label), u32(value), u32(0)]),
    ],
  }),
  fence: (id: number, submission: number): RawRecord => ({
    type: 8,
    fields: [u64(id), u64(submission), u32(0), u32(1), u64(1000)],
  }),
  message: (): RawRecord => ({
    type: 9,
    fields: [
      u64(0),
      ...[4, 2, 0x8089_0003, 3].map(u32),
      text("aFunction", 48),
      text("an object", 64),
      text("went wrong", 192),
    ],
  }),
  readback: (id: number, hash: bigint): RawRecord => ({
    type: 10,
    fields: [u64(id), u32(2), u32(1), u64(128), u64(256), u64(hash)],
  }),
  buffer: (id: number): RawRecord => ({ type: 13, fields: [u64(id), u32(2), u32(1), u64(4096), u32(0x30), u32(2)] }),
  image: (id: number): RawRecord => ({ type: 13, fields: [u64(id), ...[3, 1, 64, 32, 1, 2, 3, 56, 1, 7].map(u32)] }),
  view: (id: number, image: number): RawRecord => ({
    type: 13,
    fields: [u64(id), u32(4), u32(1), u64(image), ...[56, 0, 1, 0, 1, 0].map(u32)],
  }),
  sampler: (id: number): RawRecord => ({ type: 13, fields: [u64(id), ...[5, 1, 1, 1, 2, 2, 2, 0].map(u32)] }),
  shader: (id: number, bytes: number, hash: bigint): RawRecord => ({
    type: 14,
    fields: [u64(id), ...[6, 0, 0, 24, 0, 1].map(u32), u64(bytes), u64(hash), u64(0), u64(0)],
  }),
  bytes: (id: number, data: Uint8Array, half = 0): RawRecord => ({
    type: 15,
    fields: [u64(id), u32(half), u32(data.length), data],
  }),
  compute: (id: number, shader: number, size: readonly [number, number, number]): RawRecord => ({
    type: 16,
    fields: [u64(id), u32(8), u32(2), u64(shader), ...[...size, 1, 1, 0].map(u32), new Uint8Array(24 + 16)],
  }),
  graphics: (id: number): RawRecord => ({
    type: 16,
    fields: [u64(id), u32(7), u32(4), u64(0), u64(9), u64(10), ...[1, 0, 0, 1].map(u32), new Uint8Array(64 + 32 + 48)],
  }),
  transition: (command: number, resource: number): RawRecord => ({
    type: 17,
    fields: [u64(command), u64(resource), u64(0), ...[0, 0, 0, 0, 4, 2, 0, 0].map(u32), u64(0), u64(256), u64(0)],
  }),
  unknown: (): RawRecord => ({ type: 77, fields: [u32(1)] }),
};

/** Fields of the file that are to be wrong. */
export interface RawFile {
  version?: number;
  headerBytes?: number;
  endian?: number;
  flags?: number;
  reserved?: number;
  /** What the end record says. */
  records?: number;
  bytes?: number;
  /** No end record. */
  open?: boolean;
}

/** The capture, and where each record starts (the end record included). */
export function buildCapture(
  records: readonly RawRecord[],
  file: RawFile = {},
): { bytes: Uint8Array<ArrayBuffer>; at: number[] } {
  const parts: number[] = [...new TextEncoder().encode("OAGCCAP\0")], at: number[] = [];
  const put = (field: Field) => {
    if (field instanceof Uint8Array) return void parts.push(...field);
    const [bytes, value] = field;
    for (let i = 0; i < bytes; i++) parts.push(Number(BigInt(value) >> BigInt(8 * i) & 0xFFn));
  };
  const { version = 1, headerBytes = 32, endian = 0x01020304, flags = 0, reserved = 0 } = file;
  [version, headerBytes, endian, 47, flags, reserved].map(u32).forEach(put);
  const add = (each: RawRecord) => {
    at.push(parts.length);
    const bytes = each.fields.reduce((sum, field) => sum + (field instanceof Uint8Array ? field.length : field[0]), 16);
    [u16(each.type), u16(each.version ?? 1), u32(each.size ?? bytes), u64(each.sequence ?? at.length)].forEach(put);
    each.fields.forEach(put);
  };
  records.forEach(add);
  if (!file.open) {
    add({
      type: 11,
      fields: [u32(0), u32(0), u64(file.records ?? records.length + 1), u64(file.bytes ?? parts.length + 40)],
    });
  }
  return { bytes: Uint8Array.from(parts), at };
}
