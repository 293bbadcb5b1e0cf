/** What can be wrong with a dispatch on a Vulkan device beside what the registers say. */
import { AnyAgcError, type ErrorPlace, GuestFaultError, hex, HostError, RefusedError } from "../../errors.ts";
import { decode } from "../../rdna/decode.ts";
import { OPCODES } from "../../rdna/table.ts";
import type { ComputeDispatch } from "../executor.ts";
import type { NowhereReason, RecordedFault } from "./context_blocks.ts";
import type { BuiltProgram } from "./program_cache.ts";

/** Code of the error that `VulkanExecutorOptions.unalignedLoads` avoids. */
export const UNALIGNED_LOAD = "driver.unaligned-load";

/**
 * The console numbers the lanes of a partial group over the threads that it has, the recompiled program over those of a whole group. That is the same
 * while the group is cut in the last direction only in which it has more than one thread; otherwise a program that looks at other lanes is refused.
 */
export function checkPartialLanes(
  { artifact }: BuiltProgram,
  dispatch: ComputeDispatch,
): void {
  const { program, partialThreads, x, y } = dispatch;
  if (!partialThreads || artifact.laneMode === "laneless") return;
  const { numThreadsX, numThreadsY, numThreadsZ, address } = program;
  const cutX = x % numThreadsX !== 0 && numThreadsY * numThreadsZ > 1;
  const cutY = y % numThreadsY !== 0 && numThreadsZ > 1;
  if (!cutX && !cutY) return;
  throw new RefusedError(
    "driver.partial-lanes",
    `a program whose lanes look at each other (${artifact.laneModeReason}), in groups of ${numThreadsX} x ${numThreadsY} x ${numThreadsZ} threads ` +
      `that are cut in ${cutX ? "x" : "y"}`,
    { ...dispatch.place, guestAddress: address },
  );
}

/** What only shows at run time and is refused then, by the reasons of the fault record, with the instructions that may have it. */
const NOWHERE: Readonly<Record<NowhereReason, { by: RegExp; what: string }>> = {
  "buffer-descriptor": {
    by: /^t?buffer_/,
    what:
      "by a V# that is known at run time only and has ADD_TID_ENABLE or SWIZZLE_ENABLE, which is recompiled for constant descriptors, and for single " +
      "dwords in programs with scratch memory; the interpreter does it: --device software",
  },
  "buffer-format": {
    by: /^t?buffer_/,
    what: "by a V# that is known at run time only, with a format or selectors that are not implemented",
  },
  "scratch-crossing": {
    by: /^(scratch|flat|buffer)_/,
    what: "of scratch memory that cross a dword, which is not implemented",
  },
  "sample-number": { by: /^image_/, what: "of a sample that the image has not: no document tells what that is" },
  "cube-edge": { by: /^image_/, what: "of a cube map beyond an edge of a face, which is not implemented" },
};

/** What a recorded fault is as an error: the guest's, or a refusal of what only the recompiled program could not do. */
export function faultError(program: BuiltProgram, fault: RecordedFault, place: ErrorPlace): AnyAgcError {
  const { address, bytes, reason, pc } = fault;
  const where = { ...place, guestAddress: address, pc };
  const what = `the program at ${hex(program.address)} accessed ${bytes} bytes at ${hex(address)}`;
  if (reason === "loop-limit") {
    return new RefusedError(
      "driver.loop-limit",
      `the loops of the program at ${
        hex(program.address)
      } take more rounds than this device executes (llvmpipe: 65,535 in all): ` +
        "results may be wrong. Other devices and the interpreter have no such limit: --device software",
      { ...place, pc },
    );
  }
  const refusal = NOWHERE[reason as NowhereReason];
  if (refusal !== undefined) {
    // A pointer of the guest's may happen to look like an address that is none; then it is the guest's fault.
    if (!refusal.by.test(opcodeAt(program, pc))) {
      return new GuestFaultError("driver.memory-fault", `${what}: unmapped`, where);
    }
    return new RefusedError(
      `driver.${reason}`,
      `the program at ${hex(program.address)} accessed ${bytes} bytes ${refusal.what}`,
      { ...place, pc },
    );
  }
  if (reason === "elsewhere") {
    return new RefusedError(
      "driver.window-crossing",
      `${what}: one access in two windows that adjoin each other is not supported, nor one far behind the end of its buffer, where the constants of ` +
        "the dispatch are",
      where,
    );
  }
  if (reason === "unaligned" && isLoad(program, pc)) {
    return new RefusedError(
      UNALIGNED_LOAD,
      `${what}: the program was recompiled without loads from addresses that are no multiple of 4`,
      where,
    );
  }
  return new GuestFaultError("driver.memory-fault", `${what}: ${reason}`, where);
}

/** Loads of guest memory have it in their name, on all paths; nothing else has. */
function isLoad(program: BuiltProgram, pc: number): boolean {
  return opcodeAt(program, pc).includes("_load");
}

function opcodeAt({ source }: BuiltProgram, pc: number): string {
  return OPCODES[decode(source.code, pc, source.request.target).op].name;
}

/**
 * The code of a program, or what kind of images it works on, changed while it was in flight behind other dispatches: which of them wrote it, and whether
 * before or after it was executed, is not known. Code that was written by the GPU is executed as it should be after an ACQUIRE_MEM that invalidates the
 * instruction caches, as the console needs it too, and both are after any wait for the GPU.
 */
export function changedProgram(program: BuiltProgram, place: ErrorPlace): RefusedError {
  return new RefusedError(
    "driver.code-changed",
    `the code at ${
      hex(program.address)
    }, or the kind of its images, changed while dispatches of it were in flight: code that a dispatch writes ` +
      "needs an ACQUIRE_MEM that invalidates the instruction caches before it is executed",
    { ...place, guestAddress: program.address },
  );
}

/** Whether it is the wait for the device that took too long. */
export function isTimeout(error: unknown): error is AnyAgcError {
  return error instanceof AnyAgcError && error.code === "gpu.timeout";
}

/** Memory cannot be made reachable for a device that still works on what did not finish in time. */
export function stillRuns(name: string): HostError {
  return new HostError(
    "driver.timeout",
    `the device "${name}" still works on dispatches that did not come to an end in time: their memory cannot be replaced`,
  );
}

/** Dispatches that the device works on for too long. @param address of the first one's program */
export function timedOut(address: bigint, { place }: ComputeDispatch, why: string): GuestFaultError {
  return new GuestFaultError(
    "driver.timeout",
    `dispatches from the one of ${hex(address)} on do not come to an end (${why})`,
    { ...place, guestAddress: address },
  );
}
