import { GuestFaultError, hex } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import { FAULT_NAMES, type MachineOptions, runDispatch } from "../../rdna/interpreter/mod.ts";
import type { Target } from "../../rdna/target.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import { GuestSpace } from "./guest_space.ts";

/** Options of {@linkcode SoftwareExecutor}. */
export interface SoftwareExecutorOptions {
  /** Instruction set of the guest's code. */
  target: Target;
  /** Instructions after which a wave counts as endless; none when left out. */
  instructionLimit?: number;
  /** What the interpreter calls after every instruction (for comparisons). */
  observer?: MachineOptions["observer"];
  /** GDS, which outlives dispatches; new and empty when left out. */
  gds?: Uint8Array;
  /** Makes the address space from guest memory (for comparisons, which watch accesses); {@linkcode GuestSpace} when left out. */
  space?: (memory: GuestMemory) => GuestSpace;
}

/** Ticks of the 100 MHz GPU clock in a millisecond. */
const TICKS_PER_MS = 100_000;

/**
 * Executes dispatches with the reference interpreter: no Vulkan, no FFI, any allocator. Each dispatch runs to its end when it is queued; a fault is
 * reported at the next drain, like a device does it.
 */
export class SoftwareExecutor implements ComputeExecutor {
  readonly name = "software (reference interpreter)";
  readonly scratch = true;
  readonly #options: SoftwareExecutorOptions;
  readonly #gds: Uint8Array;
  readonly #programs = new Map<string, ProgramReport>();
  #memory: GuestMemory | null = null;
  #space: GuestSpace | null = null;
  #generation = -1;
  #fault: GuestFaultError | null = null;
  #busy = false;
  #milliseconds = 0;

  constructor(options: SoftwareExecutorOptions) {
    this.#options = options;
    this.#gds = options.gds ?? new Uint8Array(GDS_BYTES);
  }

  get busy(): boolean {
    return this.#busy;
  }

  attach(memory: GuestMemory): void {
    this.drain();
    this.#memory = memory;
    this.#space = this.#options.space?.(memory) ?? new GuestSpace(memory);
    this.#generation = memory.generation;
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory;
    if (memory === null) throw new Error("attach guest memory first");
    if (memory.generation !== this.#generation) this.attach(memory);
    const space = this.#space!;
    const { program, partialThreads, x, y, z } = dispatch;
    memory.require(program.address, 4, Permission.Execute);
    const size = [program.numThreadsX, program.numThreadsY, program.numThreadsZ] as const;
    const start = performance.now();
    const result = runDispatch({
      codeAddress: program.address,
      target: this.#options.target,
      waveSize: dispatch.waveSize,
      workgroupSize: size,
      groups: partialThreads ? [Math.ceil(x / size[0]), Math.ceil(y / size[1]), Math.ceil(z / size[2])] : [x, y, z],
      threadLimit: partialThreads ? [x, y, z] : undefined,
      userData: dispatch.userData,
      userSgprCount: Math.min(program.userSgprCount, dispatch.userData.length),
      workgroupIds: [program.tgidX, program.tgidY, program.tgidZ],
      tgSize: program.tgSizeEn,
      scratchWaveBytes: program.scratchEn ? program.scratchWaveBytes : undefined,
      threadIdCount: program.threadIdCount,
      ldsBytes: program.ldsBytes,
      floatMode: program.floatMode,
      ieee: program.ieee,
      dx10Clamp: program.dx10Clamp,
      fp16Overflow: program.fp16Overflow,
    }, {
      space,
      code: (address) => space.code(address),
      gds: this.#gds,
      clock: () => BigInt(Math.round(performance.now() * TICKS_PER_MS)),
      instructionLimit: this.#options.instructionLimit,
      observer: this.#options.observer,
    });
    const milliseconds = performance.now() - start;
    this.#milliseconds += milliseconds;
    this.#busy = true;
    this.#report(dispatch, result.instructions);
    if (result.fault === null || this.#fault !== null) return;
    const { address, bytes, reason, pc } = result.fault;
    this.#fault = new GuestFaultError(
      "driver.memory-fault",
      `the program at ${hex(program.address)} accessed ${bytes} bytes at ${hex(address)}: ${FAULT_NAMES[reason]}`,
      { ...dispatch.place, guestAddress: address, pc },
    );
  }

  drain(): void {
    this.#busy = false;
    const fault = this.#fault;
    this.#fault = null;
    if (fault !== null) throw fault;
  }

  programs(): ProgramReport[] {
    return [...this.#programs.values()];
  }

  deviceMs(): number {
    return this.#milliseconds;
  }

  close(): void {
    this.#memory = null;
    this.#space = null;
  }

  #report({ program, waveSize }: ComputeDispatch, instructions: number): void {
    const { address, rsrc1, rsrc2, numThreadsX, numThreadsY, numThreadsZ } = program;
    const key = [address, waveSize, rsrc1, rsrc2, numThreadsX, numThreadsY, numThreadsZ].join(",");
    let report = this.#programs.get(key);
    if (report === undefined) {
      report = {
        address,
        instructions,
        words: 0,
        waveSize,
        laneMode: "interpreted",
        laneModeReason: "the software device",
        workgroupSize: [numThreadsX, numThreadsY, numThreadsZ],
        recompileMs: 0,
        createMs: 0,
        dispatches: 0,
      };
      this.#programs.set(key, report);
    }
    report.instructions = Math.max(report.instructions, instructions);
    report.dispatches++;
  }
}
