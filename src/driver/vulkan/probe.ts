import { HostBuffer } from "../../gpu/buffer.ts";
import type { CommandQueue } from "../../gpu/command_queue.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { createComputePipeline, destroyPipeline } from "../../gpu/pipelines.ts";
import { Access, Push } from "../../recompiler/abi.ts";
import { Ir } from "../../recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../recompiler/ir/ops.ts";
import type { RecompileRequest } from "../../recompiler/request.ts";
import { emitCompute } from "../../recompiler/spirv/emit.ts";
import { ContextBlocks } from "./context_blocks.ts";
import { type ProbedFloats, recompilerDevice } from "./recompiler_device.ts";

/** (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly; with the product rounded to 24 bits first it is 0. */
const FUSED = [0x3f800800, 0x3f800800, 0xbf801000] as const;
const FUSED_RESULT = 0x33800000;
/** A denormal, and 1. */
const DENORMAL = 0x00012345;
const ONE = 0x3f800000;
/** Guest address of the probe's results. */
const RESULTS = 0x1_0000_0000n;

/**
 * Runs a small program on the device that tells what the Vulkan specification leaves open: whether Fma is fused, and whether f32 denormals survive
 * a multiplication without a float-control mode.
 */
export function probeFloats(device: GpuDevice, queue: CommandQueue, layout: bigint): ProbedFloats {
  const results = new HostBuffer(device, 4096);
  const contexts = new ContextBlocks(device);
  contexts.setWindows([{
    base: RESULTS,
    end: RESULTS + 4096n,
    delta: BigInt.asUintN(64, results.deviceAddress - RESULTS),
    permissions: Access.Read | Access.Write,
  }]);
  const context = contexts.address(contexts.add());
  const optimistic = recompilerDevice(device.capabilities, { keepsDenormals32: true, fusesFma32: true });
  const { spirv } = emitCompute(probeProgram(), probeRequest(optimistic), {
    laneMode: "laneless",
    laneModeReason: "probe",
  });
  const pipeline = createComputePipeline(device, { spirv, layout })!;
  try {
    queue.begin();
    const { push } = queue;
    push.fill(0);
    push[Push.Context / 4] = Number(context & 0xffff_ffffn);
    push[Push.Context / 4 + 1] = Number(context >> 32n);
    // Operands come from push constants, so that no compiler computes the answer.
    push.set([...FUSED, DENORMAL, ONE], Push.UserData / 4);
    queue.bindPipeline(pipeline.handle);
    queue.pushConstants(layout, Push.Bytes);
    queue.dispatch(1, 1, 1);
    queue.wait(queue.submit());
    const [fma, product] = new Uint32Array(results.buffer, 0, 2);
    return { fusesFma32: fma === FUSED_RESULT, keepsDenormals32: product === DENORMAL };
  } finally {
    destroyPipeline(device, pipeline);
    contexts.destroy();
    results.destroy();
  }
}

function probeProgram(): Ir {
  const ir = new Ir(64);
  const input = (index: number) => ir.emit(Op.BitcastF, ir.append(Op.Input, Type.U32, InputKind.UserData, index));
  const active = ir.constB(true);
  const store = (offset: number, value: number) => {
    const address = ir.emit(
      Op.Pack64,
      ir.constU(Number(RESULTS & 0xffff_ffffn) + offset),
      ir.constU(Number(RESULTS >> 32n)),
    );
    ir.emit(Op.Store, address, active, ir.emit(Op.BitcastU, value), 4);
  };
  store(0, ir.emit(Op.FFma, input(0), input(1), input(2)));
  store(4, ir.emit(Op.FMul, input(3), input(4)));
  ir.emit(Op.End);
  return ir;
}

function probeRequest(device: RecompileRequest["device"]): RecompileRequest {
  return {
    code: new Uint32Array(0),
    codeAddress: 0n,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [1, 1, 1],
    userSgprCount: 8,
    workgroupIds: [false, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    // Neither flushed nor kept by request: the device's own way.
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: false,
    partialThreads: false,
    device: { ...device, denormFlush32: false, denormPreserve32: false },
  };
}
