/**
 * One artifact as bytes, with the whole request that it was made from:
 *
 *     "AGCSHDR1", u32 recompiler version, u32 bytes of the state, u32 words of code, u32 bytes of the artifact, checksum,
 *     state (text), code, artifact (plain data); each from a multiple of 8 on
 *
 * The checksum is over all of it, its own place zero. It finds accidents; that an entry is the one of a request is decided by comparing the request.
 *
 * @module
 */
import { imageClass } from "../../recompiler/lift/image_descriptor.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { RECOMPILER_VERSION } from "../../recompiler/version.ts";
import { byteChecksum, CHECKSUM_BYTES, sameBytes } from "../../storage/byte_checksum.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";

const ENCODER = new TextEncoder();
/** First bytes of every entry. */
export const ENTRY_MAGIC = "AGCSHDR1";
const MAGIC = ENCODER.encode(ENTRY_MAGIC);
const CHECKSUM_AT = 24, HEADER_BYTES = CHECKSUM_AT + CHECKSUM_BYTES;
const SPIRV_MAGIC = 0x07230203;
/** All of them: the compiler says when one is missing. */
const LANE_MODES: Readonly<Record<Artifact["laneMode"], true>> = {
  laneless: true,
  native: true,
  spanned: true,
  packed: true,
  quad: true,
  subgroup: true,
};

/** Ends the names of entries. */
export const ENTRY_SUFFIX = ".shader";

/** A request's key, but for its code, of which only the artifact says how much belongs to it. */
export interface RequestKey {
  /** {@linkcode stateText} as UTF-8. */
  readonly state: Uint8Array;
  /** Begins the names of all entries that may be the request's. */
  readonly prefix: string;
}

/** Everything but the code that decides what a request becomes, as text: the same for the same values, whatever the order of the fields. */
export function stateText({ code: _, imageDescriptors, device, ...rest }: RecompileRequest): string {
  const images = imageDescriptors === undefined
    ? undefined
    : [...imageDescriptors].sort(([a], [b]) => a - b).map(([pc, words]) => [pc, [...imageClass(words)]]);
  return fieldsText({ ...rest, images, device }, device);
}

/** See {@linkcode RequestKey}. */
export function requestKey(request: RecompileRequest): RequestKey {
  const text = stateText(request);
  let key = keys.get(text);
  if (key === undefined) {
    const state = ENCODER.encode(text);
    key = { state, prefix: `${RECOMPILER_VERSION}-${byteChecksum(state).toHex()}-` };
    if (keys.size === MAX_KEYS) keys.clear();
    keys.set(text, key);
  }
  return key;
}

/** Keys that were asked for, by their text: most are asked for more than once. */
const keys = new Map<string, RequestKey>();
const MAX_KEYS = 1024;

/** Name of the entry of these words of code. */
export function entryName({ prefix }: RequestKey, code: Uint32Array): string {
  return `${prefix}${code.length.toString(16)}-${byteChecksum(bytesOf(code)).toHex()}${ENTRY_SUFFIX}`;
}

/** Words of code of the entry of that name, and the rest of the name; undefined when it is no entry's. */
export function parseEntryName(name: string): { prefix: string; codeWords: number } | undefined {
  const match = /^(\d+-[0-9a-f]{16}-)([0-9a-f]{1,6})-[0-9a-f]{16}\.shader$/.exec(name);
  return match === null ? undefined : { prefix: match[1], codeWords: parseInt(match[2], 16) };
}

/** An entry. @param code the words that belong to the artifact */
export function encodeEntry({ state }: RequestKey, code: Uint32Array, artifact: Artifact): Uint8Array<ArrayBuffer> {
  const body = encodeData(artifact);
  const codeAt = align(HEADER_BYTES + state.length), bodyAt = align(codeAt + code.byteLength);
  const bytes = new Uint8Array(bodyAt + body.length), view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  [RECOMPILER_VERSION, state.length, code.length, body.length].forEach((n, k) => view.setUint32(8 + 4 * k, n, true));
  bytes.set(state, HEADER_BYTES);
  bytes.set(bytesOf(code), codeAt);
  bytes.set(body, bodyAt);
  bytes.set(byteChecksum(bytes), CHECKSUM_AT);
  return bytes;
}

/** What an entry is. */
export type EntryContent =
  | { readonly kind: "artifact"; readonly artifact: Artifact }
  /** Whole, but of another request (or of another version of the recompiler). */
  | { readonly kind: "other" }
  /** Not as it was written. */
  | { readonly kind: "damaged" };

/** Where the parts of an entry begin; undefined of bytes that are not as they were written. Clears the checksum. */
function layoutOf(bytes: Uint8Array<ArrayBuffer>) {
  if (bytes.length < HEADER_BYTES || !sameBytes(bytes.subarray(0, MAGIC.length), MAGIC)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [version, stateBytes, codeWords, bodyBytes] = [8, 12, 16, 20].map((at) => view.getUint32(at, true));
  const codeAt = align(HEADER_BYTES + stateBytes), bodyAt = align(codeAt + codeWords * 4);
  if (bodyAt + bodyBytes !== bytes.length) return undefined;
  const sum = bytes.slice(CHECKSUM_AT, HEADER_BYTES);
  bytes.fill(0, CHECKSUM_AT, HEADER_BYTES);
  return sameBytes(byteChecksum(bytes), sum) ? { version, stateBytes, codeWords, codeAt, bodyAt } : undefined;
}

/** The version of an entry that is whole; undefined of one that is not. */
export function checkEntry(bytes: Uint8Array<ArrayBuffer>): number | undefined {
  const layout = layoutOf(bytes);
  if (layout?.version !== RECOMPILER_VERSION) return layout?.version;
  return decodeArtifact(bytes.subarray(layout.bodyAt))?.codeWords === layout.codeWords ? layout.version : undefined;
}

/** An entry that is whole, for whatever request. */
export interface EntryParts {
  /** Of the recompiler that wrote it. */
  readonly version: number;
  /** {@linkcode stateText} of its request. */
  readonly state: string;
  readonly code: Uint32Array;
  /** Undefined for another version of the recompiler. */
  readonly artifact: Artifact | undefined;
}

/** Takes an entry apart; undefined of bytes that are not as they were written. Clears the checksum in `bytes`. */
export function readEntry(bytes: Uint8Array<ArrayBuffer>): EntryParts | undefined {
  const layout = layoutOf(bytes);
  if (layout === undefined) return undefined;
  const { version, stateBytes, codeWords, codeAt, bodyAt } = layout;
  const state = new TextDecoder().decode(bytes.subarray(HEADER_BYTES, HEADER_BYTES + stateBytes));
  const code = new Uint32Array(bytes.slice(codeAt, codeAt + codeWords * 4).buffer);
  if (version !== RECOMPILER_VERSION) return { version, state, code, artifact: undefined };
  const artifact = decodeArtifact(bytes.subarray(bodyAt));
  return artifact?.codeWords === codeWords ? { version, state, code, artifact } : undefined;
}

/** Reads an entry for a request. @param code the request's, which may go on behind the entry's */
export function decodeEntry(bytes: Uint8Array<ArrayBuffer>, { state }: RequestKey, code: Uint32Array): EntryContent {
  const damaged = { kind: "damaged" } as const, other = { kind: "other" } as const;
  const layout = layoutOf(bytes);
  if (layout === undefined) return damaged;
  const { version, stateBytes, codeWords, codeAt, bodyAt } = layout;
  if (version !== RECOMPILER_VERSION || codeWords > code.length) return other;
  if (!sameBytes(bytes.subarray(HEADER_BYTES, HEADER_BYTES + stateBytes), state)) return other;
  if (!sameBytes(bytes.subarray(codeAt, codeAt + codeWords * 4), bytesOf(code.subarray(0, codeWords)))) return other;
  const artifact = decodeArtifact(bytes.subarray(bodyAt));
  return artifact?.codeWords === codeWords ? { kind: "artifact", artifact } : damaged;
}

/** An artifact of {@linkcode encodeData}; undefined when it is none. */
export function decodeArtifact(bytes: Uint8Array): Artifact | undefined {
  try {
    const artifact = decodeData(bytes) as Artifact;
    const { spirv, laneMode, workgroupSize, codeWords } = artifact;
    const good = spirv instanceof Uint32Array && spirv[0] === SPIRV_MAGIC && Object.hasOwn(LANE_MODES, laneMode) &&
      Array.isArray(workgroupSize) && workgroupSize.length === 3 && Number.isInteger(codeWords);
    return good ? artifact : undefined;
  } catch {
    return undefined; // no plain data
  }
}

/** Data as JSON with the fields of every object in order, those that are undefined left out, and bigints marked. */
function canonicalText(value: unknown): string {
  if (typeof value === "bigint") return `{"bigint":"${value.toString(16)}"}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (!Array.isArray(value)) return fieldsText(value);
  let text = "[";
  for (let i = 0; i < value.length; i++) text += (i === 0 ? "" : ",") + canonicalText(value[i]);
  return text + "]";
}

/** @param device one of the fields' values, which most requests of a process share */
function fieldsText(value: object, device?: RecompilerDevice): string {
  const fields = value as Record<string, unknown>;
  let text = "";
  for (const { name, before } of shapeOf(Object.keys(fields))) {
    const field = fields[name];
    if (field === undefined) continue;
    text += (text === "" ? "" : ",") + before;
    text += (field === device && device !== undefined ? deviceText(device) : canonicalText(field)) + "]";
  }
  return `[${text}]`;
}

/** A field's name, and how its text begins. */
interface Field {
  readonly name: string;
  readonly before: string;
}

/** Fields in order, by the names as an object has them. */
const shapes = new Map<string, readonly Field[]>();
const MAX_SHAPES = 256;

/** The names in order. There are few kinds of objects, and sorting takes longer than all else. */
function shapeOf(names: string[]): readonly Field[] {
  const key = names.join("\n");
  let shape = shapes.get(key);
  if (shape === undefined) {
    shape = names.sort().map((name) => ({ name, before: `[${JSON.stringify(name)},` }));
    if (shapes.size < MAX_SHAPES) shapes.set(key, shape);
  }
  return shape;
}

/** Texts of devices, with what they were written from. */
const deviceTexts = new WeakMap<RecompilerDevice, { readonly from: RecompilerDevice; readonly text: string }>();

/** {@linkcode canonicalText} of a device, which is a third of a request's text and seldom another one. */
function deviceText(device: RecompilerDevice): string {
  const known = deviceTexts.get(device);
  // It is plain data of somebody else's: were it changed since, its text would be another.
  if (known !== undefined && sameData(known.from, device)) return known.text;
  const text = canonicalText(device);
  deviceTexts.set(device, { from: structuredClone(device), text });
  return text;
}

/** Whether plain data has the same fields with the same values. */
function sameData(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  const left = a as Record<string, unknown>, right = b as Record<string, unknown>;
  let fields = 0;
  for (const name in left) {
    fields++;
    if (!sameData(left[name], right[name])) return false;
  }
  for (const _ in right) fields--;
  return fields === 0;
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function align(n: number): number {
  return Math.ceil(n / 8) * 8;
}
