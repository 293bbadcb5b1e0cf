import { packetAddress } from "./address.ts";
import { Reg, type RegisterState } from "./registers.ts";

const PGM_LO = Reg.COMPUTE_PGM_LO;
const PGM_HI = Reg.COMPUTE_PGM_HI;
const RSRC1 = Reg.COMPUTE_PGM_RSRC1;
const RSRC2 = Reg.COMPUTE_PGM_RSRC2;
const RSRC3 = Reg.COMPUTE_PGM_RSRC3;
const NUM_THREAD = Reg.COMPUTE_NUM_THREAD_X;
const START = Reg.COMPUTE_START_X;
const TMPRING = Reg.COMPUTE_TMPRING_SIZE;

/** Number of COMPUTE_USER_DATA registers. */
export const USER_DATA_COUNT = 16;

/** LDS is allocated in granules of 128 words (COMPUTE_PGM_RSRC2, LDS_SIZE). */
const LDS_GRANULE_BYTES = 512;

/** The compute program that the registers describe, decoded (AMD RDNA2 ISA and register headers: COMPUTE_PGM_RSRC1, COMPUTE_PGM_RSRC2). */
export interface ComputeProgram {
  /** Guest address of the first instruction, a multiple of 256. */
  address: bigint;
  /** COMPUTE_PGM_RSRC1, raw. */
  rsrc1: number;
  /** COMPUTE_PGM_RSRC2, raw. */
  rsrc2: number;
  /** COMPUTE_PGM_RSRC3, raw. */
  rsrc3: number;
  /** VGPRs per lane in a wave32 program: granules of 8. */
  vgprs32: number;
  /** VGPRs per lane in a wave64 program: granules of 4. */
  vgprs64: number;
  /** RSRC1 SGPRS, raw; RDNA gives every wave 128 SGPRs whatever it says. */
  sgprs: number;
  /** RSRC1 FLOAT_MODE: rounding of f32 (1:0) and f16/f64 (3:2), denormals of f32 (5:4) and f16/f64 (7:6). */
  floatMode: number;
  /** RSRC1 DX10_CLAMP: clamping turns NaN into 0. */
  dx10Clamp: boolean;
  /** RSRC1 IEEE_MODE. */
  ieee: boolean;
  /** RSRC1 FP16_OVFL: f16 overflow clamps to the largest finite value. */
  fp16Overflow: boolean;
  /** RSRC2 SCRATCH_EN. */
  scratchEn: boolean;
  /** Scratch bytes per wave: COMPUTE_TMPRING_SIZE.WAVESIZE, granules of 1 KiB. */
  scratchWaveBytes: number;
  /** Waves that the scratch memory has room for: COMPUTE_TMPRING_SIZE.WAVES. */
  scratchWaves: number;
  /** RSRC2 USER_SGPR: user data registers that are loaded into s0... */
  userSgprCount: number;
  /** RSRC2 TGID_X_EN, TGID_Y_EN, TGID_Z_EN: group ids in the SGPRs after user data. */
  tgidX: boolean;
  tgidY: boolean;
  tgidZ: boolean;
  /** RSRC2 TG_SIZE_EN. */
  tgSizeEn: boolean;
  /** Thread ids in VGPRs: 1 (x), 2 (x, y), 3; 4 is the reserved encoding. RSRC2 TIDIG_COMP_CNT + 1. */
  threadIdCount: number;
  /** LDS bytes of a group. */
  ldsBytes: number;
  /** Threads of a group; 0 when the register was never set. */
  numThreadsX: number;
  numThreadsY: number;
  numThreadsZ: number;
  /** Ids of the first group. */
  startX: number;
  startY: number;
  startZ: number;
  /** RSRC3 SHARED_VGPR_CNT, granules of 8 (wave64 only). */
  sharedVgprs: number;
}

/** Decodes the compute program registers. User data is not part of it: see {@linkcode computeUserData} and `RegisterState.computeGeneration`. */
export function computeProgram(state: RegisterState): ComputeProgram {
  const sh = state.sh;
  const rsrc1 = sh[RSRC1], rsrc2 = sh[RSRC2], rsrc3 = sh[RSRC3];
  const lo = sh[PGM_LO], hi = sh[PGM_HI];
  const granules = (rsrc1 & 0x3f) + 1;
  return {
    // PGM_LO counts 256 bytes; PGM_HI has 8 bits: 48 in all.
    address: packetAddress(lo << 8, (hi & 0xff) << 8 | lo >>> 24),
    rsrc1,
    rsrc2,
    rsrc3,
    vgprs32: granules * 8,
    vgprs64: granules * 4,
    sgprs: rsrc1 >>> 6 & 0xf,
    floatMode: rsrc1 >>> 12 & 0xff,
    dx10Clamp: (rsrc1 & 1 << 21) !== 0,
    ieee: (rsrc1 & 1 << 23) !== 0,
    fp16Overflow: (rsrc1 & 1 << 26) !== 0,
    scratchEn: (rsrc2 & 1) !== 0,
    scratchWaves: sh[TMPRING] & 0xfff,
    scratchWaveBytes: (sh[TMPRING] >>> 12 & 0x1fff) * 1024,
    userSgprCount: rsrc2 >>> 1 & 0x1f,
    tgidX: (rsrc2 & 1 << 7) !== 0,
    tgidY: (rsrc2 & 1 << 8) !== 0,
    tgidZ: (rsrc2 & 1 << 9) !== 0,
    tgSizeEn: (rsrc2 & 1 << 10) !== 0,
    threadIdCount: (rsrc2 >>> 11 & 3) + 1,
    ldsBytes: (rsrc2 >>> 15 & 0x1ff) * LDS_GRANULE_BYTES,
    numThreadsX: sh[NUM_THREAD] & 0xffff,
    numThreadsY: sh[NUM_THREAD + 1] & 0xffff,
    numThreadsZ: sh[NUM_THREAD + 2] & 0xffff,
    startX: sh[START],
    startY: sh[START + 1],
    startZ: sh[START + 2],
    sharedVgprs: (rsrc3 & 0xf) * 8,
  };
}

/** The 16 user data registers, not copied: packets that follow change them. It is the same array each time. */
export function computeUserData(state: RegisterState): Uint32Array<ArrayBuffer> {
  return state.computeUserData;
}
