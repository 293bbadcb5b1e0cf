/** From a Program to guest memory, and from guest memory to a verdict. */
import type { MemoryWindow } from "./memory/window.ts";
import type { GuestMemory } from "./memory/guest_memory.ts";
import type { Program, ProgramMemory } from "./program.ts";

/** Maps every window of a program and fills in the contents. When one window is refused, those before it are unmapped again. */
export function mapProgram(program: Program, memory: GuestMemory): MemoryWindow[] {
  const windows: MemoryWindow[] = [];
  try {
    for (const { name, base, bytes, permissions, contents } of program.memory) {
      const window = memory.map(base, bytes, permissions, name);
      windows.push(window);
      for (const { offset, data } of contents) memory.initialize(base + BigInt(offset), data);
    }
  } catch (error) {
    for (const window of windows) memory.unmap(window.base);
    throw error;
  }
  return windows;
}

/** A place where memory is not what the program expects. */
export interface Difference {
  /** First byte that differs. */
  address: bigint;
  /** The byte that should be there. */
  expected: number;
  /** The byte that is there. */
  actual: number;
  /** Bytes that differ in the whole range. */
  count: number;
  /** `expectation`: a result is wrong. `untouched`: something wrote where nothing may. */
  kind: "expectation" | "untouched";
  /** Reason of the expectation. */
  reason: string;
}

/** Compares memory with what the program expects after it has run; an empty list means that everything is right. */
export function compareResults(program: Program, memory: GuestMemory): Difference[] {
  const differences: Difference[] = [];
  const compare = (
    kind: Difference["kind"],
    address: bigint,
    bytes: number,
    reason: string,
    expectedAt: (index: number) => number,
  ) => {
    const actual = memory.read(address, bytes, 0);
    let first = -1, count = 0;
    for (let i = 0; i < bytes; i++) {
      if (actual[i] === expectedAt(i)) continue;
      if (first < 0) first = i;
      count++;
    }
    if (first >= 0) {
      differences.push({
        address: address + BigInt(first),
        expected: expectedAt(first),
        actual: actual[first],
        count,
        kind,
        reason,
      });
    }
  };
  for (const { address, data, bytes, reason } of program.expectations) {
    compare("expectation", address, bytes, reason, (index) => data[index % data.length]);
  }
  for (const { address, bytes, reason } of program.untouched) {
    const initial = initialBytes(program, address, bytes);
    compare("untouched", address, bytes, reason, (index) => initial[index]);
  }
  return differences;
}

/** The initial contents of a range, zero where the program says nothing. */
export function initialBytes(
  program: { readonly memory: readonly ProgramMemory[] },
  address: bigint,
  bytes: number,
): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(bytes);
  for (const { base, contents } of program.memory) {
    for (const { offset, data } of contents) {
      const at = Number(base + BigInt(offset) - address);
      const from = Math.max(0, at), to = Math.min(bytes, at + data.length);
      if (from < to) result.set(data.subarray(from - at, to - at), from);
    }
  }
  return result;
}
