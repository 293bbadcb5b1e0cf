import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { RefusedError } from "../../src/errors.ts";
import { computeState, type GuestBuffer, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, IMAGE_LOAD } from "../support/machine_code.ts";
import { dispatchDirect, dmaCopy } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";
import { deviceTest } from "../support/vulkan.ts";
import { inFolder, openStore, run as runWithStore } from "./warm_start/stores.ts";

/** Unified formats: one component of 32 bits, unsigned; four UNORM components of 8 bits. */
const FORMAT_32_UINT = 20, FORMAT_8888_UNORM = 56;
const WIDTH = 8, HEIGHT = 8, PITCH_WORDS = 64;

/** The T# of a linear 2D image of 8 x 8 texels of 4 bytes, rows 256 bytes apart (AMD RDNA2 ISA, "Image resource descriptor"). */
function imageDescriptor(at: bigint, format: number): number[] {
  const base = at >> 8n;
  return [
    Number(base & 0xffff_ffffn),
    Number(base >> 32n) | format << 20 | (WIDTH - 1 & 3) << 30,
    WIDTH - 1 >> 2 | HEIGHT - 1 << 14 | 0x8000_0000,
    0xfac | 9 << 28,
    0,
    0,
    0,
    0,
  ].map((word) => word >>> 0);
}

/** A program with two images, a table with a descriptor of the first, two descriptors of the second behind it, and an output. */
class ImageProgram {
  readonly guest = new GuestProgram("images");
  readonly texels = [1, 2].map((n) => Uint32Array.from({ length: PITCH_WORDS * HEIGHT }, (_, i) => n << 24 | i));
  readonly images = this.texels.map((texels) => this.guest.buffer(texels));
  readonly out: readonly GuestBuffer[] = [1, 2].map(() => this.guest.buffer(new Uint32Array(WIDTH * HEIGHT)));
  readonly table = this.guest.buffer(Uint32Array.from([
    ...imageDescriptor(this.images[0].address, FORMAT_32_UINT),
    ...imageDescriptor(this.images[1].address, FORMAT_32_UINT),
    ...imageDescriptor(this.images[1].address, FORMAT_8888_UNORM),
  ]));
  readonly #load = this.guest.code(IMAGE_LOAD);
  readonly #copy = this.guest.code(COPY);

  /** Loads from the image of the table's first descriptor. */
  load(out: number): number[] {
    const userData = [...words64(this.table.address), ...words64(this.out[out].address), WIDTH];
    const state = { code: this.#load, userData, threads: [WIDTH, HEIGHT, 1] as const, threadIds: 2 as const };
    return [...computeState(state), ...dispatchDirect([1, 1, 1])];
  }

  /** A dispatch that puts descriptor `index` into the table's first place. */
  replace(index: number): number[] {
    const { address } = this.table;
    return [
      ...computeState({
        code: this.#copy,
        userData: [...words64(address + BigInt(32 * index)), ...words64(address), 0],
        threads: [8, 1, 1],
      }),
      ...dispatchDirect([1, 1, 1]),
    ];
  }

  /** The image's texels, as IMAGE_LOAD gives them. */
  expected(image: number, format: number): Uint32Array<ArrayBuffer> {
    const words = Uint32Array.from(
      { length: WIDTH * HEIGHT },
      (_, i) => this.texels[image][Math.floor(i / WIDTH) * PITCH_WORDS + i % WIDTH],
    );
    if (format === FORMAT_32_UINT) return words;
    return new Uint32Array(Float32Array.from(words, (word) => (word & 255) / 255).buffer);
  }
}

guestTest("images of several formats that one program loads from become a program each", (device, backing) => {
  const own = new ImageProgram();
  const { address } = own.table;
  own.guest.submit(0, own.load(0), dmaCopy(address, address + 64n, 32), own.load(1));
  using run = runGuestWell(device, own.guest.program, backing);
  assertEquals(run.words(own.out[0]), own.expected(0, FORMAT_32_UINT));
  assertEquals(run.words(own.out[1]), own.expected(1, FORMAT_8888_UNORM));
  assertEquals(run.result.programs.map(({ dispatches }) => dispatches), [1, 1]);
});

guestTest(
  "a descriptor that a dispatch in flight replaces by one of the same kind is the one that is used",
  (device, backing) => {
    const own = new ImageProgram();
    own.guest.submit(0, own.load(0), own.replace(1), own.load(1));
    using run = runGuestWell(device, own.guest.program, backing);
    assertEquals(run.words(own.out[0]), own.expected(0, FORMAT_32_UINT));
    assertEquals(run.words(own.out[1]), own.expected(1, FORMAT_32_UINT));
  },
);

guestTest("a descriptor that a dispatch in flight replaces by one of another kind is refused", (device, backing) => {
  const own = new ImageProgram();
  own.guest.submit(0, own.load(0), own.replace(2), own.load(1));
  using run = runGuest(device, own.guest.program, backing);
  assertInstanceOf(run.result.error, RefusedError);
  assertEquals(run.result.error.code, "driver.code-changed");
});

guestTest("a descriptor table that is not mapped is reported with the instruction that uses it", (device, backing) => {
  const own = new ImageProgram();
  const state = computeState({
    code: own.guest.code(IMAGE_LOAD),
    userData: [...words64(0x9_0000_0000n), ...words64(own.out[0].address), WIDTH],
    threads: [WIDTH, HEIGHT, 1],
    threadIds: 2,
  });
  own.guest.submit(0, state, dispatchDirect([1, 1, 1]));
  using run = runGuest(device, own.guest.program, backing);
  assertEquals([run.result.error?.code, run.result.error?.exitCode], ["memory.unmapped", 1]);
  assertStringIncludes(run.result.error!.message, "0x900000000");
  assertEquals(run.result.error?.place.queue, 0);
});

deviceTest(
  "programs with images are recorded by the kinds of their images, and are there for the next run",
  (device) =>
    inFolder(async (folder) => {
      const own = new ImageProgram();
      const { address } = own.table;
      own.guest.submit(0, own.load(0), dmaCopy(address, address + 64n, 32), own.load(1));
      const first = openStore(device, folder), expected = own.expected(1, FORMAT_8888_UNORM);
      assertEquals(runWithStore(device, own.guest.program, first, own.out[1]), expected);
      assertEquals([first.used, first.built], [0, 2]);
      first.close();
      const second = openStore(device, folder);
      assertEquals((await second.replay()).created, 2);
      assertEquals(runWithStore(device, own.guest.program, second, own.out[1]), expected);
      assertEquals([second.used, second.built], [2, 0]);
      second.close();
    }),
);
