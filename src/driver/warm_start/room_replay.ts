/**
 * The journal's replay in a room: the preparation pool recompiles what earlier runs recorded, the replay pool creates the pipelines. What the
 * driver has in its caches goes without the compile budget, where it can tell; the rest waits for the budget, and a dispatch that needs a
 * pipeline sooner takes it over.
 *
 * @module
 */
import type { OwnedDriverRoom } from "../pools/driver_room.ts";
import { announceProgram } from "../pools/programs_ahead.ts";
import { Pool } from "../pools/room.ts";
import type { ReplayResult } from "./pipeline_store.ts";
import { decodeRecorded } from "./recorded_pipeline.ts";

/** Options of {@linkcode replayInRoom}. */
export interface RoomReplayOptions {
  /** Called now and then; what it throws ends the waiting, and is thrown. The pools go on with what is queued. */
  progress?(done: number, total: number): void;
  /** Records whose jobs are on the board at a time: it has a limit; 1,024 by default. */
  readonly portion?: number;
}

/** What a replay did, and what it was good for. */
export interface RoomReplay extends ReplayResult {
  /** Of the pipelines, those that dispatches asked for so far. */
  readonly used: number;
  /** Pipelines that were created since: ahead of use, or by a dispatch that waited. */
  readonly built: number;
}

/** How often progress is told, in milliseconds. */
const PROGRESS_MS = 50;
/** A quarter of the board's jobs. */
const PORTION = 1024;

/**
 * Creates recorded pipelines, and waits until all are done.
 *
 * @param records of the journal, as it was opened
 * @throws HostError `driver.pool` if the workers that do it are gone for good; what they have not done is left to the dispatches
 */
export async function replayInRoom(
  shared: OwnedDriverRoom,
  records: readonly Uint8Array[],
  { progress, portion = PORTION }: RoomReplayOptions = {},
): Promise<RoomReplay> {
  const start = performance.now(), before = shared.creations();
  let unreadable = 0;
  const counts = () => {
    const { created, hits, aheadFailed } = shared.creations();
    return {
      created: created - before.created,
      hits: hits - before.hits,
      failed: unreadable + aheadFailed - before.aheadFailed,
    };
  };
  for (let first = 0; first < records.length; first += portion) {
    for (const record of records.slice(first, first + portion)) {
      const request = decodeRecorded(record, shared.recompilerDevice);
      if (request === undefined) unreadable++;
      else announceProgram(shared, request, Pool.Replay);
    }
    for (const pool of [Pool.Preparation, Pool.Replay]) {
      while (!await shared.drained(pool, progress === undefined ? Infinity : PROGRESS_MS)) {
        const { created, failed } = counts();
        progress?.(Math.min(records.length, created + failed), records.length);
      }
    }
  }
  progress?.(records.length, records.length);
  const replayed = shared.room.pipelines.snapshot().map(({ reference }) => reference), { created } = shared.creations();
  return {
    recorded: records.length,
    ...counts(),
    ms: performance.now() - start,
    get used() {
      return replayed.filter((reference) => shared.isAskedFor(reference)).length;
    },
    get built() {
      return shared.creations().created - created;
    },
  };
}
