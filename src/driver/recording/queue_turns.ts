import { hex } from "../../errors.ts";
import type { WaitDescription } from "../../pm4/packets/definition.ts";
import type { Timeline } from "./timeline.ts";

/** A wait that goes on. */
interface OpenWait {
  since: number;
  name: string;
  detail: string;
}

/** Turns of queues and their waits, as spans of a timeline: one track for each queue. */
export class QueueTurns {
  readonly #timeline: Timeline;
  readonly #waits = new Map<number, OpenWait>();
  #queue = 0;
  /** When the turn began; NaN between turns. */
  #start = NaN;

  /** @param timeline what gets the spans */
  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** A queue's turn begins. */
  begin(queue: number): void {
    this.#queue = queue;
    this.#start = performance.now();
  }

  /** The turn ends. @param wait what the queue waits for now; null when it has nothing left */
  end(wait: WaitDescription | null): void {
    const queue = this.#queue, end = performance.now();
    const before = this.#waits.get(queue);
    const name = wait === null ? "" : `waits for ${hex(wait.address)}`;
    const detail = wait === null
      ? ""
      : `[${hex(wait.address)}] & ${hex(wait.mask)} ${wait.compare} ${hex(wait.reference)}`;
    // A queue that still may not go on was only asked.
    if (before === undefined || before.name !== name || before.detail !== detail) {
      this.#release(queue, this.#start);
      this.#timeline.add(track(queue), "packets", this.#start, end);
      if (wait !== null) this.#waits.set(queue, { since: end, name, detail });
    }
    this.#start = NaN;
  }

  /** The run ends, maybe in the middle of a turn, and with waits that nobody ended. */
  finish(): void {
    const end = performance.now();
    if (!Number.isNaN(this.#start)) this.#timeline.add(track(this.#queue), "packets, stopped", this.#start, end);
    this.#start = NaN;
    for (const queue of [...this.#waits.keys()]) this.#release(queue, end, ", forever");
  }

  #release(queue: number, end: number, how = ""): void {
    const wait = this.#waits.get(queue);
    if (wait === undefined) return;
    this.#waits.delete(queue);
    this.#timeline.add(track(queue), wait.name + how, wait.since, end, wait.detail);
  }
}

function track(queue: number): string {
  return `queue ${hex(queue)}`;
}
