/**
 * Writes a picture as PNG (W3C "Portable Network Graphics (PNG) Specification", third edition): 8-bit RGBA, one IDAT chunk.
 *
 * @module
 */
import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const COLOUR_TYPE_RGBA = 6;
/** Scanline filter "Up": the difference to the byte above. Gradients compress much better with it. */
const FILTER_UP = 2;

/**
 * Encodes `rgba`, `width` x `height` pixels of 4 bytes R, G, B, A, as a PNG file.
 *
 * @param pitch bytes from one row to the next; the default is `width * 4`
 */
export function encodePng(rgba: Uint8Array, width: number, height: number, pitch = width * 4): Uint8Array {
  if (!(width > 0 && height > 0) || pitch < width * 4 || rgba.length < (height - 1) * pitch + width * 4) {
    throw new RangeError(
      `a picture of ${width} x ${height} with rows ${pitch} bytes apart does not fit ${rgba.length} bytes`,
    );
  }
  const rowBytes = width * 4;
  const lines = new Uint8Array(height * (rowBytes + 1));
  for (let y = 0; y < height; y++) {
    const out = y * (rowBytes + 1), row = y * pitch, above = row - pitch;
    lines[out] = FILTER_UP;
    for (let i = 0; i < rowBytes; i++) lines[out + 1 + i] = rgba[row + i] - (y > 0 ? rgba[above + i] : 0);
  }
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits a channel
  header.setUint8(9, COLOUR_TYPE_RGBA);
  const chunks = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", deflateSync(lines, { level: 6 })),
    chunk("IEND", new Uint8Array(0)),
  ];
  const file = new Uint8Array(chunks.reduce((sum, c) => sum + c.length, 0));
  let at = 0;
  for (const part of chunks) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

/** Length, type, data, CRC of type and data. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 12), view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}
