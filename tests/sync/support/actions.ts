/** What the test's workers do, by name. */
import { workerScope } from "./worker_scope.ts";
import { RefusedError } from "../../../src/errors.ts";
import { Arena, type ArenaHandle } from "../../../src/sync/arena.ts";
import { encodeError } from "../../../src/sync/error_data.ts";
import { GpuMutex } from "../../../src/sync/gpu_mutex.ts";
import type { MutexHandle } from "../../../src/sync/futex_mutex.ts";
import { SharedMutex } from "../../../src/sync/futex_mutex.ts";
import { LockBit } from "../../../src/sync/held_locks.ts";
import { type Isolate, IsolateRegistry, type IsolatesHandle } from "../../../src/sync/isolates.ts";
import { JobBoard, type JobBoardHandle } from "../../../src/sync/job_board.ts";
import { LabelWatch, type LabelWatchHandle } from "../../../src/sync/label_watch.ts";
import { KeyedTable, type KeyedTableHandle } from "../../../src/sync/keyed_table.ts";
import { setStepHook } from "../../../src/sync/steps.ts";
import { waitCounts } from "../../../src/sync/waits.ts";
import type { SyncError } from "../../../src/sync/sync_error.ts";
import { SharedExclusiveLock } from "../../../src/sync/shared_exclusive_lock.ts";

/** What a worker gets. */
export interface Handles {
  readonly registry: IsolatesHandle;
  readonly arena: ArenaHandle;
  readonly board: JobBoardHandle | undefined;
  readonly table: KeyedTableHandle | undefined;
  readonly flags: Int32Array<SharedArrayBuffer>;
}

/** What an action uses. */
export interface Context {
  readonly registry: IsolateRegistry;
  readonly self: Isolate;
  readonly arena: Arena;
  readonly board: JobBoard;
  readonly table: KeyedTable;
  readonly flags: Int32Array<SharedArrayBuffer>;
}

/** Attaches to everything. */
export function attach(handles: Handles): Context {
  const registry = IsolateRegistry.attach(handles.registry);
  const self = registry.enter();
  const arena = Arena.attach(self, handles.arena);
  return {
    registry,
    self,
    arena,
    board: handles.board === undefined ? undefined! : JobBoard.attach(self, arena, handles.board),
    table: handles.table === undefined ? undefined! : KeyedTable.attach(self, arena, "table", handles.table),
    flags: handles.flags,
  };
}

/** The error that the tests let a creation fail with. */
export function originalError(): RefusedError {
  const error = new RefusedError("recompiler.test", "v_test_f32 is not implemented: “é\u0000\ud800”", {
    guestAddress: 0xffff8000_12345600n,
    pc: 0x1c,
    words: [0x7e000280, 0xdeadbeef],
  });
  error.cause = new TypeError("the cause", {
    cause: { text: "deeper", big: 2n ** 63n, zero: -0, list: [1, undefined] },
  });
  return error;
}

/** Adds to a word and wakes the test. */
export function count(flags: Int32Array<SharedArrayBuffer>, index: number): void {
  Atomics.add(flags, index, 1);
  Atomics.notify(flags, index);
}

/** Blocks until a word is set. */
export function waitFor(flags: Int32Array<SharedArrayBuffer>, index: number): void {
  while (Atomics.load(flags, index) === 0) Atomics.wait(flags, index, 0, 1000);
}

/** Ends this isolate in one of the ways that an isolate can end. */
async function die(how: string): Promise<void> {
  if (how === "throw") throw new Error("dies by throw");
  if (how === "close") workerScope.close();
  // For terminate, and for close until it takes effect.
  await new Promise(() => {});
}

type Action = (context: Context, ...parameters: never[]) => unknown;

const ACTIONS: Record<string, Action> = {
  /** For `warmUp`. */
  nothing() {},
  /** Counts itself in, then adds to a counter under a mutex, not atomically. */
  async addUnderMutex({ self, flags }, handle: MutexHandle, times: number) {
    const mutex = new SharedMutex(self, { bit: LockBit.Other, name: "counter" }, handle);
    for (let i = 0; i < times; i++) {
      mutex.lock();
      const value = flags[8];
      for (let spin = 0; spin < 20; spin++) flags[9] = spin;
      flags[8] = value + 1;
      mutex.unlock();
    }
    await 0;
  },
  /** Takes a mutex, tells it, and dies holding it. */
  async dieWithMutex({ self, flags }, handle: MutexHandle, how: string) {
    new GpuMutex(self, handle).lock();
    count(flags, 0);
    await die(how);
  },
  /** Asks for another membership, and dies while it gets it. */
  dieEntering({ registry, flags }, point: string, how: string) {
    setStepHook((at) => {
      if (at !== point) return;
      count(flags, 0);
      if (how === "throw") throw new Error("dies by throw");
      if (how === "close") workerScope.close();
      for (;;) Atomics.load(flags, 0);
    });
    registry.enter();
  },
  /** Shares a lock, or takes it alone, and dies with it. */
  async dieWithSharedExclusive(
    { self, flags },
    handle: { sharedExclusive: SharedArrayBuffer },
    shared: boolean,
    how: string,
  ) {
    const lock = new SharedExclusiveLock(self, { bit: LockBit.Device, name: "device" }, handle);
    if (shared) lock.lockShared();
    else lock.lockExclusive();
    count(flags, 0);
    await die(how);
  },
  /** Becomes the isolate of a queue, and dies when it is told to. */
  dieAsQueue({ self, flags }, handle: LabelWatchHandle, place: number) {
    LabelWatch.attach(self, handle).enter(place);
    count(flags, 0);
    waitFor(flags, 1);
    throw new Error("dies by throw");
  },
  /** Claims a budgeted job of pool 0 and dies over it. */
  async dieWithJob({ board, flags }, how: string) {
    board.take(0, 5000);
    count(flags, 0);
    await die(how);
  },
  /** Takes a bare hold and dies with it. */
  async dieWithHold({ board, flags }, bytes: number, how: string) {
    board.hold(bytes, 5000);
    count(flags, 0);
    await die(how);
  },
  /** Begins a creation and dies. */
  async dieWithCreation({ table, flags }, key: Uint32Array, how: string) {
    table.begin(key);
    count(flags, 0);
    await die(how);
  },
  /** Blocks in a driver call (here: a wait) inside a creation until released, then publishes: what terminate() does not stop. */
  blockedInCreation({ table, flags }, key: Uint32Array) {
    const begun = table.begin(key);
    count(flags, 0);
    waitFor(flags, 1);
    table.publish(begun.reference, 77n);
    count(flags, 2);
  },
  /** Races many keys with the others. */
  raceKeys({ table, flags }, keys: number, seed: number) {
    let created = 0;
    count(flags, 0);
    waitFor(flags, 1);
    let state = seed;
    const order = Array.from({ length: keys }, (_, i) => i);
    for (let i = keys - 1; i > 0; i--) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const j = state % (i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    let wrong = 0;
    for (const key of order) {
      const got = table.getOrCreate(Uint32Array.of(key, 0, 0, 0, 0, 0, 0, 9), () => {
        created++;
        Atomics.add(flags, 4, 1);
        return BigInt(key) * 3n + 2n ** 40n;
      });
      if (got.value !== BigInt(key) * 3n + 2n ** 40n) wrong++;
      table.unpin(got.pin);
    }
    return { created, wrong };
  },
  /** Waits for a creation that fails, and says what it got, encoded again. */
  waitForFailure({ table, flags }, key: Uint32Array) {
    const begun = table.begin(key);
    count(flags, 0);
    const ended = table.wait(begun.reference, 10_000);
    table.unpin(begun.pin);
    if (ended.state !== "failed") return { state: ended.state };
    const error = ended.error as Error;
    return { state: "failed", class: error.constructor.name, data: encodeError(error) };
  },
  /** getOrCreate where nothing may be created. */
  getOnly({ table, flags }, key: Uint32Array) {
    count(flags, 0);
    const got = table.getOrCreate(key, () => 555n);
    table.unpin(got.pin);
    return { value: got.value, created: got.created };
  },
  /** A pool worker whose jobs block until a word is set: counts starts in word 2 + kind. */
  blockingWorker({ board, flags }, pool: number) {
    count(flags, 0);
    let ran = 0;
    for (;;) {
      const job = board.take(pool);
      if (typeof job === "string") return ran;
      count(flags, 2 + job.kind);
      if (job.kind === 0) waitFor(flags, 1);
      board.finish(job.ticket, BigInt(job.payload[0]));
      ran++;
    }
  },
  /** Holds of so many bytes, each for a moment; records the most bytes held at once in word 5. */
  holdInTurns({ board, flags }, bytes: number, times: number) {
    count(flags, 0);
    waitFor(flags, 1);
    for (let i = 0; i < times; i++) {
      const hold = board.hold(bytes)!;
      const now = Atomics.add(flags, 4, bytes) + bytes;
      for (let seen = Atomics.load(flags, 5); now > seen;) {
        const before = Atomics.compareExchange(flags, 5, seen, now);
        if (before === seen) break;
        seen = before;
      }
      Atomics.wait(flags, 7, 0, 1);
      Atomics.sub(flags, 4, bytes);
      board.releaseHold(hold);
    }
  },
  /** A hold through a call of native code that ends when the test writes to the pipe; the bytes are given back behind the call. */
  holdThroughCall({ board, flags }, bytes: number, pipe: number) {
    const libc = Deno.dlopen("libc.so.6", { read: { parameters: ["i32", "buffer", "usize"], result: "isize" } });
    const hold = board.hold(bytes, 5000)!;
    try {
      count(flags, 0);
      libc.symbols.read(pipe, new Uint8Array(1), 1n);
    } finally {
      count(flags, 1);
      board.releaseHold(hold);
      count(flags, 2);
    }
  },
  /** Has a hold, and dies while giving it back: between deciding that somebody else gets the bytes and giving them. */
  dieGranting({ board, flags }, bytes: number) {
    const hold = board.hold(bytes, 5000)!;
    count(flags, 0);
    waitFor(flags, 1);
    setStepHook((point) => {
      if (point === "board.claimed") throw new Error("dies at board.claimed");
    });
    board.releaseHold(hold);
  },
  /** A hold that is refused: the error's code. */
  holdRefused({ board, flags }, bytes: number) {
    count(flags, 0);
    try {
      board.hold(bytes);
    } catch (error) {
      return (error as SyncError).code;
    }
    return "granted";
  },
  /** One hold; the order of grants is counted in word 3. */
  holdOnce({ board, flags }, bytes: number) {
    count(flags, 0);
    const hold = board.hold(bytes)!;
    const order = Atomics.add(flags, 3, 1);
    board.releaseHold(hold);
    return order;
  },
  /** Helps with a job, and says how often it went to sleep. */
  helpOnce({ board, flags }, ticket: number) {
    const before = waitCounts().work;
    count(flags, 0);
    const outcome = board.help(ticket, () => 9n);
    return { outcome, sleeps: waitCounts().work - before };
  },
  /** Waits for a job. */
  waitForJob({ board, flags }, ticket: number) {
    count(flags, 0);
    const outcome = board.wait(ticket, 10_000);
    if (outcome.state !== "failed") return outcome;
    return { state: "failed", data: encodeError(outcome.error) };
  },
};

/** Runs an action by name. */
export function runAction(context: Context, action: string, parameters: unknown[]): unknown {
  return ACTIONS[action](context, ...parameters as never[]);
}
