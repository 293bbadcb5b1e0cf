/** A part of Vulkan; it becomes one generated file. */
export interface Topic {
  /** Name of the file in ffi/vulkan/generated, without .ts. */
  readonly file: string;
  /** What the file is about, one sentence. */
  readonly about: string;
  /** Set of commands that it belongs to; `core` when left out. Opening a command costs 0.1 ms, so what only some programs need is apart. */
  readonly set?: "core" | "drawing";
  /** Core and WSI commands, which the loader library exports. The structs and enumerations that they name come along. */
  readonly commands?: readonly string[];
  /** Structs that no command names: what goes into pNext chains or is reached through untyped pointers. */
  readonly structs?: readonly string[];
  /** Enumerations that no command or struct of this topic names, or that deserve a file of their own. */
  readonly enums?: readonly string[];
  /** API constants. */
  readonly constants?: readonly string[];
}

/** Highest core version that is required. */
export const version = 1.3;

/**
 * Extensions that AnyAGC may use. Their enumeration values are emitted; their commands, which the loader library does not export, go
 * through thunks (ffi/thunks.ts, ffi/vulkan/loader.ts).
 */
export const extensions = [
  "VK_KHR_fragment_shader_barycentric",
  "VK_KHR_surface",
  "VK_KHR_swapchain",
  "VK_KHR_pipeline_library",
  "VK_EXT_debug_report",
  "VK_EXT_debug_utils",
  "VK_EXT_external_memory_host",
  "VK_EXT_graphics_pipeline_library",
  "VK_EXT_memory_budget",
  "VK_EXT_shader_stencil_export",
] as const;

/** Extension commands that are used. */
export const extensionCommands: readonly string[] = [
  "vkGetMemoryHostPointerPropertiesEXT",
  "vkCreateDebugReportCallbackEXT",
  "vkDestroyDebugReportCallbackEXT",
  "vkSetDebugUtilsObjectNameEXT",
  "vkCmdBeginDebugUtilsLabelEXT",
  "vkCmdEndDebugUtilsLabelEXT",
];

/** Commands that also exist as `NAMEAsync`: they run on a thread of Deno's pool and return a promise. Structs must live until it settles. */
export const asyncCommands: readonly string[] = [
  "vkCreateComputePipelines",
  "vkCreateDevice",
  "vkCreateGraphicsPipelines",
  "vkDeviceWaitIdle",
  "vkWaitForFences",
  "vkWaitSemaphores",
];

/** Enumerations for which a function from value to name is emitted. */
export const namedEnums: readonly string[] = ["VkResult", "VkPhysicalDeviceType", "VkDriverId", "VkFormat"];

/** The generated files, in order: a struct or enumeration that two topics need is in the first of them. */
export const topics: readonly Topic[] = [
  {
    file: "results",
    about: "What commands return, and the constants of the whole API.",
    enums: ["VkResult"],
    constants: [
      "VK_WHOLE_SIZE",
      "VK_QUEUE_FAMILY_IGNORED",
      "VK_REMAINING_MIP_LEVELS",
      "VK_REMAINING_ARRAY_LAYERS",
      "VK_LOD_CLAMP_NONE",
    ],
  },
  { file: "formats", about: "Formats of texels and vertex attributes.", enums: ["VkFormat"] },
  {
    file: "properties",
    about: "What a physical device is and can do.",
    commands: [
      "vkGetPhysicalDeviceProperties2",
      "vkGetPhysicalDeviceMemoryProperties2",
      "vkGetPhysicalDeviceQueueFamilyProperties2",
      "vkGetPhysicalDeviceFormatProperties2",
    ],
    structs: [
      "VkPhysicalDeviceVulkan11Properties",
      "VkPhysicalDeviceVulkan12Properties",
      "VkPhysicalDeviceVulkan13Properties",
      "VkPhysicalDeviceExternalMemoryHostPropertiesEXT",
      "VkPhysicalDeviceGraphicsPipelineLibraryPropertiesEXT",
      "VkPhysicalDeviceMemoryBudgetPropertiesEXT",
    ],
  },
  {
    file: "device",
    about: "Instance, device features, device and queues.",
    commands: [
      "vkEnumerateInstanceVersion",
      "vkEnumerateInstanceLayerProperties",
      "vkEnumerateInstanceExtensionProperties",
      "vkCreateInstance",
      "vkDestroyInstance",
      "vkGetInstanceProcAddr",
      "vkEnumeratePhysicalDevices",
      "vkEnumerateDeviceExtensionProperties",
      "vkGetPhysicalDeviceFeatures2",
      "vkCreateDevice",
      "vkDestroyDevice",
      "vkGetDeviceProcAddr",
      "vkGetDeviceQueue",
      "vkDeviceWaitIdle",
    ],
    structs: [
      "VkPhysicalDeviceVulkan11Features",
      "VkPhysicalDeviceVulkan12Features",
      "VkPhysicalDeviceVulkan13Features",
      "VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT",
      "VkPhysicalDeviceFragmentShaderBarycentricFeaturesKHR",
    ],
  },
  {
    file: "memory",
    about: "Device memory, import of host memory, buffers and their device addresses.",
    commands: [
      "vkAllocateMemory",
      "vkFreeMemory",
      "vkMapMemory",
      "vkUnmapMemory",
      "vkFlushMappedMemoryRanges",
      "vkInvalidateMappedMemoryRanges",
      "vkCreateBuffer",
      "vkDestroyBuffer",
      "vkGetBufferMemoryRequirements2",
      "vkBindBufferMemory2",
      "vkGetBufferDeviceAddress",
    ],
    structs: [
      "VkMemoryAllocateFlagsInfo",
      "VkMemoryDedicatedAllocateInfo",
      "VkExternalMemoryBufferCreateInfo",
      "VkImportMemoryHostPointerInfoEXT",
      "VkMemoryHostPointerPropertiesEXT",
    ],
    enums: ["VkExternalMemoryHandleTypeFlagBits"],
  },
  {
    file: "pipelines",
    about: "Shader modules, pipeline layouts, compute pipelines, pipeline caches.",
    commands: [
      "vkCreateShaderModule",
      "vkDestroyShaderModule",
      "vkCreatePipelineLayout",
      "vkDestroyPipelineLayout",
      "vkCreateComputePipelines",
      "vkDestroyPipeline",
      "vkCreatePipelineCache",
      "vkDestroyPipelineCache",
      "vkGetPipelineCacheData",
      "vkMergePipelineCaches",
    ],
    structs: [
      "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo",
      "VkPipelineCreationFeedbackCreateInfo",
      "VkPipelineCacheHeaderVersionOne",
    ],
  },
  {
    file: "commands",
    about: "Command buffers, compute and transfer commands, synchronization, submission, timestamps.",
    commands: [
      "vkCreateCommandPool",
      "vkDestroyCommandPool",
      "vkResetCommandPool",
      "vkAllocateCommandBuffers",
      "vkFreeCommandBuffers",
      "vkBeginCommandBuffer",
      "vkEndCommandBuffer",
      "vkResetCommandBuffer",
      "vkCmdBindPipeline",
      "vkCmdPushConstants",
      "vkCmdDispatch",
      "vkCmdDispatchIndirect",
      "vkCmdPipelineBarrier2",
      "vkCmdFillBuffer",
      "vkCmdUpdateBuffer",
      "vkCmdCopyBuffer",
      "vkCmdResetQueryPool",
      "vkCmdWriteTimestamp2",
      "vkCreateQueryPool",
      "vkDestroyQueryPool",
      "vkGetQueryPoolResults",
      "vkQueueSubmit2",
      "vkQueueWaitIdle",
      "vkCreateFence",
      "vkDestroyFence",
      "vkResetFences",
      "vkGetFenceStatus",
      "vkWaitForFences",
      "vkCreateSemaphore",
      "vkDestroySemaphore",
      "vkGetSemaphoreCounterValue",
      "vkWaitSemaphores",
      "vkSignalSemaphore",
    ],
    structs: ["VkSemaphoreTypeCreateInfo", "VkMemoryBarrier2"],
  },
  {
    file: "images",
    set: "drawing",
    about: "Images, views, samplers, and copies to and from them.",
    commands: [
      "vkCreateImage",
      "vkDestroyImage",
      "vkGetImageMemoryRequirements2",
      "vkBindImageMemory2",
      "vkGetImageSubresourceLayout",
      "vkCreateImageView",
      "vkDestroyImageView",
      "vkCreateSampler",
      "vkDestroySampler",
      "vkCmdCopyImage2",
      "vkCmdBlitImage2",
      "vkCmdCopyBufferToImage2",
      "vkCmdCopyImageToBuffer2",
      "vkCmdClearColorImage",
      "vkCmdClearDepthStencilImage",
    ],
    structs: ["VkImageFormatListCreateInfo", "VkImageViewUsageCreateInfo", "VkSamplerReductionModeCreateInfo"],
  },
  {
    file: "descriptors",
    set: "drawing",
    about: "Descriptor set layouts, pools, sets.",
    commands: [
      "vkCreateDescriptorSetLayout",
      "vkDestroyDescriptorSetLayout",
      "vkCreateDescriptorPool",
      "vkDestroyDescriptorPool",
      "vkResetDescriptorPool",
      "vkAllocateDescriptorSets",
      "vkUpdateDescriptorSets",
      "vkCmdBindDescriptorSets",
    ],
    structs: ["VkDescriptorSetLayoutBindingFlagsCreateInfo", "VkDescriptorSetVariableDescriptorCountAllocateInfo"],
  },
  {
    file: "graphics",
    set: "drawing",
    about: "Graphics pipelines and libraries, dynamic rendering, draws.",
    commands: [
      "vkCreateGraphicsPipelines",
      "vkCmdBeginRendering",
      "vkCmdEndRendering",
      "vkCmdBindIndexBuffer",
      "vkCmdBindVertexBuffers2",
      "vkCmdDraw",
      "vkCmdDrawIndexed",
      "vkCmdDrawIndirect",
      "vkCmdDrawIndexedIndirect",
      "vkCmdSetViewportWithCount",
      "vkCmdSetScissorWithCount",
      "vkCmdSetCullMode",
      "vkCmdSetFrontFace",
      "vkCmdSetPrimitiveTopology",
      "vkCmdSetPrimitiveRestartEnable",
      "vkCmdSetDepthTestEnable",
      "vkCmdSetDepthWriteEnable",
      "vkCmdSetDepthCompareOp",
      "vkCmdSetDepthBias",
      "vkCmdSetDepthBiasEnable",
      "vkCmdSetDepthBounds",
      "vkCmdSetDepthBoundsTestEnable",
      "vkCmdSetStencilTestEnable",
      "vkCmdSetStencilOp",
      "vkCmdSetStencilCompareMask",
      "vkCmdSetStencilWriteMask",
      "vkCmdSetStencilReference",
      "vkCmdSetBlendConstants",
    ],
    structs: [
      "VkPipelineRenderingCreateInfo",
      "VkGraphicsPipelineLibraryCreateInfoEXT",
      "VkPipelineLibraryCreateInfoKHR",
    ],
    enums: ["VkDynamicState"],
  },
  {
    file: "presentation",
    set: "drawing",
    about: "Surfaces and swapchains.",
    commands: [
      "vkDestroySurfaceKHR",
      "vkGetPhysicalDeviceSurfaceSupportKHR",
      "vkGetPhysicalDeviceSurfaceCapabilitiesKHR",
      "vkGetPhysicalDeviceSurfaceFormatsKHR",
      "vkGetPhysicalDeviceSurfacePresentModesKHR",
      "vkCreateSwapchainKHR",
      "vkDestroySwapchainKHR",
      "vkGetSwapchainImagesKHR",
      "vkAcquireNextImageKHR",
      "vkQueuePresentKHR",
    ],
  },
  {
    file: "debug_report",
    set: "drawing",
    about: "Messages of a driver's shader compiler, which Mesa sends through VK_EXT_debug_report only.",
    structs: ["VkDebugReportCallbackCreateInfoEXT"],
    enums: ["VkDebugReportFlagBitsEXT"],
  },
];
