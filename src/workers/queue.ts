/**
 * The isolate of one guest queue. See src/driver/queues.
 *
 * @module
 */
import type { VulkanQueueData } from "../driver/vulkan/queue_executor.ts";
import { serveQueue } from "../driver/queues/queue_isolate.ts";

serveQueue({
  async vulkan() {
    const { openVulkanQueue } = await import("../driver/vulkan/queue_executor.ts");
    return (data, memory, place) => {
      const opened = openVulkanQueue({ ...data as VulkanQueueData, queue: place }, memory), { executor, room } = opened;
      const close = () => {
        opened.close();
        if (!executor.hung) room.device.destroy(); // what this isolate loaded; the device stays
      };
      return { ...opened, close };
    };
  },
  async software() {
    return (await import("../driver/software/queue_executor.ts")).openSoftwareQueue;
  },
});
