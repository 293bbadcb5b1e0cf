import type { ErrorPlace } from "../errors.ts";
import type { PacketSource } from "./sink.ts";
import type { Submission } from "./submission.ts";

/** How many words of a packet an error quotes. */
const QUOTED_WORDS = 16;

/** Words that have passed validation. */
export class ValidatedBuffer {
  constructor(
    readonly submission: Submission,
    readonly words: Uint32Array,
    /** Guest address of the first word, if known. */
    readonly address: bigint | undefined,
    /** Byte offset of the first word in the file, for the submission's own words. */
    readonly fileOffset: number | undefined,
    /** Indirect buffers, by word index of the packet that enters them. */
    readonly children: ReadonlyMap<number, ValidatedBuffer>,
    /** Words that running the buffer takes when nothing is skipped, indirect buffers included. */
    readonly expandedWords: number,
  ) {}
}

/** A submission that may be executed. */
export interface ValidatedSubmission {
  readonly submission: Submission;
  readonly root: ValidatedBuffer;
}

/** What {@linkcode placeInBuffer} needs to know of a buffer. */
export type BufferPlace = Pick<ValidatedBuffer, "submission" | "words" | "address" | "fileOffset">;

/** Where `size` words at word index `at` of a buffer are, for errors. */
export function placeInBuffer(buffer: BufferPlace, at: number, size: number): ErrorPlace {
  const { submission, words, address, fileOffset } = buffer;
  const end = Math.min(words.length, at + Math.min(size, QUOTED_WORDS));
  return {
    ...(submission.file === undefined ? {} : { file: submission.file }),
    ...(fileOffset === undefined ? {} : { fileOffset: fileOffset + at * 4 }),
    ...(address === undefined ? {} : { guestAddress: address + BigInt(at * 4) }),
    queue: submission.queue,
    words: Array.from(words.subarray(at, end)),
  };
}

/** A packet in a validated buffer. */
export class PacketInBuffer implements PacketSource {
  constructor(readonly buffer: ValidatedBuffer, readonly at: number, readonly size: number) {}

  errorPlace(): ErrorPlace {
    return placeInBuffer(this.buffer, this.at, this.size);
  }

  get snapshot(): number | undefined {
    return this.buffer.submission.snapshot;
  }
}
