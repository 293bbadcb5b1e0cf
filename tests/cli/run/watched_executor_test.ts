import { assertEquals, assertThrows } from "@std/assert";
import { forgetInterrupts, InterruptedError, watchInterrupts } from "../../../src/cli/interrupt.ts";
import { Progress } from "../../../src/cli/progress.ts";
import { countDispatches, WatchedExecutor } from "../../../src/cli/run/watched_executor.ts";
import type { ComputeDispatch, ComputeExecutor } from "../../../src/driver/executor.ts";
import { loadProgram } from "../../../src/guest/load_program.ts";
import { packetHeader } from "../../../src/pm4/mod.ts";
import { projectFile } from "../support.ts";

class CountingExecutor implements ComputeExecutor {
  readonly name = "counting";
  busy = false;
  calls: string[] = [];
  attach = () => void this.calls.push("attach");
  dispatch = () => void this.calls.push("dispatch");
  drain = () => void this.calls.push("drain");
  programs = () => [];
  deviceMs = () => 7;
  close = () => void this.calls.push("close");
}

Deno.test("dispatches are counted for the progress, and everything reaches the executor inside", () => {
  const inner = new CountingExecutor(), lines: string[] = [];
  let time = 0;
  const target = { terminal: false, columns: 80, write: (text: string) => void lines.push(text), now: () => time };
  const executor = new WatchedExecutor(inner, new Progress(target, "running", "dispatches", 2));
  const dispatch = {} as ComputeDispatch;
  executor.dispatch(dispatch);
  time = 1000;
  executor.dispatch(dispatch);
  executor.drain();
  executor.close();
  assertEquals(inner.calls, ["dispatch", "dispatch", "drain", "close"]);
  assertEquals([executor.name, executor.deviceMs()], ["counting", 7]);
  assertEquals(lines, ["running: 1 of 2 dispatches, 1 s, 1/s, 1 s left\n"]);
});

Deno.test("after a signal the next dispatch does not happen", async () => {
  const inner = new CountingExecutor(), state = { deferred: false, pending: 0 };
  await watchInterrupts(state);
  try {
    const executor = new WatchedExecutor(inner, new Progress(undefined, "running", "dispatches"));
    executor.dispatch({} as ComputeDispatch);
    state.pending = 2;
    assertThrows(() => executor.dispatch({} as ComputeDispatch), InterruptedError);
    assertEquals(inner.calls, ["dispatch"]);
  } finally {
    forgetInterrupts();
  }
});

Deno.test("dispatches of a program are counted from its streams, unless parts of them are elsewhere or conditional", () => {
  const program = loadProgram(projectFile("shaders/julia/program.json"));
  assertEquals(countDispatches(program), 1);
  const INDIRECT_BUFFER = 0x3f;
  const words = Uint32Array.of(packetHeader(INDIRECT_BUFFER, 4), 0, 0, 0);
  const more = { ...program.submissions[0], words };
  assertEquals(countDispatches({ ...program, submissions: [...program.submissions, more] }), undefined);
});
