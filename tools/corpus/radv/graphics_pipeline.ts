import { Arena } from "../../../ffi/arena.ts";
import * as vk from "../../../ffi/vulkan/mod.ts";
import { HostError } from "../../../src/errors.ts";
import type { NullDevice } from "./device.ts";
import type { GraphicsJob } from "./job.ts";
import { cacheData, layoutInfo, setLayoutInfo } from "./pipeline.ts";

/** VK_FORMAT_D32_SFLOAT. */
const DEPTH_FORMAT = 126;
const ALL_COMPONENTS = 15;
/** VK_COMPARE_OP_LESS_OR_EQUAL, VK_COMPARE_OP_ALWAYS. */
const LESS_OR_EQUAL = 3, ALWAYS = 7;
const STENCIL = { failOp: 0, passOp: 0, depthFailOp: 0, compareOp: ALWAYS, compareMask: 0, writeMask: 0, reference: 0 };
const NO_BLENDING = {
  srcColorBlendFactor: 1,
  dstColorBlendFactor: 0,
  colorBlendOp: 0,
  srcAlphaBlendFactor: 1,
  dstAlphaBlendFactor: 0,
  alphaBlendOp: 0,
};

/**
 * Creates a graphics pipeline and returns what its cache holds then. Everything that it creates is destroyed.
 *
 * @throws {VulkanError} what RADV reports
 */
export function compileGraphicsPipeline(device: NullDevice, job: GraphicsJob): Uint8Array<ArrayBuffer> {
  const { vulkan, drawing, handle } = device;
  const sources = [job.vertex, job.fragment].map((file) => Deno.readFileSync(file));
  const arena = new Arena(1024 * 1024 + 2 * sources.reduce((sum, { length }) => sum + length, 0));
  const cleanUp: (() => void)[] = [];
  const create = (call: (out: bigint) => unknown, destroy: (object: bigint) => void): bigint => {
    const out = arena.allocate(8);
    call(arena.address(out));
    const object = arena.getU64(out);
    cleanUp.push(() => destroy(object));
    return object;
  };
  try {
    const modules = sources.map((code) =>
      create(
        (out) =>
          vulkan.vkCreateShaderModule(
            handle,
            vk.VkShaderModuleCreateInfo.make(arena, { codeSize: BigInt(code.length), pCode: arena.copyBytes(code) }),
            0n,
            out,
          ),
        (object) => vulkan.vkDestroyShaderModule(handle, object, 0n),
      )
    );
    const stages = vk.VK_SHADER_STAGE_VERTEX_BIT | vk.VK_SHADER_STAGE_FRAGMENT_BIT;
    const sets = job.sets.map((bindings) =>
      create(
        (out) => drawing.vkCreateDescriptorSetLayout(handle, setLayoutInfo(arena, bindings, stages), 0n, out),
        (object) => drawing.vkDestroyDescriptorSetLayout(handle, object, 0n),
      )
    );
    const layout = create(
      (out) => vulkan.vkCreatePipelineLayout(handle, layoutInfo(arena, sets, job.pushConstantBytes, stages), 0n, out),
      (object) => vulkan.vkDestroyPipelineLayout(handle, object, 0n),
    );
    const cache = create(
      (out) => vulkan.vkCreatePipelineCache(handle, vk.VkPipelineCacheCreateInfo.make(arena, {}), 0n, out),
      (object) => vulkan.vkDestroyPipelineCache(handle, object, 0n),
    );
    const info = pipelineInfo(arena, job, modules, layout);
    create(
      (out) => {
        const result = drawing.vkCreateGraphicsPipelines(handle, cache, 1, info, 0n, out);
        if (result !== vk.VK_SUCCESS) {
          throw new HostError("host.radv", `vkCreateGraphicsPipelines returned ${result}`);
        }
      },
      (object) => vulkan.vkDestroyPipeline(handle, object, 0n),
    );
    return cacheData(device, cache);
  } finally {
    while (cleanUp.length > 0) cleanUp.pop()!();
  }
}

function pipelineInfo(arena: Arena, job: GraphicsJob, modules: readonly bigint[], layout: bigint): bigint {
  const name = arena.string("main");
  const stages = vk.VkPipelineShaderStageCreateInfo.makeArray(
    arena,
    [vk.VK_SHADER_STAGE_VERTEX_BIT, vk.VK_SHADER_STAGE_FRAGMENT_BIT].map((stage, k) => ({
      stage,
      module: modules[k],
      pName: name,
    })),
  );
  // Every attribute has a buffer of its own, so that strides say nothing.
  const attributes = job.attributeFormats.map((format, location) => ({
    location,
    binding: location,
    format,
    offset: 0,
  }));
  const bindings = attributes.map(({ binding }) => ({
    binding,
    stride: 16,
    inputRate: vk.VK_VERTEX_INPUT_RATE_VERTEX,
  }));
  const vertexInput = vk.VkPipelineVertexInputStateCreateInfo.make(arena, {
    vertexBindingDescriptionCount: bindings.length,
    pVertexBindingDescriptions: vk.VkVertexInputBindingDescription.makeArray(arena, bindings),
    vertexAttributeDescriptionCount: attributes.length,
    pVertexAttributeDescriptions: vk.VkVertexInputAttributeDescription.makeArray(arena, attributes),
  });
  const dynamic = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR];
  return vk.VkGraphicsPipelineCreateInfo.make(arena, {
    pNext: vk.VkPipelineRenderingCreateInfo.make(arena, {
      viewMask: 0,
      colorAttachmentCount: job.targetFormats.length,
      pColorAttachmentFormats: arena.address(words(arena, job.targetFormats)),
      depthAttachmentFormat: DEPTH_FORMAT,
    }),
    stageCount: 2,
    pStages: stages,
    pVertexInputState: vertexInput,
    pInputAssemblyState: vk.VkPipelineInputAssemblyStateCreateInfo.make(arena, {
      topology: job.points ? vk.VK_PRIMITIVE_TOPOLOGY_POINT_LIST : vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
    }),
    pViewportState: vk.VkPipelineViewportStateCreateInfo.make(arena, { viewportCount: 1, scissorCount: 1 }),
    pRasterizationState: vk.VkPipelineRasterizationStateCreateInfo.make(arena, {
      polygonMode: vk.VK_POLYGON_MODE_FILL,
      frontFace: vk.VK_FRONT_FACE_COUNTER_CLOCKWISE,
      depthBiasConstantFactor: 0,
      depthBiasClamp: 0,
      depthBiasSlopeFactor: 0,
      lineWidth: 1,
    }),
    pMultisampleState: vk.VkPipelineMultisampleStateCreateInfo.make(arena, {
      rasterizationSamples: job.samples,
      minSampleShading: 0,
    }),
    pDepthStencilState: vk.VkPipelineDepthStencilStateCreateInfo.make(arena, {
      depthTestEnable: 1,
      depthWriteEnable: 1,
      depthCompareOp: LESS_OR_EQUAL,
      front: STENCIL,
      back: STENCIL,
      minDepthBounds: 0,
      maxDepthBounds: 1,
    }),
    pColorBlendState: vk.VkPipelineColorBlendStateCreateInfo.make(arena, {
      blendConstants: [0, 0, 0, 0],
      attachmentCount: job.targetFormats.length,
      pAttachments: vk.VkPipelineColorBlendAttachmentState.makeArray(
        arena,
        job.targetFormats.map(() => ({ ...NO_BLENDING, colorWriteMask: ALL_COMPONENTS })),
      ),
    }),
    pDynamicState: vk.VkPipelineDynamicStateCreateInfo.make(arena, {
      dynamicStateCount: dynamic.length,
      pDynamicStates: arena.address(words(arena, dynamic)),
    }),
    layout,
    basePipelineIndex: -1,
  });
}

function words(arena: Arena, values: readonly number[]): number {
  const at = arena.allocate(4 * Math.max(1, values.length));
  values.forEach((value, k) => arena.setU32(at + 4 * k, value));
  return at;
}
