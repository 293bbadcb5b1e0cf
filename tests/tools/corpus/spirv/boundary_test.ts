import { assertEquals } from "@std/assert";
import { findModules } from "../../../../tools/corpus/spirv/boundary.ts";
import { assemble, bytesOf, emptyModule, scaleModule } from "../support.ts";

/** Puts the parts behind each other. */
function blob(...parts: (Uint8Array | number[])[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

const empty = bytesOf(assemble(emptyModule)), scale = bytesOf(assemble(scaleModule));
const twoFunctions = bytesOf(assemble(`${emptyModule}
  %other = OpFunction %void None %fn
  %l2 = OpLabel
  OpReturn
  OpFunctionEnd`));

Deno.test("modules are found between other bytes, at any alignment, with their exact ends", () => {
  const bytes = blob([1, 2, 3], empty, [0, 0, 0, 0, 0], scale, [0xff, 0xff], twoFunctions);
  const { modules, rejected } = findModules(bytes);
  assertEquals(rejected, []);
  assertEquals(modules, [
    { offset: 3, byteLength: empty.length },
    { offset: 8 + empty.length, byteLength: scale.length },
    { offset: 10 + empty.length + scale.length, byteLength: twoFunctions.length },
  ]);
});

Deno.test("modules that touch each other are told apart", () => {
  const { modules } = findModules(blob(empty, twoFunctions, empty));
  assertEquals(modules.map(({ byteLength }) => byteLength), [empty.length, twoFunctions.length, empty.length]);
});

Deno.test("what follows a module and looks like an instruction is not taken", () => {
  const store = [62, 0, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0]; // OpStore, three words
  const line = [0x3d, 1, 1, 0]; // OpNoLine, which may stand before a function, with none behind it
  for (const tail of [store, line, [54, 0, 4, 0, ...store]]) {
    assertEquals(findModules(blob(empty, tail)).modules, [{ offset: 0, byteLength: empty.length }]);
  }
});

Deno.test("a line between two functions belongs to the module", () => {
  const second = twoFunctions.subarray(empty.length); // both have the same declarations
  const line = [0x3d, 1, 1, 0];
  const bytes = blob(twoFunctions.subarray(0, empty.length), line, second);
  assertEquals(findModules(bytes).modules, [{ offset: 0, byteLength: bytes.length }]);
});

Deno.test("places that only have the magic number are rejected with a reason", () => {
  const changed = (index: number, value: number) => {
    const words = new Uint32Array(empty.slice().buffer);
    words[index] = value;
    return new Uint8Array(words.buffer);
  };
  const reasonOf = (bytes: Uint8Array) => {
    const { modules, rejected } = findModules(bytes);
    assertEquals(modules, []);
    return rejected.map(({ reason }) => reason);
  };
  assertEquals(reasonOf(empty.subarray(0, 12)), ["the header is cut off"]);
  assertEquals(reasonOf(changed(1, 0x00020000)), ["version word 0x20000"]);
  assertEquals(reasonOf(changed(3, 0)), ["bound 0"]);
  assertEquals(reasonOf(changed(4, 7)), ["schema 7"]);
  assertEquals(reasonOf(changed(5, 0x0002000e)), ["the first instruction is opcode 14, not a capability"]);
  assertEquals(reasonOf(changed(7, 0)), ["no whole instruction at 28 bytes, before any function"]);
  assertEquals(reasonOf(empty.subarray(0, empty.length - 4)), [
    `no whole instruction at ${empty.length - 4} bytes, inside a function`,
  ]);
  assertEquals(reasonOf(new Uint8Array(64)), []);
});
