import { type ErrorPlace, GuestFaultError, hex, RefusedError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import { CommandQueue } from "../../gpu/command_queue.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { BackingKind } from "../../gpu/guest_backing.ts";
import {
  type ComputePipeline,
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
} from "../../gpu/pipelines.ts";
import { probeFloatBehaviour } from "../../gpu/probe/float_probe.ts";
import { recompilerDevice } from "../../gpu/recompiler_device.ts";
import type { Target } from "../../rdna/target.ts";
import { Push } from "../../recompiler/abi.ts";
import { recompileWithDescriptors } from "../../recompiler/recompile.ts";
import type { Artifact, RecompilerDevice } from "../../recompiler/request.ts";
import { MAX_CODE_BYTES, recompileRequest, requestKey } from "../compute_dispatch.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import { ContextBlocks } from "./context_blocks.ts";
import { DeviceWindows } from "./windows.ts";

/** Options of {@linkcode VulkanExecutor}. */
export interface VulkanExecutorOptions {
  /** Instruction set of the guest's code. */
  target: Target;
  /** How guest memory reaches the device; `automatic` by default. */
  backing?: BackingKind;
}

/** Dispatches that are recorded before a command buffer is submitted. */
const BATCH = 64;

/** A recompiled program with its pipeline. */
interface LoadedProgram {
  /** The words that the recompiler looked at, to notice when the guest has changed them. */
  code: Uint32Array;
  artifact: Artifact;
  pipeline: ComputePipeline;
  /** Index of its context block. */
  context: number;
  report: ProgramReport;
}

/** Executes dispatches on a Vulkan device. */
export class VulkanExecutor implements ComputeExecutor {
  readonly name: string;
  /** The recompiler's view of the device. */
  readonly recompilerDevice: RecompilerDevice;
  readonly #device: GpuDevice;
  readonly #target: Target;
  readonly #queue: CommandQueue;
  readonly #layout: bigint;
  readonly #windows: DeviceWindows;
  readonly #contexts: ContextBlocks;
  readonly #programs = new Map<string, LoadedProgram[]>();
  #memory: GuestMemory | null = null;
  #generation = -1;
  #recorded = 0;
  #pending = false;
  /** Programs with work in flight, in the order of their first dispatch. */
  readonly #inFlight = new Map<LoadedProgram, ErrorPlace>();
  readonly #submissions: number[] = [];
  #deviceMs = 0;

  /** @param device stays the caller's: close the executor before it is destroyed. */
  constructor(device: GpuDevice, options: VulkanExecutorOptions) {
    this.name = device.capabilities.name;
    this.#device = device;
    this.#target = options.target;
    this.#layout = createPipelineLayout(device);
    this.#queue = new CommandQueue(device, { timestamps: 2 });
    this.#windows = new DeviceWindows(device, options.backing ?? "automatic");
    this.#contexts = new ContextBlocks(device);
    this.recompilerDevice = recompilerDevice(device.capabilities, probeFloatBehaviour(device));
  }

  get busy(): boolean {
    return this.#pending;
  }

  /** Whether the device works on guest memory itself or on copies. */
  get backing(): "imported" | "mirrored" {
    return this.#windows.kind;
  }

  attach(memory: GuestMemory): void {
    this.drain();
    this.#memory = memory;
    this.#generation = memory.generation;
    this.#contexts.setWindows(this.#windows.update(memory));
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory;
    if (memory === null) throw new Error("attach guest memory first");
    if (memory.generation !== this.#generation) this.attach(memory);
    const loaded = this.#load(dispatch, memory);
    const [gx, gy, gz] = this.#groups(dispatch);
    if (this.#recorded === 0) {
      this.#windows.upload();
      this.#queue.begin();
      this.#queue.timestamp();
    } else {
      this.#queue.barrier();
    }
    const { push } = this.#queue;
    const context = this.#contexts.address(loaded.context);
    push[Push.Context / 4] = Number(context & 0xffff_ffffn);
    push[Push.Context / 4 + 1] = Number(context >> 32n);
    push[Push.ThreadLimit / 4] = dispatch.x;
    push[Push.ThreadLimit / 4 + 1] = dispatch.y;
    push[Push.ThreadLimit / 4 + 2] = dispatch.z;
    push.set(dispatch.userData, Push.UserData / 4);
    this.#queue.bindPipeline(loaded.pipeline.handle);
    this.#queue.pushConstants(this.#layout, Push.Bytes);
    this.#queue.dispatch(gx, gy, gz);
    loaded.report.dispatches++;
    if (!this.#inFlight.has(loaded)) this.#inFlight.set(loaded, dispatch.place);
    this.#pending = true;
    // A mirrored device needs the copies of one batch to be downloaded before those of the next are uploaded.
    if (++this.#recorded === BATCH) this.#windows.kind === "mirrored" ? this.drain() : this.#submit();
  }

  drain(): void {
    if (!this.#pending) return;
    this.#submit();
    this.#queue.wait(this.#queue.submitted);
    this.#pending = false;
    this.#windows.download();
    for (const value of this.#submissions) {
      const times = this.#queue.timestamps?.read(value);
      if (times !== undefined && times.length === 2) this.#deviceMs += times[1] / 1e6;
    }
    this.#submissions.length = 0;
    const programs = [...this.#inFlight];
    this.#inFlight.clear();
    let first: GuestFaultError | null = null;
    for (const [program, place] of programs) {
      const fault = this.#contexts.takeFault(program.context);
      if (fault === null || first !== null) continue;
      const { address } = program.report;
      first = new GuestFaultError(
        "driver.memory-fault",
        `the program at ${hex(address)} accessed ${fault.bytes} bytes at ${hex(fault.address)}: ${fault.reason}`,
        { ...place, guestAddress: fault.address, pc: fault.pc },
      );
    }
    if (first !== null) throw first;
  }

  programs(): ProgramReport[] {
    return [...this.#programs.values()].flatMap((list) => list.map(({ report }) => report));
  }

  deviceMs(): number | undefined {
    return this.#queue.timestamps === undefined ? undefined : this.#deviceMs;
  }

  close(): void {
    this.#queue.destroy();
    for (const list of this.#programs.values()) {
      for (const { pipeline } of list) destroyPipeline(this.#device, pipeline);
    }
    this.#programs.clear();
    this.#contexts.destroy();
    this.#windows.destroy();
    this.#device.vulkan.vkDestroyPipelineLayout(this.#device.handle, this.#layout, 0n);
  }

  #submit(): void {
    if (this.#recorded === 0) return;
    this.#queue.timestamp();
    this.#submissions.push(this.#queue.submit());
    // The ring keeps few timestamps: read them before they are recorded over.
    if (this.#submissions.length >= 4) {
      const value = this.#submissions.shift()!;
      this.#queue.wait(value);
      const times = this.#queue.timestamps?.read(value);
      if (times !== undefined && times.length === 2) this.#deviceMs += times[1] / 1e6;
    }
    this.#recorded = 0;
  }

  #groups(dispatch: ComputeDispatch): [number, number, number] {
    const { program, partialThreads, x, y, z } = dispatch;
    const groups: [number, number, number] = partialThreads
      ? [
        Math.ceil(x / program.numThreadsX),
        Math.ceil(y / program.numThreadsY),
        Math.ceil(z / program.numThreadsZ),
      ]
      : [x, y, z];
    const limit = this.#device.capabilities.limits.workgroupCount;
    if (groups.some((count, axis) => count > limit[axis])) {
      throw new RefusedError(
        "driver.workgroup-count",
        `a dispatch of ${groups.join(" x ")} workgroups; the device takes at most ${limit.join(" x ")}`,
        { ...dispatch.place, guestAddress: program.address },
      );
    }
    return groups;
  }

  #load(dispatch: ComputeDispatch, memory: GuestMemory): LoadedProgram {
    const { program, waveSize, partialThreads } = dispatch;
    // Work in flight that writes code is seen by dispatches after the next wait, as on the console, whose instruction cache is not coherent.
    const window = memory.require(program.address, 4, Permission.Execute);
    const offset = Number(program.address - window.base);
    const bytes = Math.min(window.byteLength - offset, MAX_CODE_BYTES);
    const words = window.words.subarray(offset / 4, (offset + bytes) / 4);
    const key = requestKey(program, this.#target, waveSize, partialThreads);
    let list = this.#programs.get(key);
    const known = list?.find(({ code }) => sameCode(code, words));
    if (known !== undefined) return known;
    const start = performance.now();
    const request = recompileRequest(program, words, this.#target, waveSize, partialThreads, this.recompilerDevice);
    const artifact = recompileWithDescriptors(request, dispatch.userData, (address) => {
      if (this.#pending) this.drain();
      return memory.readU32(address);
    });
    const recompiled = performance.now();
    const pipeline = createComputePipeline(this.#device, { spirv: artifact.spirv, layout: this.#layout });
    if (pipeline === undefined) throw new Error("a pipeline that may be compiled was not");
    const created = performance.now();
    const loaded: LoadedProgram = {
      code: words.slice(0, artifact.codeWords),
      artifact,
      pipeline,
      context: this.#contexts.add(),
      report: {
        address: program.address,
        instructions: artifact.instructionCount,
        words: artifact.spirv.length,
        waveSize,
        laneMode: artifact.laneMode,
        laneModeReason: artifact.laneModeReason,
        workgroupSize: artifact.workgroupSize,
        recompileMs: recompiled - start,
        createMs: created - recompiled,
        dispatches: 0,
      },
    };
    if (list === undefined) this.#programs.set(key, list = []);
    list.push(loaded);
    return loaded;
  }
}

function sameCode(known: Uint32Array, words: Uint32Array): boolean {
  if (words.length < known.length) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== words[i]) return false;
  return true;
}
