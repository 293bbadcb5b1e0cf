import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { GuestFaultError } from "../../src/errors.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, STEP } from "../support/machine_code.ts";
import { dispatchDirect, releaseMem32, waitMemoryAtLeast64, waitMemoryEquals, writeData } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

/** A buffer of 64 ones that STEP works on, and two labels. */
function twoQueues() {
  const guest = new GuestProgram("queues"), code = guest.code(STEP);
  const data = guest.buffer(new Uint32Array(64).fill(1)), labels = guest.buffer(new Uint32Array(4));
  const step = (add: number) => [
    ...computeState({ code, userData: [...words64(data.address), add] }),
    ...dispatchDirect([1, 1, 1]),
  ];
  return { guest, data, step, first: labels.address, second: labels.address + 8n, labels };
}

for (const graphicsFirst of [true, false]) {
  const order = graphicsFirst ? "before" : "behind";
  guestTest(
    `two queues hand over to each other by labels, the graphics queue submitted ${order} the other`,
    (device, backing) => {
      const { guest, data, step, first, second } = twoQueues();
      const graphics = [
        waitMemoryEquals(first, 1), // behind the compute queue's first step
        step(20),
        releaseMem32(second, 2),
        waitMemoryEquals(first, 3), // behind its second
        step(40),
      ];
      const compute = [
        step(10),
        releaseMem32(first, 1),
        waitMemoryEquals(second, 2),
        step(30),
        releaseMem32(first, 3),
      ];
      if (graphicsFirst) guest.submit(0, ...graphics);
      guest.submit(0x20, ...compute);
      if (!graphicsFirst) guest.submit(0, ...graphics);
      using run = runGuestWell(device, guest.program, backing);
      const expected = [10, 20, 30, 40].reduce((x, add) => 3 * x + add, 1);
      assertEquals(run.words(data), new Uint32Array(64).fill(expected));
      assertEquals(run.result.labels.map(({ queue, value }) => [queue, value]), [[0x20, 1n], [0, 2n], [0x20, 3n]]);
      assertEquals(run.result.queues, graphicsFirst ? [0, 0x20] : [0x20, 0]);
      // The graphics queue waits for 3 at least; whether it waits for 1 depends on who comes first.
      assertEquals(run.result.waits.filter(({ reference }) => reference === 3n), [{
        queue: 0,
        address: first,
        reference: 3n,
      }]);
    },
  );
}

guestTest("a queue waits for what a dispatch of another queue stores, with 64 bits", (device, backing) => {
  const guest = new GuestProgram("store"), copy = guest.code(COPY);
  const source = guest.buffer(Uint32Array.of(0xffff_fff0, 1)), label = guest.buffer(new Uint32Array(2));
  const seen = guest.buffer(new Uint32Array(1));
  guest.submit(0x20, waitMemoryAtLeast64(label.address, 0x1_ffff_fff0n), writeData(seen.address, 0x5ee));
  guest.submit(
    0x57,
    computeState({
      code: copy,
      userData: [...words64(source.address), ...words64(label.address), 0],
      threads: [2, 1, 1],
    }),
    dispatchDirect([1, 1, 1]),
  );
  using run = runGuestWell(device, guest.program, backing);
  assertEquals(run.words(seen)[0], 0x5ee);
  assertEquals(run.result.waits, [{ queue: 0x20, address: label.address, reference: 0x1_ffff_fff0n }]);
});

guestTest("waits that nothing can end are reported, all of them, and what ran before them stays", (device, backing) => {
  const { guest, data, step, first, second } = twoQueues();
  guest.submit(0, step(5), waitMemoryEquals(first, 7), step(6));
  guest.submit(0x22, writeData(second, 1), waitMemoryEquals(second, 2), writeData(first, 7));
  using run = runGuest(device, guest.program, backing);
  const { error, outcome } = run.result;
  assertInstanceOf(error, GuestFaultError);
  assertEquals([outcome, error.code, error.exitCode], ["failed", "driver.wait-forever", 1]);
  for (const [queue, label, reference, present] of [["0x0", first, "0x7", "0x0"], ["0x22", second, "0x2", "0x1"]]) {
    assertStringIncludes(
      error.message,
      `queue ${queue} waits for [0x${label.toString(16)}] & 0xffffffff == ${reference}, it holds ${present}`,
    );
  }
  assertEquals(run.words(data), new Uint32Array(64).fill(8));
});

guestTest("a fault of one queue is reported though another waits for it", (device, backing) => {
  const { guest, step, first } = twoQueues(), copy = guest.code(COPY);
  guest.submit(0, waitMemoryEquals(first, 1), step(1));
  guest.submit(
    0x20,
    computeState({ code: copy, userData: [...words64(0x6_0000_0000n), ...words64(first), 0] }),
    dispatchDirect([1, 1, 1]),
    releaseMem32(first, 1),
  );
  using run = runGuest(device, guest.program, backing);
  assertEquals([run.result.error?.code, run.result.error?.place.queue], ["driver.memory-fault", 0x20]);
});
