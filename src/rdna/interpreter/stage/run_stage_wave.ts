/** Runs one wave of a graphics stage, or the waves of a group: the caller says what is in their registers, and gets what they export. */
import { GDS_BYTES } from "../../gds.ts";
import { APERTURES } from "../../apertures.ts";
import { Operand } from "../../instruction.ts";
import type { Target } from "../../target.ts";
import { initialMode } from "../float/mode.ts";
import { Code } from "../machine/code.ts";
import type { MachineOptions } from "../machine/dispatch.ts";
import { LocalMemory } from "../machine/local_memory.ts";
import { DispatchMemory, type Fault } from "../machine/memory.ts";
import { LANES, Wave } from "../machine/wave.ts";
import { type Message, Workgroup } from "../machine/workgroup.ts";
import type { Export } from "./exports.ts";

/** What a wave of a graphics stage has beside its registers. */
export interface StageWave {
  /** What M0 must hold where attributes are read. */
  readonly primitiveMask: number;
  /** Bits of a component (0 to 3) of an attribute as the lane's primitive has it: 0 P10, 1 P20, 2 P0. */
  readonly parameter: (lane: number, attribute: number, component: number, which: number) => number;
  /** Exports so far. */
  readonly exports: Export[];
}

/** What a wave starts with. */
export interface WaveRegisters {
  /** EXEC. */
  exec: bigint;
  /** Scalar registers from s0 on. */
  scalars: ArrayLike<number>;
  /** Vector registers from v0 on: bits by lane. */
  vectors: readonly ArrayLike<number>[];
}

/** What all waves of a group have in common. */
interface StageCode {
  /** Guest address of the first instruction. */
  codeAddress: bigint;
  target: Target;
  waveSize: 32 | 64;
  ldsBytes?: number;
  /** RSRC1 FLOAT_MODE (8 bits), IEEE_MODE, DX10_CLAMP. */
  floatMode: number;
  ieee: boolean;
  dx10Clamp: boolean;
}

/** A wave to run. */
export interface StageLaunch extends StageCode, WaveRegisters {
  /** Pixel waves. */
  primitiveMask?: number;
  parameter?: StageWave["parameter"];
}

/** The waves of a merged stage's group to run. */
export interface StageGroupLaunch extends StageCode {
  readonly waves: readonly WaveRegisters[];
}

/** What a wave did. */
export interface StageResult {
  exports: readonly Export[];
  messages: readonly Message[];
  /** The first memory fault. */
  fault: Fault | null;
}

/** What a group did. */
export interface StageGroupResult {
  /** Exports of each wave. */
  exports: readonly (readonly Export[])[];
  messages: readonly Message[];
  /** The first memory fault. */
  fault: Fault | null;
}

/** Runs a wave to its end, alone in its group. @throws RefusedError for what is not implemented, with its pc. */
export function runStageWave(launch: StageLaunch, machine: MachineOptions): StageResult {
  const { parameter = () => 0, primitiveMask = 0 } = launch;
  const { exports, messages, fault } = run({ ...launch, waves: [launch] }, machine, { parameter, primitiveMask });
  return { exports: exports[0], messages, fault };
}

/** Runs the waves of a group to their end: they share LDS, and wait for each other at barriers. @throws RefusedError for what is not implemented, with its pc. */
export function runStageGroup(launch: StageGroupLaunch, machine: MachineOptions): StageGroupResult {
  return run(launch, machine, { parameter: () => 0, primitiveMask: 0 });
}

function run(
  launch: StageGroupLaunch,
  machine: MachineOptions,
  stage: Pick<StageWave, "parameter" | "primitiveMask">,
): StageGroupResult {
  const entry = Number(BigInt.asIntN(64, launch.codeAddress));
  const memory = new DispatchMemory(machine.space);
  const messages: Message[] = [];
  let executed = 0n;
  const group = new Workgroup({
    code: new Code(entry, launch.target, machine.code),
    memory,
    gds: new LocalMemory(machine.gds ?? new Uint8Array(GDS_BYTES)),
    apertures: machine.apertures ?? APERTURES,
    clock: machine.clock ?? (() => executed++),
    observer: machine.observer,
    instructionLimit: machine.instructionLimit ?? Infinity,
    messages,
  }, launch.ldsBytes ?? 0);
  launch.waves.forEach(({ exec, scalars, vectors }, index) => {
    const wave = new Wave(launch.waveSize, group, index);
    wave.stage = { ...stage, exports: [] };
    for (let s = 0; s < scalars.length; s++) wave.sgpr[s] = scalars[s];
    vectors.forEach((lanes, v) => {
      for (let lane = 0; lane < launch.waveSize; lane++) wave.vgpr[v * LANES + lane] = lanes[lane] ?? 0;
    });
    wave.sgpr[Operand.Exec] = Number(BigInt.asUintN(32, exec));
    if (launch.waveSize === 64) wave.sgpr[Operand.ExecHi] = Number(exec >> 32n);
    wave.mode.set(initialMode(launch.floatMode, launch.ieee, launch.dx10Clamp, undefined));
    group.waves.push(wave);
  });
  group.run();
  memory.settle();
  return { exports: group.waves.map(({ stage }) => stage!.exports), messages, fault: memory.fault };
}
