/** Draws and dispatches that use variants: what they wait for, and what they do themselves. */
import { assert, assertEquals } from "@std/assert";
import { runRecompileJob } from "../../../src/driver/pools/preparation.ts";
import { Pool } from "../../../src/driver/pools/room.ts";
import { type Abi, computeAbi, recordAbi, recordProgram } from "../../../src/driver/registry/abi.ts";
import { closePreparation } from "../../../src/driver/registry/shutdown.ts";
import { waitCounts } from "../../../src/sync/waits.ts";
import { evaluatedDevice, EvaluatedExecutor } from "../../support/spirv_eval/executor.ts";
import { STEP } from "../../support/machine_code.ts";
import {
  chainProgram,
  EXPORT_END,
  groupsOf,
  idleRoom,
  literalProgram,
  nothingLeft,
  preparationPool,
  registryOf,
  ShaderGuest,
  work,
} from "./support.ts";

Deno.test("a use runs exactly its own job if that is queued, and leaves those before it in the queue", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shaders = Array.from({ length: 8 }, (_, n) => registry.registerShader(guest.compute(literalProgram(n))));
  const last = shaders[7], own = recordAbi(last.record)!;
  registry.use(last.code.address, own, registry.snapshot());
  const { queued, claimedByNeed, done } = room.board.stats();
  assertEquals([queued, claimedByNeed, done, room.artifacts.stats().created], [7, 1, 1, 1]);
  assertEquals(work(room), 7);
  assertEquals(room.artifacts.stats().created, 8);
  nothingLeft(room);
});

Deno.test("what a submission names goes first in the pool", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shaders = Array.from({ length: 4 }, (_, n) => registry.registerShader(guest.compute(literalProgram(n))));
  const own = recordAbi(shaders[2].record)!;
  registry.name(shaders[2].code.address, own, registry.snapshot());
  runRecompileJob(room, room.board.tryTake(Pool.Preparation)!);
  assertEquals(shaders.map((shader) => registry.resolveShaderAbi(shader, recordAbi(shader.record)!)), [
    "pending",
    "pending",
    "registered",
    "pending",
  ]);
});

Deno.test("a steady draw or dispatch waits for nothing, takes no lock, does not touch the job board, and allocates nothing", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const compute = registry.registerShader(guest.compute(chainProgram(1, 60)));
  const pixel = registry.registerShader(guest.pixel(EXPORT_END, []));
  const snapshot = registry.snapshot();
  const uses: [bigint, Abi][] = [
    [compute.code.address, recordAbi(compute.record)!],
    [compute.code.address, groupsOf(recordAbi(compute.record)!, 64)],
    [pixel.code.address, recordAbi(pixel.record)!],
  ];
  const first = uses.map(([address, state]) => registry.use(address, state, snapshot));
  const counts = () => ({
    waits: waitCounts(),
    board: room.board.lockStats(),
    artifacts: room.artifacts.lockStats(),
    failures: room.failures.lockStats(),
    blobs: room.arena.stats(),
  });
  const steady = (rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      for (let k = 0; k < uses.length; k++) {
        if (registry.use(uses[k][0], uses[k][1], snapshot) !== first[k]) throw new Error("another variant");
      }
    }
  };
  steady(20_000); // compiled by now
  const before = counts();
  // In pieces, and the middle one counts: collections and what else the process does are in a few only, an object for each use would be in all.
  const grown = Array.from({ length: 101 }, () => {
    const heap = Deno.memoryUsage().heapUsed;
    steady(200);
    return Deno.memoryUsage().heapUsed - heap;
  }).sort((a, b) => a - b)[50];
  assertEquals(counts(), before);
  // 600 uses: an object each would be 9,600 bytes at least.
  assert(grown < 6_000, `${grown} bytes`);
});

Deno.test("a dispatch right after resolving a new ABI lands its write", async () => {
  const guest = new ShaderGuest(1 << 20), data = 0x3_0000_0000n;
  guest.memory.map(data, 4096, 3, "data");
  const room = idleRoom(), pool = preparationPool(room, 2);
  const host = {
    target: "gfx1013",
    device: evaluatedDevice(32),
    options: { windows: guest.memory.windows.length, unalignedLoads: true },
  } as const;
  const registry = registryOf(room, guest, { host });
  await pool.ready();
  const executor = new EvaluatedExecutor({
    target: "gfx1013",
    subgroupSize: 32,
    seed: 1,
    artifact: ({ program, waveSize, partialThreads }) =>
      registry.use(program.address, computeAbi(program, waveSize, partialThreads), registry.snapshot()).artifact,
  });
  executor.attach(guest.memory);
  const record = guest.compute([...STEP]), shader = registry.registerShader(record), own = recordAbi(record)!;
  for (const threads of [32, 64, 16]) {
    const state = groupsOf(own, threads);
    if (threads !== 32) assertEquals(registry.resolveShaderAbi(shader, state), "queued");
    for (let i = 0; i < 64; i++) guest.memory.writeU32(data + 4n * BigInt(i), i);
    const program = { ...recordProgram(record), address: shader.code.address, numThreadsX: threads };
    executor.dispatch({
      program,
      userData: Uint32Array.of(Number(data & 0xffff_ffffn), Number(data >> 32n), 5, ...new Array(13).fill(0)),
      waveSize: 32,
      partialThreads: false,
      x: 1,
      y: 1,
      z: 1,
      place: {},
    });
    executor.drain();
    // STEP numbers its threads by groups of 64: x = 3 x + s2 for the threads of this one.
    for (let i = 0; i < 64; i++) {
      assertEquals(guest.memory.readU32(data + 4n * BigInt(i)), i < threads ? 3 * i + 5 : i, `${threads}, ${i}`);
    }
  }
  assert(await closePreparation(room, [pool], registry));
  assertEquals(room.artifacts.stats().created, 3);
  nothingLeft(room);
});
