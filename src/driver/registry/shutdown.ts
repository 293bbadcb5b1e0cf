/**
 * The end: everything that was queued is done before the device, and what belongs to it, goes away.
 *
 * @module
 */
import type { WorkerPool } from "../pools/worker_pool.ts";
import type { Room } from "../pools/room.ts";
import type { ShaderRegistry } from "./shader_registry.ts";

/**
 * Closes the registry, has the pools finish what is queued on the board, and waits for their workers. Afterwards nothing runs and nothing starts: the
 * device may be destroyed.
 *
 * @param pools all pools of the room
 * @returns false if a worker is still in a call after the time: then the device must stay
 */
export async function closePreparation(
  room: Room,
  pools: readonly WorkerPool[],
  registry?: ShaderRegistry,
  timeoutMs = 60_000,
): Promise<boolean> {
  registry?.close();
  room.board.stop("finish");
  const home = await Promise.all(pools.map((pool) => pool.stopped(timeoutMs)));
  // What is left has no workers any more.
  room.board.stop("cancel");
  return home.every(Boolean);
}
