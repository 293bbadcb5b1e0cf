/**
 * A host that nobody here has: an executor that recompiles like the Vulkan one, for subgroups of any width, and evaluates the modules.
 *
 * @module
 */
import { recompileRequest } from "../../../src/driver/compute_dispatch.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../../../src/driver/executor.ts";
import { GuestFaultError, hex, RefusedError } from "../../../src/errors.ts";
import type { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import type { Target } from "../../../src/rdna/target.ts";
import { Context, FaultReason, Push, WindowEntry } from "../../../src/recompiler/abi.ts";
import { readFaultRecord } from "../../../src/recompiler/fault_record.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { Artifact, RecompilerDevice } from "../../../src/recompiler/request.ts";
import { Random } from "../random.ts";
import { DeviceMemory } from "./memory.ts";
import { parseSpirv, type SpirvModule } from "./parse.ts";
import { type EvaluatedDispatch, evaluateDispatch } from "./workgroup.ts";

/** Options of {@linkcode EvaluatedExecutor}. */
export interface EvaluatedOptions {
  target: Target;
  /** Invocations of a subgroup. */
  subgroupSize: 8 | 16 | 32 | 64;
  /** Decides all orders. */
  seed: number;
  /** What differs from {@linkcode evaluatedDevice}. */
  device?: Partial<RecompilerDevice>;
  /** A race in workgroup memory or buffers is an error: for programs that have none of their own. */
  races?: boolean;
  /** Memory is weak, see {@linkcode EvaluatedDispatch}. */
  weak?: boolean;
  /** Changes a module before it is evaluated. */
  change?: (words: Uint32Array) => Uint32Array;
  /** Flushes f32 denormals, see {@linkcode EvaluatedDispatch}; `device` must say so. */
  flushesUnasked?: EvaluatedDispatch["flushesUnasked"];
  /** Gives the artifact of a dispatch, for the windows of memory in ascending order; it is recompiled here when left out. */
  artifact?: (dispatch: ComputeDispatch) => Artifact;
}

/** The recompiler's view of the evaluator: exact numbers, no float modes, no Fma, f64, no narrow types. */
export function evaluatedDevice(subgroupSize: number): RecompilerDevice {
  return {
    subgroupSize,
    requiredSubgroup: { minimum: subgroupSize, maximum: subgroupSize, perWorkgroup: 128 },
    sharedMemoryBytes: 65536,
    denormFlush32: true,
    denormPreserve32: true,
    signedZeroInfNanPreserve32: true,
    signedZeroInfNanPreserve64: true,
    roundRte32: true,
    keepsDenormals32: true,
    flushesDenormals32: false,
    fusesFma32: true,
    fusesFma64: true,
    int8: true,
    int16: true,
    float16: false,
    float64: true,
    storage8: true,
    storage16: true,
    bufferInt64Atomics: true,
    sharedInt64Atomics: true,
    exactHalfPack: true,
  };
}

/**
 * What differs for a device that has no mode for f32 denormals and flushes them.
 *
 * @param flushes what it flushes where RoundingModeRTE 32 is declared ("all but sums": NVIDIA)
 */
export function flushingDevice(flushes: "all" | "all but sums"): Pick<EvaluatedOptions, "device" | "flushesUnasked"> {
  const device: Partial<RecompilerDevice> = {
    denormFlush32: false,
    denormPreserve32: false,
    keepsDenormals32: false,
    flushesDenormals32: true,
    roundRteKeepsDenormals32: flushes === "all but sums",
  };
  return { device, flushesUnasked: flushes };
}

/** Device address of the context block, and of the first window: far apart, and no guest address. */
const CONTEXT_ADDRESS = 0x7000_0000_0000n, WINDOWS_ADDRESS = 0x7100_0000_0000n;

/** Executes dispatches by evaluating their modules, at once. */
export class EvaluatedExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch = true;
  /** Modules that were evaluated, in order of their first use. */
  readonly artifacts: Artifact[] = [];
  readonly #programs = new Map<string, { artifact: Artifact; module: SpirvModule; report: ProgramReport }>();
  readonly #device: RecompilerDevice;
  readonly #random: Random;
  #memory: GuestMemory | null = null;
  #busy = false;
  #fault: Error | null = null;

  constructor(private readonly options: EvaluatedOptions) {
    this.name = `evaluator, ${options.subgroupSize} lanes`;
    this.#device = { ...evaluatedDevice(options.subgroupSize), ...options.device };
    this.#random = new Random(options.seed);
  }

  get busy(): boolean {
    return this.#busy;
  }

  attach(memory: GuestMemory): void {
    this.#memory = memory;
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory!;
    const { artifact, module, report } = this.#load(dispatch, memory);
    const { subgroupSize = this.options.subgroupSize } = artifact;
    if (subgroupSize !== this.options.subgroupSize) throw new Error(`subgroups of ${subgroupSize} lanes are required`);
    report.dispatches++;
    const space = new DeviceMemory(), context = this.#context(memory, space);
    const push = new DataView(new ArrayBuffer(Push.Bytes));
    push.setBigUint64(Push.Context, CONTEXT_ADDRESS, true);
    [dispatch.x, dispatch.y, dispatch.z].forEach((n, axis) => push.setUint32(Push.ThreadLimit + 4 * axis, n, true));
    push.setUint32(Push.ScratchWaveBytes, dispatch.program.scratchWaveBytes, true);
    dispatch.userData.forEach((word, n) => push.setUint32(Push.UserData + 4 * n, word, true));
    const { numThreadsX, numThreadsY, numThreadsZ } = dispatch.program, { x, y, z } = dispatch;
    const groups: [number, number, number] = dispatch.partialThreads
      ? [Math.ceil(x / numThreadsX), Math.ceil(y / numThreadsY), Math.ceil(z / numThreadsZ)]
      : [x, y, z];
    this.#busy = true;
    if (this.#fault !== null) return;
    evaluateDispatch({
      module,
      memory: space,
      push,
      groups,
      subgroupSize: this.options.subgroupSize,
      races: this.options.races,
      weak: this.options.weak,
      flushesUnasked: this.options.flushesUnasked,
      random: this.#random,
    });
    if (new Uint8Array(context, Context.Zero, 64).some((byte) => byte !== 0)) {
      throw new Error("the zero area of the context block was written");
    }
    const fault = readFaultRecord(new DataView(context));
    if (fault === null) return;
    const where = { ...dispatch.place, guestAddress: fault.address, pc: fault.pc };
    this.#fault = fault.reason >= FaultReason.Elsewhere
      ? new RefusedError("test.fault", `reason ${fault.reason} of ${artifact.laneMode}`, where)
      : new GuestFaultError("driver.memory-fault", `${fault.bytes} bytes at ${hex(fault.address)}`, where);
  }

  drain(): void {
    this.#busy = false;
    const fault = this.#fault;
    this.#fault = null;
    if (fault !== null) throw fault;
  }

  programs(): ProgramReport[] {
    return [...this.#programs.values()].map(({ report }) => report);
  }

  modules(): ReadonlyMap<ProgramReport, Uint32Array> {
    return new Map([...this.#programs.values()].map(({ report, artifact }) => [report, artifact.spirv]));
  }

  deviceMs(): undefined {}

  close(): void {}

  #load(dispatch: ComputeDispatch, memory: GuestMemory) {
    const { program, waveSize, partialThreads } = dispatch;
    const window = memory.require(program.address, 4, 0);
    const code = window.words.slice(Number(program.address - window.base) / 4);
    const key = [program.rsrc1, program.rsrc2, program.numThreadsX, program.numThreadsY, waveSize, partialThreads, code]
      .join();
    let known = this.#programs.get(key);
    if (known === undefined) {
      const artifact = this.options.artifact?.(dispatch) ?? recompile({
        ...recompileRequest(program, code, this.options.target, waveSize, partialThreads, this.#device),
        windows: 2 ** Math.ceil(Math.log2(memory.windows.length)),
        unalignedLoads: true,
      });
      this.artifacts.push(artifact);
      known = {
        artifact,
        module: parseSpirv(this.options.change?.(artifact.spirv) ?? artifact.spirv),
        report: {
          address: program.address,
          instructions: artifact.instructionCount,
          words: artifact.spirv.length,
          waveSize,
          laneMode: artifact.laneMode,
          laneModeReason: artifact.laneModeReason,
          workgroupSize: artifact.workgroupSize,
          recompileMs: 0,
          createMs: 0,
          dispatches: 0,
        },
      };
      this.#programs.set(key, known);
    }
    return known;
  }

  /** A context block with the windows of guest memory, which become buffers. */
  #context(memory: GuestMemory, space: DeviceMemory): ArrayBuffer {
    const bytes = new ArrayBuffer(Context.Windows + Math.max(1, memory.windows.length) * WindowEntry.Bytes);
    const view = new DataView(bytes);
    view.setUint32(Context.WindowCount, memory.windows.length, true);
    space.add({ address: CONTEXT_ADDRESS, bytes: new Uint8Array(bytes) });
    let address = WINDOWS_ADDRESS;
    memory.windows.forEach((window, n) => {
      const at = Context.Windows + n * WindowEntry.Bytes;
      view.setBigUint64(at + WindowEntry.Begin, window.base, true);
      view.setBigUint64(at + WindowEntry.End, BigInt.asUintN(64, window.base + BigInt(window.byteLength)), true);
      view.setBigUint64(at + WindowEntry.Delta, BigInt.asUintN(64, address - window.base), true);
      view.setUint32(at + WindowEntry.Access, window.permissions, true);
      space.add({ address, bytes: new Uint8Array(window.words.buffer, window.words.byteOffset, window.byteLength) });
      address += BigInt(window.byteLength) + 0x1_0000_0000n;
    });
    return bytes;
  }
}
