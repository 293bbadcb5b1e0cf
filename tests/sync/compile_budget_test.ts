import { assert, assertEquals } from "@std/assert";
import { CompileBudget, compileBudgetBytes } from "../../src/sync/compile_budget.ts";

function budget(limit: number, requests = 32): CompileBudget {
  const result = new CompileBudget(new SharedArrayBuffer(compileBudgetBytes(requests)), 0, requests);
  result.setUp(limit);
  return result;
}

/** Grants the first in line as long as it fits, as the board does. */
function pump(b: CompileBudget, bytes: number[]): number[] {
  const granted: number[] = [];
  while (b.firstFits) {
    const id = b.first;
    assert(b.request(id, bytes[id]));
    granted.push(id);
  }
  return granted;
}

Deno.test("eight 40-byte holds under a 100-byte limit never hold more than 80 bytes at once", () => {
  const b = budget(100);
  const bytes = new Array(8).fill(40);
  const held = bytes.map((size, id) => b.request(id, size) ? id : -1).filter((id) => id !== -1);
  assertEquals(held, [0, 1]);
  let ended = 0;
  while (held.length > 0) {
    assert(b.stats().held <= 80);
    b.release(held.shift()!);
    ended++;
    held.push(...pump(b, bytes));
    assertEquals(b.check(), undefined);
  }
  assertEquals([ended, b.stats().peak, b.stats().held, b.stats().waited], [8, 80, 0, 6]);
});

Deno.test("limit 0 runs holds one at a time, empty ones too", () => {
  const b = budget(0);
  const bytes = [40, 1, 0, 0, 500];
  assert(b.request(0, bytes[0]));
  for (let id = 1; id < 5; id++) assert(!b.request(id, bytes[id]));
  for (let id = 0; id < 5; id++) {
    assertEquals(b.stats().holds, 1);
    b.release(id);
    assertEquals(pump(b, bytes), id < 4 ? [id + 1] : []);
  }
});

Deno.test("a 500-byte hold under a 100-byte limit runs alone", () => {
  const b = budget(100);
  assert(b.request(0, 500));
  assert(!b.request(1, 0), "nothing beside it, not even an empty one");
  assert(!b.request(2, 40));
  b.release(0);
  assertEquals(pump(b, [500, 0, 40]), [1, 2]);
});

Deno.test("a waiting 500-byte hold keeps out a 40-byte hold that would fit, and runs first", () => {
  const b = budget(100);
  assert(b.request(0, 40));
  assert(!b.request(1, 500));
  assert(!b.request(2, 40), "it would fit, but one waits before it");
  assertEquals(pump(b, [40, 500, 40]), []);
  b.release(0);
  assertEquals(pump(b, [40, 500, 40]), [1]);
  assertEquals(b.stats().held, 500);
  b.release(1);
  assertEquals(pump(b, [40, 500, 40]), [2]);
});

Deno.test("a stream of oversized holds does not starve a small one", () => {
  const b = budget(100);
  assert(b.request(0, 500));
  assert(!b.request(1, 10));
  for (let id = 2; id < 6; id++) assert(!b.request(id, 500));
  b.release(0);
  assertEquals(pump(b, [500, 10, 500, 500, 500, 500]), [1]);
});

Deno.test("a hold of exactly the limit is granted beside nothing, and one byte more waits", () => {
  const b = budget(100);
  assert(b.request(0, 60));
  assert(b.request(1, 40));
  assert(!b.request(2, 1));
});

Deno.test("who waits leaves the line without having held anything", () => {
  const b = budget(100);
  b.request(0, 80);
  b.request(1, 50);
  b.request(2, 20);
  assert(b.release(1));
  assertEquals(b.stats().held, 80);
  assertEquals(pump(b, [80, 50, 20]), [2]);
});

Deno.test("a hold is given back once: the second time there is nothing to give back", () => {
  const b = budget(100);
  b.request(0, 60);
  b.request(1, 30);
  assert(b.release(0));
  assert(!b.release(0));
  assertEquals(b.stats().held, 30);
});

Deno.test("with little headroom, a compile that would pass it waits and then runs alone, and the limit stays the contract", () => {
  const b = budget(100);
  assert(b.request(0, 40));
  b.setHeadroom(50);
  assert(!b.request(1, 60), "within the limit, but not within the headroom");
  assert(!b.request(2, 5));
  b.release(0);
  assertEquals(pump(b, [40, 60, 5]), [1]);
  assert(!b.firstFits, "it runs alone");
  b.setHeadroom(Infinity);
  assert(!b.firstFits, "still alone, although 65 bytes would be within the limit");
  b.release(1);
  assertEquals(pump(b, [40, 60, 5]), [2]);
  assert(!b.request(3, 96));
});

Deno.test("sums and line are derived anew from the requests' states", () => {
  const b = budget(100);
  b.request(0, 60);
  b.request(1, 30);
  b.request(2, 50);
  b.request(3, 5);
  b.rebuild((id) => id === 1 ? 2 : id === 2 || id === 3 ? 1 : 0, (x, y) => y - x);
  assertEquals([b.check(), b.stats().held, b.stats().waiting, b.first], [undefined, 30, 2, 3]);
});
