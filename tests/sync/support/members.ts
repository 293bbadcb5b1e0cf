/** Several members of one registry in one isolate, with threads that die when the test says so. */
import { heldLocks, noteUnlocked } from "../../../src/sync/held_locks.ts";
import { type Isolate, IsolateRegistry } from "../../../src/sync/isolates.ts";
import { setStepHook } from "../../../src/sync/steps.ts";
import type { ThreadIdentity, ThreadProbe } from "../../../src/sync/thread_probe.ts";

/** A probe whose threads are invented. */
export class FakeThreads implements ThreadProbe {
  #next = 1000;
  readonly #dead = new Set<number>();

  current(): ThreadIdentity {
    return { id: this.#next++, start: 5 };
  }

  isRunning(thread: ThreadIdentity): boolean {
    return !this.#dead.has(thread.id);
  }

  kill(id: number): void {
    this.#dead.add(id);
  }

  get last(): number {
    return this.#next - 1;
  }
}

/** A registry with `count` members, `members[0]` the supervisor. */
export class Members {
  readonly threads = new FakeThreads();
  readonly registry: IsolateRegistry;
  readonly isolates: Isolate[] = [];
  readonly #threadOf = new Map<Isolate, number>();

  constructor(count: number, slots = 16) {
    this.registry = IsolateRegistry.create(slots, this.threads);
    noteUnlocked(heldLocks());
    for (let i = 0; i < count; i++) this.enter();
  }

  /** One more member; it attaches through the supervisor's registry object, so that a sweep reaches what it made. */
  enter(): Isolate {
    const registry = this.isolates.length === 0
      ? this.registry
      : IsolateRegistry.attach(this.registry.handle, this.threads);
    const isolate = registry.enter();
    this.isolates.push(isolate);
    this.#threadOf.set(isolate, this.threads.last);
    return isolate;
  }

  /** The member's thread is gone; what the mask of this one real isolate says of its locks is dropped. */
  kill(isolate: Isolate): void {
    this.threads.kill(this.#threadOf.get(isolate)!);
    noteUnlocked(heldLocks());
  }
}

/** Thrown by a hook: the member dies there. */
export class Death extends Error {}

/** Runs `action`; who sleeps 200 times in it would sleep for ever, and fails instead. */
export function notForEver<T>(action: () => T): T {
  let sleeps = 0;
  setStepHook((point) => {
    if (point.endsWith(".sleep") && ++sleeps > 200) throw new Error("it sleeps for ever");
  });
  try {
    return action();
  } finally {
    setStepHook(undefined);
  }
}
