/**
 * A process in a control group: what it reads as its limit; and, with the memory guard over that, in which order jobs begin that would pass the limit
 * together. Compiles take the memory that they cost.
 */
import type { CostSample } from "../../../src/driver/compile_cost/learned_cost.ts";
import { MemoryGuard } from "../../../src/driver/compile_cost/memory_guard.ts";
import { readMemory } from "../../../src/driver/compile_cost/memory_limits.ts";
import { createRoom, Pool } from "../../../src/driver/pools/room.ts";

const MIB = 1 << 20, COST = 100;
const guarded = Deno.args[0] === "guarded";
const costs: CostSample[] = Array.from({ length: 5 }, () => ({ bytes: MIB, peakBytes: COST * MIB, ms: 1 }));
const { board, costs: meter } = createRoom({ workers: [1, 8, 1], arenaBytes: 1 << 20, costs });
const guard = new MemoryGuard(board, meter, { intervalMs: 0 });
const state = readMemory()!, events: string[] = [];
const names = new Map<number, string>();
for (const [name, mib] of [["first", 2], ["second", 2], ["large", 6], ["small", 1]] as const) {
  names.set(board.submit({ pool: Pool.Prebuild, kind: 0, bytes: mib * MIB }), name);
}

/** Memory of the compiler, as its allocator keeps it. */
const blocks: Uint8Array[] = [];
const take = () => {
  if (guarded) guard.refresh();
  const job = board.tryTake(Pool.Prebuild);
  events.push(job === undefined ? "none" : names.get(job.ticket)!);
  return job?.ticket;
};

const first = take();
if (guarded) blocks.push(new Uint8Array(2 * COST * MIB).fill(1));
const beside = take();
if (beside !== undefined) board.finish(beside);
board.finish(first!);
if (guarded) {
  const second = take();
  blocks[0].fill(2);
  take();
  board.finish(second!);
  const large = take();
  take();
  board.finish(large!);
  board.finish(take()!);
}
console.log(JSON.stringify({ state, events, check: board.check() ?? null, held: board.heldBytes }));
