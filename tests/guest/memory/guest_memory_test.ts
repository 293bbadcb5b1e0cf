import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { GuestFaultError, HostError } from "../../../src/errors.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { canonicalAddress, isCanonical } from "../../../src/guest/memory/address.ts";
import { type FaultReason, GuestMemoryError } from "../../../src/guest/memory/fault.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../../src/guest/memory/window.ts";

const LOW = 0x2_0000_0000n;
const HIGH = 0xFFFF_8000_0001_0000n;
const PAGE = 4096;

function memoryWith(...windows: [bigint, number, number?][]): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  for (const [base, bytes, permissions] of windows) memory.map(base, bytes, permissions);
  return memory;
}

function assertRefused(reason: FaultReason, address: bigint, bytes: number, action: () => unknown): void {
  const error = assertThrows(action, GuestMemoryError);
  assertEquals([error.reason, error.address, error.bytes], [reason, address, bytes]);
  assertEquals(error.code, `memory.${reason.toLowerCase()}`);
  assertEquals(error.place.guestAddress, address);
  assertInstanceOf(error, GuestFaultError);
}

Deno.test("an address is canonical when bits 63 to 48 repeat bit 47", () => {
  assertEquals(canonicalAddress(0x8000_0000_1000n), 0xFFFF_8000_0000_1000n);
  assertEquals(canonicalAddress(0x7FFF_FFFF_FFFFn), 0x7FFF_FFFF_FFFFn);
  assertEquals(canonicalAddress(0x1234_0002_0000_0000n), 0x2_0000_0000n);
  assert(isCanonical(0xFFFF_8000_0000_0000n));
  assert(!isCanonical(0x8000_0000_0000n));
  assert(!isCanonical(-4096n));
});

Deno.test("new windows are zero, separate, and sorted by base", () => {
  const memory = memoryWith([HIGH, PAGE], [LOW + 0x10000n, PAGE], [LOW, 2 * PAGE]);
  assertEquals(memory.windows.map((window) => window.base), [LOW, LOW + 0x10000n, HIGH]);
  memory.writeU32(LOW, 1);
  memory.writeU32(HIGH, 2);
  assertEquals([memory.readU32(LOW), memory.readU32(LOW + 0x10000n), memory.readU32(HIGH)], [1, 0, 2]);
});

Deno.test("mapping refuses every bad range and leaves the table as it was", () => {
  const memory = memoryWith([LOW, 2 * PAGE]);
  const refuse = (reason: FaultReason, base: bigint, bytes: number) =>
    assertRefused(reason, base, bytes, () => memory.map(base, bytes));
  refuse("Empty", HIGH, 0);
  refuse("Overlap", LOW, PAGE);
  refuse("Overlap", LOW + 4096n, PAGE);
  refuse("Overlap", LOW - 4096n, 2 * PAGE);
  refuse("Overlap", LOW - 4096n, 8 * PAGE);
  refuse("Unaligned", LOW + 0x10010n, PAGE);
  refuse("Unaligned", LOW + 0x10000n, PAGE + 4);
  refuse("Overflow", HIGH, -PAGE);
  refuse("Overflow", HIGH, 0.5);
  refuse("Overflow", -4096n, PAGE);
  refuse("Overflow", 0xFFFF_FFFF_FFFF_F000n, 2 * PAGE);
  refuse("Overflow", 0xFFFF_FFFF_FFFF_F000n, PAGE);
  refuse("NonCanonical", 0x8000_0000_0000n, PAGE);
  refuse("NonCanonical", 0x1_0000_0000_0000n, PAGE);
  refuse("NonCanonical", 0x7FFF_FFFF_F000n, 2 * PAGE);
  assertEquals(memory.windows.length, 1);
});

Deno.test("windows may touch, sit on the edges of the canonical halves, and start at address zero", () => {
  const memory = memoryWith([0n, PAGE], [4096n, PAGE], [0x7FFF_FFFF_F000n, PAGE], [0xFFFF_8000_0000_0000n, PAGE], [
    0xFFFF_FFFF_FFFF_E000n,
    PAGE,
  ]);
  memory.writeU32(0n, 11);
  memory.writeU32(0x7FFF_FFFF_FFFCn, 12);
  memory.writeU64(0xFFFF_8000_0000_0000n, 13n);
  memory.writeU64(0xFFFF_FFFF_FFFF_EFF8n, 14n);
  assertEquals(memory.readU32(0n), 11);
  assertEquals(memory.readU32(0x7FFF_FFFF_FFFCn), 12);
  assertEquals(memory.readU64(0xFFFF_8000_0000_0000n), 13n);
  assertEquals(memory.readU64(0xFFFF_FFFF_FFFF_EFF8n), 14n);
});

Deno.test("an access outside every window is refused as unmapped, whatever window was used before", () => {
  const memory = memoryWith([LOW, PAGE], [HIGH, PAGE]);
  for (const warm of [LOW, HIGH]) {
    for (
      const address of [0n, LOW - 4n, LOW + 4096n, HIGH - 4n, HIGH + 4096n, 0x8000_0001_0000n, 0xFFFF_FFFF_FFFF_FFFCn]
    ) {
      memory.readU32(warm);
      assertRefused("Unmapped", address, 4, () => memory.readU32(address));
    }
  }
});

Deno.test("a range that starts inside a window and leaves it is refused, to the byte", () => {
  const memory = memoryWith([LOW, PAGE]);
  assertEquals(memory.view(LOW + 4092n, 4).length, 4);
  assertRefused("Unmapped", LOW + 4092n, 5, () => memory.view(LOW + 4092n, 5));
  assertRefused("Unmapped", LOW, PAGE + 1, () => memory.view(LOW, PAGE + 1));
  assertRefused("Unmapped", LOW + 4092n, 8, () => memory.view(LOW + 4092n, 8, Permission.Write));
});

Deno.test("ranges that leave the 64-bit address space overflow", () => {
  const memory = memoryWith([0xFFFF_FFFF_FFFF_E000n, PAGE], [0n, PAGE]);
  assertRefused("Overflow", 0xFFFF_FFFF_FFFF_FFF0n, 32, () => memory.view(0xFFFF_FFFF_FFFF_FFF0n, 32));
  assertRefused("Overflow", 0xFFFF_FFFF_FFFF_FFF0n, 32, () => memory.read(0xFFFF_FFFF_FFFF_FFF0n, 32));
  assertRefused("Overflow", 1n << 64n, 4, () => memory.readU32(1n << 64n));
  assertRefused("Overflow", -4n, 4, () => memory.readU32(-4n));
  assertRefused("Overflow", 0n, -1, () => memory.view(0n, -1));
  assertRefused("Overflow", 0n, NaN, () => memory.view(0n, NaN));
  assertRefused("Overflow", 0n, 1.5, () => memory.view(0n, 1.5));
  assertRefused("Overflow", 0n, Infinity, () => memory.fill(0n, Infinity, 0));
});

Deno.test("permissions are checked for every kind of access and can be changed", () => {
  const memory = memoryWith([LOW, PAGE, Permission.Read], [HIGH, PAGE, Permission.Write]);
  assertEquals(memory.readU32(LOW), 0);
  assertRefused("Permission", LOW, 4, () => memory.writeU32(LOW, 1));
  assertRefused("Permission", LOW, 8, () => memory.writeU64(LOW, 1n));
  assertRefused("Permission", LOW, 3, () => memory.write(LOW, new Uint8Array(3)));
  assertRefused("Permission", LOW, 3, () => memory.fill(LOW, 3, 0));
  assertRefused("Permission", LOW, 8, () => memory.fillU32(LOW, 2, 0));
  assertRefused("Permission", LOW, 16, () => memory.view(LOW, 16, Permission.Execute));
  assertRefused("Permission", HIGH, 4, () => memory.readU32(HIGH));
  assertRefused("Permission", HIGH, 2, () => memory.read(HIGH, 2));
  assertRefused("Permission", HIGH, 4, () => memory.copy(HIGH, HIGH, 4));
  assertRefused("Permission", LOW, 4, () => memory.copy(LOW, LOW, 4));
  memory.initialize(LOW, Uint8Array.of(7, 0, 0, 0));
  assertEquals(memory.readU32(LOW), 7);
  const before = memory.generation;
  memory.protect(LOW, Permission.ReadWrite);
  assert(memory.generation > before);
  memory.writeU32(LOW, 9);
  assertEquals(memory.readU32(LOW), 9);
  assertRefused("Unmapped", LOW + 0x1000n, 0, () => memory.protect(LOW + 0x1000n, Permission.Read));
  assertStringIncludes(assertThrows(() => memory.readU32(HIGH), GuestMemoryError).message, "-w-");
});

Deno.test("words must be aligned to their size", () => {
  const memory = memoryWith([LOW, PAGE]);
  for (const by of [1n, 2n, 3n]) {
    assertRefused("Unaligned", LOW + by, 4, () => memory.readU32(LOW + by));
    assertRefused("Unaligned", LOW + by, 4, () => memory.writeU32(LOW + by, 0));
    assertRefused("Unaligned", LOW + by, 8, () => memory.viewWords(LOW + by, 2));
    assertRefused("Unaligned", LOW + by, 8, () => memory.fillU32(LOW + by, 2, 0));
    assertRefused("Unaligned", LOW + by, 4, () => memory.loadU32(Number(by), 2));
    assertRefused("Unaligned", LOW + by, 4, () => memory.storeU32(Number(by), 2, 0));
  }
  assertRefused("Unaligned", LOW + 4n, 8, () => memory.readU64(LOW + 4n));
  assertRefused("Unaligned", LOW + 4n, 8, () => memory.writeU64(LOW + 4n, 0n));
  assertEquals(memory.view(LOW + 3n, 5).length, 5);
});

Deno.test("memory is little-endian at every width", () => {
  const memory = memoryWith([HIGH, PAGE]);
  memory.writeU64(HIGH, 0x1122_3344_5566_7788n);
  assertEquals([...memory.view(HIGH, 8)], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
  assertEquals([memory.readU32(HIGH), memory.readU32(HIGH + 4n)], [0x5566_7788, 0x1122_3344]);
  assertEquals([...memory.viewWords(HIGH, 2)], [0x5566_7788, 0x1122_3344]);
  memory.writeU64(HIGH, -1n);
  assertEquals(memory.readU64(HIGH), 0xFFFF_FFFF_FFFF_FFFFn);
});

Deno.test("a view shows memory itself, and is refused across adjoining windows that copies may cross", () => {
  const memory = memoryWith([LOW, PAGE], [LOW + 4096n, PAGE]);
  memory.view(LOW, 4, Permission.Write)[1] = 5;
  assertEquals(memory.readU32(LOW), 0x500);
  assertRefused("Split", LOW + 4094n, 4, () => memory.view(LOW + 4094n, 4));
  memory.write(LOW + 4094n, Uint8Array.of(1, 2, 3, 4));
  assertEquals([...memory.read(LOW + 4093n, 6)], [0, 1, 2, 3, 4, 0]);
  assertEquals(memory.readU32(LOW + 4096n), 0x0403);
  memory.fill(LOW + 4090n, 12, 0xEE);
  assertEquals([...memory.read(LOW + 4089n, 14)], [0, ...Array(12).fill(0xEE), 0]);
  memory.fillU32(LOW + 4092n, 2, 0x01020304);
  assertEquals([memory.readU32(LOW + 4092n), memory.readU32(LOW + 4096n)], [0x01020304, 0x01020304]);
  assertEquals([...memory.readWords(LOW + 4088n, 3)], [0xEEEE0000, 0x01020304, 0x01020304]);
  assertRefused("Unaligned", LOW + 2n, 8, () => memory.readWords(LOW + 2n, 2));
});

Deno.test("a write that leaves memory half-way writes nothing", () => {
  const memory = memoryWith([LOW, PAGE], [LOW + 4096n, PAGE, Permission.Read]);
  assertRefused("Permission", LOW + 4094n, 4, () => memory.write(LOW + 4094n, Uint8Array.of(1, 2, 3, 4)));
  const single = memoryWith([LOW, PAGE]);
  assertRefused("Unmapped", LOW + 4094n, 4, () => single.write(LOW + 4094n, Uint8Array.of(1, 2, 3, 4)));
  assertEquals([...single.read(LOW + 4094n, 2)], [0, 0]);
  assertEquals([...memory.read(LOW + 4094n, 4)], [0, 0, 0, 0]);
});

Deno.test("copy behaves as if through a buffer, also when ranges overlap across windows", () => {
  const memory = memoryWith([LOW, PAGE], [LOW + 4096n, PAGE]);
  const pattern = Uint8Array.from({ length: 64 }, (_, index) => index + 1);
  memory.write(LOW + 4064n, pattern);
  memory.copy(LOW + 4068n, LOW + 4064n, 64);
  assertEquals([...memory.read(LOW + 4064n, 68)], [1, 2, 3, 4, ...pattern]);
  memory.copy(LOW + 4064n, LOW + 4068n, 64);
  assertEquals([...memory.read(LOW + 4064n, 64)], [...pattern]);
  assertRefused("Unmapped", LOW + 8190n, 4, () => memory.copy(LOW, LOW + 8190n, 4));
});

Deno.test("an empty range is fine inside a window and refused elsewhere", () => {
  const memory = memoryWith([LOW, PAGE]);
  memory.readU32(LOW);
  assertEquals(memory.view(LOW + 4095n, 0).length, 0);
  assertRefused("Unmapped", LOW + 4096n, 0, () => memory.view(LOW + 4096n, 0));
  assertRefused("Unmapped", LOW + 4096n, 0, () => memory.read(LOW + 4096n, 0));
});

Deno.test("access by address halves agrees with access by address, for every window and at every edge", () => {
  const bases = [0x1_FFFF_F000n, 0x2_0001_0000n, HIGH, 0xFFFF_FFFF_FFFF_E000n];
  const memory = memoryWith([bases[0], 2 * PAGE], [bases[1], PAGE, Permission.Read], [bases[2], PAGE], [
    bases[3],
    PAGE,
  ]);
  for (const window of memory.windows) {
    memory.initialize(
      window.base,
      Uint8Array.from({ length: window.byteLength }, (_, i) => i * 7 + 1),
    );
  }
  for (const base of bases) {
    for (const by of [-8n, -4n, 0n, 4n, 4092n, 4096n, 8188n, 8192n]) {
      const address = base + by;
      if (address >= 1n << 64n) continue;
      for (const warm of bases) {
        const lo = Number(address & 0xFFFF_FFFFn), hi = Number(address >> 32n);
        const attempt = (read: () => number): number | FaultReason => {
          memory.readU32(warm);
          try {
            return read();
          } catch (error) {
            assertInstanceOf(error, GuestMemoryError);
            return error.reason;
          }
        };
        assertEquals(attempt(() => memory.loadU32(lo | 0, hi | 0)), attempt(() => memory.readU32(address)));
      }
    }
  }
  memory.storeU32(0, 2, 0xCAFEBABE);
  assertEquals(memory.readU32(0x2_0000_0000n), 0xCAFEBABE);
  assertRefused("Permission", bases[1], 4, () => memory.storeU32(0x10000, 2, 1));
  const offset = memory.locate(0xFFFFEFFC, 0xFFFFFFFF, 4, Permission.Read);
  assertEquals([offset, memory.located.base], [4092, bases[3]]);
});

Deno.test("after unmap the addresses are free again and stale views are empty", () => {
  const memory = memoryWith([LOW, PAGE], [HIGH, PAGE]);
  const view = memory.view(LOW, 16);
  const before = memory.generation;
  memory.unmap(LOW);
  assert(memory.generation > before);
  assertEquals(view.length, 0);
  assertRefused("Unmapped", LOW, 4, () => memory.readU32(LOW));
  assertRefused("Unmapped", LOW, 0, () => memory.unmap(LOW));
  memory.map(LOW, 2 * PAGE);
  assertEquals(memory.readU32(LOW), 0);
  memory.clear();
  assertEquals(memory.windows.length, 0);
  assertRefused("Unmapped", HIGH, 4, () => memory.readU32(HIGH));
});

Deno.test("the window table gives base, end, wrapped delta and permissions, and insists on device addresses", () => {
  const memory = memoryWith([LOW, PAGE, Permission.Read], [HIGH, 2 * PAGE]);
  memory.windows[0].deviceAddress = 0x10_0000n;
  const error = assertThrows(() => memory.windowTable(), HostError);
  assertStringIncludes(error.message, "0xffff800000010000");
  memory.windows[1].deviceAddress = 0x7FFF_0000_0000n;
  assertEquals(memory.windowTable(), [
    { base: LOW, end: LOW + 4096n, delta: 0x10_0000n - LOW + (1n << 64n), permissions: Permission.Read },
    { base: HIGH, end: HIGH + 8192n, delta: BigInt.asUintN(64, 0x7FFF_0000_0000n - HIGH), permissions: Permission.All },
  ]);
  for (const row of memory.windowTable()) assert(row.delta >= 0n && row.delta < 1n << 64n);
});

Deno.test("array buffers cannot be attached by another isolate, and say so", () => {
  const memory = memoryWith([LOW, PAGE]);
  const other = new GuestMemory(new ArrayAllocator());
  assertThrows(() => other.attach(memory.describe()[0]), HostError, "another isolate cannot attach");
});
