import { assertEquals, assertInstanceOf } from "@std/assert";
import { RefusedError } from "../../src/errors.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, STEP } from "../support/machine_code.ts";
import { acquireMem, computeFlush, dispatchDirect, dmaCopy, dmaFill, writeData } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

/** 3 * x + add, `count` times. */
function steps(value: number, adds: readonly number[]): number {
  return adds.reduce((x, add) => Math.imul(x, 3) + add >>> 0, value);
}

guestTest("hundreds of dispatches in one submission each see what those before them wrote", (device, backing) => {
  const guest = new GuestProgram("steps"), code = guest.code(STEP);
  const source = Uint32Array.from({ length: 128 }, (_, i) => i * 0x0101_0101), data = guest.buffer(source);
  const adds = Array.from({ length: 300 }, (_, i) => i * 7 + 1);
  guest.submit(
    0,
    ...adds.flatMap((add) => [
      computeState({ code, userData: [...words64(data.address), add] }),
      dispatchDirect([2, 1, 1]),
    ]),
  );
  using run = runGuestWell(device, guest.program, backing);
  assertEquals(run.words(data), source.map((word) => steps(word, adds)));
  assertEquals(run.result.dispatches, 300);
  assertEquals(run.result.programs.map(({ dispatches }) => dispatches), [300]);
});

guestTest("writes of the command processor lie between the dispatches before and behind them", (device, backing) => {
  const guest = new GuestProgram("mixed"), code = guest.code(STEP);
  const data = guest.buffer(new Uint32Array(64).fill(1)), copy = guest.buffer(new Uint32Array(64));
  const state = (add: number) => computeState({ code, userData: [...words64(data.address), add] });
  const once = dispatchDirect([1, 1, 1]);
  guest.submit(
    0,
    [...state(5), ...once], // 8
    writeData(data.address, 100, 101), // words 0 and 1
    [...state(2), ...once], // 26; 302, 305
    dmaCopy(copy.address, data.address, 256),
    dmaFill(data.address + 128n, 128, 7), // words 32 to 63
    [...state(0), ...once],
  );
  using run = runGuestWell(device, guest.program, backing);
  const copied = new Uint32Array(64).fill(26);
  copied.set([302, 305]);
  assertEquals(run.words(copy), copied);
  const final = copied.map((word, i) => 3 * (i < 32 ? word : 7));
  assertEquals(run.words(data), final);
});

/** A program that copies code over the code of a program at `target`, and then runs that. */
function selfWriting(between: number[], runsBefore: boolean) {
  const guest = new GuestProgram("self-writing");
  const padded = new Uint32Array(64);
  padded.set(STEP);
  padded[STEP.indexOf(0xd7460001)] = 0x7e020287; // v_mov_b32_e32 v1, 7, in place of 3 * x
  padded[STEP.indexOf(0xd7460001) + 1] = 0xbf800000; // s_nop 0
  const copier = guest.code(COPY), template = guest.buffer(padded);
  const target = guest.code(STEP, Permission.All);
  const data = guest.buffer(new Uint32Array(64).fill(1));
  const step = computeState({ code: target, userData: [...words64(data.address), 5] });
  guest.submit(
    0,
    runsBefore ? [...step, ...dispatchDirect([1, 1, 1])] : [],
    computeState({ code: copier, userData: [...words64(template.address), ...words64(target), 0] }),
    dispatchDirect([1, 1, 1]),
    between,
    [...step, ...dispatchDirect([1, 1, 1])],
  );
  return { guest, data };
}

guestTest("code that a dispatch writes is executed after the instruction caches are invalidated", (device, backing) => {
  for (const runsBefore of [false, true]) {
    const { guest, data } = selfWriting([...computeFlush(), ...acquireMem(true)], runsBefore);
    using run = runGuestWell(device, guest.program, backing);
    assertEquals(run.words(data), new Uint32Array(64).fill(12));
    assertEquals(run.result.programs.length, runsBefore ? 3 : 2);
  }
});

guestTest(
  "code that a dispatch writes and that is executed without that is refused, not run as it was",
  (device, backing) => {
    const { guest } = selfWriting([...computeFlush(), ...acquireMem(false)], false);
    using run = runGuest(device, guest.program, backing);
    assertInstanceOf(run.result.error, RefusedError);
    assertEquals(run.result.error.code, "driver.code-changed");
  },
);
