import { assert, assertEquals, assertThrows } from "@std/assert";
import { DispatchReader } from "../../src/driver/compute_dispatch.ts";
import { RegisterState } from "../../src/pm4/registers.ts";
import { AnyAgcError } from "../../src/errors.ts";

/** SH offsets of COMPUTE_NUM_THREAD_X, COMPUTE_PGM_LO, COMPUTE_USER_DATA_0 (gc_10_1_0_offset.h, from the bank's start). */
const THREADS = 0x207, PGM_LO = 0x20c, USER_DATA = 0x240;

function setUp() {
  const registers = new RegisterState(), reader = new DispatchReader();
  let places = 0;
  const source = { errorPlace: () => ({ queue: 0x20, pc: ++places }) };
  const write = (offset: number, ...words: number[]) =>
    registers.writeSh(offset, Uint32Array.from(words), 0, words.length);
  const read = (x = 4, partialThreads = false) => {
    return reader.read({ registers, initiator: 0x41, waveSize: 64, partialThreads, source }, x, 1, 1);
  };
  write(THREADS, 64, 1, 1);
  write(PGM_LO, 0x100, 0);
  return { registers, write, read, places: () => places };
}

Deno.test("a program is read again when its registers have changed, and not for user data", () => {
  const { registers, write, read } = setUp(), first = read();
  write(USER_DATA, 7);
  const second = read();
  assert(second.program === first.program);
  assertEquals(second.userData[0], 7);
  write(PGM_LO, 0x200, 0);
  assertEquals([first.program.address, read().program.address], [0x10000n, 0x20000n]);
  registers.reset();
  assertThrows(() => read(), AnyAgcError, "without a program");
  write(PGM_LO, 0x100, 0);
  for (let i = 0; i < 2; i++) assertThrows(() => read(), AnyAgcError, "a workgroup of 0 x 0 x 0 threads");
});

Deno.test("queues with registers of their own are not mixed up", () => {
  const a = setUp(), reader = new DispatchReader(), b = setUp();
  b.write(PGM_LO, 0x300, 0);
  const command = (registers: RegisterState) => {
    return {
      registers,
      initiator: 0x41,
      waveSize: 64,
      partialThreads: false,
      source: { errorPlace: () => ({}) },
    } as const;
  };
  b.registers.computeGeneration = a.registers.computeGeneration;
  const read = (registers: RegisterState) => reader.read(command(registers), 1, 1, 1).program.address;
  assertEquals([read(a.registers), read(b.registers), read(a.registers)], [0x10000n, 0x30000n, 0x10000n]);
});

Deno.test("a dispatch's place is put together when it is asked for; sizes in threads become groups where they can", () => {
  const { read, places } = setUp(), dispatch = read(128, true);
  assertEquals([dispatch.x, dispatch.partialThreads, places()], [2, false, 0]);
  assertEquals([dispatch.place.queue, places()], [0x20, 1]);
  const cut = read(100, true);
  assertEquals([cut.x, cut.partialThreads], [100, true]);
});
