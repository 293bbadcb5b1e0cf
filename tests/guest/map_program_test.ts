import { assertEquals, assertThrows } from "@std/assert";
import { compareResults, initialBytes, mapProgram } from "../../src/guest/map_program.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemoryError } from "../../src/guest/memory/fault.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import type { LoadedProgram } from "../../src/guest/program.ts";

const BASE = 0x2_0000_0000n;
const HIGH = 0xFFFF_8000_0000_0000n;

function program(): LoadedProgram {
  return {
    name: "p",
    target: "gfx1013",
    memory: [
      {
        name: "rom",
        base: BASE,
        bytes: 4096,
        permissions: Permission.Read,
        contents: [{ offset: 16, data: Uint8Array.of(1, 2, 3, 4) }],
      },
      { name: "ram", base: HIGH, bytes: 4096, permissions: Permission.ReadWrite, contents: [] },
    ],
    submissions: [],
    expectations: [{ address: HIGH + 8n, data: Uint8Array.of(5, 6), bytes: 6, reason: "pattern" }],
    untouched: [{ address: BASE + 14n, bytes: 4, reason: "constant" }],
    shaders: [],
    notes: [],
  };
}

Deno.test("mapping fills read-only windows too, and results are compared byte by byte", () => {
  const memory = new GuestMemory(new ArrayAllocator());
  mapProgram(program(), memory);
  assertEquals([...memory.read(BASE + 14n, 8)], [0, 0, 1, 2, 3, 4, 0, 0]);
  assertThrows(() => memory.writeU32(BASE, 1), GuestMemoryError);
  assertEquals(compareResults(program(), memory), [
    { address: HIGH + 8n, expected: 5, actual: 0, count: 6, kind: "expectation", reason: "pattern" },
  ]);
  memory.write(HIGH + 8n, Uint8Array.of(5, 6, 5, 6, 5, 6));
  assertEquals(compareResults(program(), memory), []);
  memory.write(HIGH + 10n, Uint8Array.of(9));
  memory.initialize(BASE + 17n, Uint8Array.of(77));
  assertEquals(compareResults(program(), memory), [
    { address: HIGH + 10n, expected: 5, actual: 9, count: 1, kind: "expectation", reason: "pattern" },
    { address: BASE + 17n, expected: 2, actual: 77, count: 1, kind: "untouched", reason: "constant" },
  ]);
});

Deno.test("when a window is refused, none of the program's windows stays", () => {
  const memory = new GuestMemory(new ArrayAllocator());
  memory.map(HIGH, 4096);
  assertThrows(() => mapProgram(program(), memory), GuestMemoryError, "overlaps window");
  assertEquals(memory.windows.map((window) => window.base), [HIGH]);
});

Deno.test("initial bytes are contents where there are some and zero elsewhere", () => {
  assertEquals([...initialBytes(program(), BASE + 18n, 4)], [3, 4, 0, 0]);
  assertEquals([...initialBytes(program(), BASE + 12n, 6)], [0, 0, 0, 0, 1, 2]);
  assertEquals([...initialBytes(program(), HIGH, 2)], [0, 0]);
});
