/** A queue's isolate on a Vulkan device; creations of pipelines by the queue with the place `held` are held up (pools/pipelines/support.ts). */
import { serveQueue } from "../../../src/driver/queues/queue_isolate.ts";
import { openVulkanQueue, type VulkanQueueData } from "../../../src/driver/vulkan/queue_executor.ts";
import { countCreations, holdUp } from "../pools/pipelines/support.ts";

/** What the isolates get beside. */
export interface HeldData extends VulkanQueueData {
  readonly held: number;
  readonly flags: Int32Array<SharedArrayBuffer>;
}

serveQueue({
  held: () =>
    Promise.resolve((data, memory, place) => {
      const { held, flags, ...rest } = data as HeldData;
      const opened = openVulkanQueue({ ...rest, queue: place }, memory);
      if (held === place) countCreations(opened.room.device, flags, () => holdUp(flags));
      return opened;
    }),
});
