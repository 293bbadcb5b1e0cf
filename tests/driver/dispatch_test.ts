import { assertEquals } from "@std/assert";
import type { RunResult } from "../../src/driver/run_program.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../support/guest_program.ts";
import { COLLATZ_32, COLLATZ_64, GRID, MULTIPLY, READ_FIRST, REVERSE, SQUARE, TABLE } from "../support/machine_code.ts";
import { computeFlush, dispatchDirect, releaseMem32 } from "../support/packets.ts";
import { Random } from "../support/random.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

/** Random words with the values at the edges first. */
function testWords(count: number, seed: number): Uint32Array<ArrayBuffer> {
  const edges = [0, 1, 2, 3, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, (_, i) => edges[i] ?? random.u32() >>> random.below(32));
}

for (const waveSize of [32, 64] as const) {
  guestTest(
    `wave${waveSize}: a buffer program works on its words, and what its V# does not cover stays`,
    (device, backing) => {
      const guest = new GuestProgram("square");
      const source = testWords(200, 1), code = guest.code(SQUARE);
      const from = guest.buffer(source), to = guest.buffer(new Uint32Array(256).fill(0x5555_5555));
      const marker = guest.buffer(new Uint32Array(1));
      // 4 groups of 64 threads read 200 words and write 190: the rest reads 0 and is not stored.
      const bounds = { address: to.address, bytes: 190 * 4 };
      guest.submit(
        0,
        computeState({ code, userData: [...descriptor(from), ...descriptor(bounds)] }),
        dispatchDirect([4, 1, 1], { waveSize }),
        computeFlush(),
        releaseMem32(marker.address, 0x600d),
      );
      using run = runGuestWell(device, guest.program, backing);
      const expected = Uint32Array.from(
        { length: 256 },
        (_, i) => i < 190 ? Math.imul(source[i], source[i]) + i >>> 0 : 0x5555_5555,
      );
      assertEquals(run.words(to), expected);
      assertEquals(run.words(from), source);
      assertEquals(run.words(marker)[0], 0x600d);
      const { outcome, dispatches, submissions, labels, queues }: RunResult = run.result;
      assertEquals({ outcome, dispatches, submissions, queues }, {
        outcome: "passed",
        dispatches: 1,
        submissions: 1,
        queues: [0],
      });
      assertEquals(labels, [{ queue: 0, address: marker.address, value: 0x600dn, kind: "u32" }]);
    },
  );

  guestTest(`wave${waveSize}: threads of a group exchange words through LDS across a barrier`, (device, backing) => {
    const guest = new GuestProgram("reverse");
    const source = testWords(3 * 128, 2), code = guest.code(REVERSE);
    const from = guest.buffer(source), to = guest.buffer(new Uint32Array(3 * 128));
    guest.submit(
      0,
      computeState({
        code,
        userData: [...descriptor(from), ...descriptor(to)],
        threads: [128, 1, 1],
        ldsBytes: 512,
      }),
      dispatchDirect([3, 1, 1], { waveSize }),
    );
    using run = runGuestWell(device, guest.program, backing);
    assertEquals(run.words(to), Uint32Array.from(source, (_, i) => source[(i & ~127) + 127 - (i & 127)]));
  });

  guestTest(`wave${waveSize}: lanes leave a loop one by one`, (device, backing) => {
    const guest = new GuestProgram("collatz");
    const source = testWords(5 * 64, 3), code = guest.code(waveSize === 32 ? COLLATZ_32 : COLLATZ_64);
    const from = guest.buffer(source), to = guest.buffer(new Uint32Array(5 * 64));
    guest.submit(
      0,
      computeState({ code, userData: [...descriptor(from), ...descriptor(to)] }),
      dispatchDirect([5, 1, 1], { waveSize }),
    );
    using run = runGuestWell(device, guest.program, backing);
    assertEquals(
      run.words(to),
      source.map((word) => {
        let value = (word | 1) >>> 0, steps = 0;
        while (value !== 1 && steps < 300) {
          value = (value & 1) === 1 ? Math.imul(value, 3) + 1 >>> 0 : value >>> 1;
          steps++;
        }
        return steps;
      }),
    );
  });

  guestTest(
    `wave${waveSize}: every thread of a grid of 7 x 5 x 3 groups runs once, with its ids`,
    (device, backing) => {
      const threads = [4, 2, 3] as const, groups = [7, 5, 3] as const;
      const size = threads.map((each, axis) => each * groups[axis]);
      const guest = gridProgram(threads, size, (state) => [state, dispatchDirect(groups, { waveSize })]);
      using run = runGuestWell(device, guest.program, backing);
      assertEquals(run.words(guest.out), gridWords(size, size));
    },
  );

  guestTest(`wave${waveSize}: a grid in threads cuts the groups at its edges (initiator bit 5)`, (device, backing) => {
    // 7 x 5 x 3 threads in groups of 4 x 2 x 2: partial groups in every direction.
    const threads = [4, 2, 2] as const, size = [7, 5, 3] as const;
    const guest = gridProgram(
      threads,
      [8, 6, 4],
      (state) => [state, dispatchDirect(size, { waveSize, threads: true })],
    );
    using run = runGuestWell(device, guest.program, backing);
    assertEquals(run.words(guest.out), gridWords(size, [8, 6, 4]));
  });
}

/** A program of GRID; `out` holds pairs of words for each place of `size`. */
function gridProgram(
  threads: readonly [number, number, number],
  size: readonly number[],
  submission: (state: number[]) => number[][],
) {
  const guest = new GuestProgram("grid"), code = guest.code(GRID);
  const out = guest.buffer(new Uint32Array(2 * size[0] * size[1] * size[2]));
  const packed = threads[0] | threads[1] << 8 | threads[2] << 16;
  const state = computeState({
    code,
    userData: [...words64(out.address), 0, size[0], size[0] * size[1], packed],
    threads,
    groupIds: [true, true, true],
    threadIds: 3,
  });
  guest.submit(0, ...submission(state));
  return { program: guest.program, out };
}

/** What GRID leaves when the threads of `size` ran in memory laid out for `pitch`. */
function gridWords(size: readonly number[], pitch: readonly number[]): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(2 * pitch[0] * pitch[1] * pitch[2]);
  for (let z = 0; z < size[2]; z++) {
    for (let y = 0; y < size[1]; y++) {
      for (let x = 0; x < size[0]; x++) {
        words.set([0x100_0000 | z << 16 | y << 8 | x, 1], 2 * ((z * pitch[1] + y) * pitch[0] + x));
      }
    }
  }
  return words;
}

guestTest("constants behind the code are read through the program counter", (device, backing) => {
  const guest = new GuestProgram("table"), code = guest.code(TABLE), out = guest.buffer(new Uint32Array(64));
  guest.submit(0, computeState({ code, userData: words64(out.address) }), dispatchDirect([1, 1, 1]));
  using run = runGuestWell(device, guest.program, backing);
  assertEquals(run.words(out), Uint32Array.from({ length: 64 }, (_, i) => (i % 4 + 1) * 0x1111_1111));
});

guestTest(
  "memory works in whichever order the windows of code and data lie, also in the upper half",
  (device, backing) => {
    const high = 0xffff_8000_0000_0000n;
    for (const [codeBase, dataBase] of [[0x30_0000_0000n, 0x1_0000n], [0x1_0000n, high], [high, 0x7fff_0000_0000n]]) {
      const guest = new GuestProgram("square", { codeBase, dataBase });
      const source = testWords(64, 4), code = guest.code(SQUARE);
      const from = guest.buffer(source), to = guest.buffer(new Uint32Array(64));
      guest.submit(
        0,
        computeState({ code, userData: [...descriptor(from), ...descriptor(to)] }),
        dispatchDirect([1, 1, 1]),
      );
      using run = runGuestWell(device, guest.program, backing);
      assertEquals(run.words(to), source.map((word, i) => Math.imul(word, word) + i));
    }
  },
);

guestTest("FLOAT_MODE of the registers decides whether f32 denormals are flushed", (device, backing) => {
  const bits = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0];
  // Normal, denormal operand, denormal result, both signs, zero, infinity.
  const source = Uint32Array.of(
    bits(1.5),
    0x0000_0001,
    0x807f_ffff,
    bits(2 ** -126),
    bits(-(2 ** -125.5)),
    0,
    0x7f80_0000,
  );
  const flush = (word: number) => (word & 0x7f80_0000) === 0 ? word & 0x8000_0000 : word;
  for (const [floatMode, flushes] of [[0xc0, true], [0xf0, false]] as const) {
    const guest = new GuestProgram("multiply"), code = guest.code(MULTIPLY);
    const from = guest.buffer(source), to = guest.buffer(new Uint32Array(64));
    guest.submit(
      0,
      computeState({ code, userData: [...words64(from.address), ...words64(to.address), bits(0.75)], floatMode }),
      dispatchDirect([1, 1, 1]),
    );
    using run = runGuestWell(device, guest.program, backing);
    const values = new Float32Array((flushes ? source.map(flush) : source).buffer);
    // One rounding: the product of two f32 is exact in f64.
    const exact = new Uint32Array(Float32Array.from(values, (value) => value * 0.75).buffer);
    assertEquals(run.words(to).subarray(0, source.length), flushes ? exact.map(flush).map((w) => w >>> 0) : exact);
  }
});

guestTest(
  "partial groups whose lanes look at each other run where lanes are numbered as in whole ones, and are refused elsewhere",
  (device, backing) => {
    const run = (size: readonly [number, number, number]) => {
      const guest = new GuestProgram("first lane"),
        code = guest.code(READ_FIRST),
        out = guest.buffer(new Uint32Array(64));
      guest.submit(
        0,
        computeState({
          code,
          userData: words64(out.address),
          threads: [8, 8, 1],
          groupIds: [false, false, false],
          threadIds: 2,
        }),
        dispatchDirect(size, { threads: true }),
      );
      using run = runGuest(device, guest.program, backing);
      return { error: run.result.error, words: run.words(out) };
    };
    // 8 x 5 threads: two waves, the second with 8 lanes; the first lane of both has x = 0.
    const cutInY = run([8, 5, 1]);
    assertEquals(cutInY.error, undefined);
    assertEquals(cutInY.words, Uint32Array.from({ length: 64 }, (_, i) => i < 40 ? 1 : 0));
    const cutInX = run([5, 8, 1]);
    assertEquals(cutInX.error?.code, "driver.partial-lanes");
    assertEquals(cutInX.words, new Uint32Array(64));
    const whole = run([8, 8, 1]);
    assertEquals([whole.error, whole.words], [undefined, new Uint32Array(64).fill(1)]);
  },
);
