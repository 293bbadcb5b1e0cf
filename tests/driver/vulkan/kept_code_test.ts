import { assert, assertEquals } from "@std/assert";
import { addressOf, equalBytes } from "../../../ffi/libc.ts";
import { hostAddress, KeptCode } from "../../../src/driver/vulkan/kept_code.ts";
import { ArrayAllocator, type HostAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";

const BASE = 0x2_0000_0000n, BYTES = 8192;

/** Memory with and without host addresses, filled with words that are all different. */
function bothKinds(test: (memory: GuestMemory, kind: string) => void) {
  const allocators: Record<string, HostAllocator> = { mapped: new MmapAllocator(), array: new ArrayAllocator() };
  for (const [kind, allocator] of Object.entries(allocators)) {
    const memory = new GuestMemory(allocator);
    memory.map(BASE, BYTES);
    const { words } = memory.find(BASE)!;
    for (let k = 0; k < words.length; k++) words[k] = Math.imul(k + 1, 0x9e3779b1);
    try {
      test(memory, kind);
    } finally {
      memory.clear();
    }
  }
}

Deno.test("kept code is there until one of its words is another, wherever, and not a word more", () => {
  let compared = 0;
  bothKinds((memory, kind) => {
    const window = memory.find(BASE)!, { words } = window;
    assertEquals(hostAddress(window, 3), kind === "array" ? 0n : window.hostPointer + 12n);
    for (const length of [1, 2, 3, 4, 5, 40, 1023]) {
      for (const at of [0, 1, 64, words.length - length]) {
        const code = new KeptCode(words.subarray(at, at + length)), host = hostAddress(window, at);
        assert(code.isAt(window, at, host), `${kind}: ${length} words at ${at}`);
        for (const k of new Set([0, length >> 1, length - 1])) {
          for (const bit of [1, 1 << 31]) {
            words[at + k] ^= bit;
            assert(!code.isAt(window, at, host), `${kind}: word ${k} of ${length} at ${at}`);
            words[at + k] ^= bit;
            compared++;
          }
        }
        // Its neighbours are not its own.
        for (const k of [at - 1, at + length]) if (k >= 0 && k < words.length) words[k] ^= 0xffff;
        assert(code.isAt(window, at, host), `${kind}: neighbours of ${length} words at ${at}`);
        for (const k of [at - 1, at + length]) if (k >= 0 && k < words.length) words[k] ^= 0xffff;
      }
    }
  });
  assertEquals(compared, 2 * 4 * 2 * (1 + 2 + 5 * 3));
});

Deno.test("kept code is a copy, and not where the window ends before it does", () => {
  bothKinds((memory, kind) => {
    const window = memory.find(BASE)!, { words } = window, last = words.length - 4;
    const source = words.slice(last), code = new KeptCode(source);
    source.fill(0);
    assertEquals([...code.words], [...words.subarray(last)]);
    assert(code.isAt(window, last, hostAddress(window, last)), kind);
    assert(!code.isAt(window, last + 1, hostAddress(window, last + 1)), kind);
    assert(!code.isAt(window, words.length, hostAddress(window, words.length)), kind);
  });
});

Deno.test("bytes of two ranges are compared to their ends", () => {
  const [a, b] = [1, 2].map(() => new Uint8Array(4096).fill(7)),
    at = (bytes: Uint8Array<ArrayBuffer>) => addressOf(bytes.buffer);
  assert(equalBytes(at(a), at(b), 4096n));
  b[4095] = 8;
  assert(!equalBytes(at(a), at(b), 4096n));
  assert(equalBytes(at(a), at(b), 4095n) && equalBytes(at(a), at(b), 0n));
});
