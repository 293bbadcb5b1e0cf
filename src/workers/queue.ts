/**
 * The isolate of one guest queue. See src/driver/queues.
 *
 * @module
 */
import { serveQueue } from "../driver/queues/queue_isolate.ts";

serveQueue({
  software: async (data, memory) =>
    (await import("../driver/software/queue_executor.ts")).openSoftwareQueue(data, memory),
});
