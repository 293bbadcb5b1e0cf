/**
 * The isolate of one guest queue: executes the submissions that main hands over, waits for labels, and gives its results over at the end.
 *
 * @module
 */
import { GuestFaultError } from "../../errors.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../guest/memory/mmap_allocator.ts";
import { QueueExecutor } from "../../pm4/execute.ts";
import type { ValidatedSubmission } from "../../pm4/validated.ts";
import { encodeError } from "../../sync/error_data.ts";
import { LabelWatch, Stop } from "../../sync/label_watch.ts";
import { DriverSink } from "../driver_sink.ts";
import type { ComputeExecutor } from "../executor.ts";
import { QueueTurns } from "../recording/queue_turns.ts";
import { RecordingExecutor } from "../recording/recording_executor.ts";
import { Timeline } from "../recording/timeline.ts";
import {
  abandon,
  isGuestError,
  type WaitInProgress,
  waitInProgress,
  type WaitReport,
  waitText,
} from "../run_program.ts";
import type { ExecutorKinds, OpenedExecutor } from "./executor_kinds.ts";
import type { FromQueue, Ordered, QueueResults, QueueStart, ToQueue } from "./messages.ts";

/** Spans are sent at most so often, in milliseconds. */
const SPANS_MS = 200;

/** The worker's global scope. */
interface Scope {
  postMessage(message: FromQueue): void;
  close(): void;
}

/**
 * Serves main until it says that there is no more. To be called once in a worker's module.
 *
 * @param kinds where executors come from, by the kind of their source
 */
export function serveQueue(kinds: ExecutorKinds): void {
  const scope = globalThis as unknown as Scope;
  let queue: QueueIsolate | undefined, failed = false;
  // Opening takes time, and messages come meanwhile.
  let order: Promise<void> = Promise.resolve();
  globalThis.addEventListener("message", (event) => {
    const message = (event as MessageEvent<ToQueue>).data;
    order = order.then(async () => {
      // Whatever keeps a kind from loading, the start says.
      if (message.type === "load") await kinds[message.kind]().catch(() => {});
      else if (message.type === "start") {
        try {
          queue = await openQueue(message, kinds, scope);
        } catch (error) {
          failed = true;
          scope.postMessage(nothingDone(error));
        }
      } else if (message.type === "submit") queue?.submit(message.submission);
      else {
        // Without a start, the run ended before it began.
        if (queue !== undefined) queue.end();
        else if (!failed) scope.postMessage(nothingDone());
        queue = undefined;
        failed = false;
        if (!message.stays) scope.close();
      }
    });
  });
}

/** What a queue that did nothing gives over. @param error why, if something was thrown */
function nothingDone(...error: [thrown?: unknown]): QueueResults {
  return {
    type: "done",
    error: error.length === 0 ? undefined : encodeError(error[0]),
    labels: [],
    waits: [],
    dispatches: 0,
    programs: [],
    modules: [],
    hung: false,
  };
}

async function openQueue(start: QueueStart, kinds: ExecutorKinds, scope: Scope) {
  const { executor, place } = start;
  const open = await kinds[executor.kind]();
  const memory = new GuestMemory(new MmapAllocator());
  let opened: OpenedExecutor | undefined;
  try {
    for (const window of start.windows) memory.attach(window);
    opened = open(executor.data, memory, place);
    return new QueueIsolate(start, opened, memory, scope);
  } catch (error) {
    // The isolate may be used for another run: nothing of this one stays.
    if (opened !== undefined) {
      closeExecutor(opened);
      opened.self.registry.leave(opened.self);
    }
    memory.clear();
    throw error;
  }
}

function closeExecutor(opened: OpenedExecutor): void {
  if (opened.close === undefined) opened.executor.close();
  else opened.close();
}

/** See the module. */
class QueueIsolate {
  readonly #start: QueueStart;
  readonly #opened: OpenedExecutor;
  readonly #memory: GuestMemory;
  readonly #scope: Scope;
  readonly #labels: LabelWatch;
  readonly #executor: ComputeExecutor;
  readonly #sink: DriverSink;
  readonly #queue: QueueExecutor;
  readonly #timeline: Timeline | undefined;
  readonly #turns: QueueTurns | undefined;
  readonly #waits: Ordered<WaitReport>[] = [];
  #recording: RecordingExecutor | undefined;
  #spansSent = 0;
  #spansAt = -Infinity;
  /** What was thrown, in an array: it may be anything. */
  #failure: [thrown: unknown] | undefined;
  #stopped = false;
  #stoppedAt: WaitInProgress | undefined;

  constructor(start: QueueStart, opened: OpenedExecutor, memory: GuestMemory, scope: Scope) {
    this.#start = start;
    this.#opened = opened;
    this.#memory = memory;
    this.#scope = scope;
    const labels = this.#labels = LabelWatch.attach(opened.self, start.labels, { recheckMs: start.recheckMs });
    labels.enter(start.place);
    this.#executor = opened.executor;
    // Whoever waits for what they stored does not wait for the next packet.
    opened.executor.onFinished = () => labels.written();
    if (start.records) {
      this.#timeline = new Timeline();
      this.#turns = new QueueTurns(this.#timeline);
      const track = (name: string) => `${name} ${this.#name}`;
      this.#executor = this.#recording = new RecordingExecutor(
        opened.executor,
        this.#timeline,
        () => this.#sendSpans(false),
        track,
      );
    }
    const sink = this.#sink = new DriverSink(memory, this.#executor, {
      written: () => labels.written(),
      order: () => labels.order(),
      dispatched: () => Atomics.add(start.dispatches, 0, 1),
    });
    sink.queue = start.queue;
    this.#queue = new QueueExecutor(start.queue, sink);
  }

  /** Executes a submission, unless something went wrong before. */
  submit(submission: ValidatedSubmission): void {
    if (this.#failure !== undefined || this.#stopped) return;
    try {
      this.#queue.submit(submission);
      this.#turns?.begin(this.#start.queue);
      this.#stopped = !this.#run();
      // Nothing may be in flight when a queue has nothing left: who waits would wait for it in vain.
      if (!this.#stopped && this.#labels.pending(this.#start.place) === 1) this.#sink.settle();
    } catch (error) {
      this.#fail(error);
    }
    if (this.#failure !== undefined || this.#stopped) return;
    this.#turns?.end(null);
    this.#labels.finished(this.#start.place);
  }

  /** Gives everything over, and leaves. */
  end(): void {
    const { self } = this.#opened, { place } = this.#start;
    if (this.#failure === undefined) {
      try {
        this.#sink.settle();
      } catch (error) {
        this.#fail(error);
      }
    }
    this.#turns?.finish();
    this.#sendSpans(true);
    const programs = this.#executor.programs();
    const results: QueueResults = {
      type: "done",
      wait: this.#stoppedAt,
      labels: this.#sink.labels.map((label, i) => ({ ...label, order: this.#sink.labelOrders[i] })),
      waits: this.#waits,
      dispatches: this.#sink.dispatches,
      programs,
      modules: programs.map((program) => this.#recording?.kept.get(program)),
      deviceMs: this.#executor.deviceMs(),
      hung: false,
    };
    try {
      closeExecutor(this.#opened);
    } catch (error) {
      // A lost device says so once more; what it was lost over is what counts.
      if (this.#failure === undefined) this.#fail(error);
    }
    const error = this.#failure && encodeError(this.#failure[0]);
    const hung = this.#opened.hung?.() ?? false, notes = this.#opened.notes?.();
    // Views of memory that main will unmap.
    this.#memory.clear();
    this.#scope.postMessage({ ...results, error, notes, hung });
    this.#labels.leave(place);
    self.registry.leave(self);
  }

  /** Executes packets until there are none; false when all queues are to stop. */
  #run(): boolean {
    const queue = this.#queue, labels = this.#labels;
    for (;;) {
      if (labels.stopped !== Stop.None) return false;
      const step = queue.step();
      if (step === "done") return true;
      if (step === "blocked" && !this.#wait()) return false;
    }
  }

  /** Waits for what the packet at hand waits for, and executes it; false when all queues are to stop. */
  #wait(): boolean {
    const { queue, place, waitTimeoutMs } = this.#start;
    const wait = this.#queue.waiting!;
    this.#turns?.end(wait);
    this.#sendSpans(false);
    const outcome = this.#labels.wait(place, () => this.#queue.step() !== "blocked", waitTimeoutMs);
    if (outcome === "ready") {
      this.#turns?.begin(queue);
      this.#waits.push({ queue, address: wait.address, reference: wait.reference, order: this.#labels.order() });
      return true;
    }
    const last = waitInProgress(this.#queue.waiting!);
    if (outcome === "timed-out") {
      throw new GuestFaultError(
        "driver.wait-timeout",
        `${waitText(last)}; for ${waitTimeoutMs} ms nobody has written memory, though other queues run`,
        { ...last.place, guestAddress: last.address },
      );
    }
    this.#stoppedAt = last;
    return false;
  }

  #fail(error: unknown): void {
    let thrown = error;
    if (isGuestError(error)) {
      try {
        thrown = abandon(this.#executor, error);
      } catch (worse) {
        thrown = worse;
      }
    }
    this.#failure = [thrown];
    this.#labels.stop(Stop.Failed);
  }

  #sendSpans(all: boolean): void {
    const timeline = this.#timeline;
    if (timeline === undefined || timeline.spans.length === this.#spansSent) return;
    const now = performance.now();
    if (!all && now - this.#spansAt < SPANS_MS) return;
    this.#spansAt = now;
    const spans = timeline.spans.slice(this.#spansSent);
    this.#spansSent = timeline.spans.length;
    this.#scope.postMessage({ type: "spans", zeroMs: timeline.zeroMs, spans });
  }

  get #name(): string {
    return `0x${this.#start.queue.toString(16)}`;
  }
}
