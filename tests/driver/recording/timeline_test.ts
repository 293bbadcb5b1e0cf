import { assert, assertEquals, assertThrows } from "@std/assert";
import { RecordingExecutor, TRACKS } from "../../../src/driver/recording/recording_executor.ts";
import { Timeline } from "../../../src/driver/recording/timeline.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import { RefusedError } from "../../../src/errors.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { ComputeDispatch, ProgramReport } from "../../../src/driver/executor.ts";
import { computeState, GuestProgram } from "../../support/guest_program.ts";
import { STEP } from "../../support/machine_code.ts";
import { dispatchDirect, waitMemoryEquals, writeData } from "../../support/packets.ts";
import { FakeExecutor } from "../fake_executor.ts";

/** Runs a program with a recording around an executor that does nothing. */
function record(guest: GuestProgram, executor = new FakeExecutor()) {
  const timeline = new Timeline(), recording = new RecordingExecutor(executor, timeline);
  const result = runProgram(guest.program, recording, new GuestMemory(new ArrayAllocator()), timeline);
  const names = (track: string) => timeline.spans.filter((span) => span.track === track).map(({ name }) => name);
  return { result, timeline, recording, names };
}

/** A queue that dispatches twice and writes a label, which another one waits for. */
function twoQueues() {
  const guest = new GuestProgram("recorded"), code = guest.code(STEP), label = guest.buffer(new Uint32Array(1));
  guest.submit(0, waitMemoryEquals(label.address, 7));
  guest.submit(
    0x20,
    computeState({ code, userData: [] }),
    dispatchDirect([1, 1, 1]),
    dispatchDirect([2, 1, 1]),
    writeData(label.address, 7),
  );
  return { guest, code, label };
}

Deno.test("a run's queues, waits, dispatches and drains are spans, each within the run", () => {
  const { guest, label } = twoQueues();
  const { result, timeline, names } = record(guest);
  assertEquals(result.outcome, "passed");
  const wait = `waits for 0x${label.address.toString(16)}`;
  assertEquals(names("queue 0x0"), ["packets", wait, "packets"]);
  assertEquals(names("queue 0x20"), ["packets"]);
  assertEquals(names(TRACKS.host), ["make memory reachable", "dispatch", "dispatch", "wait for the device"]);
  assertEquals(names(TRACKS.device), ["2 dispatches"]);
  for (const { startMs, endMs } of timeline.spans) assert(0 <= startMs && startMs <= endMs);
  const [waited] = timeline.spans.filter(({ name }) => name === wait);
  const [worked] = timeline.spans.filter(({ track }) => track === "queue 0x20");
  assert(waited.startMs <= worked.startMs && worked.endMs <= waited.endMs);
});

Deno.test("a program that is new is a recompile and a pipeline, once, and its module is kept", () => {
  const { guest, code } = twoQueues();
  const report = { address: code, words: 9, instructions: 3, recompileMs: 2, createMs: 3 } as ProgramReport;
  class Compiling extends FakeExecutor {
    override programs = () => [report];
    modules = () => new Map([[report, Uint32Array.of(1, 2)]]);
  }
  const { timeline, recording, names } = record(guest, new Compiling());
  assertEquals([names(TRACKS.recompile).length, names(TRACKS.pipelines).length], [1, 1]);
  const [recompile] = timeline.spans.filter(({ track }) => track === TRACKS.recompile);
  const [create] = timeline.spans.filter(({ track }) => track === TRACKS.pipelines);
  assertEquals(Math.round((recompile.endMs - recompile.startMs) * 1e6), 2e6);
  assertEquals(Math.round((create.endMs - create.startMs) * 1e6), 3e6);
  assertEquals(create.startMs, recompile.endMs);
  assertEquals(recording.kept.get(report), Uint32Array.of(1, 2));
});

Deno.test("a refused dispatch and the turn that it stopped are spans that say so", () => {
  class Refusing extends FakeExecutor {
    override dispatch(_: ComputeDispatch): void {
      throw new RefusedError("test.refused", "not this one");
    }
  }
  const { result, timeline, names } = record(twoQueues().guest, new Refusing());
  assertEquals(result.outcome, "failed");
  assertEquals(names("queue 0x20"), ["packets, stopped"]);
  assertEquals(names("queue 0x0").at(-1)?.endsWith(", forever"), true);
  assertEquals(names(TRACKS.host).at(-1), "dispatch refused");
  assert(timeline.spans.some(({ detail }) => detail?.endsWith("not this one")));
});

Deno.test("a failed drain is a span, and its error goes on", () => {
  const executor = new FakeExecutor(() => {
    throw new RefusedError("test.failed", "it broke");
  });
  const timeline = new Timeline(), recording = new RecordingExecutor(executor, timeline);
  recording.dispatch({ program: { address: 0n }, userData: new Uint32Array() } as ComputeDispatch);
  assertThrows(() => recording.drain(), RefusedError, "it broke");
  const [span] = timeline.spans.filter(({ track }) => track === TRACKS.device);
  assertEquals([span.name, span.detail], ["1 dispatch, failed", "it broke"]);
});
