import { AnyAgcError, type ErrorPlace, hex, InvalidInputError, RefusedError } from "../errors.ts";
import { NOP_OPCODE, packetOpcode, packetType, packetWords } from "./header.ts";
import { layoutOf, packetDefinition, packetName, sizeFits, sizesText } from "./lookup.ts";
import type { PacketChecker } from "./packets/definition.ts";
import { wordLayout } from "./packets/layout.ts";
import type { CommandMemory } from "./sink.ts";
import { type QueueKind, queueKind, type Submission } from "./submission.ts";
import { type BufferPlace, placeInBuffer, ValidatedBuffer, type ValidatedSubmission } from "./validated.ts";

/** Most words that a submission may run, indirect buffers included. */
export const MAX_SUBMISSION_WORDS = 2 ** 26;
/** How deep indirect buffers may nest. */
export const MAX_NESTING = 8;
/** How many indirect buffers may follow from one another, chains included. */
export const MAX_CHAIN = 256;

/** Something that keeps a submission from being executed. */
export interface PacketProblem {
  /** `refused`: it means something, but is not executed. `malformed`: it means nothing. */
  readonly kind: "refused" | "malformed";
  /** Stable identifier, `pm4.` and a word or two. */
  readonly code: string;
  /** Name of the packet. */
  readonly packet: string;
  readonly reason: string;
  /** Word index of the packet in its buffer. */
  readonly at: number;
  /** Guest address of the buffer, for indirect buffers. */
  readonly indirectBuffer?: bigint;
  readonly place: ErrorPlace;
}

/**
 * Checks a whole submission: sizes, fields and queue of every packet, register ranges, and the indirect buffers with their contents as they are in
 * memory now. Nothing is executed. The words are copied, so that what runs is what was checked.
 *
 * @returns what `QueueExecutor` runs
 * @throws {InvalidInputError} a packet is malformed @throws {RefusedError} a packet is known, or may be, but is not executed.
 * All problems are in the message; `code` and `place` are the first one's.
 */
export function validateSubmission(submission: Submission, memory: CommandMemory): ValidatedSubmission {
  const { problems, root } = checkSubmission(submission, memory);
  if (problems.length > 0) throw problemsError(problems);
  return { submission, root };
}

/** Like {@linkcode validateSubmission}, but gives the problems back. Contents that cannot be walked further are left out of `root`. */
export function checkSubmission(
  submission: Submission,
  memory: CommandMemory,
): { problems: PacketProblem[]; root: ValidatedBuffer } {
  const validator = new Validator(submission, memory);
  const root = validator.buffer(
    {
      submission,
      words: submission.words.slice(),
      address: submission.address,
      fileOffset: submission.fileOffset ?? 0,
    },
    0,
  );
  return { problems: validator.problems, root };
}

/** Validates the contents that an indirect buffer has at execution, when they are no longer those of the submission's validation. */
export function validateIndirectBuffer(
  submission: Submission,
  memory: CommandMemory,
  address: bigint,
  words: Uint32Array,
): ValidatedBuffer {
  const validator = new Validator(submission, memory);
  const buffer = validator.buffer({ submission, words, address, fileOffset: undefined }, 1);
  if (validator.problems.length > 0) throw problemsError(validator.problems);
  return buffer;
}

/** One error for a list of problems (at least one). */
export function problemsError(problems: readonly PacketProblem[]): AnyAgcError {
  const lines = problems.map(({ packet, at, indirectBuffer, reason }) => {
    const buffer = indirectBuffer === undefined ? "" : ` of the indirect buffer at ${hex(indirectBuffer)}`;
    return `${packet} at word ${hex(at)}${buffer}: ${reason}`;
  });
  const [first] = problems;
  const message = lines.length === 1
    ? lines[0]
    : `${lines.length} problems keep the submission from running:\n  ${lines.join("\n  ")}\nfirst`;
  const malformed = problems.some((each) => each.kind === "malformed");
  return new (malformed ? InvalidInputError : RefusedError)(first.code, message, first.place);
}

/** A buffer that is being walked, and the packet that the walk is at. */
class Walk {
  at = 0;
  size = 0;
  name = "";
  /** Indirect buffers found so far, by word index of the packet that enters them. */
  readonly children = new Map<number, ValidatedBuffer>();
  /** Words that running the buffer takes, so far. */
  expanded = 0;
  /** Ends of COND_EXEC ranges that lie ahead, with the word index of their packet. */
  guards: { end: number; from: number }[] = [];
  /** The packet was a chain. */
  chained = false;

  constructor(readonly place: BufferPlace, readonly depth: number) {}
}

/** One validation. It is also the {@linkcode PacketChecker} of the packet that it is at. */
class Validator implements PacketChecker {
  readonly problems: PacketProblem[] = [];
  readonly queue: QueueKind;
  readonly #submission: Submission;
  readonly #memory: CommandMemory;
  /** Indirect buffers that have been validated, by address and size. */
  readonly #known = new Map<string, ValidatedBuffer>();
  /** Indirect buffers whose validation is under way. */
  readonly #active = new Set<string>();
  #walk: Walk;

  constructor(submission: Submission, memory: CommandMemory) {
    this.#submission = submission;
    this.#memory = memory;
    this.queue = queueKind(submission.queue);
    this.#walk = new Walk({ submission, words: submission.words, address: undefined, fileOffset: undefined }, 0);
  }

  get words(): Uint32Array {
    return this.#walk.place.words;
  }

  get at(): number {
    return this.#walk.at;
  }

  get size(): number {
    return this.#walk.size;
  }

  /** Walks a buffer; problems are collected. */
  buffer(place: BufferPlace, depth: number): ValidatedBuffer {
    const outer = this.#walk;
    const walk = this.#walk = new Walk(place, depth);
    this.#walkBuffer(walk);
    this.#walk = outer;
    const { words, address, fileOffset } = place;
    return new ValidatedBuffer(this.#submission, words, address, fileOffset, walk.children, walk.expanded);
  }

  #walkBuffer(walk: Walk): void {
    const { words } = walk.place;
    let at = 0;
    while (at < words.length) {
      walk.at = at;
      walk.size = 1;
      const header = words[at];
      if (!this.#checkHeader(header)) return;
      const size = packetWords(header);
      walk.name = packetName(header);
      if (at + size > words.length) {
        walk.size = words.length - at;
        this.#problem("malformed", "pm4.truncated", `has ${size} words, but only ${walk.size} are left`);
        return;
      }
      walk.size = size;
      const next = at + size;
      this.#checkGuards(next);
      walk.expanded += size;
      this.#checkPacket(header);
      at = next;
      // After a chain the rest of the buffer is dropped, unless the chain itself may be skipped.
      if (walk.chained && !walk.guards.some((guard) => guard.end >= next)) return;
      walk.chained = false;
    }
    for (const guard of walk.guards) {
      if (guard.end <= at) continue;
      walk.at = guard.from;
      walk.size = packetWords(words[guard.from]);
      walk.name = packetName(words[guard.from]);
      this.#problem(
        "malformed",
        "pm4.cond-exec",
        `guards words up to ${hex(guard.end)}, but the buffer has ${words.length}`,
      );
    }
  }

  /** True when the packet's size can be told. */
  #checkHeader(header: number): boolean {
    const type = packetType(header);
    if (type === 2 || type === 3) return true;
    this.#walk.name = `header ${hex(header, 8)}`;
    this.#problem("malformed", "pm4.header", `type ${type} packets are not accepted; is this the start of a packet?`);
    return false;
  }

  /** The packet ends at `next`: no guarded range may end inside it. */
  #checkGuards(next: number): void {
    const walk = this.#walk;
    if (walk.guards.length === 0) return;
    walk.guards = walk.guards.filter((guard) => {
      if (guard.end <= walk.at) return false;
      if (guard.end >= next) return true;
      this.#problem(
        "malformed",
        "pm4.cond-exec",
        `COND_EXEC at word ${hex(guard.from)} guards words up to ${hex(guard.end)}, inside this packet`,
      );
      return false;
    });
  }

  #checkPacket(header: number): void {
    const definition = packetDefinition(header);
    if (definition === undefined) {
      this.#problem("refused", "pm4.unknown-packet", "the packet is unknown");
      return;
    }
    if (definition.refused !== undefined) {
      this.#problem("refused", "pm4.refused-packet", definition.refused);
      return;
    }
    if (packetType(header) === 3 && packetOpcode(header) !== NOP_OPCODE && (header & 0xf8) !== 0) {
      this.#problem("refused", "pm4.reserved-bits", `header bits ${hex(header & 0xf8)} are reserved`);
    }
    if (definition.queues !== "both" && definition.queues !== this.queue) {
      this.#problem("refused", "pm4.queue", `${this.queue} queues do not take it`);
    }
    if (!sizeFits(definition, this.size)) {
      this.#problem("malformed", "pm4.packet-size", `has ${this.size} words; it must have ${sizesText(definition)}`);
      return;
    }
    const layout = layoutOf(definition, this.size);
    const count = Math.min(layout.length, this.size - 1);
    for (let i = 0; i < count; i++) {
      const bits = this.word(i + 1) & wordLayout(layout[i]).reserved;
      if (bits !== 0) {
        this.#problem("refused", "pm4.reserved-bits", `bits ${hex(bits >>> 0)} of word ${i + 1} are reserved`);
        return;
      }
    }
    definition.check?.(this);
  }

  word(index: number): number {
    return this.words[this.at + index];
  }

  refuse(reason: string): void {
    this.#problem("refused", "pm4.refused-packet", reason);
  }

  malformed(reason: string): void {
    this.#problem("malformed", "pm4.malformed-packet", reason);
  }

  guard(end: number): void {
    this.#walk.guards.push({ end, from: this.at });
  }

  enter(address: bigint, count: number, chain: boolean): void {
    this.#walk.chained = chain;
    if (count === 0) return;
    const key = `${address}:${count}`;
    if (this.#active.has(key)) {
      this.#problem("refused", "pm4.indirect-buffer", "the buffer enters itself");
      return;
    }
    if (this.#active.size >= MAX_CHAIN) {
      this.#problem(
        "refused",
        "pm4.indirect-buffer",
        `more than ${MAX_CHAIN} indirect buffers follow from one another`,
      );
      return;
    }
    // A chain replaces its buffer, so it does not nest.
    const depth = this.#walk.depth + (chain ? 0 : 1);
    if (depth > MAX_NESTING) {
      this.#problem("refused", "pm4.indirect-buffer", `indirect buffers nest deeper than ${MAX_NESTING}`);
      return;
    }
    let buffer = this.#known.get(key);
    if (buffer === undefined) {
      if (this.#walk.expanded + count > MAX_SUBMISSION_WORDS) return this.#tooLong();
      const words = this.#read(address, count);
      if (words === undefined) return;
      this.#active.add(key);
      buffer = this.buffer({ submission: this.#submission, words, address, fileOffset: undefined }, depth);
      this.#active.delete(key);
      this.#known.set(key, buffer);
    }
    this.#walk.children.set(this.at, buffer);
    this.#walk.expanded += buffer.expandedWords;
    if (this.#walk.expanded > MAX_SUBMISSION_WORDS) this.#tooLong();
  }

  #tooLong(): void {
    this.#problem("refused", "pm4.indirect-buffer", `the submission runs more than ${MAX_SUBMISSION_WORDS} words`);
  }

  #read(address: bigint, count: number): Uint32Array | undefined {
    try {
      return this.#memory.readWords(address, count);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      this.#problem("malformed", "pm4.indirect-buffer", `its ${count} words cannot be read: ${error.message}`);
      return undefined;
    }
  }

  #problem(kind: PacketProblem["kind"], code: string, reason: string): void {
    const { at, size, name, place } = this.#walk;
    const { address, fileOffset } = place;
    this.problems.push({
      kind,
      code,
      packet: name,
      reason,
      at,
      ...(fileOffset === undefined && address !== undefined ? { indirectBuffer: address } : {}),
      place: placeInBuffer(place, at, size),
    });
  }
}
