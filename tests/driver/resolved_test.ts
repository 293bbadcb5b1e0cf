import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { GuestFaultError } from "../../src/errors.ts";
import { computeState, descriptor, type GuestBuffer, GuestProgram, words64 } from "../support/guest_program.ts";
import { dispatchDirect } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

/** target[i] = source[i] + constant, for 32 threads. s[0:1] a table: V# of the source, V# of the target, the constant. Assembled with llvm-mc-19 for gfx1013. */
const FROM_TABLE = Uint32Array.of(
  ...[0xf40c0100, 0xfa000000], // s_load_dwordx8 s[4:11], s[0:1], null
  ...[0xf4000300, 0xfa000020], // s_load_dword s12, s[0:1], 0x20
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  0xbf8cc07f, // s_waitcnt lgkmcnt(0)
  ...[0xe0301000, 0x80010100], // buffer_load_dword v1, v0, s[4:7], 0 offen
  0xbf8c3f70, // s_waitcnt vmcnt(0)
  0x4a02020c, // v_add_nc_u32_e32 v1, s12, v1
  ...[0xe0701000, 0x80020100], // buffer_store_dword v1, v0, s[8:11], 0 offen
  0xbf810000, // s_endpgm
);
const THREADS = 32;

const part = ({ address }: GuestBuffer, words: number, from = 0): GuestBuffer => ({
  address: address + BigInt(from * 4),
  bytes: words * 4,
});

/** The words of a table, and room for what is written behind it. */
function table(source: GuestBuffer, target: GuestBuffer, constant: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.of(...descriptor(source), ...descriptor(target), constant, ...new Array(55).fill(0));
}

const numbers = Uint32Array.from({ length: 64 }, (_, i) => i * 1000);
const run1 = (code: bigint, address: bigint) => [
  ...computeState({ code, userData: words64(address), threads: [THREADS, 1, 1] }),
  ...dispatchDirect([1, 1, 1]),
];

guestTest(
  "descriptors and constants in memory are found by the host; what they do not cover stays",
  (device, backing) => {
    const guest = new GuestProgram("table"), code = guest.code(FROM_TABLE);
    const source = guest.buffer(numbers), target = guest.buffer(new Uint32Array(64).fill(7));
    const at = guest.buffer(table(part(source, 20), part(target, 25), 5));
    guest.submit(0, run1(code, at.address));
    using run = runGuestWell(device, guest.program, backing);
    const expected = new Uint32Array(64).fill(7);
    for (let i = 0; i < 25; i++) expected[i] = i < 20 ? numbers[i] + 5 : 5;
    assertEquals(run.words(target).slice(0, 64), expected);
  },
);

guestTest("a constant that an earlier dispatch in flight writes is the new one", (device, backing) => {
  const guest = new GuestProgram("chain"), code = guest.code(FROM_TABLE);
  const source = guest.buffer(numbers), target = guest.buffer(new Uint32Array(64));
  const second = guest.buffer(table(part(source, 32), part(target, 32), 1));
  // The first dispatch writes 12 + 100 over the second one's constant.
  const first = guest.buffer(table(part(source, 1), part(second, 1, 8), 112));
  guest.submit(0, [...run1(code, first.address), ...run1(code, second.address)]);
  using run = runGuestWell(device, guest.program, backing);
  assertEquals(run.words(target).slice(0, 32), numbers.slice(0, 32).map((word) => word + 112));
  assertEquals(run.result.programs.length, 1, "both are dispatches of one module");
});

guestTest("a descriptor that an earlier dispatch in flight writes is the new one", (device, backing) => {
  const guest = new GuestProgram("descriptors"), code = guest.code(FROM_TABLE);
  const source = guest.buffer(numbers), target = guest.buffer(new Uint32Array(64));
  const second = guest.buffer(table(part(source, 32), part(target, 32), 1));
  // The first dispatch writes NUM_RECORDS of the second one's target: 12 bytes.
  const first = guest.buffer(table(part(source, 1), part(second, 1, 6), 12));
  guest.submit(0, [...run1(code, first.address), ...run1(code, second.address)]);
  using run = runGuestWell(device, guest.program, backing);
  assertEquals([...run.words(target).slice(0, 5)], [1, 1001, 2001, 0, 0]);
});

guestTest("dispatches that follow each other each have their own constants", (device, backing) => {
  const guest = new GuestProgram("many"), code = guest.code(FROM_TABLE);
  const source = guest.buffer(numbers), words: number[] = [];
  const targets = Array.from({ length: 100 }, (_, k) => {
    const target = guest.buffer(new Uint32Array(32));
    const at = guest.buffer(table(part(source, 32), part(target, 32), k));
    words.push(...run1(code, at.address));
    return target;
  });
  guest.submit(0, words);
  using run = runGuestWell(device, guest.program, backing);
  targets.forEach((target, k) => assertEquals(run.words(target)[3], 3000 + k));
  assertEquals(run.result.programs.map(({ dispatches }) => dispatches), [100]);
});

guestTest("a program that overwrites its own constants reads them itself", (device, backing) => {
  const guest = new GuestProgram("own"), code = guest.code(FROM_TABLE);
  const source = guest.buffer(numbers);
  // Each window is a page, with a hole of a page behind it: where the next one will be is known.
  const address = source.address + 2n * 4096n;
  const mine = guest.buffer(table(part(source, 4), { address: address + 32n, bytes: 16 }, 50));
  assertEquals(mine.address, address);
  guest.submit(0, run1(code, mine.address));
  using run = runGuestWell(device, guest.program, backing);
  assertEquals([...run.words(mine).slice(8, 12)], [50, 1050, 2050, 3050]);
  assertEquals(
    run.result.programs.length,
    2,
    "the module that gets its constants from the host, and the one that was used",
  );
  assertEquals(run.result.programs.map(({ dispatches }) => dispatches), [0, 1]);
});

guestTest("a table that is not mapped is a fault of the load, with its address and pc", (device, backing) => {
  const guest = new GuestProgram("nowhere"), code = guest.code(FROM_TABLE);
  guest.submit(0, run1(code, 0x5_0000_0000n));
  using run = runGuest(device, guest.program, backing);
  const { error } = run.result;
  assertInstanceOf(error, GuestFaultError);
  assertEquals([error.place.guestAddress, error.place.pc], [0x5_0000_0000n, 0]);
});

guestTest("a buffer that reaches over its window's end is right inside and a fault outside", (device, backing) => {
  const guest = new GuestProgram("edge"), code = guest.code(FROM_TABLE);
  const source = guest.buffer(numbers), target = guest.buffer(new Uint32Array(1024));
  const inside = 1024 - 8;
  const at = guest.buffer(table(part(source, 32), part(target, 32, inside), 3));
  guest.submit(0, run1(code, at.address));
  using run = runGuest(device, guest.program, backing);
  const { error } = run.result;
  assertInstanceOf(error, GuestFaultError);
  const { guestAddress = 0n, pc } = error.place;
  assert(guestAddress >= target.address + 4096n && guestAddress < target.address + 4096n + 96n, `${guestAddress}`);
  assertEquals(pc, 40);
});
