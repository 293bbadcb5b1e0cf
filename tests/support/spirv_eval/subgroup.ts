/**
 * One subgroup: invocations that execute a function together, lane masks included.
 *
 * Every lane stands at a block; the lanes at the lowest block in the structured order go next, so lanes wait for each other at the ends of constructs.
 *
 * @module
 */
import { EXECUTE, type Step } from "./execute.ts";
import type { Races } from "./races.ts";
import type { SpirvBlock, SpirvFunction, SpirvInstruction, SpirvModule, Value } from "./parse.ts";
import type { DeviceMemory } from "./memory.ts";
import type { Flushing } from "./workgroup.ts";

/** Scopes: of a barrier that the invocations of one subgroup wait at, of memory that all workgroups see. */
const SUBGROUP = 3, DEVICE = 1;

/** A call in progress. */
interface Frame {
  readonly f: SpirvFunction;
  /** Order of each lane's block; -1 for lanes that are not in this call (any more). */
  readonly block: Int32Array;
  /** Label of the block that each lane comes from. */
  readonly from: Int32Array;
  /** Lanes that go together now. */
  group: number[];
  current: SpirvBlock | undefined;
  /** Index of the next instruction of the block. */
  at: number;
  /** The call in the caller, for the results. */
  readonly call: SpirvInstruction | undefined;
}

/** Why a subgroup stopped. */
export type Stop = "budget" | "barrier" | "end";

/** Where a subgroup runs: its workgroup, or the pixels or vertices of a draw. */
export interface Host {
  readonly memory: DeviceMemory;
  /** Which float instructions take f32 denormals for zeros and make zeros of them. */
  readonly flushes32: Flushing;
  /** Instructions executed so far. */
  steps: number;
  /** Value of an id that no instruction of a function defines. */
  shared(id: number, invocation: number): Value | undefined;
  /** Barriers of the workgroup that all have passed. */
  readonly barriers?: number;
  /** Looks for races in workgroup memory. */
  readonly races?: Races;
  /** An input at another place of the pixel: the variable's id, how, and the operand of an instruction that has one. */
  interpolate?(variable: number, invocation: number, place: "centroid" | "sample" | "offset", operand?: Value): Value;
  /** Whether an invocation is there for its quad only. */
  isHelper?(invocation: number): boolean;
  /** An invocation ends and leaves nothing. */
  discard?(invocation: number): void;
  /** An invocation of a geometry shader has another vertex, or ends its strip. */
  emitVertex?(invocation: number): void;
  endPrimitive?(invocation: number): void;
}

/** A subgroup of a workgroup. */
export class Subgroup {
  /** Values by id, then by lane. */
  readonly values: Value[][];
  /** The barrier at which it stands. */
  barrier: SpirvInstruction | undefined;
  ended = false;
  /** Barriers of this subgroup alone that it has passed. */
  barriers = 0;
  readonly #frames: Frame[] = [];

  /** @param invocations local index of each lane's invocation */
  constructor(readonly module: SpirvModule, readonly group: Host, readonly invocations: readonly number[]) {
    this.values = new Array(module.bound);
    this.#enter(module.main, invocations.map((_, lane) => lane), undefined);
  }

  /** Lanes that execute together now. */
  get lanes(): readonly number[] {
    return this.#frames.at(-1)!.group;
  }

  /** Executes at most `budget` instructions. */
  run(budget: number): Stop {
    this.barrier = undefined;
    for (; budget > 0; budget--) {
      const frame = this.#frames.at(-1);
      if (frame === undefined) {
        this.ended = true;
        return "end";
      }
      if (frame.current === undefined && !this.#nextGroup(frame)) {
        this.#frames.pop();
        continue;
      }
      if (this.#step(frame) === "barrier") return "barrier";
    }
    return "budget";
  }

  #enter(f: SpirvFunction, lanes: readonly number[], call: SpirvInstruction | undefined): void {
    const block = new Int32Array(this.invocations.length).fill(-1);
    for (const lane of lanes) block[lane] = 0;
    const from = new Int32Array(this.invocations.length);
    this.#frames.push({ f, block, from, group: [], current: undefined, at: 0, call });
  }

  /** The lanes at the lowest block. False when all have returned. */
  #nextGroup(frame: Frame): boolean {
    let lowest = -1;
    for (const order of frame.block) if (order >= 0 && (lowest < 0 || order < lowest)) lowest = order;
    if (lowest < 0) return false;
    frame.group = [];
    frame.block.forEach((order, lane) => order === lowest && frame.group.push(lane));
    frame.current = frame.f.blocks[lowest];
    frame.at = 0;
    this.#phis(frame, frame.current);
    return true;
  }

  /** All phis of a block take their values at once. */
  #phis(frame: Frame, { phis }: SpirvBlock): void {
    const taken = phis.map(({ operands }) =>
      frame.group.map((lane) => {
        for (let i = 0; i < operands.length; i += 2) {
          if (operands[i + 1] === frame.from[lane]) return this.value(operands[i], lane);
        }
        throw new Error(`a phi has no value for block ${frame.from[lane]}`);
      })
    );
    phis.forEach(({ result }, n) => {
      const out = this.out(result);
      frame.group.forEach((lane, k) => out[lane] = taken[n][k]);
    });
  }

  #step(frame: Frame): "barrier" | void {
    const block = frame.current!;
    if (frame.at === block.body.length) return this.#terminate(frame, block);
    const instruction = block.body[frame.at++];
    this.group.steps++;
    if (instruction.name === "OpFunctionCall") return this.#call(frame, instruction);
    if (instruction.name === "OpControlBarrier") return this.#barrier(frame, instruction);
    if (instruction.name === "OpMemoryBarrier") return this.#fence(frame, instruction);
    const execute: Step | undefined = EXECUTE.get(instruction.name);
    if (execute === undefined) throw new Error(`${instruction.name} cannot be evaluated`);
    execute(this, instruction, frame.group);
  }

  #call(frame: Frame, instruction: SpirvInstruction): void {
    const [id, ...given] = instruction.operands;
    const f = this.module.functions.get(id);
    if (f === undefined) throw new Error(`no function ${id}`);
    f.parameters.forEach((parameter, n) => {
      const out = this.out(parameter);
      for (const lane of frame.group) out[lane] = this.value(given[n], lane);
    });
    this.#enter(f, frame.group, instruction);
  }

  #barrier(frame: Frame, instruction: SpirvInstruction): "barrier" | void {
    const live = this.#frames[0].block.reduce((count, order) => count + (order >= 0 ? 1 : 0), 0);
    if (frame.group.length !== live || live !== this.invocations.length) {
      throw new Error(
        `word ${instruction.word}: ${frame.group.length} of ${this.invocations.length} invocations of a subgroup come to a barrier`,
      );
    }
    if (this.value(instruction.operands[0], 0) === SUBGROUP) {
      this.barriers++;
      return;
    }
    this.barrier = instruction;
    return "barrier";
  }

  #fence(frame: Frame, { operands: [scope], word }: SpirvInstruction): void {
    if (this.value(scope, 0) !== DEVICE) throw new Error(`word ${word}: a memory barrier of another scope than Device`);
    this.group.memory.fence(frame.group.map((lane) => this.invocations[lane]));
  }

  #terminate(frame: Frame, block: SpirvBlock): void {
    const { name, operands } = block.terminator;
    if (name === "OpUnreachable") throw new Error(`word ${block.terminator.word}: unreachable code is reached`);
    for (const lane of frame.group) {
      frame.from[lane] = block.label;
      if (name === "OpReturn") frame.block[lane] = -1;
      else if (name === "OpKill") {
        if (this.group.discard === undefined) throw new Error("an invocation discards itself in a compute module");
        this.group.discard(this.invocations[lane]);
        for (const each of this.#frames) each.block[lane] = -1;
      } else if (name === "OpReturnValue") {
        this.out(frame.call!.result)[lane] = this.value(operands[0], lane);
        frame.block[lane] = -1;
      } else {
        const label = name === "OpBranch" ? operands[0] : operands[this.value(operands[0], lane) === 1 ? 1 : 2];
        frame.block[lane] = frame.f.byLabel.get(label)!.order;
      }
    }
    frame.current = undefined;
  }

  /** Value of an id in a lane. */
  value(id: number, lane: number): Value {
    const value = (this.values[id] ??= this.#outer(id))[lane];
    if (value === undefined) throw new Error(`id ${id} has no value in a lane that uses it`);
    return value;
  }

  /** Values of an id that no instruction of a function defines. */
  #outer(id: number): Value[] {
    return this.invocations.map((invocation) => this.group.shared(id, invocation) as Value);
  }

  /** Where the values of an id go. */
  out(id: number): Value[] {
    return this.values[id] ??= new Array(this.invocations.length);
  }
}
