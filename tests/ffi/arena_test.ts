import { assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../ffi/arena.ts";
import { viewMemory } from "../../ffi/libc.ts";
import { AnyAgcError } from "../../src/errors.ts";

Deno.test("an arena's addresses are where its bytes are", () => {
  const arena = new Arena(4096);
  const offset = arena.allocate(8);
  arena.setU64(offset, 0x1122_3344_5566_7788n);
  const native = new DataView(viewMemory(arena.address(offset), 8));
  assertEquals(native.getBigUint64(0, true), 0x1122_3344_5566_7788n);
  assertEquals(arena.offset(arena.address(offset)), offset);
});

Deno.test("allocation aligns, zeroes, and is undone at the end of a scope, also after an exception", () => {
  const arena = new Arena(4096);
  arena.allocate(1, 1);
  assertEquals(arena.allocate(16, 16), 16);
  const used = arena.used;
  arena.scope(() => arena.setU32(arena.allocate(4, 4), 0xffff_ffff));
  assertEquals(arena.used, used);
  assertEquals(arena.getU32(arena.allocate(4, 4)), 0);
  const before = arena.used;
  assertThrows(() =>
    arena.scope(() => {
      arena.allocate(8);
      throw new Error("stop");
    })
  );
  assertEquals(arena.used, before);
});

Deno.test("an arena that is full says how big it is and what was asked for", () => {
  const arena = new Arena(4096);
  arena.allocate(4090, 1);
  const error = assertThrows(() => arena.allocate(8), AnyAgcError, "0x1000 bytes cannot hold 0x8");
  assertEquals((error as AnyAgcError).code, "arena.full");
});

Deno.test("strings and arrays have the layout that C expects", () => {
  const arena = new Arena(4096);
  const pointers = new DataView(viewMemory(arena.strings(["VK_a", "é"]), 16));
  const read = (i: number) =>
    new Deno.UnsafePointerView(Deno.UnsafePointer.create(pointers.getBigUint64(i * 8, true))!).getCString();
  assertEquals([read(0), read(1)], ["VK_a", "é"]);
  const words = new Uint32Array(viewMemory(arena.u32s([1, 0xffff_ffff]), 8));
  assertEquals([...words], [1, 0xffff_ffff]);
  assertEquals(arena.u32s([]), 0n);
  assertEquals(arena.strings([]), 0n);
  assertThrows(() => arena.string("a\0b"), AnyAgcError, "zero byte");
});
