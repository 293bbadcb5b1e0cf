/** What a stress scenario is: one structure, random operations, and what must hold. */
import type { Arena, ArenaHandle } from "../../../src/sync/arena.ts";
import type { Isolate } from "../../../src/sync/isolates.ts";
import type { IsolateRegistry } from "../../../src/sync/isolates.ts";

/** Random numbers from a seed (xorshift32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 1;
  }

  /** 0 to n - 1. */
  below(n: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % n;
  }

  /** True once in n times. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }
}

/** What a scenario's isolate has. */
export interface Place {
  readonly registry: IsolateRegistry;
  readonly self: Isolate;
  readonly arena: Arena;
  /** Words for the scenario's invariants. */
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly random: Random;
  /** Which of the isolates this is, from 0; who dies is followed by another with the same number. -1 in the supervisor. */
  readonly place: number;
  /** Isolates. */
  readonly isolates: number;
  /** Operations of each. */
  readonly quota: number;
  /** Passed by the scenario where it holds something: here the isolate may end by `close` or `terminate`. */
  readonly mayDie: () => Promise<void> | undefined;
}

/** A running scenario in one isolate. */
export interface Running {
  /** One operation; throws if an invariant does not hold. */
  operate(): Promise<void> | void;
  /** Gives back what it holds between operations. */
  finish(): void;
}

/** A scenario. `Handle` crosses isolates. */
export interface Scenario<Handle> {
  /** Words that it needs. */
  readonly words: number;
  /** Makes the structure, in the supervisor. */
  create(
    place: Place,
    recheckMs: number,
  ): { handle: Handle; check(): string | undefined; end(deaths: number): string | undefined };
  /** Attaches in a worker. */
  attach(place: Place, handle: Handle, recheckMs: number): Running;
}

/** What a worker gets. */
export interface Start {
  readonly scenario: string;
  readonly isolates: { isolates: SharedArrayBuffer };
  readonly arena: ArenaHandle;
  readonly words: Int32Array<SharedArrayBuffer>;
  /** Operations done, one word for each place; then the isolates that are ready, and the places that are done. */
  readonly progress: Int32Array<SharedArrayBuffer>;
  readonly place: number;
  readonly operations: number;
  readonly quota: number;
  readonly seed: number;
  readonly handle: unknown;
  readonly recheckMs: number;
  /** After so many operations it dies; -1 never. */
  readonly dieAfter: number;
  readonly dieBy: "throw" | "close" | "terminate";
}

/** Fails the scenario. */
export function mustHold(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`INVARIANT: ${what}`);
}

const napWord = new Int32Array(new SharedArrayBuffer(4));

/** Sleeps a millisecond, so that others run into what this isolate holds. */
export function nap(): void {
  Atomics.wait(napWord, 0, 0, 1);
}
