import { assertEquals, assertThrows } from "@std/assert";
import { openThunks } from "../../ffi/thunks.ts";
import { HostError } from "../../src/errors.ts";

/** Addresses of libc functions, by the dynamic loader's own dlsym. */
function addressesOf(names: readonly string[]): Record<string, bigint> {
  const loader = Deno.dlopen("libc.so.6", { dlsym: { parameters: ["u64", "buffer"], result: "u64" } });
  const addresses = names.map((name) =>
    [name, loader.symbols.dlsym(0n, new TextEncoder().encode(name + "\0"))] as const
  );
  loader.close();
  return Object.fromEntries(addresses);
}

const mathSymbols = {
  labs: { parameters: ["i64"], result: "i64" },
  abs: { parameters: ["i32"], result: "i32" },
  toupper: { parameters: ["i32"], result: "i32" },
} as const;

Deno.test("functions whose addresses are known only at run time are called through thunks", () => {
  const { labs, abs, toupper } = addressesOf(["labs", "abs", "toupper"]);
  const library = openThunks(mathSymbols, { labs, abs, toupper });
  assertEquals(library.symbols.labs(-(2n ** 40n)), 2n ** 40n);
  assertEquals(library.symbols.abs(-7), 7);
  assertEquals(library.symbols.toupper(97), 65);
  library.close();
});

Deno.test("a second thunk library is not taken for the first one, open or closed", () => {
  const addresses = addressesOf(["labs", "abs", "toupper", "tolower"]);
  const { labs, abs, toupper } = addresses;
  const first = openThunks(mathSymbols, { labs, abs, toupper });
  // The same symbol name, another function.
  const second = openThunks({ toupper: mathSymbols.toupper }, { toupper: addresses.tolower });
  assertEquals(second.symbols.toupper(65), 97);
  assertEquals(first.symbols.toupper(97), 65);
  first.close();
  const third = openThunks({ toupper: mathSymbols.toupper }, { toupper });
  assertEquals(third.symbols.toupper(97), 65);
  second.close();
  third.close();
});

Deno.test("a hundred thunks keep their order", () => {
  const { toupper, tolower } = addressesOf(["toupper", "tolower"]);
  const names = Array.from({ length: 100 }, (_, i) => `function_${i}`);
  const symbols = Object.fromEntries(names.map((name) => [name, mathSymbols.toupper]));
  const library = openThunks(
    symbols,
    Object.fromEntries(names.map((name, i) => [name, i % 3 === 0 ? toupper : tolower])),
  );
  const call = library.symbols as unknown as Record<string, (character: number) => number>;
  names.forEach((name, i) => assertEquals([call[name](97), call[name](65)], i % 3 === 0 ? [65, 65] : [97, 97], name));
  library.close();
});

Deno.test("a function without an address is refused by name", () => {
  assertThrows(() => openThunks({ vkMissing: mathSymbols.abs }, { vkMissing: 0n }), HostError, "vkMissing");
});
