import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { GuestFaultError } from "../../src/errors.ts";
import { computeState, type GuestBuffer, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, STEP } from "../support/machine_code.ts";
import { dispatchDirect, dispatchIndirect, dispatchIndirectOffset, setDispatchBase } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

/** A program that runs STEP on `data` with a size that lies in `sizes`; each group of 64 words becomes 3 * 1 + 5. */
function stepProgram(sizes: readonly number[], submission: (step: number[], sizes: GuestBuffer) => number[][]) {
  const guest = new GuestProgram("indirect");
  const code = guest.code(STEP), table = guest.buffer(Uint32Array.from(sizes));
  const data = guest.buffer(new Uint32Array(256).fill(1));
  const step = computeState({ code, userData: [...words64(data.address), 5] });
  guest.submit(0, ...submission(step, table));
  return { guest, data, table };
}

/** 256 words, of which the first `done` are 8, the others 1. */
function stepped(done: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: 256 }, (_, i) => i < done ? 8 : 1);
}

guestTest("the size of a dispatch lies at an address, or at an offset from the base", (device, backing) => {
  const byAddress = stepProgram([9, 9, 3, 1, 1], (step, sizes) => [step, dispatchIndirect(sizes.address + 8n)]);
  using first = runGuestWell(device, byAddress.guest.program, backing);
  assertEquals(first.words(byAddress.data), stepped(192));

  const byOffset = stepProgram([9, 9, 2, 1, 1], (step, sizes) => [
    setDispatchBase(sizes.address),
    step,
    dispatchIndirectOffset(8),
  ]);
  using second = runGuestWell(device, byOffset.guest.program, backing);
  assertEquals(second.words(byOffset.data), stepped(128));
});

guestTest(
  "the size of a dispatch may come from a dispatch before it, may be zero, and may count threads",
  (device, backing) => {
    // COPY adds its s4 to what it copies: 1, 0, 0 become 2, 1, 1.
    const guest = new GuestProgram("chained");
    const copier = guest.code(COPY), code = guest.code(STEP);
    const source = guest.buffer(Uint32Array.of(1, 0, 0)), sizes = guest.buffer(new Uint32Array(3));
    const data = guest.buffer(new Uint32Array(256).fill(1));
    guest.submit(
      0,
      computeState({
        code: copier,
        userData: [...words64(source.address), ...words64(sizes.address), 1],
        threads: [3, 1, 1],
      }),
      dispatchDirect([1, 1, 1]),
      computeState({ code, userData: [...words64(data.address), 5] }),
      dispatchIndirect(sizes.address),
    );
    using run = runGuestWell(device, guest.program, backing);
    assertEquals(run.words(data), stepped(128));
    assertEquals(run.result.dispatches, 2);

    for (const sizes of [[0, 1, 1], [1, 0, 1], [1, 1, 0]]) {
      const empty = stepProgram(sizes, (step, table) => [step, dispatchIndirect(table.address)]);
      using run = runGuestWell(device, empty.guest.program, backing);
      assertEquals(run.words(empty.data), stepped(0));
      assertEquals(run.result.dispatches, 0);
    }

    const threads = stepProgram(
      [100, 1, 1],
      (step, table) => [step, dispatchIndirect(table.address, { threads: true })],
    );
    using partial = runGuestWell(device, threads.guest.program, backing);
    assertEquals(partial.words(threads.data), stepped(100));
  },
);

guestTest("a size that lies outside of memory, or no base, is the guest's fault", (device, backing) => {
  const outside = stepProgram([1, 1, 1], (step) => [step, dispatchIndirect(0x9_0000_0000n)]);
  using first = runGuest(device, outside.guest.program, backing);
  assertInstanceOf(first.result.error, GuestFaultError);
  assertStringIncludes(first.result.error.message, "0x900000000, 12 bytes");
  assertEquals(first.result.error.place.queue, 0);

  const baseless = stepProgram([1, 1, 1], (step) => [step, dispatchIndirectOffset(0)]);
  using second = runGuest(device, baseless.guest.program, backing);
  assertEquals(second.result.error?.code, "pm4.dispatch-base");
  assertEquals(second.words(baseless.data), stepped(0));
});
