import type { GuestMemory } from "./memory/guest_memory.ts";
import type { Frame } from "./program.ts";

/** A picture as the host wants it: rows from the top, 4 bytes per pixel R, G, B, A. */
export interface Picture {
  /** Pixels. */
  width: number;
  /** Pixels. */
  height: number;
  /** The bytes, `width * height * 4` of them. */
  rgba: Uint8Array;
}

/** Edge of a block of the console's tiled 4-byte colour targets, in pixels, and its bytes. */
const BLOCK = 128;
const BLOCK_BYTES = 0x10000;

/** Reads a picture out of guest memory. @throws GuestMemoryError if it is not mapped. */
export function readFrame(memory: GuestMemory, frame: Frame): Picture {
  const { width, height, pitchBytes } = frame;
  const tiled = frame.tiling === "64KB_R_X";
  const blocksPerRow = Math.ceil(pitchBytes / 4 / BLOCK);
  const bytes = tiled
    ? blocksPerRow * Math.ceil(height / BLOCK) * BLOCK_BYTES
    : height === 0
    ? 0
    : (height - 1) * pitchBytes + width * 4;
  const source = memory.read(frame.address, bytes, 0);
  const rgba = new Uint8Array(width * height * 4);
  const [red, blue] = frame.format === "rgba8" ? [0, 2] : [2, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = tiled ? tiledOffset(x, y, blocksPerRow) : y * pitchBytes + x * 4;
      const to = (y * width + x) * 4;
      rgba[to] = source[from + red];
      rgba[to + 1] = source[from + 1];
      rgba[to + 2] = source[from + blue];
      rgba[to + 3] = source[from + 3];
    }
  }
  return { width, height, rgba };
}

/**
 * Byte offset of a pixel in a 64KB_R_X surface of 4-byte pixels: 128 x 128 pixels per block, blocks in rows, a fixed XOR pattern inside
 * (measured on the console: PS5_Vulkan, docs/HARDWARE_FINDINGS.md).
 */
function tiledOffset(x: number, y: number, blocksPerRow: number): number {
  const block = Math.floor(y / BLOCK) * blocksPerRow + Math.floor(x / BLOCK);
  const u = x & (BLOCK - 1);
  const v = y & (BLOCK - 1);
  const local = (v << 4 & 0x70) ^ (v << 5 & 0xf00) ^ (v << 9 & 0x1000) ^ (v << 8 & 0x4000) ^
    (u << 2 & 0xc) ^ (u << 5 & 0x380) ^ (u << 4 & 0x400) ^ (u << 6 & 0x800) ^ (u << 9 & 0xa000);
  return block * BLOCK_BYTES + local;
}
