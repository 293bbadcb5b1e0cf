import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { mapAnonymous, PAGE_BYTES, unmap, viewMemory } from "../../ffi/libc.ts";
import { AnyAgcError } from "../../src/errors.ts";
import { HostBuffer } from "../../src/gpu/buffer.ts";
import { CommandQueue } from "../../src/gpu/command_queue.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { backGuestMemory, type BackingKind, type GuestBacking } from "../../src/gpu/guest_backing.ts";
import {
  createComputePipeline,
  createComputePipelineAsync,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../src/gpu/pipelines.ts";
import { deviceTest } from "../support/vulkan.ts";
import { assemble, multiplyAdd } from "./modules.ts";

const count = 1000;

/** Pages of host memory that a device uses, with the program that works on them. */
function withGuestPages(
  device: GpuDevice,
  kind: BackingKind,
  body: (page: Uint32Array<ArrayBuffer>, backing: GuestBacking, run: (at: number) => number) => void,
) {
  const mapping = mapAnonymous(4 * PAGE_BYTES);
  const words = new Uint32Array(viewMemory(mapping.address, mapping.byteLength));
  const [backing] = backGuestMemory(device, mapping.address, mapping.byteLength, kind);
  const layout = createPipelineLayout(device);
  const pipeline = createComputePipeline(device, { spirv: assemble(multiplyAdd), layout });
  const queue = new CommandQueue(device, { buffers: 2 });
  // Source in the first page, target in the page `at`.
  const run = (at: number) => {
    queue.begin();
    queue.bindPipeline(pipeline.handle);
    const push = new BigUint64Array(queue.push.buffer, queue.push.byteOffset, 16);
    push[0] = backing.deviceAddress;
    push[1] = backing.deviceAddress + BigInt(at * PAGE_BYTES);
    queue.push[4] = count;
    queue.pushConstants(layout, 24);
    queue.dispatch(Math.ceil(count / 64), 1, 1);
    return queue.submit();
  };
  try {
    body(words, backing, (at) => {
      const value = run(at);
      queue.wait(value);
      return value;
    });
  } finally {
    queue.destroy();
    destroyPipeline(device, pipeline);
    destroyPipelineLayout(device, layout);
    backing.destroy();
    unmap(mapping);
  }
}

deviceTest("a program reads and writes imported guest pages in place, with no copy", (device) => {
  if (device.hostMemory === undefined) {
    throw new Error("the device does not import host memory: this test needs one that does");
  }
  withGuestPages(device, "imported", (words, backing, run) => {
    assertEquals(backing.kind, "imported");
    for (let i = 0; i < count; i++) words[i] = i * 17;
    words[1024 + count] = 0xdead_beef;
    run(1);
    for (let i = 0; i < count; i++) assertEquals(words[1024 + i], i * 51 + 7);
    assertEquals(words[1024 + count], 0xdead_beef);
    words[5] = 1000; // what the host writes later is seen by the next submission
    run(2);
    assertEquals(words[2048 + 5], 3007);
  });
});

deviceTest("mirrored guest memory is copied by upload and download, only where asked", (device) => {
  withGuestPages(device, "mirrored", (words, backing, run) => {
    assertEquals(backing.kind, "mirrored");
    for (let i = 0; i < count; i++) words[i] = i;
    backing.upload(0, count * 4);
    words[0] = 99; // not uploaded
    run(1);
    assertEquals(words[1024], 0);
    backing.download(PAGE_BYTES, (count - 1) * 4);
    assertEquals([words[1024], words[1025], words[1024 + count - 2]], [7, 10, (count - 2) * 3 + 7]);
    assertEquals(words[1024 + count - 1], 0);
    assertThrows(() => backing.upload(4 * PAGE_BYTES - 4, 8), AnyAgcError, "not in a range of 0x4000 bytes");
  });
});

deviceTest(
  "without VK_EXT_external_memory_host guest memory is mirrored, and insisting on import is refused",
  (device) => {
    withGuestPages(device, "automatic", (_words, backing) => assertEquals(backing.kind, "mirrored"));
    const mapping = mapAnonymous(PAGE_BYTES);
    assertThrows(
      () => backGuestMemory(device, mapping.address, PAGE_BYTES, "imported"),
      AnyAgcError,
      "VK_EXT_external_memory_host",
    );
    unmap(mapping);
  },
  { withoutExtensions: ["VK_EXT_external_memory_host"] },
);

deviceTest("guest memory larger than a piece becomes several pieces that cover it", (device) => {
  const mapping = mapAnonymous(10 * PAGE_BYTES);
  for (const kind of ["automatic", "mirrored"] as const) {
    const pieces = backGuestMemory(device, mapping.address, mapping.byteLength, kind, 4 * PAGE_BYTES + 100);
    assertEquals(pieces.map((piece) => piece.byteLength / PAGE_BYTES), [4, 4, 2]);
    assertEquals(pieces.map((piece) => Number(piece.hostAddress - mapping.address) / PAGE_BYTES), [0, 4, 8]);
    assert(pieces.every((piece) => piece.deviceAddress !== 0n && piece.buffer !== 0n));
    for (const piece of pieces) piece.destroy();
  }
  assertThrows(
    () => backGuestMemory(device, mapping.address + 16n, PAGE_BYTES),
    AnyAgcError,
    "is not a whole number of",
  );
  assertThrows(() => backGuestMemory(device, mapping.address, 100), AnyAgcError, "is not a whole number of");
  unmap(mapping);
});

deviceTest("guest memory beyond the device's largest allocation is imported in pieces", (device) => {
  // Real drivers pin imported pages, which would commit gigabytes here.
  if (device.capabilities.type !== "software" || device.hostMemory === undefined) return;
  const { memoryAllocation } = device.capabilities.limits;
  const mapping = mapAnonymous(memoryAllocation + PAGE_BYTES);
  const pieces = backGuestMemory(device, mapping.address, mapping.byteLength);
  assertEquals(pieces.length, 2);
  assertEquals(pieces.reduce((sum, piece) => sum + piece.byteLength, 0), mapping.byteLength);
  for (const piece of pieces) piece.destroy();
  unmap(mapping);
});

deviceTest("specialization, asynchronous creation, indirect dispatch, barriers, copies and fills", async (device) => {
  const memory = new HostBuffer(device, 64 * 1024);
  const words = new Uint32Array(memory.buffer);
  const layout = createPipelineLayout(device);
  const spirv = assemble(multiplyAdd);
  const [first, second] = await Promise.all([
    createComputePipelineAsync(device, { spirv, layout, specialization: new Map([[0, 100]]) }),
    createComputePipelineAsync(device, { spirv, layout }),
  ]);
  const queue = new CommandQueue(device, { timestamps: 4 });
  const addresses = new BigUint64Array(queue.push.buffer, queue.push.byteOffset, 16);
  words.set([1, 2, 3, 4]);
  words.set([1, 1, 1], 1024);
  queue.begin();
  queue.timestamp();
  queue.bindPipeline(first!.handle);
  addresses[0] = memory.deviceAddress;
  addresses[1] = memory.deviceAddress + 1024n;
  queue.push[4] = 4;
  queue.pushConstants(layout, 24);
  queue.dispatchIndirect(memory.handle, 4096n); // the three words at 1024
  queue.barrier();
  queue.bindPipeline(second!.handle);
  addresses[0] = memory.deviceAddress + 1024n;
  addresses[1] = memory.deviceAddress + 2048n;
  queue.pushConstants(layout, 24);
  queue.dispatch(1, 1, 1);
  queue.barrier();
  queue.copyBuffer(memory.handle, 2048n, memory.handle, 8192n, 16n);
  queue.fillBuffer(memory.handle, 8208n, 8n, 0xabcd_ef01);
  queue.timestamp();
  const value = queue.submit();
  await queue.waitAsync(value);
  assertEquals([...words.subarray(256, 260)], [103, 106, 109, 112]);
  assertEquals([...words.subarray(2048, 2055)], [316, 325, 334, 343, 0xabcd_ef01, 0xabcd_ef01, 0]);
  assertEquals(queue.completed(), value);
  if (queue.timestamps !== undefined) {
    const times = queue.timestamps.read(value);
    assertEquals(times.length, 2);
    assert(times[0] === 0 && times[1] > 0 && times[1] < 60e9, `${times}`);
  }
  queue.destroy();
  for (const pipeline of [first!, second!]) destroyPipeline(device, pipeline);
  destroyPipelineLayout(device, layout);
  memory.destroy();
});

deviceTest("the ring of command buffers goes round, and old timestamps are refused", (device) => {
  const memory = new HostBuffer(device, 4096);
  const words = new Uint32Array(memory.buffer);
  const queue = new CommandQueue(device, { buffers: 3, timestamps: 1 });
  const values: number[] = [];
  for (let i = 0; i < 20; i++) {
    queue.begin();
    queue.fillBuffer(memory.handle, BigInt(i * 4), 4n, i + 1);
    queue.timestamp();
    values.push(queue.submit());
  }
  assertEquals(values, Array.from({ length: 20 }, (_, i) => i + 1));
  queue.wait(20);
  assertEquals([...words.subarray(0, 20)], values);
  if (queue.timestamps !== undefined) {
    assertEquals(queue.timestamps.read(20).length, 1);
    assertThrows(() => queue.timestamps!.read(3), AnyAgcError, "submission 3 are not kept");
  }
  queue.begin();
  assertThrows(() => queue.begin(), AnyAgcError, "being recorded already");
  queue.submit();
  assertThrows(() => queue.submit(), AnyAgcError, "no command buffer is being recorded");
  queue.destroy();
  memory.destroy();
});

deviceTest("a wait that is not fulfilled in time is an error that names the device", async (device) => {
  const queue = new CommandQueue(device, { timeout: 20 });
  assertThrows(() => queue.wait(5), AnyAgcError, "did not finish submission 5 within 20 ms");
  await assertRejects(() => queue.waitAsync(5), AnyAgcError, device.capabilities.name);
  queue.destroy();
});
