import { AnyAgcError, type ErrorData, type ErrorPlace, ExitCode, GuestFaultError, hex } from "../errors.ts";
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
  /** What was wrong beside the guest's work, or is worth knowing, for people: files that could not be used, shaders that were changed. */
  notes: string[];
  /** Milliseconds: mapping memory, executing everything, of that on the device where it can tell. */
  timings: { mapMs: number; runMs: number; deviceMs?: number };
}

/** Error data for machines. */
export function runError(result: RunResult): ErrorData | undefined {
  return result.error?.toData();
}

/** A wait that goes on. */
export interface WaitInProgress extends Omit<WaitDescription, "source"> {
  /** The packet that waits. */
  readonly place: ErrorPlace;
}

/** A result to fill in. */
export function emptyResult(): RunResult {
  return {
    outcome: "passed",
    differences: [],
    compared: 0,
    queues: [],
    submissions: 0,
    dispatches: 0,
    labels: [],
    waits: [],
    programs: [],
    notes: [],
    timings: { mapMs: 0, runMs: 0 },
  };
}

/**
 * Runs a guest program, its queues in turns: maps its memory, validates and executes its submissions, compares the results. The memory stays mapped for
 * the caller to look at. Errors of the guest are part of the result; errors of the host are thrown. `queues/run_queues.ts` runs the queues at the same time.
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
  const turns = timeline && new QueueTurns(timeline);
  const result: RunResult = { ...emptyResult(), labels: sink.labels };
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
        result.queues.push(submission.queue);
      }
      queue.submit({ ...submission, file: program.sourceFile });
      result.submissions++;
    }
    runQueues([...queues.values()], sink, result.waits, turns);
    sink.settle();
  } catch (error) {
    if (!isGuestError(error)) {
      turns?.finish();
      throw error;
    }
    result.outcome = "failed";
    result.error = abandon(executor, error);
  }
  turns?.finish();
  result.timings.runMs = performance.now() - mapped;
  result.timings.deviceMs = executor.deviceMs();
  result.dispatches = sink.dispatches;
  result.programs = executor.programs();
  judge(program, memory, result);
  return result;
}

/** Adds notes to a result. Isolates that find the same say the same: it is there once. */
export function addNotes({ notes }: RunResult, lines: readonly string[]): void {
  for (const line of lines) if (!notes.includes(line)) notes.push(line);
}

/** Whether it is the guest's failure, not the host's. */
export function isGuestError(error: unknown): error is AnyAgcError {
  return error instanceof AnyAgcError && error.exitCode === ExitCode.Guest;
}

/** Compares memory with what the program expects, if it ran to its end. */
export function judge(program: Program, memory: GuestMemory, result: RunResult): void {
  if (result.outcome !== "passed") return;
  result.differences = compareResults(program, memory);
  result.compared = program.expectations.length + program.untouched.length;
  if (result.differences.length > 0) result.outcome = "differs";
}

/** Runs all queues in turns until they are done. @throws GuestFaultError when all that are left wait for something that nobody can do. */
function runQueues(
  queues: readonly QueueExecutor[],
  sink: DriverSink,
  waits: WaitReport[],
  turns: QueueTurns | undefined,
): void {
  const waiting = new Map<QueueExecutor, WaitDescription>();
  for (let left = queues; left.length > 0;) {
    let progress = false;
    const blocked: QueueExecutor[] = [];
    for (const queue of left) {
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
        blocked.push(queue);
        waiting.set(queue, queue.waiting!);
      }
      turns?.end(step === "blocked" ? queue.waiting : null);
    }
    left = blocked;
    if (!progress && left.length > 0) throw waitForever(left.map(({ waiting }) => waitInProgress(waiting!)));
  }
}

/** A wait as plain data. */
export function waitInProgress({ source, ...wait }: WaitDescription): WaitInProgress {
  return { ...wait, place: source.errorPlace() };
}

/** The error for waits that nothing can end. @param waits in the order in which the program first used their queues; at least one */
export function waitForever(waits: readonly WaitInProgress[]): GuestFaultError {
  return new GuestFaultError("driver.wait-forever", `nothing can end these waits: ${waits.map(waitText).join("; ")}`, {
    ...waits[0].place,
    guestAddress: waits[0].address,
  });
}

/** A wait for people. */
export function waitText({ queue, address, mask, compare, reference, present }: WaitInProgress): string {
  return `queue ${hex(queue)} waits for [${hex(address)}] & ${hex(mask)} ${compare} ${hex(reference)}, it holds ${
    hex(present)
  }`;
}

/** After an error: lets the device finish. A fault of what is in flight came earlier in the streams than the error, so it is reported instead. */
export function abandon(executor: ComputeExecutor, error: AnyAgcError): AnyAgcError {
  try {
    executor.drain();
  } catch (earlier) {
    if (!isGuestError(earlier)) throw earlier;
    earlier.cause = error;
    return earlier;
  }
  return error;
}
