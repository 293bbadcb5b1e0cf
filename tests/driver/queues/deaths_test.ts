import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import type { ExecutorSource, QueueEnd, QueueResults, QueueStart } from "../../../src/driver/queues/messages.ts";
import { QueueRun, type QueueRunEnd, type QueueRunOptions } from "../../../src/driver/queues/queue_run.ts";
import { softwareSource } from "../../../src/driver/software/queue_executor.ts";
import { type AnyAgcError, GuestFaultError, HostError } from "../../../src/errors.ts";
import { mapProgram } from "../../../src/guest/map_program.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import type { Program } from "../../../src/guest/program.ts";
import { validateSubmission } from "../../../src/pm4/mod.ts";
import { Arena } from "../../../src/sync/arena.ts";
import { IsolateRegistry } from "../../../src/sync/isolates.ts";
import { decodeError } from "../../../src/sync/error_data.ts";
import { LabelWatch, type LabelWatchHandle, Stop } from "../../../src/sync/label_watch.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { STEP } from "../../support/machine_code.ts";
import { dispatchDirect, waitMemoryEquals, writeData } from "../../support/packets.ts";
import { reached, signal, startIsolate, sweepUntil } from "../../sync/support/isolate.ts";
import type { OddData } from "./odd_worker.ts";
import { NO_RECHECK, runAtOnce } from "./support.ts";

/** A worker whose executors do odd things. */
function oddWorker(): Worker {
  return new Worker(new URL("./odd_worker.ts", import.meta.url), { type: "module" });
}

function oddSource(registry: IsolateRegistry, program: Program, acts: OddData["acts"]) {
  const flags = new Int32Array(new SharedArrayBuffer(16));
  const data: OddData = { software: softwareSource(registry, program.target).data, flags, acts };
  return { flags, source: { kind: "odd", data } satisfies ExecutorSource };
}

/** Queue 0 waits, behind a packet; queue 0x20 dispatches once, and would then end the wait. */
function waiterAndWorker() {
  const guest = new GuestProgram("deaths"), code = guest.code(STEP);
  const data = guest.buffer(new Uint32Array(64).fill(1)), labels = guest.buffer(new Uint32Array(4));
  guest.submit(0, writeData(labels.address + 4n, 1), waitMemoryEquals(labels.address, 1));
  guest.submit(
    0x20,
    computeState({ code, userData: [...words64(data.address), 5] }),
    dispatchDirect([1, 1, 1]),
    writeData(labels.address, 1),
  );
  return {
    program: { ...guest.program, sourceFile: "own.json" } as Program,
    there: labels.address + 4n,
    label: labels.address,
  };
}

/** A run by hand, with its workers at hand. */
async function runOddly(
  acts: OddData["acts"],
  meanwhile: (
    run: QueueRun,
    flags: Int32Array<SharedArrayBuffer>,
    workers: Map<number, Worker>,
  ) => Promise<void> | void = () => {},
  waitTimeoutMs = Infinity,
  options: Partial<QueueRunOptions> = {},
  own?: Program,
): Promise<QueueRunEnd & { present: number; label: bigint }> {
  const { program: usual, label } = waiterAndWorker();
  const program = own ?? usual;
  const registry = IsolateRegistry.create(64);
  const { flags, source } = oddSource(registry, program, acts);
  const memory = new GuestMemory(new MmapAllocator());
  const workers = new Map<number, Worker>();
  const run = new QueueRun({
    self: registry.enter(),
    waitTimeoutMs,
    recheckMs: NO_RECHECK,
    ...options,
    startWorker(queue) {
      const worker = oddWorker();
      workers.set(queue, worker);
      return worker;
    },
  });
  mapProgram(program, memory);
  run.begin(memory, source);
  for (const submission of program.submissions) {
    run.submit(validateSubmission({ ...submission, file: program.sourceFile }, memory));
  }
  const finished = run.finish();
  const [end] = await Promise.all([finished, meanwhile(run, flags, workers)]);
  await sweepUntil(registry, 1);
  const present = memory.readU32(label);
  memory.clear();
  return { ...end, present, label };
}

/** Waits, without blocking, until something holds. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !holds();) {
    if (performance.now() > end) throw new Error("it never holds");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function died(end: QueueRunEnd, queue: number): HostError {
  const error = end.errors.get(queue);
  assertInstanceOf(error, HostError);
  // It may have left work on the device: memory must stay.
  assertEquals([error.code, end.stop, end.hung], ["driver.queue-died", Stop.Died, true]);
  return error;
}

Deno.test("an isolate that is terminated in the middle of a dispatch lives until that returns, and then ends the run", async () => {
  const end = await runOddly(["", "block"], async (run, flags, workers) => {
    await reached(flags, 1, 1);
    workers.get(0x20)!.terminate();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 2));
    assertEquals(run.labels.stopped, Stop.None, "its dispatch has not ended");
    signal(flags, 0);
  });
  assertStringIncludes(died(end, 0x20).message, "what it did was never told");
  // The other one gave its results over.
  assertEquals([...end.results.keys()], [0]);
});

Deno.test("an isolate that closes itself, and so never gives its results over, ends the run", async () => {
  const end = await runOddly(["", "close"]);
  assertStringIncludes(died(end, 0x20).message, "its thread ended without a word");
  assertEquals([...end.results.keys()], [0]);
});

Deno.test("an isolate that is terminated while it waits ends the run, and others stop", async () => {
  const end = await runOddly(["", "block"], async (run, flags, workers) => {
    await reached(flags, 1, 1);
    await until(() => run.labels.isWaiting(0));
    workers.get(0)!.terminate();
    signal(flags, 0);
  });
  assertEquals([...end.results.keys(), died(end, 0).exitCode], [0x20, 3]);
});

Deno.test("who waits for an isolate that died is woken by the supervisor's sweep", async () => {
  // The label is never written: only the death can end the wait.
  const guest = new GuestProgram("sweep"), label = guest.buffer(new Uint32Array(1)).address;
  guest.submit(0, waitMemoryEquals(label, 1));
  const registry = IsolateRegistry.create(64), memory = new GuestMemory(new MmapAllocator());
  const run = new QueueRun({ self: registry.enter(), waitTimeoutMs: Infinity, recheckMs: NO_RECHECK });
  mapProgram(guest.program, memory);
  run.begin(memory, softwareSource(registry, "gfx1013"));
  run.submit(validateSubmission(guest.program.submissions[0], memory));
  // Another queue's isolate, which has work and dies over it.
  const arena = Arena.create(registry.enter(), { bytes: 4096, blobs: 4 });
  run.labels.handOver(1);
  const flags = new Int32Array(new SharedArrayBuffer(16));
  const other = startIsolate({ registry, arena, flags }, "dieAsQueue", run.labels.handle, 1);
  await reached(flags, 0, 1);
  const finished = run.finish();
  await until(() => run.labels.isWaiting(0));
  signal(flags, 1);
  await other.result;
  const end = await finished;
  memory.clear();
  assertEquals([end.stop, end.results.get(0)?.wait?.address], [Stop.Died, label]);
});

for (const when of ["", "?later"]) {
  Deno.test(`an isolate that ends without a word before it has begun (${when || "at once"}) ends the run, and who waits stops`, async () => {
    const { program } = waiterAndWorker(), registry = IsolateRegistry.create(64);
    const memory = new GuestMemory(new MmapAllocator());
    const silent = new URL(`./silent_worker.ts${when}`, import.meta.url);
    const run = new QueueRun({
      self: registry.enter(),
      waitTimeoutMs: Infinity,
      recheckMs: NO_RECHECK,
      startWorker: (queue) => queue === 0x20 ? new Worker(silent, { type: "module" }) : oddWorker(),
    });
    mapProgram(program, memory);
    run.begin(memory, oddSource(registry, program, ["", ""]).source);
    for (const submission of program.submissions) run.submit(validateSubmission(submission, memory));
    const end = await run.finish();
    memory.clear();
    assertStringIncludes(
      died(end, 0x20).message,
      "the isolate of queue 0x20 died: its thread ended without a word",
    );
    assertEquals([...end.results.keys(), end.results.get(0)!.wait?.reference], [0, 1n]);
    await sweepUntil(registry, 1);
  });
}

Deno.test("an uncaught error in an isolate ends the run with its message", async () => {
  const end = await runOddly(["", "die-at-end"]);
  assertStringIncludes(
    died(end, 0x20).message,
    "the isolate of queue 0x20 died: Uncaught (in promise) Error: dies by throw",
  );
});

Deno.test("an exception that is no error of the guest's is an error of the host, and others are stopped by the flag", async () => {
  const run = (act: OddData["acts"][number]) => {
    const { program } = waiterAndWorker();
    const registry = IsolateRegistry.create(64);
    const { source } = oddSource(registry, program, ["", act]);
    return runAtOnce(program, { self: registry.enter(), startWorker: oddWorker, kind: "odd", attach: () => source });
  };
  const failed = await assertRejects(() => run("throw"), HostError);
  assertEquals(failed.code, "driver.queue-failed");
  assertInstanceOf(failed.cause, TypeError);
  assertEquals((await assertRejects(() => run("host-error"), HostError)).code, "test.host");
  // Also where an isolate cannot even begin.
  const unopened = await assertRejects(() => run("fail-to-open"), HostError, "the device is gone");
  assertEquals(unopened.code, "test.no-device");
});

Deno.test("a device that is lost is the error that it was lost with, also when closing says so once more", async () => {
  const end = await runOddly(["", "lost"]);
  const error = end.errors.get(0x20) as HostError;
  assertEquals([error.code, end.stop, end.hung, [...end.results.keys()]], ["test.lost", Stop.Failed, false, [0, 0x20]]);
});

Deno.test("notes of the queues' isolates are in the run's result, each once", async () => {
  const { program } = waiterAndWorker();
  for (
    const [acts, notes] of [
      [["note", "note"], ["a file is damaged", "queue 0 says so", "queue 1 says so"]],
      [["", ""], []],
    ] as const
  ) {
    const registry = IsolateRegistry.create(64), { source } = oddSource(registry, program, acts);
    const run = await runAtOnce(program, {
      self: registry.enter(),
      startWorker: oddWorker,
      kind: "odd",
      attach: () => source,
    });
    assertEquals([run.result.outcome, run.result.notes], ["passed", [...notes]]);
  }
});

Deno.test("an isolate that cannot begin is no member, and begins with the next start", async () => {
  const { program } = waiterAndWorker(), registry = IsolateRegistry.create(64), main = registry.enter();
  const memory = new GuestMemory(new MmapAllocator());
  mapProgram(program, memory);
  const worker = new Worker(new URL("../../../src/workers/queue.ts", import.meta.url), { type: "module" });
  const labels = LabelWatch.create(main, 1);
  const start = async (handle: LabelWatchHandle): Promise<QueueResults> => {
    const answer = new Promise<QueueResults>((resolve) => worker.onmessage = ({ data }) => resolve(data));
    worker.postMessage(
      {
        type: "start",
        queue: 0,
        place: 0,
        labels: handle,
        windows: memory.describe(),
        executor: softwareSource(registry, program.target),
        waitTimeoutMs: Infinity,
        recheckMs: undefined,
        dispatches: new Int32Array(new SharedArrayBuffer(4)),
        records: false,
      } satisfies QueueStart,
    );
    worker.postMessage({ type: "end", stays: true } satisfies QueueEnd);
    return await answer;
  };
  // Something else than a watch: the executor is there already.
  const failed = await start({ labels: new SharedArrayBuffer(64) });
  assertEquals((decodeError(failed.error!) as AnyAgcError).code, "sync.handle");
  registry.sweep();
  assertEquals([registry.stats().entered, registry.stats().live], [2, 1]);
  assertEquals((await start(labels.handle)).error, undefined);
  await sweepUntil(registry, 1);
  assertEquals(registry.stats().entered, 3);
  worker.postMessage({ type: "end", stays: false } satisfies QueueEnd);
  memory.clear();
});

Deno.test("a wait is given up after a time without a write though another queue runs, with its packet and values", async () => {
  const end = await runOddly(["", "block"], async (run, flags) => {
    await until(() => run.labels.stopped !== Stop.None);
    signal(flags, 0);
  }, 60);
  const error = end.errors.get(0) as AnyAgcError;
  assertInstanceOf(error, GuestFaultError);
  const { file, fileOffset, queue, guestAddress, words } = error.place;
  assertEquals([error.code, error.exitCode, end.stop], ["driver.wait-timeout", 1, Stop.Failed]);
  // Behind the WRITE_DATA of five words.
  assertEquals([file, fileOffset, queue, guestAddress, words?.length], ["own.json", 20, 0, end.label, 7]);
  assertStringIncludes(
    error.message,
    `queue 0x0 waits for [0x${end.label.toString(16)}] & 0xffffffff == 0x1, it holds 0x0; for 60 ms nobody has written`,
  );
  assertEquals(end.errors.size, 1);
});

Deno.test("a device that hangs in one isolate is told, so that memory stays", async () => {
  const hung = await runOddly(["", "hang"]), well = await runOddly(["", ""]);
  assertEquals([hung.hung, well.hung], [true, false]);
  assertEquals([well.errors.size, well.present], [0, 1]);
});

Deno.test("what a callback throws stops all queues, and comes out when they have stopped", async () => {
  let counts = 0;
  const stopped = assertRejects(
    () =>
      // The second queue goes on when all are to stop, and not before.
      runOddly(
        ["", "block"],
        async (run, flags) => {
          await until(() => run.labels.stopped !== Stop.None);
          assertEquals(run.labels.stopped, Stop.Asked);
          signal(flags, 0);
        },
        Infinity,
        {
          onDispatches(count) {
            if (++counts === 2) throw new RangeError(`enough at ${count}`);
          },
        },
      ),
    RangeError,
    "enough at",
  );
  await stopped;
  assertEquals(counts, 2);
});

Deno.test("a failure stops the other queues between their packets", async () => {
  const guest = new GuestProgram("stop"), label = guest.buffer(new Uint32Array(1)).address;
  const code = guest.code(STEP), data = guest.buffer(new Uint32Array(64).fill(1));
  const step = [...computeState({ code, userData: [...words64(data.address), 5] }), ...dispatchDirect([1, 1, 1])];
  // Both begin to dispatch; then one fails, and the other one has much to do still.
  guest.submit(0, step, waitMemoryEquals(label, 1), ...Array.from({ length: 30_000 }, () => step));
  guest.submit(0x20, writeData(label, 1), step);
  const end = await runOddly(["", "throw"], () => {}, Infinity, {}, guest.program);
  const dispatches = end.results.get(0)!.dispatches;
  assert(dispatches < 30_001, `${dispatches} dispatches`);
  assertEquals([end.stop, end.errors.size], [Stop.Failed, 1]);
});
