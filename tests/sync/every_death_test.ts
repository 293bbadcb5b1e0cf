/**
 * Every structure, with a member that dies at every single access to its memory, and then somebody who goes on with it, who takes the dead one's things over,
 * or nobody before the supervisor sweeps. Whatever the moment, the structure must be whole afterwards, and nothing lost.
 */
import { dies, lives } from "./support/every_access.ts";
import { assert, assertEquals } from "@std/assert";
import { Arena } from "../../src/sync/arena.ts";
import { SharedMutex } from "../../src/sync/futex_mutex.ts";
import { LockBit } from "../../src/sync/held_locks.ts";
import type { Isolate, IsolateRegistry } from "../../src/sync/isolates.ts";
import { JobBoard } from "../../src/sync/job_board.ts";
import type { JobSpec } from "../../src/sync/job_types.ts";
import { KeyedTable } from "../../src/sync/keyed_table.ts";
import { SharedExclusiveLock } from "../../src/sync/shared_exclusive_lock.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { Members } from "./support/members.ts";

/** One structure as three members have it: the supervisor, who dies, and who goes on. */
interface Scenario<Each> {
  /** The structure as a member has it; `first` is the supervisor's. */
  make(isolate: Isolate, first?: Each): Each;
  /** What the supervisor does before. */
  before?(first: Each): void;
  /** What somebody may die over. */
  readonly dying: Readonly<Record<string, (each: Each, members: Members) => void>>;
  /** What somebody else does then; also a dead one's things may be taken over by anybody. */
  readonly going: Readonly<Record<string, (each: Each, dead: number) => void>>;
  /** What is wrong afterwards; all others are gone. */
  wrong(first: Each): unknown;
}

/** Of two deaths, every so many accesses are tried. */
const STRIDE = 24;

function everyDeath<Each>(name: string, least: number, scenario: Scenario<Each>): void {
  for (const [what, die] of Object.entries(scenario.dying)) {
    Deno.test(`${name}: whoever dies while it ${what}, at whatever access, leaves it whole`, () => {
      let runs = 0;
      /** One run. @param second access at which the other dies, too; 0: it does not @returns whether the last one that was to die did */
      const run = (at: number, then: string, go?: (each: Each, dead: number) => void, second = 0): boolean => {
        const members = new Members(3), [supervisor, dying, going] = members.isolates;
        const first = scenario.make(supervisor);
        const [its, others] = [dying, going].map((isolate) => scenario.make(isolate, first));
        scenario.before?.(first);
        const where = `it died at access ${at}, then ${then}${second === 0 ? "" : `, which died at access ${second}`}`;
        let died = dies(at, () => die(its, members));
        members.kill(dying);
        if (second !== 0) died = dies(second, () => go!(others, dying.token));
        else if (go !== undefined) lives(() => go(others, dying.token));
        if (second === 0) members.registry.sweep();
        members.kill(going);
        members.registry.sweep();
        assertEquals(lives(() => scenario.wrong(first)), undefined, where);
        assertEquals([members.registry.stats().live, members.registry.stats().entering], [1, 0], where);
        runs++;
        return died;
      };
      for (let at = 1; run(at, "nobody"); at++);
      for (const [then, go] of Object.entries(scenario.going)) {
        for (let at = 1; run(at, then, go); at++) {
          if (at % STRIDE === 0) {
            for (let second = 1 + (at / STRIDE) % STRIDE; run(at, then, go, second); second += STRIDE);
          }
        }
      }
      assert(runs >= least, `${runs} runs: the accesses are not counted`);
    });
  }
}

/** Does what may find the structure closed or full. */
function ifPossible(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof SyncError && /-(closed|full)$/.test(error.code))) throw error;
  }
}

everyDeath<{ registry: IsolateRegistry }>("isolates", 3, {
  make: ({ registry }) => ({ registry }),
  dying: {
    // The members' threads have rising numbers: the one that enters here is the last.
    enters: ({ registry }, members) => {
      try {
        registry.enter();
      } finally {
        members.threads.kill(members.threads.last);
      }
    },
    leaves: ({ registry }, members) => registry.leave(members.isolates[1]),
  },
  going: {},
  wrong({ registry }) {
    const { entered, left, died } = registry.stats();
    return entered === left + died + 1 ? undefined : { entered, left, died };
  },
});

const LOCK = { bit: LockBit.Other, name: "lock", recheckMs: 1 };

/** Two words that agree when nobody is in. */
function pair() {
  const words = new Int32Array(new SharedArrayBuffer(8));
  return {
    words,
    change() {
      words[0]++;
      words[1]++;
    },
    repair: () => void (words[1] = words[0]),
    torn: () => words[0] === words[1] ? undefined : `${words}`,
  };
}

everyDeath<{ lock: SharedMutex; data: ReturnType<typeof pair> }>("mutex", 10, {
  make(isolate, first) {
    const data = first?.data ?? pair();
    return { data, lock: new SharedMutex(isolate, { ...LOCK, repair: data.repair }, first?.lock.handle) };
  },
  dying: { "has it twice": ({ lock, data }) => [1, 2].forEach(() => lock.with(data.change)) },
  going: {
    "another has it": ({ lock, data }) => lock.with(() => assertEquals(data.torn(), undefined)),
    "another takes it over": ({ lock }, dead) => void lock.recover(dead),
  },
  wrong: ({ lock, data }) => lock.with(data.torn),
});

everyDeath<{ lock: SharedExclusiveLock; data: ReturnType<typeof pair> }>("shared or exclusive lock", 10, {
  make(isolate, first) {
    const data = first?.data ?? pair();
    return { data, lock: new SharedExclusiveLock(isolate, { ...LOCK, repair: data.repair }, first?.lock.handle) };
  },
  dying: {
    "has it alone": ({ lock, data }) => {
      lock.lockExclusive();
      data.change();
      lock.unlockExclusive();
    },
    "shares it": ({ lock }) => {
      lock.lockShared();
      lock.unlockShared();
    },
  },
  going: {
    "another has it alone": ({ lock, data }) => {
      lock.lockExclusive();
      assertEquals(data.torn(), undefined);
      lock.unlockExclusive();
    },
    "another shares it": ({ lock, data }) => {
      lock.lockShared();
      assertEquals(data.torn(), undefined);
      lock.unlockShared();
    },
    "another takes it over": ({ lock }, dead) => void lock.recover(dead),
  },
  wrong({ lock, data }) {
    const { shared, exclusive } = lock.stats();
    return shared === 0 && !exclusive ? data.torn() : { shared, exclusive };
  },
});

const bytes = (length: number) => new Uint8Array(length).fill(length);

/** An arena, and a blob in it that is everybody's. */
interface WithArena {
  readonly arena: Arena;
  blob: number;
}

everyDeath<WithArena>("arena", 20, {
  make: (isolate, first) => ({
    arena: first === undefined
      ? Arena.create(isolate, { bytes: 1 << 16, blobs: 12, pins: 4 }, 1)
      : Arena.attach(isolate, first.arena.handle, 1),
    get blob() {
      return first?.blob ?? blobOfAll;
    },
    set blob(blob) {
      blobOfAll = blob;
    },
  }),
  before(first) {
    first.blob = first.arena.append(bytes(100));
    first.arena.share(first.blob);
    first.arena.retire(first.arena.append(bytes(200)));
  },
  dying: {
    "appends and retires": ({ arena }) => {
      const used = arena.append(bytes(200));
      arena.append(bytes(64));
      arena.retire(used);
    },
    "pins what is everybody's": ({ arena, blob }) => arena.unpin(arena.pin(blob)!),
    "retires what is everybody's and it has pinned": ({ arena, blob }) => {
      const pin = arena.pin(blob)!;
      arena.retire(blob);
      arena.unpin(pin);
    },
  },
  going: {
    "another appends": ({ arena }) => {
      arena.retire(arena.append(bytes(200)));
      arena.append(bytes(300));
    },
    "another takes it over": ({ arena }, dead) => void arena.recover(dead),
  },
  wrong({ arena, blob }) {
    const pin = arena.pin(blob);
    if (pin !== undefined) {
      if (arena.view(blob)[0] !== 100) return "another content";
      arena.unpin(pin);
      arena.retire(blob);
    }
    const { blobs, owned, pins } = arena.stats();
    return blobs + owned + pins === 0 ? arena.check() : { blobs, owned, pins };
  },
});
/** Of the run of now. */
let blobOfAll = 0;

/** A board or a table with its arena. */
interface WithTable {
  readonly arena: Arena;
  readonly table: KeyedTable;
}

const key = (n: number) => Uint32Array.of(n);
const failing = () => {
  throw new RangeError("planned");
};

function createOrFail(table: KeyedTable, n: number, create: () => bigint): void {
  try {
    table.unpin(table.getOrCreate(key(n), create).pin);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}

everyDeath<WithTable>("table", 20, {
  make(isolate, first) {
    const arena = first === undefined
      ? Arena.create(isolate, { bytes: 1 << 14, blobs: 8, pins: 4 }, 1)
      : Arena.attach(isolate, first.arena.handle, 1);
    const table = first === undefined
      ? KeyedTable.create(isolate, arena, { name: "table", capacity: 4, keyWords: 1, pins: 4 }, 1)
      : KeyedTable.attach(isolate, arena, "table", first.table.handle, 1);
    return { arena, table };
  },
  before({ table }) {
    createOrFail(table, 1, () => 11n);
    table.setJob(table.announce(key(2))!, 7);
  },
  dying: {
    "creates and takes out": ({ table }) => {
      const { reference, pin } = table.getOrCreate(key(3), () => 33n);
      table.unpin(pin);
      table.evict(reference);
    },
    "fails to create, and tries again": ({ table }) => {
      createOrFail(table, 3, failing);
      createOrFail(table, 3, () => 3n);
    },
    "puts off and gives up": ({ table }) => {
      const first = table.begin(key(2));
      table.postpone(first.reference, 5);
      table.unpin(first.pin);
      const second = table.begin(key(2));
      table.abandon(second.reference);
      table.unpin(second.pin);
    },
    "announces and withdraws": ({ table }) => {
      table.setJob(table.announce(key(4))!, 9);
      table.announce(key(3));
      table.withdraw(key(4));
    },
    "takes out what it has pinned": ({ table }) => {
      const { reference, pin } = table.getOrCreate(key(1), failing);
      table.evict(reference);
      table.unpin(pin);
      table.evict(reference);
    },
    "empties it": ({ table }) => {
      table.close();
      table.waitForBuilds(0);
      table.clear(() => {});
      table.reopen();
    },
  },
  going: {
    "another creates all": ({ table }) => [1, 2, 3].forEach((n) => ifPossible(() => createOrFail(table, n, () => 1n))),
    "another takes it over": ({ table }, dead) => void table.recover(dead),
    "another empties it": ({ table }) => {
      table.close();
      assert(table.waitForBuilds(1000));
      table.clear(() => {});
    },
  },
  wrong({ arena, table }) {
    const { building, ending, pins } = table.stats();
    if (building + ending + pins !== 0) return { building, ending, pins };
    const wrong = table.check();
    if (wrong !== undefined) return wrong;
    table.close();
    const rest = table.clear(() => {}), { blobs } = arena.stats();
    if (rest + blobs !== 0) return { rest, blobs };
    table.reopen();
    for (let n = 10; n < 14; n++) createOrFail(table, n, () => 1n);
    return table.check() ?? arena.check();
  },
});

/** A board with its arena. */
interface WithBoard {
  readonly arena: Arena;
  readonly board: JobBoard;
}

/** Jobs and holds of the run that were asked for, and those whose call returned: how many there were lies between. */
let asked = 0, got = 0;

function submit(board: JobBoard, spec: Partial<JobSpec> = {}): number {
  asked++;
  const ticket = board.submit({ pool: 0, kind: 1, ...spec });
  got++;
  return ticket;
}

function hold(board: JobBoard, bytes: number, timeoutMs?: number): void {
  asked++;
  const ticket = board.hold(bytes, timeoutMs);
  got++;
  if (ticket !== undefined) board.releaseHold(ticket);
}

/** Queues a job that has a blob. */
function submitWithBlob({ arena, board }: WithBoard, spec: { bytes?: number; keep?: boolean } = {}): number {
  const blob = arena.append(bytes(70));
  return submit(board, { ...spec, payload: [blob, 0], blobs: 1 });
}

function finishAll({ board }: WithBoard): void {
  for (let job; (job = board.tryTake(0)) !== undefined;) board.finish(job.ticket);
}

/** The jobs that are there at first: a plain one, one that needs the budget, and one that waits in its line. */
const PLAIN = 1, BUDGETED = 2, SECOND = 3;

everyDeath<WithBoard>("board", 40, {
  make(isolate, first) {
    const arena = first === undefined
      ? Arena.create(isolate, { bytes: 1 << 14, blobs: 12, pins: 4 }, 1)
      : Arena.attach(isolate, first.arena.handle, 1);
    const board = first === undefined
      ? JobBoard.create(isolate, arena, { pools: [{ workers: 4 }], jobs: 5, limitBytes: 100, pins: 4 }, 1)
      : JobBoard.attach(isolate, arena, first.board.handle, 1);
    return { arena, board };
  },
  before(first) {
    asked = got = 0;
    assertEquals(submit(first.board), PLAIN);
    assertEquals(submit(first.board, { bytes: 60, priority: 2 }), BUDGETED);
    assertEquals(submitWithBlob(first, { bytes: 60 }), SECOND);
  },
  dying: {
    "does all jobs": (each) => finishAll(each),
    "queues jobs with blobs": (each) => {
      submitWithBlob(each, { bytes: 200 });
      submitWithBlob(each, { keep: true });
    },
    "fails one job and has others": ({ board }) => {
      const { ticket } = board.tryTake(0)!;
      board.tryTake(0);
      board.fail(ticket, new RangeError("planned"));
    },
    "puts one back and cancels one": ({ board }) => {
      board.requeue(board.claim(SECOND)!.ticket, 70);
      board.cancel(BUDGETED);
      board.raise(SECOND, 0);
    },
    "has a bare hold": ({ board }) => {
      hold(board, 80);
      board.tryTake(0);
    },
    "keeps the outcome of a job": ({ board }) => {
      const kept = submit(board, { keep: true });
      board.help(kept, () => 3n);
      board.wait(kept, 0);
      board.release(kept);
    },
    "stops it": ({ board }) => board.stop("cancel"),
  },
  going: {
    "another does all jobs": (each) => finishAll(each),
    "another takes it over": ({ board }, dead) => void board.recover(dead),
    "another needs a job, and a hold": ({ board }) => {
      board.help(PLAIN, () => 5n);
      ifPossible(() => hold(board, 30, 0));
    },
  },
  wrong(first) {
    const { board, arena } = first, wrong = board.check(), running = board.stats();
    if (wrong !== undefined) return wrong;
    if (running.claimed + running.budgetedRunning + running.budget.held + running.pins !== 0) return running;
    finishAll(first);
    const stats = board.stats(), { submitted, done, failed, cancelled } = stats;
    const left = stats.queued + stats.claimed + stats.kept + stats.budget.waiting;
    if (left !== 0 || submitted !== done + failed + cancelled) return stats;
    if (submitted < got || submitted > asked) return `${submitted} jobs were counted, of ${got} to ${asked}`;
    if (arena.stats().blobs !== 0) return arena.stats();
    let room = 0;
    ifPossible(() => {
      for (; room < 6; room++) board.submit({ pool: 0, kind: 1 });
    });
    // 0: it was stopped.
    return room === 5 || room === 0 ? board.check() ?? arena.check() : `room for ${room} jobs`;
  },
});
