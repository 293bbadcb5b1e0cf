import { assertEquals } from "@std/assert";
import { type DispatchFacts, type PipelineNow, pipelineNow } from "../../../src/driver/vulkan/pipeline_request.ts";
import type { DeviceCapabilities } from "../../../src/gpu/capabilities.ts";
import { Op } from "../../../src/recompiler/ir/ops.ts";
import type { Artifact } from "../../../src/recompiler/request.ts";
import { makeRequest } from "../../support/lift.ts";

const DEVICE = {
  limits: { workgroupSize: [64, 32, 16], workgroupInvocations: 128, computeSharedMemory: 1024 },
} as unknown as DeviceCapabilities;

/** What the rule looks at of an artifact. */
function made(changes: Partial<Artifact> = {}): Artifact {
  return { workgroupSize: [32, 1, 1], sharedBytes: 0, writesElsewhere: false, ...changes } as Artifact;
}

/** The tape of a program whose host reads guest memory before each dispatch. */
const READS = { tape: { op: [Op.Load] } } as unknown as Artifact["resources"];

const codeOf = (now: PipelineNow) => now.state === "refused" ? now.code : now.state;

Deno.test("a pipeline can be made up to the device's limits, and is refused beyond each of them, dispatch or not", () => {
  const facts = {} as DispatchFacts;
  for (const each of [undefined, facts]) {
    const of = (changes: Partial<Artifact>) => codeOf(pipelineNow(makeRequest(), made(changes), DEVICE, each));
    for (
      const [size, state] of [
        [[64, 2, 1], "now"],
        [[4, 32, 1], "now"],
        [[8, 1, 16], "now"],
        [[65, 1, 1], "workgroup-size"],
        [[1, 33, 1], "workgroup-size"],
        [[1, 1, 17], "workgroup-size"],
        [[43, 3, 1], "workgroup-size"],
      ] as const
    ) assertEquals(of({ workgroupSize: size }), state, size.join(" x "));
    assertEquals([of({ sharedBytes: 1024 }), of({ sharedBytes: 1025 })], ["now", "shared-memory"]);
  }
});

Deno.test("what the host reads before a dispatch must not change in it: a program that writes anywhere is made another way", () => {
  const request = makeRequest({ resolve: true });
  const instead = { state: "instead", request: { ...request, resolve: false } };
  assertEquals(pipelineNow(request, made({ writesElsewhere: true, resources: READS }), DEVICE), instead as PipelineNow);
  for (const harmless of [{ writesElsewhere: true }, { resources: READS }]) {
    assertEquals(pipelineNow(request, made(harmless), DEVICE), { state: "now" });
  }
  const unresolved = { ...request, resolve: false };
  assertEquals(pipelineNow(unresolved, made({ writesElsewhere: true, resources: READS }), DEVICE), { state: "now" });
});
