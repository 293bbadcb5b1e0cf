import { AnyAgcError, type ErrorData, GuestFaultError, hex } from "../errors.ts";
import { compareResults, type Difference, mapProgram } from "../guest/map_program.ts";
import type { GuestMemory } from "../guest/memory/guest_memory.ts";
import type { Program } from "../guest/program.ts";
import { QueueExecutor } from "../pm4/execute.ts";
import type { WaitDescription } from "../pm4/packets/definition.ts";
import { DriverSink, type LabelWrite } from "./driver_sink.ts";
import type { ComputeExecutor, ProgramReport } from "./executor.ts";
import { QueueTurns } from "./recording/queue_turns.ts";
import type { Timeline } from "./recording/timeline.ts";

/** A wait that stopped its queue for a while. */
export interface WaitReport {
  /** Queue that waited. */
  queue: number;
  /** Guest address of the word that it waited for. */
  address: bigint;
  /** Value that was compared with. */
  reference: bigint;
}

/** What a run did. */
export interface RunResult {
  /** `passed`: ran to the end, and every expectation holds. `differs`: ran to the end, but memory is not as expected. `failed`: stopped by `error`. */
  outcome: "passed" | "differs" | "failed";
  /** Why it stopped. */
  error?: AnyAgcError;
  /** Where memory is not as expected; empty unless the outcome is `differs`. */
  differences: Difference[];
  /** Expectations and untouched ranges that were compared. */
  compared: number;
  /** Queues that had submissions, in order of first use. */
  queues: number[];
  /** Submissions that were accepted. */
  submissions: number;
  /** Dispatches, but for empty indirect ones. */
  dispatches: number;
  /** Labels that RELEASE_MEM wrote, in order. */
  labels: LabelWrite[];
  /** Waits that stopped a queue and were released, in the order of their release. */
  waits: WaitReport[];
  /** Programs that were dispatched. */
  programs: ProgramReport[];
  /** Milliseconds: mapping memory, executing everything, of that on the device where it can tell. */
  timings: { mapMs: number; runMs: number; deviceMs?: number };
}

/** Error data for machines. */
export function runError(result: RunResult): ErrorData | undefined {
  return result.error?.toData();
}

/**
 * Runs a guest program: maps its memory, validates and executes its submissions, compares the results. The memory stays mapped for the caller to look at.
 * Errors of the guest are part of the result; errors of the host are thrown.
 *
 * @param memory empty guest memory whose allocator suits the executor.
 * @param timeline gets what the queues do
 */
export function runProgram(
  program: Program,
  executor: ComputeExecutor,
  memory: GuestMemory,
  timeline?: Timeline,
): RunResult {
  const start = performance.now();
  let mapped = start;
  const sink = new DriverSink(memory, executor);
  const queues = new Map<number, QueueExecutor>();
  const waits: WaitReport[] = [];
  const turns = timeline && new QueueTurns(timeline);
  const result: RunResult = {
    outcome: "passed",
    differences: [],
    compared: 0,
    queues: [],
    submissions: 0,
    dispatches: 0,
    labels: sink.labels,
    waits,
    programs: [],
    timings: { mapMs: 0, runMs: 0 },
  };
  try {
    mapProgram(program, memory);
    executor.attach(memory);
    mapped = performance.now();
    result.timings.mapMs = mapped - start;
    for (const submission of program.submissions) {
      let queue = queues.get(submission.queue);
      if (queue === undefined) {
        queue = new QueueExecutor(submission.queue, sink);
        queues.set(submission.queue, queue);
      }
      queue.submit({ ...submission, file: program.sourceFile });
      result.submissions++;
    }
    runQueues([...queues.values()], sink, waits, turns);
    sink.settle();
  } catch (error) {
    if (!(error instanceof AnyAgcError) || error.exitCode !== 1) {
      turns?.finish();
      throw error;
    }
    result.outcome = "failed";
    result.error = abandon(executor, error);
  }
  turns?.finish();
  result.timings.runMs = performance.now() - mapped;
  result.timings.deviceMs = executor.deviceMs();
  result.queues = [...queues.keys()];
  result.dispatches = sink.dispatches;
  result.programs = executor.programs();
  if (result.outcome === "passed") {
    result.differences = compareResults(program, memory);
    result.compared = program.expectations.length + program.untouched.length;
    if (result.differences.length > 0) result.outcome = "differs";
  }
  return result;
}

/** Runs all queues in turns until they are done. @throws GuestFaultError when all that are left wait for something that nobody can do. */
function runQueues(
  queues: readonly QueueExecutor[],
  sink: DriverSink,
  waits: WaitReport[],
  turns: QueueTurns | undefined,
): void {
  const waiting = new Map<QueueExecutor, WaitDescription>();
  for (;;) {
    let progress = false;
    let blocked = 0;
    for (const queue of queues) {
      sink.queue = queue.queue;
      turns?.begin(queue.queue);
      let step = queue.step();
      const before = waiting.get(queue);
      if (step !== "blocked" && before !== undefined) {
        waiting.delete(queue);
        waits.push({ queue: queue.queue, address: before.address, reference: before.reference });
      }
      while (step === "progress") {
        progress = true;
        step = queue.step();
      }
      if (step === "blocked") {
        blocked++;
        if (queue.waiting !== null) waiting.set(queue, queue.waiting);
      }
      turns?.end(step === "blocked" ? queue.waiting : null);
    }
    if (blocked === 0) return;
    if (!progress) throw deadlock([...waiting.values()]);
  }
}

function deadlock(waits: readonly WaitDescription[]): GuestFaultError {
  const lines = waits.map((wait) =>
    `queue ${hex(wait.queue)} waits for [${hex(wait.address)}] & ${hex(wait.mask)} ${wait.compare} ${
      hex(wait.reference)
    }, ` +
    `it holds ${hex(wait.present)}`
  );
  return new GuestFaultError("driver.wait-forever", `nothing can end these waits: ${lines.join("; ")}`, {
    ...waits[0].source.errorPlace(),
    guestAddress: waits[0].address,
  });
}

/** After an error: lets the device finish. A fault of what is in flight came earlier in the streams than the error, so it is reported instead. */
function abandon(executor: ComputeExecutor, error: AnyAgcError): AnyAgcError {
  try {
    executor.drain();
  } catch (earlier) {
    if (!(earlier instanceof AnyAgcError) || earlier.exitCode !== 1) throw earlier;
    earlier.cause = error;
    return earlier;
  }
  return error;
}
