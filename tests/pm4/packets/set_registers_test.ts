import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError, RefusedError } from "../../../src/errors.ts";
import { QueueExecutor } from "../../../src/pm4/execute.ts";
import { BASE, RecordingSink, run, split, words } from "../support.ts";

Deno.test("SET_SH_REG, SET_CONTEXT_REG and SET_UCONFIG_REG write runs of registers", () => {
  const { executor, sink } = run(words(
    [0xc0037600, 0x20c, 0x1111, 0x2222, 0x3333],
    [0xc0026900, 0x200, 0x4444, 0x5555],
    [0xc0017900, 0x242, 0x6666],
    [0xc0017a00, 0x20000243, 0x400],
  ));
  const { sh, context, uconfig } = executor.registers;
  assertEquals([...sh.subarray(0x20b, 0x210)], [0, 0x1111, 0x2222, 0x3333, 0]);
  assertEquals([context[0x200], context[0x201]], [0x4444, 0x5555]);
  assertEquals([uconfig[0x242], uconfig[0x243]], [0x6666, 0x400]);
  assertEquals([sink.effects, sink.reads], [[], []]);
});

Deno.test("the last register of a bank can be written", () => {
  const { executor } = run(words([0xc0017600, 0x3ff, 7], [0xc0016900, 0x3ff, 8], [0xc0017900, 0x3fff, 9]));
  assertEquals([executor.registers.sh[0x3ff], executor.registers.context[0x3ff], executor.registers.uconfig[0x3fff]], [
    7,
    8,
    9,
  ]);
});

Deno.test("the index in bits 30..28 of the offset, and the flags of the header, do not change the write", () => {
  const { executor } = run(words([0xc0017600, 0x30000240, 1], [0xc0017607, 0x241, 2], [0xc0017904, 0x10000342, 3]));
  assertEquals([executor.registers.sh[0x240], executor.registers.sh[0x241], executor.registers.uconfig[0x342]], [
    1,
    2,
    3,
  ]);
});

Deno.test("SET_SH_REG works on compute queues", () => {
  const { executor } = run(words([0xc0017602, 0x240, 5]), { queue: 0x57 });
  assertEquals(executor.registers.get("COMPUTE_USER_DATA_0"), 5);
});

Deno.test("register tables are read when their packet executes", () => {
  const sink = new RecordingSink();
  const [lo, hi] = split(BASE + 0x40n);
  sink.poke(BASE + 0x40n, 0x240, 1, 0x24f, 2, 0x240, 3);
  // WRITE_DATA changes the second pair's value before the table is read.
  const { executor } = run(
    words([0xc0033700, 0x100, lo + 12, hi, 0x77], [0xc0036300, lo, hi, 0x80000000, 3]),
    { sink },
  );
  assertEquals([executor.registers.sh[0x240], executor.registers.sh[0x24f]], [3, 0x77]);
  assertEquals(sink.reads, ["0x200000040+24"]);
});

Deno.test("tables for CONTEXT and UCONFIG, and empty tables", () => {
  const sink = new RecordingSink();
  const [lo, hi] = split(BASE);
  sink.poke(BASE, 0x318, 0x2004000, 0x10f, 0x45000000);
  sink.poke(BASE + 0x100n, 0x25b, 0x10080);
  const { executor } = run(
    words(
      [0xc0039f00, lo, hi, 0x80000000, 2],
      [0xc0036400, lo + 0x100, hi, 0x80000000, 1],
      [0xc0036300, 0, 0, 0x80000000, 0],
    ),
    { sink },
  );
  assertEquals([executor.registers.get("CB_COLOR0_BASE"), executor.registers.get("PA_CL_VPORT_XSCALE_0")], [
    0x2004000,
    0x45000000,
  ]);
  assertEquals(executor.registers.get("GE_CNTL"), 0x10080);
  assertEquals(sink.reads.length, 2, "an empty table is not read");
});

Deno.test("a table at a high address is read there", () => {
  const sink = new RecordingSink();
  sink.poke(0xffff_8000_0000_1000n, 0x240, 9);
  const { executor } = run(words([0xc0036300, 0x1000, 0x8000, 0x80000000, 1]), { sink });
  assertEquals(executor.registers.get("COMPUTE_USER_DATA_0"), 9);
  // The sign-extended form of the same address.
  const again = run(words([0xc0036300, 0x1000, 0xffff8000, 0x80000000, 1]), { sink });
  assertEquals(again.executor.registers.get("COMPUTE_USER_DATA_0"), 9);
});

Deno.test("a table with a register outside the bank is refused when it executes, and writes nothing", () => {
  const sink = new RecordingSink();
  const [lo, hi] = split(BASE);
  sink.poke(BASE, 0x240, 1, 0x400, 2);
  const executor = new QueueExecutor(0, sink);
  executor.submit({ queue: 0, words: words([0xc0001000, 0], [0xc0036300, lo, hi, 0x80000000, 2]) });
  const error = assertThrows(
    () => executor.run(),
    InvalidInputError,
    "pair 1 of the register table names register 1024",
  );
  assertEquals([error.place.fileOffset, error.place.guestAddress, error.place.queue], [8, BASE + 8n, 0]);
  assertEquals(executor.registers.get("COMPUTE_USER_DATA_0"), 0);
});

Deno.test("a table with a register that starts a DMA is refused when it executes", () => {
  const sink = new RecordingSink();
  const [lo, hi] = split(BASE);
  sink.poke(BASE, 0x89, 1);
  assertThrows(() => run(words([0xc0036400, lo, hi, 0x80000000, 1]), { sink }), RefusedError, "CP_DMA_PFP_COMMAND");
});

Deno.test("a table that is not mapped is an error that names the packet", () => {
  const error = assertThrows(
    () => run(words([0xc0036300, 0, 7, 0x80000000, 1])),
    Error,
    "SET_SH_REG_INDIRECT: no window",
  );
  assertEquals(error.constructor.name, "GuestFaultError");
});
