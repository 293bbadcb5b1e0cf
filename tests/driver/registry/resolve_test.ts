import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { failureOf } from "../../../src/driver/pools/failures.ts";
import { keyOfRequest, noteFailure } from "../../../src/driver/pools/preparation.ts";
import { attachRoom } from "../../../src/driver/pools/room.ts";
import { computeAbi, recordAbi, type recordProgram, stageAbi } from "../../../src/driver/registry/abi.ts";
import { createInterpolantMapping } from "../../../src/driver/registry/interpolants.ts";
import { linkShaders } from "../../../src/driver/registry/link_shaders.ts";
import type { Resolution } from "../../../src/driver/registry/variant_maker.ts";
import { ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import { closePreparation } from "../../../src/driver/registry/shutdown.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { RefusedError } from "../../../src/errors.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { heldLocks } from "../../../src/sync/held_locks.ts";
import { setStepHook } from "../../../src/sync/steps.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import { waitCounts } from "../../../src/sync/waits.ts";
import { inFolder } from "../shader_cache/support.ts";
import {
  chainProgram,
  EXPORT_END,
  groupsOf,
  idleRoom,
  INTERPOLATE,
  literalProgram,
  nothingLeft,
  preparationPool,
  registryOf,
  S_ENDPGM,
  S_TRAP,
  ShaderGuest,
  work,
} from "./support.ts";

Deno.test("resolving returns at once: queued, then pending, then registered; the registration's own ABI is pending from the start", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const record = guest.compute(literalProgram(1)), own = recordAbi(record)!, other = groupsOf(own, 64);
  const shader = registry.registerShader(record);
  assertEquals(room.board.stats().queued, 1);
  assertEquals(registry.resolveShaderAbi(shader, own), "pending");
  assertEquals(registry.resolveShaderAbi(shader, other), "queued");
  assertEquals([registry.resolveShaderAbi(shader, other), room.board.stats().queued], ["pending", 2]);
  assertEquals(work(room), 2);
  assertEquals([own, other].map((state) => registry.resolveShaderAbi(shader, state)), ["registered", "registered"]);
  assertEquals([room.artifacts.stats().created, room.board.stats().queued], [2, 0]);
  nothingLeft(room);
});

Deno.test("a pixel shader with interpolants is not prepared when it is registered, one without is", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  registry.registerShader(guest.pixel(INTERPOLATE));
  assertEquals(room.board.stats().queued, 0);
  registry.registerShader(guest.pixel(EXPORT_END, []));
  assertEquals(room.board.stats().queued, 1);
  registry.registerShader(guest.vertex([S_ENDPGM]));
  assertEquals(room.board.stats().queued, 2);
});

Deno.test("everything that changes what a stage is recompiled to is another ABI: user data, mapping, exports, wave size", () => {
  const guest = new ShaderGuest();
  const record = guest.pixel(INTERPOLATE, [0x0f, 0x10f]), outputs = guest.vertex([S_ENDPGM], [0x0f, 0x10f]).outputs;
  const linked = [...createInterpolantMapping(outputs, record.inputs)].map((value, i) => ({
    offset: 0x191 + i,
    value,
  }));
  const sh = (offset: number, value: number) => ({
    ...record,
    shRegisters: record.shRegisters.map((each) => each.offset === offset ? { ...each, value } : each),
  });
  const keys = [
    stageAbi(record, linked),
    stageAbi(sh(0x00b, 6), linked), // user SGPRs
    stageAbi(sh(0x00a, 0xf0 << 12), linked), // FLOAT_MODE
    stageAbi(record, [...linked, { offset: 0x191, value: 1 }]), // the slot of an interpolant
    stageAbi(record, [...linked, { offset: 0x192, value: linked[1].value | 1 << 10 }]), // flat
    stageAbi(record, [...linked, { offset: 0x1c5, value: 4 }]), // export format
    stageAbi(record, [...linked, { offset: 0x1c4, value: 1 }]), // depth export
    stageAbi(record, [...linked, { offset: 0x1b6, value: 2 }]), // waves of 64
    stageAbi(record, [...linked, { offset: 0x1b6, value: 0x8001 }]), // interpolants
    stageAbi(record, [...linked, { offset: 0x1b3, value: 1 }]), // inputs
  ].map(({ key }) => key);
  assertEquals(new Set(keys).size, keys.length);
  assertEquals(stageAbi(record, [...linked].reverse()).key, keys[0], "whatever the order of the registers");
  const compute = recordAbi(guest.compute(literalProgram(1)))!,
    { program } = compute.state as { program: ReturnType<typeof recordProgram> };
  const more = [
    compute,
    computeAbi(program, 64, false),
    computeAbi(program, 32, true),
    computeAbi({ ...program, numThreadsY: 2 }, 32, false),
    computeAbi({ ...program, rsrc1: program.rsrc1 ^ 1 << 23 }, 32, false),
    computeAbi({ ...program, rsrc2: program.rsrc2 ^ 2 }, 32, false),
  ].map(({ key }) => key);
  assertEquals(new Set(more).size, more.length);
  assertEquals(computeAbi({ ...program, address: 0x1000n }, 32, false).key, compute.key, "the address is the shader's");
});

Deno.test("a pixel shader that fails only when it is built for its ABI: the call returns, repeated calls never throw, it is logged once, and using it fails", async () => {
  const guest = new ShaderGuest(), room = idleRoom();
  const pool = preparationPool(room, 2, { onLog: (line) => lines.push(line) }), lines: string[] = [];
  const registry = registryOf(room, guest);
  const record = guest.pixel([INTERPOLATE[0], S_TRAP, ...INTERPOLATE.slice(1)]),
    shader = registry.registerShader(record);
  const vertex = guest.vertex([S_ENDPGM]);
  const { context } = linkShaders({ geometry: vertex, pixel: record, primitiveType: 4 });
  const state = stageAbi(record, context);
  await pool.ready();
  assertEquals(registry.resolveShaderAbi(shader, state), "queued");
  const seen = new Set<string>();
  for (const end = performance.now() + 500; performance.now() < end;) {
    seen.add(registry.resolveShaderAbi(shader, state));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assertEquals([...seen].filter((each) => each !== "pending"), ["failed"]);
  assertEquals(lines.length, 1);
  assertStringIncludes(lines[0], shader.label);
  const { error, kind } = failureOf(room, keyOfRequest(registry.request(shader, state)).key)!;
  assertEquals([(error as RefusedError).name, kind], ["RefusedError", "failed"]);
  // The shader stays usable: with other code of its own it would be; with this state it fails at its use, each time.
  for (let i = 0; i < 2; i++) {
    const thrown = assertThrows(() => registry.use(shader.code.address, state, registry.snapshot()), RefusedError);
    assertEquals([thrown.code, thrown.message], [(error as RefusedError).code, (error as RefusedError).message]);
    assertStringIncludes(thrown.message, "s_trap");
  }
  assertEquals(registry.resolveShaderAbi(shader, state), "failed");
  assertEquals([lines.length, registry.lines.length], [1, 0]);
  assert(await closePreparation(room, [pool], registry));
  nothingLeft(room);
});

Deno.test("a failure is marked before the variant is free to be asked for: at no moment is it queued again", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const record = guest.compute([S_TRAP, S_ENDPGM]), own = recordAbi(record)!, shader = registry.registerShader(record);
  const seen: Resolution[] = [];
  let asking = false;
  setStepHook((point) => {
    if (asking || !point.startsWith("table.")) return;
    asking = true;
    // Not while the table's own lock is held: nobody could ask then.
    if (heldLocks() === 0) seen.push(registry.resolveShaderAbi(shader, own));
    asking = false;
  });
  try {
    work(room);
  } finally {
    setStepHook(undefined);
  }
  assertEquals([...new Set(seen)], ["pending", "failed"]);
  assertEquals([registry.resolveShaderAbi(shader, own), room.board.stats().queued], ["failed", 0]);
  nothingLeft(room);
});

Deno.test("a failure is logged once, however often it happens", () => {
  const guest = new ShaderGuest(), room = idleRoom(), lines: string[] = [];
  const registry = registryOf(room, guest), shader = registry.registerShader(guest.compute(literalProgram(1)));
  const { key } = keyOfRequest(registry.request(shader, recordAbi(shader.record)!));
  for (let i = 0; i < 3; i++) {
    noteFailure(room, key, "the shader", new Error(`fails\n  ${i}`), { log: (line) => lines.push(line) });
  }
  assertEquals(lines, ["the shader was not prepared in the background: fails; 0; it is tried again where it is used"]);
});

Deno.test("with APS5_SYNC_SHADER_PREPARE the call recompiles, and throws what the recompiler throws, each time", () => {
  const guest = new ShaderGuest(), room = idleRoom();
  const before = Deno.env.get("APS5_SYNC_SHADER_PREPARE");
  Deno.env.set("APS5_SYNC_SHADER_PREPARE", "1");
  try {
    const registry = registryOf(room, guest, { synchronous: undefined });
    const failing = registry.registerShader(guest.pixel([S_TRAP, ...INTERPOLATE]));
    const state = stageAbi(failing.record, []);
    for (let i = 0; i < 3; i++) assertThrows(() => registry.resolveShaderAbi(failing, state), RefusedError, "s_trap");
    assertThrows(() => registry.registerShader(guest.compute([S_TRAP, S_ENDPGM])), RefusedError, "s_trap");
    const good = registry.registerShader(guest.compute(literalProgram(1))), own = recordAbi(good.record)!;
    assertEquals(registry.resolveShaderAbi(good, own), "registered");
    assertEquals(registry.resolveShaderAbi(good, groupsOf(own, 64)), "prepared");
    assertEquals([room.board.stats().queued, room.artifacts.stats().created], [0, 2]);
  } finally {
    before === undefined
      ? Deno.env.delete("APS5_SYNC_SHADER_PREPARE")
      : Deno.env.set("APS5_SYNC_SHADER_PREPARE", before);
  }
  nothingLeft(room);
});

Deno.test("what planning finds wrong is the call's own error, and nothing is queued", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.pixel(INTERPOLATE));
  const compute = recordAbi(guest.compute(literalProgram(1)))!;
  assertEquals(assertThrows(() => registry.resolveShaderAbi(shader, compute), RefusedError).code, "registry.stage");
  assertThrows(() => stageAbi({ ...shader.record, shRegisters: [] }, []), RefusedError, "SPI_SHADER_PGM_RSRC1_PS");
  assertEquals([room.board.stats().queued, registry.lines.length], [0, 0]);
});

Deno.test("what an earlier run left is finished by the call: never a job", () =>
  inFolder((folder) => {
    const guest = new ShaderGuest(), record = guest.compute(literalProgram(1)), own = recordAbi(record)!;
    const other = groupsOf(own, 64);
    {
      const cache = new ShaderCache(folder), room = idleRoom(), registry = registryOf(room, guest, { cache });
      const shader = registry.registerShader(record), snapshot = registry.snapshot();
      for (const state of [own, other]) registry.use(shader.code.address, state, snapshot);
      cache.flush();
      assertEquals(cache.counts.written, 2);
    }
    const cache = new ShaderCache(folder), room = idleRoom(), registry = registryOf(room, guest, { cache });
    const waits = waitCounts(), locks = room.board.lockStats();
    const shader = registry.registerShader(record);
    assertEquals(registry.resolveShaderAbi(shader, own), "registered");
    assertEquals(registry.resolveShaderAbi(shader, other), "cached");
    assertEquals(registry.resolveShaderAbi(shader, other), "registered");
    assertEquals([room.board.lockStats(), waitCounts()], [locks, waits], "the board was not touched");
    assertEquals(registry.use(shader.code.address, other, registry.snapshot()).artifact.workgroupSize[0], 64);
    nothingLeft(room);
  }));

Deno.test("a cached variant that cannot be taken over is logged and marked, not thrown; using it recompiles", () =>
  inFolder((folder) => {
    class BrokenCache extends ShaderCache {
      override find(_: RecompileRequest): never {
        throw new TypeError("the cache is broken");
      }
    }
    const guest = new ShaderGuest(), room = idleRoom();
    const registry = registryOf(room, guest, { cache: new BrokenCache(folder) });
    const record = guest.compute(literalProgram(1)), own = recordAbi(record)!;
    const shader = registry.registerShader(record);
    for (let i = 0; i < 3; i++) assertEquals(registry.resolveShaderAbi(shader, own), "failed");
    assertEquals([registry.lines.length, room.board.stats().queued], [1, 0]);
    assertStringIncludes(registry.lines[0], "the cache is broken");
    assertEquals(registry.use(shader.code.address, own, registry.snapshot()).request.code[1], 1);
    assertEquals(registry.resolveShaderAbi(shader, own), "registered");
    nothingLeft(room);
  }));

Deno.test("a back half by itself is refused by its name, and nothing is queued; an empty one, too", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const halves = { "geometry-front": 4, "geometry-back": 6 };
  const [front, back] = Object.values(halves).map((type) =>
    registry.registerShader(guest.place(([low, high]) => ({
      type,
      code: [S_ENDPGM],
      specials: true,
      sh: [[0x088, low], [0x089, high], [0x08a, 0xc0 << 12], [0x08b, 6]],
      cx: [[0x1c3, 4], [0x1b1, 0]],
    })))
  );
  assertEquals([front.record.stage, back.record.stage], Object.keys(halves));
  const state = stageAbi(back.record, []), snapshot = registry.snapshot();
  for (
    const refused of [
      () => registry.resolveShaderAbi(back, state),
      () => registry.use(back.code.address, state, snapshot),
      () => registry.name(back.code.address, state, snapshot),
    ]
  ) {
    const error = assertThrows(
      refused,
      RefusedError,
      `the ${back.label} cannot be used by itself: it is the back half`,
    );
    assertEquals([error.code, error.place.guestAddress], ["registry.stage", back.code.address]);
  }
  assertEquals([room.board.stats().queued, room.artifacts.stats().pending, registry.lines], [0, 0, []]);
  assertEquals(registry.resolveShaderAbi(front, stageAbi(front.record, [])), "queued");
});

Deno.test("an idle pool and 96 misses: the loader returns while jobs are pending, and shutdown drains them", async () => {
  const guest = new ShaderGuest(1 << 23),
    room = idleRoom(),
    pool = preparationPool(room, 2),
    registry = registryOf(room, guest);
  await pool.ready();
  const vertex = guest.vertex([S_ENDPGM]);
  const shaders = Array.from(
    { length: 96 },
    (_, n) => registry.registerShader(guest.pixel([...chainProgram(n, 200).slice(0, -1), ...INTERPOLATE])),
  );
  assertEquals(room.board.stats().queued, 0);
  const states = shaders.map(({ record }) =>
    stageAbi(record, linkShaders({ geometry: vertex, pixel: record, primitiveType: 4 }).context)
  );
  const found = shaders.map((shader, n) => registry.resolveShaderAbi(shader, states[n]));
  const { queued, claimed } = room.board.stats();
  assertEquals(found, shaders.map(() => "queued"));
  assert(queued + claimed >= 1, `${queued} ${claimed}`);
  assert(await closePreparation(room, [pool], registry));
  const { artifacts, board } = { artifacts: room.artifacts.stats(), board: room.board.stats() };
  assertEquals([board.queued, board.claimed, artifacts.building, artifacts.pending], [0, 0, 0, 0]);
  assertEquals([artifacts.created, artifacts.failed], [96, 0]);
  assertEquals(assertThrows(() => registry.registerShader(vertex), SyncError).code, "registry.closed");
  assertEquals(assertThrows(() => registry.resolveShaderAbi(shaders[0], states[0]), SyncError).code, "registry.closed");
  nothingLeft(room);
});

Deno.test("what another isolate has queued, made, or failed to make is known", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const other = ShaderRegistry.attach(attachRoom(room.handle), registry.handle, {
    memory: guest.memory,
    synchronous: false,
  });
  const good = registry.registerShader(guest.compute(literalProgram(1)));
  const bad = registry.registerShader(guest.compute([S_TRAP, S_ENDPGM]));
  const asked = () =>
    [good, bad].map(({ index, code }) => {
      const shader = other.find(code.address, index + 1)!;
      shader.planned.clear(); // as one that has never asked
      return other.resolveShaderAbi(shader, recordAbi(shader.record)!);
    });
  assertEquals([asked(), room.board.stats().queued], [["pending", "pending"], 2]);
  work(room);
  assertEquals([asked(), room.board.stats().queued], [["registered", "failed"], 0]);
});
