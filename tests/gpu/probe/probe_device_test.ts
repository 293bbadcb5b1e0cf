import { assertEquals, assertNotEquals } from "@std/assert";
import type { DeviceCapabilities } from "../../../src/gpu/capabilities.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { type DeviceBehaviour, probeDevice, probeKey } from "../../../src/gpu/probe/probe_device.ts";
import { deviceTest } from "../../support/vulkan.ts";

const ANSWER: DeviceBehaviour = {
  float: {
    fusesFma32: true,
    keepsDenormals32: false,
    flushesDenormals32: true,
    roundRteKeepsDenormals32: true,
    wide: { exactHalf: true, exactHalfPack: false, fusesFma16: true, fusesFma64: false },
  },
  endsLoops: true,
};

/** As much of a device as the key takes. */
function device(driver = "7.1"): GpuDevice {
  const capabilities = {
    name: "Test GPU",
    vendorId: 1,
    deviceId: 2,
    apiVersion: "1.3.250",
    driver: { name: "testdrv", info: driver, version: 1, uuid: "00" },
    deviceUuid: "01",
    pipelineCacheUuid: "02",
    features: ["shaderInt64"],
  } as unknown as DeviceCapabilities;
  return { capabilities } as GpuDevice;
}

async function inFolder(
  body: (folder: string, ask: () => DeviceBehaviour, asked: () => number) => void,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  let count = 0;
  try {
    body(`${folder}/probes`, () => {
      count++;
      return ANSWER;
    }, () => count);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
const files = (folder: string) => [...Deno.readDirSync(folder)].map((entry) => `${folder}/${entry.name}`);

Deno.test("a device is asked once; another start with the same driver takes the answers from the disk", () =>
  inFolder((folder, ask, asked) => {
    const first = device();
    assertEquals(probeDevice(first, folder, ask), ANSWER);
    assertEquals(probeDevice(first, folder, ask), ANSWER);
    assertEquals(probeDevice(device(), folder, ask), ANSWER);
    assertEquals([asked(), files(folder).length], [1, 1]);
  }));

Deno.test("another driver version has answers of its own", () =>
  inFolder((folder, ask, asked) => {
    probeDevice(device("7.1"), folder, ask);
    probeDevice(device("7.2"), folder, ask);
    assertEquals([asked(), files(folder).length], [2, 2]);
  }));

Deno.test("a file that is cut off, changed, empty, of another device or incomplete is ignored and written again", () =>
  inFolder((folder, ask, asked) => {
    probeDevice(device(), folder, ask);
    const [file] = files(folder), good = Deno.readTextFileSync(file);
    const other = good.replace('"fusesFma32":true', '"fusesFma32":false');
    assertNotEquals(other, good);
    let count = 1;
    for (const bad of [good.slice(0, -1), good + " ", other, "", "\n", good.slice(0, good.indexOf("\n") + 1)]) {
      Deno.writeTextFileSync(file, bad);
      assertEquals(probeDevice(device(), folder, ask), ANSWER);
      assertEquals(asked(), ++count, JSON.stringify(bad.slice(0, 40)));
      assertEquals(Deno.readTextFileSync(file), good);
    }
    // The right checksum, under the name of another device's file.
    probeDevice(device("8"), folder, ask);
    const second = files(folder).find((name) => name !== file)!;
    Deno.copyFileSync(file, second);
    probeDevice(device("8"), folder, ask);
    assertEquals(asked(), count + 2);
  }));

Deno.test("random bytes in the file never give an answer", () =>
  inFolder((folder, ask, asked) => {
    probeDevice(device(), folder, ask);
    const [file] = files(folder), good = Deno.readFileSync(file);
    let state = 12345;
    const next = (limit: number) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % limit;
    for (let round = 1; round <= 200; round++) {
      const bytes = good.slice();
      bytes[next(bytes.length)] ^= 1 + next(255);
      Deno.writeFileSync(file, bytes);
      assertEquals(probeDevice(device(), folder, ask), ANSWER);
      assertEquals(asked(), round + 1);
    }
  }));

Deno.test("without a folder, or with one that others may write to, the device is asked and nothing is kept", () =>
  inFolder((folder, ask, asked) => {
    Deno.mkdirSync(folder);
    Deno.chmodSync(folder, 0o777);
    for (const place of [folder, folder, "/proc/none"]) probeDevice(device(), place, ask);
    assertEquals(asked(), 3);
    assertEquals(files(folder), []);
  }));

Deno.test("the key names what answers depend on: driver, device, what is enabled, and the build", () => {
  const { capabilities } = device(), key = probeKey(capabilities, "a");
  const others: Partial<DeviceCapabilities>[] = [
    { name: "Other" },
    { deviceUuid: "03" },
    { pipelineCacheUuid: "04" },
    { apiVersion: "1.3.251" },
    { features: [] },
    { driver: { ...capabilities.driver, uuid: "05" } },
    { driver: { ...capabilities.driver, version: 2 } },
  ];
  for (const other of others) assertNotEquals(probeKey({ ...capabilities, ...other }, "a"), key);
  assertNotEquals(probeKey(capabilities, "b"), key);
});

deviceTest("answers of a real device are the same from the disk", async (gpu) => {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  try {
    const asked = probeDevice(gpu, `${folder}/probes`);
    const again = Object.create(gpu, { capabilities: { value: gpu.capabilities } }) as GpuDevice;
    const fail = () => {
      throw new Error("asked again");
    };
    assertEquals(probeDevice(again, `${folder}/probes`, fail), asked);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
