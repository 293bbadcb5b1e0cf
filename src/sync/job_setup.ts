import { CompileBudget, DEFAULT_COMPILE_KIB } from "./compile_budget.ts";
import { H, J, JobRecords, P } from "./job_records.ts";
import type { JobBoardOptions } from "./job_types.ts";
import { SyncError } from "./sync_error.ts";

/** First word of a board. */
export const BOARD_MAGIC = 0x4a4f4231;
/** A mask of pools is one number. */
const MAX_POOLS = 30;
/** A job's number takes 16 bits of its ticket. */
const MAX_JOBS = 65535;

/**
 * Memory of a new, empty board.
 *
 * @param slots slots of the registry
 * @throws SyncError `sync.capacity`
 */
export function newBoard(options: JobBoardOptions, slots: number): SharedArrayBuffer {
  const jobs = options.jobs ?? 4096, pools = options.pools.length;
  if (!(jobs >= 1 && jobs <= MAX_JOBS)) throw new SyncError("sync.capacity", `${jobs} jobs: 1 to ${MAX_JOBS}`);
  if (!(pools >= 1 && pools <= MAX_POOLS)) throw new SyncError("sync.capacity", `${pools} pools: 1 to ${MAX_POOLS}`);
  const size = { jobs, pools, places: options.pins ?? 256 };
  const board = new SharedArrayBuffer(JobRecords.bytes(size, slots));
  const records = new JobRecords(board, size);
  const { words } = records;
  words[H.Magic] = BOARD_MAGIC;
  words[H.Jobs] = jobs;
  words[H.Pools] = pools;
  words[H.Places] = size.places;
  for (let pool = 0; pool < pools; pool++) {
    const { workers } = options.pools[pool];
    words[records.poolAt(pool) + P.Workers] = workers;
    words[records.poolAt(pool) + P.Share] = Math.max(1, Math.floor(workers / 2));
  }
  for (let job = jobs - 1; job >= 0; job--) {
    words[records.at(job) + J.Next] = words[H.FreeFirst];
    words[H.FreeFirst] = job + 1;
  }
  new CompileBudget(board, records.budgetAt, jobs).setUp(options.limitBytes ?? DEFAULT_COMPILE_KIB * 1024);
  return board;
}
