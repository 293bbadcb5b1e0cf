import { assert, assertEquals } from "@std/assert";
import { QueueExecutor } from "../../../src/pm4/execute.ts";
import { BASE, RecordingSink, run, split, words } from "../support.ts";

const [LO, HI] = split(BASE + 0x100n);

Deno.test("RELEASE_MEM releases nothing, 32 bits, 64 bits or the clock", () => {
  const { sink } = run(words(
    [0xc0064900, 0x0000c52d, 0x00010000, 0, 0, 0, 0, 0],
    [0xc0064900, 0x0030c528, 0x20000000, LO, HI, 0x42370001, 9, 0],
    [0xc0064900, 0x00000504, 0x40010000, LO + 8, HI, 0x1, 0x2, 0],
    [0xc0064900, 0x00000514, 0x63000000, LO + 0x10, HI, 5, 6, 0],
    [0xc0064900, 0x0000062f, 0x20000000, LO + 0x18, HI, 7, 0, 0],
  ));
  assertEquals(sink.effects, [
    "release none",
    "release u32 0x42370001 at 0x200000100",
    "release u64 0x200000001 at 0x200000108",
    "release clock at 0x200000110",
    "release u32 0x7 at 0x200000118",
  ]);
});

Deno.test("RELEASE_MEM raises an interrupt with selections 1 and 2, and none with 3", () => {
  const { sink } = run(words(
    [0xc0064900, 0x06200504, 0x42010000, LO, HI, 1, 0, 0x08000101],
    [0xc0064900, 0x00000528, 0x01000000, 0, 0, 0, 0, 0x77],
    [0xc0064900, 0x00000528, 0x23000000, LO, HI, 1, 0, 0x78],
  ));
  assertEquals(sink.effects, [
    "release u64 0x1 at 0x200000100 interrupt 0x8000101",
    "release none interrupt 0x77",
    "release u32 0x1 at 0x200000100",
  ]);
});

Deno.test("ACQUIRE_MEM is a barrier over its range, in units of 256 bytes", () => {
  const { sink } = run(words(
    [0xc0055800, 0x00c40040, 0xffffffff, 0xff, 0, 0, 0xa],
    [0xc0065800, 0x80000000, 0x10, 0, 0x02000001, 0x12, 0xa, 0xc3f0],
    [0xc0065800, 0, 0xffffffff, 0xffffff, 0, 0, 0xa, 0],
    [0xc0065800, 0, 1, 0, 0, 0x80, 0xa, 0],
    [0xc0065800, 0x80000000, 0xffffffff, 0xffffff, 0, 0, 0xa, 0xc3f1],
    [0xc0055800, 0x28c40040, 0xffffffff, 0xff, 0, 0, 0xa],
  ));
  assertEquals(sink.effects, Array(6).fill("barrier acquire"));
  // Range, and whether instruction caches are invalidated: GCR_CNTL bits 1:0, or COHER_CNTL bit 29.
  assertEquals(sink.barriers.map(({ address, bytes, instructions }) => [address, bytes, instructions]), [
    [0n, -1n, false],
    [0x1202_0000_0100n, 0x1000n, false],
    [0n, -1n, false],
    [0xffff_8000_0000_0000n, 0x100n, false],
    [0n, -1n, true],
    [0n, -1n, true],
  ]);
});

Deno.test("EVENT_WRITE waits for shaders or flushes the caches of targets", () => {
  const { sink } = run(words(
    [0xc0004600, 0x407],
    [0xc0004600, 0x40f],
    [0xc0004600, 0x410],
    [0xc0004600, 0x016],
    [0xc0004600, 0x72a],
    [0xc0004600, 0x02c],
    [0xc0004600, 0x72e],
    [0xc0004600, 0x031],
  ));
  assertEquals(sink.effects, [
    "barrier compute-done",
    "barrier vertex-done",
    "barrier pixel-done",
    ...Array(5).fill("barrier target-caches"),
  ]);
});

Deno.test("EVENT_WRITE of the compute flush works on compute queues", () => {
  const { sink } = run(words([0xc0004600, 0x407]), { queue: 0x28 });
  assertEquals(sink.effects, ["barrier compute-done"]);
});

Deno.test("PFP_SYNC_ME has no effect", () => {
  assertEquals(run(words([0xc0004200, 0])).sink.effects, []);
});

/** Runs a 32-bit wait over a value in memory. */
function wait32(func: number, value: number, reference: number, mask = 0xffffffff): boolean {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x100n, value);
  return run(words([0xc0053c00, 0x10 | func, LO, HI, reference, mask, 4]), { sink }).result === "done";
}

/** The same with 64 bits. */
function wait64(func: number, value: bigint, reference: bigint, mask = -1n): boolean {
  const sink = new RecordingSink();
  const halves = (v: bigint) => [Number(BigInt.asUintN(32, v)), Number(BigInt.asUintN(32, v >> 32n))];
  sink.poke(BASE + 0x100n, ...halves(value));
  return run(words([0xc0079300, 0x10 | func, LO, HI, ...halves(reference), ...halves(mask), 4]), { sink }).result ===
    "done";
}

Deno.test("WAIT_REG_MEM compares unsigned, in all seven ways", () => {
  // Rows: function; columns: value below, equal to and above the reference 0x80000000.
  const expected = [
    [true, true, true],
    [true, false, false],
    [true, true, false],
    [false, true, false],
    [true, false, true],
    [false, true, true],
    [false, false, true],
  ];
  for (const [func, row] of expected.entries()) {
    const found = [0x7fffffff, 0x80000000, 0xffffffff].map((value) => wait32(func, value, 0x80000000));
    assertEquals(found, row, `function ${func}`);
    const found64 = [0x7fffffff_ffffffffn, 0x80000000_00000000n, 0x80000000_00000001n].map((value) =>
      wait64(func, value, 0x80000000_00000000n)
    );
    assertEquals(found64, row, `64-bit function ${func}`);
  }
});

Deno.test("the mask is applied to the value, not to the reference", () => {
  assertEquals(wait32(3, 0xabcd1234, 0x1234, 0xffff), true);
  assertEquals(wait32(3, 0xabcd1234, 0xabcd1234, 0xffff), false);
  assertEquals(wait32(3, 0x80000001, 0x80000000, 0x80000000), true);
  assertEquals(wait64(3, 0x12345678_9abcdef0n, 0x12345678_00000000n, 0xffffffff_00000000n), true);
  assertEquals(wait64(3, 0x12345678_9abcdef0n, 0x12345678_9abcdef0n, 0xffffffff_00000000n), false);
});

Deno.test("a wait of function always reads nothing", () => {
  const { sink, result } = run(
    words([0xc0053c00, 0x10, 0x100, 9, 1, 1, 4], [0xc0079300, 0x10, 0x100, 9, 1, 0, 1, 0, 4]),
  );
  assertEquals([result, sink.reads], ["done", []]);
});

Deno.test("a wait that does not hold blocks the queue, and says for what", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x100n, 7);
  const executor = new QueueExecutor(0x20, sink);
  executor.submit({
    queue: 0x20,
    words: words([0xc0053c00, 0x15, LO, HI, 9, 0xff, 4], [0xc0033700, 0x100, LO + 4, HI, 1]),
  });
  assertEquals(executor.step(), "progress", "the submission begins");
  assertEquals(executor.waiting, null);
  assertEquals(executor.step(), "blocked");
  const { waiting } = executor;
  assert(waiting !== null);
  const { source, ...rest } = waiting;
  assertEquals(rest, {
    queue: 0x20,
    address: BASE + 0x100n,
    bits: 32,
    compare: ">=",
    reference: 9n,
    mask: 0xffn,
    present: 7n,
  });
  assertEquals(source.errorPlace().fileOffset, 0);
  sink.poke(BASE + 0x100n, 8);
  assertEquals([executor.step(), executor.waiting?.present, executor.pending], ["blocked", 8n, 1]);
  assertEquals(sink.effects, []);
  sink.poke(BASE + 0x100n, 0x109);
  assertEquals(executor.step(), "progress");
  assertEquals(executor.waiting, null);
  assertEquals([executor.run(), sink.effects], ["done", ["write 0x200000104: 0x1"]]);
});

Deno.test("a 64-bit wait describes itself with its whole values", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x100n, 1, 2);
  const { executor } = run(words([0xc0079300, 0x06000113, LO, HI, 3, 4, 0xffffffff, 0xffff, 0x40]), { sink });
  const { waiting } = executor;
  assert(waiting !== null);
  assertEquals([waiting.bits, waiting.compare, waiting.reference, waiting.mask, waiting.present], [
    64,
    "==",
    0x4_0000_0003n,
    0xffff_ffff_ffffn,
    0x2_0000_0001n,
  ]);
});
