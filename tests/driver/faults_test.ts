import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { AnyAgcError, GuestFaultError } from "../../src/errors.ts";
import { Permission } from "../../src/guest/memory/window.ts";
import { computeState, descriptor, type GuestBuffer, GuestProgram, words64 } from "../support/guest_program.ts";
import { ATOMIC_ADD, COPY, COPY16, SCALAR_COPY, SQUARE, STEP } from "../support/machine_code.ts";
import { dispatchDirect } from "../support/packets.ts";
import { guestTest, runGuest, runGuestWell } from "../support/run.ts";

const HOLE = 0x5_0000_0000n;

interface FaultCase {
  name: string;
  code: Uint32Array<ArrayBuffer>;
  /** Threads of the one group. */
  threads: number;
  /** Where to read and write, from the addresses of two buffers of one page. */
  at(source: bigint, target: bigint): [source: bigint, target: bigint];
  /** What is reported. The address is that of any lane that fails, so it is given as a range: from, and behind the last. */
  fault(source: bigint, target: bigint): {
    address: readonly [bigint, bigint];
    bytes: number;
    reason: string;
    pc: number;
  };
  /** Bytes of the target that may have been written, from its start. */
  written?: number;
  targetPermissions?: number;
  sourcePermissions?: number;
}

const CASES: FaultCase[] = [
  {
    name: "a load from an unmapped address",
    code: COPY,
    threads: 32,
    at: (_, target) => [HOLE, target],
    fault: () => ({ address: [HOLE, HOLE + 128n], bytes: 4, reason: "unmapped", pc: 4 }),
    written: 128,
  },
  {
    name: "a store to an unmapped address",
    code: COPY,
    threads: 32,
    at: (source) => [source, HOLE],
    fault: () => ({ address: [HOLE, HOLE + 128n], bytes: 4, reason: "unmapped", pc: 20 }),
  },
  {
    name: "a load of 16 bytes of which a window holds 8",
    code: COPY16,
    threads: 1,
    at: (source, target) => [source + 4096n - 8n, target],
    fault: (source) => ({ address: [source + 4088n, source + 4089n], bytes: 16, reason: "unmapped", pc: 4 }),
    written: 16,
  },
  {
    name: "a store whose last dword is outside",
    code: COPY16,
    threads: 1,
    at: (source, target) => [source, target + 4096n - 12n],
    // A store of several dwords may be reported for the dword that fails, or for the whole.
    fault: (_, target) => ({ address: [target + 4084n, target + 4097n], bytes: -1, reason: "unmapped", pc: 16 }),
    written: 4096,
  },
  {
    name: "a scalar load from an unmapped address",
    code: SCALAR_COPY,
    threads: 1,
    at: (_, target) => [HOLE + 64n, target],
    fault: () => ({ address: [HOLE + 64n, HOLE + 65n], bytes: 8, reason: "unmapped", pc: 0 }),
    written: 8,
  },
  {
    name: "an atomic at an unmapped address",
    code: ATOMIC_ADD,
    threads: 32,
    at: (_, target) => [HOLE, target],
    fault: () => ({ address: [HOLE, HOLE + 128n], bytes: 4, reason: "unmapped", pc: 8 }),
    written: 128,
  },
  {
    name: "a store to a window that may only be read",
    code: COPY,
    threads: 32,
    targetPermissions: Permission.Read,
    at: (source, target) => [source, target],
    fault: (_, target) => ({ address: [target, target + 128n], bytes: 4, reason: "permission", pc: 20 }),
  },
  {
    name: "a load from a window that may only be written",
    code: COPY,
    threads: 32,
    sourcePermissions: Permission.Write,
    at: (source, target) => [source, target],
    fault: (source) => ({ address: [source, source + 128n], bytes: 4, reason: "permission", pc: 4 }),
    written: 128,
  },
  {
    name: "an atomic on a window that may only be read",
    code: ATOMIC_ADD,
    threads: 32,
    sourcePermissions: Permission.Read,
    at: (source, target) => [source, target],
    fault: (source) => ({ address: [source, source + 128n], bytes: 4, reason: "permission", pc: 8 }),
    written: 128,
  },
  {
    name: "a load that passes the end of the address space",
    code: COPY16,
    threads: 1,
    at: (_, target) => [0xffff_ffff_ffff_fff8n, target],
    fault: () => ({
      address: [0xffff_ffff_ffff_fff8n, 0xffff_ffff_ffff_fff9n],
      bytes: 16,
      reason: "overflow",
      pc: 4,
    }),
    written: 16,
  },
  {
    name: "a store of a dword at an address that is no multiple of 4",
    code: COPY,
    threads: 1,
    at: (source, target) => [source, target + 2n],
    fault: (_, target) => ({ address: [target + 2n, target + 3n], bytes: 4, reason: "unaligned", pc: 20 }),
  },
];

for (const each of CASES) {
  guestTest(`${each.name} is reported, and changes nothing else`, (device, backing) => {
    // With the data first, its window is the one that programs look at first; with the code first, accesses search the table.
    for (const dataBase of [0x1_0000_0000n, 0x3_0000_0000n]) {
      const guest = new GuestProgram("fault", { dataBase });
      const sourceWords = Uint32Array.from({ length: 1024 }, (_, i) => i + 1);
      const before = new Uint32Array(1024).fill(0xaaaa_aaaa);
      const code = guest.code(each.code);
      const source = guest.buffer(sourceWords, each.sourcePermissions);
      const target = guest.buffer(before, each.targetPermissions);
      const other = guest.buffer(before);
      const [from, to] = each.at(source.address, target.address);
      guest.submit(
        0x21,
        computeState({
          code,
          userData: [...words64(from), ...words64(to), 0],
          threads: [each.threads, 1, 1],
        }),
        dispatchDirect([1, 1, 1]),
      );
      using run = runGuest(device, guest.program, backing);
      const { error, outcome } = run.result;
      assertInstanceOf(error, GuestFaultError);
      const fault = each.fault(source.address, target.address);
      assertEquals([outcome, error.code, error.exitCode, error.place.queue], [
        "failed",
        "driver.memory-fault",
        1,
        0x21,
      ]);
      assertEquals(error.place.pc, fault.pc);
      const address = error.place.guestAddress!;
      assertEquals(
        address >= fault.address[0] && address < fault.address[1],
        true,
        `address 0x${address.toString(16)}`,
      );
      const [, bytes] = /accessed (\d+) bytes at 0x[0-9a-f]+: \w+/.exec(error.message)!;
      if (fault.bytes >= 0) assertEquals(Number(bytes), fault.bytes);
      assertStringIncludes(error.message, `at 0x${address.toString(16)}: ${fault.reason}`);

      assertEquals(run.words(source), sourceWords);
      assertEquals(run.words(other), before);
      const kept = (each.written ?? 0) / 4;
      assertEquals(run.words(target).subarray(kept), before.subarray(kept));
    }
  });
}

guestTest(
  "a fault names the dispatch that it comes from, and the first one when there are several",
  (device, backing) => {
    const guest = new GuestProgram("several");
    const step = guest.code(STEP), copy = guest.code(COPY);
    const data = guest.buffer(new Uint32Array(64));
    const state = (code: bigint, target: bigint) =>
      computeState({
        code,
        userData: code === step ? [...words64(target), 1] : [...words64(data.address), ...words64(target), 0],
      });
    const packets = [
      [...state(copy, data.address), ...dispatchDirect([1, 1, 1])],
      [...state(step, data.address), ...dispatchDirect([1, 1, 1])],
      [...state(copy, HOLE), ...dispatchDirect([1, 1, 1])],
      [...state(step, HOLE + 0x1000n), ...dispatchDirect([1, 1, 1])],
      [...state(copy, HOLE + 0x2000n), ...dispatchDirect([1, 1, 1])],
    ];
    guest.submit(0, ...packets);
    using run = runGuest(device, guest.program, backing);
    const { error } = run.result;
    assertInstanceOf(error, GuestFaultError);
    assertStringIncludes(error.message, `the program at 0x${copy.toString(16)}`);
    // The dispatch packet of the third: five words from its end.
    const end = packets.slice(0, 3).flat().length;
    assertEquals(error.place.fileOffset ?? -1, 4 * (end - 5));
    assertEquals(error.place.words?.length, 5);
  },
);

guestTest("a fault behind hundreds of dispatches names its dispatch, in whichever batch it was", (device, backing) => {
  for (const failing of [0, 63, 64, 150, 255, 256, 299]) {
    const guest = new GuestProgram("many"), step = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
    const packets = Array.from({ length: 300 }, (_, i) => [
      ...computeState({ code: step, userData: [...words64(i === failing ? HOLE : data.address), 1] }),
      ...dispatchDirect([1, 1, 1]),
    ]);
    guest.submit(0, ...packets);
    using run = runGuest(device, guest.program, backing);
    assertEquals(run.result.error?.code, "driver.memory-fault");
    assertEquals(run.result.error?.place.fileOffset, 4 * (packets.slice(0, failing + 1).flat().length - 5));
  }
});

guestTest("a fault that comes before a refusal in the stream is the error", (device, backing) => {
  const guest = new GuestProgram("fault and refusal");
  const copy = guest.code(COPY), endless = guest.code(Uint32Array.of(0xbf900001, 0xbf810000));
  const data = guest.buffer(new Uint32Array(64));
  guest.submit(
    0,
    computeState({ code: copy, userData: [...words64(data.address), ...words64(HOLE), 0] }),
    dispatchDirect([1, 1, 1]),
    computeState({ code: endless, userData: [] }),
    dispatchDirect([1, 1, 1]),
  );
  using run = runGuest(device, guest.program, backing);
  assertEquals(run.result.error?.code, "driver.memory-fault");
  assertInstanceOf(run.result.error?.cause, AnyAgcError);
});

guestTest("loads and stores through a null V# give zeros and are dropped, without a fault", (device, backing) => {
  const guest = new GuestProgram("null");
  const code = guest.code(SQUARE), before = new Uint32Array(64).fill(0x1234_5678);
  const data = guest.buffer(before);
  const NULL = [0, 0, 0, 0];
  const dispatch = (from: readonly number[], to: readonly number[]) => [
    ...computeState({ code, userData: [...from, ...to] }),
    ...dispatchDirect([1, 1, 1]),
  ];
  guest.submit(0, dispatch(descriptor(data), NULL));
  using stored = runGuestWell(device, guest.program, backing);
  assertEquals(stored.words(data), before);

  guest.submit(0, dispatch(NULL, descriptor(data)));
  using loaded = runGuestWell(device, guest.program, backing);
  assertEquals(loaded.words(data), Uint32Array.from({ length: 64 }, (_, i) => i));
});

guestTest("code outside of executable memory is reported with its address", (device, backing) => {
  const run = (code: (guest: GuestProgram, data: GuestBuffer) => bigint) => {
    const guest = new GuestProgram("no code"), data = guest.buffer(STEP);
    const at = code(guest, data);
    guest.submit(0, computeState({ code: at, userData: [] }), dispatchDirect([1, 1, 1]));
    using result = runGuest(device, guest.program, backing);
    return { error: result.result.error, at };
  };
  const unmapped = run(() => 0x7_0000_0000n);
  assertInstanceOf(unmapped.error, GuestFaultError);
  assertEquals([unmapped.error.code, unmapped.error.place.guestAddress], ["driver.no-code", unmapped.at]);
  assertStringIncludes(unmapped.error.message, "there is no program at 0x700000000");

  const data = run((_, buffer) => buffer.address);
  assertInstanceOf(data.error, GuestFaultError);
  assertStringIncludes(data.error.message, "is rw-, the access needs --x");

  // Execution that leaves the window: the page is full of s_nop.
  const endless = run((guest) => guest.code(new Uint32Array(1024).fill(0xbf800000)));
  assertInstanceOf(endless.error, AnyAgcError);
  assertEquals([endless.error.exitCode, endless.error.place.queue], [1, 0]);
  assertEquals((endless.error.place.guestAddress ?? 0n) >= endless.at, true);
});
