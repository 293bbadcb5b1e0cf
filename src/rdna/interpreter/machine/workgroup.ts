import { GuestFaultError } from "../../../errors.ts";
import type { Instruction } from "../../instruction.ts";
import { HANDLERS } from "../handlers.ts";
import type { Code } from "./code.ts";
import { LocalMemory } from "./local_memory.ts";
import type { DispatchMemory } from "./memory.ts";
import { refuse } from "./refuse.ts";
import { type Wave, WaveState } from "./wave.ts";

/** Start of the LDS and of the scratch window in the flat address space, bits 63:32 (SH_MEM_BASES: each is a multiple of 2^48). */
export interface Apertures {
  shared: number;
  private: number;
}

/** What all waves of a dispatch share. */
export interface DispatchContext {
  readonly code: Code;
  readonly memory: DispatchMemory;
  readonly gds: LocalMemory;
  readonly apertures: Apertures;
  /** The GPU clock of s_memtime and s_memrealtime. */
  readonly clock: () => bigint;
  /** Called after every instruction. */
  readonly observer?: (wave: Wave, instruction: Instruction) => void;
  /** Instructions that one wave may execute. */
  readonly instructionLimit: number;
  /** Messages sent with s_sendmsg. */
  readonly messages: Message[];
}

/** A message that a wave sent. */
export interface Message {
  /** The instruction's immediate. */
  id: number;
  m0: number;
  pc: number;
}

/** Instructions that a wave executes before the next one of its group gets a turn (so that waves can wait for each other in loops). */
const SLICE = 4096;

/** A workgroup: its waves and its LDS. */
export class Workgroup {
  readonly waves: Wave[] = [];
  readonly lds: LocalMemory;

  constructor(readonly context: DispatchContext, ldsBytes: number) {
    this.lds = new LocalMemory(new Uint8Array(ldsBytes));
  }

  get code(): Code {
    return this.context.code;
  }

  get memory(): DispatchMemory {
    return this.context.memory;
  }

  /** Runs all waves to their end, in turns. A barrier is passed when every wave that has not ended is at it. */
  run(): void {
    for (;;) {
      let running = false;
      for (const wave of this.waves) {
        if (wave.state !== WaveState.Running) continue;
        this.runSlice(wave);
        running ||= wave.state === WaveState.Running;
      }
      if (running) continue;
      let waiting = false;
      for (const wave of this.waves) {
        if (wave.state !== WaveState.AtBarrier) continue;
        wave.state = WaveState.Running;
        waiting = true;
      }
      if (!waiting) return;
    }
  }

  private runSlice(wave: Wave): void {
    const { code, observer, instructionLimit } = this.context;
    const end = wave.executed + SLICE;
    while (wave.state === WaveState.Running && wave.executed < end) {
      const instruction = code.at(wave.pc);
      wave.pc += instruction.size * 4;
      wave.executed++;
      const handler = HANDLERS[instruction.op];
      if (handler === undefined) refuse(wave, instruction, "not implemented");
      handler(wave, instruction);
      observer?.(wave, instruction);
    }
    if (wave.executed > instructionLimit) {
      throw new GuestFaultError(
        "interpreter.instruction-limit",
        `a wave has executed ${wave.executed} instructions without coming to an end`,
        { guestAddress: BigInt.asUintN(64, BigInt(code.entry + wave.pc)), pc: wave.pc },
      );
    }
  }
}
