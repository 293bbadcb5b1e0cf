import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import {
  AnyAgcError,
  GuestFaultError,
  HostError,
  InvalidInputError,
  RefusedError,
  UsageError,
} from "../../src/errors.ts";
import { decodeError, encodeError } from "../../src/sync/error_data.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { originalError } from "./support/actions.ts";

/** Every own field of an error, the invisible ones too. */
function fields(error: Error): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of Object.getOwnPropertyNames(error)) {
    const value = (error as unknown as Record<string, unknown>)[key];
    result[key] = value instanceof Error ? fields(value) : value;
  }
  return result;
}

Deno.test("an error is rebuilt with class, message, code, guest address, stack and cause, field by field", () => {
  const original = originalError();
  const rebuilt = decodeError(encodeError(original)) as RefusedError;
  assertInstanceOf(rebuilt, RefusedError);
  assertInstanceOf(rebuilt, AnyAgcError);
  assertEquals(fields(rebuilt), fields(original));
  assertEquals(rebuilt.place.guestAddress, 0xffff8000_12345600n);
  assertEquals(rebuilt.toData(), original.toData());
  assertEquals(String(rebuilt), String(original));
  const cause = (rebuilt.cause as Error).cause as { zero: number };
  assert(Object.is(cause.zero, -0));
  assertEquals(encodeError(rebuilt), encodeError(original), "and once more without loss");
});

Deno.test("every class of the project's errors comes back as itself", () => {
  for (
    const Class of [AnyAgcError, RefusedError, InvalidInputError, GuestFaultError, UsageError, HostError, SyncError]
  ) {
    const rebuilt = decodeError(encodeError(new Class("a.code", "text", { queue: 0x20 }))) as AnyAgcError;
    assert(Object.getPrototypeOf(rebuilt) === Class.prototype, Class.name);
    assertEquals([rebuilt.name, rebuilt.code, rebuilt.exitCode], [
      new Class("", "").name,
      "a.code",
      new Class("", "").exitCode,
    ]);
  }
});

Deno.test("errors of the language, unknown classes and plain values come back", () => {
  assertInstanceOf(decodeError(encodeError(new RangeError("r"))), RangeError);
  class Odd extends Error {
    override name = "Odd";
    extra = new Uint32Array([1, 2]);
  }
  const odd = decodeError(encodeError(new Odd("o"))) as Odd;
  assertEquals([odd.name, odd.message, odd.extra, odd instanceof Error], ["Odd", "o", new Uint32Array([1, 2]), true]);
  assertEquals(decodeError(encodeError("just text")), "just text");
  assertEquals(decodeError(encodeError(undefined)), undefined);
});

Deno.test("an error that contains itself is encoded, and bytes that are no error are refused", () => {
  const error = new Error("loop");
  error.cause = error;
  assertEquals((decodeError(encodeError(error)) as Error).cause, "(circular)");
  assertThrows(() => decodeError(new Uint8Array([1, 2, 3])), SyncError, "no error");
  assertThrows(() => decodeError(new TextEncoder().encode('["q"]')), SyncError, "unknown tag");
});
