/**
 * From a recompiled program to its pipeline.
 *
 * @module
 */
import type { DeviceCapabilities } from "../../gpu/capabilities.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Op } from "../../recompiler/ir/ops.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { resolveImageDescriptors } from "../../recompiler/passes/resources.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";

/** Code of {@linkcode NeedsImageDescriptors}. */
const IMAGE_DESCRIPTORS = "recompiler.image-descriptors";

/** What decides a compute pipeline, as plain data: the key of the table of pipelines. Handles are those of the one device of the process. */
export interface PipelineRequest {
  /** The module. */
  readonly spirv: Uint32Array;
  /** VkPipelineLayout. */
  readonly layout: bigint;
  /** Lanes of a subgroup that are required, all subgroups full; undefined where the device may choose. */
  readonly subgroupSize: number | undefined;
  /** Values of specialization constants by SpecId. */
  readonly specialization?: readonly (readonly [id: number, value: number])[];
}

/** The pipeline of a recompiled program. */
export function pipelineRequest({ spirv, subgroupSize }: Artifact, layout: bigint): PipelineRequest {
  return { spirv, layout, subgroupSize };
}

/** What the guest's state says about a dispatch, for programs that cannot be made without it. */
export interface DispatchFacts {
  readonly userData: Uint32Array;
  readonly memory: GuestMemory;
}

/** Can a pipeline be made now? */
export type PipelineNow =
  /** Yes, from this artifact. */
  | { readonly state: "now" }
  /** Not from this: the program must be made from another request. */
  | { readonly state: "instead"; readonly request: RecompileRequest }
  /** Only a dispatch can tell: the program depends on descriptors in guest memory. */
  | { readonly state: "at-dispatch" }
  /** Never on this device. */
  | { readonly state: "refused"; readonly code: string; readonly what: string; readonly most: string };

/**
 * Can the pipeline of a program be made now? The one rule for both sides: who makes pipelines ahead of use and has no dispatch, and the
 * dispatch. So what is made ahead is what a dispatch will ask for.
 *
 * @param made what the recompiler made of the request, or what it lacks
 * @param facts of the dispatch, if there is one
 * @throws RefusedError when descriptors cannot be found out. @throws GuestMemoryError when they are not in memory
 */
export function pipelineNow(
  request: RecompileRequest,
  made: Artifact | NeedsImageDescriptors,
  { limits }: Pick<DeviceCapabilities, "limits">,
  facts?: DispatchFacts,
): PipelineNow {
  if (made instanceof NeedsImageDescriptors) {
    if (request.resolve) return { state: "instead", request: { ...request, resolve: false } };
    if (facts === undefined) return { state: "at-dispatch" };
    const { userData, memory } = facts;
    const imageDescriptors = resolveImageDescriptors(made, request, userData, (address) => memory.readU32(address));
    return { state: "instead", request: { ...request, imageDescriptors } };
  }
  // What the host reads before the dispatch must not change in it: of a program that writes anywhere nobody knows.
  if (request.resolve && made.writesElsewhere && readsMemory(made)) {
    return { state: "instead", request: { ...request, resolve: false } };
  }
  const { workgroupSize, sharedBytes } = made, [x, y, z] = workgroupSize;
  if (
    workgroupSize.some((size, axis) => size > limits.workgroupSize[axis]) || x * y * z > limits.workgroupInvocations
  ) {
    return {
      state: "refused",
      code: "workgroup-size",
      what: `workgroups of ${x} x ${y} x ${z} invocations`,
      most: `${limits.workgroupSize.join(" x ")}, ${limits.workgroupInvocations} in all`,
    };
  }
  if (sharedBytes > limits.computeSharedMemory) {
    return {
      state: "refused",
      code: "shared-memory",
      what: `${sharedBytes} bytes of workgroup memory`,
      most: `${limits.computeSharedMemory}`,
    };
  }
  return { state: "now" };
}

/**
 * What a program lacks, if that is why it was not recompiled: also of an error that came from another isolate, which has everything but the
 * program itself.
 */
export function imageNeeds(error: unknown, request: RecompileRequest): NeedsImageDescriptors | undefined {
  if (error instanceof NeedsImageDescriptors) return error;
  if (!(error instanceof Error && (error as { code?: unknown }).code === IMAGE_DESCRIPTORS)) return undefined;
  try {
    recompile(request);
  } catch (own) {
    if (own instanceof NeedsImageDescriptors) return own;
  }
  return undefined;
}

/** Whether the host must read guest memory before a dispatch. */
function readsMemory({ resources }: Artifact): boolean {
  return resources !== undefined && resources.tape.op.includes(Op.Load);
}
