/** Guests with shader records, and what makes registries over them. */
import { assertEquals } from "@std/assert";
import { runRecompileJob } from "../../../src/driver/pools/preparation.ts";
import { createRoom, Pool, type Room } from "../../../src/driver/pools/room.ts";
import { WorkerPool, type WorkerPoolOptions } from "../../../src/driver/pools/worker_pool.ts";
import { type Abi, computeAbi } from "../../../src/driver/registry/abi.ts";
import type { RegisteredShader } from "../../../src/driver/registry/programs.ts";
import { type RegistryOptions, ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import { readShaderRecord } from "../../../src/guest/agc_shader.ts";
import type { AgcShaderRecord } from "../../../src/guest/loaders/agc_record.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { heldLocks } from "../../../src/sync/held_locks.ts";
import { buildRecord, type RecordParts } from "../../guest/support/records.ts";

/** Where shaders lie. */
export const SHADERS = 0x2_0000_0000n;
const PAGE = 4096;

export const S_ENDPGM = 0xbf81_0000;
/** s_trap 2: not recompiled, whatever the state (SOPP 18). */
export const S_TRAP = 0xbf92_0002;

/** v_mov_b32 v0, literal; s_endpgm: a different program for each literal. */
export function literalProgram(literal: number): number[] {
  return [0x7e00_02ff, literal >>> 0, S_ENDPGM];
}

/** A chain of `count` additions and multiplications of v5 behind a literal, whose end nobody uses. */
export function chainProgram(literal: number, count: number): number[] {
  const code = [0x7e0a_02ff, literal >>> 0]; // v_mov_b32 v5, literal
  // v_add_f32 v5, v5, v5 (VOP2 3); v_mul_f32 v5, v5, v5 (VOP2 8): opcode 30:25, vdst 24:17, vsrc1 16:9, src0 8:0.
  for (let i = 0; i < count; i++) code.push((i % 2 === 0 ? 3 : 8) << 25 | 5 << 17 | 5 << 9 | 0x105);
  return [...code, S_ENDPGM];
}

/** v_mov_b32 v5, 1.0; exp mrt0 v5, v5, v5, v5 done vm; s_endpgm. EXP: 31:26 = 62, vm 12, done 11, target 9:4, enable 3:0. */
export const EXPORT_END = [0x7e0a_02f2, 0xf800_180f, 0x0505_0505, S_ENDPGM];

/** Interpolates the first attribute's x with v0, v1 and exports it. VINTRP: 31:26 = 50, vdst 25:18, op 17:16, attribute 15:10, channel 9:8, vsrc 7:0. */
export const INTERPOLATE: number[] = [
  0xbefc_0302, // s_mov_b32 m0, s2: the primitive mask, behind two user SGPRs
  0xc808_0000, // v_interp_p1_f32 v2, v0, attr0.x
  0xc809_0001, // v_interp_p2_f32 v2, v1, attr0.x
  0xf800_180f, // exp mrt0 v2, v2, v2, v2 done vm
  0x0202_0202,
  S_ENDPGM,
];

const words = (address: bigint): [number, number] => [Number(address >> 8n & 0xffff_ffffn), Number(address >> 40n)];

/** A guest with room for shaders. */
export class ShaderGuest {
  readonly memory = new GuestMemory(new ArrayAllocator());
  #next = SHADERS;

  constructor(bytes = 1 << 22) {
    this.memory.map(SHADERS, bytes, 7, "shaders");
  }

  /** Puts a record with its code into memory; `address` fills the registers of the code's address. */
  place(make: (address: [low: number, high: number]) => RecordParts, at = this.#next): AgcShaderRecord {
    const form = { form: "absolute", base: at } as const;
    const { codeOffset } = buildRecord(make([0, 0]), form);
    const { bytes } = buildRecord(make(words(at + BigInt(codeOffset))), form);
    this.memory.initialize(at, bytes);
    if (at === this.#next) this.#next += BigInt(Math.ceil(bytes.length / PAGE) * PAGE);
    return readShaderRecord(this.memory, at, "absolute");
  }

  /** A compute shader with groups of `threads`, waves of 32 and user data in s0 to s2. */
  compute(
    code: number[],
    { threads = 32, userSgprs = 3, at }: { threads?: number; userSgprs?: number; at?: bigint } = {},
  ) {
    return this.place(([low, high]) => ({
      type: 0,
      code,
      specials: true,
      dispatchModifier: 0x8000,
      sh: [[0x207, threads], [0x208, 1], [0x209, 1], [0x20c, low], [0x20d, high], [0x212, 0xc0 << 12 | 1 << 21], [
        0x213,
        userSgprs << 1 | 1 << 7,
      ]],
    }), at);
  }

  /** A pixel shader with an interpolant for each input semantic. */
  pixel(code: number[], inputs: number[] = [0x0f], at?: bigint) {
    return this.place(([low, high]) => ({
      type: 1,
      code,
      inputs,
      sh: [[0x008, low], [0x009, high], [0x00a, 0xc0 << 12], [0x00b, 4]],
      // SPI_PS_INPUT_ENA and _ADDR: perspective centre; one target of four f32 numbers.
      cx: [[0x1b3, 2], [0x1b4, 2], [0x1b6, 0x8000 | inputs.length], [0x1c5, 9], [0x08f, 0xf], [0x203, 0x10]],
    }), at);
  }

  /** A vertex shader as NGG has it, with these output semantics. */
  vertex(code: number[], outputs: number[] = [0x0f]) {
    return this.place(([low, high]) => ({
      type: 2,
      code,
      outputs,
      specials: true,
      sh: [[0x0c8, low], [0x0c9, high], [0x08a, 0xc0 << 12], [0x08b, 6]],
      cx: [[0x1c3, 4], [0x1b1, 0]],
    }));
  }
}

/** A room without workers: what is queued stays queued. */
export function idleRoom(workers = 2): Room {
  return createRoom({ workers: [workers, 1, 1], arenaBytes: 1 << 28 });
}

/** Lines of a log. */
export interface Logged {
  readonly lines: string[];
}

/** A registry over a guest, with its log. */
export function registryOf(
  room: Room,
  { memory }: ShaderGuest,
  options: Partial<RegistryOptions> = {},
): ShaderRegistry & Logged {
  const lines: string[] = [];
  const registry = ShaderRegistry.create(room, {
    host: { target: "gfx1013", device: GENERIC_DEVICE },
    memory,
    log: (line) => lines.push(line),
    synchronous: false,
    ...options,
  });
  return Object.assign(registry, { lines });
}

/** Starts the preparation workers of a room. */
export function preparationPool(room: Room, workers: number, options: Partial<WorkerPoolOptions> = {}): WorkerPool {
  const module = new URL("../../../src/workers/preparation.ts", import.meta.url);
  return new WorkerPool(room, { name: "preparation", module, pool: Pool.Preparation, workers, ...options });
}

/** Address of a shader's code, as a draw names it. */
export function addressOf({ code }: RegisteredShader): bigint {
  return code.address;
}

/** The ABI of a compute shader's record, with groups of another size: another variant. */
export function groupsOf(abi: Abi, threads: number): Abi {
  const { state } = abi;
  if (state.stage !== "compute") throw new Error("compute only");
  return computeAbi({ ...state.program, numThreadsX: threads }, state.waveSize, state.partialThreads);
}

/** Runs what is queued, as a worker would. */
export function work(room: Room, log: (line: string) => void = () => {}): number {
  let done = 0;
  for (let job; (job = room.board.tryTake(Pool.Preparation)) !== undefined; done++) runRecompileJob(room, job, { log });
  return done;
}

/** A room's pins are all given back, and nothing is wrong with its structures. */
export function nothingLeft(room: Room) {
  assertEquals([room.artifacts.stats().pins, room.failures.stats().pins, room.arena.stats().pins], [0, 0, 0]);
  assertEquals([room.board.check(), room.artifacts.check(), room.failures.check(), room.arena.check(), heldLocks()], [
    undefined,
    undefined,
    undefined,
    undefined,
    0,
  ]);
}
