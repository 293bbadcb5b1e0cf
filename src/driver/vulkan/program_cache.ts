import { AnyAgcError, type ErrorPlace, GuestFaultError, hex, RefusedError, withPlace } from "../../errors.ts";
import { GuestMemoryError } from "../../guest/memory/fault.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { type ComputePipeline, createComputePipeline, destroyPipeline } from "../../gpu/pipelines.ts";
import type { Target } from "../../rdna/target.ts";
import { recompileWithDescriptors } from "../../recompiler/recompile.ts";
import type { Artifact, RecompilerDevice } from "../../recompiler/request.ts";
import { MAX_CODE_BYTES, recompileRequest, requestKey } from "../compute_dispatch.ts";
import type { ComputeDispatch, ProgramReport } from "../executor.ts";

/** A recompiled program with its pipeline. */
export interface LoadedProgram {
  /** Guest address of the first instruction. */
  readonly address: bigint;
  /** The words that decided what it became. */
  readonly code: Uint32Array;
  readonly artifact: Artifact;
  readonly pipeline: ComputePipeline;
  readonly report: ProgramReport;
}

/** The programs of one guest on one device: recompiled on first use, and again when the guest has changed their code. */
export class ProgramCache {
  readonly #device: GpuDevice;
  readonly #layout: bigint;
  readonly #target: Target;
  readonly #recompilerDevice: RecompilerDevice;
  readonly #programs = new Map<string, LoadedProgram[]>();

  /** @param layout VkPipelineLayout of all programs; stays the caller's */
  constructor(device: GpuDevice, layout: bigint, target: Target, recompilerDevice: RecompilerDevice) {
    this.#device = device;
    this.#layout = layout;
    this.#target = target;
    this.#recompilerDevice = recompilerDevice;
  }

  /**
   * The program of a dispatch, for the code that is in memory now. Work in flight may still change that code: see {@linkcode isCurrent}.
   *
   * @param settle waits for work in flight; called before memory other than the code is read
   * @throws RefusedError for what is not supported; GuestFaultError when the code is not in executable memory
   */
  load(dispatch: ComputeDispatch, memory: GuestMemory, settle: () => void): LoadedProgram {
    const { program, waveSize, partialThreads } = dispatch;
    const words = codeAt(memory, program.address, dispatch.place);
    const key = requestKey(program, this.#target, waveSize, partialThreads);
    let list = this.#programs.get(key);
    const known = list?.find(({ code }) => startsWith(words, code));
    if (known !== undefined) return known;
    const loaded = this.#create(dispatch, memory, words, settle);
    if (list === undefined) this.#programs.set(key, list = []);
    list.push(loaded);
    return loaded;
  }

  /** Whether memory still holds the code that the program was made from. */
  isCurrent(program: LoadedProgram, memory: GuestMemory): boolean {
    const window = memory.find(program.address);
    if (window === undefined) return false;
    return startsWith(window.words.subarray(Number(program.address - window.base) / 4), program.code);
  }

  /** Reports of all programs, in order of their first use. */
  reports(): ProgramReport[] {
    return [...this.#programs.values()].flatMap((list) => list.map(({ report }) => report));
  }

  /** Destroys the pipelines. The device must not be using them. */
  destroy(): void {
    for (const list of this.#programs.values()) {
      for (const { pipeline } of list) destroyPipeline(this.#device, pipeline);
    }
    this.#programs.clear();
  }

  #create(dispatch: ComputeDispatch, memory: GuestMemory, words: Uint32Array, settle: () => void): LoadedProgram {
    const { program, waveSize, partialThreads } = dispatch;
    const start = performance.now();
    let artifact: Artifact, snapshot: Uint32Array, settled: boolean;
    do {
      // The recompiler reads the code several times, and work in flight may be writing to it.
      snapshot = words.slice();
      settled = false;
      const request = recompileRequest(
        program,
        snapshot,
        this.#target,
        waveSize,
        partialThreads,
        this.#recompilerDevice,
      );
      try {
        artifact = recompileWithDescriptors(request, dispatch.userData, (address) => {
          settled = true;
          settle();
          return memory.readU32(address);
        });
      } catch (error) {
        throw inProgram(error, dispatch);
      }
    } while (settled && !startsWith(words, snapshot.subarray(0, artifact.codeWords)));
    this.#checkLimits(artifact, dispatch);
    const recompiled = performance.now();
    const { spirv, laneMode, laneModeReason, workgroupSize, instructionCount } = artifact;
    const pipeline = createComputePipeline(this.#device, { spirv, layout: this.#layout });
    const { address } = program;
    return {
      address,
      code: snapshot.slice(0, artifact.codeWords),
      artifact,
      pipeline,
      report: {
        address,
        instructions: instructionCount,
        words: spirv.length,
        waveSize,
        laneMode,
        laneModeReason,
        workgroupSize,
        recompileMs: recompiled - start,
        createMs: performance.now() - recompiled,
        dispatches: 0,
      },
    };
  }

  #checkLimits({ workgroupSize, sharedBytes }: Artifact, { program, place }: ComputeDispatch): void {
    const { limits, name } = this.#device.capabilities;
    const refuse = (code: string, what: string, most: string): never => {
      throw new RefusedError(`driver.${code}`, `the program needs ${what}; ${name} takes at most ${most}`, {
        ...place,
        guestAddress: program.address,
      });
    };
    const [x, y, z] = workgroupSize;
    if (
      workgroupSize.some((size, axis) => size > limits.workgroupSize[axis]) || x * y * z > limits.workgroupInvocations
    ) {
      refuse(
        "workgroup-size",
        `workgroups of ${x} x ${y} x ${z} invocations`,
        `${limits.workgroupSize.join(" x ")}, ${limits.workgroupInvocations} in all`,
      );
    }
    if (sharedBytes > limits.computeSharedMemory) {
      refuse("shared-memory", `${sharedBytes} bytes of workgroup memory`, `${limits.computeSharedMemory}`);
    }
  }
}

/** An error of the recompiler with the dispatch's place; it knows the program counter at most. */
function inProgram(error: unknown, { program, place }: ComputeDispatch): unknown {
  if (!(error instanceof AnyAgcError) || error.place.queue !== undefined) return error;
  const guestAddress = BigInt.asUintN(64, program.address + BigInt(error.place.pc ?? 0));
  return withPlace(error, { ...place, guestAddress });
}

/** The words from an address to the end of its window, at most MAX_CODE_BYTES. */
function codeAt(memory: GuestMemory, address: bigint, place: ErrorPlace): Uint32Array<ArrayBuffer> {
  try {
    const window = memory.require(address, 4, Permission.Execute);
    const offset = Number(address - window.base);
    const bytes = Math.min(window.byteLength - offset, MAX_CODE_BYTES);
    return window.words.subarray(offset / 4, (offset + bytes) / 4);
  } catch (error) {
    if (!(error instanceof GuestMemoryError)) throw error;
    throw new GuestFaultError("driver.no-code", `there is no program at ${hex(address)}: ${error.message}`, {
      ...place,
      guestAddress: address,
    });
  }
}

function startsWith(words: Uint32Array, code: Uint32Array): boolean {
  if (words.length < code.length) return false;
  for (let i = 0; i < code.length; i++) if (words[i] !== code[i]) return false;
  return true;
}
