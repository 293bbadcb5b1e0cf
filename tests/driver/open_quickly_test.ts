import { assertEquals, assertRejects } from "@std/assert";
import { openDeviceQuickly } from "../../src/driver/open_quickly.ts";
import { HostError } from "../../src/errors.ts";
import { deviceTest } from "../support/vulkan.ts";

deviceTest("a device that is opened quickly is the one that is asked for", async ({ capabilities }) => {
  using device = await openDeviceQuickly({ name: capabilities.name, queues: 1 });
  assertEquals(device.name, capabilities.name);
  using interpreter = await openDeviceQuickly({ name: "Software" });
  assertEquals(interpreter.description.type, "interpreter");
  const missing = await assertRejects(() => openDeviceQuickly({ name: "no such device" }), HostError);
  assertEquals(missing.code, "host.no-vulkan-device");
});
