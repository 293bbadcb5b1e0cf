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
const ENCODER = new TextEncoder(), DECODER = new TextDecoder();
type ArrayName = keyof typeof ARRAYS;
type Section = InstanceType<(typeof ARRAYS)[ArrayName]>;

/**
 * Encodes plain data.
 *
 * @throws SyncError `sync.plain-data` for functions, symbols, objects of a class, and data that contains itself.
 */
export function encodeData(value: unknown): Uint8Array<ArrayBuffer> {
  const sections: Section[] = [];
  const tree = ENCODER.encode(treeText(value, sections, []));
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
  return fromTree(JSON.parse(DECODER.decode(copy.subarray(HEADER, HEADER + header[0]))), reader);
}

/** Text, booleans and null are themselves; all else is `[tag, ...]`. */
type Tree = string | boolean | null | [string, ...unknown[]];

/** The tree of a value as JSON: written straight away, since trees of requests are on the way of every look-up. */
function treeText(value: unknown, sections: Section[], path: object[]): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      if (Object.is(value, -0)) return '["n","-0"]';
      return Number.isFinite(value) ? `["n",${value}]` : `["n","${value}"]`;
    case "bigint":
      return `["b","${value}"]`;
    case "undefined":
      return '["u"]';
    case "object":
      break;
    default:
      throw new SyncError("sync.plain-data", `a ${typeof value} is no plain data`);
  }
  if (value === null) return "null";
  const object = value as object;
  if (path.includes(object)) throw new SyncError("sync.plain-data", "plain data that contains itself");
  const name = object.constructor?.name ?? "";
  if (ArrayBuffer.isView(object) && Object.hasOwn(ARRAYS, name)) {
    sections.push(object as Section);
    return `["t","${name}",${(object as Section).length}]`;
  }
  path.push(object);
  const text = compoundText(object, name, sections, path);
  path.pop();
  return text;
}

/** Names of fields as JSON. */
const quotedNames = new Map<string, string>();
const MAX_NAMES = 1024;

function quoted(name: string): string {
  let text = quotedNames.get(name);
  if (text === undefined) {
    text = JSON.stringify(name);
    if (quotedNames.size < MAX_NAMES) quotedNames.set(name, text);
  }
  return text;
}

function compoundText(object: object, name: string, sections: Section[], path: object[]): string {
  let text: string;
  if (Array.isArray(object)) {
    text = '["a"';
    for (let i = 0; i < object.length; i++) text += "," + treeText(object[i], sections, path);
  } else if (object instanceof Map) {
    text = '["m"';
    for (const [key, item] of object) {
      text += `,[${treeText(key, sections, path)},${treeText(item, sections, path)}]`;
    }
  } else {
    const prototype = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new SyncError("sync.plain-data", `an object of class ${name} is no plain data`);
    }
    text = '["o"';
    for (const key of Object.keys(object)) {
      text += `,[${quoted(key)},${treeText((object as Record<string, unknown>)[key], sections, path)}]`;
    }
  }
  return text + "]";
}

function fromTree(tree: Tree, reader: { readonly bytes: Uint8Array<ArrayBuffer>; at: number }): unknown {
  if (!Array.isArray(tree)) return tree;
  switch (tree[0]) {
    case "n":
      return Number(tree[1]);
    case "b":
      return BigInt(tree[1] as string);
    case "u":
      return undefined;
    case "a": {
      const items: unknown[] = [];
      for (let i = 1; i < tree.length; i++) items.push(fromTree(tree[i] as Tree, reader));
      return items;
    }
    case "m": {
      const map = new Map<unknown, unknown>();
      for (let i = 1; i < tree.length; i++) {
        const [key, item] = tree[i] as [Tree, Tree], first = fromTree(key, reader);
        map.set(first, fromTree(item, reader));
      }
      return map;
    }
    case "o": {
      const entries: [string, unknown][] = [];
      for (let i = 1; i < tree.length; i++) {
        const [key, item] = tree[i] as [string, Tree];
        entries.push([key, fromTree(item, reader)]);
      }
      return Object.fromEntries(entries); // also a field "__proto__" is only a field
    }
    case "t": {
      const Class = ARRAYS[tree[1] as ArrayName];
      const end = reader.at + (tree[2] as number) * (Class?.BYTES_PER_ELEMENT ?? NaN);
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
