import { assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, GuestFaultError, HostError, InvalidInputError } from "../../src/errors.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import { validateSubmission } from "../../src/pm4/validate.ts";
import { BASE, GROUP_64, RecordingSink, run, split, words } from "./support.ts";

const [LO, HI] = split(BASE);
const note = (value: number) => [0xc0033700, 0x100, LO + 0x8000, HI, value];
const notes = (...values: number[]) => values.map((value) => `write 0x200008000: 0x${value.toString(16)}`);

Deno.test("each step executes one packet", () => {
  const sink = new RecordingSink();
  const executor = new QueueExecutor(0, sink);
  assertEquals([executor.step(), executor.pending], ["done", 0]);
  executor.submit({ queue: 0, words: words(note(1), note(2)) });
  assertEquals([executor.pending, sink.effects], [1, []]);
  assertEquals([executor.step(), sink.effects.length], ["progress", 0]);
  assertEquals([executor.step(), sink.effects.length], ["progress", 1]);
  assertEquals([executor.step(), sink.effects.length, executor.pending], ["progress", 2, 0]);
  assertEquals(executor.step(), "done");
});

Deno.test("submissions of a queue run in order, and empty ones are legal", () => {
  const sink = new RecordingSink();
  const executor = new QueueExecutor(0x20, sink);
  executor.submit({ queue: 0x20, words: words(note(1)) });
  executor.submit({ queue: 0x20, words: words() });
  executor.submit({ queue: 0x20, words: words(note(2)) });
  assertEquals([executor.pending, executor.run(), sink.effects, executor.pending], [3, "done", notes(1, 2), 0]);
});

Deno.test("registers persist from submission to submission, and differ from queue to queue", () => {
  const sink = new RecordingSink();
  const first = run(words(GROUP_64, [0xc0017600, 0x240, 1]), { sink, queue: 0x20 }).executor;
  const second = run(words([0xc0017600, 0x240, 2]), { sink, queue: 0x21 }).executor;
  run(words([0xc0031500, 1, 1, 1, 0x41]), { sink, executor: first, queue: 0x20 });
  assertEquals(sink.effects, ["dispatch 1 1 1 groups wave64"]);
  assertEquals([first.registers.get("COMPUTE_USER_DATA_0"), second.registers.get("COMPUTE_USER_DATA_0")], [1, 2]);
});

Deno.test("a graphics submission starts with primitive restart off", () => {
  const sink = new RecordingSink();
  const { executor } = run(words([0xc0017900, 0x24b, 1], [0xc0017900, 0x25b, 7]), { sink });
  assertEquals(executor.registers.get("GE_MULTI_PRIM_IB_RESET_EN"), 1);
  run(words([0xc0001000, 0]), { sink, executor });
  assertEquals([executor.registers.get("GE_MULTI_PRIM_IB_RESET_EN"), executor.registers.get("GE_CNTL")], [0, 7]);
});

Deno.test("resetState gives the next submission the state of a new queue", () => {
  const { executor } = run(words([0xc0017600, 0x240, 1], [0xc0016900, 0x202, 0x11]));
  executor.resetState();
  assertEquals([executor.registers.get("COMPUTE_USER_DATA_0"), executor.registers.get("CB_COLOR_CONTROL")], [
    0,
    0xcc0010,
  ]);
});

Deno.test("a bad packet at the end keeps everything before it from running", () => {
  const sink = new RecordingSink();
  const executor = new QueueExecutor(0, sink);
  const good = [...GROUP_64, ...note(1), 0xc0031500, 1, 1, 1, 0x41];
  assertThrows(
    () => executor.submit({ queue: 0, words: words(good, [0xc0012d00, 3, 2]) }),
    AnyAgcError,
    "DRAW_INDEX_AUTO",
  );
  assertEquals([executor.pending, executor.run(), sink.effects, sink.reads], [0, "done", [], []]);
  // The queue goes on with the next submission.
  executor.submit({ queue: 0, words: words(good) });
  assertEquals([executor.run(), sink.effects.length], ["done", 2]);
});

Deno.test("two queues wait for each other's labels and both finish", () => {
  const sink = new RecordingSink();
  const [a, b] = [0x100, 0x108];
  const wait = (offset: number, value: number) => [0xc0053c00, 0x13, LO + offset, HI, value, 0xffffffff, 4];
  const signal = (offset: number, value: number) => [0xc0064900, 0x528, 0x20000000, LO + offset, HI, value, 0, 0];
  const graphics = new QueueExecutor(0, sink), compute = new QueueExecutor(0x20, sink);
  graphics.submit({ queue: 0, words: words(note(1), signal(a, 1), wait(b, 1), note(3), signal(a, 2)) });
  compute.submit({ queue: 0x20, words: words(wait(a, 1), note(2), signal(b, 1), wait(a, 2), note(4)) });
  assertEquals(compute.run(), "blocked");
  assertEquals(graphics.run(), "blocked");
  assertEquals([graphics.waiting?.address, graphics.waiting?.queue], [BASE + 0x108n, 0]);
  assertEquals(compute.run(), "blocked");
  assertEquals(graphics.run(), "done");
  assertEquals(compute.run(), "done");
  assertEquals(sink.effects.filter((effect) => effect.startsWith("write")), notes(1, 2, 3, 4));
});

Deno.test("a wait inside an indirect buffer resumes there", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...note(1), 0xc0053c00, 0x13, LO + 0x100, HI, 5, 0xffffffff, 4, ...note(2));
  const { executor, result } = run(words([0xc0023f00, LO + 0x1000, HI, 17], note(3)), { sink });
  assertEquals([result, executor.waiting?.source.errorPlace().guestAddress], ["blocked", BASE + 0x1014n]);
  sink.poke(BASE + 0x100n, 5);
  assertEquals([executor.run(), sink.effects], ["done", notes(1, 2, 3)]);
});

Deno.test("an error while executing stops the queue for good, and names the packet", () => {
  const sink = new RecordingSink();
  const executor = new QueueExecutor(0x20, sink);
  executor.submit({
    queue: 0x20,
    file: "run.bin",
    fileOffset: 0x40,
    words: words(note(1), [0xc0033700, 0x100, 0, 9, 1], note(2)),
  });
  const error = assertThrows(() => executor.run(), GuestFaultError, "WRITE_DATA: no window holds 0x900000000");
  assertEquals([error.place.file, error.place.fileOffset, error.place.guestAddress], ["run.bin", 0x54, 0x9_0000_0000n]);
  assertEquals(error.place.words, [0xc0033700, 0x100, 0, 9, 1]);
  assertInstanceOf(error.cause, GuestFaultError);
  assertEquals(sink.effects, notes(1));
  assertEquals(assertThrows(() => executor.step(), GuestFaultError), error);
  assertEquals(sink.effects, notes(1));
});

Deno.test("errors of the host and of programming pass as they are", () => {
  for (const thrown of [new HostError("host.lost", "device lost"), new TypeError("a mistake")]) {
    const sink = new RecordingSink();
    sink.dispatch = () => {
      throw thrown;
    };
    const error = assertThrows(() => run(words(GROUP_64, [0xc0031500, 1, 1, 1, 0x41]), { sink }));
    assertEquals(error === thrown, true);
  }
});

Deno.test("queue numbers other than 0 and 0x20..0x57 are refused", () => {
  const sink = new RecordingSink();
  for (const queue of [1, 0x1f, 0x58, -1, 0.5]) {
    assertThrows(() => new QueueExecutor(queue, sink), InvalidInputError, "queue 0 (graphics) or to 0x20..0x57");
    assertThrows(() => validateSubmission({ queue, words: words() }, sink), InvalidInputError, "0x20..0x57");
  }
  assertEquals(new QueueExecutor(0x57, sink).kind, "compute");
  assertThrows(
    () => new QueueExecutor(0x20, sink).submit({ queue: 0x21, words: words() }),
    InvalidInputError,
    "another queue",
  );
});

Deno.test("a submission that was validated ahead runs from a copy of its words", () => {
  const sink = new RecordingSink();
  const stream = words(note(1));
  const validated = validateSubmission({ queue: 0, words: stream }, sink);
  stream[4] = 2;
  stream[0] = 0xc0012d00;
  const executor = new QueueExecutor(0, sink);
  executor.submit(validated);
  assertEquals([executor.run(), sink.effects], ["done", notes(1)]);
});

Deno.test("the predicate bit changes nothing, for no packet sets a predicate", () => {
  const { sink } = run(words(GROUP_64, [0xc0031501, 1, 1, 1, 0x41], [0xc0033701, 0x100, LO + 0x8000, HI, 1]));
  assertEquals(sink.effects, ["dispatch 1 1 1 groups wave64", ...notes(1)]);
});

Deno.test("a submission that is cut anywhere runs a whole number of packets or is refused", () => {
  const packets: number[][] = [
    GROUP_64,
    note(1),
    [0xc0031500, 1, 1, 1, 0x8041],
    [0x80000000],
    [0xc0044000, 0x10509, 0, 0, LO + 0x8008, HI],
    [0xc0055000, 0x40000000, 7, 0, LO + 0x8010, HI, 8],
    [0xc0064900, 0x528, 0x20000000, LO + 0x8018, HI, 1, 0, 0],
    [0xc0053c00, 0x10, LO, HI, 0, 0, 4],
    [0xc002102c, 0x6d617266, 0x65, 0],
    [0xc0004600, 0x407],
    note(2),
  ];
  const edges = new Set([0]);
  let total = 0;
  for (const packet of packets) edges.add(total += packet.length);
  const stream = words(...packets);
  for (let length = 0; length <= total; length++) {
    const sink = new RecordingSink();
    const executor = new QueueExecutor(0, sink);
    const submit = () => executor.submit({ queue: 0, words: stream.subarray(0, length) });
    if (edges.has(length)) {
      submit();
      assertEquals(executor.run(), "done", `${length} words`);
    } else {
      const error = assertThrows(submit, InvalidInputError);
      assertStringIncludes(error.message, "are left", `${length} words`);
      assertEquals([error.code, sink.effects], ["pm4.truncated", []]);
    }
  }
});
