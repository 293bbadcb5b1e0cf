import { preloadDrivers } from "../../ffi/vulkan/preload.ts";
import { createInstance } from "../../src/gpu/instance.ts";
import { vulkanTest } from "../cli/support.ts";

vulkanTest(
  "drivers that are loaded on another thread do not disturb an instance made meanwhile, or after they were let go",
  async () => {
    const drivers = preloadDrivers();
    const meanwhile = createInstance();
    await drivers.release();
    createInstance().destroy();
    meanwhile.destroy();
    await preloadDrivers().release();
    createInstance().destroy();
  },
);

Deno.test("letting go of drivers works also where there are none to load", async () => {
  await preloadDrivers().release();
});
