import { assertEquals, assertThrows } from "@std/assert";
import { InitialMemory, namedPrograms } from "../../../src/cli/disasm/programs_in_stream.ts";
import { GuestFaultError } from "../../../src/errors.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { dispatchDirect, setComputeProgram, setComputeRegisters } from "../../../tools/shaders/packets.ts";

const BASE = 0x2_0000_0000n;

/** s_nop 0 ; s_endpgm at two places of one window, and a register table. */
function program(...words: number[]): LoadedProgram {
  const code = new Uint8Array(Uint32Array.of(0xbf800000, 0xbf810000).buffer);
  const table = new Uint8Array(Uint32Array.of(0x8, 0x2000001, 0x9, 0).buffer);
  return {
    name: "test",
    target: "gfx1013",
    memory: [{
      name: "all",
      base: BASE,
      bytes: 0x1000,
      permissions: 7,
      contents: [{ offset: 0, data: code }, { offset: 0x100, data: code }, { offset: 0x800, data: table }],
    }],
    submissions: [{ queue: 0x20, words: Uint32Array.from(words) }],
    expectations: [],
    untouched: [],
    shaders: [],
    notes: [],
  };
}

function found(p: LoadedProgram) {
  return namedPrograms(p, new InitialMemory(p)).map((
    { stage, address, code, waveSize },
  ) => [stage, address, code.length, waveSize]);
}

Deno.test("a compute program is the one that a dispatch uses, once, with the dispatch's wave size", () => {
  const words = [
    ...setComputeProgram(BASE),
    ...dispatchDirect([1, 1, 1], 32),
    ...dispatchDirect([1, 1, 1], 64),
    ...setComputeProgram(BASE + 0x100n),
    ...dispatchDirect([1, 1, 1], 64),
  ];
  assertEquals(found(program(...words)), [["COMPUTE", BASE, 2, 32], ["COMPUTE", BASE + 0x100n, 2, 64]]);
});

Deno.test("a program that no dispatch uses, or that lies outside of memory, is not listed", () => {
  assertEquals(found(program(...setComputeProgram(BASE))), []);
  assertEquals(found(program(...setComputeProgram(0x9_0000_0000n), ...dispatchDirect([1, 1, 1], 32))), []);
});

Deno.test("graphics programs are found in registers and in register tables", () => {
  // SET_SH_REG of SPI_SHADER_PGM_LO_PS and _HI_PS.
  assertEquals(found(program(...setComputeRegisters(0x8, 0x2000000, 0))), [["SPI_SHADER PS", BASE, 2, undefined]]);
  // SET_SH_REG_INDIRECT of two records at BASE + 0x800.
  const indirect = [0xc0036300, 0x800, 2, 0x80000000, 2];
  assertEquals(found(program(...indirect)), [["SPI_SHADER PS", BASE + 0x100n, 2, undefined]]);
});

Deno.test("initial memory is the contents, zero between them, and a fault outside", () => {
  const memory = new InitialMemory(program());
  assertEquals(memory.readU32(BASE + 4n), 0xbf810000);
  assertEquals(memory.readU64(BASE), 0xbf810000bf800000n);
  assertEquals([...memory.readWords(BASE + 4n, 2)], [0xbf810000, 0]);
  assertThrows(() => memory.readU32(BASE + 0x1000n), GuestFaultError, "0x200001000");
});
