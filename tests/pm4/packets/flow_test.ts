import { assertEquals, assertThrows } from "@std/assert";
import { InvalidInputError, RefusedError } from "../../../src/errors.ts";
import { QueueExecutor } from "../../../src/pm4/execute.ts";
import { checkSubmission, MAX_NESTING } from "../../../src/pm4/validate.ts";
import { BASE, RecordingSink, run, split, words } from "../support.ts";

const [LO, HI] = split(BASE);
/** WRITE_DATA of `value` to BASE + 0x8000. */
const note = (value: number) => [0xc0033700, 0x100, LO + 0x8000, HI, value];
/** The effects that `note`s with these values have. */
const notes = (...values: number[]) => values.map((value) => `write 0x200008000: 0x${value.toString(16)}`);
/** INDIRECT_BUFFER of `count` words at BASE + `offset`. */
const call = (offset: number, count: number, flags = 0) => [0xc0023f00, LO + offset, HI, count | flags];
const CHAIN = 1 << 20;

Deno.test("COND_EXEC skips what it guards when the word is zero, and only then", () => {
  for (const [value, expected] of [[0, notes(3)], [1, notes(1, 2, 3)], [0x80000000, notes(1, 2, 3)]] as const) {
    const sink = new RecordingSink();
    sink.poke(BASE + 0x100n, value);
    const stream = words([0xc0032200, LO + 0x100, HI, 0, 10], note(1), note(2), note(3));
    assertEquals(run(stream, { sink }).sink.effects, expected, `word ${value}`);
  }
});

Deno.test("COND_EXEC reads its word when it executes", () => {
  const sink = new RecordingSink();
  const stream = words(
    [0xc0033700, 0x100, LO + 0x100, HI, 1],
    [0xc0032200, LO + 0x100, HI, 0, 5],
    note(1),
    [0xc0033700, 0x100, LO + 0x100, HI, 0],
    [0xc0032200, LO + 0x100, HI, 0, 5],
    note(2),
    note(3),
  );
  run(stream, { sink });
  assertEquals(sink.effects.filter((effect) => effect.includes("8000")), notes(1, 3));
});

Deno.test("COND_EXEC may guard nothing, everything that is left, and other COND_EXECs", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x100n, 1, 0);
  const guard = (offset: number, count: number) => [0xc0032200, LO + offset, HI, 0, count];
  run(words(guard(0x104, 0), note(1), guard(0x100, 15), guard(0x104, 5), note(2), note(3), guard(0x104, 5), note(4)), {
    sink,
  });
  assertEquals(sink.effects, notes(1, 3));
});

Deno.test("COND_EXEC works on compute queues", () => {
  const { sink } = run(words([0xc0032200, LO, HI, 0, 5], note(1), note(2)), { queue: 0x20 });
  assertEquals(sink.effects, notes(2));
});

Deno.test("INDIRECT_BUFFER executes the buffer and comes back", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...note(2), ...call(0x2000, 5), ...note(4));
  sink.poke(BASE + 0x2000n, ...note(3));
  const { executor } = run(words(note(1), call(0x1000, 14), note(5), call(0x2000, 5)), { sink });
  assertEquals(sink.effects, notes(1, 2, 3, 4, 5, 3));
  assertEquals(executor.pending, 0);
});

Deno.test("registers that an indirect buffer sets stay set", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, 0xc0017600, 0x240, 7);
  const { executor } = run(words(call(0x1000, 3)), { sink, queue: 0x20 });
  assertEquals(executor.registers.get("COMPUTE_USER_DATA_0"), 7);
});

Deno.test("an empty indirect buffer is passed over", () => {
  assertEquals(run(words(call(0x1000, 0), note(1))).sink.effects, notes(1));
});

Deno.test("a chain replaces the rest of its buffer, which may then be anything", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...note(2), ...call(0x2000, 5, CHAIN), 0x00000000, 0x12345678);
  sink.poke(BASE + 0x2000n, ...note(3));
  run(words(note(1), call(0x1000, 11), note(4)), { sink });
  assertEquals(sink.effects, notes(1, 2, 3, 4), "the caller goes on");
  sink.effects.length = 0;
  run(words(note(1), call(0x2000, 5, CHAIN), [0xc0012d00, 3, 2]), { sink });
  assertEquals(sink.effects, notes(1, 3), "the submission's own rest is dropped");
});

Deno.test("a chain of no words ends its buffer", () => {
  assertEquals(run(words(note(1), call(0x2000, 0, CHAIN), note(2))).sink.effects, notes(1));
});

Deno.test("behind a chain that COND_EXEC may skip, the rest is validated", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x2000n, ...note(3));
  const guarded = words([0xc0032200, LO + 0x100, HI, 0, 4], call(0x2000, 5, CHAIN), [0xc0012d00, 3, 2]);
  assertThrows(() => run(guarded, { sink }), RefusedError, "DRAW_INDEX_AUTO at word 0x9");
  const stream = words([0xc0032200, LO + 0x100, HI, 0, 4], call(0x2000, 5, CHAIN), note(4));
  assertEquals(run(stream, { sink }).sink.effects, notes(4));
  sink.effects.length = 0;
  sink.poke(BASE + 0x100n, 1);
  assertEquals(run(stream, { sink }).sink.effects, notes(3));
});

Deno.test("a bad packet in an indirect buffer keeps the whole submission from running", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...note(2), ...call(0x2000, 8));
  sink.poke(BASE + 0x2000n, ...note(3), 0xc0012d00, 3, 2);
  const error = assertThrows(
    () => run(words(note(1), call(0x1000, 9)), { sink, queue: 0x20 }),
    RefusedError,
    "DRAW_INDEX_AUTO at word 0x5 of the indirect buffer at 0x200002000: drawing",
  );
  assertEquals(error.place, { guestAddress: BASE + 0x2014n, queue: 0x20, words: [0xc0012d00, 3, 2] });
  assertEquals(sink.effects, []);
});

Deno.test("a COND_EXEC must end inside its own indirect buffer", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, 0xc0032200, LO, HI, 0, 5);
  assertThrows(() => run(words(call(0x1000, 5), note(1)), { sink }), InvalidInputError, "guards words up to 0xa");
});

Deno.test("buffers that enter themselves are refused", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...call(0x2000, 4));
  sink.poke(BASE + 0x2000n, ...call(0x1000, 4, CHAIN));
  assertThrows(() => run(words(call(0x1000, 4)), { sink }), RefusedError, "the buffer enters itself");
});

Deno.test("indirect buffers nest to the limit and no deeper", () => {
  const sink = new RecordingSink();
  const level = (i: number) => 0x1000 + i * 0x100;
  const build = (depth: number) => {
    for (let i = 0; i < depth - 1; i++) sink.poke(BASE + BigInt(level(i)), ...call(level(i + 1), 5), 0x80000000);
    sink.poke(BASE + BigInt(level(depth - 1)), ...note(depth));
    return words(call(level(0), 5));
  };
  assertEquals(run(build(MAX_NESTING), { sink }).sink.effects, notes(MAX_NESTING));
  assertThrows(() => run(build(MAX_NESTING + 1), { sink }), RefusedError, `nest deeper than ${MAX_NESTING}`);
});

Deno.test("chains may be longer than nesting allows, but not endless", () => {
  const sink = new RecordingSink();
  const build = (length: number) => {
    for (let i = 0; i < length; i++) {
      sink.poke(BASE + BigInt(0x1000 + i * 0x20), ...call(0x1000 + (i + 1) * 0x20, 5, CHAIN));
    }
    sink.poke(BASE + BigInt(0x1000 + length * 0x20), ...note(9));
    return words(call(0x1000, 4));
  };
  for (let i = 0; i < 300; i++) sink.poke(BASE + BigInt(0x1000 + i * 0x20 + 0x10), 0x80000000);
  assertEquals(run(build(200), { sink }).sink.effects, notes(9));
  assertThrows(() => run(build(300), { sink }), RefusedError, "more than 256 indirect buffers follow");
});

Deno.test("the words that a submission runs are capped, however they are reached", () => {
  // Each buffer enters the next one 16 times: 16^7 * 15 words in the end.
  const sink = new RecordingSink();
  const level = (i: number) => 0x1000 + i * 0x200;
  for (let i = 0; i < 7; i++) {
    sink.poke(BASE + BigInt(level(i)), ...Array.from({ length: 16 }, () => call(level(i + 1), 64)).flat());
  }
  sink.poke(BASE + BigInt(level(7)), ...Array(64).fill(0x80000000));
  const { problems } = checkSubmission({ queue: 0, words: words(call(level(0), 64)) }, sink);
  assertEquals(problems.length > 0, true);
  assertEquals(problems[0].reason, "the submission runs more than 67108864 words");
});

Deno.test("an indirect buffer that has changed since validation is validated again, and runs as it is now", () => {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, ...note(1), ...note(1));
  // The stream itself changes the second note's value.
  run(words([0xc0033700, 0x100, LO + 0x1024, HI, 2], call(0x1000, 10)), { sink });
  assertEquals(sink.effects.slice(1), notes(1, 2));

  const executor = new QueueExecutor(0, sink);
  executor.submit({ queue: 0, words: words(call(0x1000, 10)) });
  sink.poke(BASE + 0x1014n, 0xc0012d00, 3, 2, 0x80000000, 0x80000000);
  const before = sink.effects.length;
  assertThrows(() => executor.run(), RefusedError, "DRAW_INDEX_AUTO at word 0x5 of the indirect buffer at 0x200001000");
  assertEquals(sink.effects.length, before, "nothing of the changed buffer ran");
});

Deno.test("CLEAR_STATE gives the CONTEXT registers their defaults", () => {
  const { executor } = run(words([0xc0016900, 0x202, 0x11], [0xc0017600, 0x240, 3], [0xc0001200, 0]));
  assertEquals([executor.registers.get("CB_COLOR_CONTROL"), executor.registers.get("COMPUTE_USER_DATA_0")], [
    0xcc0010,
    3,
  ]);
});

Deno.test("CONTEXT_CONTROL that turns loading and shadowing off has no effect", () => {
  const { sink, executor } = run(words([0xc0012800, 0x80000000, 0x80000000], [0xc0012800, 0, 0]));
  assertEquals([sink.effects, sink.reads, executor.pending], [[], [], 0]);
});
