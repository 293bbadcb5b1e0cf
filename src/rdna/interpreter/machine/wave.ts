import { Operand } from "../../instruction.ts";
import { FloatMode } from "../float/mode.ts";
import type { StageWave } from "../stage/run_stage_wave.ts";
import type { Workgroup } from "./workgroup.ts";

/** Lanes that a row of the vector register file has room for, whatever the wave's size. */
export const LANES = 64;

/** What a wave is doing. */
export const WaveState = { Running: 0, AtBarrier: 1, Ended: 2 } as const;

/**
 * A wave: its registers and where it is (AMD RDNA2 ISA, section 3 "Kernel state"). EXEC, VCC and M0 are registers 126, 106 and 124 of the scalar file.
 */
export class Wave {
  /** Scalar registers 0..127: SGPRs, VCC (106, 107), TTMP, M0 (124), NULL (125), EXEC (126, 127). */
  readonly sgpr = new Uint32Array(128);
  /** Vector registers: register * 64 + lane. */
  readonly vgpr = new Int32Array(256 * LANES);
  /** The scalar condition code, 0 or 1. */
  scc = 0;
  /** MODE. */
  readonly mode = new FloatMode();
  /** FLAT_SCRATCH: address of the wave's scratch memory, low and high word. */
  readonly flatScratch = new Uint32Array(2);
  /** Byte offset of the next instruction from the program's entry. */
  pc = 0;
  /** One of {@linkcode WaveState}. */
  state: number = WaveState.Running;
  /** Lanes that the current vector instruction works on: EXEC, without the lanes that DPP switches off. Low and high half, int32. */
  activeLo = 0;
  activeHi = 0;
  /** What a wave of a graphics stage has beside its registers; undefined in compute programs. */
  stage: StageWave | undefined = undefined;
  /** Instructions executed. */
  executed = 0;

  constructor(
    /** Lanes: 32 or 64. */
    readonly size: 32 | 64,
    readonly group: Workgroup,
    /** Number in the workgroup. */
    readonly index: number,
  ) {}

  /** Whether the current vector instruction works on a lane. */
  isActive(lane: number): boolean {
    return ((lane < 32 ? this.activeLo : this.activeHi) >>> (lane & 31) & 1) !== 0;
  }

  /** Makes the lanes of EXEC active. */
  activateExec(): void {
    this.activeLo = this.sgpr[Operand.Exec] | 0;
    this.activeHi = this.size === 64 ? this.sgpr[Operand.ExecHi] | 0 : 0;
  }

  /** Whether a lane is set in EXEC. */
  isEnabled(lane: number): boolean {
    return (this.sgpr[lane < 32 ? Operand.Exec : Operand.ExecHi] >>> (lane & 31) & 1) !== 0;
  }

  /** Whether no lane is set in a mask register (a pair in wave64). */
  isMaskZero(register: number): boolean {
    return this.sgpr[register] === 0 && (this.size === 32 || this.sgpr[register + 1] === 0);
  }

  /** Number of the lowest lane in EXEC; 0 when there is none. */
  firstLane(): number {
    const lo = this.sgpr[Operand.Exec];
    if (lo !== 0) return 31 - Math.clz32(lo & -lo);
    const hi = this.size === 64 ? this.sgpr[Operand.ExecHi] : 0;
    return hi !== 0 ? 63 - Math.clz32(hi & -hi) : 0;
  }
}
