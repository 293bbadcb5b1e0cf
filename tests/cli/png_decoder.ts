import { assertEquals } from "@std/assert";
import { crc32, inflateSync } from "node:zlib";

/** Reads back what the encoder may write: 8-bit RGBA, filter types 0 and 2. */
export function decodePng(file: Uint8Array): { width: number; height: number; rgba: Uint8Array } {
  assertEquals([...file.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const chunks = new Map<string, Uint8Array>();
  for (let at = 8; at < file.length;) {
    const length = view.getUint32(at), type = new TextDecoder().decode(file.subarray(at + 4, at + 8));
    assertEquals(view.getUint32(at + 8 + length), crc32(file.subarray(at + 4, at + 8 + length)), `CRC of ${type}`);
    chunks.set(type, file.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  assertEquals([...chunks.keys()], ["IHDR", "IDAT", "IEND"]);
  const header = chunks.get("IHDR")!, h = new DataView(header.buffer, header.byteOffset);
  const width = h.getUint32(0), height = h.getUint32(4);
  assertEquals([...header.subarray(8)], [8, 6, 0, 0, 0]);
  const lines = inflateSync(chunks.get("IDAT")!), rgba = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (width * 4 + 1)];
    for (let i = 0; i < width * 4; i++) {
      const above = filter === 2 && y > 0 ? rgba[(y - 1) * width * 4 + i] : 0;
      rgba[y * width * 4 + i] = lines[y * (width * 4 + 1) + 1 + i] + above;
    }
  }
  return { width, height, rgba };
}
