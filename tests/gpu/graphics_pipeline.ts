/** Graphics pipelines of recompiled stages, with dynamic rendering: made to see that a driver takes the modules. Nothing is drawn with them. */
import { Arena } from "../../ffi/arena.ts";
import * as vk from "../../ffi/vulkan/mod.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { StagePush } from "../../src/recompiler/abi.ts";

/** What a pipeline is made of. */
export interface GraphicsStages {
  readonly vertex: Uint32Array<ArrayBuffer>;
  /** None: primitives are dropped. */
  readonly pixel?: Uint32Array<ArrayBuffer>;
  /** VkFormat of each colour target; 0 where nothing is exported. */
  readonly targets: readonly number[];
  /** Shades every one of four samples. */
  readonly perSample?: boolean;
  /** Depth and stencil are written. */
  readonly depth?: boolean;
}

const D32_SFLOAT_S8_UINT = 130, ALL_COMPONENTS = 15, SAMPLES = 4, COMPARE_ALWAYS = 7;
const STENCIL = {
  failOp: 0,
  passOp: 0,
  depthFailOp: 0,
  compareOp: COMPARE_ALWAYS,
  compareMask: 0,
  writeMask: 0,
  reference: 0,
};
const BLEND = {
  srcColorBlendFactor: 1,
  dstColorBlendFactor: 0,
  colorBlendOp: 0,
  srcAlphaBlendFactor: 1,
  dstAlphaBlendFactor: 0,
  alphaBlendOp: 0,
};

/**
 * Creates the modules, a layout and a pipeline, and destroys them.
 *
 * @throws Error with the driver's result
 */
export function createGraphicsPipeline(device: GpuDevice, stages: GraphicsStages): void {
  const { vulkan, handle } = device, drawing = vk.openVulkanDrawing();
  const arena = new Arena(1 << 20), cleanUp: (() => void)[] = [];
  const create = (call: (out: bigint) => unknown, destroy: (object: bigint) => void): bigint => {
    const out = arena.allocate(8);
    const result = call(arena.address(out)) ?? vk.VK_SUCCESS;
    if (result !== vk.VK_SUCCESS) throw new Error(`the driver returned ${result}`);
    const object = arena.getU64(out);
    cleanUp.push(() => destroy(object));
    return object;
  };
  const words = (values: readonly number[]) => {
    const at = arena.allocate(4 * Math.max(1, values.length));
    values.forEach((value, k) => arena.setU32(at + 4 * k, value));
    return arena.address(at);
  };
  const moduleOf = (spirv: Uint32Array<ArrayBuffer>) =>
    create(
      (out) => {
        const code = new Uint8Array(spirv.buffer, spirv.byteOffset, spirv.byteLength);
        const info = { codeSize: BigInt(code.length), pCode: arena.copyBytes(code) };
        return vulkan.vkCreateShaderModule(handle, vk.VkShaderModuleCreateInfo.make(arena, info), 0n, out);
      },
      (object) => vulkan.vkDestroyShaderModule(handle, object, 0n),
    );
  try {
    const modules = [{ stage: vk.VK_SHADER_STAGE_VERTEX_BIT, module: moduleOf(stages.vertex) }];
    if (stages.pixel !== undefined) {
      modules.push({ stage: vk.VK_SHADER_STAGE_FRAGMENT_BIT, module: moduleOf(stages.pixel) });
    }
    const layout = create(
      (out) =>
        vulkan.vkCreatePipelineLayout(
          handle,
          vk.VkPipelineLayoutCreateInfo.make(arena, {
            pushConstantRangeCount: 1,
            pPushConstantRanges: vk.VkPushConstantRange.makeArray(arena, [{
              stageFlags: vk.VK_SHADER_STAGE_VERTEX_BIT | vk.VK_SHADER_STAGE_FRAGMENT_BIT,
              offset: 0,
              size: StagePush.Pixel + StagePush.Bytes,
            }]),
          }),
          0n,
          out,
        ),
      (object) => vulkan.vkDestroyPipelineLayout(handle, object, 0n),
    );
    const name = arena.string("main"), { targets, perSample = false, depth = false } = stages;
    const dynamic = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR];
    const info = vk.VkGraphicsPipelineCreateInfo.make(arena, {
      pNext: vk.VkPipelineRenderingCreateInfo.make(arena, {
        viewMask: 0,
        colorAttachmentCount: targets.length,
        pColorAttachmentFormats: words(targets),
        depthAttachmentFormat: depth ? D32_SFLOAT_S8_UINT : 0,
        stencilAttachmentFormat: depth ? D32_SFLOAT_S8_UINT : 0,
      }),
      stageCount: modules.length,
      pStages: vk.VkPipelineShaderStageCreateInfo.makeArray(
        arena,
        modules.map(({ stage, module }) => ({ stage, module, pName: name })),
      ),
      pVertexInputState: vk.VkPipelineVertexInputStateCreateInfo.make(arena, {}),
      pInputAssemblyState: vk.VkPipelineInputAssemblyStateCreateInfo.make(arena, {
        topology: vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
      }),
      pViewportState: vk.VkPipelineViewportStateCreateInfo.make(arena, { viewportCount: 1, scissorCount: 1 }),
      pRasterizationState: vk.VkPipelineRasterizationStateCreateInfo.make(arena, {
        rasterizerDiscardEnable: Number(stages.pixel === undefined),
        polygonMode: vk.VK_POLYGON_MODE_FILL,
        frontFace: vk.VK_FRONT_FACE_COUNTER_CLOCKWISE,
        depthBiasConstantFactor: 0,
        depthBiasClamp: 0,
        depthBiasSlopeFactor: 0,
        lineWidth: 1,
      }),
      pMultisampleState: vk.VkPipelineMultisampleStateCreateInfo.make(arena, {
        rasterizationSamples: perSample ? SAMPLES : 1,
        sampleShadingEnable: Number(perSample),
        minSampleShading: Number(perSample),
      }),
      pDepthStencilState: vk.VkPipelineDepthStencilStateCreateInfo.make(arena, {
        depthTestEnable: Number(depth),
        depthWriteEnable: Number(depth),
        depthCompareOp: COMPARE_ALWAYS,
        front: STENCIL,
        back: STENCIL,
        minDepthBounds: 0,
        maxDepthBounds: 1,
      }),
      pColorBlendState: vk.VkPipelineColorBlendStateCreateInfo.make(arena, {
        blendConstants: [0, 0, 0, 0],
        attachmentCount: targets.length,
        pAttachments: vk.VkPipelineColorBlendAttachmentState.makeArray(
          arena,
          targets.map((format) => ({ ...BLEND, colorWriteMask: format === 0 ? 0 : ALL_COMPONENTS })),
        ),
      }),
      pDynamicState: vk.VkPipelineDynamicStateCreateInfo.make(arena, {
        dynamicStateCount: dynamic.length,
        pDynamicStates: words(dynamic),
      }),
      layout,
      basePipelineIndex: -1,
    });
    create(
      (out) => drawing.vkCreateGraphicsPipelines(handle, 0n, 1, info, 0n, out),
      (object) => vulkan.vkDestroyPipeline(handle, object, 0n),
    );
  } finally {
    while (cleanUp.length > 0) cleanUp.pop()!();
  }
}
