/** Runs hand-built IR programs: on a Vulkan device through the emitter, and on the evaluator, from the same memory. */
import { assert, AssertionError } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { HostBuffer } from "../../../src/gpu/buffer.ts";
import { CommandQueue } from "../../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../../src/gpu/pipelines.ts";
import { probeFloatBehaviour } from "../../../src/gpu/probe/float_probe.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { Access, Context, Push, WindowEntry } from "../../../src/recompiler/abi.ts";
import { readFaultRecord } from "../../../src/recompiler/fault_record.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { dumpIr } from "../../../src/recompiler/ir/dump.ts";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { validateIr } from "../../../src/recompiler/ir/validate.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { emitCompute, type EmitOptions } from "../../../src/recompiler/spirv/emit.ts";
import { verifyModule } from "../../support/verify_module.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";

/** A request with defaults: one wave of 32 lanes, denormals kept. */
export function request(more: Partial<RecompileRequest> = {}): RecompileRequest {
  return {
    code: new Uint32Array(0),
    codeAddress: 0x10_0000n,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [32, 1, 1],
    userSgprCount: 16,
    workgroupIds: [true, true, true],
    tgSize: false,
    scratch: false,
    threadIdCount: 3,
    ldsBytes: 0,
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: false,
    partialThreads: false,
    device: GENERIC_DEVICE,
    ...more,
  };
}

/** Emits a module and checks it: our own verification, and SPIRV-Tools for Vulkan 1.3. */
export function emitValid(ir: Ir, req: RecompileRequest, options?: EmitOptions): Artifact {
  validateIr(ir);
  const artifact = emitCompute(ir, req, options);
  const problems = verifyModule(artifact.spirv);
  const tools = openSpirvTools();
  const [diagnostic] = tools.validate(artifact.spirv);
  if (problems.length > 0 || diagnostic !== undefined) {
    const text = tools.disassemble(artifact.spirv, { rawIds: true });
    throw new AssertionError(`${problems.join("\n")}\n${diagnostic?.message}\n${dumpIr(ir)}\n${text}`);
  }
  return artifact;
}

/** Words of a module once everything is inlined and debug information is gone: how modules are compared. */
export function inlinedWords(spirv: Uint32Array): number {
  return openSpirvTools().optimize(spirv, ["--strip-debug", "--inline-entry-points-exhaustive"]).length;
}

/** A window of guest memory. */
export interface TestWindow {
  base: bigint;
  /** Contents; the length is the window's. */
  words: Uint32Array;
  /** Bits of `Access`; reading and writing when left out. */
  access?: number;
}

/** What a run needs beside the program. */
export interface RunOptions extends Partial<Omit<RecompileRequest, "device" | "windows">> {
  /** `RecompileRequest.windows`; as many as there are, when left out. */
  windowsMost?: number;
  groups?: readonly [number, number, number];
  userData?: readonly number[];
  threadLimit?: readonly [number, number, number];
  windows: TestWindow[];
  /** Changes to what the device has, to reach fallbacks. */
  device?: Partial<RecompilerDevice>;
  emit?: EmitOptions;
}

/** The fault record. */
export interface Fault {
  reason: number;
  address: bigint;
  bytes: number;
  pc: number;
}

/** What a run left behind. */
export interface RunResult {
  /** Contents of each window. */
  windows: Uint32Array[];
  fault: Fault | undefined;
  artifact: Artifact;
}

const GAP = 4096;

/** A device with its queue and layout. */
export class Rig {
  readonly recompilerDevice: RecompilerDevice;
  private readonly queue: CommandQueue;
  private readonly layout: bigint;

  constructor(private readonly device: GpuDevice) {
    this.recompilerDevice = recompilerDevice(device.capabilities, probeFloatBehaviour(device));
    this.queue = new CommandQueue(device, { buffers: 1 });
    this.layout = createPipelineLayout(device);
  }

  /** Whether f32 denormals can count. */
  get keepsDenormals(): boolean {
    return this.recompilerDevice.keepsDenormals32 || this.recompilerDevice.denormPreserve32;
  }

  /** Runs a program on the device. The windows lie apart in device memory; what lies between must not change. */
  run(ir: Ir, options: RunOptions): RunResult {
    const { groups = [1, 1, 1], userData = [], threadLimit, windows, device, emit, windowsMost, ...rest } = options;
    const req = request({
      // Denormals flushed where the device cannot keep them.
      floatMode: this.keepsDenormals ? 0xf0 : 0xc0,
      ...rest,
      windows: windowsMost ?? windows.length,
      device: { ...this.recompilerDevice, ...device },
      partialThreads: threadLimit !== undefined,
    });
    const artifact = emitValid(ir, req, emit);
    const contextBytes = Context.Windows + Math.max(windows.length, 1) * WindowEntry.Bytes;
    let at = Math.ceil(contextBytes / GAP) * GAP + GAP;
    const places = windows.map(({ words }) => {
      const place = at;
      at += Math.ceil(words.length * 4 / GAP) * GAP + GAP;
      return place;
    });
    const memory = new HostBuffer(this.device, at);
    const view = new DataView(memory.buffer);
    const all = new Uint32Array(memory.buffer);
    const pattern = 0xa5a5_a5a5;
    all.fill(pattern, contextBytes / 4);
    view.setUint32(Context.WindowCount, windows.length, true);
    for (let i = 0; i < 16; i++) view.setUint32(Context.Sink + i * 4, pattern, true);
    windows.forEach(({ base, words, access = Access.Read | Access.Write }, i) => {
      const entry = Context.Windows + i * WindowEntry.Bytes;
      const end = BigInt.asUintN(64, base + BigInt(words.length * 4));
      view.setBigUint64(entry + WindowEntry.Begin, base, true);
      view.setBigUint64(entry + WindowEntry.End, end, true);
      const delta = BigInt.asUintN(64, memory.deviceAddress + BigInt(places[i]) - base);
      view.setBigUint64(entry + WindowEntry.Delta, delta, true);
      view.setUint32(entry + WindowEntry.Access, access, true);
      all.set(words, places[i] / 4);
    });
    const context = all.slice(Context.Zero / 4, contextBytes / 4);
    const pipeline = createComputePipeline(this.device, { spirv: artifact.spirv, layout: this.layout })!;
    try {
      this.queue.begin();
      this.queue.bindPipeline(pipeline.handle);
      const { push } = this.queue;
      push.fill(0);
      push[Push.Context / 4] = Number(memory.deviceAddress & 0xffff_ffffn);
      push[Push.Context / 4 + 1] = Number(memory.deviceAddress >> 32n);
      push.set(threadLimit ?? [], Push.ThreadLimit / 4);
      push.set(userData, Push.UserData / 4);
      this.queue.pushConstants(this.layout, Push.Bytes);
      this.queue.dispatch(...groups);
      this.queue.wait(this.queue.submit());
      const result = windows.map(({ words }, i) => all.slice(places[i] / 4, places[i] / 4 + words.length));
      for (const place of places.keys()) {
        all.fill(pattern, places[place] / 4, places[place] / 4 + windows[place].words.length);
      }
      const after = all.slice(Context.Zero / 4, contextBytes / 4);
      // The sink may hold anything.
      after.fill(pattern, (Context.Sink - Context.Zero) / 4, (Context.Resolved - Context.Zero) / 4);
      assert(
        after.every((word, i) => word === context[i]),
        "the context block changed outside of fault record and sink",
      );
      const changed = all.findIndex((word, i) => i >= contextBytes / 4 && word !== pattern);
      if (changed >= 0) throw new AssertionError(`memory outside of the windows changed, at byte ${changed * 4}`);
      return { windows: result, fault: readFault(view), artifact };
    } finally {
      destroyPipeline(this.device, pipeline);
      memory.destroy();
    }
  }

  destroy(): void {
    this.queue.destroy();
    destroyPipelineLayout(this.device, this.layout);
  }
}

function readFault(view: DataView): Fault | undefined {
  const fault = readFaultRecord(view);
  return fault === null
    ? undefined
    : { reason: fault.reason, address: fault.address, bytes: fault.bytes, pc: fault.pc };
}

/** Runs the same on the evaluator, all workgroups in order. */
export function evaluate(ir: Ir, options: RunOptions): Uint32Array[] {
  const { groups = [1, 1, 1], userData, threadLimit, windows, waveSize = 32, workgroupSize = [32, 1, 1], ldsBytes } =
    options;
  const memory = new EvalMemory();
  const copies = windows.map(({ base, words }) => memory.mapWords(base, words));
  for (let z = 0; z < groups[2]; z++) {
    for (let y = 0; y < groups[1]; y++) {
      for (let x = 0; x < groups[0]; x++) {
        evaluateWorkgroup(ir, {
          waveSize,
          workgroupSize,
          workgroupId: [x, y, z],
          userData,
          threadLimit,
          memory,
          ldsBytes,
          maxSteps: 50_000_000,
        });
      }
    }
  }
  return copies;
}

/**
 * Runs a program on both, and compares all windows. `equal` decides about words (device, evaluator); bits must be the same when left out.
 *
 * @param model what the evaluator runs, when it is not the same program
 */
export function compare(
  rig: Rig,
  ir: Ir,
  options: RunOptions,
  equal: (got: number, wanted: number, word: number, window: number) => boolean = (got, wanted) => got === wanted,
  model = ir,
): RunResult {
  const result = rig.run(ir, options);
  const wanted = evaluate(model, options);
  const wrong: string[] = [];
  result.windows.forEach((words, window) => {
    words.forEach((got, word) => {
      if (!equal(got, wanted[window][word], word, window)) {
        wrong.push(
          `window ${window} word ${word}: got 0x${got.toString(16)}, wanted 0x${wanted[window][word].toString(16)}`,
        );
      }
    });
  });
  if (wrong.length > 0) throw new AssertionError(`${wrong.length} words differ:\n${wrong.slice(0, 20).join("\n")}`);
  return result;
}

/** Whether both are NaN or both the same bits. */
export function sameFloat(got: number, wanted: number): boolean {
  const isNan = (bits: number) => (bits & 0x7fffffff) > 0x7f800000;
  return got === wanted || (isNan(got) && isNan(wanted));
}
