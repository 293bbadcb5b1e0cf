import { assertEquals, assertThrows } from "@std/assert";
import { openLibrary } from "../../ffi/library.ts";
import { HostError } from "../../src/errors.ts";

Deno.test("a missing library names itself, the loader's reason and the fix, with exit code 3", () => {
  const error = assertThrows(
    () => openLibrary("libanyagc-no-such-library.so.1", {}, "Install it (Debian: apt install nothing)."),
    HostError,
    "cannot load libanyagc-no-such-library.so.1",
  ) as HostError;
  assertEquals(error.message.endsWith("Install it (Debian: apt install nothing)."), true, error.message);
  assertEquals([error.code, error.exitCode], ["host.library-missing", 3]);
});

Deno.test("a library that lacks a function names the function", () => {
  const symbols = { no_such_function_in_libc: { parameters: [], result: "void" } } as const;
  assertThrows(() => openLibrary("libc.so.6", symbols, "Use a newer one."), HostError, "no_such_function_in_libc");
});
