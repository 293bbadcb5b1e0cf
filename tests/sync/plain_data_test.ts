import { assert, assertEquals, assertThrows } from "@std/assert";
import { decodeData, encodeData } from "../../src/sync/plain_data.ts";
import { SyncError } from "../../src/sync/sync_error.ts";

Deno.test("plain data comes back equal, typed arrays, maps and odd numbers included", () => {
  const value = {
    code: Uint32Array.of(0xffffffff, 1),
    address: 0xffff8000_00000000n,
    list: [1, -0, NaN, -Infinity, 2 ** 53, undefined, null, true, "“text”\u0000"],
    map: new Map([[4, new Uint8Array([1, 2, 3])], [8, new Uint8Array(0)]]),
    nested: { doubles: Float64Array.of(0.1, -0), big: BigUint64Array.of(2n ** 64n - 1n) },
  };
  const back = decodeData(encodeData(value)) as typeof value;
  assertEquals(back, value);
  assert(Object.is(back.list[1], -0));
});

Deno.test("a view of a part is encoded as that part, also from shared memory", () => {
  const shared = new Uint32Array(new SharedArrayBuffer(64));
  shared.set([5, 6, 7], 4);
  assertEquals(decodeData(encodeData(shared.subarray(4, 7))), Uint32Array.of(5, 6, 7));
});

Deno.test("what would come back as something else is refused", () => {
  class Thing {
    x = 1;
  }
  const loop: unknown[] = [];
  loop.push(loop);
  for (
    const [value, what] of [[new Thing(), "class Thing"], [() => 1, "function"], [loop, "contains itself"]] as const
  ) {
    assertThrows(() => encodeData({ value }), SyncError, what);
  }
});

Deno.test("bytes that are no plain data are refused", () => {
  const good = encodeData({ code: Uint32Array.of(1, 2, 3) });
  for (const bad of [new Uint8Array(3), new Uint8Array(16).fill(1), good.subarray(0, good.length - 8)]) {
    assertThrows(() => decodeData(bad), SyncError, "no plain data");
  }
});
