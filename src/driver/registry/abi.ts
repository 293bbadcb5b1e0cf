/**
 * The ABI of a shader: the state beside its code that decides what it is recompiled to. A shader has one variant for each.
 *
 * @module
 */
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import { type ComputeProgram, computeProgram } from "../../pm4/compute_program.ts";
import { RegisterState } from "../../pm4/registers.ts";
import {
  pixelProgram,
  type RegisterEntry,
  registersOf,
  type StageProgram,
  vertexProgram,
} from "../../recompiler/stages/registers.ts";
import { programKey } from "../compute_dispatch.ts";

/** State of a compute program: its registers, and what the dispatch says. */
export interface ComputeAbi {
  /** Discriminates. */
  readonly stage: "compute";
  /** Registers; the address is the shader's, whatever it says. */
  readonly program: ComputeProgram;
  /** Lanes of a wave. */
  readonly waveSize: 32 | 64;
  /** The dispatch counts threads. */
  readonly partialThreads: boolean;
}

/** State of a pixel or vertex program: user data, inputs with their interpolants, exports, wave size. */
export interface StageAbi {
  /** Discriminates. */
  readonly stage: "pixel" | "vertex";
  /** What the registers say. */
  readonly program: StageProgram;
}

/** State of a program. */
export type AbiState = ComputeAbi | StageAbi;

/** A state with its key: to be kept as long as the state stays, since a draw looks its variants up by this very text. */
export interface Abi {
  /** The state. */
  readonly state: AbiState;
  /** The same text for the same state. */
  readonly key: string;
}

/** The state with its key. */
export function abi(state: AbiState): Abi {
  const key = state.stage === "compute"
    ? programKey({ ...state.program, address: 0n }, "gfx1013", state.waveSize, state.partialThreads)
    : JSON.stringify(state.program);
  return { state, key: `${state.stage} ${key}` };
}

/** Of a dispatch. */
export function computeAbi(program: ComputeProgram, waveSize: 32 | 64, partialThreads: boolean): Abi {
  return abi({ stage: "compute", program, waveSize, partialThreads });
}

/** DISPATCH_INITIATOR bits that a record's dispatch modifier has: waves of 32, and sizes in threads (AMD register headers: CS_W32_EN, USE_THREAD_DIMENSIONS). */
const CS_W32_EN = 1 << 15, USE_THREAD_DIMENSIONS = 1 << 5;
/** SPI_PS_IN_CONTROL, and its field NUM_INTERP. */
const PS_IN_CONTROL = 0x1b6, NUM_INTERP = 0x3f;
const NUM_THREAD_X = 0x207, NUM_THREADS = 3;

/**
 * What a record alone says of its shader's ABI. Undefined where that is not all: a compute shader without a dispatch modifier or a size of groups, a pixel
 * shader with interpolants (which depend on what it is linked with), a stage that is not recompiled by itself.
 *
 * @throws RefusedError, InvalidInputError for registers that make no sense.
 */
export function recordAbi(record: AgcShaderRecord): Abi | undefined {
  switch (record.stage) {
    case "compute": {
      const has = (offset: number) => record.shRegisters.some((register) => register.offset === offset);
      if (record.specials === undefined) return undefined;
      if (!Array.from({ length: NUM_THREADS }, (_, i) => has(NUM_THREAD_X + i)).every(Boolean)) return undefined;
      const modifier = record.specials.dispatchModifier;
      return computeAbi(
        recordProgram(record),
        (modifier & CS_W32_EN) !== 0 ? 32 : 64,
        (modifier & USE_THREAD_DIMENSIONS) !== 0,
      );
    }
    case "pixel": {
      const control = record.cxRegisters.findLast(({ offset }) => offset === PS_IN_CONTROL);
      return control === undefined || (control.value & NUM_INTERP) !== 0 ? undefined : stageAbi(record, []);
    }
    case "geometry":
      return record.specials === undefined ? undefined : stageAbi(record, []);
    default:
      return undefined;
  }
}

/**
 * The ABI of a pixel shader, or of a vertex shader (a record of the geometry stage), with more context registers than its record has: what linking gives,
 * what the draw sets. Later entries win.
 *
 * @throws RefusedError `recompiler.stage`, `recompiler.stage-registers`
 */
export function stageAbi(record: AgcShaderRecord, context: readonly RegisterEntry[]): Abi {
  const registers = registersOf({ sh: record.shRegisters, context: [...record.cxRegisters, ...context] });
  if (record.stage === "pixel") return abi({ stage: "pixel", program: pixelProgram(registers) });
  const stages = record.specials?.shaderStagesEnable.value;
  return abi({ stage: "vertex", program: vertexProgram(registers, stages) });
}

/** The compute program that a record's registers describe. */
export function recordProgram(record: AgcShaderRecord): ComputeProgram {
  const registers = new RegisterState();
  for (const { offset, value } of record.shRegisters) {
    if (offset < registers.sh.length) registers.writeSh(offset, Uint32Array.of(value), 0, 1);
  }
  return computeProgram(registers);
}
