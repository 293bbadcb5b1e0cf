/** Pipelines of trivial modules, isolates that create them, and a count of what the driver is asked for. */
import {
  attachDriverRoom,
  type DriverRoomHandle,
  type OwnedDriverRoom,
} from "../../../../src/driver/pools/driver_room.ts";
import type { PipelineRequest } from "../../../../src/driver/vulkan/pipeline_request.ts";
import type { GpuDevice } from "../../../../src/gpu/device.ts";
import { GuestFaultError } from "../../../../src/errors.ts";

/** Words that the test's isolates share. */
export const Flag = {
  /** Calls of vkCreateComputePipelines. */
  Calls: 0,
  /** Isolates that have come so far. */
  Gate: 1,
  /** Sleeps of isolates that wait for another's creation. */
  Waits: 2,
  /** A creation has begun. */
  Begun: 3,
  /** A creation that was held up may go on. */
  Release: 4,
} as const;

/** Fresh flags. */
export function newFlags(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * 8));
}

/** A module that does nothing, different for each number; to the driver's code generator for each number of threads. */
export function trivialModule(number: number, threads = 1): Uint32Array {
  const main = [0x6e69616d, 0];
  return Uint32Array.of(
    ...[0x07230203, 0x0001_0000, 0, 8, 0],
    ...[2 << 16 | 17, 1], // OpCapability Shader
    ...[3 << 16 | 14, 0, 1], // OpMemoryModel Logical GLSL450
    ...[5 << 16 | 15, 5, 4, ...main], // OpEntryPoint GLCompute %4 "main"
    ...[6 << 16 | 16, 4, 17, threads, 1, 1], // OpExecutionMode %4 LocalSize threads 1 1
    ...[2 << 16 | 19, 1], // %1 = OpTypeVoid
    ...[3 << 16 | 33, 2, 1], // %2 = OpTypeFunction %1
    ...[4 << 16 | 21, 3, 32, 0], // %3 = OpTypeInt 32 0
    ...[4 << 16 | 43, 3, 6, number], // %6 = OpConstant %3 number
    ...[5 << 16 | 54, 1, 4, 0, 2], // %4 = OpFunction %1 None %2
    ...[2 << 16 | 248, 5], // %5 = OpLabel
    1 << 16 | 253, // OpReturn
    1 << 16 | 56, // OpFunctionEnd
  );
}

/** Its request. */
export function trivialRequest(layout: bigint, number: number): PipelineRequest {
  return { spirv: trivialModule(number), layout, subgroupSize: undefined };
}

/** Counts calls of vkCreateComputePipelines, whoever makes them in this isolate; `before` runs in each. */
export function countCreations(
  { vulkan }: GpuDevice,
  flags: Int32Array<SharedArrayBuffer>,
  before: () => void = () => {},
): void {
  const create = vulkan.vkCreateComputePipelines;
  Object.assign(vulkan, {
    vkCreateComputePipelines(...args: Parameters<typeof create>) {
      Atomics.add(flags, Flag.Calls, 1);
      before();
      return create(...args);
    },
  });
}

/** Says that a creation has begun, and holds it up until it is released. */
export function holdUp(flags: Int32Array<SharedArrayBuffer>): void {
  Atomics.store(flags, Flag.Begun, 1);
  Atomics.notify(flags, Flag.Begun);
  while (Atomics.load(flags, Flag.Release) === 0) Atomics.wait(flags, Flag.Release, 0, 20_000);
}

/** Releases it. */
export function release(flags: Int32Array<SharedArrayBuffer>): void {
  Atomics.store(flags, Flag.Release, 1);
  Atomics.notify(flags, Flag.Release);
}

/** Waits until a flag is no longer 0, without blocking. */
export async function flagged(flags: Int32Array<SharedArrayBuffer>, flag: number): Promise<void> {
  for (;;) {
    if (Atomics.load(flags, flag) !== 0) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The error that creations of the tests fail with. */
export function originalError(): GuestFaultError {
  const error = new GuestFaultError("gpu.pipeline-test", "the driver refuses it: “é”, VK_ERROR_UNKNOWN", {
    guestAddress: 0xffff_8000_1234_5600n,
    pc: 0x1c,
    queue: 0x28,
    words: [0x7e00_0280],
  });
  error.cause = new TypeError("the cause");
  return error;
}

/** What an isolate is to do. */
export interface PipelineTask {
  readonly handle: DriverRoomHandle;
  readonly flags: Int32Array<SharedArrayBuffer>;
  /** `die`: ends over its first creation, without a word. */
  readonly action: "race" | "fail" | "held" | "die";
  /** Modules, in the order in which it asks for them. */
  readonly numbers: readonly number[];
  /** Isolates that begin together. */
  readonly together: number;
}

/** What it says. */
export interface PipelineAnswer {
  readonly error?: Uint8Array<ArrayBuffer>;
  /** Pipelines, by the order of `numbers`. */
  readonly pipelines: readonly bigint[];
}

/** Starts an isolate; gives its answer. */
export function startPipelines(
  room: OwnedDriverRoom,
  task: Omit<PipelineTask, "handle">,
): Promise<PipelineAnswer> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<PipelineAnswer>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage({ handle: room.handle, ...task } satisfies PipelineTask);
  });
}

/** Attaches to the room, in the isolate. */
export const attach = attachDriverRoom;
