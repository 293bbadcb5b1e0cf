/**
 * Reads what RADV of Mesa 22.3.6 puts into a pipeline cache: one entry for each pipeline, with the machine code and the register configuration
 * of each stage. Offsets are facts of that version's structures on x86-64: vk_pipeline_cache_header, `struct cache_entry`
 * (radv_pipeline_cache.c), `struct radv_shader_binary_legacy`, `struct radv_shader_info` (radv_shader.h), `struct ac_shader_config`
 * (ac_binary.h). Another version has other offsets, so the caller checks the version first.
 *
 * @module
 */
import { InvalidInputError } from "../../../src/errors.ts";

/** Version of Mesa whose structures are read, as VkPhysicalDeviceDriverProperties names it. */
export const MESA_VERSION = "Mesa 22.3.6";

/** Byte offsets in a cache entry; `bytes` is its size, then come the binaries. */
export const ENTRY = { binarySizes: 20, stackSizes: 76, bytes: 200 } as const;
/** Stages of a cache entry, and the number of the compute stage (gl_shader_stage). */
export const STAGES = 14;
const COMPUTE = 5;

/** Byte offsets in a binary. */
export const BINARY = {
  type: 0,
  stage: 4,
  numSgprs: 12,
  numVgprs: 16,
  numSharedVgprs: 20,
  spilledSgprs: 24,
  spilledVgprs: 28,
  ldsBlocks: 32,
  floatMode: 44,
  scratchBytesPerWave: 48,
  rsrc1: 52,
  rsrc2: 56,
  rsrc3: 60,
  inlinePushMask: 64,
  setsUsed: 76,
  waveSize: 83,
  setSgprs: 88,
  shaderDataSgprs: 152,
  workgroupSize: 296,
  usesGroupId: 773,
  usesThreadId: 776,
  usesLocalIndex: 779,
  blockSize: 780,
  totalBytes: 1296,
  codeBytes: 1304,
  execBytes: 1308,
  irBytes: 1312,
  disassemblyBytes: 1316,
  statisticsBytes: 1320,
  data: 1324,
  /** Size of the structure; the data begin in its padding. */
  bytes: 1328,
} as const;

/** Descriptor sets that a binary has places for. */
const SETS = 32;
/** Bytes of one unit of LDS in ac_shader_config.lds_size. */
const LDS_BLOCK_BYTES = 512;

/** User data of compute stages by its number in `enum radv_ud_index`, in the words of the corpus. */
const USER_DATA: Readonly<Record<number, string>> = {
  0: "ring_offsets",
  1: "push_constants_ptr",
  2: "inline_push_constants",
  3: "indirect_descriptor_sets_ptr",
  11: "grid_size",
  12: "sbt_descriptors",
  13: "ray_launch_size_addr",
  14: "ray_dynamic_callable_stack_base",
};
const USER_DATA_COUNT = 18;

/** A run of user SGPRs. */
export interface UserData {
  readonly name: string;
  /** Descriptor set, for `descriptor_set_ptr`. */
  readonly set?: number;
  /** First SGPR. */
  readonly sgpr: number;
  /** SGPRs. */
  readonly count: number;
}

/** A compute stage as RADV would upload it. */
export interface ComputeBinary {
  /** Code and the constants behind it. */
  readonly code: Uint8Array;
  /** Bytes of `code` that are instructions. */
  readonly execBytes: number;
  readonly waveSize: number;
  /** Lanes of a workgroup. */
  readonly workgroupLanes: number;
  readonly workgroupSize: readonly [number, number, number];
  readonly numSgprs: number;
  readonly numVgprs: number;
  readonly numSharedVgprs: number;
  readonly spilledSgprs: number;
  readonly spilledVgprs: number;
  readonly ldsBytes: number;
  readonly scratchBytesPerWave: number;
  /** FLOAT_MODE field of COMPUTE_PGM_RSRC1. */
  readonly floatMode: number;
  /** COMPUTE_PGM_RSRC1 to 3. */
  readonly rsrc: readonly [number, number, number];
  readonly userData: readonly UserData[];
  /** Bit i set: push-constant dword i is in user SGPRs. */
  readonly inlinePushMask: bigint;
  /** Bit i set: descriptor set i is used. */
  readonly setsUsed: number;
  /** Workgroup ids x, y, z that the code reads. */
  readonly usesGroupId: readonly boolean[];
  /** Thread ids x, y, z that the code reads. */
  readonly usesThreadId: readonly boolean[];
  /** The code reads the SGPR that tells a wave its place in the workgroup. */
  readonly usesLocalIndex: boolean;
}

/**
 * The compute stage in a pipeline cache that holds exactly one pipeline.
 *
 * @param data what vkGetPipelineCacheData gives
 * @throws {InvalidInputError} `radv.cache-data` when it is not what Mesa 22.3.6 writes for one compute pipeline
 */
export function readComputeBinary(data: Uint8Array): ComputeBinary {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const check = (condition: boolean, what: string, at: number) => {
    if (!condition) {
      throw new InvalidInputError("radv.cache-data", `the pipeline cache is not what ${MESA_VERSION} writes: ${what}`, {
        fileOffset: at,
      });
    }
  };
  check(data.length >= 32, `${data.length} bytes`, 0);
  const entry = view.getUint32(0, true);
  check(entry === 32, `a header of ${entry} bytes`, 0);
  check(data.length > entry, "it has no entry", entry);
  check(data.length >= entry + ENTRY.bytes + BINARY.bytes, "its entry is cut off", data.length);
  const sizes = Array.from({ length: STAGES }, (_, i) => view.getUint32(entry + ENTRY.binarySizes + 4 * i, true));
  const size = sizes[COMPUTE];
  check(sizes.every((bytes, i) => (i === COMPUTE) === (bytes !== 0)), `stages of ${sizes} bytes`, entry);
  check(view.getUint32(entry + ENTRY.stackSizes, true) === 0, "stack sizes", entry + ENTRY.stackSizes);
  const start = entry + ENTRY.bytes;
  check(Math.ceil((start + size) / 8) * 8 === data.length, `${data.length} bytes, an entry of ${size}`, start);

  const u8 = (at: number) => view.getUint8(start + at), u32 = (at: number) => view.getUint32(start + at, true);
  const flag = (at: number) => {
    check(u8(at) <= 1, `a truth value of ${u8(at)}`, start + at);
    return u8(at) === 1;
  };
  check(u32(BINARY.type) === 0, `a binary of type ${u32(BINARY.type)}`, start);
  check(u32(BINARY.stage) === COMPUTE, `stage ${u32(BINARY.stage)}`, start + BINARY.stage);
  check(u32(BINARY.totalBytes) === size, `a binary of ${u32(BINARY.totalBytes)} bytes`, start + BINARY.totalBytes);
  const [codeBytes, execBytes] = [u32(BINARY.codeBytes), u32(BINARY.execBytes)];
  const rest = u32(BINARY.irBytes) + u32(BINARY.disassemblyBytes), statistics = u32(BINARY.statisticsBytes);
  check(BINARY.bytes + codeBytes + rest + statistics === size, `code of ${codeBytes} bytes`, start + BINARY.codeBytes);
  check(execBytes <= codeBytes && codeBytes % 4 === 0 && execBytes % 4 === 0, `${execBytes} bytes to execute`, start);
  const code = start + BINARY.data + statistics;
  const rsrc2 = u32(BINARY.rsrc2);
  const userData = userDataOf((at) => view.getInt8(start + at), u8);
  const userSgprs = userData.reduce((end, { sgpr, count }) => Math.max(end, sgpr + count), 0);
  check(userSgprs === userSgprCount(rsrc2), `${userSgprs} user SGPRs, rsrc2 0x${rsrc2.toString(16)}`, start);
  return {
    code: data.slice(code, code + codeBytes),
    execBytes,
    waveSize: u8(BINARY.waveSize),
    workgroupLanes: u32(BINARY.workgroupSize),
    workgroupSize: [u32(BINARY.blockSize), u32(BINARY.blockSize + 4), u32(BINARY.blockSize + 8)],
    numSgprs: u32(BINARY.numSgprs),
    numVgprs: u32(BINARY.numVgprs),
    numSharedVgprs: u32(BINARY.numSharedVgprs),
    spilledSgprs: u32(BINARY.spilledSgprs),
    spilledVgprs: u32(BINARY.spilledVgprs),
    ldsBytes: u32(BINARY.ldsBlocks) * LDS_BLOCK_BYTES,
    scratchBytesPerWave: u32(BINARY.scratchBytesPerWave),
    floatMode: u32(BINARY.floatMode),
    rsrc: [u32(BINARY.rsrc1), rsrc2, u32(BINARY.rsrc3)],
    userData,
    inlinePushMask: inlinePushMask(view.getBigUint64(start + BINARY.inlinePushMask, true), userData),
    setsUsed: u32(BINARY.setsUsed),
    usesGroupId: [0, 1, 2].map((i) => flag(BINARY.usesGroupId + i)),
    usesThreadId: [0, 1, 2].map((i) => flag(BINARY.usesThreadId + i)),
    usesLocalIndex: flag(BINARY.usesLocalIndex),
  };
}

/** User SGPRs that COMPUTE_PGM_RSRC2 names (AMD register headers: USER_SGPR, bits 1 to 5). */
export function userSgprCount(rsrc2: number): number {
  return rsrc2 >>> 1 & 0x1f;
}

/** The pairs of first SGPR (-1: none) and count, in the order of the enumeration; then the sets. */
export function userDataOf(
  i8: (at: number) => number,
  u8: (at: number) => number,
  names: Readonly<Record<number, string>> = USER_DATA,
): UserData[] {
  const found = Array.from({ length: USER_DATA_COUNT }, (_, i): UserData[] => {
    const at = BINARY.shaderDataSgprs + 2 * i;
    return i8(at) < 0 ? [] : [{ name: names[i] ?? `user_data_${i}`, sgpr: i8(at), count: u8(at + 1) }];
  });
  return [...found.flat(), ...setPointers(i8, u8)];
}

function setPointers(i8: (at: number) => number, u8: (at: number) => number): UserData[] {
  return Array.from({ length: SETS }, (_, set): UserData[] => {
    const at = BINARY.setSgprs + 2 * set;
    return i8(at) < 0 ? [] : [{ name: "descriptor_set_ptr", set, sgpr: i8(at), count: u8(at + 1) }];
  }).flat();
}

/** The mask of a binary names every dword that could be inlined; when there are too few SGPRs, those with the highest numbers are left out. */
function inlinePushMask(candidates: bigint, userData: readonly UserData[]): bigint {
  let left = userData.find(({ name }) => name === "inline_push_constants")?.count ?? 0;
  let mask = 0n;
  for (let i = 0n; i < 64n && left > 0; i++) {
    if ((candidates >> i & 1n) === 0n) continue;
    mask |= 1n << i;
    left--;
  }
  return mask;
}
