/** Merged groups, run twice: all waves on the interpreter, and the recompiled workgroup on the evaluator. */
import { GDS_BYTES } from "../../../src/rdna/gds.ts";
import { assert, assertEquals } from "@std/assert";
import { type Export, runStageGroup } from "../../../src/rdna/interpreter/mod.ts";
import { GDS_ADDRESS, GROUP_ADDRESS, Push } from "../../../src/recompiler/abi.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { type GroupProgram, groupRequest } from "../../../src/recompiler/stages/group_program.ts";
import { Random } from "../../support/random.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import type { DeviceMemory } from "../../support/spirv_eval/memory.ts";
import { parseSpirv } from "../../support/spirv_eval/parse.ts";
import { evaluateDispatch } from "../../support/spirv_eval/workgroup.ts";
import { checked, CODE, contextOf, machineOf, type ProgramCase, userDataOf, withImages } from "./stage_case.ts";

/** A merged group's program to run. */
export interface GroupCase extends ProgramCase {
  readonly program: GroupProgram;
  /** Vertices and primitives of a group at most. */
  readonly vertices: number;
  readonly primitives: number;
  /** Vertices of a primitive. */
  readonly corners: number;
  /** Vertices that a lane with a primitive makes at most, of a program with a geometry shader: gs_tg_info counts those then. */
  readonly slots?: number;
  /** Words of v0 to v8 that are not the usual ones, by register; of a thread's number. */
  readonly vectors?: Readonly<Record<number, (thread: number, random: Random) => number>>;
  /** Words of s0 to s7 that are not the usual ones. */
  readonly scalars?: Readonly<Record<number, number>>;
}

/** What the hardware loads for a group. */
export interface LaunchedGroup {
  readonly vertices: number;
  readonly primitives: number;
  /** s0 to s7 of each wave. */
  readonly scalars: readonly (readonly number[])[];
  /** v0 to v8: words by thread. */
  readonly vectors: readonly (readonly number[])[];
  /** Numbers of each primitive's vertices in the group. */
  readonly corners: readonly (readonly number[])[];
}

/** SGPRs and VGPRs that are loaded, and words of the window before the records. */
const SCALARS = 8, VECTORS = 9, USER_WORDS = 16;

/**
 * A group with random numbers in everything that the program must not look at. s2 is gs_tg_info, s3 merged_wave_info; v0 and v1 have the numbers of a
 * primitive's vertices, 16 bits each (v0 first and second, v1 third), v2 the primitive's number, v5 the vertex's, v8 its instance's (Mesa, radv_shader_args.c).
 */
export function launchedGroup(c: GroupCase, random: Random): LaunchedGroup {
  const { waveSize, threads } = c.program, waves = threads / waveSize;
  const vertices = c.corners + random.below(c.vertices - c.corners + 1), primitives = random.below(c.primitives + 1);
  const corners = Array.from(
    { length: primitives },
    () => Array.from({ length: c.corners }, () => random.below(vertices)),
  );
  const noise = () => random.u32();
  const here = (count: number, wave: number) => Math.max(0, Math.min(waveSize, count - wave * waveSize));
  const scalars = Array.from({ length: waves }, (_, wave) => {
    const words = Array.from({ length: SCALARS }, noise);
    words[2] =
      ((c.slots === undefined ? vertices : primitives * c.slots) << 12 | primitives << 22 | random.below(0x1000)) >>> 0;
    words[3] = (here(vertices, wave) | here(primitives, wave) << 8 | wave << 24 | waves << 28) >>> 0;
    for (const [s, word] of Object.entries(c.scalars ?? {})) words[Number(s)] = word;
    return words;
  });
  const usual: Record<number, (thread: number, random: Random) => number> = {
    0: (thread) => thread < primitives ? corners[thread][0] | (corners[thread][1] ?? 0) << 16 : noise(),
    1: (thread) => thread < primitives ? corners[thread][2] ?? 0 : noise(),
    5: () => random.below(16),
    8: () => random.below(4),
    ...c.vectors,
  };
  const vectors = Array.from(
    { length: VECTORS },
    (_, v) => Array.from({ length: threads }, (_, thread) => (usual[v] ?? noise)(thread, random) >>> 0),
  );
  return { vertices, primitives, scalars, vectors, corners };
}

/** What a group has exported: words by thread. */
export interface GroupResult {
  /** M0 of its request for space; 0 where there was none. */
  allocation: number;
  /** By target (20 is the primitive), then four words a thread (of a primitive one); zeros where nothing was exported. */
  exports: Map<number, number[]>;
  memory: Uint8Array[];
  gds: Uint8Array;
}

/** Targets that are told apart: all that a merged group may export to. */
const PRIMITIVE = 20;

/** Runs a group on the interpreter. */
export function interpretedGroup(c: GroupCase, group: LaunchedGroup): GroupResult {
  const { floatMode, ieee, dx10Clamp, waveSize, ldsBytes, threads } = c.program;
  const { machine, memory } = machineOf(c), gds = new Uint8Array(GDS_BYTES), next = c.program.group.next;
  const user = userDataOf(c);
  if (next !== undefined) user[next.sgpr - SCALARS] = Number((CODE + BigInt(next.offset)) & 0xffff_ffffn);
  const result = runStageGroup({
    codeAddress: CODE,
    target: c.target ?? "gfx1030",
    ...{ waveSize, floatMode, ieee, dx10Clamp, ldsBytes },
    waves: group.scalars.map((scalars, wave) => ({
      exec: (1n << BigInt(waveSize)) - 1n,
      scalars: [...scalars, ...user],
      vectors: group.vectors.map((words) => words.slice(wave * waveSize, (wave + 1) * waveSize)),
    })),
  }, { ...machine, gds });
  assertEquals(result.fault, null, c.name);
  assert(result.messages.length <= 1, `${c.name}: a group asks for space once`);
  assert(result.messages.every(({ id }) => id === 9), c.name);
  const exports = new Map<number, number[]>();
  result.exports.forEach((list, wave) => list.forEach((each) => note(exports, each, wave * waveSize, threads)));
  return { allocation: result.messages[0]?.m0 ?? 0, exports, memory, gds };
}

function note(exports: Map<number, number[]>, { target, mask, exec, values }: Export, first: number, threads: number) {
  const size = target === PRIMITIVE ? 1 : 4;
  const words = exports.get(target) ?? new Array<number>(threads * size).fill(0);
  exports.set(target, words);
  for (let lane = 0; lane < values[0].length; lane++) {
    if ((exec >> BigInt(lane) & 1n) === 0n) continue;
    for (let k = 0; k < size; k++) {
      if (mask >> k & 1) words[(first + lane) * size + k] = values[k][lane] >>> 0;
    }
  }
}

/** The request of a case. */
export function groupRequestOf(c: GroupCase, device: RecompilerDevice): RecompileRequest {
  const request = groupRequest(c.program, c.code, CODE, c.target ?? "gfx1030", device);
  return withImages(c, { ...request, windows: 8 });
}

/** What runs the modules of groups. */
export interface GroupHost {
  /** Device address of some memory; the evaluator's when left out. */
  addressOf?(bytes: Uint8Array<ArrayBuffer>): bigint;
  /** Dispatches as many workgroups. */
  run(artifact: Artifact, memory: DeviceMemory, push: DataView, groups: number): void;
}

/** The evaluator, with subgroups of so many lanes. */
function evaluatorOf(subgroupSize: number, random: Random): GroupHost {
  return {
    run: ({ spirv }, memory, push, groups) =>
      evaluateDispatch({ module: parseSpirv(spirv), memory, push, groups: [groups, 1, 1], subgroupSize, random }),
  };
}

/** Runs groups on the evaluator, as one dispatch. */
export function evaluatedGroups(
  c: GroupCase,
  artifact: Artifact,
  groups: readonly LaunchedGroup[],
  subgroupSize: number,
  random: Random,
) {
  return runGroups(c, artifact, groups, evaluatorOf(subgroupSize, random));
}

/** Runs groups as one dispatch. */
function runGroups(
  c: GroupCase,
  artifact: Artifact,
  groups: readonly LaunchedGroup[],
  host: GroupHost,
): { results: Omit<GroupResult, "memory" | "gds">[]; memory: Uint8Array[]; gds: Uint8Array } {
  const layout = artifact.group!, { threads } = layout;
  const gds = new Uint8Array(GDS_BYTES);
  const window = new Uint8Array(4 * USER_WORDS + groups.length * layout.bytes), view = new DataView(window.buffer);
  const user = userDataOf(c), pushed = user.splice(0, USER_WORDS);
  user.forEach((word, k) => view.setUint32(4 * k, word, true));
  groups.forEach(({ scalars, vectors }, n) => {
    const record = 4 * USER_WORDS + n * layout.bytes;
    scalars.flat().forEach((word, k) => view.setUint32(record + layout.scalars + 4 * k, word, true));
    vectors.flat().forEach((word, k) => view.setUint32(record + layout.vectors + 4 * k, word, true));
  });
  const { memory, bytes, address } = contextOf(c, [
    { address: GROUP_ADDRESS, bytes: window },
    { address: GDS_ADDRESS, bytes: gds },
  ], host.addressOf?.bind(host));
  const push = new DataView(new ArrayBuffer(Push.Bytes));
  for (let at = 0; at < Push.Bytes; at += 4) push.setUint32(at, 0xfeed_0000 + at, true);
  push.setBigUint64(Push.Context, address, true);
  pushed.forEach((word, k) => push.setUint32(Push.UserData + 4 * k, word, true));
  host.run(artifact, memory, push, groups.length);
  const words = (at: number, count: number) =>
    Array.from({ length: count }, (_, k) => view.getUint32(at + 4 * k, true));
  const results = groups.map((_, n) => {
    const record = 4 * USER_WORDS + n * layout.bytes;
    const exports = new Map([[PRIMITIVE, words(record + layout.primitives, threads)]]);
    layout.targets.forEach((target, k) =>
      exports.set(target, words(record + layout.exports + k * threads * 16, 4 * threads))
    );
    return { allocation: words(record + layout.allocation, 1)[0], exports };
  });
  return { results, memory: bytes(), gds };
}

/** How groups are compared. */
export interface GroupRuns {
  /** Each is a dispatch of `groups` groups. */
  readonly seeds?: readonly number[];
  readonly groups?: number;
  /** Lanes of the device's subgroups, and the lane mode that is asked for. */
  readonly devices?: readonly (readonly [lanes: number, mode?: RecompilerDevice["laneMode"]])[];
  /** A device at hand, in place of the evaluator's. */
  readonly host?: { readonly device: RecompilerDevice; readonly host: GroupHost };
}

/** Compares a merged group on the interpreter and on the evaluator. @returns groups that were compared, and what they have exported */
export function compareGroups(c: GroupCase, runs: GroupRuns = {}): { groups: number; results: GroupResult[] } {
  const { seeds = [1], groups: count = 2, devices = [[32], [8]] } = runs;
  const artifacts = runs.host !== undefined
    ? [{ lanes: 0, artifact: recompiled(c, runs.host.device) }]
    : devices.map(([lanes, laneMode]) => {
      const device = { ...evaluatedDevice(lanes), ...(laneMode === undefined ? {} : { laneMode }) };
      return { lanes, artifact: recompiled(c, device) };
    });
  const results: GroupResult[] = [];
  for (const seed of seeds) {
    const random = new Random(seed), launched = Array.from({ length: count }, () => launchedGroup(c, random));
    // What the groups of a dispatch leave in memory together: one after the other on the interpreter.
    let memory = (c.memory ?? []).map(({ bytes }) => bytes), gds = new Uint8Array(GDS_BYTES);
    const expected = launched.map((group) => {
      const windows = c.memory?.map((window, k) => ({ ...window, bytes: memory[k] }));
      const result = interpretedGroup({ ...c, memory: windows }, group);
      memory = result.memory;
      gds = addWords(gds, result.gds);
      return result;
    });
    for (const { artifact, lanes } of artifacts) {
      const where = `${c.name}, ${artifact.laneMode}, seed ${seed}`;
      const host = runs.host?.host ?? evaluatorOf(artifact.subgroupSize ?? lanes, random);
      const actual = runGroups(c, artifact, launched, host);
      actual.results.forEach((result, n) => assertGroup(result, expected[n], `${where}, group ${n}`));
      assertEquals(actual.memory, memory, `${where}: memory`);
      assertEquals(actual.gds, gds, `${where}: GDS`);
      results.push(...expected);
    }
  }
  return { groups: results.length, results };
}

function recompiled(c: GroupCase, device: RecompilerDevice): Artifact {
  return checked(c.name, recompile(groupRequestOf(c, device)));
}

function assertGroup(actual: Pick<GroupResult, "allocation" | "exports">, expected: GroupResult, where: string): void {
  assertEquals(actual.allocation, expected.allocation, `${where}: space`);
  for (const [target, words] of actual.exports) {
    const other = expected.exports.get(target);
    if (other === undefined) assert(words.every((word) => word === 0), `${where}: target ${target}`);
    else assertEquals(words.map(canonical), other.map(canonical), `${where}: target ${target}`);
  }
  for (const target of expected.exports.keys()) assert(actual.exports.has(target), `${where}: target ${target}`);
}

/** Sums of words: what atomic additions to zeros leave. */
function addWords(a: Uint8Array<ArrayBuffer>, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const result = new Uint32Array(a.buffer.slice(0)), other = new Uint32Array(b.slice().buffer);
  other.forEach((word, k) => result[k] += word);
  return new Uint8Array(result.buffer);
}

/** The bits of all NaN are one here: nobody says which NaN it is. */
function canonical(bits: number): number {
  return (bits & 0x7f80_0000) === 0x7f80_0000 && (bits & 0x7f_ffff) !== 0 ? 0x7fc0_0000 : bits;
}
