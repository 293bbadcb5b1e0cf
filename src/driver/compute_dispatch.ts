import { type AnyAgcError, type ErrorPlace, hex, InvalidInputError, RefusedError } from "../errors.ts";
import { type ComputeProgram, computeProgram, computeUserData, USER_DATA_COUNT } from "../pm4/compute_program.ts";
import type { RegisterState } from "../pm4/registers.ts";
import type { DispatchState, PacketSource } from "../pm4/sink.ts";
import type { Target } from "../rdna/target.ts";
import type { RecompilerDevice, RecompileRequest } from "../recompiler/request.ts";
import type { ComputeDispatch } from "./executor.ts";

/** Largest workgroup of the console's GPU: 1024 threads (AMD RDNA2 ISA, "Work-groups"). */
const MAX_THREADS = 1024;
/** Code is looked for in at most this many bytes from the entry point on. */
export const MAX_CODE_BYTES = 1 << 20;

/**
 * Reads the compute program of a dispatch from the registers and refuses what AnyAGC does not execute.
 *
 * @param scratch whether the executor executes programs with scratch memory
 * @throws RefusedError or InvalidInputError with the packet's place and the program's address.
 */
function dispatchProgram(command: DispatchState, scratch = false): ComputeProgram {
  const program = computeProgram(command.registers);
  const place = (): ErrorPlace => ({ ...command.source.errorPlace(), guestAddress: program.address });
  const refuse = (what: string, why: string): AnyAgcError => new RefusedError(`driver.${what}`, why, place());
  const { numThreadsX: x, numThreadsY: y, numThreadsZ: z } = program;
  if (program.address === 0n) {
    throw new InvalidInputError("driver.no-program", "a dispatch without a program (COMPUTE_PGM_LO/HI are 0)", place());
  }
  if (x * y * z === 0 || x * y * z > MAX_THREADS) {
    throw new InvalidInputError(
      "driver.workgroup-size",
      `a workgroup of ${x} x ${y} x ${z} threads; 1 to ${MAX_THREADS} are possible`,
      place(),
    );
  }
  if (program.threadIdCount > 3) {
    throw new InvalidInputError(
      "driver.thread-id-count",
      "COMPUTE_PGM_RSRC2.TIDIG_COMP_CNT is 3, a reserved value",
      place(),
    );
  }
  if (program.userSgprCount > USER_DATA_COUNT) {
    throw new InvalidInputError(
      "driver.user-sgprs",
      `COMPUTE_PGM_RSRC2.USER_SGPR is ${program.userSgprCount}; compute has ${USER_DATA_COUNT} user data registers`,
      place(),
    );
  }
  if (program.startX !== 0 || program.startY !== 0 || program.startZ !== 0) {
    throw refuse("dispatch-start", "COMPUTE_START_X/Y/Z other than 0 is not supported");
  }
  if (program.scratchEn && !scratch) {
    throw refuse("scratch", "the program uses scratch memory (COMPUTE_PGM_RSRC2.SCRATCH_EN)");
  }
  if (program.fp16Overflow) throw refuse("fp16-overflow", "COMPUTE_PGM_RSRC1.FP16_OVFL is not supported");
  if (program.sharedVgprs !== 0) throw refuse("shared-vgprs", "COMPUTE_PGM_RSRC3.SHARED_VGPR_CNT is not supported");
  return program;
}

/** A dispatch; its place, which takes as long as all else, is put together when somebody asks for it. A copy by `{ ...dispatch }` lacks it. */
class DispatchOfPacket implements ComputeDispatch {
  constructor(
    readonly program: ComputeProgram,
    readonly userData: Uint32Array,
    readonly waveSize: 32 | 64,
    readonly partialThreads: boolean,
    readonly x: number,
    readonly y: number,
    readonly z: number,
    readonly snapshot: number | undefined,
    private readonly source: PacketSource,
  ) {}

  get place(): ErrorPlace {
    return this.source.errorPlace();
  }
}

/** Makes dispatches, as executors get them, from the queues' registers: programs are decoded and checked again only when their registers changed. */
export class DispatchReader {
  readonly #scratch: boolean | undefined;
  #registers: RegisterState | undefined;
  #generation = -1;
  #program: ComputeProgram | undefined;

  /** @param scratch see {@linkcode dispatchProgram} */
  constructor(scratch?: boolean) {
    this.#scratch = scratch;
  }

  /**
   * @param x, y, z the size that the packet or memory has; none is zero
   * @throws as {@linkcode dispatchProgram}
   */
  read(command: DispatchState, x: number, y: number, z: number): ComputeDispatch {
    const { registers } = command;
    if (registers !== this.#registers || registers.computeGeneration !== this.#generation) {
      this.#program = dispatchProgram(command, this.#scratch);
      this.#registers = registers;
      this.#generation = registers.computeGeneration;
    }
    const program = this.#program!, { numThreadsX, numThreadsY, numThreadsZ } = program;
    // A size in threads that makes whole groups needs no program that looks at it.
    const isWhole = command.partialThreads && x % numThreadsX === 0 && y % numThreadsY === 0 && z % numThreadsZ === 0;
    return new DispatchOfPacket(
      program,
      computeUserData(registers),
      command.waveSize,
      command.partialThreads && !isWhole,
      isWhole ? x / numThreadsX : x,
      isWhole ? y / numThreadsY : y,
      isWhole ? z / numThreadsZ : z,
      command.source.snapshot,
      command.source,
    );
  }
}

/** The recompiler's request for a program. `code` are the words from the entry point on. */
export function recompileRequest(
  program: ComputeProgram,
  code: Uint32Array,
  target: Target,
  waveSize: 32 | 64,
  partialThreads: boolean,
  device: RecompilerDevice,
): RecompileRequest {
  return {
    code,
    codeAddress: program.address,
    target,
    waveSize,
    workgroupSize: [program.numThreadsX, program.numThreadsY, program.numThreadsZ],
    userSgprCount: program.userSgprCount,
    workgroupIds: [program.tgidX, program.tgidY, program.tgidZ],
    tgSize: program.tgSizeEn,
    scratch: program.scratchEn,
    threadIdCount: program.threadIdCount,
    ldsBytes: program.ldsBytes,
    floatMode: program.floatMode,
    ieee: program.ieee,
    dx10Clamp: program.dx10Clamp,
    partialThreads,
    device,
  };
}

/** Everything but the code that decides what a recompiled program is, as text. */
export function programKey(program: ComputeProgram, target: Target, waveSize: number, partialThreads: boolean): string {
  return [
    hex(program.address),
    target,
    waveSize,
    program.numThreadsX,
    program.numThreadsY,
    program.numThreadsZ,
    hex(program.rsrc1),
    hex(program.rsrc2),
    partialThreads ? "p" : "g",
  ].join(",");
}
