import { isCanonical } from "../memory/address.ts";
import type { JsonNode } from "./json_node.ts";

/** Words in a chunk; the only size that captures use. */
const CHUNK_WORDS = 64;
const CHUNK_BYTES = 4 * CHUNK_WORDS;
/** Largest region of a capture, and largest one with contents, in bytes. */
const MAX_REGION_BYTES = 0x1_0000_0000;
const MAX_IMAGE_BYTES = 256 << 20;

/** A range of guest memory that a capture names. */
export interface CapturedRange {
  address: bigint;
  bytes: number;
}

/** Reads `address` and `bytes` of a region. */
export function readRange(node: JsonNode): CapturedRange {
  return { address: readAddress(node.get("address")), bytes: node.get("bytes").integer(1, MAX_REGION_BYTES) };
}

/** Reads a guest address: canonical, 64 bits. */
function readAddress(node: JsonNode): bigint {
  const address = node.unsigned((1n << 64n) - 1n);
  return isCanonical(address) ? address : node.fail("not a guest address: bits 63 to 48 must repeat bit 47");
}

/**
 * Reads a captured memory image: sparse chunks of 64 words, keyed by byte offset, each a text of 512 hexadecimal digits; what is left out is zero.
 * The recorded FNV-1a hash of the whole image must agree.
 */
export function readImage(node: JsonNode, bytes: number): Uint8Array<ArrayBuffer> {
  const chunkWords = node.get("chunk_words");
  if (chunkWords.integer(0, 0xFFFF) !== CHUNK_WORDS) chunkWords.fail(`chunks of ${CHUNK_WORDS} words are expected`);
  if (bytes > MAX_IMAGE_BYTES || bytes % 4 !== 0) {
    node.fail(`an image of ${bytes} bytes; up to ${MAX_IMAGE_BYTES} bytes of whole words are read`);
  }
  const image = new Uint8Array(bytes), view = new DataView(image.buffer);
  for (const [key, chunk] of node.get("chunks").members()) {
    const offset = /^0x[0-9a-fA-F]{1,8}$/.test(key) ? Number(key) : chunk.fail("its key must be an offset like 0x0100");
    if (offset % CHUNK_BYTES !== 0) chunk.fail(`offset ${key} is no multiple of ${CHUNK_BYTES}`);
    if (offset + CHUNK_BYTES > bytes) chunk.fail(`offset ${key} is outside the image of ${bytes} bytes`);
    const text = chunk.text();
    if (!/^[0-9a-fA-F]*$/.test(text) || text.length !== 8 * CHUNK_WORDS) {
      chunk.fail(`${8 * CHUNK_WORDS} hexadecimal digits are expected`);
    }
    for (let i = 0; i < CHUNK_WORDS; i++) {
      view.setUint32(offset + 4 * i, parseInt(text.slice(8 * i, 8 * i + 8), 16), true);
    }
  }
  const recorded = node.get("fnv1a64"), hash = fnv1a64(image);
  if (recorded.unsigned((1n << 64n) - 1n) !== hash) {
    recorded.fail(`the image's FNV-1a hash is 0x${hash.toString(16).padStart(16, "0")}, not the recorded one`);
  }
  return image;
}

/** The parts of an image that hold something, as pieces of whole chunks. */
export function nonZeroPieces(image: Uint8Array): { offset: number; data: Uint8Array }[] {
  const pieces: { offset: number; data: Uint8Array }[] = [];
  for (let offset = 0; offset < image.length; offset += CHUNK_BYTES) {
    const data = image.subarray(offset, offset + CHUNK_BYTES);
    if (data.some((byte) => byte !== 0)) pieces.push({ offset, data });
  }
  return pieces;
}

/** FNV-1a, 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv). */
export function fnv1a64(bytes: Uint8Array): bigint {
  // The prime is 2^40 + 0x1b3: multiplied in 32-bit halves, every product stays below 2^53.
  let lo = 0x84222325, hi = 0xCBF29CE4;
  for (let i = 0; i < bytes.length; i++) {
    lo = (lo ^ bytes[i]) >>> 0;
    const low = lo * 0x1B3;
    hi = (hi * 0x1B3 + Math.floor(low / 0x1_0000_0000) + lo * 0x100) % 0x1_0000_0000;
    lo = low % 0x1_0000_0000;
  }
  return BigInt(hi) << 32n | BigInt(lo);
}
