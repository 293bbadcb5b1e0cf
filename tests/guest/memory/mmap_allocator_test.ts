import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { GuestMemoryError } from "../../../src/guest/memory/fault.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { Permission } from "../../../src/guest/memory/window.ts";

const HIGH = 0xFFFF_8000_0001_0000n;

Deno.test("mapped windows are page-aligned host memory behind any guest address", () => {
  const memory = new GuestMemory(new MmapAllocator());
  const window = memory.map(HIGH, 3 * 4096);
  assertNotEquals(window.hostPointer, 0n);
  assertEquals(window.hostPointer % 4096n, 0n);
  assertEquals(memory.readU64(HIGH + 12280n), 0n);
  memory.writeU64(HIGH + 12280n, 0x0123_4567_89AB_CDEFn);
  const native = new Deno.UnsafePointerView(Deno.UnsafePointer.create(window.hostPointer + 12280n)!);
  assertEquals(native.getBigUint64(), 0x0123_4567_89AB_CDEFn);
  memory.clear();
});

Deno.test("unmapping empties stale views before the pages go, so touching one is harmless", () => {
  const memory = new GuestMemory(new MmapAllocator());
  const window = memory.map(0x2_0000_0000n, 4096);
  const view = memory.view(0x2_0000_0000n, 64, Permission.Write);
  memory.unmap(0x2_0000_0000n);
  view[0] = 1;
  assertEquals([view.length, window.words.length, window.bytes.length], [0, 0, 0]);
  assertThrows(() => memory.readU32(0x2_0000_0000n), GuestMemoryError);
});

Deno.test("another isolate attaches the same memory, and letting go of it there does not free it here", async () => {
  const memory = new GuestMemory(new MmapAllocator());
  memory.map(0x2_0000_0000n, 4096, Permission.Read, "first");
  memory.map(HIGH, 8192, Permission.ReadWrite, "second");
  memory.writeU32(HIGH + 4096n, 41);
  memory.windows[1].deviceAddress = 77n;
  const worker = new Worker(new URL("./attach_worker.ts", import.meta.url), { type: "module" });
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = (event) => resolve(event.data);
    worker.onerror = (event) => reject(event.message);
  });
  worker.postMessage(memory.describe());
  assertEquals(await answer, {
    windows: ["first r--", "second rw-"],
    read: 41,
    refused: "Permission",
    deviceAddress: 77n,
  });
  worker.terminate();
  assertEquals(memory.readU32(HIGH + 4096n), 42);
  memory.clear();
});
