/**
 * What the shared structures cost when nobody else wants them.
 *
 *     deno run -A bench/sync.ts [--quick] [--json]
 *
 * Each row is timed in batches on one thread, the rows in turns; figures are nanoseconds for one operation: median, least and most of the
 * batches. The target is a median of 1,000 ns for admission to the compile budget and release.
 */
import { Arena } from "../src/sync/arena.ts";
import { GpuMutex } from "../src/sync/gpu_mutex.ts";
import { LockBit } from "../src/sync/held_locks.ts";
import { IsolateRegistry } from "../src/sync/isolates.ts";
import { JobBoard } from "../src/sync/job_board.ts";
import { KeyedTable } from "../src/sync/keyed_table.ts";
import { SharedExclusiveLock } from "../src/sync/shared_exclusive_lock.ts";
import { type BenchContext, type BenchResult, type BenchTable, runAsScript } from "./table.ts";

const BATCH = 200;
const ROUNDS = 300;
const WARM_UP = 50;
const TARGET_NS = 1000;
/** Isolates that are attached, as in a real run: pins are looked for in the rows of all. */
const ISOLATES = 17;

interface Row {
  operation: string;
  ns: { median: number; min: number; max: number };
  targetNs?: number;
}

/** What is measured: name, one operation, and whether the target is for it. */
function operations(): [name: string, operation: () => void, target?: boolean][] {
  const registry = IsolateRegistry.create(64);
  const self = registry.enter();
  const arena = Arena.create(self, { bytes: 1 << 26 });
  const board = JobBoard.create(self, arena, { pools: [{ workers: 8 }] });
  const table = KeyedTable.create(self, arena, { name: "table" });
  const gpu = new GpuMutex(self);
  const device = new SharedExclusiveLock(self, { bit: LockBit.Device, name: "device" });
  for (let i = 1; i < ISOLATES; i++) {
    const other = IsolateRegistry.attach(registry.handle).enter();
    const otherArena = Arena.attach(other, arena.handle);
    JobBoard.attach(other, otherArena, board.handle);
    KeyedTable.attach(other, otherArena, "table", table.handle);
  }
  const key = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const ready = table.getOrCreate(key, () => 1n);
  for (let n = 0; n < 1000; n++) {
    table.unpin(table.getOrCreate(Uint32Array.of(n, 9, 9, 9, 9, 9, 9, 9), () => BigInt(n)).pin);
  }
  const kib = new Uint32Array(256);
  const blob = arena.append(kib);
  const budgeted = { pool: 0, kind: 1, bytes: 300_000 };
  const plain = { pool: 0, kind: 1 };
  return [
    ["GpuMutex: lock, unlock", () => {
      gpu.lock();
      gpu.unlock();
    }],
    ["SharedExclusiveLock: share, unlock", () => {
      device.lockShared();
      device.unlockShared();
    }],
    ["CompileBudget: admission (bare hold), release", () => board.releaseHold(board.hold(300_000)!), true],
    ["JobBoard: submit, take with admission, finish", () => {
      board.submit(budgeted);
      board.finish(board.tryTake(0)!.ticket);
    }, true],
    ["JobBoard: submit, take, finish (plain job)", () => {
      board.submit(plain);
      board.finish(board.tryTake(0)!.ticket);
    }],
    ["JobBoard: submit, claim by need, finish", () => board.finish(board.claim(board.submit(budgeted))!.ticket)],
    ["KeyedTable: pin, value, unpin of a known entry", () => {
      const place = table.pin(ready.reference)!;
      table.value(ready.reference);
      table.unpin(place);
    }],
    ["KeyedTable: begin (hit by key), unpin", () => table.unpin(table.begin(key).pin)],
    ["Arena: pin, view, unpin of 1 KiB", () => {
      const place = arena.pin(blob)!;
      arena.view(blob);
      arena.unpin(place);
    }],
    ["Arena: append of 1 KiB, retire", () => arena.retire(arena.append(kib))],
  ];
}

function run({ quick, progress }: BenchContext): BenchResult {
  const rounds = quick ? 5 : ROUNDS, warmUp = quick ? 1 : WARM_UP;
  const measured = operations();
  const samples = measured.map(() => [] as number[]);
  for (let round = -warmUp; round < rounds; round++) {
    for (let row = 0; row < measured.length; row++) {
      const operation = measured[row][1];
      const begin = performance.now();
      for (let i = 0; i < BATCH; i++) operation();
      if (round >= 0) samples[row].push((performance.now() - begin) * 1e6 / BATCH);
    }
    progress(round + warmUp + 1, rounds + warmUp);
  }
  const rows = measured.map(([operation, , target], row): Row => {
    const sorted = samples[row].sort((a, b) => a - b).map(Math.round);
    return {
      operation,
      ns: { median: sorted[rounds >> 1], min: sorted[0], max: sorted[rounds - 1] },
      ...target && { targetNs: TARGET_NS },
    };
  });
  return {
    data: { schema: "anyagc.bench.sync/1", batch: BATCH, rounds, isolates: ISOLATES, rows },
    lines: lines(rows),
  };
}

function lines(rows: readonly Row[]): string[] {
  return [
    `${"operation, nobody else wants it".padEnd(48)}  ns median     min      max  target`,
    ...rows.map(({ operation, ns, targetNs }) =>
      [
        operation.padEnd(48),
        String(ns.median).padStart(9),
        String(ns.min).padStart(6),
        String(ns.max).padStart(7),
        String(targetNs ?? "").padStart(6),
      ].join("  ")
    ),
  ];
}

/** The table. */
export const TABLE: BenchTable = {
  name: "sync",
  summary: "cost of the structures in shared memory when nobody else wants them",
  run,
};

if (import.meta.main) await runAsScript(TABLE);
