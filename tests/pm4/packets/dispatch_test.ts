import { assertEquals, assertThrows } from "@std/assert";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { BASE, GROUP_64, run, split, words } from "../support.ts";

Deno.test("DISPATCH_DIRECT gives dimensions, wave size and thread dimensions to the sink", () => {
  const { sink, executor } = run(words(
    GROUP_64,
    [0xc0031500, 3, 2, 1, 0x8041],
    [0xc0031502, 5, 1, 1, 0x0041],
    [0xc0031500, 100, 1, 1, 0x8061],
    [0xc0031500, 7, 1, 1, 0xa061],
  ));
  assertEquals(sink.effects, [
    "dispatch 3 2 1 groups wave32",
    "dispatch 5 1 1 groups wave64",
    "dispatch 100 1 1 threads wave32",
    "dispatch 7 1 1 threads wave32",
  ]);
  assertEquals(sink.dispatches.map(({ initiator }) => initiator), [0x8041, 0x41, 0x8061, 0xa061]);
  assertEquals(sink.dispatches[0].registers === executor.registers, true);
  assertEquals(sink.dispatches[1].source.errorPlace(), {
    fileOffset: 40,
    queue: 0,
    words: [0xc0031502, 5, 1, 1, 0x41],
  });
});

Deno.test("an empty dispatch does not reach the sink", () => {
  const { sink } = run(words([0xc0031500, 0, 1, 1, 0x41], [0xc0031500, 1, 0, 1, 0x41], [0xc0031500, 1, 1, 0, 0x41]));
  assertEquals(sink.effects, []);
});

Deno.test("a dispatch needs threads in its groups", () => {
  for (const [group, name] of [[[0, 1, 1], "X"], [[1, 0x10000, 1], "Y"], [[1, 1, 0], "Z"]] as const) {
    assertThrows(
      () => run(words([0xc0037600, 0x207, ...group], [0xc0031500, 1, 1, 1, 0x41])),
      GuestFaultError,
      `COMPUTE_NUM_THREAD_${name} = 0`,
    );
  }
});

Deno.test("a dispatch that starts at another group is refused with the register's value", () => {
  const error = assertThrows(
    () => run(words(GROUP_64, [0xc0037600, 0x204, 0, 0x20, 0], [0xc0031500, 1, 1, 1, 0x41]), { queue: 0x21 }),
    RefusedError,
    "COMPUTE_START_Y = 0x20",
  );
  assertEquals([error.place.queue, error.place.fileOffset], [0x21, 40]);
});

Deno.test("DISPATCH_INDIRECT takes an address, or an offset from SET_BASE", () => {
  const [lo, hi] = split(BASE + 0x100n);
  const { sink } = run(
    words(
      GROUP_64,
      [0xc0021600, lo, hi, 0x8041],
      [0xc0021102, 1, lo, hi],
      [0xc0011600, 0x24, 0x61],
      // The base of draws is another one.
      [0xc0021100, 1, 0x8000, hi],
      [0xc0011602, 0, 0x41],
    ),
    { queue: 0x20 },
  );
  assertEquals(sink.effects, [
    "dispatch at 0x200000100 groups wave32",
    "dispatch at 0x200000124 threads wave64",
    "dispatch at 0x200000100 groups wave64",
  ]);
  assertEquals(sink.reads, [], "the arguments are the sink's to read");
});

Deno.test("the dispatch base persists from submission to submission", () => {
  const [lo, hi] = split(BASE + 0x200n);
  const { sink, executor } = run(words([0xc0021102, 1, lo, hi], GROUP_64));
  run(words([0xc0011600, 8, 0x41]), { sink, executor });
  assertEquals(sink.effects, ["dispatch at 0x200000208 groups wave64"]);
});

Deno.test("DISPATCH_INDIRECT with an offset needs a base", () => {
  assertThrows(() => run(words(GROUP_64, [0xc0011600, 0, 0x41])), GuestFaultError, "no SET_BASE has set it");
});

Deno.test("high addresses of arguments are sign-extended", () => {
  const { sink } = run(words(GROUP_64, [0xc0021600, 0x1000, 0x8000, 0x41]));
  assertEquals(sink.indirectDispatches[0].address, 0xffff_8000_0000_1000n);
});

Deno.test("an indirect dispatch checks the same registers as a direct one", () => {
  assertThrows(() => run(words([0xc0021600, 0x100, 2, 0x41])), GuestFaultError, "COMPUTE_NUM_THREAD_X = 0");
});
