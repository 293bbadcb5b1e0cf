/**
 * What `anyagc inspect` can look into. A kind of file is one object; the table is in kinds.ts.
 *
 * @module
 */
import type { AnyAgcError, ErrorData } from "../../errors.ts";

/** Problems of a file that are told one by one; a damaged file can have millions. */
const MOST_PROBLEMS = 100;

/** Calls that are made now and then during long work: there a Ctrl-C takes effect. */
export type Tick = () => void;

/** What was found in a file. */
export interface Inspection {
  /** What it is, in a few words. */
  readonly format: string;
  /** For `--json`, beside `file`, `bytes`, `format` and what is below. */
  readonly data: Record<string, unknown>;
  /** For people. */
  readonly lines: readonly string[];
  /** What a run would refuse, or ignore. */
  readonly problems: Problems;
  /** What could not be looked at, and why. */
  readonly notes: readonly string[];
}

/** A kind of input. */
export interface InspectKind {
  /** Whether a file is of this kind, by its first bytes (up to 4,096 of them). */
  accepts(head: Uint8Array): boolean;
  /** Looks into it. @throws AnyAgcError when it is not what it claims to be */
  inspect(file: string, tick: Tick): Promise<Inspection>;
}

/** Problems of one file: the first hundred, and how many there are. */
export class Problems {
  readonly list: ErrorData[] = [];
  count = 0;

  add(error: AnyAgcError): void {
    if (this.count++ < MOST_PROBLEMS) this.list.push(error.toData());
  }
}

/** A kind for files that begin with `magic`. */
export function beginsWith(magic: string): (head: Uint8Array) => boolean {
  return (head) => head.length >= magic.length && [...magic].every((letter, i) => head[i] === letter.charCodeAt(0));
}
