/** Exit codes of the launcher. They are part of the interface: scripts and CI depend on them. */
export const ExitCode = {
  /** Everything asked for was done. */
  Done: 0,
  /** The guest program failed, faulted, was refused, or its results differ from the expected ones. */
  Guest: 1,
  /** The command line was wrong, or an input file could not be read as what it claims to be. */
  Usage: 2,
  /** The host lacks something: a library, a device, a device feature. */
  Host: 3,
} as const;

/** Where in the guest program or in an input file a problem sits. Every field is optional; give what is known. */
export interface ErrorPlace {
  /** Input file. */
  file?: string;
  /** Byte offset in the input file. */
  fileOffset?: number;
  /** Guest virtual address (sign-extended 48-bit, as an unsigned 64-bit value). */
  guestAddress?: bigint;
  /** Byte offset of an instruction from the start of its program. */
  pc?: number;
  /** Guest queue number. */
  queue?: number;
  /** The words in question (an instruction or a packet). */
  words?: readonly number[];
}

/**
 * Base of all errors that AnyAGC raises on purpose. `code` is a stable identifier for machines (`--json`), the message is for people,
 * `place` says where. Errors cross isolates as data: see {@linkcode AnyAgcError.toData}.
 */
export class AnyAgcError extends Error {
  /** Name of the class, the same in every isolate. */
  override name = "AnyAgcError";
  /** Process exit code that fits this error. */
  readonly exitCode: number = ExitCode.Guest;
  /** Stable identifier, for example `pm4.unknown-packet`. */
  readonly code: string;
  /** Where the problem sits. */
  readonly place: ErrorPlace;
  /** The message without the place. */
  readonly summary: string;

  /**
   * Makes the error; the place is appended to the message.
   *
   * @param code see {@linkcode AnyAgcError.code}
   * @param message for people
   * @param place what is known of it
   */
  constructor(code: string, message: string, place: ErrorPlace = {}) {
    super(message + describePlace(place));
    this.code = code;
    this.place = place;
    this.summary = message;
  }

  /** Plain data (JSON-safe) that describes the error completely. */
  toData(): ErrorData {
    const { guestAddress, ...rest } = this.place;
    return {
      class: this.name,
      code: this.code,
      message: this.message,
      exitCode: this.exitCode,
      place: guestAddress === undefined ? rest : { ...rest, guestAddress: hex(guestAddress) },
    };
  }
}

/** JSON-safe description of an {@linkcode AnyAgcError}. */
export interface ErrorData {
  /** Name of the class. */
  class: string;
  /** Stable identifier. */
  code: string;
  /** The line for people. */
  message: string;
  /** Process exit code that fits. */
  exitCode: number;
  /** Where the problem sits; the address as hexadecimal text. */
  place: Omit<ErrorPlace, "guestAddress"> & { guestAddress?: string };
}

/** Something that exists on the console, but that AnyAGC does not execute (yet). Never guessed around: always thrown. */
export class RefusedError extends AnyAgcError {
  /** Name of the class. */
  override name = "RefusedError";
}

/** An input (file, packet stream, shader record, machine code) that is malformed. */
export class InvalidInputError extends AnyAgcError {
  /** Name of the class. */
  override name = "InvalidInputError";
}

/** The guest program did something wrong while it ran: a memory fault, a wait that nothing can satisfy. */
export class GuestFaultError extends AnyAgcError {
  /** Name of the class. */
  override name = "GuestFaultError";
}

/** A file that cannot be read as what it claims to be, or a wrong command line. */
export class UsageError extends AnyAgcError {
  /** Name of the class. */
  override name = "UsageError";
  /** `ExitCode.Usage`. */
  override readonly exitCode: number = ExitCode.Usage;
}

/** The host lacks a library, a device or a device feature; the message says what to install or change. */
export class HostError extends AnyAgcError {
  /** Name of the class. */
  override name = "HostError";
  /** `ExitCode.Host`. */
  override readonly exitCode: number = ExitCode.Host;
}

/**
 * A guest's error with more of its place known, and `prefix` before its message; what the error itself knows of the place stays. The original becomes the
 * cause. Errors of the host and of usage are given back as they are.
 */
export function withPlace(error: AnyAgcError, place: ErrorPlace, prefix = ""): AnyAgcError {
  const Class = error instanceof RefusedError
    ? RefusedError
    : error instanceof InvalidInputError
    ? InvalidInputError
    : error instanceof GuestFaultError
    ? GuestFaultError
    : undefined;
  if (Class === undefined) return error;
  const result = new Class(error.code, prefix + error.summary, { ...place, ...error.place });
  result.cause = error;
  return result;
}

/** Formats a number or an address as 0x-prefixed lower-case hexadecimal, padded to `digits`. */
export function hex(value: number | bigint, digits = 1): string {
  const text = typeof value === "bigint"
    ? BigInt.asUintN(64, value).toString(16)
    : (value >= 0 ? value : value >>> 0).toString(16);
  return "0x" + text.padStart(digits, "0");
}

function describePlace(place: ErrorPlace): string {
  const parts: string[] = [];
  if (place.file !== undefined) parts.push(`file ${place.file}`);
  if (place.fileOffset !== undefined) parts.push(`file offset ${hex(place.fileOffset)}`);
  if (place.queue !== undefined) parts.push(`queue ${hex(place.queue)}`);
  if (place.guestAddress !== undefined) parts.push(`guest address ${hex(place.guestAddress)}`);
  if (place.pc !== undefined) parts.push(`pc ${hex(place.pc)}`);
  if (place.words !== undefined) parts.push(`words ${place.words.map((w) => hex(w >>> 0, 8)).join(" ")}`);
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}
