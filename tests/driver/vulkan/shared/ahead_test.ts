import { assert, assertEquals, assertThrows } from "@std/assert";
import type { OwnedDriverRoom } from "../../../../src/driver/pools/driver_room.ts";
import { runPipelineJob } from "../../../../src/driver/pools/prebuild.ts";
import { runProgramJob } from "../../../../src/driver/pools/programs_ahead.ts";
import { JobKind, Pool } from "../../../../src/driver/pools/room.ts";
import { DriverSink } from "../../../../src/driver/driver_sink.ts";
import { ResolveAhead } from "../../../../src/driver/vulkan/resolve_ahead.ts";
import { GuestSharing } from "../../../../src/driver/vulkan/shared_guest.ts";
import { VulkanExecutor } from "../../../../src/driver/vulkan/vulkan_executor.ts";
import type { GpuDevice } from "../../../../src/gpu/device.ts";
import { mapProgram } from "../../../../src/guest/map_program.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../../src/guest/program.ts";
import { QueueExecutor } from "../../../../src/pm4/execute.ts";
import { validateSubmission } from "../../../../src/pm4/validate.ts";
import type { ValidatedSubmission } from "../../../../src/pm4/validated.ts";
import { SyncError } from "../../../../src/sync/sync_error.ts";
import { waitCounts } from "../../../../src/sync/waits.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { SQUARE, STEP } from "../../../support/machine_code.ts";
import { dispatchDirect } from "../../../support/packets.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inRoom } from "./run.ts";

/** A queue of a program in this isolate, with everything shared; pools have no workers but this test. */
class Machine {
  readonly memory = new GuestMemory(new MmapAllocator());
  readonly executor: VulkanExecutor;
  readonly submissions: ValidatedSubmission[];
  readonly #room: OwnedDriverRoom;
  readonly #sharing: GuestSharing;
  readonly #ahead: ResolveAhead;

  constructor(room: OwnedDriverRoom, device: GpuDevice, program: Program) {
    this.#room = room;
    mapProgram(program, this.memory);
    const sharing = this.#sharing = new GuestSharing(device, this.memory), { guest } = sharing, { target } = program;
    this.#ahead = new ResolveAhead(room, guest, this.memory, { target, unalignedLoads: false });
    this.executor = new VulkanExecutor(device, { target, shared: { room, guest, queue: 0 } });
    this.executor.attach(this.memory);
    this.submissions = program.submissions.map((submission) => validateSubmission(submission, this.memory));
  }

  announce(): void {
    for (const submission of this.submissions) this.#ahead.submitted(submission);
  }

  /** Runs everything to its end. */
  run(): void {
    const sink = new DriverSink(this.memory, this.executor), queue = new QueueExecutor(0, sink);
    for (const submission of this.submissions) queue.submit(submission);
    queue.run();
    sink.settle();
  }

  /** Does what a pool's worker does, once; false when there is nothing that may be started. */
  work(pool: number): boolean {
    const { board } = this.#room.room, job = board.tryTake(pool);
    if (job === undefined) return false;
    if (job.kind === JobKind.Program) runProgramJob(this.#room, job);
    else runPipelineJob(this.#room.room, job, this.#room.driver);
    return true;
  }

  words(address: bigint, count: number): Uint32Array {
    return this.memory.readWords(address, count);
  }

  [Symbol.dispose](): void {
    this.executor.close();
    this.#sharing.close();
    this.memory.clear();
  }
}

const NO_WORKERS = { workers: [0, 0, 0] } as const;

/** Dispatches of two programs; the second one's results. */
function twoPrograms() {
  const guest = new GuestProgram("ahead"), step = guest.code(STEP), square = guest.code(SQUARE);
  const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)), to = guest.buffer(new Uint32Array(64));
  const state = computeState({ code: step, userData: [...words64(from.address), 0] });
  guest.submit(0, state, dispatchDirect([1, 1, 1]), dispatchDirect([1, 1, 1]));
  guest.submit(0, computeState({ code: square, userData: [...descriptor(from), ...descriptor(to)] }));
  guest.submit(0, dispatchDirect([1, 1, 1]), dispatchDirect([1, 1, 1]));
  return { program: guest.program, to, expected: Uint32Array.from({ length: 64 }, (_, i) => (9 * i) ** 2 + i) };
}

deviceTest("the pipelines of a queued submission are there before its turn", (device) =>
  inRoom(device, (room) => {
    const { program, to, expected } = twoPrograms();
    using machine = new Machine(room, device, program);
    machine.announce();
    assertEquals(room.room.board.stats().queued, 2, "each program once");
    machine.announce();
    assertEquals(room.room.board.stats().queued, 2);
    while (machine.work(Pool.Preparation));
    while (machine.work(Pool.Prebuild));
    assertEquals([room.creations().created, room.room.pipelines.stats().ready], [2, 2]);
    const made = [room.room.artifacts.stats().created, room.room.pipelines.stats().created];
    // What lies behind a program is not part of it.
    machine.memory.initialize(0x2_0000_0000n + 512n, Uint8Array.of(1, 2, 3, 4));
    machine.run();
    assertEquals([room.room.artifacts.stats().created, room.room.pipelines.stats().created], made, "nothing was left");
    assertEquals(machine.words(to.address, 64), expected);
    assertEquals(room.room.pipelines.stats().pins, 0);
  }, NO_WORKERS));

deviceTest(
  "what was announced is announced again when all pipelines went: the next submission finds its pipelines there",
  (device) =>
    inRoom(device, async (room) => {
      const { program, to, expected } = twoPrograms(), { board, pipelines } = room.room;
      using machine = new Machine(room, device, program);
      const work = () => {
        machine.announce();
        const { queued } = board.stats();
        for (const pool of [Pool.Preparation, Pool.Prebuild]) while (machine.work(pool));
        return queued;
      };
      assertEquals([work(), pipelines.stats().ready], [2, 2]);
      await room.clearPipelines(true);
      assertEquals([work(), pipelines.stats().ready, room.creations().created], [2, 2, 4]);
      machine.run();
      assertEquals(room.creations().created, 4, "nothing was left to the dispatches");
      assertEquals(machine.words(to.address, 64), expected);
    }, NO_WORKERS),
);

/** How far the background is when the dispatch comes. */
const STATES = ["nothing announced", "recompile queued", "waiting for admission"] as const;

for (const state of STATES) {
  deviceTest(`with the budget full a dispatch finishes: ${state}`, (device) =>
    inRoom(device, (room) => {
      const { board, pipelines } = room.room, { program, to, expected } = twoPrograms();
      using machine = new Machine(room, device, program);
      const hold = board.hold(1024)!;
      if (state !== STATES[0]) machine.announce();
      if (state === STATES[2]) {
        while (machine.work(Pool.Preparation));
        while (machine.work(Pool.Prebuild)); // what the driver's cache cannot answer is put back, for the budget
        assertEquals([board.stats().queued, pipelines.stats().pending, pipelines.stats().ready], [2, 2, 0]);
      }
      machine.run();
      assertEquals(machine.words(to.address, 64), expected);
      const { budget, queued } = board.stats();
      assertEquals([budget.held, queued, room.creations().created], [1024, 0, 2], "the budget is still full");
      board.releaseHold(hold);
      for (const pool of [Pool.Preparation, Pool.Prebuild]) while (machine.work(pool));
      assertEquals([room.creations().created, board.stats().queued, pipelines.stats().pins], [2, 0, 0]);
    }, { ...NO_WORKERS, compileBytes: 1024 }));
}

deviceTest(
  "a dispatch is prepared without any lock, and recorded with the GPU mutex",
  (device) =>
    inRoom(device, (room) => {
      const { program } = twoPrograms();
      using machine = new Machine(room, device, program);
      const { executor } = machine, held: boolean[] = [];
      const create = device.vulkan.vkCreateComputePipelines, dispatch = device.vulkan.vkCmdDispatch;
      const submit = device.vulkan.vkQueueSubmit2;
      Object.assign(device.vulkan, {
        vkCreateComputePipelines(...args: Parameters<typeof create>) {
          held.push(room.gpu.isMine);
          return create(...args);
        },
      });
      const recorded: boolean[] = [];
      Object.assign(device.vulkan, {
        vkCmdDispatch(...args: Parameters<typeof dispatch>) {
          recorded.push(room.gpu.isMine);
          return dispatch(...args);
        },
        vkQueueSubmit2(...args: Parameters<typeof submit>) {
          recorded.push(room.gpu.isMine);
          return submit(...args);
        },
      });
      const prepare = executor.prepareDispatch.bind(executor);
      let refusals = 0;
      Object.assign(executor, {
        dispatch(each: Parameters<typeof prepare>[0]) {
          room.gpu.lock();
          const error = assertThrows(() => prepare(each), SyncError);
          room.gpu.unlock();
          assertEquals(error.code, "sync.wait-with-lock");
          refusals++;
          const prepared = prepare(each);
          assert(!room.gpu.isMine);
          executor.dispatchPrepared(prepared);
          assert(!room.gpu.isMine);
        },
      });
      machine.run();
      assertEquals([held, refusals], [[false, false], 4]);
      assert(recorded.length >= 5 && recorded.every((mine) => mine), `${recorded}`);
    }, NO_WORKERS),
);

deviceTest(
  "what a prepared dispatch uses is pinned until it has run, and made again if it went before",
  (device) =>
    inRoom(device, (room) => {
      const { program } = twoPrograms();
      using machine = new Machine(room, device, program);
      const { executor } = machine, { pipelines } = room.room, log: unknown[] = [];
      const evict = () => {
        const evicted = pipelines.snapshot().map(({ reference }) => pipelines.evict(reference));
        for (const pipeline of evicted) if (pipeline !== undefined) room.driver.destroy(pipeline);
        return evicted.filter((pipeline) => pipeline !== undefined).length;
      };
      const prepare = executor.prepareDispatch.bind(executor);
      Object.assign(executor, {
        dispatch(each: Parameters<typeof prepare>[0]) {
          const prepared = prepare(each);
          log.push(evict());
          executor.dispatchPrepared(prepared);
          log.push(evict());
          executor.drain();
          log.push(evict());
        },
      });
      machine.run();
      // Pinned from preparing to the end of the batch; gone after it, and so made anew for the next dispatch.
      assertEquals(log, [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
      assertEquals([room.creations().created, pipelines.stats().pins], [4, 0]);
    }, NO_WORKERS),
);

deviceTest(
  "a dispatch of a settled program waits for nothing, and asks neither the board nor a table's lock",
  (device) =>
    inRoom(device, (room) => {
      const { program } = twoPrograms();
      using machine = new Machine(room, device, program);
      machine.run();
      const { board, artifacts, pipelines, arena } = room.room;
      const counts = () => [
        waitCounts(),
        board.stats().submitted,
        artifacts.lockStats().acquired,
        pipelines.lockStats().acquired,
        arena.stats().blobs,
        room.creations().created,
      ];
      const before = counts(), recorded = room.gpu.stats().acquired;
      for (let i = 0; i < 50; i++) machine.run();
      assertEquals(counts(), before);
      // Each of the four dispatches, and each submission, takes the GPU mutex once.
      assertEquals(room.gpu.stats().acquired - recorded, 50 * 5);
    }, NO_WORKERS),
);
