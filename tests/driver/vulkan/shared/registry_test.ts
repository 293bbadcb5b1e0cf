import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { DriverSink } from "../../../../src/driver/driver_sink.ts";
import type { OwnedDriverRoom } from "../../../../src/driver/pools/driver_room.ts";
import { runRecompileJob } from "../../../../src/driver/pools/preparation.ts";
import { Pool } from "../../../../src/driver/pools/room.ts";
import { ShaderRegistry } from "../../../../src/driver/registry/shader_registry.ts";
import { ResolveAhead } from "../../../../src/driver/vulkan/resolve_ahead.ts";
import { GuestSharing } from "../../../../src/driver/vulkan/shared_guest.ts";
import { VulkanDevice } from "../../../../src/driver/vulkan/vulkan_device.ts";
import { VulkanExecutor } from "../../../../src/driver/vulkan/vulkan_executor.ts";
import { InvalidInputError, RefusedError } from "../../../../src/errors.ts";
import type { GpuDevice } from "../../../../src/gpu/device.ts";
import { mapProgram } from "../../../../src/guest/map_program.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import type { LoadedProgram, Program } from "../../../../src/guest/program.ts";
import { QueueExecutor } from "../../../../src/pm4/execute.ts";
import { validateSubmission } from "../../../../src/pm4/validate.ts";
import { waitCounts } from "../../../../src/sync/waits.ts";
import { computeState, type GuestBuffer, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { STEP } from "../../../support/machine_code.ts";
import { acquireMem, dispatchDirect, dmaFill } from "../../../support/packets.ts";
import { S_TRAP } from "../../registry/support.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { dispatchAbi, type PlacedRecord, placeRecord } from "./registered.ts";
import { inRoom } from "./run.ts";

/** v_lshl_add_u32 v0, s3, 6, v0 is STEP's first instruction: its words without it are another program, of the first group alone. */
const FIRST_ONLY = STEP.subarray(2);
const NO_WORKERS = { workers: [0, 0, 0] } as const;

/** STEP with a record: x = 3 * x + 5 for 64 words. */
function stepping() {
  const guest = new GuestProgram("registered"), placed = placeRecord(guest, STEP, 3);
  const data = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i));
  const state = { code: placed.code, userData: [...words64(data.address), 5] };
  return { guest, placed, data, state };
}

/** A queue in this isolate with a registry; pools have no workers but the test. */
class Machine {
  readonly memory = new GuestMemory(new MmapAllocator());
  readonly registry: ShaderRegistry;
  readonly executor: VulkanExecutor;
  readonly lines: string[] = [];
  readonly #room: OwnedDriverRoom;
  readonly #sharing: GuestSharing;
  readonly #ahead: ResolveAhead;

  constructor(room: OwnedDriverRoom, device: GpuDevice, program: Program) {
    this.#room = room;
    mapProgram(program, this.memory);
    const sharing = this.#sharing = new GuestSharing(device, this.memory), { guest } = sharing, { target } = program;
    const options = { windows: guest.table.length <= 2 ? guest.table.length : 4, unalignedLoads: false, resolve: true };
    const registry = this.registry = ShaderRegistry.create(room.room, {
      host: { target, device: room.recompilerDevice, options },
      memory: this.memory,
      services: room.services,
      log: (line) => this.lines.push(line),
      capacity: 256,
      synchronous: false,
    });
    this.#ahead = new ResolveAhead(room, guest, this.memory, { target, unalignedLoads: false, registry });
    this.executor = new VulkanExecutor(device, { target, shared: { room, guest, queue: 0, registry } });
    this.executor.attach(this.memory);
  }

  /** A submission as it is made now. */
  submission(words: number[], snapshot: number | undefined = this.registry.snapshot()) {
    return validateSubmission({ queue: 0, words: Uint32Array.from(words), snapshot }, this.memory);
  }

  announce(submission: ReturnType<Machine["submission"]>): void {
    this.#ahead.submitted(submission);
  }

  /** Runs submissions to their end. */
  run(...submissions: ReturnType<Machine["submission"]>[]): void {
    const sink = new DriverSink(this.memory, this.executor), queue = new QueueExecutor(0, sink);
    for (const submission of submissions) queue.submit(submission);
    queue.run();
    sink.settle();
  }

  /** Jobs that are queued, artifacts that were made. */
  get jobs(): [queued: number, made: number] {
    const { board, artifacts } = this.#room.room;
    return [board.stats().queued, artifacts.stats().created];
  }

  words({ address, bytes }: GuestBuffer): Uint32Array {
    return this.memory.readWords(address, bytes / 4);
  }

  [Symbol.dispose](): void {
    this.executor.close();
    this.#sharing.close();
    this.memory.clear();
  }
}

const once = (x: number) => 3 * x + 5;

deviceTest(
  "a dispatch right after resolving a new ABI lands its write: it runs the queued job itself, once",
  (device) =>
    inRoom(device, (room) => {
      const { guest, placed, data, state } = stepping();
      using machine = new Machine(room, device, guest.program);
      const { registry } = machine, shader = registry.registerShader(placed.record);
      assertEquals(machine.jobs, [1, 0], "the record's own ABI");
      assertEquals(registry.resolveShaderAbi(shader, dispatchAbi(placed, 32)), "queued");
      machine.run(
        machine.submission([...computeState({ ...state, threads: [32, 1, 1] }), ...dispatchDirect([1, 1, 1])]),
      );
      assertEquals([...machine.words(data).subarray(0, 33)], [...Array.from({ length: 32 }, (_, i) => once(i)), 32]);
      assertEquals(machine.jobs, [1, 1], "the other job is still queued: nobody waited behind it");
      assertEquals(registry.resolveShaderAbi(shader, dispatchAbi(placed, 32)), "registered");
      machine.run(machine.submission([...computeState(state), ...dispatchDirect([1, 1, 1])]));
      assertEquals([machine.words(data)[1], machine.jobs], [once(once(1)), [0, 2]]);
      assertEquals(machine.lines, []);
    }, NO_WORKERS),
);

deviceTest(
  "what the pool has made the dispatch takes: a job runs once, by whoever comes first",
  (device) =>
    inRoom(device, (room) => {
      const { guest, placed, data, state } = stepping();
      using machine = new Machine(room, device, guest.program);
      machine.registry.registerShader(placed.record);
      const submission = machine.submission([...computeState(state), ...dispatchDirect([1, 1, 1])]);
      const job = room.room.board.tryTake(Pool.Preparation);
      assert(job !== undefined);
      runRecompileJob(room.room, job, room.services);
      machine.run(submission);
      assertEquals([machine.words(data)[3], machine.jobs], [once(3), [0, 1]]);
    }, NO_WORKERS),
);

deviceTest(
  "a dispatch whose shader cannot be recompiled fails there, and no loader queues it again",
  (device) =>
    inRoom(device, (room) => {
      const guest = new GuestProgram("refused"), placed = placeRecord(guest, Uint32Array.of(S_TRAP, 0xbf81_0000), 0);
      using machine = new Machine(room, device, guest.program);
      const { registry } = machine, shader = registry.registerShader(placed.record);
      const state = computeState({ code: placed.code, userData: [] });
      const submission = machine.submission([...state, ...dispatchDirect([1, 1, 1])]);
      for (let time = 0; time < 2; time++) {
        const error = assertThrows(() => machine.run(submission), RefusedError);
        assertEquals(error.place.guestAddress, placed.code);
        assertEquals([registry.resolveShaderAbi(shader, dispatchAbi(placed)), machine.jobs[0]], ["failed", 0]);
      }
      assertEquals(machine.lines, [], "the dispatch has said it");
    }, NO_WORKERS),
);

deviceTest("a submission that names a queued variant makes its job more urgent", (device) =>
  inRoom(device, (room) => {
    const { guest, placed, state } = stepping(), other = placeRecord(guest, FIRST_ONLY, 3);
    using machine = new Machine(room, device, guest.program);
    // Equal priorities are taken in their order: the other one would be first.
    const shaders = [other, placed].map(({ record }) => machine.registry.registerShader(record));
    machine.announce(machine.submission([...computeState(state), ...dispatchDirect([1, 1, 1])]));
    const job = room.room.board.tryTake(Pool.Preparation);
    assert(job !== undefined);
    runRecompileJob(room.room, job, room.services);
    const made = shaders.map((shader) => machine.registry.resolveShaderAbi(shader, dispatchAbi(placed)));
    assertEquals(made, ["pending", "registered"]);
  }, NO_WORKERS));

deviceTest(
  "a submission sees the registry as it was when it was made; code that was overwritten is noticed, and is what runs",
  (device) =>
    inRoom(device, (room) => {
      const { guest, placed, data, state } = stepping();
      using machine = new Machine(room, device, guest.program);
      const { registry, lines } = machine, packets = [...computeState(state), ...dispatchDirect([1, 1, 1])];
      const raw = machine.submission(packets);
      const first = registry.registerShader(placed.record), seen = machine.submission(packets);
      // s_endpgm: the program does nothing any more.
      const edited = registry.edit(first, () => ({ code: Uint32Array.of(0xbf81_0000) }));
      const later = machine.submission(packets);
      machine.run(raw);
      assertEquals([machine.words(data)[7], lines], [7, []], "nobody had registered anything: memory is what counts");
      machine.run(later);
      assertEquals([machine.words(data)[7], lines], [7, []], "it sees the edit");
      machine.run(seen, seen);
      assertEquals(lines.length, 1, "said once");
      assertMatch(
        lines[0],
        /^the compute shader [0-9a-f]{16} at 0x200000\d+ was changed in memory since it was registered/,
      );
      assertEquals(machine.words(data)[7], 7);
      registry.edit(edited, () => ({ code: STEP }));
      machine.run(seen, machine.submission(packets));
      assertEquals([machine.words(data)[7], lines.length], [once(once(7)), 1]);
    }, NO_WORKERS),
);

deviceTest(
  "of a shader that was unregistered, submissions that were made see the registration, later ones raw code",
  (device) =>
    inRoom(device, (room) => {
      const { guest, placed, data, state } = stepping();
      using machine = new Machine(room, device, guest.program);
      const { registry, lines } = machine, packets = [...computeState(state), ...dispatchDirect([1, 1, 1])];
      const shader = registry.registerShader(placed.record), before = machine.submission(packets);
      registry.unregisterShader(shader);
      const after = machine.submission(packets);
      machine.run(after);
      assertEquals(
        [machine.words(data)[1], machine.jobs],
        [once(1), [0, 1]],
        "the same request: the queued job was its",
      );
      machine.run(before);
      assertEquals([machine.words(data)[1], machine.jobs, lines], [once(once(1)), [0, 1], []]);
      machine.memory.initialize(placed.code, new Uint8Array(Uint32Array.of(0xbf81_0000).buffer));
      machine.run(after);
      assertEquals(lines, []);
      machine.run(before);
      assertEquals([lines.length, machine.words(data)[1]], [1, once(once(1))]);
    }, NO_WORKERS),
);

deviceTest("unregistered code is decoded to its reachable end, 1 MiB at most", (device) =>
  inRoom(device, (room) => {
    // s_branch over 0x7fff words, eight times: the last one comes to the word behind 1 MiB, or to the last in it.
    const guest = new GuestProgram("raw"), hop = 0x8000, words = 8 * hop;
    const codes = [0, 1].map((less) => {
      const code = new Uint32Array(words + 1);
      for (let i = 0; i < 8; i++) code[i * hop] = 0xbf82_7fff - (i === 7 ? less : 0);
      code[words - less] = 0xbf81_0000; // s_endpgm
      return guest.code(code);
    });
    using machine = new Machine(room, device, guest.program);
    const [behind, last] = codes.map((code) =>
      machine.submission([...computeState({ code, userData: [] }), ...dispatchDirect([1, 1, 1])])
    );
    const error = assertThrows(() => machine.run(behind), InvalidInputError);
    assertEquals(error.place.guestAddress, codes[0] + BigInt(4 * 7 * hop));
    machine.run(last);
    assertEquals(machine.jobs, [0, 1]);
  }, NO_WORKERS));

deviceTest(
  "steady dispatches of registered shaders wait for nothing and do nothing on the job board",
  (device) =>
    inRoom(device, (room) => {
      const { guest, placed, data, state } = stepping();
      using machine = new Machine(room, device, guest.program);
      machine.registry.registerShader(placed.record);
      const packets = [...computeState(state), ...Array.from({ length: 60 }, () => dispatchDirect([1, 1, 1])).flat()];
      machine.run(machine.submission(packets));
      const submission = machine.submission(packets), { board, artifacts, pipelines } = room.room;
      const counts = () => {
        const { work, lock } = waitCounts();
        return {
          work,
          lock,
          board: board.lockStats().acquired,
          artifacts: artifacts.stats(),
          pipelines: { ...pipelines.stats(), pins: 0 },
        };
      };
      const before = counts();
      for (let i = 0; i < 5; i++) machine.run(submission);
      assertEquals(counts(), before);
      let x = 11;
      for (let i = 0; i < 360; i++) x = (Math.imul(3, x) + 5) >>> 0;
      assertEquals(machine.words(data)[11], x);
    }, NO_WORKERS),
);

/** A program with two queues, whose shader has a record; `change`: a queue overwrites the shader before it dispatches. */
function twoQueues(change: boolean): { program: LoadedProgram; data: GuestBuffer[]; placed: PlacedRecord } {
  const guest = new GuestProgram("two queues"), placed = placeRecord(guest, STEP, 3);
  const data = [0, 1].map(() => guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)));
  for (const [k, queue] of [0x20, 0x28].entries()) {
    const state = computeState({ code: placed.code, userData: [...words64(data[k].address), 5] });
    guest.submit(queue, ...change ? [dmaFill(placed.code, 4, 0xbf81_0000), acquireMem(true)] : [], state, [
      ...dispatchDirect([1, 1, 1], { waveSize: 32 }),
    ]);
  }
  return { program: { ...guest.program, shaders: [placed.shader] }, data, placed };
}

deviceTest(
  "records of a program's file are registered for its run, and every queue's isolate sees them",
  async (device) => {
    const { program, data } = twoQueues(false), vulkan = new VulkanDevice(device, "imported");
    const run = await vulkan.start(program);
    assertEquals([run.result.outcome, run.result.error?.message, run.result.notes], ["passed", undefined, []]);
    for (const { address } of data) assertEquals(run.memory.readU32(address + 16n), once(4));
    assertEquals(run.result.programs.length, 1);
    run.close();
  },
);

deviceTest("that a program overwrites a registered shader is in the run's notes, once", async (device) => {
  const { program, data } = twoQueues(true), vulkan = new VulkanDevice(device, "imported");
  const run = await vulkan.start(program);
  assertEquals([run.result.outcome, run.result.error?.message], ["passed", undefined]);
  for (const { address } of data) assertEquals(run.memory.readU32(address + 16n), 4);
  assertEquals(run.result.notes.length, 1);
  assertMatch(run.result.notes[0], /was changed in memory since it was registered/);
  run.close();
});
