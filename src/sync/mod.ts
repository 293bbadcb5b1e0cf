/**
 * Data structures in shared memory (SharedArrayBuffer and Atomics), used by all isolates of the process. See docs/sync.md.
 *
 * @module
 */
export * from "./arena.ts";
export * from "./compile_budget.ts";
export * from "./error_data.ts";
export * from "./futex_mutex.ts";
export * from "./gpu_mutex.ts";
export * from "./held_locks.ts";
export * from "./isolates.ts";
export * from "./job_board.ts";
export * from "./job_types.ts";
export * from "./keyed_table.ts";
export * from "./table_types.ts";
export * from "./shared_exclusive_lock.ts";
export * from "./sync_error.ts";
export * from "./thread_probe.ts";
export * from "./waits.ts";
