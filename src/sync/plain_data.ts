/**
 * Plain data (numbers, text, bigints, arrays, typed arrays, maps, objects without a class) as bytes for the arena, and back. The tree is JSON,
 * the typed arrays lie behind it as they are, so a large module costs one copy. An object of a class is refused: it would come back as
 * something else.
 *
 * @module
 */
import { SyncError } from "./sync_error.ts";

/** Bytes before the tree: its length, and the version. */
const HEADER = 8;
const VERSION = 1;
/** Typed arrays begin at multiples of it. */
const ALIGN = 8;

const ARRAYS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};
type ArrayName = keyof typeof ARRAYS;
type Section = InstanceType<(typeof ARRAYS)[ArrayName]>;

/**
 * Encodes plain data.
 *
 * @throws SyncError `sync.plain-data` for functions, symbols, objects of a class, and data that contains itself.
 */
export function encodeData(value: unknown): Uint8Array<ArrayBuffer> {
  const sections: Section[] = [];
  const tree = new TextEncoder().encode(JSON.stringify(toTree(value, sections, [])));
  let size = align(HEADER + tree.length);
  for (const section of sections) size = align(size + section.byteLength);
  const bytes = new Uint8Array(size);
  new Uint32Array(bytes.buffer, 0, 2).set([tree.length, VERSION]);
  bytes.set(tree, HEADER);
  let at = align(HEADER + tree.length);
  for (const section of sections) {
    bytes.set(new Uint8Array(section.buffer, section.byteOffset, section.byteLength), at);
    at = align(at + section.byteLength);
  }
  return bytes;
}

/**
 * Decodes what {@linkcode encodeData} made; typed arrays are copies.
 *
 * @throws SyncError `sync.plain-data` if the bytes are not such.
 */
export function decodeData(bytes: Uint8Array): unknown {
  const copy = bytes.slice();
  const header = copy.length < HEADER ? [0, 0] : new Uint32Array(copy.buffer, 0, 2);
  if (header[1] !== VERSION || HEADER + header[0] > copy.length) {
    throw new SyncError("sync.plain-data", `these ${bytes.length} bytes are no plain data`);
  }
  const reader = { bytes: copy, at: align(HEADER + header[0]) };
  return fromTree(JSON.parse(new TextDecoder().decode(copy.subarray(HEADER, HEADER + header[0]))), reader);
}

/** Text, booleans and null are themselves; all else is `[tag, ...]`. */
type Tree = string | boolean | null | [string, ...unknown[]];

function toTree(value: unknown, sections: Section[], path: object[]): Tree {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return ["n", Object.is(value, -0) ? "-0" : Number.isFinite(value) ? value : String(value)];
    case "bigint":
      return ["b", value.toString()];
    case "undefined":
      return ["u"];
    case "object":
      break;
    default:
      throw new SyncError("sync.plain-data", `a ${typeof value} is no plain data`);
  }
  if (value === null) return null;
  const object = value as object;
  if (path.includes(object)) throw new SyncError("sync.plain-data", "plain data that contains itself");
  const inner = [...path, object];
  if (Array.isArray(object)) return ["a", ...object.map((item) => toTree(item, sections, inner))];
  const name = object.constructor?.name ?? "";
  if (ArrayBuffer.isView(object) && Object.hasOwn(ARRAYS, name)) {
    sections.push(object as Section);
    return ["t", name, (object as Section).length];
  }
  if (object instanceof Map) {
    return ["m", ...[...object].map(([key, item]) => [toTree(key, sections, inner), toTree(item, sections, inner)])];
  }
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new SyncError("sync.plain-data", `an object of class ${name} is no plain data`);
  }
  return ["o", ...Object.entries(object).map(([key, item]) => [key, toTree(item, sections, inner)])];
}

function fromTree(tree: Tree, reader: { readonly bytes: Uint8Array<ArrayBuffer>; at: number }): unknown {
  if (!Array.isArray(tree)) return tree;
  const [tag, ...rest] = tree;
  switch (tag) {
    case "n":
      return Number(rest[0]);
    case "b":
      return BigInt(rest[0] as string);
    case "u":
      return undefined;
    case "a":
      return rest.map((item) => fromTree(item as Tree, reader));
    case "m":
      return new Map((rest as [Tree, Tree][]).map(([key, item]) => [fromTree(key, reader), fromTree(item, reader)]));
    case "o":
      return Object.fromEntries((rest as [string, Tree][]).map(([key, item]) => [key, fromTree(item, reader)]));
    case "t": {
      const Class = ARRAYS[rest[0] as ArrayName];
      const end = reader.at + (rest[1] as number) * (Class?.BYTES_PER_ELEMENT ?? NaN);
      if (!(end <= reader.bytes.length)) break;
      const array = new Class(reader.bytes.buffer.slice(reader.at, end));
      reader.at = align(end);
      return array;
    }
  }
  throw new SyncError("sync.plain-data", "the bytes are no plain data");
}

function align(n: number): number {
  return Math.ceil(n / ALIGN) * ALIGN;
}
