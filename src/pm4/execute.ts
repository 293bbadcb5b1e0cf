import { AnyAgcError, type ErrorPlace, InvalidInputError, RefusedError, withPlace } from "../errors.ts";
import { NOP_OPCODE, nopCode, packetOpcode, packetType, packetWords } from "./header.ts";
import { packetName } from "./lookup.ts";
import { NOP_CODES, PACKETS } from "./packets.ts";
import type { Machine, PacketExecute, WaitDescription } from "./packets/definition.ts";
import { Reg, RegisterState } from "./registers.ts";
import type { CommandSink } from "./sink.ts";
import { type QueueKind, queueKind, type Submission } from "./submission.ts";
import { validateIndirectBuffer, validateSubmission } from "./validate.ts";
import { PacketInBuffer, placeInBuffer, type ValidatedBuffer, type ValidatedSubmission } from "./validated.ts";

/** What a step did: `progress` executed a packet, `blocked` waits for memory, `done` has nothing left to execute. */
export type StepResult = "progress" | "blocked" | "done";

/** Handlers as arrays, so that a packet costs one index. */
const EXECUTE: readonly (PacketExecute | undefined)[] = Array.from(
  { length: 0x100 },
  (_, opcode) => PACKETS.get(opcode)?.execute,
);
const EXECUTE_NOP: readonly (PacketExecute | undefined)[] = Array.from(
  { length: 0x40 },
  (_, code) => NOP_CODES.get(code)?.execute,
);

/** What executes a type-3 packet; undefined for one that is not executed. */
export function packetExecutor(header: number): PacketExecute | undefined {
  const opcode = packetOpcode(header);
  return opcode === NOP_OPCODE ? EXECUTE_NOP[nopCode(header)] : EXECUTE[opcode];
}

const PRIMITIVE_RESTART = Reg.GE_MULTI_PRIM_IB_RESET_EN;

/** A buffer that is being executed. */
class Frame {
  /** Word index of the next packet. */
  next = 0;
  constructor(readonly buffer: ValidatedBuffer, readonly caller: Frame | null) {}
}

/**
 * Executes the submissions of one queue, packet by packet, against a {@linkcode CommandSink}. Submissions run in order; registers and base addresses
 * persist from one to the next.
 *
 * A wait that does not hold stops the queue without blocking the caller: `step` says `blocked`, {@linkcode waiting} says for what, and the next `step`
 * looks again. An error stops the queue for good: every later `step` throws it again.
 */
export class QueueExecutor {
  readonly queue: number;
  readonly kind: QueueKind;
  readonly #machine: QueueMachine;
  readonly #sink: CommandSink;
  readonly #submissions: ValidatedSubmission[] = [];
  #failure: unknown = undefined;

  /** @param queue 0 (graphics) or 0x20..0x57 (compute) */
  constructor(queue: number, sink: CommandSink) {
    this.queue = queue;
    this.kind = queueKind(queue);
    this.#sink = sink;
    this.#machine = new QueueMachine(queue, sink);
  }

  /** The queue's registers. */
  get registers(): RegisterState {
    return this.#machine.registers;
  }

  /** What the queue waits for; null when its last step was not blocked. */
  get waiting(): WaitDescription | null {
    return this.#machine.wait;
  }

  /** Submissions that have not been finished, the running one included. */
  get pending(): number {
    return this.#submissions.length + (this.#machine.frame === null ? 0 : 1);
  }

  /**
   * Appends a submission. Validates it first, if it has not been: then nothing is appended when that fails.
   */
  submit(submission: Submission | ValidatedSubmission): void {
    const validated = "root" in submission ? submission : validateSubmission(submission, this.#sink);
    const { queue } = validated.submission;
    if (queue !== this.queue) {
      throw new InvalidInputError("pm4.queue-number", `a submission for another queue came to queue ${this.queue}`, {
        queue,
      });
    }
    this.#submissions.push(validated);
  }

  /** Executes one packet. */
  step(): StepResult {
    if (this.#failure !== undefined) throw this.#failure;
    const machine = this.#machine;
    if (machine.frame === null) {
      const next = this.#submissions.shift();
      if (next === undefined) return "done";
      machine.begin(next, this.kind);
      return "progress";
    }
    try {
      return machine.execute() ? "progress" : "blocked";
    } catch (error) {
      this.#failure = located(error, machine);
      throw this.#failure;
    }
  }

  /** Executes packets until the queue is blocked or has nothing left. */
  run(): "blocked" | "done" {
    for (;;) {
      const result = this.step();
      if (result !== "progress") return result;
    }
  }

  /** A boundary between submissions (graphics: the guest's suspend point): the next submission finds the state of a new queue. */
  resetState(): void {
    this.#machine.resetState();
  }
}

/** The state of a queue, and what packets may do to it. */
class QueueMachine implements Machine {
  readonly registers = new RegisterState();
  dispatchBase: bigint | null = null;
  drawBase: bigint | null = null;
  pushedContext: Uint32Array | null = null;
  wait: WaitDescription | null = null;
  frame: Frame | null = null;
  /** The packet that is being executed. */
  #buffer: ValidatedBuffer | null = null;
  #at = 0;
  #size = 0;

  constructor(readonly queue: number, readonly sink: CommandSink) {}

  begin({ root }: ValidatedSubmission, kind: QueueKind): void {
    // Measured on the console: a draw never finds primitive restart on from an earlier submission.
    if (kind === "graphics") this.registers.uconfig[PRIMITIVE_RESTART] = 0;
    this.frame = root.words.length === 0 ? null : new Frame(root, null);
  }

  /** Executes the packet at hand; false when it waits. */
  execute(): boolean {
    const frame = this.frame!;
    const { words } = frame.buffer;
    const at = frame.next;
    const header = words[at];
    const size = packetWords(header);
    this.#buffer = frame.buffer;
    this.#at = at;
    this.#size = size;
    if (packetType(header) === 3) {
      const execute = packetExecutor(header);
      if (execute === undefined) {
        throw new RefusedError("pm4.refused-packet", `${packetName(header)} is not executed`, this.place());
      }
      frame.next = at + size;
      if (!execute(this, words, at, size)) {
        frame.next = at;
        return false;
      }
    } else {
      frame.next = at + size;
    }
    this.wait = null;
    this.#leaveFinished();
    return true;
  }

  /** Goes back to the callers of buffers that have ended. */
  #leaveFinished(): void {
    let frame = this.frame;
    while (frame !== null && frame.next >= frame.buffer.words.length) frame = frame.caller;
    this.frame = frame;
  }

  source(): PacketInBuffer {
    return new PacketInBuffer(this.#buffer!, this.#at, this.#size);
  }

  place(): ErrorPlace {
    return placeInBuffer(this.#buffer!, this.#at, this.#size);
  }

  /** Name of the packet that is being executed. */
  packetName(): string {
    return packetName(this.#buffer!.words[this.#at]);
  }

  skip(count: number): void {
    this.frame!.next += count;
  }

  enter(address: bigint, count: number, chain: boolean): void {
    const frame = this.frame!;
    const caller = chain ? frame.caller : frame;
    if (chain) frame.next = frame.buffer.words.length;
    if (count === 0) return;
    this.frame = new Frame(this.#contents(address, count), caller);
  }

  /** The indirect buffer of the packet at hand, with the words that are in memory now. */
  #contents(address: bigint, count: number): ValidatedBuffer {
    const validated = this.#buffer!.children.get(this.#at);
    const words = this.sink.readWords(address, count);
    if (validated !== undefined && sameWords(validated.words, words)) return validated;
    return validateIndirectBuffer(this.#buffer!.submission, this.sink, address, words);
  }

  resetState(): void {
    this.registers.reset();
    this.dispatchBase = null;
    this.drawBase = null;
    this.pushedContext = null;
  }
}

function sameWords(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** An error that tells the packet it comes from: errors of the sink know addresses, but no queue. */
function located(error: unknown, machine: QueueMachine): unknown {
  if (!(error instanceof AnyAgcError) || error.place.queue !== undefined) return error;
  return withPlace(error, machine.place(), `${machine.packetName()}: `);
}
