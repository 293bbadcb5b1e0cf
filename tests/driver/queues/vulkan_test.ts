import { assert, assertEquals, assertRejects } from "@std/assert";
import { runAtOnce, type RunAtOnceOptions } from "../../../src/driver/vulkan/run_at_once.ts";
import type { StartHooks } from "../../../src/driver/device.ts";
import type { OwnedDriverRoom } from "../../../src/driver/pools/driver_room.ts";
import { runQueues } from "../../../src/driver/queues/run_queues.ts";
import { GuestSharing } from "../../../src/driver/vulkan/shared_guest.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { Timeline } from "../../../src/driver/recording/timeline.ts";
import { HostError } from "../../../src/errors.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { loadProgram } from "../../../src/guest/load_program.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../src/guest/program.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { COPY, STEP } from "../../support/machine_code.ts";
import { dispatchDirect, releaseMem32, waitMemoryEquals, writeData } from "../../support/packets.ts";
import { corpusFile } from "../../support/corpus.ts";
import { corpusDeviceTest, runGuest } from "../../support/run.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { Flag, newFlags, release } from "../pools/pipelines/support.ts";
import { inRoom } from "../vulkan/shared/run.ts";
import { inFolder } from "../warm_start/stores.ts";
import type { HeldData } from "./held_worker.ts";
import { chain, pingPong, randomProgram } from "./programs.ts";
import { KeptWorkers, NO_RECHECK, steady } from "./support.ts";

/** Of all tests here. */
const workers = new KeptWorkers();
await workers.warm();
globalThis.addEventListener("unload", () => workers[Symbol.dispose]());

/** Runs a program at once; the device never hangs. */
async function atOnce(
  room: OwnedDriverRoom,
  program: Program,
  hooks: StartHooks = {},
  options: Partial<RunAtOnceOptions> = {},
) {
  return await runAtOnce(room, program, hooks, {
    unalignedLoads: false,
    recheckMs: NO_RECHECK,
    onHung: () => assert(false, "the device hangs"),
    ...workers.options,
    ...options,
  });
}

/** All memory of a run. */
function contents(program: Program, memory: Pick<GuestMemory, "read">) {
  return program.memory.map(({ base, bytes }) => memory.read(base, bytes, 0));
}

/** Both ways, everything compared. */
async function bothWays(device: GpuDevice, room: OwnedDriverRoom, program: Program) {
  using turns = runGuest(device, program);
  const run = await atOnce(room, program);
  assertEquals(steady(run.result), steady(turns.result));
  assertEquals(contents(program, run.memory as GuestMemory), contents(program, turns.memory));
  const { result } = run;
  run.close();
  return result;
}

deviceTest(
  "twenty random programs run their queues at the same time on the device as in turns",
  (device) =>
    inRoom(device, async (room) => {
      for (let seed = 101; seed <= 120; seed++) {
        const result = await bothWays(device, room, randomProgram(seed));
        assertEquals([result.outcome, result.error?.message], ["passed", undefined], `seed ${seed}`);
      }
      // Two programs, in two sizes of groups, for a few sizes of the window table: made once for all runs and queues.
      assert(room.creations().created <= 12, `${room.creations().created} creations`);
    }),
);

deviceTest(
  "queues hand over to each other on the device: labels, and a buffer through three queues",
  (device) =>
    inRoom(device, async (room) => {
      assertEquals((await bothWays(device, room, pingPong(300).program)).error, undefined);
      const { program, results, expected } = chain(30);
      const run = await atOnce(room, program);
      assertEquals(run.result.error, undefined);
      const bytes = run.memory.read(results.address, results.bytes);
      assertEquals(new Uint32Array(bytes.buffer, 0, expected.length), expected);
      run.close();
    }),
);

deviceTest("errors of queues on the device are those of the run in turns", (device) =>
  inRoom(device, async (room) => {
    const program = (write: (guest: GuestProgram, copy: bigint, label: bigint) => void) => {
      const guest = new GuestProgram("errors"), copy = guest.code(COPY);
      write(guest, copy, guest.buffer(new Uint32Array(4)).address);
      return guest.program;
    };
    const fault = (copy: bigint, label: bigint) => [
      ...computeState({ code: copy, userData: [...words64(0x6_0000_0000n), ...words64(label), 0] }),
      ...dispatchDirect([1, 1, 1]),
    ];
    const faulting = program((guest, copy, label) => {
      guest.submit(0, waitMemoryEquals(label, 1));
      guest.submit(0x20, fault(copy, label), computeState({ code: 0n, userData: [] }), dispatchDirect([1, 1, 1]));
    });
    assertEquals((await bothWays(device, room, faulting)).error?.code, "driver.memory-fault");
    // The fault is in flight when another program has to be made.
    const before = program((guest, copy, label) => {
      const step = guest.code(STEP);
      guest.submit(0, waitMemoryEquals(label, 1));
      guest.submit(
        0x20,
        fault(copy, label),
        computeState({ code: step, userData: [...words64(label), 0], threads: [32, 1, 1] }),
        dispatchDirect([1, 1, 1]),
      );
    });
    using turns = runGuest(device, before);
    const once = await atOnce(room, before), { error } = once.result;
    assertEquals([error?.code, error?.place.queue, error?.place.pc], ["driver.memory-fault", 0x20, 4]);
    assertEquals(error?.toData(), turns.result.error?.toData());
    once.close();
    const forever = program((guest, _, label) => {
      guest.submit(0x30, writeData(label + 4n, 1), waitMemoryEquals(label, 1));
      guest.submit(0, waitMemoryEquals(label + 4n, 1), waitMemoryEquals(label, 2));
    });
    assertEquals((await bothWays(device, room, forever)).error?.code, "driver.wait-forever");
  }));

deviceTest(
  "what a queue dispatched ends another's wait before the queue has made its next program",
  (device) =>
    inRoom(device, async (room) => {
      const guest = new GuestProgram("held"), copy = guest.code(COPY), step = guest.code(STEP);
      const one = guest.buffer(Uint32Array.of(1)), label = guest.buffer(new Uint32Array(1));
      const data = guest.buffer(new Uint32Array(64)), seen = guest.buffer(new Uint32Array(1));
      const store = (target: bigint) => [
        ...computeState({ code: copy, userData: [...words64(one.address), ...words64(target), 0], threads: [1, 1, 1] }),
        ...dispatchDirect([1, 1, 1]),
      ];
      // So that the room has the first program.
      const { program } = guest;
      const words = Uint32Array.from(store(seen.address));
      (await atOnce(room, { ...program, submissions: [0, 0x20].map((queue) => ({ queue, words })) })).close();
      const made = room.creations().created;

      const flags = newFlags();
      guest.submit(0, store(label.address));
      guest.submit(
        0,
        computeState({ code: step, userData: [...words64(data.address), 5] }),
        dispatchDirect([1, 1, 1]),
      );
      guest.submit(0x20, waitMemoryEquals(label.address, 1), store(seen.address));
      const memory = new GuestMemory(new MmapAllocator());
      let sharing: GuestSharing | undefined;
      const result = await runQueues(guest.program, memory, {
        self: room.room.self,
        kind: "held",
        recheckMs: NO_RECHECK,
        attach(memory) {
          sharing = new GuestSharing(device, memory);
          const data: HeldData = {
            ...{ room: room.handle, guest: sharing.guest, target: "gfx1013", unalignedLoads: false, queue: 0 },
            ...{ held: 0, flags },
          };
          return { kind: "held", data };
        },
        startWorker: () => new Worker(new URL("./held_worker.ts", import.meta.url), { type: "module" }),
        // The second queue has gone on while the first one's creation is held up: that is what lets it go on.
        onDispatches: (count) => count === 3 && Atomics.load(flags, Flag.Begun) === 1 && release(flags),
      });
      sharing?.close();
      assertEquals([result.error?.message, memory.readU32(seen.address)], [undefined, 1]);
      assertEquals([Atomics.load(flags, Flag.Calls), room.creations().created - made], [1, 1]);
      memory.clear();
    }),
);

deviceTest(
  "what several queues did is on one timeline, a track for each queue and for its part of the device",
  (device) =>
    inRoom(device, async (room) => {
      const { program } = chain(6), timeline = new Timeline(), modules: number[] = [];
      let told = 0;
      const run = await atOnce(room, program, {
        timeline,
        onTimeline: () => told++,
        keepModule: (report, words) => modules.push(report.words, words.length),
      });
      run.close();
      const tracks = Map.groupBy(timeline.spans, ({ track }) => track);
      for (const queue of ["0x0", "0x21", "0x30"]) assert(tracks.has(`queue ${queue}`), queue);
      assertEquals(["0x0", "0x21", "0x30"].map((queue) => tracks.get(`device ${queue}`)?.length), [undefined, 6, 6]);
      assert(told >= 3 && timeline.spans.every(({ startMs, endMs }) => startMs >= 0 && endMs <= timeline.now));
      assertEquals(modules.length, 4);
      assertEquals([modules[0], modules[2]], [modules[1], modules[3]], "words of the reports and of their modules");
    }),
);

deviceTest("a device starts a program with several queues in isolates, one with a single queue here", async () => {
  const device = new VulkanDevice(GpuDevice.create({ validation: true }), "automatic");
  try {
    const { program } = chain(3);
    let wrapped = 0, counted = 0;
    const hooks: StartHooks = {
      wrap: (executor) => (wrapped++, executor),
      onDispatches: (count) => counted = count,
    };
    const several = await device.start(program, hooks);
    assertEquals([several.result.outcome, several.result.dispatches, wrapped, counted], ["passed", 6, 0, 6]);
    several.close();
    const single = { ...program, submissions: program.submissions.slice(2) };
    const one = await device.start(single, hooks);
    // Nobody ends its wait.
    assertEquals([one.result.error?.code, wrapped], ["driver.wait-forever", 1]);
    one.close();
    // A word at an odd address: run again with programs that can do it, in isolates as well.
    const odd = new GuestProgram("odd"), copy = odd.code(COPY);
    const from = odd.buffer(Uint32Array.of(0x44332211, 0x88776655)), to = odd.buffer(new Uint32Array(1));
    odd.submit(
      0,
      computeState({
        code: copy,
        userData: [...words64(from.address + 1n), ...words64(to.address), 0],
        threads: [1, 1, 1],
      }),
      dispatchDirect([1, 1, 1]),
      releaseMem32(to.address + 8n, 1),
    );
    odd.submit(0x20, waitMemoryEquals(to.address + 8n, 1));
    const again = await device.start(odd.program, hooks);
    assertEquals([again.result.error?.message, again.memory.readU32(to.address), wrapped], [undefined, 0x55443322, 1]);
    again.close();
  } finally {
    device.close();
  }
});

deviceTest(
  "a short program whose pipelines are recorded runs in turns, unless somebody looks at its queues",
  async () => {
    const device = new VulkanDevice(GpuDevice.create({ validation: true }), "automatic");
    try {
      const { program } = chain(2);
      let wrapped = 0;
      const wrap: StartHooks["wrap"] = (executor) => (wrapped++, executor);
      const results = [];
      for (const timeline of [undefined, undefined, new Timeline()]) {
        const next = { starts: true, records: timeline !== undefined };
        const prepared = await device.prepare(program, undefined, next);
        const run = await device.start(program, { wrap, timeline });
        results.push([run.result.outcome, wrapped, prepared?.replay.created, prepared?.used, prepared?.built]);
        run.close();
      }
      assertEquals(results, [
        ["passed", 0, 0, 0, 2], // nothing is recorded: isolates
        ["passed", 1, 2, 2, 0], // in turns
        ["passed", 1, 2, 2, 0], // isolates again
      ]);
    } finally {
      device.close();
    }
  },
);

deviceTest(
  "a short program of which one queue has all dispatches runs in turns, also when nothing is recorded",
  async () => {
    const device = new VulkanDevice(GpuDevice.create({ validation: true }), "automatic");
    try {
      const results = [];
      for (const dispatching of [1, 2]) {
        const guest = new GuestProgram(`${dispatching} of two`), code = guest.code(COPY);
        const from = guest.buffer(Uint32Array.of(7)), to = guest.buffer(new Uint32Array(4));
        const copy = (at: bigint) => [
          computeState({ code, userData: [...words64(from.address), ...words64(at), 0], threads: [1, 1, 1] }),
          dispatchDirect([1, 1, 1]),
        ];
        guest.submit(0, waitMemoryEquals(to.address + 8n, 1), ...(dispatching === 2 ? copy(to.address + 4n) : []));
        guest.submit(0x20, ...copy(to.address), releaseMem32(to.address + 8n, 1));
        let wrapped = 0;
        const { program } = guest;
        const prepared = await device.prepare(program, undefined, { starts: true });
        const run = await device.start(program, { wrap: (executor) => (wrapped++, executor) });
        const { outcome, waits } = run.result;
        // Whether queue 0 comes to its wait before the label is written is theirs, where each has an isolate.
        results.push([outcome, wrapped, prepared?.replay.recorded, prepared?.built, wrapped === 0 || waits.length]);
        assertEquals(run.memory.readU32(to.address), 7);
        run.close();
      }
      assertEquals(results, [
        ["passed", 1, 0, 1, 1], // in turns
        ["passed", 0, 0, 1, true], // isolates
      ]);
    } finally {
      device.close();
    }
  },
);

deviceTest("where guest memory is mirrored, queues run in turns", async () => {
  const device = new VulkanDevice(GpuDevice.create({ validation: true }), "mirrored");
  let wrapped = 0;
  const run = await device.start(chain(2).program, { wrap: (executor) => (wrapped++, executor) });
  assertEquals([run.result.outcome, wrapped], ["passed", 1]);
  run.close();
  device.close();
});

corpusDeviceTest(
  "the console's dispatch is the same in an isolate, beside another queue that waits for it",
  "golden",
  (device) =>
    inRoom(device, async (room) => {
      const program = loadProgram(corpusFile("golden", "c0__c0-dispatch-1.json"));
      const marker = 0x2_0002_bffcn;
      const labels = new GuestProgram("beside", { dataBase: 0x7_0000_0000n }), done = labels.buffer(new Uint32Array(1));
      labels.submit(0x21, waitMemoryEquals(marker, 0x4239_0001), writeData(done.address, 1));
      const both = {
        ...program,
        memory: [...program.memory, ...labels.program.memory],
        submissions: [...labels.program.submissions, ...program.submissions],
      };
      const result = await bothWays(device, room, both);
      assertEquals([result.outcome, result.submissions, result.dispatches], ["passed", 2, 1]);
    }),
);

deviceTest(
  "what the queues' isolates found in the shader cache counts as used, also in a run that recompiles nothing",
  (device) =>
    inFolder(async (folder) => {
      const path = `${folder}/shaders`, shaders = new ShaderCache(path).handle, { program } = chain(2);
      const once = () => inRoom(device, async (room) => (await atOnce(room, program)).close(), { shaders });
      const entries = () => [...Deno.readDirSync(path)].map(({ name }) => `${path}/${name}`).filter(isEntry);
      await once();
      assert(entries().length > 0);
      for (const file of entries()) Deno.utimeSync(file, 1000, 1000);
      await once();
      assertEquals(entries().filter((file) => Deno.statSync(file).mtime!.getTime() === 1_000_000), []);
    }),
);

function isEntry(path: string): boolean {
  return !path.endsWith("/lock");
}

deviceTest("a device that a queue's isolate died over is never destroyed, nor what it may still use", async () => {
  const gpu = GpuDevice.create({ validation: true }), device = new VulkanDevice(gpu, "automatic");
  const { Worker } = globalThis, { vkDestroyDevice, vkFreeMemory, vkDestroyPipelineLayout } = gpu.vulkan;
  const destroyed: string[] = [];
  Object.assign(gpu.vulkan, {
    vkDestroyDevice: () => destroyed.push("device"),
    vkFreeMemory: () => destroyed.push("memory"),
    vkDestroyPipelineLayout: () => destroyed.push("layout"),
  });
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(options?.name === "queue 0x30" ? new URL("./silent_worker.ts?later", import.meta.url) : url, options);
    }
  };
  try {
    const error = await assertRejects(() => device.start(chain(2).program), HostError, "queue 0x30 died");
    assertEquals([error.code, gpu.unfinished], ["driver.queue-died", true]);
    destroyed.length = 0; // what its opening took for a moment
    device.close();
    assertEquals(destroyed, []);
  } finally {
    globalThis.Worker = Worker;
    Object.assign(gpu.vulkan, { vkDestroyDevice, vkFreeMemory, vkDestroyPipelineLayout });
  }
});
