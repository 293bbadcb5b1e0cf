import { assertEquals, assertThrows } from "@std/assert";
import { DriverSink } from "../../../src/driver/driver_sink.ts";
import { VulkanExecutor } from "../../../src/driver/vulkan/vulkan_executor.ts";
import type { BackingKind } from "../../../src/gpu/guest_backing.ts";
import type { GpuDevice } from "../../../src/gpu/device.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import { QueueExecutor } from "../../../src/pm4/execute.ts";
import { computeState, words64 } from "../../support/guest_program.ts";
import { COPY, STEP } from "../../support/machine_code.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { guestTest } from "../../support/run.ts";

const CODE = 0x2_0000_0000n;

/** Guest memory with a window of code, an executor on it, and a queue. */
class Machine {
  readonly memory = new GuestMemory(new MmapAllocator());
  readonly executor: VulkanExecutor;
  readonly sink: DriverSink;
  readonly #queue: QueueExecutor;

  constructor(device: GpuDevice, backing: BackingKind, code: Uint32Array) {
    this.memory.map(CODE, 4096, Permission.All, "code");
    this.memory.write(CODE, new Uint8Array(code.buffer));
    this.executor = new VulkanExecutor(device, { target: "gfx1013", backing });
    this.executor.attach(this.memory);
    this.sink = new DriverSink(this.memory, this.executor);
    this.#queue = new QueueExecutor(0, this.sink);
  }

  /** Dispatches one group of 64 threads; does not wait for it. */
  dispatch(...userData: number[]): void {
    const words = [...computeState({ code: CODE, userData }), ...dispatchDirect([1, 1, 1])];
    this.#queue.submit({ queue: 0, words: Uint32Array.from(words) });
    this.#queue.run();
  }

  [Symbol.dispose](): void {
    this.executor.close();
    this.memory.clear();
  }
}

guestTest("windows that appear, go and change their permissions between dispatches are followed", (device, backing) => {
  using machine = new Machine(device, backing, STEP);
  const { memory, sink } = machine;
  const first = 0x3_0000_0000n, second = 0x1_0000_0000n;
  const step = (address: bigint) => machine.dispatch(...words64(address), 5);
  memory.map(first, 4096);
  step(first);
  memory.map(second, 8192); // before the first one in the table, with work in flight
  step(second + 4096n);
  step(first);
  sink.settle();
  assertEquals([memory.readU32(first), memory.readU32(second + 4096n)], [20, 5]);

  memory.unmap(first);
  step(first);
  assertThrows(() => sink.settle(), Error, "accessed 4 bytes at 0x300000000: unmapped");

  memory.protect(second, Permission.Read);
  machine.dispatch(...words64(second), 5);
  assertThrows(() => sink.settle(), Error, "at 0x100000000: permission");
  memory.protect(second, Permission.ReadWrite);
  machine.dispatch(...words64(second), 5);
  sink.settle();
  assertEquals(memory.readU32(second), 5);
});

guestTest("memory of dozens of windows is reached", (device, backing) => {
  using machine = new Machine(device, backing, COPY);
  const { memory, sink } = machine;
  const at = (i: number) => 0x10_0000_0000n + BigInt(i) * 0x1_0000_0000n;
  for (let i = 0; i < 40; i++) {
    memory.map(at(i), 4096);
    memory.writeU32(at(i), i + 1);
  }
  for (let i = 0; i < 40; i++) machine.dispatch(...words64(at(i)), ...words64(at((i * 7 + 3) % 40) + 2048n), 0);
  sink.settle();
  for (let i = 0; i < 40; i++) assertEquals(memory.readU32(at((i * 7 + 3) % 40) + 2048n), i + 1);
});

guestTest("code that the host changes is recompiled, and known again when it comes back", (device, backing) => {
  using machine = new Machine(device, backing, STEP);
  const { memory, sink, executor } = machine, data = 0x3_0000_0000n;
  memory.map(data, 4096);
  const run = (code: Uint32Array, ...userData: number[]) => {
    memory.write(CODE, new Uint8Array(code.buffer));
    machine.dispatch(...userData);
    sink.settle();
  };
  const step = [...words64(data), 5], copy = [...words64(data), ...words64(data + 2048n), 9];
  run(STEP, ...step);
  run(COPY, ...copy);
  run(STEP, ...step);
  run(COPY, ...copy);
  assertEquals([memory.readU32(data), memory.readU32(data + 2048n)], [20, 29]);
  // COPY has another number of user SGPRs, so that registers alone tell them apart; a changed constant is told by the words.
  const changed = STEP.slice();
  changed[changed.indexOf(0x4a020202)] = 0x4a020281; // v_add_nc_u32_e32 v1, 1, v1
  run(changed, ...step);
  run(STEP, ...step);
  assertEquals(memory.readU32(data), (20 * 3 + 1) * 3 + 5);
  assertEquals(executor.programs().map(({ dispatches }) => dispatches).sort(), [1, 2, 3]);
});
