import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../src/errors.ts";
import { decodePackets, scanPackets } from "../../src/pm4/decode.ts";
import { packetHeader, packetWords } from "../../src/pm4/header.ts";
import { words } from "./support.ts";

Deno.test("packets are split by their headers", () => {
  const stream = words(
    [0x80000000],
    [0xc0017602, 0x20c, 1],
    [0x80001234],
    [0xc0001010, 0x11],
    [0xc003_1503, 1, 2, 3, 0x41],
    [0xc000fe00, 0],
  );
  const packets = decodePackets(stream);
  assertEquals(packets.map(({ offset, size, type, opcode, code, name }) => [offset, size, type, opcode, code, name]), [
    [0, 1, 2, 0, undefined, "FILLER"],
    [1, 3, 3, 0x76, undefined, "SET_SH_REG"],
    [4, 1, 2, 0, undefined, "FILLER"],
    [5, 2, 3, 0x10, 4, "NOP:0x04"],
    [7, 5, 3, 0x15, undefined, "DISPATCH_DIRECT"],
    [12, 2, 3, 0xfe, undefined, "opcode 0xfe"],
  ]);
  assertEquals(packets.map((packet) => [packet.predicate, packet.compute, packet.resetFilter]), [
    [false, false, false],
    [false, true, false],
    [false, false, false],
    [false, false, false],
    [true, true, false],
    [false, false, false],
  ]);
});

Deno.test("bit 2 of a header is the filter reset, but part of the sub-code in a NOP", () => {
  const [set, nop] = decodePackets(words([0xc0017904, 0x342, 0], [0xc0001014, 0]));
  assertEquals([set.resetFilter, set.code], [true, undefined]);
  assertEquals([nop.resetFilter, nop.code, nop.name], [false, 5, "NOP:DRAW_RESET"]);
});

Deno.test("a NOP with the largest count is its header alone", () => {
  assertEquals(decodePackets(words(0xffff1000, 0xffff1000, 0x80000000)).map((packet) => packet.size), [1, 1, 1]);
  // With a sub-code it is a packet of 0x4001 words.
  assertEquals(packetWords(0xffff1024), 0x4001);
  assertEquals(packetWords(0xffff7600), 0x4001);
});

Deno.test("headers are made with opcode, size and low bits", () => {
  assertEquals(packetHeader(0x76, 3), 0xc0017600);
  assertEquals(packetHeader(0x10, 2, 0x09 << 2), 0xc0001024);
  assertEquals(packetHeader(0x37, 0x4001), 0xffff3700);
});

Deno.test("a stream that ends inside a packet stops there", () => {
  const stream = words([0xc0001000, 0], [0xc0037600, 0x240, 1]);
  const { packets, end, problem } = scanPackets(stream);
  assertEquals([packets.length, end], [1, 2]);
  assertEquals(problem, "SET_SH_REG has 5 words, but only 3 are left");
  const error = assertThrows(() => decodePackets(stream), InvalidInputError, "SET_SH_REG has 5 words");
  assertEquals([error.code, error.place.fileOffset], ["pm4.truncated", 8]);
});

Deno.test("types 0 and 1 are no packets", () => {
  for (const header of [0x00000000, 0x0001_1234, 0x40000000]) {
    const { end, problem } = scanPackets(words([0xc0001000, 0], header, 0));
    assertEquals([end, problem?.includes("no header")], [2, true]);
  }
});

Deno.test("an empty stream has no packets", () => {
  assertEquals(decodePackets(words()), []);
});
