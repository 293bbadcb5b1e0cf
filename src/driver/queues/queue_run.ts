/**
 * Main's side of a run whose queues have isolates of their own: starts them, hands submissions over, watches that they live, and collects
 * what they give over. Main never blocks.
 *
 * @module
 */
import { hex, HostError } from "../../errors.ts";
import { GuestMemoryError } from "../../guest/memory/fault.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { ValidatedSubmission } from "../../pm4/validated.ts";
import { decodeError, registerErrorClass } from "../../sync/error_data.ts";
import type { Isolate } from "../../sync/isolates.ts";
import { LabelWatch, Stop } from "../../sync/label_watch.ts";
import { hasEnded, startWatched } from "../../sync/worker_threads.ts";
import type { ExecutorSource, FromQueue, QueueResults, QueueSpans, ToQueue } from "./messages.ts";

registerErrorClass(GuestMemoryError);

const WORKER = new URL("../../workers/queue.ts", import.meta.url);
/** Queues that there are: graphics, and 0x20 to 0x57. */
const MAX_QUEUES = 57;
/** How often main looks at what no event tells of, in milliseconds: deaths, and what was dispatched. */
const LOOK_MS = 100;
/** After so many looks, what an isolate said before it left would have arrived. */
const LOST_LOOKS = 10;

/** How a run is set up. */
export interface QueueRunOptions {
  /** Main as a member of the registry that it supervises. */
  readonly self: Isolate;
  /** See `LabelWatch.wait`. */
  readonly waitTimeoutMs: number;
  /** See `LabelWatchOptions`. Tests set it so long that nothing but a notification ends a wait. */
  readonly recheckMs?: number;
  /** Have the isolates put down what happens when, and keep modules. */
  readonly records?: boolean;
  /** Starts a worker that calls `serveQueue`; that of src/workers when left out. */
  readonly startWorker?: (queue: number) => Worker;
  /** Gets workers that are not used any more, for a later run's `startWorker`; they end when left out. */
  readonly keepWorker?: (worker: Worker) => void;
  /** Called when a submission is handed over, before its queue gets it. */
  readonly announce?: (submission: ValidatedSubmission) => void;
  /** Gets what isolates put down, now and then. */
  readonly onSpans?: (spans: QueueSpans) => void;
  /** Called now and then with the dispatches so far. What it throws stops the run. */
  readonly onDispatches?: (count: number) => void;
  /** Called when the run has ended and the device may still be working on guest memory: that must stay mapped, whatever comes out of the run. */
  readonly onHung?: () => void;
}

/** How a run ended. */
export interface QueueRunEnd {
  /** Results by queue, in the order of first use. A queue whose isolate died has none. */
  readonly results: ReadonlyMap<number, QueueResults>;
  /** What was thrown, by queue, in the order of first use. */
  readonly errors: ReadonlyMap<number, unknown>;
  /** Why the queues were stopped; of `Stop`. */
  readonly stop: number;
  /** The device may still be working on guest memory: it must stay mapped. */
  readonly hung: boolean;
}

/** One queue's isolate. */
interface Place {
  readonly queue: number;
  readonly place: number;
  readonly worker: Worker;
  started: boolean;
  ended: boolean;
  results?: QueueResults;
  /** How it died. */
  death?: string;
  /** How often it was seen to have left, or its thread to have ended, without its results. */
  looks: number;
}

/** See the module. */
export class QueueRun {
  /** The waits and stores of all queues. */
  readonly labels: LabelWatch;
  readonly #options: QueueRunOptions;
  readonly #places = new Map<number, Place>();
  readonly #dispatches = new Int32Array(new SharedArrayBuffer(4));
  #memory: GuestMemory | undefined;
  #executor: ExecutorSource | undefined;
  /** What a callback threw. */
  #thrown: [thrown: unknown] | undefined;
  #wake: () => void = () => {};

  /** Nothing is started yet. */
  constructor(options: QueueRunOptions) {
    this.#options = options;
    this.labels = LabelWatch.create(options.self, MAX_QUEUES);
  }

  /** Starts the isolate of a queue if it has none, and has it load what a kind of executors needs. */
  open(queue: number, kind: string): void {
    this.#post(this.#place(queue), { type: "load", kind });
  }

  /** What the queues work on, and with. To be called before anything is submitted. */
  begin(memory: GuestMemory, executor: ExecutorSource): void {
    this.#memory = memory;
    this.#executor = executor;
  }

  /** Hands a validated submission to its queue. */
  submit(submission: ValidatedSubmission): void {
    const place = this.#place(submission.submission.queue);
    if (!place.started) this.#start(place);
    // Ahead of its turn: what it will need can be prepared meanwhile.
    this.#options.announce?.(submission);
    this.labels.handOver(place.place);
    this.#post(place, { type: "submit", submission });
  }

  /**
   * There is no more: waits until all queues are done, or stopped, and their isolates use nothing any more.
   *
   * @throws what `onDispatches` or `onSpans` threw
   */
  async finish(): Promise<QueueRunEnd> {
    this.labels.seal();
    const stays = this.#options.keepWorker !== undefined;
    for (const place of this.#places.values()) this.#post(place, { type: "end", stays });
    const timer = setInterval(() => this.#look(), LOOK_MS);
    try {
      while ([...this.#places.values()].some(({ ended }) => !ended)) {
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      clearInterval(timer);
    }
    this.#options.self.registry.sweep();
    this.#report();
    const end = this.#end();
    if (end.hung) this.#options.onHung?.();
    if (this.#thrown !== undefined) throw this.#thrown[0];
    return end;
  }

  /** Ends a run that main could not hand over whole. */
  async cancel(): Promise<void> {
    this.labels.stop(Stop.Asked);
    await this.finish();
  }

  #place(queue: number): Place {
    const known = this.#places.get(queue);
    if (known !== undefined) return known;
    const { startWorker } = this.#options;
    const worker = startWorker === undefined
      ? startWatched(() => new Worker(WORKER, { type: "module", name: `queue ${hex(queue)}` }))
      : startWatched(() => startWorker(queue), true);
    const place: Place = { queue, place: this.#places.size, worker, started: false, ended: false, looks: 0 };
    this.#places.set(queue, place);
    worker.onmessage = ({ data }: MessageEvent<FromQueue>) => {
      if (data.type === "spans") return this.#guarded(() => this.#options.onSpans?.(data));
      place.results = data;
      // It has stopped the others itself, unless it could not even begin.
      if (data.error !== undefined) this.labels.stop(Stop.Failed);
      this.#options.keepWorker?.(worker);
      this.#ended(place);
    };
    worker.onerror = (event) => {
      // Without this, an error in a worker ends the process.
      event.preventDefault();
      place.death = event.message;
      this.labels.stop(Stop.Died);
      this.#ended(place);
    };
    return place;
  }

  #start(place: Place): void {
    place.started = true;
    const { waitTimeoutMs, recheckMs, records = false } = this.#options;
    this.#post(place, {
      type: "start",
      queue: place.queue,
      place: place.place,
      labels: this.labels.handle,
      windows: this.#memory!.describe(),
      executor: this.#executor!,
      waitTimeoutMs,
      recheckMs,
      dispatches: this.#dispatches,
      records,
    });
  }

  #post(place: Place, message: ToQueue): void {
    place.worker.postMessage(message);
  }

  #ended(place: Place): void {
    place.ended = true;
    this.#wake();
  }

  /** Deaths that no event tells of, and what others want to know. */
  #look(): void {
    this.#options.self.registry.sweep();
    for (const place of this.#places.values()) {
      if (place.ended) continue;
      const hasLeft = this.labels.hasLeft(place.place), ended = hasEnded(place.worker);
      const isLost = (hasLeft || ended) && ++place.looks > LOST_LOOKS;
      if (!isLost && !this.labels.isDead(place.place)) continue;
      place.death = hasLeft ? "what it did was never told" : "its thread ended without a word";
      this.labels.stop(Stop.Died);
      this.#ended(place);
    }
    this.#report();
  }

  #report(): void {
    this.#guarded(() => this.#options.onDispatches?.(Atomics.load(this.#dispatches, 0)));
  }

  /** Runs somebody else's code. What it throws stops the queues, and is thrown when they have stopped. */
  #guarded(action: () => void): void {
    if (this.#thrown !== undefined) return;
    try {
      action();
    } catch (error) {
      this.#thrown = [error];
      this.labels.stop(Stop.Asked);
    }
  }

  #end(): QueueRunEnd {
    const results = new Map<number, QueueResults>(), errors = new Map<number, unknown>();
    let hung = false;
    for (const place of this.#places.values()) {
      const { queue, death } = place;
      if (death !== undefined) {
        errors.set(queue, new HostError("driver.queue-died", `the isolate of queue ${hex(queue)} died: ${death}`));
        // It may have left work on the device.
        hung = true;
      }
      if (place.results === undefined) continue;
      results.set(queue, place.results);
      hung ||= place.results.hung;
      if (place.results.error !== undefined) errors.set(queue, decodeError(place.results.error));
    }
    return { results, errors, stop: this.labels.stopped, hung };
  }
}
