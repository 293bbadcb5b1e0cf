import { assert, assertEquals, assertThrows } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Death, Members } from "./support/members.ts";

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + seed) & 0xff);
}

Deno.test("a blob is read in another isolate as it was written, in place and as a copy", () => {
  const { isolates: [a, b] } = new Members(2);
  const arena = Arena.create(a, { bytes: 1 << 20, blobs: 32 });
  const other = Arena.attach(b, arena.handle);
  const words = Uint32Array.of(0x07230203, 0x10300, 5);
  const reference = arena.append(words);
  const place = other.pin(reference)!;
  const view = other.view(reference);
  assertEquals([...new Uint32Array(view.buffer, view.byteOffset, 3)], [...words]);
  other.unpin(place);
  assertEquals(other.read(reference), new Uint8Array(words.buffer));
  assertEquals(arena.read(arena.append(new Uint8Array(0))).length, 0);
});

Deno.test("a pinned blob keeps its memory after it is retired, and gives it up with the last pin", () => {
  const { isolates: [a, b] } = new Members(2);
  const arena = Arena.create(a, { bytes: 1 << 16, blobs: 32 });
  const other = Arena.attach(b, arena.handle);
  const content = bytes(200, 1);
  const reference = arena.append(content);
  const pins = [other.pin(reference)!, arena.pin(reference)!];
  assert(arena.retire(reference));
  assert(!arena.retire(reference), "once");
  assertEquals(other.pin(reference), undefined, "nobody new");
  for (let i = 0; i < 20; i++) arena.append(bytes(200, 100 + i));
  assertEquals(new Uint8Array(other.view(reference)), content);
  other.unpin(pins[0]);
  assertEquals(new Uint8Array(arena.view(reference)), content);
  const before = arena.stats();
  arena.unpin(pins[1]);
  assertEquals(arena.stats().blobs, before.blobs - 1);
  assertThrows(() => arena.view(reference), SyncError, "one that is gone");
  const again = arena.append(bytes(200, 2));
  assert(again !== reference, "the same memory under another reference");
  assertEquals(arena.stats().touched, before.touched);
  assertThrows(() => arena.read(reference), SyncError, "one that is gone");
});

Deno.test("blobs of a dead isolate that nobody refers to are retired, shared ones stay, its pins end", () => {
  const members = new Members(2);
  const [a, b] = members.isolates;
  const arena = Arena.create(a, { bytes: 1 << 16, blobs: 32 });
  const other = Arena.attach(b, arena.handle);
  const mine = arena.append(bytes(10, 1));
  const shared = other.append(bytes(20, 2));
  other.share(shared);
  const lost = other.append(bytes(30, 3));
  other.pin(mine);
  arena.retire(mine);
  assertEquals(arena.stats().blobs, 3);
  members.kill(b);
  assertEquals(members.registry.sweep().map((d) => d.released), [{ arena: 2 }]);
  assertEquals([arena.stats().blobs, arena.stats().pins, arena.stats().owned], [1, 0, 0]);
  assertEquals(arena.read(shared), bytes(20, 2));
  assertThrows(() => arena.read(lost), SyncError, "one that is gone");
});

Deno.test("the arena says when it is full, of memory or of blobs", () => {
  const { isolates: [a] } = new Members(1);
  const small = Arena.create(a, { bytes: 1024, blobs: 64 });
  small.append(bytes(900, 0));
  assertThrows(() => small.append(bytes(200, 0)), SyncError, "no room for a blob of 200 bytes: 1024 of 1024 bytes");
  const few = Arena.create(a, { bytes: 1 << 16, blobs: 2 });
  const first = few.append(bytes(1, 0));
  few.append(bytes(1, 0));
  assertThrows(() => few.append(bytes(1, 0)), SyncError, "2 of 2 blobs used");
  few.retire(first);
  few.append(bytes(1, 0));
});

for (
  const point of [
    "mutex.locked",
    "arena.grown",
    "arena.unlisted",
    "arena.allocated",
    "arena.written",
    "arena.retired",
    "arena.freed",
  ]
) {
  Deno.test(`an isolate that dies at ${point} leaves the arena whole`, () => {
    const members = new Members(2);
    const [a, b] = members.isolates;
    const arena = Arena.create(a, { bytes: 1 << 16, blobs: 32 });
    const other = Arena.attach(b, arena.handle);
    const kept = arena.append(bytes(100, 7));
    other.retire(other.append(bytes(100, 1)));
    setStepHook((at) => {
      if (at === point) throw new Death();
    });
    // A new size takes new memory; a known size comes from a free list.
    assertThrows(() => {
      if (point === "arena.grown") other.append(bytes(5000, 2));
      const reference = other.append(bytes(100, 3));
      other.retire(reference);
    }, Death);
    setStepHook(undefined);
    members.kill(b);
    members.registry.sweep();
    assertEquals([arena.check(), arena.stats().blobs, arena.stats().owned], [undefined, 1, 1]);
    assertEquals(arena.read(kept), bytes(100, 7));
    const later = arena.append(bytes(100, 9));
    assertEquals([arena.read(later), arena.check()], [bytes(100, 9), undefined]);
  });
}
