import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { deviceRows, diagnose, type Probes } from "../../../src/cli/doctor/diagnose.ts";
import { HostError } from "../../../src/errors.ts";
import type { DeviceCapabilities } from "../../../src/gpu/capabilities.ts";
import type { DeviceSummary } from "../../../src/gpu/choose_device.ts";

const noModes = {
  signedZeroInfNanPreserve: false,
  denormPreserve: false,
  denormFlushToZero: false,
  roundToNearestEven: false,
  roundTowardZero: false,
};

const capabilities: DeviceCapabilities = {
  name: "Test GPU",
  type: "discrete",
  vendorId: 1,
  deviceId: 2,
  apiVersion: "1.3.250",
  driver: { name: "testdrv", info: "7.1", version: 1, uuid: "00" },
  deviceUuid: "00",
  pipelineCacheUuid: "00",
  features: ["shaderInt64", "shaderInt8", "shaderInt16", "shaderFloat16", "shaderFloat64"],
  missingFeatures: [],
  extensions: ["VK_EXT_external_memory_host"],
  subgroup: {
    size: 32,
    minimumSize: 32,
    maximumSize: 64,
    canRequireSize: true,
    canRequireFull: true,
    maximumPerWorkgroup: 32,
    stages: { fragment: true, vertex: true },
    operations: {
      basic: true,
      vote: true,
      arithmetic: true,
      ballot: true,
      shuffle: true,
      shuffleRelative: true,
      clustered: true,
      quad: true,
    },
  },
  floatControls: {
    f16: noModes,
    f32: { ...noModes, denormPreserve: true, roundToNearestEven: true, signedZeroInfNanPreserve: true },
    f64: noModes,
  },
  denormBehaviorIndependence: "all",
  roundingModeIndependence: "all",
  limits: {
    computeSharedMemory: 65536,
    workgroupInvocations: 1024,
    workgroupSize: [1024, 1024, 64],
    workgroupCount: [65535, 65535, 65535],
    pushConstants: 256,
    memoryAllocation: 3 * 2 ** 29,
    bufferSize: 2 ** 32,
    hostImportAlignment: 4096,
    timestampPeriod: 1,
    timestampBits: 64,
  },
  queueFamily: 0,
  queueCount: 1,
};
const device: DeviceSummary = { capabilities, usable: true, problems: [] };

const healthy: Probes = {
  platform: () => ({ arch: "x86_64", os: "linux" }),
  devices: () => [device],
  choose: () => 0,
  loader: () => "1.3.239",
  layers: () => ["VK_LAYER_KHRONOS_validation"],
  isolates: () => Promise.resolve({ main: 1, worker: 2 }),
  limits: () => ({}),
  cacheFolder: () => "/cache",
  shaderCache: () => undefined,
  validationLayer: () => {},
  spirvTools: () => ({ path: "/lib/x.so", version: "v2023.1" }),
};
const lack = (what: string) => () => {
  throw new HostError("host.missing", `${what} is missing. Install it.`);
};
const states = async (probes: Probes) =>
  Object.fromEntries((await diagnose(probes)).checks.map((check) => [check.name, check.state]));

Deno.test("a machine with everything is fine, and the chosen device is marked", async () => {
  const diagnosis = await diagnose({ ...healthy, devices: () => [device, device], choose: () => 1 });
  assert(diagnosis.ok);
  assertEquals(diagnosis.checks.map((check) => check.state), Array(diagnosis.checks.length).fill("ok"));
  assertEquals(diagnosis.devices.map((d) => d.chosen), [false, true]);
});

Deno.test("a missing loader is a problem that says its fix, and what else is missing still shows", async () => {
  const diagnosis = await diagnose({ ...healthy, devices: lack("the loader"), spirvTools: lack("SPIRV-Tools") });
  assertEquals(diagnosis.ok, false);
  assertEquals(diagnosis.devices, []);
  const texts = diagnosis.checks.filter((check) => check.state !== "ok").map((check) => [check.name, check.text]);
  assertEquals(texts, [
    ["Vulkan", "the loader is missing. Install it."],
    ["SPIRV-Tools", "SPIRV-Tools is missing. Install it."],
  ]);
});

Deno.test("devices of which none fits are a problem; the tools' absence is only a warning", async () => {
  assertEquals((await states({ ...healthy, choose: lack("a fitting device") })).device, "problem");
  const without = await diagnose({ ...healthy, validationLayer: lack("the layer"), spirvTools: lack("the library") });
  assert(without.ok);
  assertEquals(without.checks.filter((check) => check.state === "warning").length, 2);
});

Deno.test("a device that cannot import host memory gives a warning", async () => {
  const mirrored = {
    ...device,
    capabilities: { ...capabilities, limits: { ...capabilities.limits, hostImportAlignment: 0 } },
  };
  assertEquals((await states({ ...healthy, devices: () => [mirrored] })).memory, "warning");
});

Deno.test("another platform than x86-64 Linux is a problem", async () => {
  assertEquals((await states({ ...healthy, platform: () => ({ arch: "aarch64", os: "linux" }) })).platform, "problem");
});

Deno.test("a defect in a probe is not taken for a lack of the machine", async () => {
  const broken = () => {
    throw new TypeError("undefined is no function");
  };
  await assertRejects(() => diagnose({ ...healthy, spirvTools: broken }), TypeError);
});

Deno.test("a device's rows name what decides", () => {
  const rows = Object.fromEntries(deviceRows(capabilities));
  assertEquals(rows["lanes per subgroup"], "32 (32 to 64)");
  assertEquals(rows["f32 modes"], "keep denormals, round to nearest even, keep signed zero, infinity, NaN");
  assertEquals(rows["optional types"], "int8, int16, float16, float64");
  assertEquals(rows["largest allocation"], "1.5 GiB");
  assertMatch(rows.workgroup, /1024 threads, 64 KiB/);
  assertEquals(rows["host memory"], "imported in place");
});

Deno.test("each thing that the chosen device lacks is a warning of its own that says what comes of it", async () => {
  const poor: DeviceCapabilities = {
    ...capabilities,
    type: "software",
    features: ["shaderInt64", "shaderInt8"],
    floatControls: { f16: noModes, f32: noModes, f64: noModes },
    subgroup: {
      ...capabilities.subgroup,
      operations: { ...capabilities.subgroup.operations, ballot: false, shuffle: false },
    },
    limits: { ...capabilities.limits, computeSharedMemory: 32768, workgroupInvocations: 128, hostImportAlignment: 0 },
  };
  const diagnosis = await diagnose({ ...healthy, devices: () => [{ ...device, capabilities: poor }] });
  assert(diagnosis.ok);
  const warnings = Object.fromEntries(
    diagnosis.checks.filter((c) => c.state === "warning").map((c) => [c.name, c.text]),
  );
  assertEquals(Object.keys(warnings), [
    "device speed",
    "memory",
    "LDS",
    "workgroups",
    "types",
    "float modes",
    "subgroups",
  ]);
  assertMatch(warnings.LDS, /32 KiB/);
  assertMatch(warnings.types, /no int16, float16, float64/);
  assertMatch(warnings.subgroups, /no subgroup ballot, shuffle/);
});

Deno.test("workers that do not run are a problem, no usable cache folder a warning with its fix", async () => {
  const rejected = () => Promise.reject(new HostError("host.isolates", "a worker does not run: no answer."));
  const diagnosis = await diagnose({ ...healthy, isolates: rejected, cacheFolder: () => undefined });
  assertEquals(diagnosis.ok, false);
  const texts = Object.fromEntries(diagnosis.checks.map((c) => [c.name, `${c.state}: ${c.text}`]));
  assertEquals(texts.isolates, "problem: a worker does not run: no answer.");
  assertMatch(texts.cache, /^warning: .*ANYAGC_CACHE_DIR=FOLDER/);
});

Deno.test("the diagnosis says what the shader cache holds, and names what is damaged in it as a warning", async () => {
  const found = { folder: "/cache/shaders", entries: 3, otherVersions: 2, damaged: [] as string[], bytes: 3 << 20 };
  const check = async (shaderCache: Probes["shaderCache"]) =>
    (await diagnose({ ...healthy, shaderCache })).checks.find(({ name }) => name === "shader cache");
  assertEquals(await check(() => undefined), undefined);
  assertEquals(await check(() => found), {
    name: "shader cache",
    state: "ok",
    text: "3 recompiled shaders, 2 of other versions, 3 MiB in /cache/shaders",
  });
  const damaged = await check(() => ({ ...found, damaged: ["a.shader", "b.shader", "c.shader", "d.shader"] }));
  assertEquals(damaged?.state, "warning");
  assertMatch(damaged!.text, /4 damaged, which will be made again: a\.shader, b\.shader, c\.shader, \.\.\.$/);
});
