import { assertEquals } from "@std/assert";
import { computeProgram, computeUserData } from "../../src/pm4/compute_program.ts";
import type { DispatchState } from "../../src/pm4/sink.ts";
import { validateSubmission } from "../../src/pm4/validate.ts";
import { DispatchWalk } from "../../src/pm4/walk.ts";
import { BASE, GROUP_64, RecordingSink, run, split, words } from "./support.ts";

const [LO, HI] = split(BASE);
const DISPATCH = [0xc0031500, 2, 3, 4, 0x41], INDIRECT = [0xc0021600, LO + 0x200, HI, 0x41];
const userData = (value: number) => [0xc0017600, 0x240, value];
const label = (offset: number, value: number) => [0xc0053c00, 0x13, LO + offset, HI, value, 0xffffffff, 4];
const write = (offset: number, value: number) => [0xc0033700, 0x100, LO + offset, HI, value];

/** What a walk sees of a dispatch. */
const seen = (state: DispatchState, size: { x: number; y: number; z: number } | undefined) => [
  computeUserData(state.registers)[0],
  computeProgram(state.registers).numThreadsX,
  state.waveSize,
  size === undefined ? "indirect" : `${size.x}x${size.y}x${size.z}`,
];

function walk(sink: RecordingSink, walker: DispatchWalk, queue: number, stream: Uint32Array) {
  const found: unknown[] = [];
  const submission = validateSubmission({ queue, words: stream }, sink);
  walker.walk(submission, (state, size) => found.push(seen(state, size)));
  return found;
}

Deno.test("a walk finds the dispatches of a submission with their registers, and writes nothing", () => {
  const sink = new RecordingSink();
  const stream = words(GROUP_64, userData(7), label(0x100, 1), DISPATCH, write(0x300, 9), userData(8), INDIRECT);
  const found = walk(sink, new DispatchWalk(0x20, sink), 0x20, stream);
  assertEquals(found, [[7, 64, 64, "2x3x4"], [8, 64, 64, "indirect"]]);
  assertEquals([sink.effects, sink.peek(BASE + 0x300n)], [[], [0]]);
});

Deno.test("what a walk finds is what executing the submissions dispatches", () => {
  const sink = new RecordingSink(), walker = new DispatchWalk(0x20, sink), executed: unknown[] = [];
  // Indirect buffers: one that comes back, and one that is chained.
  sink.poke(BASE + 0x1000n, ...userData(2), ...DISPATCH);
  sink.poke(BASE + 0x2000n, ...userData(3), ...DISPATCH);
  const call = [0xc0023f00, LO + 0x1000, HI, 8], chain = [0xc0023f00, LO + 0x2000, HI, 8 | 1 << 20];
  sink.poke(BASE + 0x100n, 1);
  const guard = (offset: number, count: number) => [0xc0032200, LO + offset, HI, 0, count];
  const first = words(GROUP_64, userData(1), DISPATCH, call, DISPATCH, chain);
  // Registers go on from one submission to the next; what is guarded by a zero is left out.
  const second = words(DISPATCH, guard(0x100, 3), userData(4), DISPATCH, guard(0x108, 3), userData(5), DISPATCH);
  const found = [...walk(sink, walker, 0x20, first), ...walk(sink, walker, 0x20, second)];
  sink.dispatch = (command) => void executed.push(seen(command, command));
  const { executor } = run(first, { sink, queue: 0x20 });
  run(second, { sink, executor, queue: 0x20 });
  assertEquals(found, executed);
  assertEquals(found.map((dispatch) => (dispatch as number[])[0]), [1, 2, 2, 3, 3, 4, 4]);
});

Deno.test("a walk ends at what it cannot read, and goes on with the next submission", () => {
  const sink = new RecordingSink(), walker = new DispatchWalk(0x20, sink);
  const unmapped = [0xc0032200, 0x1000, 0x7, 0, 0];
  assertEquals(walk(sink, walker, 0x20, words(GROUP_64, userData(1), DISPATCH, unmapped, DISPATCH)).length, 1);
  assertEquals(walk(sink, walker, 0x20, words(DISPATCH)), [[1, 64, 64, "2x3x4"]]);
});
