/** What a recorded fault becomes: the guest's error, or a refusal that names what is missing. */
import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { faultError } from "../../../src/driver/vulkan/dispatch_errors.ts";
import type { RecordedFault } from "../../../src/driver/vulkan/context_blocks.ts";
import type { BuiltProgram } from "../../../src/driver/vulkan/program_cache.ts";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { FaultReason, nowhere } from "../../../src/recompiler/abi.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { guestTest, runGuest } from "../../support/run.ts";

/** Words of llvm-mc-19 for gfx1030. */
const BUFFER_LOAD = [0xe0301000, 0x80010301]; // buffer_load_dword v3, v1, s[4:7], 0 offen
const SCRATCH_LOAD = [0xdc304000, 0x037d0001]; // scratch_load_dword v3, v1, off
const IMAGE_LOAD = [0xf0000108, 0x00010301]; // image_load v3, v[1:2], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
const GLOBAL_LOAD = [0xdc308000, 0x037d0001]; // global_load_dword v3, v[1:2], off

function errorOf(code: readonly number[], reason: RecordedFault["reason"], which = 0) {
  const program = {
    address: 0x2_0000_0000n,
    source: { code: Uint32Array.from(code), request: { target: "gfx1030" } },
  } as unknown as BuiltProgram;
  return faultError(program, { reason, address: BigInt(nowhere(which)) << 32n, bytes: 4, pc: 0 }, { queue: 0 });
}

Deno.test("what only shows at run time is a refusal that names it, by the reason on record and not by the address", () => {
  const { BufferDescriptor, BufferFormat, ScratchCrossing, CubeEdge, SampleNumber } = FaultReason;
  for (
    const [reason, which, code, text] of [
      ["buffer-descriptor", BufferDescriptor, BUFFER_LOAD, "ADD_TID_ENABLE or SWIZZLE_ENABLE"],
      ["buffer-format", BufferFormat, BUFFER_LOAD, "a format or selectors that are not implemented"],
      ["scratch-crossing", ScratchCrossing, SCRATCH_LOAD, "cross a dword"],
      ["cube-edge", CubeEdge, IMAGE_LOAD, "beyond an edge of a face"],
      ["sample-number", SampleNumber, IMAGE_LOAD, "a sample that the image has not"],
    ] as const
  ) {
    const error = errorOf(code, reason, which);
    assertInstanceOf(error, RefusedError);
    assertEquals([error.code, error.place.pc], [`driver.${reason}`, 0]);
    assertStringIncludes(error.message, text);
  }
});

Deno.test("a pointer that happens to look like an address that is none is the guest's fault", () => {
  const error = errorOf(GLOBAL_LOAD, "buffer-descriptor", FaultReason.BufferDescriptor);
  assertInstanceOf(error, GuestFaultError);
  assertEquals(error.code, "driver.memory-fault");
  assertStringIncludes(error.message, ": unmapped");
});

guestTest("a reserved selector of a V# that is known at run time only is refused by its name", (device, backing) => {
  const guest = new GuestProgram("selectors");
  const data = guest.buffer(new Uint32Array(64).fill(7));
  const code = guest.code(Uint32Array.of(
    ...[0x7e020280], // v_mov_b32 v1, 0
    ...[0xe0001000, 0x80010301], // buffer_load_format_x v3, v1, s[4:7], 0 offen
    ...[0xbf8c3f70, 0xdc708000, 0x00000301], // s_waitcnt, global_store_dword v1, v3, s[0:1]
    0xbf810000,
  ));
  const [low, high] = words64(data.address);
  // A V# in user data; selector 2 is reserved (AMD RDNA2 ISA, "Buffer Resource Descriptor").
  const word3 = 2 | 22 << 12 | 3 << 28;
  guest.submit(
    0,
    computeState({ code, userData: [low, high, 0, 0, low, high, 256, word3], threads: [32, 1, 1] }),
    dispatchDirect([1, 1, 1]),
  );
  using run = runGuest(device, guest.program, backing);
  const { error } = run.result;
  assertInstanceOf(error, RefusedError);
  assertEquals(error.code, "driver.buffer-format");
});
