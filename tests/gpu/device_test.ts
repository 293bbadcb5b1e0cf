import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { HostError } from "../../src/errors.ts";
import { chooseDevice, problemsOf } from "../../src/gpu/choose_device.ts";
import type { DeviceCapabilities } from "../../src/gpu/capabilities.ts";
import { describeDevices, GpuDevice } from "../../src/gpu/device.ts";
import { collectValidationMessages } from "../../src/gpu/validation.ts";
import { createPipelineLayout, destroyPipelineLayout } from "../../src/gpu/pipelines.ts";
import { deviceTest, withDevice } from "../support/vulkan.ts";

deviceTest("a device reports what it can do as plain data", (device) => {
  const { capabilities } = device;
  assert(capabilities.name.length > 0);
  assert(capabilities.features.includes("shaderInt64") && capabilities.features.includes("bufferDeviceAddress"));
  assertEquals(capabilities.missingFeatures, []);
  assert(capabilities.limits.pushConstants >= 128);
  assert(capabilities.limits.computeSharedMemory >= 16384);
  const { minimumSize, maximumSize, size } = capabilities.subgroup;
  assert(minimumSize <= size && size <= maximumSize && (size & (size - 1)) === 0);
  assertEquals(structuredClone(capabilities), capabilities);
  assertEquals(JSON.parse(JSON.stringify(capabilities)), capabilities);
  assert(describeDevices().some((one) => one.usable && one.capabilities.deviceUuid === capabilities.deviceUuid));
});

deviceTest("a device can be used in a worker by its handles", async (device) => {
  const modules = ["device.ts", "pipelines.ts"].map((name) => new URL(`../../src/gpu/${name}`, import.meta.url).href);
  const code = `const [{ GpuDevice }, { createPipelineLayout, destroyPipelineLayout }] = await Promise.all(${
    JSON.stringify(modules)
  }.map((m) => import(m)));
    self.onmessage = ({ data }) => {
      const device = GpuDevice.attach(data);
      const layout = createPipelineLayout(device);
      destroyPipelineLayout(device, layout);
      device.hostMemory;
      device.destroy();
      postMessage(layout);
      close();
    };
    postMessage("ready");`;
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" });
  const layout = await new Promise<bigint>((resolve, reject) => {
    worker.onerror = reject;
    worker.onmessage = ({ data }) => data === "ready" ? worker.postMessage(device.share()) : resolve(data);
  });
  assertNotEquals(layout, 0n);
  destroyPipelineLayout(device, createPipelineLayout(device)); // still alive here
});

deviceTest("the validation layer's messages are collected once, and survive another validated instance", (device) => {
  assertEquals(collectValidationMessages(), []);
  device.vulkan.vkDestroyPipelineLayout(device.handle, 0xbad_bad0n, 0n);
  const messages = collectValidationMessages();
  assert(
    messages.some((message) => message.startsWith("VUID-vkDestroyPipelineLayout-pipelineLayout-")),
    messages.join("\n"),
  );
  assertEquals(collectValidationMessages(), []);
  device.vulkan.vkDestroyPipelineLayout(device.handle, 0xbad_bad0n, 0n);
  GpuDevice.create({ validation: true }).destroy();
  assertEquals(collectValidationMessages().length, messages.length);
});

deviceTest(
  "a test that leaves an object undestroyed fails, so the check of messages works",
  async (_device, context) => {
    await context.step("a leaked pipeline layout", async () => {
      let failure: unknown;
      try {
        await withDevice((device) => void createPipelineLayout(device));
      } catch (error) {
        failure = error;
      }
      assert(
        failure instanceof Error && failure.message.includes("VUID-vkDestroyDevice-device-00378"),
        String(failure),
      );
    });
  },
  { validation: false },
);

/** Made-up capabilities; only what the choice looks at. */
function made(name: string, type: DeviceCapabilities["type"], change: Partial<DeviceCapabilities> = {}) {
  const capabilities = {
    name,
    type,
    apiVersion: "1.3.0",
    missingFeatures: [],
    queueCount: 1,
    limits: { pushConstants: 128 },
    ...change,
  };
  return { handle: 1n, capabilities: capabilities as unknown as DeviceCapabilities };
}

Deno.test("the best usable device is chosen: by name if asked, GPUs before software, never one that lacks something", () => {
  const software = made("llvmpipe (LLVM)", "software"),
    small = made("Onboard", "integrated"),
    big = made("Big GPU", "discrete");
  const broken = made("Old GPU", "discrete", { missingFeatures: ["shaderInt64"] });
  const ancient = made("Ancient", "discrete", { apiVersion: "1.2.250" });
  const all = [software, broken, ancient, small, big];
  assertEquals(chooseDevice(all, undefined), big);
  assertEquals(chooseDevice(all, "LLVM"), software);
  assertEquals(chooseDevice(all, "cpu"), software);
  assertEquals(chooseDevice([software, broken, ancient], undefined), software);
  assertThrows(
    () => chooseDevice(all, "GeForce"),
    HostError,
    'no Vulkan device matches "GeForce" (there is "llvmpipe (LLVM)"',
  );
  assertThrows(() => chooseDevice(all, "old"), HostError, "it lacks the feature shaderInt64");
  assertThrows(() => chooseDevice(all, "ancient"), HostError, "it supports Vulkan 1.2.250; 1.3.0 is needed");
  const none = assertThrows(
    () => chooseDevice([], undefined),
    HostError,
    "apt install mesa-vulkan-drivers",
  ) as HostError;
  assertEquals([none.code, none.exitCode], ["host.no-vulkan-device", 3]);
  assertEquals(problemsOf(made("x", "other", { queueCount: 0 }).capabilities), ["it has no queue for compute work"]);
});

Deno.test("a loader without any driver names the package of the software device", async () => {
  const module = new URL("../../src/gpu/device.ts", import.meta.url).href;
  const script = `const { GpuDevice } = await import(${JSON.stringify(module)});
    try { GpuDevice.create(); } catch (error) { console.log(error.code + ": " + error.message); }`;
  const empty = Deno.makeTempFileSync({ suffix: ".json" });
  const env = { VK_ICD_FILENAMES: empty, VK_DRIVER_FILES: empty };
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", script], env }).output();
  Deno.removeSync(empty);
  const text = new TextDecoder().decode(stdout);
  assert(text.includes("host.no-vulkan-device") && text.includes("mesa-vulkan-drivers"), text);
});

deviceTest("a filter that nothing matches is refused with the names of the devices", (device) => {
  const create = () => GpuDevice.create({ device: "no device has this name" });
  assertThrows(
    create,
    HostError,
    `no Vulkan device matches "no device has this name" (there is "${device.capabilities.name}"`,
  );
});

deviceTest(
  "a device that is created on another thread is the same, and what is wrong rejects",
  async ({ capabilities }) => {
    const device = await GpuDevice.createAsync({ device: capabilities.name, queues: 1000 });
    assertEquals(device.capabilities, capabilities);
    assertEquals(device.queues.length, capabilities.queueCount);
    const layout = createPipelineLayout(device);
    assertNotEquals(layout, 0n);
    destroyPipelineLayout(device, layout);
    device.destroy();
    const missing = await assertRejects(() => GpuDevice.createAsync({ device: "no such device" }), HostError);
    assertEquals(missing.code, "host.no-vulkan-device");
  },
);
