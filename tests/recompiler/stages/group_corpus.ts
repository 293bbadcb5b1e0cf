/** The halves of OpenAGC's merged programs (corpus/openagc) as cases. */
import { type FusedShader, fuseShaderHalves } from "../../../src/driver/shader_halves.ts";
import type { AgcShaderSource } from "../../../src/guest/loaders/sb.ts";
import { loadSb } from "../../../src/guest/loaders/sb.ts";
import { USER_DATA_BANKS } from "../../../src/guest/loaders/agc_record.ts";
import { rawBufferDescriptor } from "../../../src/guest/harness/descriptors.ts";
import { corpusFile } from "../../support/corpus.ts";
import type { Random } from "../../support/random.ts";
import type { GroupCase } from "./group_frame.ts";

/** One-SGPR pointers get the high half 2. */
const BASE = 0x2_0000_0000n, TABLE = 0x2_0000_1000n, RINGS = 0x2_0000_6000n;
/** Where the vertices are: two floats and three. */
export const VERTICES = 0x2_0000_2000n, VERTEX_STRIDE = 20;

/** A record. */
export function loadRecord(name: string): AgcShaderSource {
  const file = corpusFile("openagc", name);
  return loadSb(file, Deno.readFileSync(file));
}

/** The two halves whose names are `name` with _front and _back. */
export function fusedPair(name: string): FusedShader {
  return fuseShaderHalves(loadRecord(`${name}_front.sb`), loadRecord(`${name}_back.sb`));
}

/** Values of the user data registers that the records have themselves, from the first merged one (s8) on. */
function recordUserData({ front, back }: FusedShader): number[] {
  const data: number[] = [];
  for (const { stage, abi } of [front, back] as AgcShaderSource[]) {
    const { register, count } = USER_DATA_BANKS[stage]!;
    for (const { offset, value } of abi.record.shRegisters) {
      if (offset >= register && offset < register + count) data[offset - register] = value;
    }
  }
  return Array.from(data, (word) => word ?? 0);
}

/** GE_CNTL: primitives of a group 8:0, vertices 17:9. */
function groupSizes({ back }: FusedShader): { primitives: number; vertices: number } {
  const { abi } = back as AgcShaderSource, { value } = abi.record.specials!.geControl;
  return { primitives: value & 0x1ff, vertices: value >>> 9 & 0x1ff };
}

/** What a case needs to know of a pair beside its records. */
export interface PairFacts {
  readonly corners: number;
  /** Vertices that the geometry shader makes of a primitive, once. */
  readonly slots?: number;
  /** Times that it runs for a primitive; each is a lane of its own, whose number is in v3. */
  readonly invocations?: number;
  /** A hull program: lanes have control points, and nothing is exported. */
  readonly hull?: boolean;
  /** The domain shader's vertices are points of a patch. */
  readonly tessellated?: boolean;
  /** The bit of the state word that counts primitives (GDS). */
  readonly counts?: boolean;
}

/** The case of a pair that is a merged group. */
export function groupCase(name: string, facts: PairFacts): GroupCase {
  const { corners, slots, invocations = 1, tessellated = false, hull = false, counts = false } = facts;
  const fused = fusedPair(name);
  if (fused.program.kind !== "group") throw new Error(`${name} is a vertex program`);
  const { group } = fused.program, sizes = groupSizes(fused);
  const userData = recordUserData(fused), bytes = new Uint8Array(0x8000), view = new DataView(bytes.buffer);
  for (const { name: what, sgpr } of [...fused.front.userSgprs, ...fused.back.userSgprs]) {
    if (what === "vertex_buffer_table") userData[sgpr - 8] = Number(TABLE & 0xffff_ffffn);
  }
  const put = (address: bigint, words: readonly number[]) =>
    words.forEach((word, k) => view.setUint32(Number(address - BASE) + 4 * k, word, true));
  // A float4 and a float for each vertex.
  put(TABLE, [Number(VERTICES & 0xffff_ffffn), Number(VERTICES >> 32n) | VERTEX_STRIDE << 16, 64, 0x1101_4fac]);
  for (let k = 0; k < 64 * VERTEX_STRIDE / 4; k++) {
    view.setFloat32(Number(VERTICES - BASE) + 4 * k, k % 37 / 8 - 2, true);
  }
  // Rings of tessellation: off-chip at 0x60, factors at 0x50.
  put(RINGS + 0x50n, rawBufferDescriptor(RINGS + 0x400n, 0x800));
  put(RINGS + 0x60n, rawBufferDescriptor(RINGS + 0xc00n, 0x1000));
  const state = fused.back.userSgprs.length === 0 ? -1 : 13;
  if (counts) userData[state] = 1 << 6;
  const scalars: Record<number, number> = { 0: Number(RINGS & 0xffff_ffffn), 1: Number(RINGS >> 32n), 4: 0 };
  // Of a hull program s2 is where the group's part of the off-chip ring begins, s4 that of the factors.
  if (hull) scalars[2] = 0x40;
  const vectors: Record<number, (thread: number, random: Random) => number> = {};
  if (tessellated) vectors[5] = vectors[6] = (_, random) => bitsOf(random.below(65) / 64);
  // The patch's number in the group 7:0, the control point's 12:8 (Mesa, radv_shader_args.c: tcs_rel_ids).
  if (hull) vectors[1] = (thread) => Math.floor(thread / corners) | thread % corners << 8;
  if (invocations > 1) vectors[3] = (_, random) => random.below(invocations) | random.u32() << 5;
  return {
    name,
    code: fused.code,
    program: group,
    target: fused.front.target,
    userData,
    memory: [{ address: BASE, bytes }],
    // Control points of a hull program are in one wave here: what several write to a ring depends on their order.
    vertices: hull ? 32 : Math.min(sizes.vertices || 96, 250),
    primitives: hull ? 32 : Math.min((sizes.primitives || 96) * invocations, 250),
    corners,
    slots,
    vectors,
    scalars,
  };
}

function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0];
}
