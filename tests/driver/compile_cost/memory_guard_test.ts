import { assert, assertEquals } from "@std/assert";
import type { CostSample } from "../../../src/driver/compile_cost/learned_cost.ts";
import { headroom, MemoryGuard } from "../../../src/driver/compile_cost/memory_guard.ts";
import { createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { C, Container, IDLE_KIB } from "./container.ts";
import type { ContainerTask } from "./container_worker.ts";

const KIB = 1024, MIB = 1024 * KIB;
/** Learned: 100 bytes of memory for a byte of SPIR-V. */
const COST = 100;
const LEARNED: CostSample[] = Array.from({ length: 5 }, () => ({ bytes: MIB, peakBytes: COST * MIB, ms: 1 }));

const idle = { limit: 1600 * MIB, free: 1100 * MIB, cost: COST, held: 0, compiling: 0, grown: 0 };

Deno.test("the headroom is what is left of memory but for a sixteenth of the limit, in bytes of SPIR-V", () => {
  assertEquals(headroom(idle), 10 * MIB);
  assertEquals(headroom({ ...idle, cost: 1 }), 1000 * MIB);
  assertEquals(headroom({ ...idle, free: 50 * MIB }), 0);
});

Deno.test("what compiles takes its whole memory into account from its first moment, and once", () => {
  // 4 MiB have begun: nothing of their 400 MiB is taken yet; half of it; all.
  const held = 4 * MIB, compiling = held;
  for (const grown of [0, 200 * MIB, 400 * MIB]) {
    assertEquals(headroom({ ...idle, held, compiling, grown, free: idle.free - grown }), 10 * MIB);
  }
  // They take more than was learned.
  assertEquals(headroom({ ...idle, held, compiling, grown: 900 * MIB, free: 200 * MIB }), 5 * MIB);
});

Deno.test("a dispatch's compile has no hold, and its memory is missing all the same", () => {
  assertEquals(headroom({ ...idle, compiling: 6 * MIB }), 4 * MIB);
  assertEquals(headroom({ ...idle, held: 2 * MIB, compiling: 8 * MIB }), 4 * MIB);
});

function setUp(limitMiB: number) {
  const room = createRoom({ workers: [1, 8, 1], arenaBytes: 1 << 20, costs: LEARNED });
  const container = new Container(limitMiB * KIB);
  const guard = new MemoryGuard(room.board, room.costs, { ...container, intervalMs: 0 });
  const submit = (bytes: number) =>
    room.board.submit({ pool: Pool.Prebuild, kind: 2, bytes, payload: [0, 0, bytes], keep: true });
  return { room, container, guard, submit };
}

Deno.test("a job that would pass the container's limit waits, and then runs alone; the byte limit stays the contract", () => {
  // 200 MiB are used, 100 stay free: 5 MiB of SPIR-V fit, where the budget has 8 MiB.
  const { room: { board }, container, guard, submit } = setUp(1600 / 2);
  const [first, second, third] = [3, 4, 1].map((mib) => submit(mib * MIB));
  guard.refresh();
  assertEquals(board.stats().budget.headroom, Math.floor((800 - 200 - 50) / 100 * MIB));
  assertEquals(board.tryTake(Pool.Prebuild)?.ticket, first);
  assertEquals(board.tryTake(Pool.Prebuild), undefined, "3 + 4 MiB would pass the limit of memory");
  assertEquals(board.stats().budget.waiting, 1);
  // Memory gets short: what 4 MiB take does not fit even alone.
  container.words[C.Used] = 300 * KIB;
  board.finish(first);
  guard.refresh();
  assert(board.stats().budget.headroom < 4 * MIB);
  assertEquals(board.tryTake(Pool.Prebuild)?.ticket, second, "it runs all the same");
  assertEquals(board.tryTake(Pool.Prebuild), undefined, "alone: even 1 MiB waits");
  // And there is enough again: it is still alone, as it was granted.
  container.words[C.Used] = 0;
  guard.refresh();
  assertEquals(board.tryTake(Pool.Prebuild), undefined);
  board.finish(second);
  assertEquals(board.tryTake(Pool.Prebuild)?.ticket, third);
  board.finish(third);
  for (const ticket of [first, second, third]) board.release(ticket);
  assertEquals(board.check(), undefined);
});

Deno.test("without a limit of memory near, the byte limit alone counts", () => {
  const { room: { board }, guard, submit } = setUp(1 << 17);
  submit(5 * MIB);
  submit(3 * MIB);
  submit(1);
  guard.refresh();
  assert(board.tryTake(Pool.Prebuild) !== undefined && board.tryTake(Pool.Prebuild) !== undefined);
  assertEquals(board.tryTake(Pool.Prebuild), undefined, "8 MiB are the contract");
});

Deno.test("a dispatch claims its job however short memory is", () => {
  const { room: { board }, guard, submit } = setUp(100);
  const [first, second] = [submit(4 * MIB), submit(MIB)];
  guard.refresh();
  assertEquals(board.stats().budget.headroom, 0);
  assertEquals(board.tryTake(Pool.Prebuild)?.ticket, first);
  assertEquals(board.tryTake(Pool.Prebuild), undefined);
  assertEquals(board.claim(second)?.admitted, false);
});

Deno.test("this machine's own limits give a headroom", () => {
  const { room } = setUp(1);
  new MemoryGuard(room.board, room.costs, { intervalMs: 0 }).refresh();
  const { headroom } = room.board.stats().budget;
  assert(Number.isInteger(headroom) && headroom >= 0, `${headroom}`);
});

/** Four workers compile four modules of 2 MiB in a container where three would pass the limit; what it saw. */
async function compileInContainer(guarded: boolean): Promise<Int32Array> {
  const limitKiB = (200 + 50 + 500) * KIB;
  const room: Room = createRoom({ workers: [1, 8, 1], arenaBytes: 1 << 20, costs: LEARNED });
  const container = new Container(limitKiB), { words } = container;
  const guard = new MemoryGuard(room.board, room.costs, { ...container, intervalMs: 1 });
  if (guarded) guard.refresh();
  const task: ContainerTask = { room: room.handle, words, limitKiB, cost: COST, guarded };
  const ends = Array.from({ length: 4 }, () => {
    const worker = new Worker(new URL("./container_worker.ts", import.meta.url), { type: "module" });
    worker.postMessage(task);
    return new Promise((resolve, reject) => {
      worker.onmessage = resolve;
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    });
  });
  const small = Array.from({ length: 4 }, () => 2 * MIB);
  for (const bytes of small) {
    room.board.submit({ pool: Pool.Prebuild, kind: 2, bytes, payload: [0, 0, bytes] });
  }
  // Until as many compile as will: nobody ends before.
  const together = guarded ? 2 : 4;
  const waiting = () => room.board.stats().budget.waiting;
  for (let tries = 0; Atomics.load(words, C.Running) < together || (guarded && waiting() === 0); tries++) {
    assert(tries < 20_000, `${words[C.Running]} compile, not ${together}, and ${waiting()} wait`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  // Who would come in without waiting has time to.
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 2));
  assertEquals([Atomics.load(words, C.Running), waiting()], [together, guarded ? 1 : 0]);
  if (guarded) {
    // One that does not fit into what is left of memory, even alone.
    room.board.submit({ pool: Pool.Prebuild, kind: 2, bytes: 6 * MIB, payload: [0, 0, 6 * MIB] });
  }
  container.open();
  assert(await room.board.drainAsync(Pool.Prebuild, 60_000));
  room.board.stop("finish");
  await Promise.all(ends);
  room.registry.sweep();
  assertEquals([room.board.stats().budget.held, room.board.check(), room.registry.stats().live], [0, undefined, 1]);
  return words;
}

Deno.test("in a container with room for two of four compiles two wait, a larger one runs alone, and the limit is passed by that one only", async () => {
  const words = await compileInContainer(true);
  assertEquals([words[C.Compiles], words[C.Running], words[C.Used]], [5, 0, 0]);
  assertEquals(words[C.MostUsed], 600 * KIB, "the large one, alone; else 400 MiB");
  assert(words[C.Alone] >= 1);
  // The same without the guard: all four at once, beyond the limit.
  const unguarded = await compileInContainer(false);
  assertEquals([unguarded[C.MostUsed], unguarded[C.Compiles]], [800 * KIB, 4]);
  assert(unguarded[C.MostUsed] + IDLE_KIB > (200 + 50 + 500) * KIB);
});
