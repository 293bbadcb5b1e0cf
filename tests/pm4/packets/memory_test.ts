import { assertEquals, assertThrows } from "@std/assert";
import { GuestFaultError } from "../../../src/errors.ts";
import { BASE, RecordingSink, run, split, words } from "../support.ts";

const [LO, HI] = split(BASE + 0x100n);

Deno.test("WRITE_DATA writes its words, on all paths to memory", () => {
  const { sink } = run(words(
    [0xc0053700, 0x00100100, LO, HI, 1, 2, 3],
    [0xc0033700, 0x00000200, LO + 0x10, HI, 4],
    [0xc0033704, 0x46000500, LO + 0x14, HI, 5],
  ));
  assertEquals(sink.effects, ["write 0x200000100: 0x1 0x2 0x3", "write 0x200000110: 0x4", "write 0x200000114: 0x5"]);
  assertEquals(sink.peek(BASE + 0x100n, 6), [1, 2, 3, 0, 4, 5]);
});

Deno.test("WRITE_DATA to one address leaves the last word there", () => {
  const { sink } = run(words([0xc0053700, 0x00010100, LO, HI, 1, 2, 3]), { queue: 0x20 });
  assertEquals(sink.effects, ["write 0x200000100: 0x3"]);
});

Deno.test("WRITE_DATA may write the words of a thread trace, which are registers", () => {
  const { sink, executor } = run(words(
    // As flips have it: two words to one register.
    [0xc0043704, 0x06010000, 0xc343, 0, 0x5053564b, 0],
    [0xc0043700, 0x00000000, 0xc340, 0, 7, 8],
  ));
  assertEquals(sink.effects, []);
  assertEquals([...executor.registers.uconfig.subarray(0x340, 0x345)], [7, 8, 0, 0, 0]);
});

Deno.test("WRITE_DATA where nothing is mapped is an error that names the packet and the address", () => {
  const error = assertThrows(
    () => run(words([0xc0001000, 0], [0xc0033700, 0x100, 0, 9, 1])),
    GuestFaultError,
    "WRITE_DATA: no window holds 0x900000000",
  );
  assertEquals([error.code, error.place.queue, error.place.fileOffset], ["memory.unmapped", 0, 8]);
});

Deno.test("COPY_DATA copies a constant, a word of memory, or the clock, in 4 or 8 bytes", () => {
  const sink = new RecordingSink();
  sink.time = 0x12_3456_789an;
  sink.poke(BASE, 0xaaaa, 0xbbbb);
  const [from] = split(BASE);
  run(
    words(
      [0xc0044000, 0x00000505, 0x11, 0x22, LO, HI],
      [0xc0044000, 0x00110105, 0x33, 0x44, LO + 8, HI],
      [0xc0044000, 0x00000501, from, HI, LO + 0x10, HI],
      [0xc0044000, 0x00010202, from, HI, LO + 0x18, HI],
      [0xc0044000, 0x00010509, 0, 0, LO + 0x20, HI],
      [0xc0044000, 0x00000509, 0, 0, LO + 0x28, HI],
    ),
    { sink },
  );
  assertEquals(sink.effects, [
    "write 0x200000100: 0x11",
    "write 0x200000108: 0x33 0x44",
    "copy 0x200000110 from 0x200000000+4",
    "copy 0x200000118 from 0x200000000+8",
    "write 0x200000120: 0x3456789a 0x12",
    "write 0x200000128: 0x3456789a",
  ]);
  assertEquals(sink.peek(BASE + 0x110n, 4), [0xaaaa, 0, 0xaaaa, 0xbbbb]);
});

Deno.test("COPY_DATA of a word onto itself changes nothing", () => {
  const { sink } = run(words([0xc0044000, 0x00000501, LO, HI, LO, HI]));
  assertEquals(sink.effects, []);
});

Deno.test("DMA_DATA copies bytes and fills words", () => {
  const sink = new RecordingSink();
  sink.poke(BASE, 0x04030201, 0x08070605);
  const [from] = split(BASE);
  run(
    words(
      [0xc0055000, 0x80000000, from + 1, HI, LO + 3, HI, 0x40000005],
      [0xc0055000, 0x60300001, from, HI, LO + 0x10, HI, 0x80000008],
      [0xc0055000, 0x40000000, 0xdeadbeef, 0, LO + 0x20, HI, 12],
      // Adjacent ranges do not overlap.
      [0xc0055000, 0x00000000, LO, HI, LO + 0x40, HI, 0x40],
    ),
    { sink },
  );
  assertEquals(sink.effects, [
    "copy 0x200000103 from 0x200000001+5",
    "copy 0x200000110 from 0x200000000+8",
    "fill 0x200000120+12: 0xdeadbeef",
    "copy 0x200000140 from 0x200000100+64",
  ]);
  assertEquals(sink.peek(BASE + 0x100n, 2), [0x02000000, 0x06050403]);
});

Deno.test("DMA_DATA of nothing, and a prefetch, do nothing", () => {
  const { sink } = run(words(
    [0xc0055000, 0, LO, HI, LO + 0x40, HI, 0],
    [0xc0055000, 0x60200000, LO, HI, 0, 0, 0x100],
  ));
  assertEquals([sink.effects, sink.reads], [[], []]);
});
