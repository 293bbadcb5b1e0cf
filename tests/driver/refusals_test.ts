import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { AnyAgcError, InvalidInputError, RefusedError } from "../../src/errors.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { STEP, UNSUPPORTED } from "../support/machine_code.ts";
import { dispatchDirect, setComputeRegisters } from "../support/packets.ts";
import { guestTest, runGuest } from "../support/run.ts";

guestTest(
  "a program with unsupported instructions is refused with all of them, before anything of it runs",
  (device, backing) => {
    const guest = new GuestProgram("unsupported"), code = guest.code(UNSUPPORTED);
    guest.submit(0, computeState({ code, userData: [] }), dispatchDirect([1, 1, 1]));
    using run = runGuest(device, guest.program, backing);
    const { error, dispatches, programs } = run.result;
    assertInstanceOf(error, RefusedError);
    for (const what of ["s_sendmsg", "exp", "ds_gws_init"]) assertStringIncludes(error.message, what);
    for (const pc of ["0x0", "0x8", "0x10"]) assertStringIncludes(error.message, pc);
    assertEquals(error.place.queue, 0);
    assertEquals([error.exitCode, dispatches, programs.length], [1, 1, 0]);
  },
);

interface StateCase {
  name: string;
  /** Packets behind the state of a good dispatch. */
  change: number[];
  size?: readonly [number, number, number];
  code: string;
  error: typeof RefusedError | typeof InvalidInputError;
  text: string;
}

/** RSRC2 of STEP: three user SGPRs, TGID_X_EN. */
const RSRC2 = 3 << 1 | 1 << 7;

const CASES: StateCase[] = [
  {
    name: "scratch memory for fewer waves than it has",
    change: setComputeRegisters(0x213, RSRC2 | 1),
    code: "driver.scratch-ring",
    error: RefusedError,
    text: "its scratch memory room for 0 (COMPUTE_TMPRING_SIZE.WAVES)",
  },
  {
    name: "more user SGPRs than compute has",
    change: setComputeRegisters(0x213, 17 << 1 | 1 << 7),
    code: "driver.user-sgprs",
    error: InvalidInputError,
    text: "USER_SGPR is 17",
  },
  {
    name: "the reserved number of thread ids",
    change: setComputeRegisters(0x213, RSRC2 | 3 << 11),
    code: "driver.thread-id-count",
    error: InvalidInputError,
    text: "TIDIG_COMP_CNT is 3",
  },
  {
    name: "workgroups of more than 1024 threads",
    change: setComputeRegisters(0x207, 64, 17, 1),
    code: "driver.workgroup-size",
    error: InvalidInputError,
    text: "64 x 17 x 1",
  },
  {
    name: "no program",
    change: setComputeRegisters(0x20c, 0, 0),
    code: "driver.no-program",
    error: InvalidInputError,
    text: "COMPUTE_PGM_LO/HI are 0",
  },
  {
    name: "half-precision overflow mode",
    change: setComputeRegisters(0x212, 3 | 0xc0 << 12 | 1 << 26),
    code: "driver.fp16-overflow",
    error: RefusedError,
    text: "FP16_OVFL",
  },
  {
    name: "shared VGPRs",
    change: setComputeRegisters(0x228, 1),
    code: "driver.shared-vgprs",
    error: RefusedError,
    text: "SHARED_VGPR_CNT",
  },
];

for (const each of CASES) {
  guestTest(`a dispatch with ${each.name} is refused with its place`, (device, backing) => {
    const guest = new GuestProgram(each.name),
      code = guest.code(STEP),
      data = guest.buffer(new Uint32Array(64).fill(1));
    guest.submit(
      0x20,
      computeState({ code, userData: [...words64(data.address), 1] }),
      each.change,
      dispatchDirect(each.size ?? [1, 1, 1]),
    );
    using run = runGuest(device, guest.program, backing);
    const { error } = run.result;
    assertInstanceOf(error, AnyAgcError);
    assertInstanceOf(error, each.error);
    assertEquals([error.code, error.place.queue, error.place.words?.length], [each.code, 0x20, 5]);
    assertStringIncludes(error.message, each.text);
    assertEquals(run.words(data), new Uint32Array(64).fill(1));
  });
}

guestTest("what the device cannot do is refused with its limit", (device, backing) => {
  const { limits } = device.capabilities;
  const attempt = (state: Partial<Parameters<typeof computeState>[0]>, size: readonly [number, number, number]) => {
    const guest = new GuestProgram("limits"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64).fill(1));
    guest.submit(0, computeState({ code, userData: [...words64(data.address), 1], ...state }), dispatchDirect(size));
    using run = runGuest(device, guest.program, backing);
    assertEquals(run.words(data), new Uint32Array(64).fill(1));
    return run.result.error;
  };
  const groups = attempt({}, [1, limits.workgroupCount[1] + 1, 1]);
  assertInstanceOf(groups, RefusedError);
  assertEquals(groups.code, "driver.workgroup-count");
  assertStringIncludes(groups.message, `at most ${limits.workgroupCount.join(" x ")}`);
});
