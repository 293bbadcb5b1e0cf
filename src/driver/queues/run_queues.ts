/**
 * Runs a guest program with an isolate for each of its queues. What comes out is what `runProgram` gives, which runs the queues in turns;
 * only what depends on who comes first may differ, as it does on the console: which waits had to wait at all, and the order of labels that
 * different queues write without waiting for each other.
 *
 * @module
 */
import { AnyAgcError, HostError } from "../../errors.ts";
import { mapProgram } from "../../guest/map_program.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Program } from "../../guest/program.ts";
import { queueKind } from "../../pm4/submission.ts";
import { type ValidatedSubmission, validateSubmission } from "../../pm4/mod.ts";
import { Stop } from "../../sync/label_watch.ts";
import type { ProgramReport } from "../executor.ts";
import type { Timeline } from "../recording/timeline.ts";
import { addNotes, emptyResult, isGuestError, judge, type RunResult, waitForever } from "../run_program.ts";
import { inOrder, mergeDeviceMs, mergePrograms } from "./merge_results.ts";
import type { ExecutorSource } from "./messages.ts";
import { QueueRun, type QueueRunEnd, type QueueRunOptions } from "./queue_run.ts";
import { waitTimeoutMs } from "./wait_timeout.ts";

/** Of the run of queues. */
type Passed = "self" | "startWorker" | "keepWorker" | "announce" | "onDispatches" | "onHung" | "recheckMs";

/** What a run needs, and what somebody wants to know of it. */
export interface RunQueuesOptions extends Pick<QueueRunOptions, Passed> {
  /** Of the executors that `attach` will tell of. */
  readonly kind: string;
  /** Makes mapped memory reachable for the queues' executors, and says where those come from. */
  readonly attach: (memory: GuestMemory) => ExecutorSource;
  /** What the guest's shaders are when a submission is made: see `Submission.snapshot`. */
  readonly snapshot?: () => number | undefined;
  /** Gets what the queues do. */
  readonly timeline?: Timeline;
  /** Called when something was added to the timeline. */
  readonly onTimeline?: () => void;
  /** With a timeline: gets the modules of the programs. */
  readonly keepModule?: (report: ProgramReport, words: Uint32Array) => void;
  /** See `LabelWatch.wait`; ANYAGC_WAIT_TIMEOUT_MS when left out. */
  readonly waitTimeoutMs?: number;
}

/**
 * Runs a program; see the module. Memory stays mapped for the caller, and no isolate uses it any more.
 *
 * @param memory empty guest memory that other isolates can attach
 * @throws HostError and whatever a callback throws; what the guest does wrong is in the result
 */
export async function runQueues(
  program: Program,
  memory: GuestMemory,
  options: RunQueuesOptions,
): Promise<RunResult> {
  const start = performance.now();
  let mapped = start;
  const { timeline } = options;
  const run = new QueueRun({
    ...options,
    waitTimeoutMs: options.waitTimeoutMs ?? waitTimeoutMs(),
    records: timeline !== undefined,
    onSpans: ({ spans, zeroMs }) => {
      timeline?.merge(spans, zeroMs);
      options.onTimeline?.();
    },
  });
  const result = emptyResult();
  const submissions: ValidatedSubmission[] = [];
  try {
    // Isolates load their modules while memory is mapped and streams are validated.
    for (const queue of new Set(program.submissions.map(({ queue }) => queue))) {
      if (isQueue(queue)) run.open(queue, options.kind);
    }
    mapProgram(program, memory);
    run.begin(memory, options.attach(memory));
    mapped = performance.now();
    result.timings.mapMs = mapped - start;
    for (const submission of program.submissions) {
      queueKind(submission.queue);
      if (!result.queues.includes(submission.queue)) result.queues.push(submission.queue);
      const made = { ...submission, file: program.sourceFile, snapshot: options.snapshot?.() };
      submissions.push(validateSubmission(made, memory));
      result.submissions++;
    }
    for (const submission of submissions) run.submit(submission);
  } catch (error) {
    await run.cancel();
    if (!isGuestError(error)) throw error;
    result.outcome = "failed";
    result.error = error;
    result.timings.runMs = performance.now() - mapped;
    return result;
  }
  const end = await run.finish();
  result.timings.runMs = performance.now() - mapped;
  fillIn(result, end, options);
  judge(program, memory, result);
  return result;
}

function isQueue(queue: number): boolean {
  try {
    queueKind(queue);
    return true;
  } catch {
    return false;
  }
}

function fillIn(result: RunResult, end: QueueRunEnd, options: RunQueuesOptions): void {
  const all = [...end.results.values()];
  result.dispatches = all.reduce((sum, { dispatches }) => sum + dispatches, 0);
  result.labels = inOrder(all.map(({ labels }) => labels));
  result.waits = inOrder(all.map(({ waits }) => waits));
  result.timings.deviceMs = mergeDeviceMs(all);
  addNotes(result, all.flatMap(({ notes = [] }) => notes));
  for (const { report, words } of mergePrograms(all)) {
    result.programs.push(report);
    if (words !== undefined) options.keepModule?.(report, words);
  }
  result.error = runError(end);
  if (result.error !== undefined) result.outcome = "failed";
}

/** The run's error, if it has one. @throws an error of the host */
function runError({ results, errors, stop }: QueueRunEnd): AnyAgcError | undefined {
  let first: AnyAgcError | undefined;
  for (const error of errors.values()) {
    if (isGuestError(error)) first ??= error;
    else if (error instanceof AnyAgcError) throw error;
    else {
      const failure = new HostError("driver.queue-failed", `a queue's isolate failed: ${error}`);
      failure.cause = error;
      throw failure;
    }
  }
  if (first !== undefined || stop !== Stop.Forever) return first;
  return waitForever([...results.values()].flatMap(({ wait }) => wait ?? []));
}
