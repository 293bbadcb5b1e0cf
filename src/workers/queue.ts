/**
 * The isolate of one guest queue. See src/driver/queues.
 *
 * @module
 */
import type { VulkanQueueData } from "../driver/vulkan/queue_executor.ts";
import { serveQueue } from "../driver/queues/queue_isolate.ts";

serveQueue({
  vulkan: async (data, memory, place) => {
    const { openVulkanQueue } = await import("../driver/vulkan/queue_executor.ts");
    return openVulkanQueue({ ...data as VulkanQueueData, queue: place }, memory);
  },
  software: async (data, memory) =>
    (await import("../driver/software/queue_executor.ts")).openSoftwareQueue(data, memory),
});
