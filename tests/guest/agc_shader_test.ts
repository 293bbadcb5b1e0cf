import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, InvalidInputError } from "../../src/errors.ts";
import { createShader, readShaderRecord } from "../../src/guest/agc_shader.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import { buildRecord, type RecordParts } from "./support/records.ts";

const HEADER = 0x2_0000_0000n;
const CODE = 0x2A_4000_0100n;

const VERTEX: RecordParts = {
  type: 2,
  sh: [[0x080, 0], [0x0C8, 0x10], [0x0C9, 0x01], [0x08A, 3]],
  cx: [[0x1C3, 4]],
  outputs: [0x20],
  specials: true,
  userData: true,
};

function memoryWith(bytes: Uint8Array, permissions: number = Permission.All): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  memory.map(HEADER, 4096, permissions, "record");
  memory.initialize(HEADER, bytes);
  return memory;
}

Deno.test("a self-relative record is read in place without a change", () => {
  const { bytes, codeOffset } = buildRecord(VERTEX, { form: "self-relative" });
  const memory = memoryWith(bytes, Permission.Read);
  const record = readShaderRecord(memory, HEADER, "self-relative");
  assertEquals([record.stage, record.codeAddress, record.address], ["geometry", HEADER + BigInt(codeOffset), HEADER]);
  assertEquals(record.shRegisters.map(({ offset, value }) => [offset, value]), VERTEX.sh!);
  assertEquals(record.userData!.directResourceOffsets, [4, 0xFFFF, 6]);
  assertEquals(memory.read(HEADER, bytes.length), bytes);
});

Deno.test("createShader makes pointers absolute, sets the code and patches the stage's program registers", () => {
  const { bytes, at } = buildRecord(VERTEX, { form: "self-relative" });
  const memory = memoryWith(bytes);
  const record = createShader(memory, HEADER, CODE);

  const expected = buildRecord(VERTEX, { form: "absolute", base: HEADER }).bytes, view = new DataView(expected.buffer);
  view.setBigUint64(0x10, CODE, true);
  // 0x2a_4000_0100 >> 8 is 0x2a400001; bits 47:40 are 0.
  view.setUint32(at.sh + 12, 0x2A40_0011, true);
  view.setUint32(at.sh + 20, 0x01, true);
  assertEquals(memory.read(HEADER, bytes.length), expected);
  assertEquals([record.codeAddress, record.cxRegisters[0].value], [CODE, 4]);
  assertEquals(record, readShaderRecord(memory, HEADER, "absolute"));
});

Deno.test("createShader puts address bits 47 to 40 into the high register", () => {
  const { bytes, at } = buildRecord({ ...VERTEX, type: 0, sh: [[0x20C, 0xFFFF_FFFF], [0x20D, 2]] }, {
    form: "self-relative",
  });
  const memory = memoryWith(bytes);
  createShader(memory, HEADER, 0x7F12_3456_7800n);
  assertEquals(memory.readU32(HEADER + BigInt(at.sh + 4)), 0x1234_5677);
  assertEquals(memory.readU32(HEADER + BigInt(at.sh + 12)), 0x7F + 2);
});

Deno.test("each stage patches its own pair, and front halves patch none", () => {
  const registers: [number, number | undefined][] = [
    [0, 0x20C],
    [1, 0x008],
    [2, 0x0C8],
    [3, 0x148],
    [4, undefined],
    [5, undefined],
    [6, 0x088],
    [7, 0x108],
  ];
  for (const [type, register] of registers) {
    const low = register ?? 0x0C8;
    const { bytes, at } = buildRecord({ type, sh: [[low, 0], [low + 1, 0]] }, { form: "self-relative" });
    const memory = memoryWith(bytes);
    createShader(memory, HEADER, 0x1_0000_0100n);
    assertEquals([type, memory.readU32(HEADER + BigInt(at.sh + 4))], [type, register === undefined ? 0 : 0x0100_0001]);
  }
});

Deno.test("createShader refuses bad code addresses and records, and then writes nothing", () => {
  const attempt = (
    parts: RecordParts,
    code: bigint,
    text: string,
    change?: (view: DataView) => void,
    permissions?: number,
  ) => {
    const { bytes } = buildRecord(parts, { form: "self-relative" });
    change?.(new DataView(bytes.buffer));
    const memory = memoryWith(bytes, permissions);
    const error = assertThrows(() => createShader(memory, HEADER, code), AnyAgcError);
    assertStringIncludes(error.message, text);
    assertEquals(memory.read(HEADER, bytes.length), bytes);
  };
  attempt(VERTEX, CODE + 0x80n, "multiple of 256");
  attempt(VERTEX, 0n, "not zero");
  attempt(VERTEX, 0x1_0000_0000_0000n, "below 2^48");
  attempt({ ...VERTEX, sh: [[0x0C9, 0], [0x0C8, 0]] }, CODE, "0xc9 must follow 0xc8");
  attempt({ ...VERTEX, sh: [[0x08A, 0]] }, CODE, "needs SH register 0xc8");
  attempt(VERTEX, CODE, "shader type 77", (view) => view.setUint8(0x5A, 77));
  attempt(VERTEX, CODE, "SH registers cannot be read", (view) => view.setBigUint64(0x20, 0x7000_0000n, true));
  attempt(VERTEX, CODE, "needs -w-", undefined, Permission.Read);
});

Deno.test("a null code pointer in the record is fine for createShader, which is given the code", () => {
  const { bytes } = buildRecord(VERTEX, { form: "self-relative" });
  new DataView(bytes.buffer).setBigUint64(0x10, 0n, true);
  assertThrows(() => readShaderRecord(memoryWith(bytes), HEADER, "self-relative"), InvalidInputError, "no code");
  assertEquals(createShader(memoryWith(bytes), HEADER, CODE).codeAddress, CODE);
});

Deno.test("a second createShader on the same record is refused, as its pointers are absolute by then", () => {
  const { bytes } = buildRecord(VERTEX, { form: "self-relative" });
  const memory = memoryWith(bytes);
  createShader(memory, HEADER, CODE);
  const error = assertThrows(() => createShader(memory, HEADER, CODE), InvalidInputError);
  assertStringIncludes(error.message, "cannot be read");
});
