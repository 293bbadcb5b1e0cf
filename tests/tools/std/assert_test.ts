// The stand-in is tested without itself: node:assert judges it.
import { match, ok, rejects, strictEqual, throws } from "node:assert";
import * as a from "@std/assert";

/** [what holds, call that must pass, call that must fail, part of the message of the failure] */
const CASES: [string, () => unknown, () => unknown, RegExp][] = [
  ["assert", () => a.assert(1), () => a.assert(0, "nothing"), /nothing/],
  ["assertFalse", () => a.assertFalse(0), () => a.assertFalse(1), /falsy/],
  [
    "assertEquals on objects",
    () => a.assertEquals({ a: [1, NaN] }, { a: [1, NaN] }),
    () => a.assertEquals({ a: 1 }, { a: 2 }),
    /\+\s+a: 1\s+-\s+a: 2/,
  ],
  [
    "assertEquals on bytes",
    () => a.assertEquals(Uint8Array.of(1), Uint8Array.of(1)),
    () => a.assertEquals(Uint8Array.of(1), Uint8Array.of(2)),
    /not equal/,
  ],
  [
    "assertEquals on types",
    () => a.assertEquals(1n, 1n),
    () => a.assertEquals<unknown>(new Uint8Array(1), [0]),
    /not equal/,
  ],
  ["assertEquals on zero", () => a.assertEquals(0, 0), () => a.assertEquals(0, -0), /not equal/],
  [
    "assertNotEquals",
    () => a.assertNotEquals([1], [2]),
    () => a.assertNotEquals([1], [1], "lists"),
    /lists: Expected values to differ/,
  ],
  ["assertStrictEquals", () => a.assertStrictEquals(NaN, NaN), () => a.assertStrictEquals([1], [1]), /same structure/],
  [
    "assertNotStrictEquals",
    () => a.assertNotStrictEquals([1], [1]),
    () => a.assertNotStrictEquals(1, 1),
    /not to be identical/,
  ],
  ["assertExists", () => a.assertExists(0), () => a.assertExists(null), /null/],
  [
    "assertInstanceOf",
    () => a.assertInstanceOf(new Date(), Date),
    () => a.assertInstanceOf([], Date),
    /instance of Date, got Array/,
  ],
  [
    "assertNotInstanceOf",
    () => a.assertNotInstanceOf([], Date),
    () => a.assertNotInstanceOf([], Array),
    /no instance of Array/,
  ],
  [
    "assertStringIncludes",
    () => a.assertStringIncludes("abc", "b"),
    () => a.assertStringIncludes("abc", "d"),
    /"abc" to contain "d"/,
  ],
  ["assertMatch", () => a.assertMatch("abc", /b/g), () => a.assertMatch("abc", /d/), /to match \/d\//],
  ["assertNotMatch", () => a.assertNotMatch("abc", /d/), () => a.assertNotMatch("abc", /b/), /not to match/],
  ["assertAlmostEquals", () => a.assertAlmostEquals(1, 1 + 1e-8), () => a.assertAlmostEquals(1, 1.01), /within/],
  [
    "assertAlmostEquals with a tolerance",
    () => a.assertAlmostEquals(1, 1.1, 0.2),
    () => a.assertAlmostEquals(1, 1.1, 0.05),
    /within 0.05/,
  ],
  ["assertAlmostEquals with NaN", () => a.assertAlmostEquals(NaN, NaN), () => a.assertAlmostEquals(NaN, 1), /NaN/],
  ["assertGreater", () => a.assertGreater(2, 1), () => a.assertGreater(1, 1), /1 > 1/],
  ["assertGreaterOrEqual", () => a.assertGreaterOrEqual(1, 1), () => a.assertGreaterOrEqual(0, 1), /0 >= 1/],
  ["assertLess", () => a.assertLess(1n, 2n), () => a.assertLess(1, 1), /1 < 1/],
  ["assertLessOrEqual", () => a.assertLessOrEqual(1, 1), () => a.assertLessOrEqual(2, 1), /2 <= 1/],
  ["comparisons refuse NaN", () => a.assertLess(0, 1), () => a.assertLessOrEqual(NaN, 1), /NaN <= 1/],
  [
    "assertArrayIncludes",
    () => a.assertArrayIncludes([{ x: 1 }, 2], [{ x: 1 }]),
    () => a.assertArrayIncludes([1], [2]),
    /to include \[ 2 \]/,
  ],
  [
    "assertObjectMatch",
    () => a.assertObjectMatch({ x: { y: 1, z: 2 } }, { x: { y: 1 } }),
    () => a.assertObjectMatch({ x: 1 }, { y: 1 }),
    /does not match/,
  ],
  [
    "assertIsError",
    () => a.assertIsError(new TypeError("bad x"), TypeError, "x"),
    () => a.assertIsError(new Error("bad"), TypeError),
    /class TypeError, got Error: bad/,
  ],
  ["assertThrows", () => a.assertThrows(() => JSON.parse("{"), SyntaxError), () => a.assertThrows(() => 1), /to throw/],
  ["assertThrows with a class", () =>
    a.assertThrows(
      () => {
        throw new TypeError("abc");
      },
      TypeError,
      "b",
    ), () =>
    a.assertThrows(() => {
      throw new TypeError("abc");
    }, RangeError), /class RangeError/],
  ["assertThrows with a message", () =>
    a.assertThrows(() => {
      throw 1;
    }), () =>
    a.assertThrows(
      () => {
        throw new TypeError("abc");
      },
      TypeError,
      "d",
    ), /to include "d"/],
  [
    "assertThrows on promises",
    () =>
      a.assertThrows(() => {
        throw new Error();
      }, "why"),
    () => a.assertThrows(() => Promise.reject(new Error("x"))),
    /assertRejects/,
  ],
];

for (const [name, passes, fails, message] of CASES) {
  Deno.test(`${name} passes when it holds and says why when it does not`, () => {
    passes();
    throws(fails, (error) => {
      ok(error instanceof a.AssertionError, String(error));
      match(error.message, message);
      return true;
    });
  });
}

Deno.test("fail and unreachable always throw", () => {
  throws(() => a.fail("no"), { name: "AssertionError", message: "Failed assertion: no" });
  throws(() => a.unreachable(), a.AssertionError);
});

Deno.test("assertThrows and assertRejects return the error", async () => {
  const error = new RangeError("far");
  strictEqual(
    a.assertThrows(() => {
      throw error;
    }, RangeError),
    error,
  );
  strictEqual(await a.assertRejects(() => Promise.reject(error), RangeError, "far"), error);
});

Deno.test("assertRejects fails for a promise that resolves, for a function that throws, and for one that returns no promise", async () => {
  await rejects(a.assertRejects(() => Promise.resolve(1)), /resolved/);
  await rejects(
    a.assertRejects(() => {
      throw new Error("early");
    }),
    /threw instead/,
  );
  await rejects(a.assertRejects(() => 1 as unknown as Promise<unknown>), /no promise/);
  await rejects(a.assertRejects(() => Promise.reject(new Error("x")), TypeError), /class TypeError/);
});

Deno.test("assertEquals names the first difference of large typed arrays instead of printing them", () => {
  const left = new Uint32Array(1000), right = new Uint32Array(1000);
  right[300] = 7;
  right[301] = 8;
  throws(() => a.assertEquals(left, right), /2 of 1000 elements differ, first at \[300\]: actual 0, expected 7/);
  throws(() => a.assertEquals(left, right.subarray(0, 100)), /lengths 1000 and 100; the common part is equal/);
});
