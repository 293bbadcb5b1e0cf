import { assertEquals, assertThrows } from "@std/assert";
import { AnyAgcError } from "../../src/errors.ts";
import { HostBuffer } from "../../src/gpu/buffer.ts";
import { CommandQueue } from "../../src/gpu/command_queue.ts";
import {
  createComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { deviceTest } from "../support/vulkan.ts";
import { assemble, multiplyAdd, subgroupSize } from "./modules.ts";

deviceTest(
  "a required subgroup size is what the program runs with, and sizes that the device lacks are refused",
  (device) => {
    const { subgroup } = device.capabilities;
    const spirv = assemble(subgroupSize);
    const layout = createPipelineLayout(device);
    const memory = new HostBuffer(device, 4096);
    const words = new Uint32Array(memory.buffer);
    const queue = new CommandQueue(device);
    const sizes: number[] = [];
    for (let size = subgroup.minimumSize; subgroup.canRequireSize && size <= subgroup.maximumSize; size *= 2) {
      sizes
        .push(size);
    }
    for (const requiredSubgroupSize of [undefined, ...sizes]) {
      const fullSubgroups = requiredSubgroupSize !== undefined && subgroup.canRequireFull;
      const pipeline = createComputePipeline(device, { spirv, layout, requiredSubgroupSize, fullSubgroups });
      words.fill(0);
      queue.begin();
      queue.bindPipeline(pipeline.handle);
      new BigUint64Array(queue.push.buffer, queue.push.byteOffset, 1)[0] = memory.deviceAddress;
      queue.pushConstants(layout, 8);
      queue.dispatch(1, 1, 1);
      queue.wait(queue.submit());
      assertEquals([...words.subarray(0, 64)], new Array(64).fill(requiredSubgroupSize ?? subgroup.size));
      destroyPipeline(device, pipeline);
    }
    for (const requiredSubgroupSize of [subgroup.maximumSize * 2, 3]) {
      assertThrows(
        () => createComputePipeline(device, { spirv, layout, requiredSubgroupSize }),
        AnyAgcError,
        `cannot run with ${requiredSubgroupSize} lanes`,
      );
    }
    queue.destroy();
    memory.destroy();
    destroyPipelineLayout(device, layout);
  },
);

deviceTest("a pipeline that is in no cache is not created when only cached ones are wanted", (device) => {
  const layout = createPipelineLayout(device);
  const spirv = assemble(multiplyAdd);
  const request = { spirv, layout, onlyCached: true, specialization: new Map([[0, 12345]]) };
  if (!device.capabilities.features.includes("pipelineCreationCacheControl")) {
    assertThrows(() => createComputePipeline(device, request), AnyAgcError, "pipelineCreationCacheControl");
  } else {
    assertEquals(createComputePipeline(device, request), undefined);
  }
  destroyPipelineLayout(device, layout);
});
