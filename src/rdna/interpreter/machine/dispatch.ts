/** Runs dispatches: what the hardware's dispatcher does, group by group. */
import { GDS_BYTES } from "../../gds.ts";
import { APERTURES } from "../../apertures.ts";
import { Operand } from "../../instruction.ts";
import type { Instruction } from "../../instruction.ts";
import type { Target } from "../../target.ts";
import { initialMode } from "../float/mode.ts";
import { Code, type CodeFinder } from "./code.ts";
import { LocalMemory } from "./local_memory.ts";
import { DispatchMemory, type Fault, type MemorySpace } from "./memory.ts";
import { LANES, Wave } from "./wave.ts";
import { type Apertures, type DispatchContext, type Message, Workgroup } from "./workgroup.ts";

/** A dispatch. Register fields are those of COMPUTE_PGM_RSRC1 and RSRC2 (AMD register headers). */
export interface Dispatch {
  /** Guest address of the first instruction, unsigned or signed 64-bit. */
  codeAddress: bigint;
  target: Target;
  waveSize: 32 | 64;
  /** Threads of a workgroup in x, y, z. */
  workgroupSize: readonly [number, number, number];
  /** Workgroups in x, y, z. */
  groups: readonly [number, number, number];
  /** Threads in x, y, z when the size of the dispatch is not a multiple of the workgroup: threads beyond do not exist. */
  threadLimit?: readonly [number, number, number];
  /** COMPUTE_USER_DATA; the first `userSgprCount` are loaded into s0... */
  userData: ArrayLike<number>;
  userSgprCount: number;
  /** RSRC2 TGID_X_EN, TGID_Y_EN, TGID_Z_EN. */
  workgroupIds: readonly [boolean, boolean, boolean];
  /** RSRC2 TG_SIZE_EN. */
  tgSize: boolean;
  /** RSRC2 SCRATCH_EN with the bytes of a wave; undefined without scratch memory. */
  scratchWaveBytes?: number;
  /** Thread ids in VGPRs: 1 to 3. */
  threadIdCount: number;
  /** LDS bytes of a workgroup. */
  ldsBytes: number;
  /** RSRC1 FLOAT_MODE (8 bits), IEEE_MODE, DX10_CLAMP, FP16_OVFL. */
  floatMode: number;
  ieee: boolean;
  dx10Clamp: boolean;
  fp16Overflow?: boolean;
}

/** What a dispatch runs on. */
export interface MachineOptions {
  /** Guest memory. */
  space: MemorySpace;
  /** Executable memory. */
  code: CodeFinder;
  /** GDS, 64 KiB on the console; new and empty when left out. */
  gds?: Uint8Array;
  /**
   * High words of the addresses of LDS and scratch memory in the flat address space. The default is what the Linux driver sets (SH_MEM_BASES: shared 1,
   * private 2, in units of 2^48); the console's is not known.
   */
  apertures?: Apertures;
  /** The clock of s_memtime and s_memrealtime; counts instructions when left out, so that runs repeat exactly. */
  clock?: () => bigint;
  /** Called after every instruction. */
  observer?: (wave: Wave, instruction: Instruction) => void;
  /** Instructions after which a wave counts as endless (a GuestFaultError); none when left out. */
  instructionLimit?: number;
}

/** What a dispatch did. */
export interface DispatchResult {
  /** The first memory fault. */
  fault: Fault | null;
  /** Instructions executed by all waves. */
  executed: number;
  /** Different instructions of the program that were executed. */
  instructions: number;
  waves: number;
  /** Messages sent by s_sendmsg. */
  messages: Message[];
}

/** Runs a dispatch to its end: workgroups in order, x fastest. @throws RefusedError for what is not implemented, with its pc. */
export function runDispatch(dispatch: Dispatch, machine: MachineOptions): DispatchResult {
  const entry = Number(BigInt.asIntN(64, dispatch.codeAddress));
  const memory = new DispatchMemory(machine.space);
  let executed = 0;
  const context: DispatchContext = {
    code: new Code(entry, dispatch.target, machine.code),
    memory,
    gds: new LocalMemory(machine.gds ?? new Uint8Array(GDS_BYTES)),
    apertures: machine.apertures ?? APERTURES,
    clock: machine.clock ?? (() => BigInt(executed)),
    observer: machine.observer,
    instructionLimit: machine.instructionLimit ?? Infinity,
    messages: [],
  };
  const [gx, gy, gz] = dispatch.groups;
  let waves = 0;
  for (let z = 0; z < gz; z++) {
    for (let y = 0; y < gy; y++) {
      for (let x = 0; x < gx; x++) {
        const group = launchGroup(dispatch, context, [x, y, z], x + gx * (y + gy * z));
        group.run();
        memory.settle();
        for (const wave of group.waves) executed += wave.executed;
        waves += group.waves.length;
      }
    }
  }
  return { fault: memory.fault, executed, instructions: context.code.instructions, waves, messages: context.messages };
}

function launchGroup(
  dispatch: Dispatch,
  context: DispatchContext,
  id: readonly [number, number, number],
  number: number,
): Workgroup {
  const group = new Workgroup(context, dispatch.ldsBytes);
  const [sx, sy, sz] = dispatch.workgroupSize;
  const threads = sx * sy * sz;
  const waveCount = Math.ceil(threads / dispatch.waveSize);
  for (let index = 0; index < waveCount; index++) {
    const wave = new Wave(dispatch.waveSize, group, index);
    loadThreads(dispatch, wave, id, threads);
    // A wave whose threads all lie beyond the dispatch's size is not launched.
    if (wave.isMaskZero(Operand.Exec)) continue;
    // Waves that are not launched keep their place in scratch memory.
    loadScalars(dispatch, wave, id, index, waveCount, number * waveCount + index);
    group.waves.push(wave);
  }
  return group;
}

/** Thread ids and EXEC. */
function loadThreads(dispatch: Dispatch, wave: Wave, id: readonly number[], threads: number): void {
  const [sx, sy, sz] = dispatch.workgroupSize;
  const { vgpr, sgpr } = wave;
  const [limitX, limitY, limitZ] = dispatch.threadLimit ?? [Infinity, Infinity, Infinity];
  for (let lane = 0; lane < wave.size; lane++) {
    const thread = wave.index * wave.size + lane;
    if (thread >= threads) break;
    const x = thread % sx, y = Math.floor(thread / sx) % sy, z = Math.floor(thread / (sx * sy));
    const exists = id[0] * sx + x < limitX && id[1] * sy + y < limitY && id[2] * sz + z < limitZ;
    if (exists) sgpr[lane < 32 ? Operand.Exec : Operand.ExecHi] |= 1 << (lane & 31);
    vgpr[lane] = x;
    if (dispatch.threadIdCount > 1) vgpr[LANES + lane] = y;
    if (dispatch.threadIdCount > 2) vgpr[2 * LANES + lane] = z;
  }
}

/** User data and what the dispatcher adds to it (LLVM, "User Guide for AMDGPU Backend", initial kernel execution state). */
function loadScalars(
  dispatch: Dispatch,
  wave: Wave,
  id: readonly number[],
  index: number,
  waveCount: number,
  waveNumber: number,
): void {
  const { sgpr } = wave;
  let next = 0;
  for (; next < dispatch.userSgprCount; next++) sgpr[next] = dispatch.userData[next] ?? 0;
  dispatch.workgroupIds.forEach((enabled, axis) => {
    if (enabled) sgpr[next++] = id[axis];
  });
  // Bit 31: first wave of the group; 11:6 number of the wave in it; 5:0 waves of the group (Mesa, load_subgroup_id and load_num_subgroups).
  if (dispatch.tgSize) sgpr[next++] = (index === 0 ? 0x8000_0000 : 0) | index << 6 | waveCount;
  if (dispatch.scratchWaveBytes !== undefined) sgpr[next++] = waveNumber * dispatch.scratchWaveBytes;
  wave.mode.set(initialMode(dispatch.floatMode, dispatch.ieee, dispatch.dx10Clamp, dispatch.fp16Overflow));
}
