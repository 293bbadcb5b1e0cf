import { assertEquals, assertThrows } from "@std/assert";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { QueueExecutor } from "../../../src/pm4/execute.ts";
import { RegisterState } from "../../../src/pm4/registers.ts";
import { RecordingSink, run, words } from "../support.ts";

Deno.test("fillers and NOPs do nothing, whatever their bodies hold", () => {
  const stale = [0xc00f1000, ...Array.from({ length: 16 }, (_, i) => 0xc0031500 + i)];
  const { sink, result, executor } = run(words(0x80000000, 0xffff1000, stale, [0xc0001003, 0x12345678]));
  assertEquals([result, sink.effects, sink.reads, executor.pending], ["done", [], [], 0]);
});

Deno.test("DISPATCH_RESET gives the queue the state of a new one", () => {
  const sink = new RecordingSink();
  const { executor } = run(
    words(
      [0xc0017600, 0x240, 1],
      [0xc0016900, 0x200, 2],
      [0xc0017900, 0x242, 3],
      [0xc0001068, 1],
      [0xc0021102, 1, 0x100, 2],
      [0xc0001024, 0],
    ),
    { sink },
  );
  const fresh = new RegisterState();
  assertEquals(executor.registers.sh, fresh.sh);
  assertEquals(executor.registers.context, fresh.context);
  assertEquals(executor.registers.uconfig, fresh.uconfig);
  // The base address and the pushed context are forgotten too.
  assertThrows(() => run(words([0xc0001068, 2]), { sink, executor }), GuestFaultError, "nothing was pushed");
  const other = new QueueExecutor(0x20, sink);
  run(words([0xc0021102, 1, 0x100, 2], [0xc0001024, 0]), { queue: 0x20, sink, executor: other });
  assertThrows(
    () => run(words([0xc0011600, 0, 0x41]), { queue: 0x20, sink, executor: other }),
    GuestFaultError,
    "no SET_BASE",
  );
});

Deno.test("markers reach the sink with their text", () => {
  // "frame" NUL, little endian, then what the buffer held.
  const { sink } = run(words([0xc002102c, 0x6d617266, 0x00000065, 0xffffffff], [0xc0001030, 0]));
  assertEquals(sink.effects, ["marker frame", "marker end"]);
});

Deno.test("CONTEXT_STATE clears, pushes and pops the CONTEXT registers and no others", () => {
  const executor = new QueueExecutor(0, new RecordingSink());
  const { registers } = executor;
  const step = (...stream: number[][]) => run(words(...stream), { executor });
  step([0xc0016900, 0x200, 0x76], [0xc0017600, 0x240, 5], [0xc0001068, 1]);
  assertEquals(registers.get("DB_DEPTH_CONTROL"), 0x76, "push keeps the values");
  step([0xc0016900, 0x200, 0x16], [0xc0016900, 0x202, 0x11]);
  step([0xc0001068, 0]);
  assertEquals([registers.get("DB_DEPTH_CONTROL"), registers.get("CB_COLOR_CONTROL")], [0, 0xcc0010], "clear");
  step([0xc0017600, 0x240, 6], [0xc0001068, 2]);
  assertEquals([registers.get("DB_DEPTH_CONTROL"), registers.get("COMPUTE_USER_DATA_0")], [0x76, 6], "pop");
  step([0xc0001068, 3]);
  assertEquals(registers.get("DB_DEPTH_CONTROL"), 0, "push and clear");
  step([0xc0001068, 2]);
  assertEquals(registers.get("DB_DEPTH_CONTROL"), 0x76, "pop again");
});

Deno.test("CONTEXT_STATE has one level", () => {
  assertThrows(() => run(words([0xc0001068, 1], [0xc0001068, 1])), RefusedError, "pushes twice");
  assertThrows(() => run(words([0xc0001068, 2])), GuestFaultError, "nothing was pushed");
});
