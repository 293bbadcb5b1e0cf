import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { ProgramMemory } from "../../guest/program.ts";
import type { RecordedBytes, VolatileRange } from "../../guest/recorded_results.ts";
import type { RunMemory } from "../device.ts";

/** Bytes of memory that are looked at together. */
const CHUNK_BYTES = 1 << 20;

/** A part of a window: what it should hold, and what it holds. */
export interface ChunkPair {
  window: ProgramMemory;
  /** Byte offset from the window's base. */
  offset: number;
  expected: Uint8Array;
  actual: Uint8Array;
}

/** The bytes of a window as the run left them, whatever its permissions; not copied. */
function windowBytes(memory: RunMemory, window: ProgramMemory): Uint8Array {
  if (!(memory instanceof GuestMemory)) throw new TypeError("the memory of a run is guest memory");
  return memory.view(window.base, window.bytes, 0);
}

/**
 * Goes through all windows in chunks: the initial contents with `changes` over them, beside the memory after a run. Volatile ranges hold the same on both
 * sides. The arrays are only valid until the next step.
 *
 * @param changes by rising address, each in one window
 */
export function* chunkPairs(
  windows: readonly ProgramMemory[],
  memory: RunMemory,
  changes: readonly RecordedBytes[],
  volatile: readonly VolatileRange[],
): Generator<ChunkPair> {
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (const window of windows) {
    const actualWindow = windowBytes(memory, window);
    const pieces = [
      ...window.contents.toSorted((a, b) => a.offset - b.offset),
      ...changes.filter(({ address }) => isInside(window, address))
        .map(({ address, data }) => ({ offset: Number(address - window.base), data })),
    ];
    const moving = volatile.filter(({ address }) => isInside(window, address))
      .map(({ address, bytes }) => ({ offset: Number(address - window.base), bytes }));
    for (let offset = 0; offset < window.bytes; offset += CHUNK_BYTES) {
      const length = Math.min(CHUNK_BYTES, window.bytes - offset), expected = buffer.subarray(0, length);
      const actual = actualWindow.subarray(offset, offset + length);
      expected.fill(0);
      for (const { offset: start, data } of pieces) {
        const from = Math.max(0, start - offset), to = Math.min(length, start + data.length - offset);
        if (from < to) expected.set(data.subarray(from + offset - start, to + offset - start), from);
      }
      for (const { offset: start, bytes } of moving) {
        const from = Math.max(0, start - offset), to = Math.min(length, start + bytes - offset);
        if (from < to) expected.set(actual.subarray(from, to), from);
      }
      yield { window, offset, expected, actual };
    }
  }
}

function isInside({ base, bytes }: ProgramMemory, address: bigint): boolean {
  return address >= base && address < base + BigInt(bytes);
}

/** Calls `found` with the offset of every byte that differs. Both arrays have a length that is a multiple of 4 and start on a word. */
export function eachDifference(a: Uint8Array, b: Uint8Array, found: (offset: number) => void): void {
  const x = new Uint32Array(a.buffer, a.byteOffset, a.length / 4),
    y = new Uint32Array(b.buffer, b.byteOffset, b.length / 4);
  for (let i = 0; i < x.length; i++) {
    if (x[i] === y[i]) continue;
    for (let at = 4 * i; at < 4 * i + 4; at++) if (a[at] !== b[at]) found(at);
  }
}
