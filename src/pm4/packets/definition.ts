import type { ErrorPlace } from "../../errors.ts";
import type { RegisterState } from "../registers.ts";
import type { CommandSink, PacketSource } from "../sink.ts";
import type { QueueKind } from "../submission.ts";

/** What AnyAGC knows of one packet: a row of the table in `packets.ts`. */
export interface PacketDefinition {
  /** Name, as AMD's headers and AGC have it. */
  readonly name: string;
  /** Allowed sizes in words, header included; `min` for packets with a list at the end. */
  readonly sizes: readonly number[] | { readonly min: number };
  /** Queues that take it. */
  readonly queues: QueueKind | "both";
  /** Words after the header: see `layout.ts`. Bits outside the fields must be zero. */
  readonly layout: readonly string[] | ((words: number) => readonly string[]);
  /** Name of the words after the layout, which may hold anything. */
  readonly rest?: string;
  /** Why it is not executed. Exactly one of `refused` and `execute` is there. */
  readonly refused?: string;
  /** Checks what size, queue and layout do not tell. Runs before anything of the submission is executed. */
  readonly check?: (packet: PacketChecker) => void;
  /** Executes it. What it finds has passed `check`. */
  readonly execute?: PacketExecute;
}

/** Executes the packet at `words[at]`, `size` words long. Returns false when it must be tried again later: then it has had no effect. */
export type PacketExecute = (machine: Machine, words: Uint32Array, at: number, size: number) => boolean;

/** The packet that is being checked, and where its problems go. */
export interface PacketChecker {
  readonly queue: QueueKind;
  readonly words: Uint32Array;
  /** Index of the header. */
  readonly at: number;
  /** Words, header included. */
  readonly size: number;
  /** Word `index` of the packet (0 is the header). */
  word(index: number): number;
  /** The packet asks for something that is not executed. */
  refuse(reason: string): void;
  /** The packet makes no sense. */
  malformed(reason: string): void;
  /** COND_EXEC: the packets up to `end` (word index in the buffer) are guarded, so a packet must end there. */
  guard(end: number): void;
  /** INDIRECT_BUFFER: `count` words at `address` are executed here; with `chain`, instead of the rest of the buffer. */
  enter(address: bigint, count: number, chain: boolean): void;
}

/** One queue while it executes, as the packets see it. */
export interface Machine {
  readonly queue: number;
  readonly registers: RegisterState;
  readonly sink: CommandSink;
  /** SET_BASE for DISPATCH_INDIRECT with an offset, null until set. */
  dispatchBase: bigint | null;
  /** SET_BASE for draws, null until set. */
  drawBase: bigint | null;
  /** CONTEXT registers that CONTEXT_STATE pushed, null when nothing is pushed. */
  pushedContext: Uint32Array | null;
  /** What a packet that returned false waits for. */
  wait: WaitDescription | null;
  /** Names the packet that is being executed. */
  source(): PacketSource;
  /** `source().errorPlace()`. */
  place(): ErrorPlace;
  /** Leaves out the next `count` words of the buffer. */
  skip(count: number): void;
  /** Goes on with an indirect buffer; with `chain` the rest of the current one is dropped. */
  enter(address: bigint, count: number, chain: boolean): void;
  /** Everything as a new queue has it. */
  resetState(): void;
}

/** What a wait waits for. */
export interface WaitDescription {
  readonly queue: number;
  /** Guest address of the word. */
  readonly address: bigint;
  /** Size of the word. */
  readonly bits: 32 | 64;
  /** How (value & mask) must compare with the reference. */
  readonly compare: "<" | "<=" | "==" | "!=" | ">=" | ">";
  readonly reference: bigint;
  readonly mask: bigint;
  /** The word's value when it was looked at last. */
  readonly present: bigint;
  /** The packet that waits. */
  readonly source: PacketSource;
}
