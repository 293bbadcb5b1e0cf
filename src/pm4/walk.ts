/**
 * Looks at what a submission will dispatch, before its turn: executes its register packets only, and changes nothing outside.
 *
 * @module
 */
import { AnyAgcError, type ErrorPlace } from "../errors.ts";
import { packetExecutor } from "./execute.ts";
import { packetType, packetWords } from "./header.ts";
import type { Machine, WaitDescription } from "./packets/definition.ts";
import { RegisterState } from "./registers.ts";
import type { CommandMemory, CommandSink, DispatchCommand, DispatchIndirectCommand, DispatchState } from "./sink.ts";
import { PacketInBuffer, placeInBuffer, type ValidatedBuffer, type ValidatedSubmission } from "./validated.ts";

/** A dispatch that will come. @param size groups or threads; undefined where only memory will say */
export type ComingDispatch = (
  dispatch: DispatchState,
  size: { readonly x: number; readonly y: number; readonly z: number } | undefined,
) => void;

/**
 * Walks the submissions of one queue in their order, as they are queued: registers and bases go on from one to the next.
 *
 * What memory decides is taken as it is now (tables of registers, guards), waits as if they held; indirect buffers are those that were
 * validated. So this is a forecast: something may be missing in it, or never come.
 */
export class DispatchWalk {
  readonly #machine: WalkMachine;

  /** @param memory is read only */
  constructor(queue: number, memory: CommandMemory) {
    this.#machine = new WalkMachine(queue, memory);
  }

  /**
   * Walks a submission, which has passed validation. It ends early at what cannot be read now, or is not executed: executing it will say so.
   *
   * @param coming called for each dispatch, in order. The state is valid during the call only.
   */
  walk({ root }: ValidatedSubmission, coming: ComingDispatch): void {
    this.#machine.walk(root, coming);
  }
}

/** Nothing: packets that write do so only when they are executed. */
const nothing = (): void => {};

class WalkMachine implements Machine {
  readonly registers = new RegisterState();
  readonly sink: CommandSink;
  dispatchBase: bigint | null = null;
  drawBase: bigint | null = null;
  pushedContext: Uint32Array | null = null;
  wait: WaitDescription | null = null;
  #coming: ComingDispatch = nothing;
  #buffer!: ValidatedBuffer;
  #at = 0;
  #size = 0;
  /** Indirect buffer that the packet at hand enters, and whether it leaves the rest out. */
  #entered: ValidatedBuffer | undefined;
  #chained = false;
  /** Words that the packet at hand leaves out. */
  #skipped = 0;

  constructor(readonly queue: number, memory: CommandMemory) {
    this.sink = {
      readU32: (address) => memory.readU32(address),
      readU64: (address) => memory.readU64(address),
      readWords: (address, count) => memory.readWords(address, count),
      writeWords: nothing,
      fill: nothing,
      copy: nothing,
      barrier: nothing,
      release: nothing,
      clock: () => 0n,
      dispatch: (command: DispatchCommand) => this.#coming(command, command),
      dispatchIndirect: (command: DispatchIndirectCommand) => this.#coming(command, undefined),
    };
  }

  walk(root: ValidatedBuffer, coming: ComingDispatch): void {
    this.#coming = coming;
    try {
      this.#walkBuffer(root);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
    } finally {
      this.#coming = nothing;
      this.wait = null;
    }
  }

  source(): PacketInBuffer {
    return new PacketInBuffer(this.#buffer, this.#at, this.#size);
  }

  place(): ErrorPlace {
    return placeInBuffer(this.#buffer, this.#at, this.#size);
  }

  skip(count: number): void {
    this.#skipped = count;
  }

  enter(_address: bigint, count: number, chain: boolean): void {
    this.#chained = chain;
    this.#entered = count === 0 ? undefined : this.#buffer.children.get(this.#at);
  }

  resetState(): void {
    this.registers.reset();
    this.dispatchBase = null;
    this.drawBase = null;
    this.pushedContext = null;
  }

  #walkBuffer(root: ValidatedBuffer): void {
    let buffer = root;
    for (let at = 0; at < buffer.words.length;) {
      const { words } = buffer, size = packetWords(words[at]);
      const packet = at;
      at += size;
      if (packetType(words[packet]) !== 3) continue;
      const execute = packetExecutor(words[packet]);
      if (execute === undefined) return;
      this.#buffer = buffer;
      this.#at = packet;
      this.#size = size;
      this.#skipped = 0;
      this.#chained = false;
      this.#entered = undefined;
      // A wait that does not hold yet will.
      execute(this, words, packet, size);
      at += this.#skipped;
      const entered = this.#entered as ValidatedBuffer | undefined;
      if (this.#chained) {
        if (entered === undefined) return;
        buffer = entered;
        at = 0;
      } else if (entered !== undefined) this.#walkBuffer(entered);
    }
  }
}
